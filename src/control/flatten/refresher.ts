/**
 * Keeps the targets of flattened names up to date. It resolves new targets at once and known ones before their TTL
 * ends; when no resolver answers, it keeps the last result (RFC 8767). The answer path never waits for this: results
 * are written to the store like every other change, and followers compile them.
 */
import { equalBytes } from '../../base/bytes.js';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Random } from '../../base/random.js';
import { turnSamples } from '../../base/turns.js';
import { printName } from '../../dns/name.js';
import { createJobPlaces, type JobPlaces } from '../../jobs/places.js';
import type { Resolution, Resolver } from '../../resolver/resolve.js';
import { servingZone } from '../../serving/zone.js';
import { ownersOfTarget, zonesWithAliases } from '../../store/flatten/owners.js';
import {
  countDueTargets,
  countTargets,
  type DueTargetRow,
  type FlattenTargetRow,
  findTarget,
  nextDueAt,
  removeTarget,
  updateTarget,
} from '../../store/flatten/targets.js';
import { findMeta, putMeta } from '../../store/meta.js';
import { findZone } from '../../store/zones/zones.js';
import { OPERATOR } from '../guard/actor.js';
import { commit } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { createDueTargets, keyOfTarget, MOST_AT_ONCE, type TargetUnderWay } from './due-targets.js';
import { judgeTarget, ownNamesOf, type TargetPolicy } from './target.js';
import { indexFlattened } from './zone-index.js';

/**
 * The shortest and the longest time between two looks for targets that are due, when nothing was committed meanwhile;
 * milliseconds.
 */
const LOOK_MS = 1000;
const LONGEST_REST_MS = 10_000;
/** Milliseconds from a commit to the look that follows it, so that one look serves many commits. */
const WAKE_MS = 20;
/** Milliseconds between two look-ups of targets that are only monitored. */
const WATCH_MS = 3_600_000;
/** Milliseconds before a target is retried after the store could not be written, or after a bug. */
const TROUBLE_MS = 5_000;

export interface RefresherOptions {
  readonly base: ContextBase;
  readonly resolver: Resolver;
  readonly policy: TargetPolicy;
}

export interface FlattenRefresher {
  samples(): MetricSample[];
  /** Something was committed: there may be new targets. */
  wake(): void;
  /** Resolves when running look-ups have ended. */
  close(): Promise<void>;
}

interface UnderWay extends TargetUnderWay {
  readonly ended: Promise<void>;
}

interface Refreshing {
  readonly ctx: Context;
  readonly resolver: Resolver;
  readonly policy: TargetPolicy;
  readonly places: JobPlaces<DueTargetRow>;
  readonly underWay: Map<string, UnderWay>;
  /** Targets in trouble, and until when they rest, by a clock that is never put back. */
  readonly resting: Map<string, number>;
  readonly counts: Record<'changed' | 'same' | 'failed', number>;
  /** How long targets have waited after they were due, milliseconds. */
  waitedMs: number;
}

export async function startFlattenRefresher({ base, resolver, policy }: RefresherOptions): Promise<FlattenRefresher> {
  const { store, clock, random } = base;
  const underWay = new Map<string, UnderWay>();
  const resting = new Map<string, number>();
  const rests = (key: string): boolean => (resting.get(key) ?? 0) > steadyMs(clock);
  const due = createDueTargets(store, { underWay, rests, resting: () => resting.size });
  const state: Refreshing = {
    ctx: { ...base, actor: OPERATOR, requestId: random.uuid(), source: 'service' },
    resolver,
    policy,
    places: createJobPlaces(due, MOST_AT_ONCE),
    underWay,
    resting,
    counts: { changed: 0, same: 0, failed: 0 },
    waitedMs: 0,
  };
  await indexOnce(state.ctx);
  let cancelLook = (): void => {};
  let cancelWake: (() => void) | undefined;
  const lookAndPlan = (): void => {
    cancelLook();
    cancelLook = clock.after(restMs(state, clock), lookAndPlan);
    refreshDue(state, clock);
  };
  cancelLook = clock.after(LOOK_MS, lookAndPlan);
  return {
    samples: () => [
      sample('gauge', 'flatten_targets', 'Targets of flattened names', countTargets(store)),
      ...turnSamples('flattening', {
        held: underWay.size,
        waiting: Math.max(0, countDueTargets(store, clock.nowMs()) - underWay.size),
        waitedMs: state.waitedMs,
      }),
      ...Object.entries(state.counts).map(([result, count]) =>
        sample('counter', 'flatten_refreshes_total', 'Look-ups of targets, by result', count, { result }),
      ),
    ],
    wake() {
      cancelWake ??= clock.after(WAKE_MS, () => {
        cancelWake = undefined;
        lookAndPlan();
      });
    },
    async close() {
      cancelLook();
      cancelWake?.();
      await Promise.all([...state.underWay.values()].map(({ ended }) => ended));
    },
  };
}

function sample(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  value: number,
  labels: Readonly<Record<string, string>> = {},
): MetricSample {
  return { name, type, help, labels, value };
}

/** Version of the index's rule; it changes with the rule. */
const INDEX_VERSION = 4;

/** Indexes zones that are older than this rule of the index. */
async function indexOnce(ctx: Context): Promise<void> {
  const { store, settings } = ctx;
  if (findMeta(store, 'flattening_indexed') === INDEX_VERSION) return;
  await store.write(() => {
    for (const seq of zonesWithAliases(store)) indexFlattened(ctx, servingZone(store, findZone(store, seq)!, settings));
    putMeta(store, 'flattening_indexed', INDEX_VERSION);
  });
}

/** Milliseconds until the next look, if nothing is committed: the next target is due then. */
function restMs({ ctx, underWay, resting }: Refreshing, clock: Clock): number {
  const dueMs = underWay.size > 0 || resting.size > 0 ? 0 : (nextDueAt(ctx.store) ?? Number.POSITIVE_INFINITY);
  return Math.max(LOOK_MS, Math.min(LONGEST_REST_MS, dueMs - clock.nowMs()));
}

function refreshDue(state: Refreshing, clock: Clock): void {
  const { places, underWay } = state;
  const running = new Map<number, number>();
  for (const { account } of underWay.values()) running.set(account, (running.get(account) ?? 0) + 1);
  const nowMs = clock.nowMs();
  for (const row of places.choose(running, nowMs)) {
    // New targets are due since ever.
    if (row.refresh_at > 0) state.waitedMs += nowMs - row.refresh_at;
    begin(state, row, clock);
  }
}

function begin({ underWay, resting, ...state }: Refreshing, row: DueTargetRow, clock: Clock): void {
  const { log } = state.ctx;
  const { account, zone, failures } = row;
  const key = keyOfTarget(row.name);
  resting.delete(key);
  const ended = refresh(state, { ...row, name: new Uint8Array(row.name) })
    .catch((error: unknown) => {
      resting.set(key, steadyMs(clock) + TROUBLE_MS);
      log.error({ err: error, target: printName(row.name) }, 'the target of a flattened name was not refreshed');
    })
    .finally(() => underWay.delete(key));
  underWay.set(key, { account, zone, isFailing: failures > 0, ended });
}

async function refresh(
  { ctx, resolver, policy, counts }: Pick<Refreshing, 'ctx' | 'resolver' | 'policy' | 'counts'>,
  row: DueTargetRow,
): Promise<void> {
  const name = printName(row.name);
  const startMs = ctx.clock.nowMs();
  const ask = (type: 'A' | 'AAAA'): Promise<Resolution> =>
    resolver.resolve(name, type, { bypassCache: true, turnOf: row.account });
  const [ipv4, ipv6] = await Promise.all([ask('A'), ask('AAAA')]);
  const { random } = ctx;
  const next = judgeTarget(row, { ipv4, ipv6 }, policy, ctx.clock.nowUs(), unitOf(random));
  const changed = showsDifference(row, next);
  const links = ownNamesOf(ctx.store, [ipv4, ipv6], row.name);
  await commit(ctx, (draft) => {
    const owners = ownersOfTarget(ctx.store, row.name);
    const current = findTarget(ctx.store, row.name);
    if (!current) return;
    if (owners.length === 0) {
      removeTarget(ctx.store, row.name);
      return;
    }
    if (changed) for (const owner of owners) draft.noteTarget(owner.zone, new Uint8Array(owner.owner_key));
    // Something on which the result depends has changed meanwhile, so the target stays due.
    const changedMeanwhile = current.refresh_at !== row.refresh_at;
    const dueMs = owners.some(({ answered }) => answered === 1) ? next.refresh_at : laterOf(next.refresh_at, startMs);
    updateTarget(ctx.store, { ...next, refresh_at: changedMeanwhile ? current.refresh_at : dueMs }, links);
  });
  counts[next.failures > 0 ? 'failed' : changed ? 'changed' : 'same']++;
}

/** Spreads the time in the same proportion as the other one. */
function laterOf(refreshMs: number, startMs: number): number {
  return Math.max(refreshMs, startMs + WATCH_MS + ((refreshMs - startMs) % (WATCH_MS / 10)));
}

/** A number from 0 up to, but not including, 1. */
function unitOf(random: Random): number {
  const octets = random.bytes(2);
  return ((octets[0]! << 8) | octets[1]!) / 65536;
}

function showsDifference(before: FlattenTargetRow, after: FlattenTargetRow): boolean {
  return (
    before.asked !== 1 ||
    before.ttl !== after.ttl ||
    before.stale !== after.stale ||
    !sameOctets(before.ipv4, after.ipv4) ||
    !sameOctets(before.ipv6, after.ipv6)
  );
}

function sameOctets(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : equalBytes(a, b);
}
