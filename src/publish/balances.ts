/**
 * Load balancers in the image: their programs, and the table of the health of their origins, which is followed by transitions. A
 * place in the table belongs to an origin by its pool and its name, or to a pool.
 */

import { overriddenSteering, type Rule } from '../balancing/load-balancer.js';
import { nameOfOwnerKey } from '../dns/name.js';
import { servedTtl } from '../dns/ttl.js';
import type { BalanceSource, NodeSource } from '../image/compile.js';
import { setStates } from '../image/states.js';
import type { ImageWriter } from '../image/writer.js';
import type { Balanced, BalancedAnswers, BalancedPool, OriginAnswers } from '../serving/balanced.js';
import type { HealthSource } from '../serving/health-source.js';
import type { ServedOwner } from '../serving/owner.js';
import { compileProgram, type PoolSource, type SteeringSource } from '../steering/compile.js';
import { State } from '../steering/layout.js';
import { createStatePlaces, type PoolPlaces, UNPROBED } from './state-places.js';

export interface Balances {
  /** What the node of a load balancer needs. Its pools are followed from now on. */
  sourceOf(answers: BalancedAnswers): BalanceSource;
  /**
   * Takes over what became of origins since the last call. Returns whether there may be more. `isWhole`: every change of a pool is
   * published, so that no node reads places that pools gave back.
   */
  follow(isWhole: boolean): boolean;
}

/** Transitions that are read in one step. */
const BATCH = 1000;

export function createBalances(health: HealthSource, writer: ImageWriter): Balances {
  const places = createStatePlaces(writer.reader.states.length);
  let seen = health.last();

  /** Adds the states of a pool to those that are to be set. */
  function read(seq: number, { pool, origins }: PoolPlaces, changes: Map<number, number>): void {
    const { healthy, roundTripUs } = health.ofPool(seq);
    changes.set(pool, roundTripUs);
    for (const [name, place] of origins) changes.set(place, healthy.has(name) ? State.up : State.down);
  }

  /** The places of a pool as it is now; undefined if no state of it is ever read. */
  function placesOf({ seq, pool, monitored }: BalancedPool): PoolPlaces | undefined {
    const names = pool.origins.flatMap(({ name, enabled }) => (enabled ? [name] : []));
    if (monitored && pool.enabled && names.length > 0) return places.keep(seq, names);
    places.drop(seq);
    return undefined;
  }

  return {
    sourceOf({ balanced, rrsets, origins }) {
      const changes = new Map<number, number>();
      const sources = balanced.pools.map((own, index): PoolSource => {
        const found = placesOf(own);
        if (found) read(own.seq, found, changes);
        const slots = own.pool.origins.map(({ name }) => found?.origins.get(name) ?? UNPROBED);
        return poolSource(own, found?.pool ?? UNPROBED, slots, origins[index]!);
      });
      // Before the node is seen that reads them.
      setStates(writer.reader, changes);
      return { rrsets, ...programOf(balanced, sources) };
    },
    follow(isWhole) {
      const { last, pools: changed, isMore } = health.after(seen, BATCH);
      const changes = new Map<number, number>();
      for (const seq of changed) {
        const found = places.find(seq);
        if (found) read(seq, found, changes);
      }
      setStates(writer.reader, changes);
      seen = last;
      places.sweep(health.isUsed);
      if (isWhole) places.settle();
      return isMore;
    },
  };
}

/** The node of an owner. */
export function nodeSource(
  { ownerKey, rrsets, balanced }: ServedOwner,
  apex: Uint8Array,
  balances: Balances,
): NodeSource {
  const owner = nameOfOwnerKey(ownerKey, apex);
  return balanced ? { owner, apex, rrsets, balance: balances.sourceOf(balanced) } : { owner, apex, rrsets };
}

function poolSource(
  { seq, pool, monitored }: BalancedPool,
  slot: number,
  places: readonly number[],
  answers: readonly OriginAnswers[],
): PoolSource {
  const { id, enabled, minimumOrigins, place, loadShedding, originPolicy } = pool;
  const origins = pool.origins.map((origin, i) => {
    const answer = answers[i]!;
    const { ipv4, ipv6, alias } = answer;
    return {
      ...{ key: `${origin.name} ${origin.address}`, enabled: origin.enabled, weight: origin.weight, slot: places[i]! },
      ...{ hasIpv4: ipv4 !== undefined || alias !== undefined, hasIpv6: ipv6 !== undefined || alias !== undefined },
      ...answer,
    };
  });
  return { id, number: seq, enabled, monitored, minimumOrigins, place, loadShedding, originPolicy, slot, origins };
}

function programOf(
  { row, balancer }: Balanced,
  pools: readonly PoolSource[],
): Pick<BalanceSource, 'program' | 'conditions'> {
  const rules = balancer.rules.map((rule) => ({ ...rule, overrides: overridesOf(row, rule) }));
  const program = compileProgram({ ...balancer, ttl: servedTtl(balancer.ttl), rules, pools });
  return { program, conditions: balancer.rules.map(({ condition }) => condition) };
}

/** The parts of the steering that a rule sets. */
function overridesOf(row: Balanced['row'], rule: Rule): Partial<SteeringSource> {
  const steering = overriddenSteering(row, rule);
  return steering.ttl === undefined ? steering : { ...steering, ttl: servedTtl(steering.ttl) };
}
