/** Custom domains of buckets as v4 clients read them. */
import { createHash } from 'node:crypto';
import type { BucketItem } from '../../bucket/buckets.js';
import type { BucketDomainItem } from '../../bucket/domains.js';
import type { CertificateCoverage } from '../../hostnames/routing/certificate-status.js';
import type { BucketDomain } from './schema.js';

export function bucketDomainView(item: BucketDomainItem, ssl: CertificateCoverage): BucketDomain {
  return { ...attachedView(item), zoneName: item.zone.name, status: { ownership: item.ownership, ssl } };
}

export function attachedView(item: BucketDomainItem) {
  return { ...editedView(item), zoneId: item.zone.id };
}

export function editedView({ domain, enabled, minTls, ciphers }: BucketDomainItem) {
  return {
    domain,
    enabled,
    ...(minTls !== undefined && { minTLS: minTls }),
    ...(ciphers.length > 0 && { ciphers: [...ciphers] }),
  };
}

/** There are no managed domains. Buckets have no identifiers but their names; clients want one. */
export function managedView({ account, jurisdiction, name }: BucketItem) {
  const digest = createHash('sha256').update(`${account.id} ${jurisdiction} ${name}`).digest('hex');
  return { bucketId: digest.slice(0, 32), domain: '', enabled: false as const };
}
