/** What load balancing of one account may take of what all share. */
import { countLoadBalancersOfPool } from '../../store/balancing/load-balancers.js';
import { probeLoadOf } from '../../store/balancing/pools.js';
import type { Context } from '../kernel/context.js';
import { balancingFailure } from './errors.js';

const MOST_TARGETS = 1000;
const MOST_PROBES = 200;
/** A change of a pool makes the owners of its load balancers be read again, in one write. */
const MOST_BALANCERS = 1000;

/** Throws 1002 when the account's monitors do more than they may. Call it inside the write, after the change. */
export function requireProbeRoom({ store }: Context, account: number): void {
  const { targets, perSecond } = probeLoadOf(store, account);
  if (targets > MOST_TARGETS) {
    throw balancingFailure('invalid', {
      reason: `the account has ${targets} monitored origins, more than ${MOST_TARGETS}`,
    });
  }
  if (perSecond > MOST_PROBES) {
    const rate = Math.ceil(perSecond);
    throw balancingFailure('invalid', {
      reason: `the account's monitors probe ${rate} times a second, more than ${MOST_PROBES}`,
    });
  }
}

/** Throws 403 when too many load balancers use the pool (store number). Call it inside the write, after the change. */
export function requireFewBalancers({ store }: Context, pool: number, name: string): void {
  if (countLoadBalancersOfPool(store, pool) <= MOST_BALANCERS) return;
  throw balancingFailure('quota', { reason: `at most ${MOST_BALANCERS} load balancers use one pool, here ${name}` });
}
