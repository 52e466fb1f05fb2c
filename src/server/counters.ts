/**
 * Counters of the DNS sockets in shared memory.
 *
 * Every answering thread owns one block of doubles and is its only writer, so counting is a plain addition without
 * atomics or messages. A double counts exactly up to 2^53, and 64-bit machines read it in one piece. The reader sums
 * the blocks on demand. A restarted worker gets its old block again, so sums never decrease.
 */
// hot
import { plainNameEnd } from '../dns/wire-name.js';

/** Places in a block. `response` and `type` begin ranges. */
export const Count = {
  /** Four places, one for each transport code. */
  query: 0,
  silent: 4,
  discarded: 5,
  truncated: 6,
  sendFailed: 7,
  receiveFailed: 8,
  batch: 9,
  fault: 10,
  connectionAccepted: 11,
  connectionEvicted: 12,
  connectionTimedOut: 13,
  connectionFailed: 14,
  frameRefused: 15,
  /** Sixteen places, one for each header rcode. */
  response: 16,
  /** One place for each line of TYPE_NAMES. */
  type: 32,
  /** One place for each line of LATENCY_LIMITS_US, one for longer times, then the sum of microseconds. */
  latency: 54,
  latencySum: 62,
} as const;

/** Upper limits of the buckets of sampled latencies, in microseconds. */
export const LATENCY_LIMITS_US: readonly number[] = [50, 100, 200, 500, 1000, 5000, 20_000];

/** One in this many batches is timed, because reading the time costs more than the look-up of an answer. */
export const TIMED_BATCH = 256;

/** Whether the batch that was just counted must be timed. */
export function isTimed(block: Float64Array): boolean {
  return (block[Count.batch]! & (TIMED_BATCH - 1)) === 0;
}

/** After one in this many batches, a thread looks at its share of the processor: a flood of full ones takes 2 ms for so many. */
const LOOKED_AT_BATCH = 16;

/** Whether that is after the batch that was just counted. */
export function isLookedAt(block: Float64Array): boolean {
  return (block[Count.batch]! & (LOOKED_AT_BATCH - 1)) === 0;
}

/** Types with their own counters, one on each line; the first line counts all other types. */
export const TYPE_NAMES: readonly (readonly [mnemonic: string, code: number])[] = [
  ['other', 0],
  ['A', 1],
  ['NS', 2],
  ['CNAME', 5],
  ['SOA', 6],
  ['PTR', 12],
  ['MX', 15],
  ['TXT', 16],
  ['AAAA', 28],
  ['SRV', 33],
  ['NAPTR', 35],
  ['DS', 43],
  ['SSHFP', 44],
  ['DNSKEY', 48],
  ['TLSA', 52],
  ['CDS', 59],
  ['SVCB', 64],
  ['HTTPS', 65],
  ['IXFR', 251],
  ['AXFR', 252],
  ['ANY', 255],
  ['CAA', 257],
];

/** Doubles in a block: whole cache lines, so that no two threads share one. */
export const BLOCK = 64;
const TYPE_LIMIT = 512;

/** Place in a block by type code. */
const TYPE_PLACES = new Uint8Array(TYPE_LIMIT).fill(Count.type);
for (let line = 1; line < TYPE_NAMES.length; line++) TYPE_PLACES[TYPE_NAMES[line]![1]] = Count.type + line;

/** One thread's block. */
export type CountBlock = Float64Array<SharedArrayBuffer>;

export interface Counters {
  /** The blocks of all threads, to be posted to workers. */
  readonly memory: SharedArrayBuffer;
  /** The largest number of threads; block 0 belongs to the main thread. */
  readonly threads: number;
}

export function createCounters(threads: number): Counters {
  return { memory: new SharedArrayBuffer(threads * BLOCK * 8), threads };
}

export function countBlock(memory: SharedArrayBuffer, thread: number): CountBlock {
  return new Float64Array(memory, thread * BLOCK * 8, BLOCK);
}

/** A number that changes with every counter of every thread. */
export function sumOfCounters({ memory }: Counters): number {
  const places = new Float64Array(memory);
  let sum = 0;
  for (let place = 0; place < places.length; place++) sum += places[place]!;
  return sum;
}

/** The QTYPE of a request, or 0 when the question is incomplete. Reads nothing outside `start … start + length`. */
export function questionType(bytes: Uint8Array, start: number, length: number): number {
  const end = start + length;
  const at = plainNameEnd(bytes, start + 12, end - 4);
  return at < 0 ? 0 : (bytes[at]! << 8) | bytes[at + 1]!;
}

/** Counts a request by transport and type. */
export function countQuery(
  block: Float64Array,
  bytes: Uint8Array,
  start: number,
  length: number,
  transport: number,
): void {
  block[Count.query + transport]! += 1;
  const type = questionType(bytes, start, length);
  block[type < TYPE_LIMIT ? TYPE_PLACES[type]! : Count.type]! += 1;
}

/** Counts the time of a batch, from its arrival in the process until its answers were handed to the system. */
export function countLatency(block: Float64Array, micros: number): void {
  let line = 0;
  while (line < LATENCY_LIMITS_US.length && micros > LATENCY_LIMITS_US[line]!) line++;
  block[Count.latency + line]! += 1;
  block[Count.latencySum]! += micros;
}

/** Counts an answer by its header rcode, without the upper bits from EDNS. */
export function countResponse(block: Float64Array, bytes: Uint8Array, at: number, length: number): void {
  if (length === 0) {
    block[Count.silent]! += 1;
    return;
  }
  block[Count.response + (bytes[at + 3]! & 15)]! += 1;
  if ((bytes[at + 2]! & 2) !== 0) block[Count.truncated]! += 1;
}
