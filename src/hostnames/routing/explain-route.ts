/** Explains to people what the edge does with a request for a host, and why. */
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { type BucketRoute, findRoute, type Route, type RouteCause, type RouteSource } from './find-route.js';
import type { OriginPlace } from './origin.js';

export interface RouteExplanation {
  /** The custom hostname or record that decides, of this name or a wildcard; null if nothing leads to an origin. */
  readonly by: RouteSource | null;
  /** Why a request gets error 1016; null if it does not. */
  readonly cause: RouteCause | null;
  /** Addresses and names with ports, such as `origin.example.com port 3000`. */
  readonly origins: readonly string[];
  readonly detail: string;
}

const SOURCES: Readonly<Record<RouteSource, string>> = {
  hostname: 'the custom hostname of this name',
  record: 'the proxied records of this name',
  'wildcard-record': 'the proxied wildcard record that stands for it',
  'wildcard-hostname': 'the wildcard custom hostname one label above',
};

const CAUSES: Readonly<Record<RouteCause, string>> = {
  ownership: 'the custom hostname is not active',
  fallback_origin: 'the zone of the custom hostname has no usable fallback origin',
  standalone_zone: 'only a wildcard custom hostname covers it, and the zone it lies in takes precedence',
  origin_dns: 'the origin of the custom hostname has no record',
};

/** Undefined if the edge does not know the name. `name`: lower case, without final dot. */
export function explainRoute(store: Store, serving: ServingSettings, name: string): RouteExplanation | undefined {
  const route = findRoute(store, serving, name);
  if (route.kind === 'unknown') return undefined;
  if (route.kind === 'failure') {
    const detail = `the edge answers error 1016: ${CAUSES[route.cause]}`;
    return { by: null, cause: route.cause, origins: [], detail };
  }
  if (route.kind === 'bucket') return { by: 'record', cause: null, origins: [], detail: describeBucket(route) };
  const origins = route.places.map(printPlace);
  return { by: route.by, cause: null, origins, detail: describeOrigin(route, origins) };
}

function describeOrigin(route: Extract<Route, { kind: 'origin' }>, origins: readonly string[]): string {
  const { ssl } = route.settings;
  return `the edge asks ${origins.join(', ')} (ssl ${ssl}) because of ${SOURCES[route.by]}`;
}

function describeBucket({ bucket: { name, enabled } }: BucketRoute): string {
  return enabled
    ? `the edge answers with objects of the bucket ${name}, to which the name is attached`
    : `the name is attached to the bucket ${name}, which is not enabled there: the edge answers 403`;
}

function printPlace(place: OriginPlace): string {
  const where = place.kind === 'name' ? place.name : place.address;
  return place.port === undefined ? where : `${where} port ${place.port}`;
}
