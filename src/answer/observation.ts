/**
 * The shared memory in which answering threads leave what they saw: counters for each zone, and a ring of samples.
 *
 * Every thread owns one block and is its only writer; one reader (observe/reader.ts) reads all blocks. Neither waits
 * for the other: counters are plain additions, and a sample that does not fit into the ring is dropped and counted.
 *
 * A block has seven parts:
 * - control words, {@link Word};
 * - the index of rows: two words for each, {@link IndexWord}, so that the neighbours among which a zone may be stand in
 *   one or two cache lines;
 * - rows of counters, {@link Row}, as doubles: row 0 counts what belongs to no other row, each further row belongs to a
 *   zone, whose apex stands behind the counters, its length first;
 * - places of pools, {@link PoolPlace}, as doubles: answers of load balancers by pool (balance/count-pools.ts);
 * - slots of the tally, {@link Slot}: what the zones with rows were asked, in more detail (tally.ts), and beside them
 *   the names that they count, each with its length first;
 * - the ring: samples in whole words, {@link SampleWord}, one behind the other. One that would pass the end begins again
 *   at the start; {@link SKIP} marks the gap.
 */

export const Word = {
  /** Positions in the ring in words, counted up for ever: `head` is the writer's, `tail` the reader's. */
  head: 0,
  tail: 1,
  dropped: 2,
  /** One in this many answers is sampled for statistics; 0: none. The reader adapts it to the load. */
  stride: 3,
  /** The same for the query log. */
  logStride: 4,
  /** 1: every message is copied, for dnstap. */
  tap: 5,
  /** 1: the reader rests until it is notified of the next sample. */
  resting: 6,
  /** Counts the looks of the reader at the tally; 0: nothing is tallied. */
  epoch: 7,
  /** Answers from pools without a place, since places last became older. */
  poolMisses: 8,
  length: 16,
} as const;

export const IndexWord = {
  /** Number of the zone in the image; 0: the row is free. */
  zone: 0,
  /** Falls while other zones want the row; at 0 it is given up. */
  age: 1,
} as const;

/** log2 of the words of a row in the index. */
export const INDEX_SHIFT = 1;

/** Places of the counters in a row. */
export const Row = {
  queries: 0,
  octets: 1,
  nxDomain: 2,
  servFail: 3,
  refused: 4,
  otherRcode: 5,
  unanswered: 6,
  truncated: 7,
  flattened: 8,
  proxied: 9,
  https: 10,
  signed: 11,
  /** Answers by no zone. */
  foreign: 12,
  /** Answers of load balancers: from a chosen pool, from the fallback pool, and without any origin. */
  balanced: 13,
  fallback: 14,
  unbalanced: 15,
  apex: 16,
} as const;

const APEX_OCTETS = 256;
/** Doubles in a row. */
export const ROW = Row.apex + APEX_OCTETS / 8;
/** Rows of zones; a power of two. */
export const ROWS = 1024;
/** Successive places in which a zone, a pool or a name may be counted. */
export const MOST_TRIED = 8;

/** `number`: the store number of the pool; 0: the place is free. `age` falls while other pools want the place. */
export const PoolPlace = { number: 0, age: 1, chosen: 2, fallback: 3 } as const;
/** log2 of the doubles of a place, and the number of places; a power of two. */
export const POOL_SHIFT = 2;
export const POOLS = 1024;

/** Words of a slot of the tally. */
export const Slot = {
  /** Number of the zone in the image; 0: the slot is free. */
  zone: 0,
  /** Hash of a name, 0 for what has none; or the first octets of a network. */
  key: 1,
  /** See {@link Tallied}. */
  facts: 2,
  /** {@link Word.epoch} when it last counted. */
  epoch: 3,
  count: 4,
} as const;

/**
 * Facts about counted answers. Of a name: type | rcode << 16 | transport << 21 | these bits. Of a network: the octets that
 * do not fit into its key | these bits.
 */
export const Tallied = { rcodeShift: 16, transportShift: 21, ipv6: 1 << 23, network: 1 << 24 } as const;

/** log2 of the words of a slot. */
export const SLOT_SHIFT = 3;
/** Slots; a power of two. */
export const SLOTS = 4096;
/** Octets of the name of a slot. */
export const SLOT_NAME = 256;

/** Words of a sample before its octets. */
export const SampleWord = {
  /** Words in all. */
  length: 0,
  /** Seconds since 1970, and microseconds. */
  seconds: 1,
  micros: 2,
  /** Microseconds that the answer took. */
  took: 3,
  /** Mark | transport << 8 | RRsetSource << 16 | 1 << 24 when it is signed | 1 << 25 with DO. */
  facts: 4,
  /** Rcode with its upper bits | length of the client's address << 16 | length of the own address << 24. */
  rcode: 5,
  /** Length of the apex of the zone | port of the client << 16. */
  apex: 6,
  /** Octets of the request | octets of the answer << 16. */
  messages: 7,
  /** The octets of the answer that was sent, also when it is not copied. */
  size: 8,
  /** Octets: the client's address, own address (16 each), apex, request, answer. */
  octets: 9,
} as const;

/** What a sample is for. */
export const Mark = { statistics: 1, log: 2, tap: 4 } as const;
export const SIGNED = 1 << 24;
export const DNSSEC_OK = 1 << 25;
/** In place of a length: the ring continues at its start. */
export const SKIP = -1;

const CONTROL_OCTETS = Word.length * 4;
/** A multiple of a cache line, like the other parts. */
const INDEX_OCTETS = (ROWS << INDEX_SHIFT) * 4 + 64;
const ROWS_OCTETS = (1 + ROWS) * ROW * 8;
const POOLS_OCTETS = (POOLS << POOL_SHIFT) * 8;
const SLOTS_OCTETS = (SLOTS << SLOT_SHIFT) * 4;
const NAMES_OCTETS = SLOTS * SLOT_NAME;
const FIXED_OCTETS = CONTROL_OCTETS + INDEX_OCTETS + ROWS_OCTETS + POOLS_OCTETS + SLOTS_OCTETS + NAMES_OCTETS;

/** The memory of all threads. */
export interface Observation {
  readonly memory: SharedArrayBuffer;
  readonly threads: number;
  /** Octets of each ring; a power of two. */
  readonly ringOctets: number;
}

/** One thread's part. Posted to workers with the thread's number. */
export interface ObservationPlace {
  readonly observation: Observation;
  readonly thread: number;
}

export interface ObservationBlock {
  readonly control: Int32Array<SharedArrayBuffer>;
  /** The words of row 0 are not used. */
  readonly index: Int32Array<SharedArrayBuffer>;
  readonly rows: Float64Array<SharedArrayBuffer>;
  /** The octets of all rows. */
  readonly rowOctets: Uint8Array<SharedArrayBuffer>;
  readonly pools: Float64Array<SharedArrayBuffer>;
  readonly slots: Int32Array<SharedArrayBuffer>;
  readonly slotNames: Uint8Array<SharedArrayBuffer>;
  readonly ring: Int32Array<SharedArrayBuffer>;
  readonly ringOctets: Uint8Array<SharedArrayBuffer>;
}

export function createObservation(threads: number, ringOctets: number): Observation {
  const octets = threads * (FIXED_OCTETS + ringOctets);
  return { memory: new SharedArrayBuffer(octets), threads, ringOctets };
}

export function observationBlock({ observation, thread }: ObservationPlace): ObservationBlock {
  const { memory, ringOctets } = observation;
  const start = thread * (FIXED_OCTETS + ringOctets);
  const index = start + CONTROL_OCTETS;
  const rows = index + INDEX_OCTETS;
  const pools = rows + ROWS_OCTETS;
  const slots = pools + POOLS_OCTETS;
  const names = slots + SLOTS_OCTETS;
  const ring = names + NAMES_OCTETS;
  return {
    control: new Int32Array(memory, start, Word.length),
    index: new Int32Array(memory, index, (1 + ROWS) << INDEX_SHIFT),
    rows: new Float64Array(memory, rows, (1 + ROWS) * ROW),
    rowOctets: new Uint8Array(memory, rows, ROWS_OCTETS),
    pools: new Float64Array(memory, pools, POOLS << POOL_SHIFT),
    slots: new Int32Array(memory, slots, SLOTS << SLOT_SHIFT),
    slotNames: new Uint8Array(memory, names, NAMES_OCTETS),
    ring: new Int32Array(memory, ring, ringOctets / 4),
    ringOctets: new Uint8Array(memory, ring, ringOctets),
  };
}

export function createObservationBlocks(observation: Observation): ObservationBlock[] {
  return Array.from({ length: observation.threads }, (_, thread) => observationBlock({ observation, thread }));
}
