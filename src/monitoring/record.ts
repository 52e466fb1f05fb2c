/**
 * Stores what a prober tells: transitions only. In a cluster each node stores what it has found, and whoever writes also stores what
 * the nodes that live agree on. What became of a pool is an event for its account.
 */

import type { PoolHealth } from '../balancing/health/pool-health.js';
import { isPoolUp } from '../balancing/health/pool-state.js';
import { agreedState } from '../balancing/health/votes.js';
import { isNotified, type Pool, poolOf } from '../balancing/pool.js';
import { parseIP } from '../base/ip.js';
import { inWrites } from '../base/slices.js';
import { OPERATOR } from '../control/guard/actor.js';
import type { ContextBase } from '../control/kernel/context.js';
import { logEvents } from '../control/kernel/outbox.js';
import { countedMonitors, healthOfPool } from '../serving/pool-health.js';
import { appendHealthEvent, appendPoolNews } from '../store/balancing/health-events.js';
import {
  forgetRegionOf,
  type OriginStateRow,
  originStatesOfPool,
  poolsFoundByNodes,
  putOriginState,
} from '../store/balancing/origin-states.js';
import { findPool, type PoolRow } from '../store/balancing/pools.js';
import type { ProbingNode } from './plan.js';
import type { Transition } from './prober.js';

/** An origin that became healthy or unhealthy, as it is logged and told. */
export interface RecordedChange {
  readonly account: number;
  readonly pool: string;
  readonly poolName: string;
  readonly state: PoolHealth['state'];
  readonly poolChanged: boolean;
  readonly minimumOrigins: number;
  readonly origins: readonly ChangedOrigin[];
  /** The origins about which the pool's owner wants to be told; undefined: about none, and not about the pool either. */
  readonly told: readonly ChangedOrigin[] | undefined;
}

export interface ChangedOrigin {
  readonly name: string;
  readonly address: string;
  readonly ip: string | null;
  readonly enabled: boolean;
  readonly healthy: boolean;
  readonly changed: boolean;
  readonly failure_reason: string;
}

export interface RecordOptions {
  readonly node: ProbingNode;
  /** The nodes that live; undefined where there is only this one. */
  readonly living: ReadonlySet<string> | undefined;
}

/**
 * Writes transitions, of each origin the last one; those of pools, origins and monitors that are gone are dropped. Resolves with what
 * changed for the pools.
 */
export async function recordTransitions(
  base: ContextBase,
  options: RecordOptions,
  transitions: readonly Transition[],
): Promise<readonly RecordedChange[]> {
  const last = new Map(transitions.map((one) => [`${one.pool} ${one.monitor} ${one.origin}`, one]));
  const pools = [...Map.groupBy(last.values(), ({ pool }) => pool)];
  return writeChanges(base, pools, ([seq, found], nowUs) =>
    recordOfPool(base, seq, nowUs, () => put(base, options, seq, found, nowUs)),
  );
}

/**
 * Other nodes live than before: what they agree on is stored anew for every pool. Resolves with what changed.
 */
export async function recordAgreement(
  base: ContextBase,
  living: ReadonlySet<string>,
): Promise<readonly RecordedChange[]> {
  return writeChanges(base, poolsFoundByNodes(base.store), (seq, nowUs) =>
    recordOfPool(base, seq, nowUs, () => agreeAbout(base, seq, living, nowUs)),
  );
}

/** Writes what `record` finds about each of the items, in slices. */
async function writeChanges<Item>(
  base: ContextBase,
  items: readonly Item[],
  record: (item: Item, nowUs: number) => readonly RecordedChange[],
): Promise<readonly RecordedChange[]> {
  const { store, clock, random } = base;
  const by = { store, actor: OPERATOR, requestId: random.uuid(), source: 'service' } as const;
  const changes: RecordedChange[] = [];
  await inWrites(
    base,
    { at: 0, count: 0 },
    ({ at }) => at < items.length,
    ({ at, count }) => {
      // A step that was undone runs again.
      changes.length = count;
      const nowUs = clock.nowUs();
      const found = record(items[at]!, nowUs);
      logEvents(by, nowUs, found.flatMap(eventsOf));
      changes.push(...found);
      return { at: at + 1, count: changes.length };
    },
  );
  return changes;
}

function eventsOf({ account, pool, poolName: name, state, told }: RecordedChange) {
  if (!told) return [];
  const origins = told.map(({ name, healthy, failure_reason }) => ({ name, healthy, failure_reason }));
  return [{ kind: 'pool.health' as const, account, id: Buffer.from(pool, 'hex'), name, after: { state, origins } }];
}

/** Runs an edit of the states of a pool, which says whether it wrote anything, and writes the event that follows from it, if one does. */
function recordOfPool(
  { store }: ContextBase,
  seq: number,
  nowUs: number,
  edit: (row: PoolRow, pool: Pool) => boolean,
): RecordedChange[] {
  const row = findPool(store, seq);
  if (!row) return [];
  const pool = poolOf(row);
  const before = healthOfPool(store, row, pool);
  const isWritten = edit(row, pool);
  const after = healthOfPool(store, row, pool);
  if (!after) return [];
  const changed = [...after.origins].flatMap(([name, state]) => (before?.origins.get(name) === state ? [] : [name]));
  const { minimumOrigins } = pool;
  const isUp = (health: PoolHealth | undefined): boolean =>
    health !== undefined && isPoolUp(health.state, minimumOrigins);
  const poolChanged = isUp(before) !== isUp(after) || before?.state === 'unknown';
  const subject = { at_us: nowUs, account: row.account, pool: row.id, pool_name: row.name };
  const standing = { pool_healthy: Number(isUp(after)), minimum_origins: minimumOrigins };
  if (changed.length === 0 && before?.state === after.state) {
    if (isWritten) appendPoolNews(store, { ...subject, ...standing });
    return [];
  }
  const reasons = new Map(originStatesOfPool(store, seq).map((state) => [state.origin, state.failure_reason]));
  const origins = pool.origins
    .filter(({ name }) => changed.includes(name))
    .map(({ name, address, enabled }) => ({
      ...{ name, address, ip: parseIP(address) ? address : null, enabled, changed: true },
      healthy: after.origins.get(name) === 'healthy',
      failure_reason: after.origins.get(name) === 'healthy' ? 'No failures' : (reasons.get(name) ?? 'No failures'),
    }));
  appendHealthEvent(store, {
    ...{ ...subject, ...standing, pool_changed: Number(poolChanged), origins: JSON.stringify(origins) },
  });
  const { notifications } = pool;
  const told = origins.filter(({ healthy }) => isNotified(notifications.origin, healthy));
  const isTold = told.length > 0 || (poolChanged && isNotified(notifications.pool, isUp(after)));
  const change = { account: row.account, pool: pool.id, poolName: row.name, state: after.state, poolChanged };
  return [{ ...change, minimumOrigins, origins, told: isTold ? told : undefined }];
}

/** Stores what this node has found of origins and monitors that the pool still has. */
function put(
  base: ContextBase,
  { node: { node, region }, living }: RecordOptions,
  seq: number,
  found: readonly Transition[],
  nowUs: number,
): boolean {
  const { store } = base;
  let isWritten = false;
  const row = findPool(store, seq)!;
  const enabled = new Set(poolOf(row).origins.flatMap(({ name, enabled }) => (enabled ? [name] : [])));
  const monitors = new Set(countedMonitors(store, row).map((monitor) => monitor.seq));
  const known = originStatesOfPool(store, seq);
  const own = living === undefined ? { node: '', region: '' } : { node, region };
  for (const { origin, monitor, healthy, reason, responseCode, rttMs } of found) {
    if (!enabled.has(origin) || !monitors.has(monitor)) continue;
    const before = known.find(
      (one) => one.origin === origin && one.monitor === monitor && one.node === own.node && one.region === own.region,
    );
    const isSame = before?.healthy === Number(healthy);
    isWritten = true;
    putOriginState(store, {
      ...{ pool: seq, origin, monitor, ...own, healthy: Number(healthy) },
      failure_reason: isSame ? before.failure_reason : reason,
      response_code: isSame ? before.response_code : (responseCode ?? null),
      rtt: Math.round(rttMs * 1000),
      changed_at: isSame ? before.changed_at : nowUs,
      confirmed_at: nowUs,
    });
  }
  if (living) agreeAbout(base, seq, living, nowUs);
  return isWritten;
}

/**
 * Stores what the nodes that live agree on, in each region and together, if it differs from what is stored. Returns whether
 * anything was stored.
 */
function agreeAbout({ store }: ContextBase, seq: number, living: ReadonlySet<string>, nowUs: number): boolean {
  const rows = originStatesOfPool(store, seq);
  let isWritten = false;
  for (const ofOrigin of Map.groupBy(rows, ({ origin, monitor }) => `${monitor} ${origin}`).values()) {
    const found = ofOrigin.filter(({ node }) => node !== '' && living.has(node));
    // A node that has moved to another region has one vote, the newest.
    found.sort((a, b) => a.confirmed_at - b.confirmed_at);
    const votes = [...new Map(found.map((row) => [row.node, row])).values()];
    const ofRegions = Map.groupBy(votes, ({ region }) => region);
    for (const row of ofOrigin) {
      if (row.node !== '' || row.region === '' || ofRegions.has(row.region)) continue;
      forgetRegionOf(store, row);
      isWritten = true;
    }
    for (const [region, own] of [['', votes] as const, ...ofRegions]) {
      const isRegion = own !== votes;
      if (isRegion && region === '') continue;
      const before = ofOrigin.find((row) => row.node === '' && row.region === region);
      const agreed = agreedRow(own, before, region, nowUs);
      if (!agreed) continue;
      putOriginState(store, agreed);
      isWritten = true;
    }
  }
  return isWritten;
}

/** What nodes agree on; undefined if that is what is stored, or nothing. */
function agreedRow(
  votes: readonly OriginStateRow[],
  before: OriginStateRow | undefined,
  region: string,
  nowUs: number,
): OriginStateRow | undefined {
  const state = agreedState(
    votes.map(({ node, region, healthy }) => ({ node, region, state: healthy === 1 ? 'healthy' : 'unhealthy' })),
    before === undefined ? 'unknown' : before.healthy === 1 ? 'healthy' : 'unhealthy',
  );
  if (state === 'unknown') return undefined;
  const healthy = state === 'healthy' ? 1 : 0;
  const like = votes.find((vote) => vote.healthy === healthy);
  const rtts = votes.flatMap(({ rtt }) => (rtt === null ? [] : [rtt]));
  const rtt = rtts.length === 0 ? null : Math.round(rtts.reduce((sum, one) => sum + one, 0) / rtts.length);
  if (!like || (before?.healthy === healthy && before.rtt === rtt)) return undefined;
  const changed_at = before?.healthy === healthy ? before.changed_at : nowUs;
  return { ...like, node: '', region, rtt, confirmed_at: nowUs, changed_at };
}
