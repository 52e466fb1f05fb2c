/** Which owners a change of settings affects, SOA aside. The settings may be the zone's or the installation's. */
import { equalBytes } from '../base/bytes.js';
import type { Store } from '../store/driver.js';
import { proxiedOwners } from '../store/records/records.js';
import { aliasOwners } from '../store/records/stored-rows.js';
import type { HttpsFacts } from '../zone/derive/https.js';
import type { ServingZone } from './zone.js';

/**
 * The owners whose answers may differ between two states of a zone with the same records, some of them twice; undefined
 * when there are more than `most`.
 */
export function ownersOfSettings(
  store: Store,
  before: ServingZone,
  after: ServingZone,
  most: number,
): Uint8Array[] | undefined {
  const [old, fresh] = [before.facts, after.facts];
  const sameServers = sameList(old.nameServers, fresh.nameServers) && old.nsTtl === fresh.nsTtl;
  const owners: Uint8Array[] = [];
  if (!sameServers || old.ownNameServers !== fresh.ownNameServers) owners.push(new Uint8Array(0));
  if (!sameServers || !sameList(before.hostAddresses, after.hostAddresses))
    owners.push(...before.hosts, ...after.hosts);
  const sameEdge = sameList(before.edge.ipv4, after.edge.ipv4) && sameList(before.edge.ipv6, after.edge.ipv6);
  if (!sameEdge || old.dnsOnly !== fresh.dnsOnly || !isSameHttps(old, fresh)) {
    owners.push(...proxiedOwners(store, before.seq, most + 1));
  }
  if (old.flattenAll !== fresh.flattenAll) owners.push(...aliasOwners(store, before.seq, most + 1));
  return owners.length > most ? undefined : owners;
}

function isSameHttps(a: HttpsFacts, b: HttpsFacts): boolean {
  return a.http2 === b.http2 && a.certifiedNames.join() === b.certifiedNames.join();
}

function sameList(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((octets, i) => equalBytes(octets, b[i]!));
}
