/** Records of zones that tell of the keys of other zones (RFC 9615). */

import { allRows, runs } from '../columns.js';
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
  owners: store.prepareTuples<[zone: number], [ownerKey: Uint8Array]>(
    'SELECT DISTINCT owner_key FROM dnssec_signals WHERE zone = ? ORDER BY owner_key',
  ),
  insert: store.prepare<[zone: number, ownerKey: Uint8Array, type: number, rdata: Uint8Array, child: Uint8Array]>(
    'INSERT OR REPLACE INTO dnssec_signals (zone, owner_key, type, rdata, child) VALUES (?, ?, ?, ?, ?)',
  ),
  remove: store.prepare<[zone: number, ownerKey: Uint8Array, type: number, rdata: Uint8Array]>(
    'DELETE FROM dnssec_signals WHERE zone = ? AND owner_key = ? AND type = ? AND rdata = ?',
  ),
}));

/** What an owner of a zone tells. */
export const signalsAt = allRows<[zone: number, ownerKey: Uint8Array], Pick<SignalRow, 'type' | 'rdata'>>(
  'SELECT type, rdata FROM dnssec_signals WHERE zone = ? AND owner_key = ? ORDER BY type, rdata',
);

/** Owner keys of a zone that have such records, in canonical order. */
export function signalOwners(store: Store, zone: number): Uint8Array[] {
  return statements(store)
    .owners.all(zone)
    .map(([ownerKey]) => new Uint8Array(ownerKey));
}

/** Everything that is told of a zone, which may be gone. */
export const signalsOfChild = allRows<[child: Uint8Array], SignalRow>(
  'SELECT * FROM dnssec_signals WHERE child = ? ORDER BY zone, owner_key, type, rdata',
);

/** Call inside a write. */
export function insertSignal(store: Store, { zone, owner_key: ownerKey, type, rdata, child }: SignalRow): void {
  statements(store).insert.run(zone, ownerKey, type, rdata, child);
}

/** Call inside a write. */
export function removeSignal(store: Store, { zone, owner_key: ownerKey, type, rdata }: SignalRow): void {
  statements(store).remove.run(zone, ownerKey, type, rdata);
}

/** Removes everything that a zone tells. Call inside a write. */
export const removeSignalsOfZone = runs<[zone: number]>('DELETE FROM dnssec_signals WHERE zone = ?');
