/** Bitmaps of record types, as NSEC and NSEC3 records have them (RFC 4034 §4.1.2). */

/** The type bitmap of record types, in any order and with repetitions (RFC 4034 §4.1.2). */
export function encodeBitmap(codes: readonly number[]): Uint8Array {
  const sorted = [...codes].sort((a, b) => a - b);
  const out: number[] = [];
  for (let i = 0; i < sorted.length; ) {
    const window = sorted[i]! >> 8;
    const bits = out.length + 2;
    out.push(window, 0);
    for (; i < sorted.length && sorted[i]! >> 8 === window; i++) {
      const at = bits + ((sorted[i]! & 0xff) >> 3);
      while (out.length <= at) out.push(0);
      out[at]! |= 0x80 >> (sorted[i]! & 7);
    }
    out[bits - 1] = out.length - bits;
  }
  return new Uint8Array(out);
}

/** Record types of a valid bitmap in ascending order. */
export function typesOfBitmap(rdata: Uint8Array, at: number, end: number): number[] {
  const codes: number[] = [];
  while (at < end) {
    const base = rdata[at]! << 8;
    const bits = rdata.subarray(at + 2, at + 2 + rdata[at + 1]!);
    for (let bit = 0; bit < bits.length * 8; bit++) if (bits[bit >> 3]! & (0x80 >> (bit & 7))) codes.push(base | bit);
    at += 2 + bits.length;
  }
  return codes;
}
