/** Preconditions of requests, evaluated in the order of RFC 9110 §13.2.2. */

import { parseHttpDate } from './date.js';

/** The current representation (RFC 9110 §3.2), as far as preconditions and ranges need it. */
export interface Representation {
  /** The opaque part of the entity tag, without quotes; undefined where there is none. */
  readonly etag: string | undefined;
  /** Whether the tag is a weak validator; it is strong unless said. */
  readonly hasWeakTag?: boolean;
  /** Octets. */
  readonly size: number;
  /** Microseconds since 1970; undefined if unknown. */
  readonly uploadedAt: number | undefined;
}

/** The header fields as received; undefined or absent when the request has none. */
export interface Conditions {
  readonly 'if-match'?: string | undefined;
  readonly 'if-none-match'?: string | undefined;
  readonly 'if-modified-since'?: string | undefined;
  readonly 'if-unmodified-since'?: string | undefined;
}

export type Verdict = 'proceed' | 'not-modified' | 'failed';

/**
 * An entity tag without its quotes is also accepted, because clients copy tags from lists that show them without
 * quotes.
 */
const ENTITY_TAG = /(W\/)?(?:"([^"]*)"|([^\s",]+))/g;

/** Whether an object may be read. */
export function judgeRead(conditions: Conditions, item: Representation): Verdict {
  if (isRefused(conditions, item)) return 'failed';
  const none = conditions['if-none-match'];
  if (none !== undefined) return namesTag(none, item, 'weak') ? 'not-modified' : 'proceed';
  const since = conditions['if-modified-since'];
  const limit = since === undefined ? undefined : parseHttpDate(since);
  const modified = modifiedAt(item);
  return limit !== undefined && modified !== undefined && modified <= limit ? 'not-modified' : 'proceed';
}

/** Whether a body may replace the existing representation, if there is one. */
export function judgeWrite(conditions: Conditions, existing: Representation | undefined): boolean {
  if (isRefused(conditions, existing)) return false;
  const none = conditions['if-none-match'];
  return none === undefined || !namesTag(none, existing, 'weak');
}

/** `If-Match`, or else `If-Unmodified-Since` (RFC 9110 §13.2.2 steps 1 and 2). */
function isRefused(conditions: Conditions, item: Representation | undefined): boolean {
  const match = conditions['if-match'];
  if (match !== undefined) return !namesTag(match, item, 'strong');
  const since = conditions['if-unmodified-since'];
  const limit = since === undefined ? undefined : parseHttpDate(since);
  const modified = item && modifiedAt(item);
  return limit !== undefined && modified !== undefined && modified > limit;
}

/** Whether a field value lists the object's tag; `*` matches any existing object (RFC 9110 §8.8.3.2). */
function namesTag(field: string, item: Representation | undefined, comparison: 'weak' | 'strong'): boolean {
  if (item === undefined) return false;
  if (field.trim() === '*') return true;
  if (item.etag === undefined || (comparison === 'strong' && item.hasWeakTag)) return false;
  return [...field.matchAll(ENTITY_TAG)].some(
    ([, weak, quoted, bare]) => (quoted ?? bare) === item.etag && (comparison === 'weak' || weak === undefined),
  );
}

/** The value of `Last-Modified` in whole seconds since 1970. */
export function modifiedAt({ uploadedAt }: Representation): number | undefined {
  return uploadedAt === undefined ? undefined : Math.floor(uploadedAt / 1_000_000);
}
