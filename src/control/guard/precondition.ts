/**
 * Conditional requests: a zone's entity tag, and the client's preconditions (RFC 9110 §8.8.3, §13.1). The tag covers
 * the whole zone, records and settings; every change of them changes it.
 */
import type { ZoneRow } from '../../store/zones/zones.js';
import { zoneFailure } from '../rules/zone-failures.js';

/** Entity tags with their quotes, weak ones with `W/`; or `*` for any. */
export type TagList = readonly string[] | '*';

export interface Precondition {
  readonly ifMatch?: TagList;
  readonly ifNoneMatch?: TagList;
}

/** The strong entity tag of a zone's state. */
export function zoneTag({ version, serial }: Pick<ZoneRow, 'version' | 'serial'>): string {
  return `"${version}-${serial}"`;
}

/** If-Match: strong comparison, so that a weak tag never matches (RFC 9110 §8.8.3.2). */
function matchesStrongly(tags: TagList, tag: string): boolean {
  return tags === '*' || tags.includes(tag);
}

/** If-None-Match: weak comparison (RFC 9110 §8.8.3.2). */
export function matchesWeakly(tags: TagList, tag: string): boolean {
  return tags === '*' || tags.some((candidate) => candidate.replace(/^W\//, '') === tag);
}

/** Throws 412 when the zone does not have the required state. */
export function requireState(zone: ZoneRow, precondition: Precondition): void {
  const tag = zoneTag(zone);
  if (!isMet(precondition, tag)) throw zoneFailure('stale', { tag });
}

/** Whether an object with this entity tag is in the required state. `tag`: undefined for one that is not there (RFC 9110 §13.1). */
export function isMet({ ifMatch, ifNoneMatch }: Precondition, tag: string | undefined): boolean {
  if (tag === undefined) return ifMatch === undefined;
  if (ifMatch !== undefined && !matchesStrongly(ifMatch, tag)) return false;
  return ifNoneMatch === undefined || !matchesWeakly(ifNoneMatch, tag);
}
