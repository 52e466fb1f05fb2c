/** Explains to people what the edge does with a request for a host, and why. */
import { toHex } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { accountIdOf, maySeeZone } from '../../control/guard/access.js';
import type { Actor } from '../../control/guard/actor.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { ZoneSettings } from '../../serving/zone-settings.js';
import type { IssuedRow } from '../../store/certs/issued.js';
import type { Store } from '../../store/driver.js';
import { findHostname } from '../../store/hostnames/hostnames.js';
import { findZone } from '../../store/zones/zones.js';
import { certificatesFor } from './certificates-for.js';
import { type BucketRoute, findRoute, type Route, type RouteCause, type RouteSource } from './find-route.js';
import type { OriginPlace } from './origin.js';
import { policyOf } from './tls-policy.js';

export interface RouteExplanation {
  /** The custom hostname or record that decides, of this name or a wildcard; null if nothing leads to an origin. */
  readonly by: RouteSource | null;
  /** Why a request gets error 1016; null if it does not. */
  readonly cause: RouteCause | null;
  /** Addresses and names with ports, such as `origin.example.com port 3000`. */
  readonly origins: readonly string[];
  readonly detail: string;
  /** What happens to a request on its way, a sentence each, and which setting or row makes it so. */
  readonly steps: readonly string[];
}

const SOURCES: Readonly<Record<RouteSource, string>> = {
  hostname: 'the custom hostname of this name',
  record: 'the proxied records of this name',
  'wildcard-record': 'the proxied wildcard record that stands for it',
  'wildcard-hostname': 'the wildcard custom hostname one label above',
};

const CAUSES: Readonly<Record<RouteCause, string>> = {
  load_balancer: 'no pool of its load balancer takes requests',
  ownership: 'the custom hostname is not active',
  fallback_origin: 'the zone of the custom hostname has no usable fallback origin',
  standalone_zone: 'only a wildcard custom hostname covers it, and the zone it lies in takes precedence',
  origin_dns: 'the origin of the custom hostname has no record',
};

export interface ExplainedStore {
  readonly store: Store;
  readonly settings: ServingSettings;
  readonly clock: Clock;
  /** For whom it is explained. */
  readonly actor: Actor;
}

/**
 * Undefined if the edge does not know the name. `name`: lower case, without final dot. Of a name that is served for a zone which the
 * actor does not see, nothing is said but that.
 */
export function explainRoute(ctx: ExplainedStore, name: string): RouteExplanation | undefined {
  const { store, settings, clock } = ctx;
  const route = findRoute(store, settings, name);
  if (route.kind === 'unknown') return undefined;
  if (!isSeen(ctx, route)) return OF_OTHERS;
  const tls = describeTls(store, route, clock.nowMs());
  if (route.kind === 'failure') {
    const detail = `the edge answers error 1016: ${CAUSES[route.cause]}`;
    return { by: null, cause: route.cause, origins: [], detail, steps: [tls] };
  }
  const { settings: zone } = route;
  const common = [tls, ...describeRedirect(zone)];
  if (route.kind === 'bucket') {
    const steps = [...common, describeCache(zone)];
    return { by: 'record', cause: null, origins: [], detail: describeBucket(route), steps };
  }
  const origins = route.places.map(printPlace);
  const steps = [...common, describeCache(zone), ORIGIN_TLS[zone.ssl], ...describeRest(zone)];
  return { by: route.by, cause: null, origins, detail: describeOrigin(route, origins), steps };
}

const OF_OTHERS: RouteExplanation = {
  by: null,
  cause: null,
  origins: [],
  detail: 'the edge answers for this name on behalf of a zone that this credential does not see',
  steps: [],
};

/** Whether the actor sees the zone whose record or custom hostname decides. */
function isSeen({ store, actor }: ExplainedStore, { zone, hostname }: Route): boolean {
  const seq = zone?.seq ?? (hostname && findHostname(store, hostname.id)?.zone);
  const row = seq === undefined ? undefined : findZone(store, seq);
  return row !== undefined && maySeeZone(actor, toHex(row.id), accountIdOf(store, row));
}

function describeTls(store: Store, route: Route, nowMs: number): string {
  const found = certificatesFor(store, route.host, route.holders, nowMs);
  if (!found) return 'HTTPS: handshakes fail, because no certificate covers the name';
  const [{ names, not_after: until }] = found.rows as [IssuedRow];
  const { minVersion, protocols } = policyOf(route, found.owner);
  const list = (JSON.parse(names) as string[]).join(', ');
  const time = new Date(until).toISOString();
  const validity = until > nowMs ? `until ${time}` : `which expired at ${time}`;
  const versions = `${minVersion.replace('v', ' ')} and newer, ${protocols.includes('h2') ? 'HTTP/2 or HTTP/1.1' : 'HTTP/1.1'}`;
  const owner = found.owner.startsWith('zone:') ? 'zone' : 'custom hostname';
  return `HTTPS: the certificate of the ${owner} for ${list}, ${validity}; ${versions}`;
}

function describeRedirect({ ssl, always_use_https: always }: ZoneSettings): string[] {
  if (ssl === 'off') return ['requests over HTTPS are redirected to plain HTTP (ssl off)'];
  return always === 'on' ? ['requests over plain HTTP are redirected to HTTPS (always_use_https on)'] : [];
}

const ORIGIN_TLS: Readonly<Record<ZoneSettings['ssl'], string>> = {
  off: 'the origin is asked over plain HTTP (ssl off)',
  flexible: 'the origin is always asked over plain HTTP (ssl flexible)',
  full: 'the origin is asked over HTTPS when the client uses HTTPS, and its certificate is not verified (ssl full)',
  strict: 'the origin is asked over HTTPS when the client uses HTTPS, and its certificate must be valid (ssl strict)',
};

const CACHED: Readonly<Record<ZoneSettings['cache_level'], string>> = {
  bypass: 'nothing is stored',
  basic: 'static files and responses that allow it are stored, for requests without a query',
  simplified: 'static files and responses that allow it are stored, whatever the query',
  aggressive: 'static files and responses that allow it are stored',
  cache_everything: 'everything is stored that HTTP allows caches to store',
};

function describeCache({ development_mode: development, cache_level: level }: ZoneSettings): string {
  if (development === 'on') return 'cache: nothing is stored or answered from it (development_mode on)';
  return `cache: ${CACHED[level]} (cache_level ${level})`;
}

function describeRest(settings: ZoneSettings): string[] {
  const { websockets, origin_max_http_version: version, ssl, compression, brotli } = settings;
  return [
    ...(compression === 'off' ? ['nothing is compressed (compression off)'] : []),
    ...(compression === 'on' && brotli === 'off' ? ['responses are compressed without Brotli (brotli off)'] : []),
    ...(version === '2' && ssl !== 'off' && ssl !== 'flexible'
      ? ['HTTP/2 is used with the origin if it offers it (origin_max_http_version 2)']
      : []),
    ...(websockets === 'off' ? ['WebSockets are refused (websockets off)'] : []),
  ];
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
