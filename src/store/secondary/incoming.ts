/** Zones that are transferred from primaries, and what the primaries answered. */

import { allRows, oneRow, runs } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { findMeta } from '../meta.js';
import {
  type LinkedPeerRow,
  linkedPeers,
  linkedZones,
  noteLinkedPeer,
  type PeerSight,
  setLinkedPeers,
} from './linked-peers.js';

export interface IncomingRow {
  /** Store number of the zone. */
  readonly zone: number;
  /** The zone's name as the client wrote it. */
  readonly name: string;
  /** Seconds between two checks; null: as the SOA says. */
  readonly refresh: number | null;
  /** The serial of the primary's version that is stored; null: none is. */
  readonly serial: number | null;
  /** Whether the next check transfers the zone whatever its serial is. */
  readonly forced: number;
  /** Checks that failed since the last one that did not. */
  readonly failures: number;
  /** Microseconds since 1970. When a primary answered last, and when the zone was transferred last. */
  readonly checked_at: number | null;
  readonly transferred_at: number | null;
  /** When the copy expires, unless a primary answers before. */
  readonly expires_at: number | null;
  /** When the next check is due. */
  readonly next_at: number | null;
  /** Why the last check failed; null when it did not. */
  readonly error: string | null;
  /** What is remarkable about the stored version; null: nothing. */
  readonly notice: string | null;
  readonly created_at: number;
  readonly modified_at: number;
}

/** The columns that change with checks. */
export type IncomingChange = Partial<
  Pick<
    IncomingRow,
    'serial' | 'forced' | 'failures' | 'checked_at' | 'transferred_at' | 'expires_at' | 'next_at' | 'error' | 'notice'
  >
>;

const statements = perStore((store) => ({
  apexes: store.prepareTuples<[], [apex: Uint8Array]>(
    'SELECT apex FROM zones WHERE seq IN (SELECT zone FROM zone_incoming) AND served = 1 ORDER BY seq',
  ),
  expiry: store.prepareTuples<[zone: number], [expiresAt: number | null]>(
    'SELECT expires_at FROM zone_incoming WHERE zone = ?',
  ),
  checked: store.prepareTuples<[since: number], [zone: number, expiresAt: number | null, checkedAt: number]>(
    'SELECT zone, expires_at, checked_at FROM zone_incoming WHERE checked_at >= ? ORDER BY checked_at, zone',
  ),
  insert: store.prepare<[zone: number, name: string, refresh: number | null, createdAt: number, modifiedAt: number]>(
    'INSERT INTO zone_incoming (zone, name, refresh, created_at, modified_at) VALUES (?, ?, ?, ?, ?)',
  ),
  set: store.prepare<[name: string, refresh: number | null, modifiedAt: number, zone: number]>(
    'UPDATE zone_incoming SET name = ?, refresh = ?, modified_at = ? WHERE zone = ?',
  ),
  note: store.prepare<
    [
      serial: number | null,
      forced: number,
      failures: number,
      checkedAt: number | null,
      transferredAt: number | null,
      expiresAt: number | null,
      nextAt: number | null,
      error: string | null,
      notice: string | null,
      zone: number,
    ]
  >(
    `UPDATE zone_incoming SET serial = ?, forced = ?, failures = ?, checked_at = ?, transferred_at = ?, expires_at = ?,
       next_at = ?, error = ?, notice = ? WHERE zone = ?`,
  ),
}));

export const findIncoming = oneRow<[zone: number], IncomingRow>('SELECT * FROM zone_incoming WHERE zone = ?');

/** Those of all accounts, but for zones that left their catalog. */
export const allIncoming = allRows<[], IncomingRow>(
  'SELECT * FROM zone_incoming WHERE zone NOT IN (SELECT zone FROM removed_zones) ORDER BY zone',
);

/** Wire names, lower case, of the served zones that have primaries. */
export function incomingApexes(store: Store): Uint8Array[] {
  return statements(store)
    .apexes.all()
    .map(([apex]) => apex);
}

/** When the copy of a zone expires, in microseconds since 1970; undefined: it does not. */
export function expiryOfZone(store: Store, zone: number): number | undefined {
  return statements(store).expiry.get(zone)?.[0] ?? undefined;
}

/** A zone (store number) whose primaries were asked, and when its copy expires now. Times in microseconds since 1970. */
export interface CheckedZone {
  readonly zone: number;
  readonly expiresAt: number | null;
  readonly checkedAt: number;
}

/** Zones whose primaries answered at a time or later, in the order of those times. */
export function zonesCheckedSince(store: Store, since: number): CheckedZone[] {
  return statements(store)
    .checked.all(since)
    .map(([zone, expiresAt, checkedAt]) => ({ zone, expiresAt, checkedAt }));
}

/** A number that changes whenever a zone begins or ceases to have primaries. */
export function incomingVersion(store: Store): number {
  return Number(findMeta(store, 'incoming_version') ?? 0);
}

/** `now`: microseconds since 1970. */
export function insertIncoming(store: Store, zone: number, name: string, refresh: number | null, now: number): void {
  statements(store).insert.run(zone, name, refresh, now, now);
}

export function setIncoming(store: Store, zone: number, name: string, refresh: number | null, now: number): void {
  statements(store).set.run(name, refresh, now, zone);
}

/** Notes the result of a check; members that are absent stay. Does nothing when the zone has no primaries any more. */
export function noteIncoming(store: Store, zone: number, change: IncomingChange): void {
  const row = findIncoming(store, zone);
  if (!row) return;
  const after = { ...row, ...change };
  statements(store).note.run(
    after.serial,
    after.forced,
    after.failures,
    after.checked_at,
    after.transferred_at,
    after.expires_at,
    after.next_at,
    after.error,
    after.notice,
    zone,
  );
}

export const removeIncoming = runs<[zone: number]>('DELETE FROM zone_incoming WHERE zone = ?');

/** The primaries of a zone in the order of the client. */
export function primariesOfZone(store: Store, zone: number): LinkedPeerRow[] {
  return linkedPeers(store, 'zone_primaries', zone);
}

/** Store numbers of the zones that are transferred from a peer. */
export function zonesOfPrimary(store: Store, peer: number): number[] {
  return linkedZones(store, 'zone_primaries', peer);
}

export function setPrimariesOfZone(store: Store, zone: number, peers: readonly number[]): void {
  setLinkedPeers(store, 'zone_primaries', zone, peers);
}

/** What a primary answered. `now`: microseconds since 1970. */
export function notePrimary(store: Store, primary: LinkedPeerRow, sight: PeerSight, now: number): void {
  noteLinkedPeer(store, 'zone_primaries', primary, sight, now);
}
