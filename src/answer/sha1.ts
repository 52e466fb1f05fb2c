/** SHA-1 (RFC 3174) of names for NSEC3 (RFC 5155 §5), without allocation: node:crypto takes twice the time for one. */
// hot

/** A name and a salt of 255 octets each with their padding. */
const message = new Uint8Array(640);
const view = new DataView(message.buffer);
const schedule = new Int32Array(80);
const state = new Int32Array(5);
const BLOCK = 64;
const DIGEST = 20;

/**
 * Hashes octets of `name` and a salt, then `iterations` times the result and the salt. Writes the 20 octets of the result
 * to the start of `digest`. Name and salt have up to 255 octets each.
 */
export function hashWithSalt(
  digest: DataView,
  name: Uint8Array,
  start: number,
  length: number,
  salt: Uint8Array,
  saltAt: number,
  saltLength: number,
  iterations: number,
): void {
  for (let i = 0; i < length; i++) message[i] = name[start + i]!;
  hashMessage(length, salt, saltAt, saltLength);
  for (let round = 0; round < iterations; round++) {
    for (let i = 0; i < 5; i++) view.setInt32(i * 4, state[i]!);
    hashMessage(DIGEST, salt, saltAt, saltLength);
  }
  for (let i = 0; i < 5; i++) digest.setInt32(i * 4, state[i]!);
}

/** Hashes the first octets of the message and the salt. */
function hashMessage(length: number, salt: Uint8Array, saltAt: number, saltLength: number): void {
  for (let i = 0; i < saltLength; i++) message[length + i] = salt[saltAt + i]!;
  const octets = length + saltLength;
  const end = (octets + 9 + BLOCK - 1) & -BLOCK;
  message[octets] = 0x80;
  for (let i = octets + 1; i < end - 4; i++) message[i] = 0;
  view.setInt32(end - 4, octets * 8);
  state[0] = 0x67452301;
  state[1] = 0xefcdab89;
  state[2] = 0x98badcfe;
  state[3] = 0x10325476;
  state[4] = 0xc3d2e1f0;
  for (let at = 0; at < end; at += BLOCK) hashBlock(at);
}

function hashBlock(at: number): void {
  const w = schedule;
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + i * 4);
  for (let i = 16; i < 80; i++) {
    const word = w[i - 3]! ^ w[i - 8]! ^ w[i - 14]! ^ w[i - 16]!;
    w[i] = (word << 1) | (word >>> 31);
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  // One loop for each function: a choice inside the loop would double the time.
  for (let i = 0; i < 20; i++) {
    const next = (((a << 5) | (a >>> 27)) + (d ^ (b & (c ^ d))) + e + w[i]! + 0x5a827999) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  for (let i = 20; i < 40; i++) {
    const next = (((a << 5) | (a >>> 27)) + (b ^ c ^ d) + e + w[i]! + 0x6ed9eba1) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  for (let i = 40; i < 60; i++) {
    const next = (((a << 5) | (a >>> 27)) + ((b & c) | (d & (b | c))) + e + w[i]! + 0x8f1bbcdc) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  for (let i = 60; i < 80; i++) {
    const next = (((a << 5) | (a >>> 27)) + (b ^ c ^ d) + e + w[i]! + 0xca62c1d6) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  state[0] = (state[0]! + a) | 0;
  state[1] = (state[1]! + b) | 0;
  state[2] = (state[2]! + c) | 0;
  state[3] = (state[3]! + d) | 0;
  state[4] = (state[4]! + e) | 0;
}
