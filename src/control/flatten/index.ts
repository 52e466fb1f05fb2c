/** What a commit does for flattened names: keeps the index of their owners, and has targets asked for again that it touches. */
import { isWildcard, nameOfOwnerKey } from '../../dns/name.js';
import type { Store } from '../../store/driver.js';
import { flattenStatements, indexFlattened } from '../../store/flatten/targets.js';
import type { ChangeKind } from '../../store/log/changes.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { TouchedZone } from '../write/touched-zone.js';

/** Settings of a zone that decide which CNAMEs are flattened; other settings leave the index as it is. */
const DECIDING = ['paused', 'zone_mode', 'flatten_all_cnames'] as const satisfies readonly (keyof ZoneRow)[];

/** After the edits, before what is served is looked at again. */
export function reindexFlattened(store: Store, zone: ZoneRow, { before, kind, owners }: TouchedZone): void {
  const { seq } = zone;
  if (kind !== undefined && (kind !== 'settings' || DECIDING.some((column) => before[column] !== zone[column]))) {
    indexFlattened(store, seq);
    return;
  }
  const { aliasAt, targetOfOwner } = flattenStatements(store);
  for (const { ownerKey, edited } of owners.values()) {
    if (!edited) continue;
    if (aliasAt.get(seq, ownerKey) || targetOfOwner.get(seq, ownerKey)) indexFlattened(store, seq, ownerKey);
  }
}

/** Targets whose answers came from what changed here are asked for again at once. */
export function hurryTargets(
  store: Store,
  { apex }: Pick<ZoneRow, 'apex'>,
  kind: ChangeKind | undefined,
  owners: TouchedZone['owners'],
): void {
  const { anyLink, hurryDependents, hurryOwn } = flattenStatements(store);
  if (!anyLink.get()) return;
  const names = [...owners.values()].map(({ ownerKey }) => nameOfOwnerKey(ownerKey, apex));
  // A wildcard, or a setting, may concern any name of the zone.
  if ((kind !== undefined && kind !== 'rrs') || names.some(isWildcard)) hurryOwn.run();
  else for (const name of names) hurryDependents.run(name);
}
