/** What came of looking up a name: for callers of the resolver, and step by step for its parts. */
/**
 * `servfail` and `timeout` say nothing about the name: nobody who knows could be asked, or what they said cannot be used.
 */
export type ResolutionStatus = 'ok' | 'nodata' | 'nxdomain' | 'servfail' | 'timeout';

/** Where something was found: in our own zones, or by a resolver of the outside world. */
export type ResolutionOrigin = 'own' | 'upstream';

/** One CNAME, or the CNAME a DNAME made, of a chain. Names are lower case, without final dot. */
export interface ResolutionLink {
  readonly name: string;
  readonly target: string;
  /** Seconds left. */
  readonly ttl: number;
  readonly source: ResolutionOrigin;
}

export interface ResolvedRecord {
  /** Presentation form; names in lower case without final dot. */
  readonly content: string;
  /** Seconds left. */
  readonly ttl: number;
}

export interface Resolution {
  readonly status: ResolutionStatus;
  /** In order; whatever of it is known when the status is a failure. */
  readonly chain: readonly ResolutionLink[];
  /** The last name of the chain; the name asked for when there is none. */
  readonly end: string;
  /** Records of the asked type at `end`; empty unless the status is `ok`. */
  readonly records: readonly ResolvedRecord[];
  /** Seconds this may be used: the least along chain and records, or the negative TTL (RFC 2308 §5); capped. */
  readonly ttl: number;
  readonly source: ResolutionOrigin | 'mixed';
  /** A name of the chain, or its end, is a proxied one of ours: the world is given the edge's addresses for it. */
  readonly proxied?: boolean;
  /** For `servfail` and `timeout`: why, in words for people. */
  readonly reason?: string;
}

/** What one name of a chain came to: the next name, or the end. */
export type Step =
  | {
      readonly kind: 'link';
      readonly target: string;
      readonly ttl: number;
      readonly source: ResolutionOrigin;
      readonly proxied?: boolean;
    }
  | { readonly kind: 'end'; readonly found: Found; readonly source: ResolutionOrigin; readonly proxied?: boolean };

/** What there is at the end of a chain. */
export interface Found {
  readonly status: ResolutionStatus;
  readonly records: readonly ResolvedRecord[];
  /** Seconds it may be used, the records' own TTLs apart. */
  readonly ttl: number;
  readonly reason?: string;
}

export function failure(status: 'servfail' | 'timeout', reason: string, ttl: number): Found {
  return { status, records: [], ttl, reason };
}
