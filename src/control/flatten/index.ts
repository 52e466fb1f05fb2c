/**
 * The part of a commit for flattened names: it updates the index of their owners, and schedules the targets that the
 * commit affects.
 */
import { isWildcard, nameOfOwnerKey } from '../../dns/name.js';
import { aliasOf } from '../../serving/flattened.js';
import type { Store } from '../../store/driver.js';
import { isFlattenedOwner, putFlattenedOwner } from '../../store/flatten/owners.js';
import { hasOwnSources, refreshTargetsFrom, refreshTargetsFromOwn } from '../../store/flatten/targets.js';
import type { ChangeKind } from '../../store/log/changes.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Participant, ZoneEnd } from '../kernel/participant.js';
import type { TouchedZone } from '../kernel/touched-zone.js';
import { DECIDING, indexFlattened } from './zone-index.js';

export const flattening: Participant<Context> = {
  derive(ctx, end) {
    if (!end.touched.derived) reindexFlattened(ctx, end);
  },
  after({ store }, { touched: { derived, complete, replacement, owners }, row }, kind) {
    // Names of which nobody knows are as many as with another setting.
    const knowsNames = complete && replacement === undefined;
    if (!derived) refreshTargetsSoon(store, row, knowsNames ? kind : 'zone-replaced', owners);
  },
  removed: ({ store }, { apex }) => refreshTargetsSoon(store, { apex }, 'zone-removed', new Map()),
};

function reindexFlattened(ctx: Context, { row, zone, owners, touched: { before, kind } }: ZoneEnd): void {
  const { store } = ctx;
  if (kind !== undefined && (kind !== 'settings' || DECIDING.some((column) => before[column] !== row[column]))) {
    indexFlattened(ctx, zone);
    return;
  }
  for (const { touched, standing } of owners) {
    if (!touched.edited) continue;
    const { ownerKey } = standing;
    const alias = aliasOf(zone, standing);
    if (alias || isFlattenedOwner(store, zone.seq, ownerKey)) putFlattenedOwner(store, zone.seq, ownerKey, alias);
  }
}

/** Targets whose answers came from changed names are resolved again at once. */
function refreshTargetsSoon(
  store: Store,
  { apex }: Pick<ZoneRow, 'apex'>,
  kind: ChangeKind | undefined,
  owners: TouchedZone['owners'],
): void {
  if (!hasOwnSources(store)) return;
  const names = [...owners.values()].map(({ ownerKey }) => nameOfOwnerKey(ownerKey, apex));
  // A wildcard, or a setting, may affect any name of the zone.
  if ((kind !== undefined && kind !== 'rrs') || names.some(isWildcard)) refreshTargetsFromOwn(store);
  else for (const name of names) refreshTargetsFrom(store, name);
}
