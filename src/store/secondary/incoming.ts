/** Zones that are transferred from primaries, and what the primaries answered. */
import { perStore, type Store } from '../driver.js';
import { findMeta } from '../meta.js';
import type { TransferPeerRow } from './peers.js';

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

/** A primary of a zone with what it answered last. */
export interface PrimaryRow extends TransferPeerRow {
  readonly zone: number;
  /** The serial that it had at `seen_at`; null: never seen. */
  readonly serial: number | null;
  readonly seen_at: number | null;
  /** Why it failed at the last attempt; null when it did not. */
  readonly error: string | null;
}

/** The columns that change with checks. */
export type IncomingChange = Partial<
  Pick<
    IncomingRow,
    'serial' | 'forced' | 'failures' | 'checked_at' | 'transferred_at' | 'expires_at' | 'next_at' | 'error' | 'notice'
  >
>;

const statements = perStore((store) => ({
  find: store.prepare<[zone: number], IncomingRow>('SELECT * FROM zone_incoming WHERE zone = ?'),
  all: store.prepare<[], IncomingRow>('SELECT * FROM zone_incoming ORDER BY zone'),
  apexes: store.prepareTuples<[], [apex: Uint8Array]>(
    'SELECT apex FROM zones WHERE seq IN (SELECT zone FROM zone_incoming) AND served = 1 ORDER BY seq',
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
  remove: store.prepare<[zone: number]>('DELETE FROM zone_incoming WHERE zone = ?'),
  primaries: store.prepare<[zone: number], PrimaryRow>(
    `SELECT transfer_peers.*, zone_primaries.zone, zone_primaries.serial, zone_primaries.seen_at, zone_primaries.error
     FROM zone_primaries JOIN transfer_peers ON transfer_peers.seq = zone_primaries.peer
     WHERE zone_primaries.zone = ? ORDER BY zone_primaries.ord`,
  ),
  zonesOfPrimary: store.prepareTuples<[peer: number], [number]>(
    'SELECT zone FROM zone_primaries WHERE peer = ? ORDER BY zone',
  ),
  link: store.prepare<[zone: number, peer: number, ord: number]>(
    `INSERT INTO zone_primaries (zone, peer, ord) VALUES (?, ?, ?)
     ON CONFLICT (zone, peer) DO UPDATE SET ord = excluded.ord`,
  ),
  unlink: store.prepare<[zone: number, peer: number]>('DELETE FROM zone_primaries WHERE zone = ? AND peer = ?'),
  notePrimary: store.prepare<
    [serial: number | null, seenAt: number | null, error: string | null, zone: number, peer: number]
  >('UPDATE zone_primaries SET serial = ?, seen_at = ?, error = ? WHERE zone = ? AND peer = ?'),
}));

export function findIncoming(store: Store, zone: number): IncomingRow | undefined {
  return statements(store).find.get(zone);
}

/** Those of all accounts. */
export function allIncoming(store: Store): IncomingRow[] {
  return statements(store).all.all();
}

/** Wire names, lower case, of the served zones that have primaries. */
export function incomingApexes(store: Store): Uint8Array[] {
  return statements(store)
    .apexes.all()
    .map(([apex]) => apex);
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

export function removeIncoming(store: Store, zone: number): void {
  statements(store).remove.run(zone);
}

/** The primaries of a zone in the order of the client. */
export function primariesOfZone(store: Store, zone: number): PrimaryRow[] {
  return statements(store).primaries.all(zone);
}

/** Store numbers of the zones that are transferred from a peer. */
export function zonesOfPrimary(store: Store, peer: number): number[] {
  return statements(store)
    .zonesOfPrimary.all(peer)
    .map(([zone]) => zone);
}

/** Replaces the primaries of a zone; those that stay keep what they answered. */
export function setPrimariesOfZone(store: Store, zone: number, peers: readonly number[]): void {
  const { link, unlink } = statements(store);
  for (const { seq } of primariesOfZone(store, zone)) if (!peers.includes(seq)) unlink.run(zone, seq);
  peers.forEach((peer, ord) => {
    link.run(zone, peer, ord);
  });
}

/** What a primary answered; the serial stays when it failed. */
export function notePrimary(
  store: Store,
  { zone, seq, serial, seen_at: seenAt }: PrimaryRow,
  sight: { readonly serial: number; readonly now: number } | { readonly error: string },
): void {
  if ('error' in sight) statements(store).notePrimary.run(serial, seenAt, sight.error, zone, seq);
  else statements(store).notePrimary.run(sight.serial, sight.now, null, zone, seq);
}
