/** What a commit does for flattened names: keeps the index of their owners, and has targets asked for again that it touches. */
import { isWildcard, nameOfOwnerKey } from '../../dns/name.js';
import { flattenedAtOwner, flattenedInZone } from '../../serving/flattened.js';
import type { ServingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { isFlattenedOwner, putFlattenedOwner, putFlattenedZone } from '../../store/flatten/owners.js';
import { hasOwnSources, refreshTargetsFrom, refreshTargetsFromOwn } from '../../store/flatten/targets.js';
import type { ChangeKind } from '../../store/log/changes.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { TouchedZone } from '../write/touched-zone.js';

/** Settings of a zone that decide which CNAMEs are flattened; other settings leave the index as it is. */
const DECIDING = ['paused', 'zone_mode', 'flatten_all_cnames'] as const satisfies readonly (keyof ZoneRow)[];

/** After the edits. `zone`: the row, and the zone as it is served, after them. */
export function reindexFlattened(store: Store, row: ZoneRow, zone: ServingZone, touched: TouchedZone): void {
  const { before, kind, owners } = touched;
  if (kind !== undefined && (kind !== 'settings' || DECIDING.some((column) => before[column] !== row[column]))) {
    indexFlattened(store, zone);
    return;
  }
  for (const { ownerKey, edited } of owners.values()) {
    if (!edited) continue;
    const alias = flattenedAtOwner(store, zone, ownerKey);
    if (alias || isFlattenedOwner(store, zone.seq, ownerKey)) putFlattenedOwner(store, zone.seq, ownerKey, alias);
  }
}

/** Brings the index up to date for a whole zone. Inside a write. */
export function indexFlattened(store: Store, zone: ServingZone): void {
  putFlattenedZone(store, zone.seq, flattenedInZone(store, zone));
}

/** Targets whose answers came from what changed here are asked for again at once. */
export function refreshTargetsSoon(
  store: Store,
  { apex }: Pick<ZoneRow, 'apex'>,
  kind: ChangeKind | undefined,
  owners: TouchedZone['owners'],
): void {
  if (!hasOwnSources(store)) return;
  const names = [...owners.values()].map(({ ownerKey }) => nameOfOwnerKey(ownerKey, apex));
  // A wildcard, or a setting, may concern any name of the zone.
  if ((kind !== undefined && kind !== 'rrs') || names.some(isWildcard)) refreshTargetsFromOwn(store);
  else for (const name of names) refreshTargetsFrom(store, name);
}
