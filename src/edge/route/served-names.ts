/** What this edge serves at a name that is somebody's origin. */
import type { BucketRoute, OriginRoute, Route } from '../../hostnames/routing/find-route.js';
import { isProven, isProvenHostname } from '../../serving/name-owner.js';
import type { Store } from '../../store/driver.js';
import { hostnamesOfName } from '../../store/hostnames/hostnames.js';
import { findZone } from '../../store/zones/zones.js';
import type { RoutingTable } from './table.js';

/** `other`: it is a proxied name of another account, which has proven that it is its own. */
export type ServedName = OriginRoute | BucketRoute | 'other';

/** Undefined for a name that this edge does not serve, as far as the account is concerned (store number). */
export type ServedNames = (name: string, account: number) => ServedName | undefined;

export function createServedNames(store: Store, table: RoutingTable): ServedNames {
  return (name, account) => {
    const route = table.find(name);
    if (route.kind !== 'origin' && route.kind !== 'bucket') return undefined;
    if (route.zone.account === account) return route.kind === 'bucket' && !route.bucket.enabled ? undefined : route;
    return isProvenRoute(store, route) ? 'other' : undefined;
  };
}

/** What nobody has proven has no effect on another account. */
function isProvenRoute(store: Store, { zone, hostname }: Route): boolean {
  if (hostname === undefined) return zone !== undefined && isProven(findZone(store, zone.seq) ?? { proven_by: null });
  const row = hostnamesOfName(store, hostname.hostname).find(({ id }) => id === hostname.id);
  return row !== undefined && isProvenHostname(store, row);
}
