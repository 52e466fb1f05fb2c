/**
 * Host names in the form of v4 clients: no final dot, Unicode or punycode, any case, `@` for the apex (api-contract
 * §6).
 */
import { parseIPv6 } from '../../base/ip.js';
import { domainToAscii } from '../idna.js';
import { lowerName, MAX_NAME_LENGTH, NameError, parseName, printName, ROOT } from '../name.js';

/**
 * Characters that are mistakes in a host name: those that presentation form would escape, and those of URLs, lists and
 * placeholders. Who means them writes a backslash before them. Slashes stand in names of RFC 2317 §4.
 */
const MISPLACED = /(?:^|[^\\])(?:\\\\)*[\0-\x20!"#$%(),:;<>?@[\]^`{|}\x7f]/;
/** Those of them that {@link printName} leaves as they are. */
const UNUSUAL = /[!#%,:<>?[\]^`{|}]/g;
/** Characters of a name of 255 octets if each is escaped. */
const MAX_TEXT_LENGTH = 4 * MAX_NAME_LENGTH;
const LAST_LABEL_NUMERIC = /(?:^|\.)\d+$/;

/**
 * Parses a v4 host name into wire form in lower case, or undefined. Names without a final dot are complete, never
 * relative.
 */
export function parseHost(text: string, apex: Uint8Array): Uint8Array | undefined {
  if (text === '@') return lowerName(apex);
  if (text === '.') return ROOT;
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const ascii = domainToAscii(text);
  if (ascii === undefined || MISPLACED.test(ascii)) return undefined;
  const absolute = endsWithDot(ascii) ? ascii : `${ascii}.`;
  if (LAST_LABEL_NUMERIC.test(absolute.slice(0, -1)) || parseIPv6(absolute.slice(0, -1))) return undefined;
  try {
    return lowerName(parseName(absolute));
  } catch (error) {
    if (error instanceof NameError) return undefined;
    throw error;
  }
}

/** The v4 form of the wire name at `at`: lower case without the final dot; the root is `.`. */
export function printHost(rdata: Uint8Array, at: number, end: number): string {
  if (end - at === 1) return '.';
  return printName(lowerName(rdata.subarray(at, end)))
    .slice(0, -1)
    .replace(UNUSUAL, '\\$&');
}

/** Whether the text ends with an unescaped dot. */
export function endsWithDot(text: string): boolean {
  return /(?:^|[^\\])(?:\\\\)*\.$/.test(text);
}
