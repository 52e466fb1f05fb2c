/**
 * Turns stored settings of a zone into the facts from which its served data is derived; the change log and the answers
 * use the same.
 */
import { parseName } from '../../dns/name.js';
import type { EdgeAddresses, ZoneFacts } from './owner.js';

/** Columns of a zone that affect what is served. */
export interface ZoneSettings {
  /** Wire name, lower case. */
  readonly apex: Uint8Array;
  readonly name_server_mode: 'service' | 'records';
  readonly multi_provider: number;
  readonly paused: number;
  readonly zone_mode: 'standard' | 'cdn_only' | 'dns_only';
  /** Whether the account has proxied records answered as if they were not proxied. */
  readonly account_dns_only: number;
  /** Whether the edge speaks HTTP/2 for the zone. */
  readonly http2: number;
  /** JSON list of the names of its certificates that are deployed and valid. */
  readonly certified_names: string;
  readonly flatten_all_cnames?: number;
  /** JSON list of host names. */
  readonly vanity_name_servers: string | null;
}

/** SOA with names in presentation form, without final dots. */
export type SoaSettings = Omit<ZoneFacts['soa'], 'mname' | 'rname'> & {
  readonly mname: string;
  readonly rname: string;
};

const NONE: readonly string[] = [];

/** `nameServers`: host names of the service, without final dots. `nsTtl` in seconds. */
export function zoneFactsOf(
  zone: ZoneSettings,
  soa: SoaSettings,
  nsTtl: number,
  nameServers: readonly string[],
): ZoneFacts {
  const vanity = zone.vanity_name_servers === null ? [] : (JSON.parse(zone.vanity_name_servers) as string[]);
  const served = vanity.length > 0 ? vanity : nameServers;
  return {
    apex: zone.apex,
    soa: { ...soa, mname: wireName(soa.mname), rname: wireName(soa.rname) },
    nameServers: zone.name_server_mode === 'records' ? [] : served.map(wireName),
    nsTtl,
    ownNameServers: zone.name_server_mode === 'records' || zone.multi_provider === 1,
    http2: zone.http2 === 1,
    certifiedNames: zone.certified_names === '[]' ? NONE : (JSON.parse(zone.certified_names) as string[]),
    dnsOnly: zone.paused === 1 || zone.zone_mode === 'dns_only' || zone.account_dns_only === 1,
    flattenAll: zone.flatten_all_cnames === 1,
  };
}

/** Edge addresses by family; each has 4 or 16 octets. */
export function edgeAddressesOf(addresses: readonly Uint8Array[]): EdgeAddresses {
  return {
    ipv4: addresses.filter((address) => address.length === 4),
    ipv6: addresses.filter((address) => address.length === 16),
  };
}

function wireName(text: string): Uint8Array {
  return parseName(text === '' ? '.' : `${text}.`);
}
