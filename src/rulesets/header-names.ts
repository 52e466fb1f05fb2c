/** Which header fields rules may change. */
import { hasControls } from './fault.js';

export type HeaderSide = 'request' | 'response';
export type HeaderOperation = 'set' | 'add' | 'remove';

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const LONGEST_NAME = 100;
/** Of a value; as the vendor has it. */
export const LONGEST_VALUE = 4096;

/** Fields of one connection, and of the framing of messages: with them, a rule could smuggle requests. */
const FRAMING = [
  ...['connection', 'content-length', 'http2-settings', 'keep-alive', 'proxy-authenticate', 'proxy-authorization'],
  ...['proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
];

/** Beside these, what the edge says about the client, and what the cache and ranges depend on. */
const OF_REQUESTS: ReadonlySet<string> = new Set([
  ...FRAMING,
  ...['accept-encoding', 'cdn-loop', 'expect', 'host', 'true-client-ip', 'x-forwarded-for', 'x-forwarded-proto'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'range'],
]);

/** They can be removed. */
const ONLY_REMOVED: Readonly<Record<HeaderSide, ReadonlySet<string>>> = {
  request: new Set(['cookie', 'x-real-ip']),
  response: new Set(['server']),
};

const OF_RESPONSES: ReadonlySet<string> = new Set([...FRAMING, 'content-encoding', 'content-range', 'accept-ranges']);

/** `name`: in lower case. */
export function isHeaderName(name: string): boolean {
  return name.length <= LONGEST_NAME && TOKEN.test(name);
}

/** Why a rule may not do this to a field; undefined if it may. `name`: in lower case. */
export function faultOfHeader(side: HeaderSide, operation: HeaderOperation, name: string): string | undefined {
  if (!isHeaderName(name)) return 'it is not the name of a header field';
  // A name that an origin may take for another one (`cf_ray`) counts as that one.
  const merged = name.replace(/[^a-z0-9]/g, '-');
  const own = side === 'request' ? OF_REQUESTS : OF_RESPONSES;
  if (merged.startsWith('cf-') || merged.startsWith('x-cf-')) return 'only this service sets it';
  if (own.has(merged) || merged.startsWith('sec-websocket-')) return 'a rule cannot change it';
  const isOnlyRemoved = ONLY_REMOVED[side].has(merged) || (side === 'request' && merged.startsWith('x-forwarded-'));
  return isOnlyRemoved && operation !== 'remove' ? 'a rule can only remove it' : undefined;
}

/** A value that neither ends its line nor needs an encoding (RFC 9110 §5.5). */
export function isHeaderValue(value: string): boolean {
  return value.length <= LONGEST_VALUE && !hasControls(value) && PRINTABLE.test(value);
}

const PRINTABLE = /^[\x20-\x7e]*$/;
