/**
 * The routing table: requested hosts and their routes. A host that is not in it is looked up in the store at once and
 * kept until follow.ts reads a change that concerns it. Look-ups are synchronous.
 */
import { LRUCache } from 'lru-cache';
import { detachedText } from '../../base/bytes.js';
import { findRoute, type Route } from '../../hostnames/routing/find-route.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';

/** The most hosts to keep; the least recently used ones are dropped. */
const MOST_HOSTS = 100_000;

export interface RoutingTable {
  /** `host`: lower case, no final dot, no port. */
  find(host: string): Route;
  /** Forgets routes that depend on the zone. */
  forgetZone(zone: number): void;
  /** Forgets a host, or for a wildcard all hosts one label below its parent. */
  forgetHostname(hostname: string): void;
  forgetAll(): void;
  size(): number;
}

interface Kept {
  readonly route: Route;
  /** The sum of the generations of its zones at look-up time. A change of any zone increases the sum. */
  readonly generation: number;
}

export function createRoutingTable(store: Store, serving: ServingSettings): RoutingTable {
  const hosts = new LRUCache<string, Kept>({ max: MOST_HOSTS });
  const generations = new Map<number, number>();
  /** The last one that was found, while nothing was forgotten: requests in a row are often for the same host. */
  let last: Route | undefined;

  function generationOf(zones: readonly number[]): number {
    let sum = 0;
    for (const zone of zones) sum += generations.get(zone) ?? 0;
    return sum;
  }

  return {
    find(host) {
      if (last?.host === host) return last;
      const kept = hosts.get(host);
      if (kept && kept.generation === generationOf(kept.route.zones)) return (last = kept.route);
      const route = findRoute(store, serving, host);
      // It may be a part of a whole request head.
      hosts.set(detachedText(host), { route, generation: generationOf(route.zones) });
      return route;
    },
    forgetZone(zone) {
      last = undefined;
      generations.set(zone, (generations.get(zone) ?? 0) + 1);
    },
    forgetHostname(hostname) {
      last = undefined;
      const parent = hostname.startsWith('*.') ? hostname.slice(2) : hostname;
      hosts.delete(parent);
      const below = `.${parent}`;
      for (const host of hosts.keys()) {
        if (host.endsWith(below) && !host.slice(0, -below.length).includes('.')) hosts.delete(host);
      }
    },
    forgetAll() {
      last = undefined;
      hosts.clear();
      generations.clear();
    },
    size: () => hosts.size,
  };
}
