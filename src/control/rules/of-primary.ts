/** Which records of a secondary zone may be changed here. Pure. */
import { Type } from '../../dns/codes.js';
import type { NewRecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { recordFailure } from './record-failures.js';

type Place = Pick<NewRecordRow, 'proxied' | 'type' | 'owner_key'>;

/** Whether a record of a secondary zone was made here (v4: `secondary_overrides`); transfers leave it alone. */
export function isOverride({ proxied, type, owner_key: ownerKey }: Place): boolean {
  return proxied === 1 || (type === Type.cname && ownerKey.length === 0);
}

/**
 * The records of a secondary zone are those of its primary. With `secondary_overrides`, names may be proxied all the same, and
 * the apex may have a CNAME, unless the primary signs the zone (`isPresigned`), because nobody could sign these. Throws 400.
 */
export function requireOwnRecord(
  { type, secondary_overrides: overrides, name }: ZoneRow,
  row: Place,
  isPresigned: boolean,
): void {
  if (type !== 'secondary') return;
  if (isPresigned) throw recordFailure('ofSigner', { zone: name });
  if (overrides === 1 && isOverride(row)) return;
  throw recordFailure('ofPrimary', { zone: name });
}
