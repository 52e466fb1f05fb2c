/** For which names authorities are asked at all: what they count, they count for everybody here (docs/tenants.md). */
import { isSingleAccount } from '../../control/zones/claims.js';
import { isProven } from '../../serving/name-owner.js';
import type { RequestRow } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { findHostname } from '../../store/hostnames/hostnames.js';
import { findZone } from '../../store/zones/zones.js';

/**
 * Names that are proven to be the account's, those of the service, and all while there is one account. A hostname that is not yet
 * active gets an order whose TXT record the customer publishes before the name leads here: nobody else can.
 */
export function mayOrder(store: Store, { owner_kind: kind, owner, zone: seq, method }: RequestRow): boolean {
  if (kind === 'service' || isSingleAccount(store)) return true;
  if (kind === 'hostname') return method === 'txt' || findHostname(store, owner)?.state === 'active';
  const zone = findZone(store, seq);
  return zone !== undefined && isProven(zone);
}
