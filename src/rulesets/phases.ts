/** The phases of rules that this service has, in the order in which a request comes through them. */

export const PHASES = [
  'http_request_dynamic_redirect',
  'http_request_transform',
  'http_request_late_transform',
  'http_response_headers_transform',
] as const;

export type Phase = (typeof PHASES)[number];

/** What its rules do, its name for people, and the permission for it. */
export const PHASE_FACTS: Readonly<
  Record<Phase, { readonly action: 'redirect' | 'rewrite'; readonly area: 'redirects' | 'transforms' }>
> = {
  http_request_dynamic_redirect: { action: 'redirect', area: 'redirects' },
  http_request_transform: { action: 'rewrite', area: 'transforms' },
  http_request_late_transform: { action: 'rewrite', area: 'transforms' },
  http_response_headers_transform: { action: 'rewrite', area: 'transforms' },
};

/** Where the page rules of a zone are kept, beside the rulesets of its phases. */
export const PAGE_RULES = 'page_rules';

export function phaseOf(text: string): Phase | undefined {
  return PHASES.find((phase) => phase === text);
}
