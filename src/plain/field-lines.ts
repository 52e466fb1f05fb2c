/**
 * Field lines of HTTP/1.1 (RFC 9112 §5), read strictly: no folded lines, no blanks before the colon, CR LF at the end of each.
 * Pure.
 */

const [CR, LF, COLON, SPACE, TAB] = [13, 10, 58, 32, 9];

/** Octets of field names (RFC 9110 §5.6.2). */
export const NAME_OCTETS = octetsOf(/[!#$%&'*+.^_`|~0-9A-Za-z-]/);
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Octets of values; those above 127 are obsolete (RFC 9110 §5.5). */
export const ASCII_VALUE_OCTETS = octetsOf(/[\t -~]/);
export const VALUE_OCTETS = octetsOf(/[\t -~\x80-\xff]/);

/**
 * Alternating names, in lower case, and values without surrounding whitespace; undefined if a line is malformed. `to`: after the
 * CR LF of the last line. `allowed`: octets of values.
 */
export function readFieldLines(octets: Buffer, from: number, to: number, allowed: Uint8Array): string[] | undefined {
  const list: string[] = [];
  const text = octets.toString('latin1', from, to);
  for (let at = from; at < to; ) {
    const nameEnd = endOf(octets, at, NAME_OCTETS);
    if (nameEnd === at || octets[nameEnd] !== COLON) return undefined;
    const lineEnd = endOf(octets, nameEnd + 1, allowed);
    if (octets[lineEnd] !== CR || octets[lineEnd + 1] !== LF) return undefined;
    list.push(text.slice(at - from, nameEnd - from).toLowerCase(), trimmed(text, nameEnd + 1 - from, lineEnd - from));
    at = lineEnd + 2;
  }
  return list;
}

/** Position of the first octet that is not allowed. */
export function endOf(octets: Uint8Array, from: number, allowed: Uint8Array): number {
  let at = from;
  while (at < octets.length && allowed[octets[at]!] === 1) at++;
  return at;
}

/** Without spaces and tabs at both ends (RFC 9112 §5.1). */
function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(octet: number): boolean {
  return octet === SPACE || octet === TAB;
}

/** A table of octets: 1 for those that the pattern matches. */
export function octetsOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, octet) => (pattern.test(String.fromCharCode(octet)) ? 1 : 0));
}

/** Octets that would end a field line early, and other controls (RFC 9110 §5.5). */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/** Cached for frozen field lists, which repeat. */
const printed = new WeakMap<readonly string[], string>();

/** Prints a list of fields; a frozen list only once. Throws a TypeError for a name or value that no field may have. */
export function printFieldLines(headers: readonly string[]): string {
  if (!Object.isFrozen(headers)) return printLines(headers);
  let text = printed.get(headers);
  if (text === undefined) printed.set(headers, (text = printLines(headers)));
  return text;
}

function printLines(headers: readonly string[]): string {
  let text = '';
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (!NAME.test(name) || FORBIDDEN.test(value)) {
      throw new TypeError('a field holds what no field may');
    }
    text += `${name}: ${value}\r\n`;
  }
  return text;
}
