/**
 * Reconstructs a load balancer and its pools as they were at a moment: from the events of later edits, each with the state before
 * it, and from the recorded changes of the health of origins.
 */
import { loadBalancerOf } from '../balancing/load-balancer.js';
import { type Members, memberOr } from '../balancing/members.js';
import { poolOf } from '../balancing/pool.js';
import { poolsReferredTo } from '../balancing/references.js';
import { fromHex, toHex } from '../base/bytes.js';
import { membersOfRow } from '../control/balancing/access.js';
import { balancingFailure } from '../control/balancing/errors.js';
import type { Context } from '../control/kernel/context.js';
import { printInstant } from '../control/rules/instant.js';
import type { Balanced, BalancedPool } from '../serving/balanced.js';
import { createHealthSource, type HealthSource } from '../serving/health-source.js';
import { healthEventsOfAccount, KEPT_US } from '../store/balancing/health-events.js';
import type { LoadBalancerRow } from '../store/balancing/load-balancers.js';
import { findPoolById } from '../store/balancing/pools.js';
import { matchIds } from '../store/condition.js';
import { type EventRow, firstEventAfter } from '../store/log/events.js';
import { firstOfSubjects, hasMoreEvents, matchAccountOf, matchBehind, matchVerbs } from '../store/log/events-query.js';

export interface PastBalancer {
  readonly balanced: Balanced;
  readonly health: HealthSource;
}

/** The most health changes of one pool that are read. */
const MOST_CHANGES = 10_000;
/** The most events searched: this many block others for a fraction of a second. */
const MOST_EVENTS = 100_000;

/** The load balancer as it was; `row`: as it is now. Throws if too little is known about the moment. */
export function balancerAt(ctx: Context, row: LoadBalancerRow, atUs: number): PastBalancer {
  const nowUs = ctx.clock.nowUs();
  if (atUs > nowUs) throw badMoment('at is in the future');
  if (atUs < nowUs - KEPT_US) throw badMoment(`health is known only since ${printInstant(nowUs - KEPT_US)}`);
  const first = firstEventAfter(ctx.store, row.account, atUs);
  if (first?.isOldest) throw badMoment(`edits are known only since ${printInstant(first.atUs)}`);
  const behind = first ? first.seq - 1 : Number.MAX_SAFE_INTEGER;
  if (hasMoreEvents(ctx.store, row.account, behind, MOST_EVENTS)) {
    throw badMoment(`there were more than ${MOST_EVENTS} changes in the account since then`);
  }
  const members = membersAt(ctx, row, behind);
  const past = { ...row, enabled: Number(members.enabled !== false), settings: JSON.stringify(members) };
  const health = new Map<number, ReadonlySet<string>>();
  const ids = poolsReferredTo(members);
  const edits = firstEdits(
    ctx,
    row.account,
    ids.map((id) => fromHex(id)!),
    behind,
  );
  const pools = ids.flatMap((id, index): BalancedPool[] => {
    const pool = poolAt(ctx, id, edits.get(id));
    // Numbered by index, because some pools no longer exist.
    if (!pool) return [];
    health.set(index, healthyAt(ctx, row.account, id, pool, atUs));
    const monitored = memberOr(pool, 'monitor', '') !== '' || memberOr(pool, 'monitor_group', '') !== '';
    return [{ seq: index, pool: poolOf({ id: fromHex(id)!, settings: JSON.stringify(pool) }), monitored }];
  });
  return {
    balanced: { row: past, balancer: loadBalancerOf(past), pools },
    health: {
      // Past round-trip times are not stored.
      ofPool: (seq) => ({ origins: new Set(), healthy: health.get(seq) ?? new Set(), roundTripUs: 0 }),
      isUsed: () => true,
      after: (last) => ({ last, pools: [], isMore: false }),
      last: () => 0,
      version: () => 0,
    },
  };
}

function badMoment(reason: string): Error {
  return balancingFailure('invalid', { reason });
}

/** The state before the first edit after the moment, or the present one. Throws if the load balancer did not exist yet. */
function membersAt(ctx: Context, row: LoadBalancerRow, behind: number): Members {
  const later = firstEdits(ctx, row.account, [row.id], behind).get(toHex(row.id));
  if (!later) return membersOfRow(row);
  if (later.before === null) throw badMoment(`the load balancer was created at ${printInstant(later.at_us)}`);
  return JSON.parse(later.before) as Members;
}

/** Undefined if the pool did not exist. */
function poolAt(ctx: Context, id: string, later: EventRow | undefined): Members | undefined {
  if (later) return later.before === null ? undefined : (JSON.parse(later.before) as Members);
  const row = findPoolById(ctx.store, fromHex(id)!);
  return row && membersOfRow(row);
}

/** The first edit of each subject after a position, by identifier; one query of the account's events finds them all. */
function firstEdits(
  { store }: Context,
  account: number,
  ids: readonly Uint8Array[],
  behind: number,
): ReadonlyMap<string, EventRow> {
  const conditions = [
    matchAccountOf(account),
    matchIds('e.subject', ids),
    matchVerbs(['create', 'edit', 'delete']),
    matchBehind(behind, 'asc'),
  ];
  return new Map(firstOfSubjects(store, conditions).map((event) => [toHex(event.subject!), event]));
}

interface ChangedOrigin {
  readonly name: string;
  readonly healthy: boolean;
}

/** The origins that were healthy: by their last change before the moment, or the opposite of the first change after it. */
function healthyAt({ store }: Context, account: number, id: string, pool: Members, atUs: number): ReadonlySet<string> {
  const of = { pool: fromHex(id)! };
  const changes = (since: number, until: number): ChangedOrigin[] =>
    healthEventsOfAccount(store, account, { ...of, since, until }, MOST_CHANGES).flatMap(
      ({ origins }) => JSON.parse(origins) as ChangedOrigin[],
    );
  const earlier = changes(0, atUs + 1);
  const later = changes(atUs + 1, Number.MAX_SAFE_INTEGER).reverse();
  const row = findPoolById(store, of.pool);
  const now = row ? createHealthSource(store).ofPool(row.seq).healthy : new Set<string>();
  const wasHealthy = (name: string): boolean => {
    const before = earlier.find((one) => one.name === name);
    if (before) return before.healthy;
    const after = later.find((one) => one.name === name);
    return after ? !after.healthy : now.has(name);
  };
  const names = memberOr<readonly { readonly name: string }[]>(pool, 'origins', []).map(({ name }) => name);
  return new Set(names.filter(wasHealthy));
}
