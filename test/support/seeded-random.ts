/** Deterministic randomness for tests. */
import type { Random } from '../../src/base/random.js';

/** Reproducible octets (xorshift32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0 || 1;
  const bytes = (count: number): Uint8Array => {
    const out = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      out[i] = state >>> 11;
    }
    return out;
  };
  const uuid = (): string => {
    const raw = bytes(16);
    raw[6] = (raw[6]! & 0x0f) | 0x40;
    raw[8] = (raw[8]! & 0x3f) | 0x80;
    const hex = Buffer.from(raw).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };
  return { bytes, uuid };
}
