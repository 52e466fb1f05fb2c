/**
 * Conditional requests: a zone's entity tag, and what a client demands of it (RFC 9110 §8.8.3, §13.1). The tag stands for the
 * whole zone, records and settings; it changes with every change of any of them.
 */
import type { ZoneRow } from '../../store/zones/zones.js';
import { zoneFailure } from '../zones/errors.js';

/** Entity tags with their quotes, weak ones with `W/`; or any at all. */
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

/** Throws 412 when the zone is not in the state that was demanded. */
export function requireState(zone: ZoneRow, { ifMatch, ifNoneMatch }: Precondition): void {
  const tag = zoneTag(zone);
  const fails =
    (ifMatch !== undefined && !matchesStrongly(ifMatch, tag)) ||
    (ifNoneMatch !== undefined && matchesWeakly(ifNoneMatch, tag));
  if (fails) throw zoneFailure('stale', { tag });
}
