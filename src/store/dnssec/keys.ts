/** Keys of signed zones. Private keys are sealed by the vault (store/sealed-columns.ts). */
import { perStore, type SqlValue, type Statement, type Store } from '../driver.js';

/** 'ksk' signs the DNSKEY, CDS and CDNSKEY RRsets, 'zsk' all others, 'csk' everything. */
export type KeyRole = 'ksk' | 'zsk' | 'csk';

export interface DnssecKeyRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store number. */
  readonly zone: number;
  readonly role: KeyRole;
  readonly algorithm: number;
  readonly tag: number;
  /** Rdata of the DNSKEY. */
  readonly public: Uint8Array;
  /** The private key, sealed; null for keys of other signers. */
  readonly sealed: Uint8Array | null;
  /** The same sealed for DNS processes, when they sign with it; otherwise null. */
  readonly online: Uint8Array | null;
  /** Whether it stands in the DNSKEY RRset. */
  readonly published: number;
  /** Whether new signatures are made with it. */
  readonly signs: number;
  /** Whether CDS and CDNSKEY name it. */
  readonly in_cds: number;
  /** The name that rollovers give its state. */
  readonly state: string;
  /** Microseconds since 1970. */
  readonly state_at: number;
  readonly until: number | null;
  readonly created_at: number;
}

export type NewDnssecKey = Omit<DnssecKeyRow, 'seq' | 'online'>;
export type DnssecKeyChange = Partial<
  Pick<DnssecKeyRow, 'published' | 'signs' | 'in_cds' | 'state' | 'state_at' | 'until'>
>;

const statements = perStore((store) => ({
  ofZone: store.prepare<[zone: number], DnssecKeyRow>('SELECT * FROM dnssec_keys WHERE zone = ? ORDER BY seq'),
  byId: store.prepare<[id: Uint8Array], DnssecKeyRow>('SELECT * FROM dnssec_keys WHERE id = ?'),
  insert: store.prepare<
    [
      id: Uint8Array,
      zone: number,
      role: string,
      algorithm: number,
      tag: number,
      dnskey: Uint8Array,
      sealed: Uint8Array | null,
      published: number,
      signs: number,
      inCds: number,
      state: string,
      stateAt: number,
      until: number | null,
      createdAt: number,
    ]
  >(
    `INSERT INTO dnssec_keys (id, zone, role, algorithm, tag, public, sealed, published, signs, in_cds, state, state_at,
       until, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  setOnline: store.prepare<[online: Uint8Array | null, id: Uint8Array]>(
    'UPDATE dnssec_keys SET online = ? WHERE id = ?',
  ),
  remove: store.prepare<[id: Uint8Array]>('DELETE FROM dnssec_keys WHERE id = ?'),
  removeZone: store.prepare<[zone: number]>('DELETE FROM dnssec_keys WHERE zone = ?'),
}));

/** The oldest first. */
export function keysOfZone(store: Store, zone: number): readonly DnssecKeyRow[] {
  return statements(store).ofZone.all(zone);
}

export function findDnssecKey(store: Store, id: Uint8Array): DnssecKeyRow | undefined {
  return statements(store).byId.get(id);
}

export function insertDnssecKey(store: Store, row: NewDnssecKey): void {
  statements(store).insert.run(
    row.id,
    row.zone,
    row.role,
    row.algorithm,
    row.tag,
    row.public,
    row.sealed,
    row.published,
    row.signs,
    row.in_cds,
    row.state,
    row.state_at,
    row.until,
    row.created_at,
  );
}

/** The private key sealed for DNS processes; null: they have none. */
export function setOnlineKey(store: Store, id: Uint8Array, online: Uint8Array | null): void {
  statements(store).setOnline.run(online, id);
}

export function removeDnssecKey(store: Store, id: Uint8Array): void {
  statements(store).remove.run(id);
}

export function removeKeysOfZone(store: Store, zone: number): void {
  statements(store).removeZone.run(zone);
}

/** Update statements by the columns they set. */
const updates = perStore(() => new Map<string, Statement<SqlValue[], unknown>>());

/** Sets columns of one row. Column names come from the type, never from input. */
export function updateDnssecKey(store: Store, id: Uint8Array, change: DnssecKeyChange): void {
  const assignments = Object.keys(change)
    .map((column) => `${column} = ?`)
    .join(', ');
  let update = updates(store).get(assignments);
  if (!update) {
    update = store.prepare<SqlValue[]>(`UPDATE dnssec_keys SET ${assignments} WHERE id = ?`);
    updates(store).set(assignments, update);
  }
  update.run(...(Object.values(change) as SqlValue[]), id);
}
