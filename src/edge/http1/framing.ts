/** How a message of HTTP/1.1 says where its body ends (RFC 9112 §6.3). The one rule for requests and for responses. Pure. */

/**
 * - `none`: no field says it.
 * - `length`: by one Content-Length with a number.
 * - `chunked`: by the chunked coding alone.
 * - `coded`: Transfer-Encoding names anything else. A body that ends with chunks cannot be told from one that ends with its connection.
 * - `malformed`: Content-Length is not a number, or there are several.
 * - `both`: Transfer-Encoding and Content-Length, of which one is wrong (RFC 9112 §6.1).
 */
export type Framing = 'none' | 'length' | 'chunked' | 'coded' | 'malformed' | 'both';

/** Digits of a length. */
export const MOST_DIGITS = 15;
const LENGTH = new RegExp(`^\\d{1,${MOST_DIGITS}}$`);

/** `headers`: alternating names, in lower case, and values. */
export function framingOf(headers: readonly string[]): Framing {
  const codings = valuesOf(headers, 'transfer-encoding');
  const lengths = valuesOf(headers, 'content-length');
  if (codings.length > 0) {
    if (lengths.length > 0) return 'both';
    return codings.length === 1 && codings[0]!.toLowerCase() === 'chunked' ? 'chunked' : 'coded';
  }
  if (lengths.length === 0) return 'none';
  return lengths.length === 1 && LENGTH.test(lengths[0]!) ? 'length' : 'malformed';
}

/** Whether a body cannot be cut off without notice (RFC 9112 §8). */
export function showsItsEnd(framing: Framing): boolean {
  return framing === 'chunked' || framing === 'length';
}

/** All values of a field, in their order. */
export function valuesOf(headers: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) values.push(headers[i + 1]!);
  return values;
}
