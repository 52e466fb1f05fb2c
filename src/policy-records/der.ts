/** As much of DER as the size of an RSA key takes (RFC 8017 §A.1.1, RFC 5280 §4.1). */

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const BIT_STRING = 0x03;

interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Where the next one begins. */
  readonly end: number;
}

/** Bits of the modulus of a SubjectPublicKeyInfo or an RSAPublicKey; undefined when the octets are neither, or cut off. */
export function rsaBits(octets: Uint8Array): number | undefined {
  const outer = elementAt(octets, 0);
  if (outer?.tag !== SEQUENCE || outer.end !== octets.length) return undefined;
  const first = elementAt(outer.content, 0);
  if (first?.tag === INTEGER) return bitsOf(first.content);
  const key = first?.tag === SEQUENCE ? elementAt(outer.content, first.end) : undefined;
  // The first octet counts the unused bits.
  if (key?.tag !== BIT_STRING || key.content[0] !== 0) return undefined;
  const inner = elementAt(key.content, 1);
  const modulus = inner?.tag === SEQUENCE ? elementAt(inner.content, 0) : undefined;
  return modulus?.tag === INTEGER ? bitsOf(modulus.content) : undefined;
}

function elementAt(octets: Uint8Array, at: number): Element | undefined {
  const tag = octets[at];
  let length = octets[at + 1];
  if (tag === undefined || length === undefined) return undefined;
  let begin = at + 2;
  if (length > 0x80) {
    const count = length - 0x80;
    if (count > 3) return undefined;
    length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + (octets[begin++] ?? 0);
  }
  const end = begin + length;
  return end <= octets.length ? { tag, content: octets.subarray(begin, end), end } : undefined;
}

function bitsOf(integer: Uint8Array): number {
  const first = integer.findIndex((octet) => octet !== 0);
  return first < 0 ? 0 : (integer.length - first) * 8 - (Math.clz32(integer[first]!) - 24);
}
