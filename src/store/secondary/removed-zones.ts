/** Zones that left a catalog of another server, and are kept unserved for a while. */

import { allRows, oneRow, runs, theValue } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface RemovedZoneRow {
  /** Store number. */
  readonly zone: number;
  /** Store number; null: the catalog is not followed any more. */
  readonly catalog: number | null;
  readonly catalog_name: string;
  /** The label under which the zone stood in the catalog. */
  readonly member_id: string;
  /** Microseconds since 1970. */
  readonly removed_at: number;
  readonly kept_until: number;
}

const statements = perStore((store) => ({
  insert: store.prepare<
    [zone: number, catalog: number | null, catalogName: string, memberId: string, removedAt: number, keptUntil: number]
  >(
    `INSERT INTO removed_zones (zone, catalog, catalog_name, member_id, removed_at, kept_until)
     VALUES (?, ?, ?, ?, ?, ?)`,
  ),
}));

export const findRemovedZone = oneRow<[zone: number], RemovedZoneRow>('SELECT * FROM removed_zones WHERE zone = ?');

/** In the order of their names. `account`: store number. */
export const removedZonesOfAccount = allRows<
  [account: number],
  RemovedZoneRow
>(`SELECT removed_zones.* FROM removed_zones JOIN zones ON zones.seq = removed_zones.zone
     WHERE zones.account = ? ORDER BY zones.name`);

/** `catalog`: store number. */
export const countRemovedZones = theValue<[catalog: number], number>(
  'SELECT count(*) FROM removed_zones WHERE catalog = ?',
);

export function insertRemovedZone(store: Store, row: RemovedZoneRow): void {
  const { zone, catalog, catalog_name: name, member_id: id, removed_at: at, kept_until: until } = row;
  statements(store).insert.run(zone, catalog, name, id, at, until);
}

/** The zone is not a removed one any more. Does nothing when it was not. */
export const forgetRemovedZone = runs<[zone: number]>('DELETE FROM removed_zones WHERE zone = ?');
