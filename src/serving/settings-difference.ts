/** Where a change of a zone's settings shows in what it serves, besides the SOA. */
import { equalBytes } from '../base/bytes.js';
import type { Store } from '../store/driver.js';
import { proxiedOwners } from '../store/records/records.js';
import { aliasOwners } from '../store/records/stored-rows.js';
import type { ServingZone } from './zone.js';

/** The owners where two states of a zone's settings may differ, some perhaps twice; undefined when more than `most` do. */
export function ownersOfSettings(
  store: Store,
  before: ServingZone,
  after: ServingZone,
  most: number,
): Uint8Array[] | undefined {
  const [old, fresh] = [before.facts, after.facts];
  const sameServers = sameKeys(old.nameServers, fresh.nameServers) && old.nsTtl === fresh.nsTtl;
  const owners: Uint8Array[] = [];
  if (!sameServers || old.ownNameServers !== fresh.ownNameServers) owners.push(new Uint8Array(0));
  if (!sameServers) owners.push(...before.hosts, ...after.hosts);
  if (old.dnsOnly !== fresh.dnsOnly || old.http2 !== fresh.http2 || old.http3 !== fresh.http3) {
    owners.push(...proxiedOwners(store, before.seq, most + 1));
  }
  if (old.flattenAll !== fresh.flattenAll) owners.push(...aliasOwners(store, before.seq, most + 1));
  return owners.length > most ? undefined : owners;
}

function sameKeys(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((key, i) => equalBytes(key, b[i]!));
}
