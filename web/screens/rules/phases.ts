/** The phases of rules, for people: what they are called, and the fields of the form for a new rule. */
import type { Area } from '../../session.js';

export interface PhaseOfRules {
  readonly name: string;
  readonly title: string;
  readonly area: Area;
  /** What its rules do, in a sentence. */
  readonly about: string;
  readonly kind: 'redirect' | 'uri' | 'headers';
}

export const PHASES: readonly PhaseOfRules[] = [
  {
    ...{ name: 'http_request_dynamic_redirect', title: 'Redirects', area: 'redirects', kind: 'redirect' },
    about: 'The first rule that matches sends the client to another URL.',
  },
  {
    ...{ name: 'http_request_transform', title: 'Rewrites', area: 'transforms', kind: 'uri' },
    about: 'The rules change path and query as the cache and the origin see them; the client sees no difference.',
  },
  {
    ...{ name: 'http_request_late_transform', title: 'Request headers', area: 'transforms', kind: 'headers' },
    about: 'The rules change header fields that the origin gets.',
  },
  {
    ...{ name: 'http_response_headers_transform', title: 'Response headers', area: 'transforms', kind: 'headers' },
    about: 'The rules change header fields that the client gets.',
  },
];

interface Redirecting {
  readonly from_value: {
    readonly status_code?: number;
    readonly target_url: { readonly value?: string; readonly expression?: string };
  };
}

interface Rewriting {
  readonly uri?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<
    Record<string, { readonly operation: string; readonly value?: string; readonly expression?: string }>
  >;
}

/** What a rule does, in a few words. */
export function effectOf(parameters: unknown): string {
  const { from_value: redirect } = parameters as Partial<Redirecting>;
  if (redirect) {
    const { value, expression } = redirect.target_url;
    return `${redirect.status_code ?? 301} to ${value ?? expression}`;
  }
  const { uri = {}, headers = {} } = parameters as Rewriting;
  const parts = Object.entries(uri).flatMap(([part, to]) => {
    if (typeof to !== 'object' || to === null) return [];
    const { value, expression } = to as { readonly value?: string; readonly expression?: string };
    return [`${part} ${value ?? expression}`];
  });
  const changes = Object.entries(headers).map(([name, { operation, value, expression }]) =>
    operation === 'remove' ? `remove ${name}` : `${operation} ${name}: ${value ?? expression}`,
  );
  return [...parts, ...changes].join(', ');
}
