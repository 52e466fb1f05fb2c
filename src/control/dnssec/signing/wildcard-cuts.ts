/**
 * A signed zone has no NS records at a wildcard. They are not a delegation of the names that the wildcard matches, so they would
 * have to be signed, but an NSEC record that lists NS without SOA belongs to the parent's side of a delegation, and validating
 * resolvers believe nothing that it says about other names (RFC 4592 §4.2.1, RFC 6840 §4.1). BIND refuses such zones, signed or
 * not.
 */
import { Type } from '../../../dns/codes.js';
import { isWildcard, nameOfOwnerKey, toFqdn } from '../../../dns/name.js';
import type { Store } from '../../../store/driver.js';
import { findWildcardWith } from '../../../store/records/records.js';
import type { ZoneRow } from '../../../store/zones/zones.js';
import type { OwnerAfter, TouchedZone } from '../../kernel/touched-zone.js';
import { dnssecFailure } from '../errors.js';

/** Throws when a change gives a wildcard NS records. Those that the zone had before stay. `owners`: the touched ones. */
export function refuseNewWildcardCuts(
  store: Store,
  zone: ZoneRow,
  touched: TouchedZone,
  owners: readonly OwnerAfter[],
): void {
  for (const { touched: owner, standing } of owners) {
    const isNew = !owner.before.some(({ type }) => type === Type.ns);
    if (!isNew || !standing.records.some(({ type }) => type === Type.ns)) continue;
    if (isWildcard(nameOfOwnerKey(standing.ownerKey, zone.apex))) throw wildcardCut(zone, standing.ownerKey);
  }
  // Not all owners are known.
  const isEdited = touched.edited.length > 0 || touched.stagedEdit !== undefined;
  if (touched.kind === 'zone-replaced' || (isEdited && !touched.complete)) refuseWildcardCuts(store, zone);
}

/** Throws when a zone has them. */
export function refuseWildcardCuts(store: Store, zone: ZoneRow): void {
  const found = findWildcardWith(store, zone.seq, Type.ns);
  if (found) throw wildcardCut(zone, found);
}

function wildcardCut({ name, apex }: ZoneRow, ownerKey: Uint8Array): Error {
  return dnssecFailure('wildcardCut', { zone: name, owner: toFqdn(nameOfOwnerKey(ownerKey, apex)) });
}
