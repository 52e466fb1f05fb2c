/**
 * Targets of flattened names: what is heard of them, written by the refresher alone, and which of our own names that came from.
 */
import { perStore, type Store } from '../driver.js';

export interface FlattenTargetRow {
  /** Lower-case wire name. */
  readonly name: Uint8Array;
  /** Addresses one after the other; null when nothing usable was heard. */
  readonly ipv4: Uint8Array | null;
  readonly ipv6: Uint8Array | null;
  /** Seconds. */
  readonly ttl: number;
  /** 1 once an answer, or a failure, has come. */
  readonly asked: number;
  readonly stale: number;
  /** 1 when part of the answer is from our own zones. */
  readonly own: number;
  /** In a row. */
  readonly failures: number;
  /** Microseconds since 1970. */
  readonly resolved_at: number;
  readonly expires_at: number;
  /** When to ask (again), milliseconds since 1970. */
  readonly refresh_at: number;
  /** JSON list of the names from the target to the end of its chain, with their TTLs. */
  readonly chain: string | null;
  /** Why nothing usable was heard the last time. */
  readonly reason: string | null;
}

/** What is served of a target; see zone/derive/flatten.ts. */
export interface StoredTargetFacts {
  readonly ipv4: readonly Uint8Array[] | undefined;
  readonly ipv6: readonly Uint8Array[] | undefined;
  readonly ttl: number;
  readonly stale: boolean;
}

/** Targets that are answered rest no longer than this after their time is over, milliseconds. */
const LONGEST_REST_MS = 500_000;

/** Another value each time, so that a question under way is seen to be too old. */
const REFRESH_SOON = 'refresh_at = CASE WHEN refresh_at > 0 THEN 0 ELSE refresh_at - 1 END';

const statements = perStore((store) => ({
  byName: store.prepare<[name: Uint8Array], FlattenTargetRow>('SELECT * FROM flatten_targets WHERE name = ?'),
  facts: store.prepareTuples<
    [name: Uint8Array],
    [ipv4: Uint8Array | null, ipv6: Uint8Array | null, ttl: number, stale: number]
  >('SELECT ipv4, ipv6, ttl, stale FROM flatten_targets WHERE name = ? AND asked = 1'),
  due: store.prepare<[nowMs: number, limit: number], FlattenTargetRow>(
    'SELECT * FROM flatten_targets WHERE refresh_at <= ? ORDER BY refresh_at LIMIT ?',
  ),
  count: store.prepareTuples<[], [number]>('SELECT count(*) FROM flatten_targets'),
  insert: store.prepare<[name: Uint8Array]>('INSERT OR IGNORE INTO flatten_targets (name) VALUES (?)'),
  remove: store.prepare<[name: Uint8Array]>('DELETE FROM flatten_targets WHERE name = ?'),
  refreshFrom: store.prepare<[name: Uint8Array]>(
    `UPDATE flatten_targets SET ${REFRESH_SOON} WHERE name IN (SELECT target FROM flatten_links WHERE name = ?)`,
  ),
  refreshWatched: store.prepare<[name: Uint8Array]>(
    `UPDATE flatten_targets SET ${REFRESH_SOON} WHERE name = ? AND refresh_at > expires_at / 1000 + ${LONGEST_REST_MS}`,
  ),
  refreshFromOwn: store.prepare<[]>(
    `UPDATE flatten_targets SET ${REFRESH_SOON} WHERE name IN (SELECT target FROM flatten_links)`,
  ),
  anyLink: store.prepareTuples<[], [number]>('SELECT 1 FROM flatten_links LIMIT 1'),
  clearLinks: store.prepare<[target: Uint8Array]>('DELETE FROM flatten_links WHERE target = ?'),
  putLink: store.prepare<[name: Uint8Array, target: Uint8Array]>(
    'INSERT OR IGNORE INTO flatten_links (name, target) VALUES (?, ?)',
  ),
  update: store.prepare<
    [
      ipv4: Uint8Array | null,
      ipv6: Uint8Array | null,
      ttl: number,
      stale: number,
      own: number,
      failures: number,
      resolvedAt: number,
      expiresAt: number,
      refreshAt: number,
      chain: string | null,
      reason: string | null,
      name: Uint8Array,
    ]
  >(
    `UPDATE flatten_targets SET asked = 1, ipv4 = ?, ipv6 = ?, ttl = ?, stale = ?, own = ?, failures = ?, resolved_at = ?,
       expires_at = ?, refresh_at = ?, chain = ?, reason = ? WHERE name = ?`,
  ),
}));

export function findTarget(store: Store, name: Uint8Array): FlattenTargetRow | undefined {
  return statements(store).byName.get(name);
}

/** Undefined for a target nobody has asked for yet. */
export function targetFacts(store: Store, name: Uint8Array): StoredTargetFacts | undefined {
  const row = statements(store).facts.get(name);
  if (!row) return undefined;
  const [ipv4, ipv6, ttl, stale] = row;
  return { ipv4: splitAddresses(ipv4, 4), ipv6: splitAddresses(ipv6, 16), ttl, stale: stale === 1 };
}

function splitAddresses(octets: Uint8Array | null, size: number): Uint8Array[] | undefined {
  if (octets === null) return undefined;
  return Array.from(
    { length: octets.length / size },
    (_, i) => new Uint8Array(octets.subarray(i * size, (i + 1) * size)),
  );
}

/** Targets to ask for by now, the longest due first. */
export function dueTargets(store: Store, nowMs: number, limit: number): FlattenTargetRow[] {
  return statements(store).due.all(nowMs, limit);
}

export function countTargets(store: Store): number {
  return statements(store).count.get()![0];
}

/** A target that is new is asked for as soon as possible; what is known of others stays. */
export function addTarget(store: Store, name: Uint8Array): void {
  statements(store).insert.run(name);
}

export function removeTarget(store: Store, name: Uint8Array): void {
  statements(store).clearLinks.run(name);
  statements(store).remove.run(name);
}

/** Writes what was heard, and which of our own names it came from (lower-case wire names). */
export function updateTarget(store: Store, row: FlattenTargetRow, links: readonly Uint8Array[]): void {
  const { update, clearLinks, putLink } = statements(store);
  const { name, ipv4, ipv6, ttl, stale, own, failures, resolved_at, expires_at, refresh_at, chain, reason } = row;
  update.run(ipv4, ipv6, ttl, stale, own, failures, resolved_at, expires_at, refresh_at, chain, reason, name);
  clearLinks.run(name);
  for (const link of links) putLink.run(link, name);
}

/** Whether any answer came from our own names. */
export function hasOwnSources(store: Store): boolean {
  return statements(store).anyLink.get() !== undefined;
}

/** The targets whose answers came from one of our own names are asked for again soon. */
export function refreshTargetsFrom(store: Store, ownName: Uint8Array): void {
  statements(store).refreshFrom.run(ownName);
}

/** All targets whose answers came from our own names are asked for again soon. */
export function refreshTargetsFromOwn(store: Store): void {
  statements(store).refreshFromOwn.run();
}

/** A target that was only watched, and so rests far beyond its time, is asked for again soon. */
export function refreshWatchedTarget(store: Store, name: Uint8Array): void {
  statements(store).refreshWatched.run(name);
}
