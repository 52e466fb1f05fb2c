/** The state of zones that are signed, being signed or being unsigned. */
import { perStore, type SqlValue, type Statement, type Store } from '../driver.js';
import { addRecordSet, dropRecordSet } from '../records/record-sets.js';

/** The state of the delegation (v4: §9). */
export type DnssecState = 'pending' | 'active' | 'pending-disabled' | 'disabled';
/**
 * 'data', 'chain': signatures, then the chain of names, are made for a zone that is not served signed yet. 'unsigning':
 * what is left of them is removed.
 */
export type DnssecPhase = 'data' | 'chain' | 'signed' | 'unsigning';
export type DenialKind = 'nsec' | 'nsec3' | 'compact';

export interface DnssecZoneRow {
  /** Store number. */
  readonly zone: number;
  readonly state: DnssecState;
  readonly phase: DnssecPhase;
  /** The last owner that the phase has done; null: none yet. */
  readonly cursor: Uint8Array | null;
  /** The last owner to which a re-signing of the whole served zone has come; null: there is none under way. */
  readonly walk: Uint8Array | null;
  /** When the last such re-signing ended, microseconds since 1970. */
  readonly walked_at: number | null;
  readonly denial: DenialKind;
  /** The kind of denial that is being prepared. */
  readonly next_denial: DenialKind | null;
  readonly iterations: number;
  readonly salt: Uint8Array;
  readonly opt_out: number;
  /** Whether CDS and CDNSKEY ask the parent to remove its DS (RFC 8078 §4). */
  readonly delete_form: number;
  readonly presigned: number;
  /** Whether DNSKEY records of other signers are part of the zone (RFC 8901 §2.1.2). */
  readonly multi_signer: number;
  /** Whether the rollover that is under way does not wait for what resolvers remember. */
  readonly emergency: number;
  /** Whether the zone tells of the keys of zones whose name servers have names in it (RFC 9615). */
  readonly signals: number;
  /** Whether the zone has the DS records that CDS records of zones below it ask for (RFC 7344). */
  readonly parental_agent: number;
  /** The newest inception of a signature, seconds since 1970. */
  readonly newest_inception: number;
  /** The largest TTL of signed data, seconds. */
  readonly largest_ttl: number;
  /** When a DS record was last seen at the parent, microseconds since 1970; null: never. */
  readonly ds_seen_at: number | null;
  /** Microseconds since 1970. */
  readonly modified_at: number;
  /** The set of its signatures and NSEC3 records. */
  readonly signature_set: number;
}

export type NewDnssecZone = Pick<DnssecZoneRow, 'zone' | 'state' | 'phase' | 'denial' | 'modified_at'>;
export type DnssecZoneChange = Partial<Omit<DnssecZoneRow, 'zone'>>;

const statements = perStore((store) => ({
  byZone: store.prepare<[zone: number], DnssecZoneRow>('SELECT * FROM dnssec_zones WHERE zone = ?'),
  all: store.prepare<[], DnssecZoneRow>('SELECT * FROM dnssec_zones ORDER BY zone'),
  insert: store.prepare<
    [zone: number, state: string, phase: string, denial: string, modifiedAt: number, signatureSet: number]
  >('INSERT INTO dnssec_zones (zone, state, phase, denial, modified_at, signature_set) VALUES (?, ?, ?, ?, ?, ?)'),
  remove: store.prepare<[zone: number]>('DELETE FROM dnssec_zones WHERE zone = ?'),
}));

/** Undefined for a zone that was never signed, or is not any more. */
export function findDnssecZone(store: Store, zone: number): DnssecZoneRow | undefined {
  return statements(store).byZone.get(zone);
}

/** By store number. */
export function allDnssecZones(store: Store): readonly DnssecZoneRow[] {
  return statements(store).all.all();
}

export function insertDnssecZone(store: Store, row: NewDnssecZone): void {
  const { modified_at: modifiedAt } = row;
  const set = addRecordSet(store, modifiedAt);
  statements(store).insert.run(row.zone, row.state, row.phase, row.denial, modifiedAt, set);
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

/** Update statements by the columns they set. */
const updates = perStore(() => new Map<string, Statement<SqlValue[], unknown>>());

/** Sets columns of one row. Column names come from the type, never from input. */
export function updateDnssecZone(store: Store, zone: number, change: DnssecZoneChange): void {
  const assignments = Object.keys(change)
    .map((column) => `${column} = ?`)
    .join(', ');
  let update = updates(store).get(assignments);
  if (!update) {
    update = store.prepare<SqlValue[]>(`UPDATE dnssec_zones SET ${assignments} WHERE zone = ?`);
    updates(store).set(assignments, update);
  }
  update.run(...(Object.values(change) as SqlValue[]), zone);
}
