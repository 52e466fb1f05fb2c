/** What load balancing of one account may take of what all share. */
import type { AppError } from '../../base/errors.js';
import {
  countLoadBalancersOfPool,
  crowdedBalancerOf,
  type LoadBalancerRow,
  octetsOfBalancers,
  sizeOfBalancer,
} from '../../store/balancing/load-balancers.js';
import { probeLoadOf } from '../../store/balancing/pools.js';
import type { Context } from '../kernel/context.js';
import { balancingFailure } from './errors.js';

const MOST_TARGETS = 1000;
const MOST_PROBES = 200;
/** A change of a pool makes the owners of its load balancers be read again. */
const MOST_BALANCERS = 1000;

/** Of one load balancer, so that nobody fills the memory that all answers share. */
const MOST_ORIGINS = 1000;
const MOST_OCTETS = 256 * 1024;
/** Of all load balancers of an account that have more than a few octets. */
const FEW_OCTETS = 4096;
const MOST_OCTETS_OF_ACCOUNT = 16 * 1024 * 1024;

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

/** Throws for a load balancer that is too large, alone or with the others of its account. Call it inside the write, after the change. */
export function requireSmallBalancer({ store }: Context, row: LoadBalancerRow): void {
  const octets = Buffer.byteLength(row.settings);
  if (octets > MOST_OCTETS) {
    throw balancingFailure('invalid', {
      reason: `the load balancer has ${octets} octets, more than ${MOST_OCTETS}`,
    });
  }
  if (octets >= FEW_OCTETS && octetsOfBalancers(store, row.account, FEW_OCTETS) > MOST_OCTETS_OF_ACCOUNT) {
    throw balancingFailure('quota', {
      reason: `the load balancers of the account have more than ${MOST_OCTETS_OF_ACCOUNT} octets`,
    });
  }
  const { origins } = sizeOfBalancer(store, row.seq);
  if (origins > MOST_ORIGINS) throw tooManyOrigins({ name: row.name, origins });
}

/** Throws 1002 when a load balancer of the pool (store number) gets too many origins. Call it when the pool has got more. */
export function requireFewOriginsAround({ store }: Context, pool: number): void {
  const crowded = crowdedBalancerOf(store, pool, MOST_ORIGINS);
  if (crowded) throw tooManyOrigins(crowded);
}

function tooManyOrigins({ name, origins }: { readonly name: string; readonly origins: number }): AppError {
  return balancingFailure('invalid', {
    reason: `the pools of the load balancer ${name} have ${origins} origins, more than ${MOST_ORIGINS}`,
  });
}
