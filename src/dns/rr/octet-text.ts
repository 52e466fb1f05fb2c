/**
 * Converts between JSON strings and the octets of character strings. JSON strings are Unicode and become UTF-8. Octets
 * that are not UTF-8 become the lone surrogates U+DC80 to U+DCFF, one for each octet, and are converted back, so that a
 * round trip through a client loses nothing.
 */

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Octets of a text. A surrogate that stands for no octet becomes U+FFFD, as usual in UTF-8 encoding. */
export function octetsOfText(text: string): Uint8Array {
  if (!/\p{Surrogate}/u.test(text)) return new Uint8Array(Buffer.from(text, 'utf8'));
  const parts = text.split(/(\p{Surrogate})/u).map((part) => {
    const unit = part.charCodeAt(0);
    return unit >= 0xdc80 && unit <= 0xdcff ? Buffer.of(unit & 0xff) : Buffer.from(part, 'utf8');
  });
  return new Uint8Array(Buffer.concat(parts));
}

/** The text of octets. */
export function textOfOctets(octets: Uint8Array): string {
  try {
    return UTF8.decode(octets);
  } catch {
    return Array.from(octets, (octet) => String.fromCharCode(octet < 0x80 ? octet : 0xdc00 + octet)).join('');
  }
}
