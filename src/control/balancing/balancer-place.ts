/** Where a load balancer may stand. */
import { nameOfOwnerKey, ownerKeysDownTo, toFqdn } from '../../dns/name.js';
import { mayDelegate } from '../../serving/look-up.js';
import { findSigning } from '../../serving/signing.js';
import type { Store } from '../../store/driver.js';
import { nameServersAt } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { type RecordName, recordNameIn } from '../rules/names.js';
import { invalid } from './errors.js';

/** The name of a load balancer of a zone. Throws 1002 where none can stand. */
export function requirePlace(store: Store, zone: ZoneRow, text: string): RecordName {
  if (zone.type !== 'full' && zone.type !== 'partial') {
    throw invalid(`a ${zone.type} zone has no load balancers`, '/name');
  }
  if (findSigning(store, zone.seq).kind === 'elsewhere') {
    throw invalid('the zone is signed elsewhere, so nobody could sign the answers of a load balancer', '/name');
  }
  const found = text === '' ? undefined : recordNameIn(text, zone);
  const labels = found?.name.split('.') ?? [];
  if (!found || labels.some((label, i) => label.includes('*') && (i > 0 || label !== '*'))) {
    throw invalid(`name is not a name in the zone ${zone.name}`, '/name');
  }
  const cut = ownerKeysDownTo(found.ownerKey).find(
    (key) => mayDelegate(key) && nameServersAt(store, zone.seq, key).length > 0,
  );
  if (cut) {
    const at = toFqdn(nameOfOwnerKey(cut, zone.apex)).replace(/\.$/, '');
    throw invalid(`name is delegated to other name servers at ${at}`, '/name');
  }
  return found;
}
