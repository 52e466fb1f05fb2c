/**
 * Cache directives of responses: `Cache-Control` (RFC 9111 §5.2), and fields that only caches like this one read (RFC 9213).
 */
import { fieldValue, type HeaderFields, listMembers } from '../../http/fields.js';
import { type BareItem, parseDictionary } from '../../http/structured-dictionary.js';

/** Times are seconds. */
export interface Directives {
  /** They come from a field for caches like this one, which replaces `Cache-Control` and `Expires` (RFC 9213 §2.2). */
  readonly isTargeted: boolean;
  readonly public: boolean;
  readonly private: boolean;
  readonly noStore: boolean;
  readonly noCache: boolean;
  readonly mustRevalidate: boolean;
  readonly proxyRevalidate: boolean;
  readonly mustUnderstand: boolean;
  readonly maxAgeS: number | undefined;
  readonly sharedMaxAgeS: number | undefined;
  readonly staleWhileRevalidateS: number;
  readonly staleIfErrorS: number;
  /** Lower-case names of the fields that `private` and `no-cache` exclude from storage. */
  readonly withheld: readonly string[];
}

/** The first that is present applies. */
const TARGETED_FIELDS = ['cloudflare-cdn-cache-control', 'cdn-cache-control'] as const;
/** All fields that hold cache directives. */
export const DIRECTIVE_FIELDS: ReadonlySet<string> = new Set([...TARGETED_FIELDS, 'cache-control']);
/** Larger values are treated as this one (RFC 9111 §1.2.2). */
export const MOST_SECONDS = 2 ** 31;

/** The directives that apply to this cache. */
export function directivesOf(fields: HeaderFields): Directives {
  for (const name of TARGETED_FIELDS) {
    const value = fieldValue(fields, name);
    const targeted = value === undefined ? undefined : readTargeted(value);
    if (targeted !== undefined) return targeted;
  }
  return readCacheControl(fieldValue(fields, 'cache-control'));
}

/** Parses `Cache-Control`. Unknown directives are ignored; an invalid lifetime makes the response stale (RFC 9111 §4.2.1). */
export function readCacheControl(value: string | undefined): Directives {
  const found = new Map<string, string | undefined>();
  const withheld: string[] = [];
  for (const member of value === undefined ? [] : listMembers(value)) {
    const equals = member.indexOf('=');
    const name = (equals < 0 ? member : member.slice(0, equals)).trim().toLowerCase();
    const argument = equals < 0 ? undefined : member.slice(equals + 1);
    const isQualified = (name === 'private' || name === 'no-cache') && argument?.startsWith('"');
    const listed = isQualified ? listMembers(unquote(argument!).toLowerCase()) : [];
    withheld.push(...listed);
    if (listed.length === 0 && !found.has(name)) found.set(name, argument);
  }
  const seconds = (name: string): number | undefined => (found.has(name) ? readSeconds(found.get(name)) : undefined);
  return {
    isTargeted: false,
    public: found.has('public'),
    private: found.has('private'),
    noStore: found.has('no-store'),
    noCache: found.has('no-cache'),
    mustRevalidate: found.has('must-revalidate'),
    proxyRevalidate: found.has('proxy-revalidate'),
    mustUnderstand: found.has('must-understand'),
    maxAgeS: seconds('max-age'),
    sharedMaxAgeS: seconds('s-maxage'),
    staleWhileRevalidateS: seconds('stale-while-revalidate') ?? 0,
    staleIfErrorS: seconds('stale-if-error') ?? 0,
    withheld,
  };
}

/** Zero for a value that is not a number of seconds. */
function readSeconds(argument: string | undefined): number {
  const digits = argument === undefined ? '' : unquote(argument);
  return /^\d+$/.test(digits) ? Math.min(Number(digits), MOST_SECONDS) : 0;
}

const unquote = (text: string): string => (/^".*"$/.test(text) ? text.slice(1, -1) : text);

const TARGETED_SECONDS = ['max-age', 's-maxage', 'stale-while-revalidate', 'stale-if-error'] as const;

/** Undefined for a field that is empty or not a dictionary; then the next field applies (RFC 9213 §2.2). */
function readTargeted(value: string): Directives | undefined {
  const items = parseDictionary(value);
  if (items === undefined || items.size === 0) return undefined;
  if (TARGETED_SECONDS.some((name) => items.has(name) && integerOf(items.get(name)) === undefined)) return undefined;
  const isSet = (name: string): boolean => {
    const item = items.get(name);
    return item !== undefined && !(item.type === 'boolean' && !item.value);
  };
  return {
    isTargeted: true,
    public: isSet('public'),
    private: isSet('private'),
    noStore: isSet('no-store'),
    noCache: isSet('no-cache'),
    mustRevalidate: isSet('must-revalidate'),
    proxyRevalidate: isSet('proxy-revalidate'),
    mustUnderstand: isSet('must-understand'),
    maxAgeS: integerOf(items.get('max-age')),
    sharedMaxAgeS: integerOf(items.get('s-maxage')),
    staleWhileRevalidateS: integerOf(items.get('stale-while-revalidate')) ?? 0,
    staleIfErrorS: integerOf(items.get('stale-if-error')) ?? 0,
    withheld: [],
  };
}

function integerOf(item: BareItem | undefined): number | undefined {
  return item?.type === 'integer' && item.value >= 0 ? Math.min(item.value, MOST_SECONDS) : undefined;
}
