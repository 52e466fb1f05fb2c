/** Plain shapes of resource records outside the hot path. */

/** One resource record of class IN. */
export interface RR {
  /** Wire name, case as given. */
  readonly owner: Uint8Array;
  readonly type: number;
  /** Seconds. */
  readonly ttl: number;
  /** Wire form, names uncompressed. */
  readonly rdata: Uint8Array;
}

/** All records of one owner and type; one TTL (RFC 2181 §5.2). */
export interface RRset {
  readonly type: number;
  readonly ttl: number;
  /** Empty when the data is not known: questions for it are answered SERVFAIL. */
  readonly rdatas: readonly Uint8Array[];
  /** Info code that goes with answers made of it (RFC 8914 §4). */
  readonly extendedError?: number;
}
