/** The peers of zones, in the order of the client, with what each answered last. */
import { perStore, type Store } from '../driver.js';
import type { TransferPeerRow } from './peers.js';

/** A peer of a zone with what it answered last. */
export interface LinkedPeerRow extends TransferPeerRow {
  /** Store number. */
  readonly zone: number;
  /** The serial that it had at `seen_at` (microseconds since 1970); null: never seen. */
  readonly serial: number | null;
  readonly seen_at: number | null;
  /** Why it failed at the last attempt; null when it did not. */
  readonly error: string | null;
}

/** The answer of a peer: its serial, or why there is none. */
export type PeerSight = { readonly serial: number } | { readonly error: string };

/** The tables: zones go to the peers of the one, and come from those of the other. */
export type LinkTable = 'zone_peers' | 'zone_primaries';

const statements = perStore((store) => {
  const of = (table: LinkTable) => ({
    peers: store.prepare<[zone: number], LinkedPeerRow>(
      `SELECT transfer_peers.*, ${table}.zone, ${table}.serial, ${table}.seen_at, ${table}.error
       FROM ${table} JOIN transfer_peers ON transfer_peers.seq = ${table}.peer
       WHERE ${table}.zone = ? ORDER BY ${table}.ord`,
    ),
    zones: store.prepareTuples<[peer: number], [number]>(`SELECT zone FROM ${table} WHERE peer = ? ORDER BY zone`),
    link: store.prepare<[zone: number, peer: number, ord: number]>(
      `INSERT INTO ${table} (zone, peer, ord) VALUES (?, ?, ?)
       ON CONFLICT (zone, peer) DO UPDATE SET ord = excluded.ord`,
    ),
    unlink: store.prepare<[zone: number, peer: number]>(`DELETE FROM ${table} WHERE zone = ? AND peer = ?`),
    noteSeen: store.prepare<[serial: number, seenAt: number, zone: number, peer: number]>(
      `UPDATE ${table} SET serial = ?, seen_at = ?, error = NULL WHERE zone = ? AND peer = ?`,
    ),
    noteError: store.prepare<[error: string, zone: number, peer: number]>(
      `UPDATE ${table} SET error = ? WHERE zone = ? AND peer = ?`,
    ),
  });
  return { zone_peers: of('zone_peers'), zone_primaries: of('zone_primaries') };
});

export function linkedPeers(store: Store, table: LinkTable, zone: number): LinkedPeerRow[] {
  return statements(store)[table].peers.all(zone);
}

/** Store numbers of the zones of a peer. */
export function linkedZones(store: Store, table: LinkTable, peer: number): number[] {
  return statements(store)
    [table].zones.all(peer)
    .map(([zone]) => zone);
}

/** Replaces the peers of a zone; those that stay keep what they answered. */
export function setLinkedPeers(store: Store, table: LinkTable, zone: number, peers: readonly number[]): void {
  const { link, unlink } = statements(store)[table];
  for (const { seq } of linkedPeers(store, table, zone)) if (!peers.includes(seq)) unlink.run(zone, seq);
  peers.forEach((peer, ord) => {
    link.run(zone, peer, ord);
  });
}

/** The serial stays when the peer failed. `now`: microseconds since 1970. */
export function noteLinkedPeer(
  store: Store,
  table: LinkTable,
  { zone, seq }: Pick<LinkedPeerRow, 'zone' | 'seq'>,
  sight: PeerSight,
  now: number,
): void {
  const { noteSeen, noteError } = statements(store)[table];
  if ('serial' in sight) noteSeen.run(sight.serial, now, zone, seq);
  else noteError.run(sight.error, zone, seq);
}
