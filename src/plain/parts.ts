/** Parts of heads, put together in memory that is there. */

/** Octets, which are copied, or a text with one character for each octet. */
export type Part = string | Uint8Array;

/** A call that leaves JavaScript takes as long as so many characters. */
const SHORT = 100;

/** There must be room. Returns where the part ends. */
export function putPart(octets: Buffer, part: Part, at: number): number {
  if (typeof part !== 'string') {
    octets.set(part, at);
    return at + part.length;
  }
  if (part.length > SHORT) return at + octets.write(part, at, 'latin1');
  for (let i = 0; i < part.length; i++) octets[at + i] = part.charCodeAt(i);
  return at + part.length;
}

export function lengthOf(parts: readonly Part[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** The parts of a head from the first octet on. Returns where they end. */
export function putAll(octets: Buffer, parts: readonly Part[]): number {
  let at = 0;
  for (const part of parts) at = putPart(octets, part, at);
  return at;
}
