/** Catalog zones of accounts, and the zones in them. */

import { allRows, oneRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface CatalogRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store number. */
  readonly account: number;
  /** Store number of the catalog zone. */
  readonly zone: number;
  /** Which zones of the account are members: all, or those that are transferred to a peer of the catalog zone. */
  readonly members: 'all' | 'linked';
  /** Microseconds since 1970. */
  readonly created_at: number;
  readonly modified_at: number;
}

export interface MemberRow {
  readonly catalog: number;
  /** Store number and name of the zone. */
  readonly zone: number;
  readonly name: string;
  readonly member_id: Uint8Array;
  readonly grp: string | null;
  /** Store number of the catalog to which the zone goes over, since `moved_at` (microseconds since 1970). */
  readonly moved_to: number | null;
  readonly moved_at: number | null;
}

type MemberValues = Omit<MemberRow, 'name'>;

const statements = perStore((store) => ({
  insert: store.prepare<
    [id: Uint8Array, account: number, zone: number, members: string, createdAt: number, modifiedAt: number]
  >('INSERT INTO catalogs (id, account, zone, members, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)'),
  putMember: store.prepare<
    [
      catalog: number,
      zone: number,
      memberId: Uint8Array,
      group: string | null,
      movedTo: number | null,
      movedAt: number | null,
    ]
  >(
    `INSERT INTO catalog_members (catalog, zone, member_id, grp, moved_to, moved_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (catalog, zone) DO UPDATE SET member_id = excluded.member_id, grp = excluded.grp,
       moved_to = excluded.moved_to, moved_at = excluded.moved_at`,
  ),
  removeMember: store.prepare<[catalog: number, zone: number]>(
    'DELETE FROM catalog_members WHERE catalog = ? AND zone = ?',
  ),
  after: store.prepareTuples<[account: number, after: number, catalog: number, after: number, limit: number], [number]>(
    `SELECT seq FROM zones WHERE account = ? AND seq > ? UNION
     SELECT zone FROM catalog_members WHERE catalog = ? AND zone > ? ORDER BY 1 LIMIT ?`,
  ),
  isOfAll: store.prepareTuples<[zone: number, account: number], [1]>(
    `SELECT 1 FROM zones LEFT JOIN zone_outgoing ON zone_outgoing.zone = zones.seq
     WHERE seq = ? AND account = ? AND served = 1 AND type <> 'internal' AND coalesce(enabled, 1) = 1`,
  ),
  isLinked: store.prepareTuples<[zone: number, account: number, catalogZone: number], [1]>(
    `SELECT 1 FROM zones JOIN zone_outgoing ON zone_outgoing.zone = zones.seq
     WHERE seq = ? AND account = ? AND served = 1 AND type <> 'internal' AND enabled = 1 AND EXISTS
       (SELECT 1 FROM zone_peers WHERE zone_peers.zone = zones.seq
        AND peer IN (SELECT peer FROM zone_peers WHERE zone_peers.zone = ?))`,
  ),
}));

export const findCatalog = oneRow<[seq: number], CatalogRow>('SELECT * FROM catalogs WHERE seq = ?');

export const findCatalogById = oneRow<[id: Uint8Array], CatalogRow>('SELECT * FROM catalogs WHERE id = ?');

/** The oldest first. */
export const catalogsOfAccount = allRows<[account: number], CatalogRow>(
  'SELECT * FROM catalogs WHERE account = ? ORDER BY seq',
);

/** `now`: microseconds since 1970. */
export function insertCatalog(
  store: Store,
  id: Uint8Array,
  { account, zone, members }: Pick<CatalogRow, 'account' | 'zone' | 'members'>,
  now: number,
): void {
  statements(store).insert.run(id, account, zone, members, now, now);
}

/** In the order of the zones' store numbers. */
export const membersOfCatalog = allRows<
  [catalog: number],
  MemberRow
>(`SELECT catalog_members.*, zones.name FROM catalog_members JOIN zones ON zones.seq = catalog_members.zone
     WHERE catalog = ? ORDER BY catalog_members.zone`);

/** Adds a member, or replaces it. */
export function putMember(store: Store, { catalog, zone, ...values }: MemberValues): void {
  const { member_id: id, grp, moved_to: movedTo, moved_at: movedAt } = values;
  statements(store).putMember.run(catalog, zone, id, grp, movedTo, movedAt);
}

export function removeMember(store: Store, { catalog, zone }: Pick<MemberRow, 'catalog' | 'zone'>): void {
  statements(store).removeMember.run(catalog, zone);
}

export const findMember = oneRow<
  [catalog: number, zone: number],
  MemberRow
>(`SELECT catalog_members.*, zones.name FROM catalog_members JOIN zones ON zones.seq = catalog_members.zone
     WHERE catalog = ? AND catalog_members.zone = ?`);

/** Store numbers of zones that may belong in a catalog, or are in it: those after a number, in order. */
export function zonesOfCatalogAfter(
  store: Store,
  { seq, account }: CatalogRow,
  after: number,
  limit: number,
): number[] {
  return statements(store)
    .after.all(account, after, seq, after, limit)
    .map(([zone]) => zone);
}

/** Whether a zone (store number) belongs in a catalog. One whose transfers are disabled does not. */
export function belongsToCatalog(
  store: Store,
  { account, zone: catalogZone, members }: CatalogRow,
  zone: number,
): boolean {
  const { isOfAll, isLinked } = statements(store);
  const found = members === 'all' ? isOfAll.get(zone, account) : isLinked.get(zone, account, catalogZone);
  return found !== undefined;
}
