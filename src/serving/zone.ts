/** A zone with everything except its records that decides what its owners serve. */

import { equalBytes } from '../base/bytes.js';
import type { Denial } from '../dnssec/denial.js';
import type { Store } from '../store/driver.js';
import type { Place } from '../store/records/places.js';
import { nsTtlOfZone, soaOfZone, type ZoneRow } from '../store/zones/zones.js';
import { edgeAddressesOf, zoneFactsOf } from '../zone/derive/facts.js';
import { hostKeys } from '../zone/derive/hosts.js';
import type { EdgeAddresses, ZoneFacts } from '../zone/derive/owner.js';
import { provingNameServers } from './name-servers.js';
import { isPresigned, signingOf, type ZoneSigning } from './signed.js';
import { hasExpired, signatureState } from './zone-state.js';

/** The settings of the installation that affect answers. */
export interface ServingSettings {
  /** Host names of the service: lower case, without final dots; one or more. */
  readonly nameServers: readonly string[];
  /** Their addresses, for zones that contain these names without addresses; 4 or 16 octets each. */
  readonly nameServerAddresses: readonly Uint8Array[];
  /** Addresses that proxied names answer; 4 or 16 octets each. */
  readonly edgeAddresses: readonly Uint8Array[];
}

export interface ServingZone {
  /** Store number. */
  readonly seq: number;
  readonly facts: ZoneFacts;
  readonly edge: EdgeAddresses;
  /**
   * Owner keys of the zone's name servers below its apex, in canonical order; empty when there are no addresses for
   * them.
   */
  readonly hosts: readonly Uint8Array[];
  /** The addresses that these answer when the zone has none; 4 or 16 octets each. */
  readonly hostAddresses: readonly Uint8Array[];
  /** Whether it is a secondary zone without a copy that may be served: everything is answered with SERVFAIL. */
  readonly expired?: true;
  /**
   * How its negative answers are proved; absent for a zone that is served without signatures. A change of it is a change
   * of the whole zone.
   */
  readonly denial?: Denial;
  /** With its keys; absent like `denial`. */
  readonly signing?: ZoneSigning;
  /** Sets that the zone does not have yet, which are read as if it had them; owner by owner only. */
  readonly staged?: StagedSets;
}

export interface StagedSets {
  readonly records: Place;
  readonly signatures: Place;
}

/** The zone made from its row and the settings; of a signed one further rows are read. */
export function servingZone(store: Store, row: ZoneRow, settings: ServingSettings): ServingZone {
  const zone = unsignedZone(row, settings);
  return signatureState(row) === 'served' ? signedZone(zone, signingOf(store, row.apex, row.seq)) : zone;
}

/** The zone as it is served with signatures. One that is signed elsewhere is neither proxied nor flattened. */
export function signedZone(zone: ServingZone, signing: ZoneSigning | undefined): ServingZone {
  if (!signing) return zone;
  const { denial } = signing;
  if (!isPresigned({ signing })) return { ...zone, signing, denial };
  return { ...zone, signing, denial, hosts: [], facts: { ...zone.facts, dnsOnly: true, flattenAll: false } };
}

/** The zone without signatures, even if it is signed. */
export function unsignedZone(row: ZoneRow, settings: ServingSettings): ServingZone {
  const { nameServerAddresses: hostAddresses, edgeAddresses } = settings;
  const nameServers = provingNameServers(row, settings.nameServers);
  const facts = zoneFactsOf(row, soaOfZone(row, nameServers), nsTtlOfZone(row), nameServers);
  const hosts = hostAddresses.length === 0 ? [] : withoutRepeats(hostKeys(facts));
  const zone = { seq: row.seq, facts, edge: edgeAddressesOf(edgeAddresses), hosts, hostAddresses };
  return hasExpired(row) ? { ...zone, expired: true } : zone;
}

function withoutRepeats(sorted: readonly Uint8Array[]): Uint8Array[] {
  return sorted.filter((key, i) => i === 0 || !equalBytes(key, sorted[i - 1]!));
}
