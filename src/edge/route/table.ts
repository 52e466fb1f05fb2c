/**
 * The routing table: requested hosts and their routes. A host that is not in it is looked up in the store at once and
 * kept until follow.ts reads a change that concerns it. Look-ups are synchronous.
 */
import { detachedText } from '../../base/bytes.js';
import { FairCache } from '../../base/lists/fair-cache.js';
import { findRoute, type Route } from '../../hostnames/routing/find-route.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';

/** The most hosts to keep. Beyond them, the account that has most loses one; what leads nowhere counts as that of one account, too. */
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

/** The most hostnames of which it is kept how often they were forgotten. */
const MOST_FORGOTTEN = 10_000;

interface Kept {
  readonly route: Route;
  /** The host without its first label: a wildcard there concerns it. */
  readonly parent: string;
  /** The sum of the generations of its zones and names at look-up time. A change of any of them increases the sum. */
  readonly generation: number;
}

export function createRoutingTable(store: Store, serving: ServingSettings, most = MOST_HOSTS): RoutingTable {
  const hosts = new FairCache<number, string, Kept>(most);
  const generations = new Map<number, number>();
  /** Those of hostnames, without `*.`: looking for hosts below one would take as long as there are hosts. */
  const ofNames = new Map<string, number>();
  /** The last one that was found, while nothing was forgotten: requests in a row are often for the same host. */
  let last: Route | undefined;

  function generationOf({ host, zones }: Route, parent: string): number {
    let sum = 0;
    for (const zone of zones) sum += generations.get(zone) ?? 0;
    return ofNames.size === 0 ? sum : sum + (ofNames.get(host) ?? 0) + (ofNames.get(parent) ?? 0);
  }

  function forgetAll(): void {
    last = undefined;
    hosts.clear();
    generations.clear();
    ofNames.clear();
  }

  return {
    find(host) {
      if (last?.host === host) return last;
      const known = hosts.get(host);
      if (known && known.generation === generationOf(known.route, known.parent)) return (last = known.route);
      const route = findRoute(store, serving, host);
      // It may be a part of a whole request head.
      const own = detachedText(host);
      const parent = own.slice(own.indexOf('.') + 1);
      hosts.set(route.zone?.account ?? 0, own, { route, parent, generation: generationOf(route, parent) });
      return route;
    },
    forgetZone(zone) {
      last = undefined;
      generations.set(zone, (generations.get(zone) ?? 0) + 1);
    },
    forgetHostname(hostname) {
      last = undefined;
      const name = hostname.startsWith('*.') ? hostname.slice(2) : hostname;
      ofNames.set(name, (ofNames.get(name) ?? 0) + 1);
      if (ofNames.size > MOST_FORGOTTEN) forgetAll();
    },
    forgetAll,
    size: () => hosts.count,
  };
}
