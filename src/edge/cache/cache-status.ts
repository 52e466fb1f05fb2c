/** Reports what the cache did with a request, in `Cf-Cache-Status` and in `Cache-Status` (RFC 9211). */
import { fieldValue, type HeaderFields } from '../../http/fields.js';

/**
 * `DYNAMIC`: not a candidate for the cache. `BYPASS`: settings, the request or the response prevent caching. `EXPIRED`: stored but
 * stale, and the origin sent a new one. `UPDATING`: stale, used while it is being validated. `STALE`: stale, used because the
 * origin fails.
 */
export type CacheResult = 'HIT' | 'MISS' | 'EXPIRED' | 'REVALIDATED' | 'STALE' | 'UPDATING' | 'BYPASS' | 'DYNAMIC';

export interface CacheNotes {
  readonly result: CacheResult;
  /** Seconds that a stored response stays fresh; negative: seconds since it became stale. */
  readonly ttlS?: number;
  /** Status of the response that the origin sent. */
  readonly forwardedStatus?: number;
  readonly isStored?: boolean;
  /** The request waited for the response to another request. */
  readonly isCollapsed?: boolean;
}

const NAME = 'Zoneplane';

/** Why the request was forwarded to the origin (RFC 9211 §2.2). */
const FORWARD_REASONS: Readonly<Partial<Record<CacheResult, string>>> = {
  MISS: 'uri-miss',
  EXPIRED: 'stale',
  REVALIDATED: 'stale',
  STALE: 'stale',
  BYPASS: 'bypass',
  DYNAMIC: 'bypass',
};

/** This cache's member of `Cache-Status`. */
export function printCacheStatus({ result, ttlS, forwardedStatus, isStored, isCollapsed }: CacheNotes): string {
  const reason = FORWARD_REASONS[result];
  let text = reason === undefined ? `${NAME}; hit` : `${NAME}; fwd=${reason}`;
  if (forwardedStatus !== undefined) text += `; fwd-status=${forwardedStatus}`;
  if (ttlS !== undefined) text += `; ttl=${Math.floor(ttlS)}`;
  if (isStored) text += '; stored';
  if (isCollapsed) text += '; collapsed';
  return text;
}

/** Adds both fields. Members of caches closer to the origin come first (RFC 9211 §2). */
export function addCacheStatus(answer: Record<string, string | readonly string[]>, notes: CacheNotes): void {
  const earlier = fieldValue(answer as HeaderFields, 'cache-status');
  const own = printCacheStatus(notes);
  answer['cache-status'] = earlier === undefined ? own : `${earlier}, ${own}`;
  answer['cf-cache-status'] = notes.result;
}
