/** Which zones are transferred to which peers, and what the peers serve. */

import { allRows, oneRow, runs } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import {
  type LinkedPeerRow,
  linkedPeers,
  linkedZones,
  noteLinkedPeer,
  type PeerSight,
  setLinkedPeers,
} from './linked-peers.js';

export interface OutgoingRow {
  /** Store number of the zone. */
  readonly zone: number;
  /** The zone's name as the client wrote it. */
  readonly name: string;
  readonly enabled: number;
  /** Number of a change; older changes are not sent as differences. */
  readonly history_after: number;
  /** Microseconds since 1970. */
  readonly created_at: number;
  readonly modified_at: number;
  /** When a peer was last asked for its serial, and when a transfer to one ended. */
  readonly checked_at: number | null;
  readonly transferred_at: number | null;
}

/** How many zones a peer serves as they are, by what it answered last. */
export interface PeerCounts {
  /** Store number, and 16 octets. */
  readonly seq: number;
  readonly id: Uint8Array;
  readonly name: string;
  readonly in_sync: number;
  readonly behind: number;
  readonly ahead: number;
  readonly unreachable: number;
}

/** A zone that a peer does not serve as it is. */
export interface LaggingPeerRow {
  /** Names. */
  readonly peer: string;
  readonly zone: string;
  /** Store number of the zone. */
  readonly seq: number;
  readonly current: number;
  readonly serial: number | null;
  readonly error: string | null;
  /** When the transfers of the zone were changed last; microseconds since 1970. */
  readonly modified_at: number;
}

/** The peers that are watched, and the zones that go to them. */
const WATCHED = `zone_peers
  JOIN transfer_peers ON transfer_peers.seq = zone_peers.peer AND transfer_peers.ip IS NOT NULL
  JOIN zone_outgoing ON zone_outgoing.zone = zone_peers.zone AND zone_outgoing.enabled = 1
  JOIN zones ON zones.seq = zone_peers.zone AND zones.served = 1`;
/** By RFC 1982 §3.2. */
const IS_BEHIND =
  '(zone_peers.serial IS NULL OR ((zones.serial - zone_peers.serial) & 4294967295) BETWEEN 1 AND 2147483647)';
const IS_AHEAD = `(zone_peers.serial IS NOT zones.serial AND NOT ${IS_BEHIND})`;

const statements = perStore((store) => ({
  enabled: store.prepareTuples<[], [number]>('SELECT zone FROM zone_outgoing WHERE enabled = 1 ORDER BY zone'),
  modified: store.prepareTuples<[after: number], [zone: number, modifiedAt: number]>(
    'SELECT zone, modified_at FROM zone_outgoing WHERE modified_at > ? AND enabled = 1 ORDER BY modified_at, zone',
  ),
  insert: store.prepare<[zone: number, name: string, historyAfter: number, createdAt: number, modifiedAt: number]>(
    `INSERT INTO zone_outgoing (zone, name, enabled, history_after, created_at, modified_at)
     VALUES (?, ?, 0, ?, ?, ?)`,
  ),
  rename: store.prepare<[name: string, modifiedAt: number, zone: number]>(
    'UPDATE zone_outgoing SET name = ?, modified_at = ? WHERE zone = ?',
  ),
  enable: store.prepare<[enabled: number, historyAfter: number, modifiedAt: number, zone: number]>(
    'UPDATE zone_outgoing SET enabled = ?, history_after = ?, modified_at = ? WHERE zone = ?',
  ),
  noteChecked: store.prepare<[checkedAt: number, zone: number]>(
    'UPDATE zone_outgoing SET checked_at = ? WHERE zone = ?',
  ),
  noteTransferred: store.prepare<[transferredAt: number, zone: number]>(
    'UPDATE zone_outgoing SET transferred_at = ? WHERE zone = ?',
  ),
}));

export const findOutgoing = oneRow<[zone: number], OutgoingRow>('SELECT * FROM zone_outgoing WHERE zone = ?');

/** Store numbers of the zones whose transfers are enabled. */
export function enabledOutgoing(store: Store): number[] {
  return statements(store)
    .enabled.all()
    .map(([zone]) => zone);
}

/** Enabled zones whose outgoing settings were written after a time (microseconds since 1970), with that time. */
export function outgoingModifiedAfter(
  store: Store,
  after: number,
): { readonly zone: number; readonly modifiedAt: number }[] {
  return statements(store)
    .modified.all(after)
    .map(([zone, modifiedAt]) => ({ zone, modifiedAt }));
}

/** Adds a zone, not enabled yet. `now`: microseconds since 1970, here and below. */
export function insertOutgoing(store: Store, zone: number, name: string, historyAfter: number, now: number): void {
  statements(store).insert.run(zone, name, historyAfter, now, now);
}

export function renameOutgoing(store: Store, zone: number, name: string, now: number): void {
  statements(store).rename.run(name, now, zone);
}

export function setOutgoing(store: Store, zone: number, enabled: boolean, historyAfter: number, now: number): void {
  statements(store).enable.run(enabled ? 1 : 0, historyAfter, now, zone);
}

export function noteTransferred(store: Store, zone: number, now: number): void {
  statements(store).noteTransferred.run(now, zone);
}

export const removeOutgoing = runs<[zone: number]>('DELETE FROM zone_outgoing WHERE zone = ?');

/** The peers of a zone in the order of the client. */
export function peersOfZone(store: Store, zone: number): LinkedPeerRow[] {
  return linkedPeers(store, 'zone_peers', zone);
}

/** Store numbers of the zones that are transferred to a peer. */
export function zonesOfPeer(store: Store, peer: number): number[] {
  return linkedZones(store, 'zone_peers', peer);
}

/** Peers that are watched, those with most trouble first. */
export const countZonesOfPeers = allRows<
  [limit: number],
  PeerCounts
>(`SELECT transfer_peers.seq, transfer_peers.id, transfer_peers.name,
       sum(zone_peers.error IS NULL AND zone_peers.serial IS zones.serial) AS in_sync,
       sum(zone_peers.error IS NULL AND ${IS_BEHIND}) AS behind,
       sum(zone_peers.error IS NULL AND ${IS_AHEAD}) AS ahead,
       sum(zone_peers.error IS NOT NULL) AS unreachable
     FROM ${WATCHED} GROUP BY transfer_peers.seq ORDER BY behind + ahead + unreachable DESC, transfer_peers.seq LIMIT ?`);

/**
 * Zones that peers do not serve as they are, peer by peer. Zones with a primary may be ahead: the peer may ask the primary,
 * too.
 */
export const laggingPeers = allRows<
  [limit: number],
  LaggingPeerRow
>(`SELECT transfer_peers.name AS peer, zones.name AS zone, zones.seq, zones.serial AS current, zone_peers.serial,
       zone_peers.error, zone_outgoing.modified_at
     FROM ${WATCHED} WHERE zone_peers.error IS NOT NULL OR ${IS_BEHIND} OR (${IS_AHEAD} AND zones.type <> 'secondary')
     ORDER BY transfer_peers.seq, zones.seq LIMIT ?`);

export function setPeersOfZone(store: Store, zone: number, peers: readonly number[]): void {
  setLinkedPeers(store, 'zone_peers', zone, peers);
}

export function notePeer(store: Store, zone: number, peer: number, sight: PeerSight, now: number): void {
  statements(store).noteChecked.run(now, zone);
  noteLinkedPeer(store, 'zone_peers', { zone, seq: peer }, sight, now);
}
