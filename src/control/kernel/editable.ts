/** Checks whether the actor, or anybody, may edit a record. */
import { typeMnemonic } from '../../dns/rr/registry.js';
import { findSigning } from '../../serving/signing.js';
import type { Store } from '../../store/driver.js';
import { findBucketDomain } from '../../store/objects/domains.js';
import type { NewRecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireRecord } from '../guard/access.js';
import { requireOwnRecord } from '../rules/of-primary.js';
import { isProxiableType } from '../rules/proxiable.js';
import { recordFailure } from '../rules/record-failures.js';
import type { Context } from './context.js';

/** Throws when the actor may not edit this record of the zone, or nobody may. */
export function requireEditable({ actor, source, store }: Context, zone: ZoneRow, row: NewRecordRow): void {
  requireRecord(actor, row.name, typeMnemonic(row.type));
  if (source !== 'transfer') requireOwnRecord(zone, row, isOfSigner(store, zone));
  requireNoBucket(store, row);
}

function isOfSigner(store: Store, { type, seq }: ZoneRow): boolean {
  return type === 'secondary' && findSigning(store, seq).kind === 'elsewhere';
}

/**
 * A name that is attached to a bucket has one record, which is made and removed with the attachment (bucket/domains.ts).
 * Nobody else changes where the name leads.
 */
function requireNoBucket(store: Store, { zone, name, type }: NewRecordRow): void {
  if (!isProxiableType(type)) return;
  const domain = findBucketDomain(store, name, zone);
  if (domain) throw recordFailure('ofBucket', { name, bucket: domain.bucket_name });
}
