/** Transitions that wait until they are stored: of each origin and monitor the last one, by pool, and pools in turns of accounts. */
import { createTurnQueue } from '../../base/lists/turn-queue.js';
import type { Transition } from '../../monitoring/prober.js';

/** Those of one pool. */
export interface PoolTransitions {
  readonly pool: number;
  readonly account: number;
  /** By monitor and origin. */
  transitions: Map<string, Transition>;
}

export interface WaitingTransitions {
  /** Pools that wait. */
  readonly size: number;
  add(transition: Transition): void;
  /** Takes pools until they have this many transitions. */
  take(rows: number): PoolTransitions[];
  /** Puts back transitions that could not be stored; those that came meanwhile are newer. */
  putBack(taken: readonly PoolTransitions[]): void;
  list(): Transition[];
}

/** `accountOf`: store number of the account of a pool. */
export function createWaitingTransitions(accountOf: (pool: number) => number): WaitingTransitions {
  const pools = new Map<number, PoolTransitions>();
  const turns = createTurnQueue<PoolTransitions>(({ account }) => String(account));
  return {
    get size() {
      return turns.size;
    },
    add(transition) {
      const { pool, monitor, origin } = transition;
      const known = pools.get(pool);
      const one = known ?? { pool, account: accountOf(pool), transitions: new Map() };
      one.transitions.set(`${monitor} ${origin}`, transition);
      if (known) return;
      pools.set(pool, one);
      turns.add(one);
    },
    take(rows) {
      const taken: PoolTransitions[] = [];
      for (let count = 0; turns.size > 0 && count < rows; count += taken.at(-1)!.transitions.size) {
        const [one] = turns.take(1) as [PoolTransitions];
        pools.delete(one.pool);
        taken.push(one);
      }
      return taken;
    },
    putBack(taken) {
      const alone = taken.filter((one) => {
        const newer = pools.get(one.pool);
        if (newer) newer.transitions = new Map([...one.transitions, ...newer.transitions]);
        else pools.set(one.pool, one);
        return !newer;
      });
      turns.putBack(alone);
    },
    list: () => transitionsOf([...pools.values()]),
  };
}

export function transitionsOf(pools: readonly PoolTransitions[]): Transition[] {
  return pools.flatMap(({ transitions }) => [...transitions.values()]);
}
