/**
 * Targets of flattened names: what resolving them returned, and which of our own names that came from. Only the
 * refresher updates these rows.
 */
import { perStore, type Store } from '../driver.js';

export interface FlattenTargetRow {
  /** Lower-case wire name. */
  readonly name: Uint8Array;
  /** Concatenated addresses; null when no usable answer was received. */
  readonly ipv4: Uint8Array | null;
  readonly ipv6: Uint8Array | null;
  /** Seconds. */
  readonly ttl: number;
  /** 1 once there was an answer or a failure. */
  readonly asked: number;
  readonly stale: number;
  /** 1 when part of the answer is from our own zones. */
  readonly own: number;
  /** Consecutive failures. */
  readonly failures: number;
  /** Microseconds since 1970. */
  readonly resolved_at: number;
  readonly expires_at: number;
  /** When to resolve the target next, milliseconds since 1970. */
  readonly refresh_at: number;
  /** JSON list of the names from the target to the end of its chain, with their TTLs. */
  readonly chain: string | null;
  /** Why the last attempt gave no usable answer. */
  readonly reason: string | null;
}

export interface DueTargetRow extends FlattenTargetRow {
  /** The zone of the first owner that needs it; null when nobody does any more. */
  readonly zone: number | null;
}

/** What is served for a target; see zone/derive/flatten.ts. */
export interface StoredTargetFacts {
  readonly ipv4: readonly Uint8Array[] | undefined;
  readonly ipv6: readonly Uint8Array[] | undefined;
  readonly ttl: number;
  readonly stale: boolean;
}

/** The longest wait for answered targets after their TTL has ended, in milliseconds. */
const LONGEST_REST_MS = 500_000;

/** Changes the value each time, so that the result of a running query is recognized as outdated. */
const REFRESH_SOON = 'refresh_at = CASE WHEN refresh_at > 0 THEN 0 ELSE refresh_at - 1 END';

/** The zone of the first owner that needs a target; null when nobody does any more. */
const ZONE = '(SELECT min(zone) FROM flatten_owners WHERE target = flatten_targets.name)';

const statements = perStore((store) => ({
  byName: store.prepare<[name: Uint8Array], FlattenTargetRow>('SELECT * FROM flatten_targets WHERE name = ?'),
  facts: store.prepareTuples<
    [name: Uint8Array],
    [ipv4: Uint8Array | null, ipv6: Uint8Array | null, ttl: number, stale: number]
  >('SELECT ipv4, ipv6, ttl, stale FROM flatten_targets WHERE name = ? AND asked = 1'),
  due: store.prepare<[nowMs: number, limit: number], DueTargetRow>(
    `SELECT *, ${ZONE} AS zone FROM flatten_targets WHERE refresh_at <= ? ORDER BY refresh_at LIMIT ?`,
  ),
  nextDue: store.prepareTuples<[], [number | null]>('SELECT min(refresh_at) FROM flatten_targets'),
  dueByZone: store.prepare<[nowMs: number, ofZone: number, limit: number], DueTargetRow>(
    `SELECT flatten_targets.*, ranked.zone FROM flatten_targets JOIN (
       SELECT name, zone, row_number() OVER (PARTITION BY zone ORDER BY refresh_at) AS place
       FROM (SELECT name, refresh_at, ${ZONE} AS zone FROM flatten_targets WHERE refresh_at <= ?)
     ) AS ranked ON ranked.name = flatten_targets.name
     WHERE ranked.place <= ? ORDER BY ranked.place, flatten_targets.refresh_at LIMIT ?`,
  ),
  shift: store.prepare<[ms: number, us: number, us: number]>(
    `UPDATE flatten_targets SET refresh_at = refresh_at - ?, resolved_at = resolved_at - ?, expires_at = expires_at - ?
     WHERE refresh_at > 0`,
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

/** Undefined for a target that has never been resolved. */
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

/** When the next target is due, in milliseconds since 1970. */
export function nextDueAt(store: Store): number | undefined {
  return statements(store).nextDue.get()?.[0] ?? undefined;
}

/** Targets that are due now, the longest overdue first. */
export function dueTargets(store: Store, nowMs: number, limit: number): DueTargetRow[] {
  return statements(store).due.all(nowMs, limit);
}

/** Targets that are due now, at most `ofZone` of a zone, those of all zones in turn. Looks at every target that is due. */
export function dueTargetsByZone(store: Store, nowMs: number, ofZone: number, limit: number): DueTargetRow[] {
  return statements(store).dueByZone.all(nowMs, ofZone, limit);
}

/** The clock was put back by so much: the times of all targets go with it. */
export function shiftTargets(store: Store, byMs: number): void {
  statements(store).shift.run(byMs, byMs * 1000, byMs * 1000);
}

export function countTargets(store: Store): number {
  return statements(store).count.get()![0];
}

/** A new target is resolved as soon as possible; an existing one stays unchanged. */
export function addTarget(store: Store, name: Uint8Array): void {
  statements(store).insert.run(name);
}

export function removeTarget(store: Store, name: Uint8Array): void {
  statements(store).clearLinks.run(name);
  statements(store).remove.run(name);
}

/** Stores the result, and which of our own names it came from (lower-case wire names). */
export function updateTarget(store: Store, row: FlattenTargetRow, links: readonly Uint8Array[]): void {
  const { update, clearLinks, putLink } = statements(store);
  const { name, ipv4, ipv6, ttl, stale, own, failures, resolved_at, expires_at, refresh_at, chain, reason } = row;
  update.run(ipv4, ipv6, ttl, stale, own, failures, resolved_at, expires_at, refresh_at, chain, reason, name);
  clearLinks.run(name);
  for (const link of links) putLink.run(link, name);
}

/** Whether any result came from our own names. */
export function hasOwnSources(store: Store): boolean {
  return statements(store).anyLink.get() !== undefined;
}

/** Schedules the targets whose results came from one of our own names to be resolved soon. */
export function refreshTargetsFrom(store: Store, ownName: Uint8Array): void {
  statements(store).refreshFrom.run(ownName);
}

/** Schedules all targets whose results came from our own names to be resolved soon. */
export function refreshTargetsFromOwn(store: Store): void {
  statements(store).refreshFromOwn.run();
}

/** Schedules a target to be resolved soon that was only monitored, and therefore waits far beyond its TTL. */
export function refreshWatchedTarget(store: Store, name: Uint8Array): void {
  statements(store).refreshWatched.run(name);
}
