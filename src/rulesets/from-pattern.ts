/** A redirect rule from a pattern of URLs and a target, as people write them: `www.example.com/old/*` to `https://…/new/$1`. */
export interface WrittenRedirect {
  /** A pattern of URLs; without a scheme, of both. */
  readonly from: string;
  /** A URL; `${1}` or `$1` is what the first star stands for. */
  readonly to: string;
  readonly status: number;
  readonly keepsQuery: boolean;
  readonly description: string;
}

export function redirectRule({ from, to, status, keepsQuery, description }: WrittenRedirect): object {
  const hasScheme = /^[a-z*]+:\/\//i.test(from);
  const path = /^[^/]+$/.test(from) ? '/' : '';
  const pattern = hasScheme ? from : `http*://${from}${path}`;
  // The star of the scheme comes before those that were written.
  const target = to.replace(/\$\{?(\d)\}?/g, (_, star: string) => `\${${Number(star) + (hasScheme ? 0 : 1)}}`);
  const isFixed = !to.includes('$');
  return {
    ...{ action: 'redirect', description, enabled: true },
    expression: `http.request.full_uri wildcard ${quoted(pattern)}`,
    action_parameters: {
      from_value: {
        status_code: status,
        target_url: isFixed
          ? { value: to }
          : { expression: `wildcard_replace(http.request.full_uri, ${quoted(pattern)}, ${quoted(target)})` },
        preserve_query_string: keepsQuery && !to.includes('?'),
      },
    },
  };
}

function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}
