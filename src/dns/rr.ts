/** Plain shapes of resource records, for code outside the answer path. */

/** One resource record of class IN. */
export interface RR {
  /** Wire name, case unchanged. */
  readonly owner: Uint8Array;
  readonly type: number;
  /** Seconds. */
  readonly ttl: number;
  /** Wire form with uncompressed names. */
  readonly rdata: Uint8Array;
}

/** All records of one owner and type, with one TTL (RFC 2181 §5.2). */
export interface RRset {
  readonly type: number;
  readonly ttl: number;
  /** Empty when the data is not known; questions for it are answered with SERVFAIL. */
  readonly rdatas: readonly Uint8Array[];
  /** Info code that is sent with answers that contain it (RFC 8914 §4). */
  readonly extendedError?: number;
  /**
   * Rdata of the RRSIGs that cover it; their TTL is its own (RFC 4034 §3). Absent: it is not to be signed, because the
   * zone is unsigned, or because it is the NS of a zone cut, glue, or occluded (RFC 4035 §2.2). Empty: it is to be
   * signed, but no stored signature fits its data.
   */
  readonly signatures?: readonly Uint8Array[];
  /** Where the data comes from, for statistics; absent: it was written. */
  readonly source?: RRsetSource;
}

/** Bits, so that an answer of several RRsets tells all its sources. */
export const RRsetSource = {
  /** Addresses of the target of a flattened CNAME. */
  flattened: 1,
  /** Addresses of the edge. */
  proxied: 2,
  /** An HTTPS record that the service made. */
  https: 4,
} as const;
export type RRsetSource = (typeof RRsetSource)[keyof typeof RRsetSource];
