/** The only source of randomness: identifiers, jitter, seeds. It is injected, so that tests are deterministic. */
import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';

export interface Random {
  /** `count` unpredictable octets. */
  bytes(count: number): Uint8Array;
  /** A version 4 UUID. */
  uuid(): string;
}

/** Small requests are served from a pool, because each call of the system costs more than the octets. */
const POOL_OCTETS = 4096;
const MOST_OF_POOL = 64;
const pool = new Uint8Array(POOL_OCTETS);
let taken = POOL_OCTETS;

function fromPool(count: number): Uint8Array {
  if (taken + count > POOL_OCTETS) {
    randomFillSync(pool);
    taken = 0;
  }
  const octets = pool.slice(taken, taken + count);
  // Erased, so that they are neither given out twice nor left in memory.
  pool.fill(0, taken, taken + count);
  taken += count;
  return octets;
}

export const systemRandom: Random = {
  bytes: (count) => (count <= MOST_OF_POOL ? fromPool(count) : new Uint8Array(randomBytes(count))),
  uuid: () => randomUUID(),
};

/**
 * A new 16-octet identifier, shown as 32 hexadecimal digits. It begins with the time (56 bits of microseconds), so that
 * successive identifiers are neighbours in an index and a bulk import appends to it.
 */
export function makeId(nowUs: number, random: Random): Uint8Array {
  const id = new Uint8Array(ID_OCTETS);
  writeId(id, 0, nowUs, random);
  return id;
}

const ID_OCTETS = 16;
const TIME_OCTETS = 7;

/** Writes such an identifier at a place among other octets. */
export function writeId(octets: Uint8Array, at: number, nowUs: number, random: Random): void {
  const high = Math.floor(nowUs / 0x100000000);
  const low = nowUs >>> 0;
  octets[at] = high >>> 16;
  octets[at + 1] = high >>> 8;
  octets[at + 2] = high;
  octets[at + 3] = low >>> 24;
  octets[at + 4] = low >>> 16;
  octets[at + 5] = low >>> 8;
  octets[at + 6] = low;
  const drawn = random.bytes(ID_OCTETS - TIME_OCTETS);
  for (let i = 0; i < drawn.length; i++) octets[at + TIME_OCTETS + i] = drawn[i]!;
}

const RANDOM_POOL = 1 << 16;

/** Takes octets from a pool: requesting nine at a time from the system costs more than the rest of a row. */
export function pooledRandom(random: Random): Random {
  let pool = new Uint8Array(0);
  let at = 0;
  return {
    bytes(count) {
      if (at + count > pool.length) {
        pool = new Uint8Array(random.bytes(RANDOM_POOL));
        at = 0;
      }
      at += count;
      return pool.subarray(at - count, at);
    },
    uuid: () => random.uuid(),
  };
}
