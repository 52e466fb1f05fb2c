/** The only code that walks names inside messages and rdata (RFC 1035 §3.1, §4.1.4). Allocates nothing. */
// hot

/** The largest length of a name in octets, including its final zero (RFC 1035 §2.3.4). */
const LONGEST = 255;
const LONGEST_LABEL = 63;
/** The two highest bits are set in the first octet of a pointer. */
export const POINTER = 0xc0;

/** Offset after an uncompressed name that ends before `end`; -1 when it is compressed, malformed or cut off. */
export function plainNameEnd(octets: Uint8Array, from: number, end: number): number {
  const tail = nameTail(octets, from, end);
  return tail >= 0 && octets[tail] === 0 ? tail + 1 : -1;
}

/**
 * Offset after a name that ends before `end`; a pointer ends it and is not followed. -1 when it is malformed or cut
 * off.
 */
export function nameEnd(octets: Uint8Array, from: number, end: number): number {
  const tail = nameTail(octets, from, end);
  if (tail < 0) return -1;
  if (octets[tail] === 0) return tail + 1;
  return tail + 2 <= end ? tail + 2 : -1;
}

/**
 * Writes a whole name, its pointers followed, to the beginning of `out`, which has room for 255 octets; returns its octets, or
 * -1 when it is malformed. `start`: where the message begins, from which pointers count; each must point before the previous
 * one, so that the loop ends.
 */
export function copyWholeName(octets: Uint8Array, start: number, from: number, end: number, out: Uint8Array): number {
  let length = 0;
  for (let at = from; ; ) {
    const tail = nameTail(octets, at, end);
    if (tail < 0 || length + tail - at >= LONGEST) return -1;
    for (let i = at; i < tail; i++) out[length++] = octets[i]!;
    if (octets[tail] === 0) {
      out[length] = 0;
      return length + 1;
    }
    if (tail + 2 > end) return -1;
    const target = start + (((octets[tail]! & ~POINTER) << 8) | octets[tail + 1]!);
    if (target >= at) return -1;
    at = target;
  }
}

/** Copies a name in lower case; its length octets are below the letters. */
export function copyInLowerCase(from: DataView, start: number, to: DataView, length: number): void {
  // A name shorter than four octets is copied with what follows it: the type and class.
  const last = Math.max(0, length - 4);
  for (let i = 0; i < last; i += 4) to.setInt32(i, lowerFour(from.getInt32(start + i, true)), true);
  to.setInt32(last, lowerFour(from.getInt32(start + last, true)), true);
}

/** Four octets at once: the high bit of each sum says whether that octet is at least `A`, and whether it is above `Z`. */
function lowerFour(octets: number): number {
  const seven = octets & 0x7f7f7f7f;
  const fromA = (seven + 0x3f3f3f3f) | 0;
  const aboveZ = (seven + 0x25252525) | 0;
  return octets | (((fromA ^ aboveZ) & ~octets & 0x80808080) >>> 2);
}

/**
 * Offset of the octet that ends a name: the root's zero or the first octet of a pointer; -1 when there is none within
 * bounds.
 */
function nameTail(octets: Uint8Array, from: number, end: number): number {
  const stop = Math.min(end, from + LONGEST);
  let at = from;
  while (at < stop) {
    const length = octets[at]!;
    if (length === 0 || length >= POINTER) return at;
    if (length > LONGEST_LABEL) return -1;
    at += 1 + length;
  }
  return -1;
}
