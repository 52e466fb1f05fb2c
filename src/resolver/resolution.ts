/** The result of looking up a name, for callers of the resolver, and the steps that lead to it. */
/** `servfail` and `timeout` say nothing about the name: no server answered, or no answer was usable. */
export type ResolutionStatus = 'ok' | 'nodata' | 'nxdomain' | 'servfail' | 'timeout';

/** Where an answer comes from: our own zones, or an outside resolver. */
export type ResolutionOrigin = 'own' | 'upstream';

/** One link of a chain: a CNAME, or the CNAME that a DNAME generates. Names are in lower case without the final dot. */
export interface ResolutionLink {
  readonly name: string;
  readonly target: string;
  /** Remaining seconds. */
  readonly ttl: number;
  readonly source: ResolutionOrigin;
  /** Store number of our zone that says so; absent: an outside resolver says it. */
  readonly zone?: number;
}

export interface ResolvedRecord {
  /** Presentation form; names in lower case without the final dot. */
  readonly content: string;
  /** Remaining seconds. */
  readonly ttl: number;
}

export interface Resolution {
  readonly status: ResolutionStatus;
  /** The links in order; on failure, as many as are known. */
  readonly chain: readonly ResolutionLink[];
  /** The last name of the chain; the queried name when there is no chain. */
  readonly end: string;
  /** Records of the queried type at `end`; empty unless the status is `ok`. */
  readonly records: readonly ResolvedRecord[];
  /**
   * Seconds the result may be used: the smallest TTL of chain and records, or the negative TTL (RFC 2308 §5), up to a
   * limit.
   */
  readonly ttl: number;
  readonly source: ResolutionOrigin | 'mixed';
  /** Store number of our zone that says what is at `end`; absent: an outside resolver does, or nothing is known. */
  readonly zone?: number;
  /** A name of the chain, or its end, is one of our proxied names: DNS answers the edge's addresses for it. */
  readonly proxied?: boolean;
  /** For `servfail` and `timeout`: the reason, as text for people. */
  readonly reason?: string;
}

/** The result for one name of a chain: the next name, or the end. */
export type Step =
  | {
      readonly kind: 'link';
      readonly target: string;
      readonly ttl: number;
      readonly source: ResolutionOrigin;
      readonly proxied?: boolean;
      readonly zone?: number;
    }
  | {
      readonly kind: 'end';
      readonly found: Found;
      readonly source: ResolutionOrigin;
      readonly proxied?: boolean;
      readonly zone?: number;
    };

/** The result at the end of a chain. */
export interface Found {
  readonly status: ResolutionStatus;
  readonly records: readonly ResolvedRecord[];
  /** Seconds the result may be used, not counting the records' own TTLs. */
  readonly ttl: number;
  readonly reason?: string;
}

export function failure(status: 'servfail' | 'timeout', reason: string, ttl: number): Found {
  return { status, records: [], ttl, reason };
}
