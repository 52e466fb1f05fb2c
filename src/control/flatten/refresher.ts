/**
 * Keeps the targets of flattened names known: asks for new ones at once, for known ones before their time is over, and goes on
 * with what was heard last when nobody answers (RFC 8767). The answer path never waits for any of it: what is heard is written to the
 * store like every other change, and followers compile it.
 */
import { equalBytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Random } from '../../base/random.js';
import { printName } from '../../dns/name.js';
import type { Resolution, Resolver } from '../../resolver/resolve.js';
import { servingZone } from '../../serving/zone.js';
import { ownersOfTarget, zonesWithAliases } from '../../store/flatten/owners.js';
import {
  countTargets,
  dueTargets,
  type FlattenTargetRow,
  findTarget,
  removeTarget,
  updateTarget,
} from '../../store/flatten/targets.js';
import { findMeta, putMeta } from '../../store/meta.js';
import { findZone } from '../../store/zones/zones.js';
import { commit } from '../write/commit.js';
import { type Context, type ContextBase, OPERATOR } from '../write/context.js';
import { indexFlattened } from './index.js';
import { judgeTarget, ownNamesOf, type TargetPolicy } from './target.js';

/** Milliseconds between two looks for targets that are due. */
const POLL_MS = 20;
/** Targets asked for at the same time. */
const MOST_AT_ONCE = 64;
/** Targets that nobody is answered with rest so long, milliseconds. */
const WATCH_MS = 3_600_000;
/** The store could not be written to, or a bug: the target is tried again after this, milliseconds. */
const TROUBLE_MS = 5_000;

export interface RefresherOptions {
  readonly base: ContextBase;
  readonly resolver: Resolver;
  readonly policy: TargetPolicy;
}

export interface FlattenRefresher {
  samples(): MetricSample[];
  /** Resolves when what was under way has ended. */
  close(): Promise<void>;
}

interface Refreshing {
  readonly ctx: Context;
  readonly resolver: Resolver;
  readonly policy: TargetPolicy;
  readonly underWay: Map<string, Promise<void>>;
  /** Targets in trouble, and until when they rest, milliseconds since 1970. */
  readonly resting: Map<string, number>;
  readonly counts: Record<'changed' | 'same' | 'failed', number>;
}

export async function startFlattenRefresher({ base, resolver, policy }: RefresherOptions): Promise<FlattenRefresher> {
  const { store, clock, random } = base;
  const state: Refreshing = {
    ctx: { ...base, actor: OPERATOR, requestId: random.uuid(), source: 'service' },
    resolver,
    policy,
    underWay: new Map(),
    resting: new Map(),
    counts: { changed: 0, same: 0, failed: 0 },
  };
  await indexOnce(state.ctx);
  const stop = clock.every(POLL_MS, () => refreshDue(state, clock));
  return {
    samples: () => [
      sample('gauge', 'flatten_targets', 'Targets of flattened names', countTargets(store)),
      ...Object.entries(state.counts).map(([result, count]) =>
        sample('counter', 'flatten_refreshes_total', 'Targets asked for, by what came of it', count, { result }),
      ),
    ],
    async close() {
      stop();
      await Promise.all(state.underWay.values());
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

/** What the index holds; another number when the rule changes. */
const INDEX_VERSION = 4;

/** Zones that were there before this rule of the index was. */
async function indexOnce({ store, settings }: Context): Promise<void> {
  if (findMeta(store, 'flattening_indexed') === INDEX_VERSION) return;
  await store.write(() => {
    for (const seq of zonesWithAliases(store)) indexFlattened(store, servingZone(findZone(store, seq)!, settings));
    putMeta(store, 'flattening_indexed', INDEX_VERSION);
  });
}

function refreshDue(state: Refreshing, clock: Clock): void {
  const { underWay, resting, ctx } = state;
  const room = MOST_AT_ONCE - underWay.size;
  if (room <= 0) return;
  const nowMs = clock.nowMs();
  // Those under way or at rest are still due in the store.
  for (const row of dueTargets(ctx.store, nowMs, room + underWay.size + resting.size)) {
    const key = Buffer.from(row.name).toString('latin1');
    if (underWay.has(key) || (resting.get(key) ?? 0) > nowMs || underWay.size >= MOST_AT_ONCE) continue;
    resting.delete(key);
    const work = refresh(state, { ...row, name: new Uint8Array(row.name) })
      .catch((error: unknown) => {
        resting.set(key, nowMs + TROUBLE_MS);
        ctx.log.error({ err: error, target: printName(row.name) }, 'the target of a flattened name was not refreshed');
      })
      .finally(() => underWay.delete(key));
    underWay.set(key, work);
  }
}

async function refresh(state: Refreshing, row: FlattenTargetRow): Promise<void> {
  const { ctx, resolver, policy, counts } = state;
  const name = printName(row.name);
  const startMs = ctx.clock.nowMs();
  const ask = (type: 'A' | 'AAAA'): Promise<Resolution> => resolver.resolve(name, type, { bypassCache: true });
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
    // Something it came from has changed meanwhile: it stays due.
    const changedMeanwhile = current.refresh_at !== row.refresh_at;
    const dueMs = owners.some(({ answered }) => answered === 1) ? next.refresh_at : laterOf(next.refresh_at, startMs);
    updateTarget(ctx.store, { ...next, refresh_at: changedMeanwhile ? current.refresh_at : dueMs }, links);
  });
  counts[next.failures > 0 ? 'failed' : changed ? 'changed' : 'same']++;
}

/** Spread as the other moment is. */
function laterOf(refreshMs: number, startMs: number): number {
  return Math.max(refreshMs, startMs + WATCH_MS + ((refreshMs - startMs) % (WATCH_MS / 10)));
}

/** A number from 0 up to 1. */
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
