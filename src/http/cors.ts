/**
 * Which other origins' pages may use a resource from a browser (Fetch standard, "CORS protocol"). Pure. Credentials of the browser are
 * never allowed: nothing here is authorised by what a browser adds by itself.
 */
import { listMembers } from './fields.js';

export const CORS_METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD'] as const;
export type CorsMethod = (typeof CORS_METHODS)[number];

export interface CorsRule {
  readonly id?: string | undefined;
  readonly allowed: {
    readonly methods: readonly CorsMethod[];
    /** Origins, with at most one `*`. */
    readonly origins: readonly string[];
    /** Names of fields, with at most one `*`. */
    readonly headers?: readonly string[] | undefined;
  };
  readonly exposeHeaders?: readonly string[] | undefined;
  readonly maxAgeSeconds?: number | undefined;
}

/** What a browser asks before it sends a request that another origin could not make without it. */
export interface Preflight {
  readonly origin: string | undefined;
  /** `Access-Control-Request-Method` and `-Headers`. */
  readonly method: string | undefined;
  readonly headers: string | undefined;
}

export type CorsFields = Readonly<Record<string, string>>;

/** Longer ones belong to nobody, and fields of which more are asked for are not allowed. */
const LONGEST_ORIGIN = 512;
const MOST_REQUESTED = 100;

const VARY: CorsFields = { vary: 'Origin' };
const VARY_OF_PREFLIGHT = 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers';

/** A text with at most one `*`, which stands for any text. */
interface Pattern {
  readonly first: string;
  /** Undefined: there is no `*`. */
  readonly last: string | undefined;
}

interface CompiledRule {
  readonly rule: CorsRule;
  readonly methods: ReadonlySet<string>;
  readonly origins: readonly Pattern[];
  readonly exactHeaders: ReadonlySet<string>;
  readonly headers: readonly Pattern[];
}

const compiled = new WeakMap<readonly CorsRule[], readonly CompiledRule[]>();

function compile(rules: readonly CorsRule[]): readonly CompiledRule[] {
  const known = compiled.get(rules);
  if (known) return known;
  const made = rules.map((rule): CompiledRule => {
    const { methods, origins, headers = [] } = rule.allowed;
    const names = headers.map(patternOf);
    return {
      rule,
      methods: new Set(methods),
      origins: origins.map(patternOf),
      exactHeaders: new Set(names.filter(({ last }) => last === undefined).map(({ first }) => first)),
      headers: names.filter(({ last }) => last !== undefined),
    };
  });
  compiled.set(rules, made);
  return made;
}

function patternOf(text: string): Pattern {
  const [first, last] = text.toLowerCase().split('*', 2);
  return { first: first!, last };
}

function matches({ first, last }: Pattern, text: string): boolean {
  if (last === undefined) return text === first;
  return text.length >= first.length + last.length && text.startsWith(first) && text.endsWith(last);
}

/** A serialised origin (RFC 6454 §6.2), or what a client sends in place of one; never a list, a path or a field with more in it. */
const ORIGIN = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^\s/\\?#@"'<>,;*%\x00-\x20\x7f-\uffff]+$/i;

function allowsOrigin({ origins }: CompiledRule, origin: string): boolean {
  // An opaque origin is that of many documents: only a rule that means it, or everybody, allows it.
  if (origin === 'null') return origins.some(({ first, last }) => (first === '' && last === '') || first === 'null');
  return origins.some((pattern) => matches(pattern, origin));
}

/** The value for a request: `*` where the rule allows everybody, and otherwise the origin itself. */
function allowedOrigin({ rule }: CompiledRule, origin: string): string {
  return rule.allowed.origins.includes('*') ? '*' : origin;
}

function readOrigin(origin: string | undefined): string | undefined {
  return origin !== undefined && origin.length <= LONGEST_ORIGIN && ORIGIN.test(origin) ? origin : undefined;
}

/** Fields of an answer to a request other than a preflight, for a resource with rules. */
export function corsFields(rules: readonly CorsRule[], origin: string | undefined, method: string): CorsFields {
  const asked = readOrigin(origin);
  if (asked === undefined) return VARY;
  const lower = asked.toLowerCase();
  const found = compile(rules).find((rule) => rule.methods.has(method) && allowsOrigin(rule, lower));
  return found ? { ...VARY, ...commonFields(found, asked) } : VARY;
}

/** Fields that allow a request; undefined when no rule does. */
export function preflightFields(
  rules: readonly CorsRule[],
  { origin, method, headers }: Preflight,
): CorsFields | undefined {
  const asked = readOrigin(origin);
  if (asked === undefined || method === undefined) return undefined;
  const names = listMembers(headers ?? '').map((name) => name.toLowerCase());
  if (names.length > MOST_REQUESTED || !names.every((name) => /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)))
    return undefined;
  const lower = asked.toLowerCase();
  const found = compile(rules).find(
    (rule) =>
      rule.methods.has(method) &&
      allowsOrigin(rule, lower) &&
      names.every((name) => rule.exactHeaders.has(name) || rule.headers.some((pattern) => matches(pattern, name))),
  );
  if (!found) return undefined;
  const { maxAgeSeconds } = found.rule;
  return {
    vary: VARY_OF_PREFLIGHT,
    ...commonFields(found, asked),
    ...(names.length > 0 && { 'access-control-allow-headers': names.join(', ') }),
    ...(maxAgeSeconds !== undefined && { 'access-control-max-age': String(maxAgeSeconds) }),
  };
}

/** Fields of a refused preflight. */
export const REFUSED_PREFLIGHT: CorsFields = { vary: VARY_OF_PREFLIGHT };

function commonFields(found: CompiledRule, origin: string): CorsFields {
  const { allowed, exposeHeaders = [] } = found.rule;
  return {
    'access-control-allow-origin': allowedOrigin(found, origin),
    'access-control-allow-methods': allowed.methods.join(', '),
    ...(exposeHeaders.length > 0 && { 'access-control-expose-headers': exposeHeaders.join(', ') }),
  };
}

const SINGLE_STAR = /^[^*]*\*?[^*]*$/;
const FIELD_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

/** What is wrong with an origin of a rule; undefined when nothing is. */
export function originFault(origin: string): string | undefined {
  if (!SINGLE_STAR.test(origin)) return 'it can have only one wildcard';
  if (origin.length > LONGEST_ORIGIN) return `it is longer than ${LONGEST_ORIGIN} characters`;
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/]*\//i.test(origin) || /^[^:]*\//.test(origin)) return 'it must not have a path';
  return ORIGIN.test(origin.replace('*', 'x')) ? undefined : 'it is not an origin, such as https://www.example.com';
}

/** The same for the name of a field. */
export function headerFault(name: string): string | undefined {
  if (!SINGLE_STAR.test(name)) return 'it can have only one wildcard';
  return FIELD_NAME.test(name) ? undefined : 'it is not a header name';
}
