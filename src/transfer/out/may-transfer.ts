/** Who may transfer a zone. Without peers, networks or settings that say so, nobody may. */

import { equalBytes } from '../../base/bytes.js';
import { type CidrSet, parseIP, storedCidrSet } from '../../base/ip.js';
import { isCompactZone } from '../../control/dnssec/switch-denial.js';
import type { Store } from '../../store/driver.js';
import { transferAclsOfAccount } from '../../store/secondary/acls.js';
import { findOutgoing, peersOfZone } from '../../store/secondary/outgoing.js';
import type { ZoneRow } from '../../store/zones/zones.js';

export interface Claimant {
  /** 4 or 16 octets. */
  readonly address: Uint8Array;
  /** Store number of the key that signed the request; undefined when it is not signed. */
  readonly key: number | undefined;
}

/**
 * Why a claimant may not transfer the zone; undefined when it may. `operator`: networks that may transfer any zone.
 */
export function transferRefusal(
  store: Store,
  zone: ZoneRow,
  { address, key }: Claimant,
  operator: CidrSet,
): string | undefined {
  if (isCompactZone(store, zone.seq)) return 'the zone has compact denial, which other servers cannot serve';
  if (operator.contains(address)) return undefined;
  if (findOutgoing(store, zone.seq)?.enabled !== 1) return 'transfers of the zone are not enabled';
  const peers = peersOfZone(store, zone.seq);
  const isAt = (ip: string | null): boolean => ip !== null && equalBytes(parseIP(ip)!, address);
  if (key !== undefined) {
    const ofKey = peers.filter(({ tsig }) => tsig === key);
    if (ofKey.length === 0) return 'the key belongs to no peer of the zone';
    return ofKey.some(({ ip }) => ip === null || isAt(ip)) ? undefined : 'the peer of this key has another address';
  }
  if (peers.some(({ tsig }) => tsig !== null)) return 'the peers of the zone sign their requests';
  if (peers.some(({ ip }) => isAt(ip))) return undefined;
  const networks = transferAclsOfAccount(store, zone.account).map(({ ip_range: range }) => range);
  return storedCidrSet(networks).contains(address) ? undefined : 'the address is neither a peer nor in an ACL';
}
