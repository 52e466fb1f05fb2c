/** Bitmaps of record types, as NSEC and NSEC3 records have them (RFC 4034 §4.1.2). */

/** The type bitmap of record types, in any order and with repetitions (RFC 4034 §4.1.2). */
export function encodeBitmap(codes: readonly number[]): Uint8Array {
  const windows = new Map<number, Uint8Array>();
  for (const code of [...codes].sort((a, b) => a - b)) {
    const bits = windows.get(code >> 8) ?? new Uint8Array(32);
    windows.set(code >> 8, bits);
    bits[(code & 0xff) >> 3]! |= 0x80 >> (code & 7);
  }
  const out: number[] = [];
  for (const [window, bits] of windows) {
    let length = 32;
    while (bits[length - 1] === 0) length--;
    out.push(window, length, ...bits.subarray(0, length));
  }
  return Uint8Array.from(out);
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
