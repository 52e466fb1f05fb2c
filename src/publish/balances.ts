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
import { createNodePlaces, type NodePlaces } from './node-places.js';
import { createStatePlaces, type PoolPlaces, UNPROBED } from './state-places.js';

export interface Balances {
  /** What the node of a load balancer, which is staged in an image zone, needs. Its pools are followed from now on. */
  sourceOf(answers: BalancedAnswers, zone: number, ownerKey: Uint8Array): BalanceSource;
  /** Which places the nodes of zones read. */
  readonly nodes: NodePlaces;
  /** A later state of the store is read from now on. */
  renew(): void;
  /** Takes over what became of origins since the last call. Returns whether there may be more. */
  follow(): boolean;
}

/** Transitions that are read in one step. */
const BATCH = 1000;

export function createBalances(health: HealthSource, writer: ImageWriter): Balances {
  const places = createStatePlaces(writer.reader.states.length);
  const nodes = createNodePlaces(places);
  /** Places whose states are those of the store that is read: many load balancers may share them. */
  const fresh = new Set<PoolPlaces>();
  /** Places that have states. */
  const begun = new WeakSet<PoolPlaces>();
  let seen = health.last();

  /**
   * Adds the states of a pool to those that are to be set. `isNew`: the places have none yet; otherwise origins that the pool does not
   * have any more keep theirs, for nodes that are not published again yet.
   */
  function read(seq: number, { pool, origins }: PoolPlaces, changes: Map<number, number>, isNew: boolean): void {
    const { healthy, roundTripUs, origins: present } = health.ofPool(seq);
    changes.set(pool, roundTripUs);
    for (const [name, place] of origins) {
      if (isNew || present.has(name)) changes.set(place, healthy.has(name) ? State.up : State.down);
    }
  }

  /** The places of a pool as a load balancer sees it; undefined if no state of it is ever read. */
  function placesOf({ seq, pool, monitored }: BalancedPool): PoolPlaces | undefined {
    const names = pool.origins.flatMap(({ name, enabled }) => (enabled ? [name] : []));
    return monitored && pool.enabled && names.length > 0 ? places.take(seq, names) : undefined;
  }

  function readNew(taken: ReadonlyMap<number, PoolPlaces>): void {
    const changes = new Map<number, number>();
    for (const [seq, found] of taken) {
      if (fresh.has(found)) continue;
      read(seq, found, changes, !begun.has(found));
      begun.add(found);
      fresh.add(found);
    }
    setStates(writer.reader, changes);
  }

  return {
    nodes,
    renew: () => fresh.clear(),
    sourceOf({ balanced, rrsets, origins }, zone, ownerKey) {
      const taken = new Map<number, PoolPlaces>();
      try {
        const sources = balanced.pools.map((own, index): PoolSource => {
          const found = placesOf(own);
          if (found) taken.set(own.seq, found);
          const slots = own.pool.origins.map(({ name }) => found?.origins.get(name) ?? UNPROBED);
          return poolSource(own, found?.pool ?? UNPROBED, slots, origins[index]!);
        });
        // Before the node is seen that reads them.
        readNew(taken);
        return { rrsets, ...programOf(balanced, sources) };
      } finally {
        nodes.stage(zone, ownerKey, [...taken.values()]);
      }
    },
    follow() {
      const { last, pools: changed, isMore } = health.after(seen, BATCH);
      const changes = new Map<number, number>();
      for (const seq of changed) {
        const found = places.find(seq);
        if (found) read(seq, found, changes, false);
      }
      setStates(writer.reader, changes);
      seen = last;
      return isMore;
    },
  };
}

/** The node of an owner in an image zone. */
export function nodeSource(
  { ownerKey, rrsets, balanced }: ServedOwner,
  apex: Uint8Array,
  balances: Balances,
  zone: number,
): NodeSource {
  const owner = nameOfOwnerKey(ownerKey, apex);
  if (balanced) return { owner, apex, rrsets, balance: balances.sourceOf(balanced, zone, ownerKey) };
  balances.nodes.stageNone(zone, ownerKey);
  return { owner, apex, rrsets };
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
