/** The state of zones that are signed, being signed or being unsigned. */
import { allRows, column, columns, insertion, oneRow, type RowOf, setColumns } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { addRecordSet, dropRecordSet } from '../records/record-sets.js';

/** The state of the delegation (v4: §9). */
export type DnssecState = 'pending' | 'active' | 'pending-disabled' | 'disabled';
/**
 * 'data', 'chain': signatures, then the chain of names, are made for a zone that is not served signed yet. 'unsigning':
 * what is left of them is removed.
 */
export type DnssecPhase = 'data' | 'chain' | 'signed' | 'unsigning';
export type DenialKind = 'nsec' | 'nsec3' | 'compact';

const ZONE = columns({
  /** Store number. */
  zone: column<number>(),
  state: column<DnssecState>(),
  phase: column<DnssecPhase>(),
  /** The last owner that the phase has done; null: none yet. */
  cursor: column<Uint8Array | null>(),
  /** The last owner to which a re-signing of the whole served zone has come; null: there is none under way. */
  walk: column<Uint8Array | null>(),
  /** When the last such re-signing ended, microseconds since 1970. */
  walked_at: column<number | null>(),
  denial: column<DenialKind>(),
  /** The kind of denial that is being prepared. */
  next_denial: column<DenialKind | null>(),
  iterations: column<number>(),
  salt: column<Uint8Array>(),
  opt_out: column<number>(),
  /** Whether CDS and CDNSKEY ask the parent to remove its DS (RFC 8078 §4). */
  delete_form: column<number>(),
  presigned: column<number>(),
  /** Whether DNSKEY records of other signers are part of the zone (RFC 8901 §2.1.2). */
  multi_signer: column<number>(),
  /** Whether the rollover that is under way does not wait for what resolvers remember. */
  emergency: column<number>(),
  /** Whether the zone tells of the keys of zones whose name servers have names in it (RFC 9615). */
  signals: column<number>(),
  /** Whether the zone has the DS records that CDS records of zones below it ask for (RFC 7344). */
  parental_agent: column<number>(),
  /** The newest inception of a signature, seconds since 1970. */
  newest_inception: column<number>(),
  /** Signatures with an earlier inception are replaced, seconds since 1970. */
  renew_before: column<number>(),
  /** The largest TTL of signed data, seconds. */
  largest_ttl: column<number>(),
  /** When a DS record was last seen at the parent, microseconds since 1970; null: never. */
  ds_seen_at: column<number | null>(),
  /** Microseconds since 1970. */
  modified_at: column<number>(),
  /** The set of its signatures and NSEC3 records. */
  signature_set: column<number>(),
});

export type DnssecZoneRow = RowOf<typeof ZONE>;

const NEW_ZONE = ZONE.only('zone', 'state', 'phase', 'denial', 'modified_at', 'signature_set');

export type NewDnssecZone = Omit<RowOf<typeof NEW_ZONE>, 'signature_set'>;
export type DnssecZoneChange = Partial<Omit<DnssecZoneRow, 'zone'>>;

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('dnssec_zones', NEW_ZONE)),
  remove: store.prepare<[zone: number]>('DELETE FROM dnssec_zones WHERE zone = ?'),
}));

/** Undefined for a zone that was never signed, or is not any more. */
export const findDnssecZone = oneRow<[zone: number], DnssecZoneRow>('SELECT * FROM dnssec_zones WHERE zone = ?');

/** By store number. */
export const allDnssecZones = allRows<[], DnssecZoneRow>('SELECT * FROM dnssec_zones ORDER BY zone');

/** Zones with a signature that is valid from after that time on, seconds since 1970. */
export const dnssecZonesSignedAfter = allRows<[seconds: number], DnssecZoneRow>(
  'SELECT * FROM dnssec_zones WHERE newest_inception > ? ORDER BY zone',
);

export function insertDnssecZone(store: Store, row: NewDnssecZone): void {
  const signatures = { signature_set: addRecordSet(store, row.modified_at) };
  statements(store).insert.run(...NEW_ZONE.values({ ...row, ...signatures }));
}

/**
 * Removes the row with the signatures; keys stay. False when there are so many signatures that rows remain for now; they belong
 * to no zone and are removed in parts.
 */
export function removeDnssecZone(store: Store, zone: number): boolean {
  const row = findDnssecZone(store, zone);
  statements(store).remove.run(zone);
  return !row || dropRecordSet(store, row.signature_set);
}

/** Sets columns of one row. Column names come from the type, never from input. */
export function updateDnssecZone(store: Store, zone: number, change: DnssecZoneChange): void {
  setColumns(store, ['dnssec_zones', 'zone'], zone, change);
}
