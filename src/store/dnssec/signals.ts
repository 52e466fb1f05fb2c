/** Records of zones that tell of the keys of other zones (RFC 9615). */
import { perStore, type Store } from '../driver.js';

export interface SignalRow {
  /** Store number of the zone that has the record. */
  readonly zone: number;
  /** Relative to its apex. */
  readonly owner_key: Uint8Array;
  /** CDS or CDNSKEY. */
  readonly type: number;
  readonly rdata: Uint8Array;
  /** Identifier of the zone that it tells of. */
  readonly child: Uint8Array;
}

const statements = perStore((store) => ({
  atOwner: store.prepare<[zone: number, ownerKey: Uint8Array], Pick<SignalRow, 'type' | 'rdata'>>(
    'SELECT type, rdata FROM dnssec_signals WHERE zone = ? AND owner_key = ? ORDER BY type, rdata',
  ),
  owners: store.prepareTuples<[zone: number], [ownerKey: Uint8Array]>(
    'SELECT DISTINCT owner_key FROM dnssec_signals WHERE zone = ? ORDER BY owner_key',
  ),
  ofChild: store.prepare<[child: Uint8Array], SignalRow>(
    'SELECT * FROM dnssec_signals WHERE child = ? ORDER BY zone, owner_key, type, rdata',
  ),
  insert: store.prepare<[zone: number, ownerKey: Uint8Array, type: number, rdata: Uint8Array, child: Uint8Array]>(
    'INSERT OR REPLACE INTO dnssec_signals (zone, owner_key, type, rdata, child) VALUES (?, ?, ?, ?, ?)',
  ),
  remove: store.prepare<[zone: number, ownerKey: Uint8Array, type: number, rdata: Uint8Array]>(
    'DELETE FROM dnssec_signals WHERE zone = ? AND owner_key = ? AND type = ? AND rdata = ?',
  ),
  removeAll: store.prepare<[zone: number]>('DELETE FROM dnssec_signals WHERE zone = ?'),
}));

/** What an owner of a zone tells. */
export function signalsAt(
  store: Store,
  zone: number,
  ownerKey: Uint8Array,
): readonly Pick<SignalRow, 'type' | 'rdata'>[] {
  return statements(store).atOwner.all(zone, ownerKey);
}

/** Owner keys of a zone that have such records, in canonical order. */
export function signalOwners(store: Store, zone: number): Uint8Array[] {
  return statements(store)
    .owners.all(zone)
    .map(([ownerKey]) => new Uint8Array(ownerKey));
}

/** Everything that is told of a zone, which may be gone. */
export function signalsOfChild(store: Store, child: Uint8Array): readonly SignalRow[] {
  return statements(store).ofChild.all(child);
}

/** Call inside a write. */
export function insertSignal(store: Store, { zone, owner_key: ownerKey, type, rdata, child }: SignalRow): void {
  statements(store).insert.run(zone, ownerKey, type, rdata, child);
}

/** Call inside a write. */
export function removeSignal(store: Store, { zone, owner_key: ownerKey, type, rdata }: SignalRow): void {
  statements(store).remove.run(zone, ownerKey, type, rdata);
}

/** Removes everything that a zone tells. Call inside a write. */
export function removeSignalsOfZone(store: Store, zone: number): void {
  statements(store).removeAll.run(zone);
}
