/** Keys of signed zones. Private keys are sealed by the vault (store/sealed-columns.ts). */
import { allRows, column, columns, inserts, oneRow, type RowOf, runs, setColumns } from '../columns.js';
import { perStore, type Store } from '../driver.js';

/** 'ksk' signs the DNSKEY, CDS and CDNSKEY RRsets, 'zsk' all others, 'csk' everything. */
export type KeyRole = 'ksk' | 'zsk' | 'csk';

const KEY = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  zone: column<number>(),
  role: column<KeyRole>(),
  algorithm: column<number>(),
  tag: column<number>(),
  /** Rdata of the DNSKEY. */
  public: column<Uint8Array>(),
  /** The private key, sealed; null for keys of other signers. */
  sealed: column<Uint8Array | null>(),
  /** The same sealed for DNS processes, when they sign with it; otherwise null. */
  online: column<Uint8Array | null>(),
  /** Whether it stands in the DNSKEY RRset. */
  published: column<number>(),
  /** Whether new signatures are made with it. */
  signs: column<number>(),
  /** Whether CDS and CDNSKEY name it. */
  in_cds: column<number>(),
  /** The name that rollovers give its state. */
  state: column<string>(),
  /** Microseconds since 1970. */
  state_at: column<number>(),
  until: column<number | null>(),
  created_at: column<number>(),
});

export interface DnssecKeyRow extends RowOf<typeof KEY> {
  readonly seq: number;
}

const NEW = KEY.without('online');

export type DnssecKeyChange = Partial<
  Pick<DnssecKeyRow, 'published' | 'signs' | 'in_cds' | 'state' | 'state_at' | 'until'>
>;

const statements = perStore((store) => ({
  setOnline: store.prepare<[online: Uint8Array | null, id: Uint8Array]>(
    'UPDATE dnssec_keys SET online = ? WHERE id = ?',
  ),
}));

/** The oldest first. */
export const keysOfZone = allRows<[zone: number], DnssecKeyRow>(
  'SELECT * FROM dnssec_keys WHERE zone = ? ORDER BY seq',
);

export const findDnssecKey = oneRow<[id: Uint8Array], DnssecKeyRow>('SELECT * FROM dnssec_keys WHERE id = ?');

export const insertDnssecKey = inserts('dnssec_keys', NEW);

/** The private key sealed for DNS processes; null: they have none. */
export function setOnlineKey(store: Store, id: Uint8Array, online: Uint8Array | null): void {
  statements(store).setOnline.run(online, id);
}

export const removeDnssecKey = runs<[id: Uint8Array]>('DELETE FROM dnssec_keys WHERE id = ?');

export const removeKeysOfZone = runs<[zone: number]>('DELETE FROM dnssec_keys WHERE zone = ?');

/** Sets columns of one row. Column names come from the type, never from input. */
export function updateDnssecKey(store: Store, id: Uint8Array, change: DnssecKeyChange): void {
  setColumns(store, ['dnssec_keys', 'id'], id, change);
}
