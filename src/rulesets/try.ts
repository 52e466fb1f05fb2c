/** What the rules of a zone would do with a request, step by step as at the edge. */
import { TooMuchWork } from '../expressions/work.js';
import { changedHeaders, redirectBy, rewrittenTarget } from './apply.js';
import { pageRuleOf } from './page-rule.js';
import { PAGE_RULES, type Phase } from './phases.js';
import { type RuleRequest, type RuleResponse, type RuleSurroundings, Subject } from './subject.js';
import type { ZoneRules } from './zone-rules.js';

export interface AppliedRule {
  readonly phase: Phase | typeof PAGE_RULES | 'always_use_https';
  /** Empty: it is a setting. */
  readonly id: string;
  readonly description: string;
}

export interface Trial {
  /** In order. */
  readonly applied: readonly AppliedRule[];
  /** Undefined: the request goes on. */
  readonly redirect: { readonly status: number; readonly location: string } | undefined;
  /** Whether the client comes back to where it was, as far as rules of this zone lead it. */
  readonly isLoop: boolean;
  /** Path and query for the cache and the origin. */
  readonly target: string;
  /** Alternating names and values: those of the request for the origin, and of the response for the client. */
  readonly requestHeaders: readonly string[];
  readonly responseHeaders: readonly string[];
}

export interface TrialOptions {
  readonly rules: ZoneRules | undefined;
  readonly surroundings: RuleSurroundings;
  /** Whether the zone's setting is on. */
  readonly usesHttps: boolean;
}

const NO_RULES: ZoneRules = { redirects: [], rewrites: [], requestHeaders: [], responseHeaders: [], pages: [] };
/** Redirects that browsers follow before they give up. */
const MOST_HOPS = 20;

export function tryRules(options: TrialOptions, request: RuleRequest, response: RuleResponse): Trial {
  const { rules = NO_RULES, surroundings } = options;
  const applied: AppliedRule[] = [];
  const subject = new Subject(request, surroundings);
  const redirect = redirectOf(options, subject, applied);
  const told = (phase: Phase) => (rule: { readonly id: string; readonly description?: string }) =>
    void applied.push({ phase, id: rule.id, description: rule.description ?? '' });
  let requestHeaders = request.headers;
  if (!redirect) {
    subject.rewrite(rewrittenTarget(rules, subject, told('http_request_transform')));
    requestHeaders = changedHeaders(
      rules.requestHeaders,
      subject,
      request.headers,
      told('http_request_late_transform'),
    );
  }
  const answer = redirect ? { status: redirect.status, headers: ['location', redirect.location] } : response;
  subject.answered(answer);
  return {
    applied,
    redirect,
    isLoop: redirect !== undefined && comesBack(options, subject, redirect.location),
    target: subject.target,
    requestHeaders,
    responseHeaders: changedHeaders(
      rules.responseHeaders,
      subject,
      answer.headers,
      told('http_response_headers_transform'),
    ),
  };
}

function redirectOf(
  { rules = NO_RULES, usesHttps }: TrialOptions,
  subject: Subject,
  applied: AppliedRule[],
): Trial['redirect'] {
  const found = redirectBy(rules, subject);
  if (found) {
    const { id, description = '' } = found.rule;
    applied.push({ phase: 'http_request_dynamic_redirect', id, description });
    return { status: found.status, location: found.location };
  }
  const page = pageRuleOf(rules.pages, subject);
  if (page) applied.push({ phase: PAGE_RULES, id: page.rule.id, description: '' });
  if (page?.location !== undefined) return { status: page.rule.forward!.status, location: page.location };
  const { request } = subject;
  if (request.scheme === 'https' || (page?.rule.settings['always_use_https'] ?? (usesHttps ? 'on' : 'off')) !== 'on') {
    return undefined;
  }
  applied.push({ phase: 'always_use_https', id: '', description: '' });
  return { status: 301, location: `https://${request.host}${request.target}` };
}

/** Follows redirects to the same host, which certainly belong to this zone, within the work that one request may take. */
function comesBack(options: TrialOptions, subject: Subject, location: string): boolean {
  const { request: first } = subject;
  const seen = new Set([urlOf(first)]);
  let request = first;
  let next: string | undefined = location;
  for (let hop = 0; hop < MOST_HOPS && next !== undefined; hop++) {
    if (!URL.canParse(next, urlOf(request))) return false;
    const url: URL = new URL(next, urlOf(request));
    if (url.hostname !== first.host || url.port !== '') return false;
    const scheme = url.protocol === 'https:' ? 'https' : 'http';
    request = { ...request, scheme, target: `${url.pathname}${url.search}` };
    if (seen.has(urlOf(request))) return true;
    seen.add(urlOf(request));
    const hopped = new Subject(request, options.surroundings);
    hopped.work = subject.work;
    try {
      next = redirectOf(options, hopped, [])?.location;
    } catch (error) {
      if (error instanceof TooMuchWork) return false;
      throw error;
    }
    subject.work = hopped.work;
  }
  return next !== undefined;
}

function urlOf({ scheme, host, target }: RuleRequest): string {
  return `${scheme}://${host}${target}`;
}
