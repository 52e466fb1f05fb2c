/**
 * The one resolver of this program: our own active zones first, then the resolvers of the outside world, with chains that go
 * from one to the other and back (RFC 1034 §5.3.3).
 */
import type { Clock } from '../base/clock.js';
import type { MetricSample } from '../base/metrics.js';
import type { Random } from '../base/random.js';
import type { Store } from '../store/driver.js';
import type { Upstream, UpstreamType } from './upstream.js';

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
  /** For `servfail` and `timeout`: why, in words for people. */
  readonly reason?: string;
}

export interface ResolveOptions {
  /** Asks even when an answer is known; the new answer is remembered. */
  readonly bypassCache?: boolean;
}

export interface Resolver {
  /** Never rejects for what the network or the zones do. `name` in presentation form, with or without the final dot. */
  resolve(name: string, type: UpstreamType, options?: ResolveOptions): Promise<Resolution>;
}

export interface ResolverLimits {
  /** Answers kept at most. */
  readonly entries: number;
  /** Octets of the answers kept, about. */
  readonly octets: number;
  /** Seconds a positive answer and a negative one are kept at most. */
  readonly positiveSeconds: number;
  readonly negativeSeconds: number;
  /** Seconds a failure is kept, doubled with each further one up to `mostFailureSeconds` (RFC 9520 §3.2). */
  readonly failureSeconds: number;
  readonly mostFailureSeconds: number;
  /** Most seconds a resolution promises. */
  readonly mostTtl: number;
  /** Questions to the outside at once, and waiting for their turn. */
  readonly parallel: number;
  readonly waiting: number;
  /** Milliseconds a question waits for its turn at most. */
  readonly waitMs: number;
}

export const DEFAULT_RESOLVER_LIMITS: ResolverLimits = {
  entries: 20_000,
  octets: 16 << 20,
  positiveSeconds: 60,
  negativeSeconds: 30,
  failureSeconds: 5,
  mostFailureSeconds: 60,
  mostTtl: 3600,
  parallel: 64,
  waiting: 50_000,
  waitMs: 10_000,
};

/** Counts what the resolver does, see `createResolverMetrics`. */
export interface ResolverMetrics {
  samples(): MetricSample[];
}

export interface ResolverOptions {
  readonly store: Store;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics?: ResolverMetrics;
  readonly limits?: Partial<ResolverLimits>;
  /** Host names of the service, without final dots: what zones that use them have at their apex. */
  readonly nameServers?: readonly string[];
}

export function createResolver({ upstream, limits = {} }: ResolverOptions): Resolver {
  const { failureSeconds, mostTtl } = { ...DEFAULT_RESOLVER_LIMITS, ...limits };
  return {
    async resolve(text, type) {
      const name = text.toLowerCase().replace(/\.$/, '');
      const { status, records: found, reason } = await upstream.query(name, type);
      const chain: ResolutionLink[] = [];
      const records: ResolvedRecord[] = [];
      for (const record of found) {
        if (record.type === type) records.push({ content: record.content, ttl: record.ttl });
        else chain.push({ name: record.name, target: record.content, ttl: record.ttl, source: 'upstream' });
      }
      const ttls = [...chain, ...records].map(({ ttl }) => ttl);
      const ttl = status === 'ok' ? Math.min(mostTtl, ...ttls) : failureSeconds;
      const end = chain.at(-1)?.target ?? name;
      return { status, chain, end, records, ttl, source: 'upstream', ...(reason === undefined ? {} : { reason }) };
    },
  };
}
