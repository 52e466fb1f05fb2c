/**
 * A node that cannot store its findings, because the log of the cluster is unavailable, uses the agreed health of origins for a
 * minute, and after that its own findings.
 */
import { poolHealth } from '../balancing/health/pool-health.js';
import { poolOf } from '../balancing/pool.js';
import { type Clock, steadyMs } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { type OwnPools, writeOwnHealth } from '../serving/own-health.js';
import { countedMonitors } from '../serving/pool-health.js';
import { type OriginStateRow, originStatesOfPool, poolsFoundByNodes } from '../store/balancing/origin-states.js';
import { findPool } from '../store/balancing/pools.js';
import type { Store } from '../store/driver.js';
import type { Transition } from './prober.js';

const PATIENCE_MS = 60_000;
const LOOK_MS = 2500;

export interface OwnHealthOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Name of this node. */
  readonly node: string;
  readonly isAway: () => boolean;
  /** Transitions that could not be stored yet. */
  readonly unwritten: () => readonly Transition[];
}

export interface OwnHealthKeeper {
  /** Whether this node's own findings count. */
  isUsed(): boolean;
  close(): void;
}

export function keepOwnHealth({ store, clock, log, node, isAway, unwritten }: OwnHealthOptions): OwnHealthKeeper {
  let awayMs: number | undefined;
  let written: string | undefined;
  const put = (pools: OwnPools | undefined): void => {
    const text = pools && JSON.stringify([...pools]);
    if (text === written) return;
    writeOwnHealth(store, pools);
    if ((text === undefined) !== (written === undefined)) {
      log.warn(
        {},
        text === undefined
          ? 'the agreed health of origins counts again'
          : 'the log of the cluster is unavailable: what this node finds about the health of origins counts',
      );
    }
    written = text;
  };
  const look = (): void => {
    awayMs = isAway() ? (awayMs ?? steadyMs(clock)) : undefined;
    const isOver = awayMs !== undefined && steadyMs(clock) - awayMs >= PATIENCE_MS;
    try {
      put(isOver ? ownPools(store, node, unwritten()) : undefined);
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'what this node finds about the health of origins could not be written');
    }
  };
  // An earlier process may have left a file.
  writeOwnHealth(store, undefined);
  const cancel = clock.every(LOOK_MS, look);
  return { isUsed: () => written !== undefined, close: cancel };
}

/** Pools for which the findings of this node differ from the agreed health. Origins without findings keep the agreed health. */
function ownPools(store: Store, node: string, unwritten: readonly Transition[]): OwnPools {
  return store.snapshot(() => {
    const newest = new Map(unwritten.map((one) => [`${one.pool} ${one.monitor} ${one.origin}`, one.healthy]));
    const seqs = new Set([...poolsFoundByNodes(store), ...unwritten.map(({ pool }) => pool)]);
    const pools = new Map<number, readonly string[]>();
    for (const seq of seqs) {
      const row = findPool(store, seq);
      if (!row) continue;
      const states = originStatesOfPool(store, seq);
      const agreed = states.filter((state) => state.node === '' && state.region === '');
      const found = new Map(
        [...agreed, ...states.filter((state) => state.node === node)].map((state) => [
          keyOf(state),
          state.healthy === 1,
        ]),
      );
      for (const [key, healthy] of newest) if (key.startsWith(`${seq} `)) found.set(key, healthy);
      const healthyOf = (healthy: ReadonlyMap<string, boolean>): string[] => {
        const list = [...healthy].map(([key, is]) => ({ ...partsOf(key), healthy: is }));
        const health = poolHealth(poolOf(row), countedMonitors(store, row), list);
        return [...(health?.origins ?? [])].flatMap(([name, state]) => (state === 'healthy' ? [name] : []));
      };
      const own = healthyOf(found);
      const before = healthyOf(new Map(agreed.map((state) => [keyOf(state), state.healthy === 1])));
      if (own.join(' ') !== before.join(' ')) pools.set(seq, own);
    }
    return pools;
  });
}

function keyOf({ pool, monitor, origin }: Pick<OriginStateRow, 'pool' | 'monitor' | 'origin'>): string {
  return `${pool} ${monitor} ${origin}`;
}

/** Names of origins have no spaces. */
function partsOf(key: string): { readonly monitor: number; readonly origin: string } {
  const [, monitor, origin] = key.split(' ');
  return { monitor: Number(monitor), origin: origin! };
}
