/** The only source of randomness: identifiers, jitter, seeds. Injected, so that tests are deterministic. */
import { randomBytes, randomUUID } from 'node:crypto';

export interface Random {
  /** `count` unpredictable octets. */
  bytes(count: number): Uint8Array;
  /** A version 4 UUID. */
  uuid(): string;
}

export const systemRandom: Random = {
  bytes: (count) => new Uint8Array(randomBytes(count)),
  uuid: () => randomUUID(),
};

/** Reproducible octets (xorshift32) for tests; never for secrets. */
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

/**
 * A new 16-octet identifier, shown as 32 hexadecimal digits. It begins with the time (56 bits of microseconds), so
 * that identifiers made one after the other are neighbours in an index: a bulk import appends to it instead of scattering.
 */
export function makeId(nowUs: number, random: Random): Uint8Array {
  const id = new Uint8Array(16);
  const high = Math.floor(nowUs / 0x100000000);
  const low = nowUs >>> 0;
  id[0] = high >>> 16;
  id[1] = high >>> 8;
  id[2] = high;
  id[3] = low >>> 24;
  id[4] = low >>> 16;
  id[5] = low >>> 8;
  id[6] = low;
  id.set(random.bytes(9), 7);
  return id;
}
