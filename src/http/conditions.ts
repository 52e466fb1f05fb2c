/** Preconditions of requests, evaluated in the order RFC 9110 §13.2.2 gives. */

import { parseHttpDate } from './date.js';

/** What a resource holds now (RFC 9110 §3.2), as far as preconditions and ranges ask for it. */
export interface Representation {
  /** The strong entity tag, without quotes. */
  readonly etag: string;
  /** Octets. */
  readonly size: number;
  /** Microseconds since 1970. */
  readonly uploadedAt: number;
}

/** The header fields as they came; undefined or absent where a request has none. */
export interface Conditions {
  readonly 'if-match'?: string | undefined;
  readonly 'if-none-match'?: string | undefined;
  readonly 'if-modified-since'?: string | undefined;
  readonly 'if-unmodified-since'?: string | undefined;
}

export type Verdict = 'proceed' | 'not-modified' | 'failed';

/** An entity tag without the quotes it should have is taken too: clients copy them from lists, where they have none. */
const ENTITY_TAG = /(W\/)?(?:"([^"]*)"|([^\s",]+))/g;

/** Whether an object may be read. */
export function judgeRead(conditions: Conditions, item: Representation): Verdict {
  if (isRefused(conditions, item)) return 'failed';
  const none = conditions['if-none-match'];
  if (none !== undefined) return namesTag(none, item, 'weak') ? 'not-modified' : 'proceed';
  const since = conditions['if-modified-since'];
  const limit = since === undefined ? undefined : parseHttpDate(since);
  return limit !== undefined && modifiedAt(item) <= limit ? 'not-modified' : 'proceed';
}

/** Whether a body may take the place of what is there, if anything is. */
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
  return limit !== undefined && item !== undefined && modifiedAt(item) > limit;
}

/** Whether a field value lists the tag of the object; `*` names whatever is there (RFC 9110 §8.8.3.2). */
function namesTag(field: string, item: Representation | undefined, comparison: 'weak' | 'strong'): boolean {
  if (item === undefined) return false;
  if (field.trim() === '*') return true;
  return [...field.matchAll(ENTITY_TAG)].some(
    ([, weak, quoted, bare]) => (quoted ?? bare) === item.etag && (comparison === 'weak' || weak === undefined),
  );
}

/** What `Last-Modified` says, in whole seconds since 1970. */
export function modifiedAt({ uploadedAt }: Representation): number {
  return Math.floor(uploadedAt / 1_000_000);
}
