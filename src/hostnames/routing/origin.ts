/** Reads from the records of a zone where the traffic of a proxied name goes. */
import { printIP } from '../../base/ip.js';
import { Type } from '../../dns/codes.js';
import { NameError, ownerKeyOf, parseName, toFqdn } from '../../dns/name.js';
import { recordsAtOwner, type StandingOwner } from '../../serving/owner.js';
import type { ServingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';

type Records = StandingOwner['records'];

/** One possible address or name of an origin. */
export type OriginPlace = {
  /** `settings.origin_port` of the record; undefined: the port of the scheme. */
  readonly port: number | undefined;
} & (
  | { readonly kind: 'address'; readonly address: string }
  /** Lower case, without final dot; to be resolved. */
  | { readonly kind: 'name'; readonly name: string }
);

const PROXIABLE: ReadonlySet<number> = new Set([Type.a, Type.aaaa, Type.cname]);

/** The origins of one owner; none if no record leads to an address. */
export function originPlaces(records: Records): OriginPlace[] {
  return records
    .filter(({ type }) => PROXIABLE.has(type))
    .map(({ type, rdata, originPort: port }) =>
      type === Type.cname
        ? { kind: 'name', name: toFqdn(rdata).toLowerCase(), port }
        : { kind: 'address', address: printIP(rdata), port },
    );
}

/** Whether an owner with these records is proxied. */
export function isProxiedOwner({ facts }: ServingZone, records: Records): boolean {
  return !facts.dnsOnly && records.some(({ proxied }) => proxied);
}

/** The records at a name in a zone; none if the name is outside the zone. */
export function recordsAtName(store: Store, zone: ServingZone, name: string, zoneName: string): Records {
  if (name !== zoneName && !name.endsWith(`.${zoneName}`)) return [];
  try {
    return recordsAtOwner(store, zone, ownerKeyOf(parseName(`${name}.`), zone.facts.apex));
  } catch (error) {
    if (error instanceof NameError) return [];
    throw error;
  }
}
