/** Catalog zones of other servers that accounts follow, and the zones in them. */

import { allRows, oneRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface ConsumedCatalogRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store number. */
  readonly account: number;
  /** Store number of the catalog zone. */
  readonly zone: number;
  /** The version that was followed last; null: none was. */
  readonly serial: number | null;
  /** Why the newest version is not followed; null: it is. */
  readonly fault: string | null;
  /** Zones that would go, but wait for a person. */
  readonly held: number;
  /** The serial for which a person let them go. */
  readonly confirmed: number | null;
  /** Microseconds since 1970. */
  readonly followed_at: number | null;
  readonly created_at: number;
  readonly modified_at: number;
}

export interface ConsumedMemberRow {
  /** Store number of the catalog. */
  readonly catalog: number;
  /** Of the member zone, as zones have it. */
  readonly name: string;
  /** The label under which it stands in the catalog. */
  readonly member_id: string;
  /** Store number of the zone here; null: there is none. */
  readonly zone: number | null;
  readonly grp: string | null;
  /** Name of the catalog to which it goes over (RFC 9432 §4.3.1). */
  readonly moves_to: string | null;
  /** Why there is no zone. */
  readonly problem: string | null;
}

/** How many members of a catalog are zones here, and how many are not. */
export interface MemberCounts {
  readonly zones: number;
  readonly problems: number;
}

const statements = perStore((store) => ({
  insert: store.prepare<[id: Uint8Array, account: number, zone: number, createdAt: number, modifiedAt: number]>(
    'INSERT INTO consumed_catalogs (id, account, zone, created_at, modified_at) VALUES (?, ?, ?, ?, ?)',
  ),
  note: store.prepare<
    [serial: number | null, fault: string | null, held: number, followedAt: number | null, seq: number]
  >('UPDATE consumed_catalogs SET serial = ?, fault = ?, held = ?, followed_at = ? WHERE seq = ?'),
  confirm: store.prepare<[confirmed: number | null, modifiedAt: number, seq: number]>(
    'UPDATE consumed_catalogs SET confirmed = ?, modified_at = ? WHERE seq = ?',
  ),
  counts: store.prepare<[catalog: number], MemberCounts>(
    'SELECT count(zone) AS zones, count(problem) AS problems FROM consumed_members WHERE catalog = ?',
  ),
  putMember: store.prepare<
    [
      catalog: number,
      name: string,
      memberId: string,
      zone: number | null,
      group: string | null,
      movesTo: string | null,
      problem: string | null,
    ]
  >(
    `INSERT INTO consumed_members (catalog, name, member_id, zone, grp, moves_to, problem) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (catalog, name) DO UPDATE SET member_id = excluded.member_id, zone = excluded.zone, grp = excluded.grp,
       moves_to = excluded.moves_to, problem = excluded.problem`,
  ),
  removeMember: store.prepare<[catalog: number, name: string]>(
    'DELETE FROM consumed_members WHERE catalog = ? AND name = ?',
  ),
}));

export const findConsumedCatalog = oneRow<[seq: number], ConsumedCatalogRow>(
  'SELECT * FROM consumed_catalogs WHERE seq = ?',
);

export const findConsumedCatalogById = oneRow<[id: Uint8Array], ConsumedCatalogRow>(
  'SELECT * FROM consumed_catalogs WHERE id = ?',
);

/** The one whose catalog zone has this store number. */
export const findConsumedCatalogOfZone = oneRow<[zone: number], ConsumedCatalogRow>(
  'SELECT * FROM consumed_catalogs WHERE zone = ?',
);

/** The oldest first. */
export const consumedCatalogsOfAccount = allRows<[account: number], ConsumedCatalogRow>(
  'SELECT * FROM consumed_catalogs WHERE account = ? ORDER BY seq',
);

/** Those of all accounts. */
export const allConsumedCatalogs = allRows<[], ConsumedCatalogRow>('SELECT * FROM consumed_catalogs ORDER BY seq');

/** `now`: microseconds since 1970, here and below. */
export function insertConsumedCatalog(store: Store, id: Uint8Array, account: number, zone: number, now: number): void {
  statements(store).insert.run(id, account, zone, now, now);
}

/** Notes how far the catalog is followed. */
export function noteConsumed(
  store: Store,
  seq: number,
  { serial, fault, held, followed_at: at }: Pick<ConsumedCatalogRow, 'serial' | 'fault' | 'held' | 'followed_at'>,
): void {
  statements(store).note.run(serial, fault, held, at, seq);
}

/** A person lets the zones go that the version with this serial does not have. */
export function confirmConsumed(store: Store, seq: number, serial: number, now: number): void {
  statements(store).confirm.run(serial, now, seq);
}

/** Rows that are read in one step. */
const MEMBERS_AT_ONCE = 200;

const membersAfter = allRows<[catalog: number, after: string, limit: number], ConsumedMemberRow>(
  'SELECT * FROM consumed_members WHERE catalog = ? AND name > ? ORDER BY name LIMIT ?',
);

/** In the order of their names, read in parts; others may write meanwhile. */
export function* consumedMembers(store: Store, catalog: number): Generator<ConsumedMemberRow, void> {
  for (let after = ''; ; ) {
    const rows = membersAfter(store, catalog, after, MEMBERS_AT_ONCE);
    yield* rows;
    if (rows.length < MEMBERS_AT_ONCE) return;
    after = rows.at(-1)!.name;
  }
}

export function countConsumedMembers(store: Store, catalog: number): MemberCounts {
  return statements(store).counts.get(catalog)!;
}

/** The member with a name. `catalog`: store number. */
export const findConsumedMember = oneRow<[catalog: number, name: string], ConsumedMemberRow>(
  'SELECT * FROM consumed_members WHERE catalog = ? AND name = ?',
);

/** The member that is the zone with this store number. */
export const findConsumedMemberOfZone = oneRow<[zone: number], ConsumedMemberRow>(
  'SELECT * FROM consumed_members WHERE zone = ?',
);

/** Adds a member, or replaces the one with its name. */
export function putConsumedMember(store: Store, row: ConsumedMemberRow): void {
  const { catalog, name, member_id: id, zone, grp, moves_to: movesTo, problem } = row;
  statements(store).putMember.run(catalog, name, id, zone, grp, movesTo, problem);
}

export function removeConsumedMember(
  store: Store,
  { catalog, name }: Pick<ConsumedMemberRow, 'catalog' | 'name'>,
): void {
  statements(store).removeMember.run(catalog, name);
}
