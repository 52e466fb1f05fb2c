/** The state that the parts of the cache share, and what they know about a request. */
import { type Clock, steadyMs } from '../../base/clock.js';
import type { FairCache } from '../../base/lists/fair-cache.js';
import type { MemoryShares } from '../../base/memory-shares.js';
import type { Coding } from '../../http/content-coding.js';
import type { HeaderFields } from '../../http/fields.js';
import type { Compression } from '../compress/compression.js';
import { type CachedItem, type PurgedItems, purgedUrl } from '../purge/purged.js';
import type { Exchange } from './freshness.js';
import type { GrowingBody } from './growing-body.js';
import type { MemoryStore } from './memory-store.js';
import type { OpenPassages } from './open-passages.js';
import type { OriginResponse } from './origin-response.js';
import { type CachePolicy, type Eligibility, keyTarget } from './policy.js';
import type { StoredHead, StoredResponse } from './stored-response.js';

export interface CacheRequest {
  /** Store number of the zone whose settings and purges apply. */
  readonly zone: number;
  /** Store number of the account that the zone belongs to. */
  readonly account: number;
  readonly scheme: 'http' | 'https';
  /** Lower case, without port. */
  readonly host: string;
  /** The host as the client sent it, and as the origin gets it. */
  readonly authority: string;
  /** Path and query as the client sent them. */
  readonly target: string;
  readonly method: string;
  /** The header fields as the client sent them. */
  readonly fields: HeaderFields;
  readonly hasBody: boolean;
  /** In which the client is to get what is worth compressing; undefined: in none. */
  readonly coding: Coding | undefined;
  readonly policy: CachePolicy;
}

/** A request that was sent to the origin. */
export interface SentRequest {
  /**
   * Resolves when the header fields of the final response have arrived. Rejects when there is none; with an OriginSilent if the
   * origin cannot be reached.
   */
  readonly response: Promise<OriginResponse>;
  /** Ends a request whose response nobody waits for any more, so that `response` rejects. */
  stop(): void;
}

/**
 * Sends the client's request to the origin, with these fields instead of the client's. It may also be called after the client
 * has its answer, to validate a stored response.
 */
export type Forward = (fields: HeaderFields) => SentRequest;

export interface CacheOptions {
  readonly clock: Clock;
  readonly purged: PurgedItems;
  readonly compression: Compression;
  /** Octets of all stored responses together. */
  readonly maxOctets: number;
  /** The largest body that is stored, octets. */
  readonly maxObjectOctets: number;
}

/** The state that the parts of the cache share. */
export interface CacheState extends CacheOptions {
  readonly responses: MemoryStore;
  /** Memory of the bodies that are still arriving, by account. */
  readonly filling: MemoryShares;
  /** Requests to the origin that are under way, by key. */
  readonly fills: Map<string, Set<Fill>>;
  /** The same for requests whose responses are probably for themselves alone. */
  readonly passages: OpenPassages;
  /** Those of {@link fills} that requests wait for, by what would send each request. */
  readonly awaited: WeakMap<Forward, Fill>;
  /**
   * Keys whose last response could not be stored, with the time until which no request waits for them; milliseconds since 1970.
   */
  readonly notStored: FairCache<number, string, number>;
}

/** A request that the cache handles, with the stored response that was found for it. */
export interface Lookup {
  readonly request: CacheRequest;
  readonly key: string;
  /** The result of `alwaysSelecting`. */
  readonly always: string;
  readonly eligibility: Eligibility;
  /** It is stale and must be validated before use. */
  readonly stored: StoredResponse | undefined;
}

/** The request as purges select it. */
export function itemOf({ request }: Lookup): Omit<CachedItem, 'tags'> {
  const { zone, scheme, host, policy } = request;
  const url = `${scheme}://${host}${keyTarget(request)}`;
  return { zone, host, url: purgedUrl(url) ?? url, ignoresQuery: policy.level === 'simplified' };
}

/** What waiting requests learn when the header fields have arrived. */
export type FillResult =
  | {
      readonly kind: 'growing';
      readonly head: StoredHead;
      readonly length: number | undefined;
      readonly body: GrowingBody;
    }
  | { readonly kind: 'stored'; readonly stored: StoredResponse }
  /** The response is not for other requests: each asks the origin itself. */
  | { readonly kind: 'alone' };

/** A request to the origin whose response is being stored. */
export interface Fill {
  /** The result of `alwaysSelecting` for its request. */
  readonly always: string;
  /** Whether other requests may wait for it. */
  readonly isShared: boolean;
  /** Number of the last purge that was known when the request was sent. */
  readonly purgesSeen: number;
  /** When the origin was asked, or when something of its response came last; steady milliseconds. */
  lastMs: number;
  readonly result: Promise<FillResult>;
  /** Requests that wait for the header fields. */
  waiting: number;
  stop: () => void;
  /** Something happened that makes the response outdated: it is not stored, and no other request waits for it. */
  isOutdated: boolean;
}

/** An exchange of which the response has just arrived. `sentMs`: when its request was sent, by the steady clock. */
export function exchangeSince({ clock }: CacheState, sentMs: number): Exchange {
  return { sentMs, receivedMs: steadyMs(clock), receivedAtMs: clock.nowMs() };
}
