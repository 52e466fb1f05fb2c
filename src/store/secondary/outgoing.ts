/** Which zones are transferred to which peers, and what the peers serve. */
import { perStore, type Store } from '../driver.js';
import type { TransferPeerRow } from './peers.js';

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

/** A peer of a zone with what it answered last. */
export interface ZonePeerRow extends TransferPeerRow {
  readonly zone: number;
  /** The serial that it served at `seen_at`; null: never seen. */
  readonly serial: number | null;
  readonly seen_at: number | null;
  /** Why it did not answer at the last attempt; null when it did. */
  readonly error: string | null;
}

const statements = perStore((store) => ({
  find: store.prepare<[zone: number], OutgoingRow>('SELECT * FROM zone_outgoing WHERE zone = ?'),
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
  remove: store.prepare<[zone: number]>('DELETE FROM zone_outgoing WHERE zone = ?'),
  peers: store.prepare<[zone: number], ZonePeerRow>(
    `SELECT transfer_peers.*, zone_peers.zone, zone_peers.serial, zone_peers.seen_at, zone_peers.error
     FROM zone_peers JOIN transfer_peers ON transfer_peers.seq = zone_peers.peer
     WHERE zone_peers.zone = ? ORDER BY zone_peers.ord`,
  ),
  zonesOfPeer: store.prepareTuples<[peer: number], [number]>(
    'SELECT zone FROM zone_peers WHERE peer = ? ORDER BY zone',
  ),
  link: store.prepare<[zone: number, peer: number, ord: number]>(
    `INSERT INTO zone_peers (zone, peer, ord) VALUES (?, ?, ?)
     ON CONFLICT (zone, peer) DO UPDATE SET ord = excluded.ord`,
  ),
  unlink: store.prepare<[zone: number, peer: number]>('DELETE FROM zone_peers WHERE zone = ? AND peer = ?'),
  noteSeen: store.prepare<[serial: number, seenAt: number, zone: number, peer: number]>(
    'UPDATE zone_peers SET serial = ?, seen_at = ?, error = NULL WHERE zone = ? AND peer = ?',
  ),
  noteError: store.prepare<[error: string, zone: number, peer: number]>(
    'UPDATE zone_peers SET error = ? WHERE zone = ? AND peer = ?',
  ),
}));

export function findOutgoing(store: Store, zone: number): OutgoingRow | undefined {
  return statements(store).find.get(zone);
}

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

export function removeOutgoing(store: Store, zone: number): void {
  statements(store).remove.run(zone);
}

/** The peers of a zone in the order of the client. */
export function peersOfZone(store: Store, zone: number): ZonePeerRow[] {
  return statements(store).peers.all(zone);
}

/** Store numbers of the zones that are transferred to a peer. */
export function zonesOfPeer(store: Store, peer: number): number[] {
  return statements(store)
    .zonesOfPeer.all(peer)
    .map(([zone]) => zone);
}

/** Replaces the peers of a zone; those that stay keep what they answered. */
export function setPeersOfZone(store: Store, zone: number, peers: readonly number[]): void {
  const { link, unlink } = statements(store);
  for (const { seq } of peersOfZone(store, zone)) if (!peers.includes(seq)) unlink.run(zone, seq);
  peers.forEach((peer, ord) => {
    link.run(zone, peer, ord);
  });
}

/** The answer of a peer: its serial, or why there is none. */
export type PeerSight = { readonly serial: number } | { readonly error: string };

export function notePeer(store: Store, zone: number, peer: number, sight: PeerSight, now: number): void {
  const { noteChecked, noteSeen, noteError } = statements(store);
  noteChecked.run(now, zone);
  if ('serial' in sight) noteSeen.run(sight.serial, now, zone, peer);
  else noteError.run(sight.error, zone, peer);
}
