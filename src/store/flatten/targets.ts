/**
 * Targets of flattened names: what resolving them returned, and which of our own names that came from. Only the
 * refresher updates these rows.
 */

import { hasRow, oneRow, runs, theValue } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import type { WaitingAccount } from '../jobs.js';

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
  /** Store numbers of the account and the zone that need it; 0: several do. */
  readonly account: number;
  readonly zone: number;
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

const statements = perStore((store) => ({
  facts: store.prepareTuples<
    [name: Uint8Array],
    [ipv4: Uint8Array | null, ipv6: Uint8Array | null, ttl: number, stale: number]
  >('SELECT ipv4, ipv6, ttl, stale FROM flatten_targets WHERE name = ? AND asked = 1'),
  due: store.prepare<[account: number, zone: number, nowMs: number, limit: number], DueTargetRow>(
    `SELECT * FROM flatten_targets INDEXED BY flatten_targets_zone WHERE account = ? AND zone = ? AND refresh_at <= ?
     ORDER BY refresh_at LIMIT ?`,
  ),
  waitingAccounts: store.prepareTuples<[after: number, limit: number], [account: number, refreshAt: number]>(
    `WITH RECURSIVE waiting (account) AS (
       SELECT min(account) FROM flatten_targets WHERE account > ?
       UNION ALL
       SELECT (SELECT min(account) FROM flatten_targets WHERE account > waiting.account)
       FROM waiting WHERE account IS NOT NULL)
     SELECT account, (SELECT min(refresh_at) FROM flatten_targets INDEXED BY flatten_targets_account
       WHERE flatten_targets.account = waiting.account)
     FROM waiting WHERE account IS NOT NULL LIMIT ?`,
  ),
  waitingZones: store.prepareTuples<[account: number, after: number, limit: number], [zone: number, refreshAt: number]>(
    `WITH RECURSIVE of (account, after) AS (SELECT ?, ?),
       waiting (zone) AS (
         SELECT min(zone) FROM flatten_targets JOIN of WHERE flatten_targets.account = of.account AND zone > of.after
         UNION ALL
         SELECT (SELECT min(zone) FROM flatten_targets JOIN of
           WHERE flatten_targets.account = of.account AND zone > waiting.zone)
         FROM waiting WHERE zone IS NOT NULL)
     SELECT zone, (SELECT min(refresh_at) FROM flatten_targets INDEXED BY flatten_targets_zone JOIN of
       WHERE flatten_targets.account = of.account AND flatten_targets.zone = waiting.zone)
     FROM waiting WHERE zone IS NOT NULL LIMIT ?`,
  ),
  nextDue: store.prepareTuples<[], [number | null]>('SELECT min(refresh_at) FROM flatten_targets'),
  remove: store.prepare<[name: Uint8Array]>('DELETE FROM flatten_targets WHERE name = ?'),
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

export const findTarget = oneRow<[name: Uint8Array], FlattenTargetRow>('SELECT * FROM flatten_targets WHERE name = ?');

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

/** The accounts after this number that need targets, no more than `limit`, in the order of their numbers. */
export function accountsOfTargets(store: Store, after: number, limit: number): readonly WaitingAccount[] {
  return statements(store)
    .waitingAccounts.all(after, limit)
    .map(([account, runAtMs]) => ({ account, runAtMs }));
}

/** The zones after this number that need targets of an account, and when the first target of each is due. */
export function zonesOfTargets(
  store: Store,
  account: number,
  after: number,
  limit: number,
): readonly { readonly zone: number; readonly dueMs: number }[] {
  return statements(store)
    .waitingZones.all(account, after, limit)
    .map(([zone, dueMs]) => ({ zone, dueMs }));
}

/** Targets of a zone that are due now, the longest overdue first. */
export function dueTargets(
  store: Store,
  { account, zone, nowMs, limit }: { account: number; zone: number; nowMs: number; limit: number },
): DueTargetRow[] {
  return statements(store).due.all(account, zone, nowMs, limit);
}

/** Targets that are due, with those that are being asked for. */
export const countDueTargets = theValue<[nowMs: number], number>(
  'SELECT count(*) FROM flatten_targets WHERE refresh_at <= ?',
);

export const countTargets = theValue<[], number>('SELECT count(*) FROM flatten_targets');

/** A new target is resolved as soon as possible; of an existing one, only whose turn it takes changes. */
export const addTarget = runs<
  [name: Uint8Array, zone: number]
>(`INSERT INTO flatten_targets (name, account, zone) SELECT ?, account, seq FROM zones WHERE seq = ? ORDER BY seq
     ON CONFLICT (name) DO UPDATE SET
       account = CASE WHEN account = excluded.account THEN account ELSE 0 END,
       zone = CASE WHEN zone = excluded.zone THEN zone ELSE 0 END
     WHERE zone <> excluded.zone AND (zone <> 0 OR account <> 0)`);

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
export const hasOwnSources = hasRow<[]>('SELECT 1 FROM flatten_links LIMIT 1');

/** Schedules the targets whose results came from one of our own names to be resolved soon. */
export const refreshTargetsFrom = runs<[ownName: Uint8Array]>(
  `UPDATE flatten_targets SET ${REFRESH_SOON} WHERE name IN (SELECT target FROM flatten_links WHERE name = ?)`,
);

/** Schedules all targets whose results came from our own names to be resolved soon. */
export const refreshTargetsFromOwn = runs<[]>(
  `UPDATE flatten_targets SET ${REFRESH_SOON} WHERE name IN (SELECT target FROM flatten_links)`,
);

/** Schedules a target to be resolved soon that was only monitored, and therefore waits far beyond its TTL. */
export const refreshWatchedTarget = runs<[name: Uint8Array]>(
  `UPDATE flatten_targets SET ${REFRESH_SOON} WHERE name = ? AND refresh_at > expires_at / 1000 + ${LONGEST_REST_MS}`,
);
