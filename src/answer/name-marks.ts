/**
 * Marks of names, those of all TSIG keys or of all zones with primaries: a set of hashes in shared memory. It tells a thread that
 * has neither keys nor rows whether a name may be one of them, so that a flood with invented names never reaches the main thread.
 */
// hot
import { copyWholeName } from '../dns/wire-name.js';

const BITS = 65_536;
/** The name that is looked up: some clients compress the names of keys. */
const whole = new Uint8Array(255);

/** Memory without marks. */
export function createNameMarks(): SharedArrayBuffer {
  return new SharedArrayBuffer(BITS / 8);
}

/** Replaces all marks by those of these wire names. */
export function markNames(memory: SharedArrayBuffer, names: readonly Uint8Array[]): void {
  const marks = new Int32Array(memory);
  // Each word is stored once and whole, so that a name that was marked and stays is marked at any time.
  const fresh = new Int32Array(marks.length);
  for (const name of names) {
    const hash = hashName(name, 0, name.length);
    fresh[hash >>> 5]! |= 1 << (hash & 31);
  }
  for (let word = 0; word < marks.length; word++) Atomics.store(marks, word, fresh[word]!);
}

/**
 * Whether the name at `at` of the message from `start` to `end` is marked; false when it is malformed. Other names may have the
 * same hash, so true means that it may be one of them.
 */
export function isMarked(marks: Int32Array, bytes: Uint8Array, start: number, at: number, end: number): boolean {
  const length = copyWholeName(bytes, start, at, end, whole);
  if (length < 0) return false;
  const hash = hashName(whole, 0, length);
  return (Atomics.load(marks, hash >>> 5) & (1 << (hash & 31))) !== 0;
}

/** 16 bits; upper and lower case are the same. */
function hashName(bytes: Uint8Array, at: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = at; i < end; i++) {
    const octet = bytes[i]!;
    const lower = octet >= 65 && octet <= 90 ? octet | 0x20 : octet;
    hash = Math.imul(hash ^ lower, 0x01000193);
  }
  return (hash ^ (hash >>> 16)) & (BITS - 1);
}
