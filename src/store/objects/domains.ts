/** Domains of buckets: names of zones at which the edge shows a bucket to the public. */

import { allRows, oneRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export const MIN_TLS_VERSIONS = ['1.0', '1.1', '1.2', '1.3'] as const;
export type MinTls = (typeof MIN_TLS_VERSIONS)[number];

export interface BucketDomainRow {
  /** Lower-case ASCII without the final dot. */
  readonly domain: string;
  /** Store number of the zone that contains the name. */
  readonly zone: number;
  readonly bucket: number;
  readonly enabled: number;
  /** Null: as the zone's setting says. */
  readonly min_tls: MinTls | null;
  /** JSON list of names; empty: the usual ones. */
  readonly ciphers: string;
  /** Microseconds since 1970. */
  readonly created_at: number;
}

/** A domain with the name of its bucket. */
export type NamedBucketDomainRow = BucketDomainRow & { readonly bucket_name: string };

const statements = perStore((store) => ({
  ofAccount: store.prepareTuples<[domain: string, account: number], [zone: number]>(
    'SELECT zone FROM bucket_domains JOIN zones ON zones.seq = zone WHERE domain = ? AND account = ?',
  ),
  insert: store.prepare<[string, number, number, number, string | null, string, number]>(
    `INSERT INTO bucket_domains (domain, zone, bucket, enabled, min_tls, ciphers, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  ),
  update: store.prepare<[number, string | null, string, string, number]>(
    'UPDATE bucket_domains SET enabled = ?, min_tls = ?, ciphers = ? WHERE domain = ? AND zone = ?',
  ),
  remove: store.prepare<[domain: string, zone: number]>('DELETE FROM bucket_domains WHERE domain = ? AND zone = ?'),
}));

/** The attachment of a name of a zone, which is given by its store number: zones of several accounts may have the name. */
export const findBucketDomain = oneRow<
  [domain: string, zone: number],
  NamedBucketDomainRow
>(`SELECT bucket_domains.*, buckets.name AS bucket_name FROM bucket_domains JOIN buckets ON buckets.seq = bucket
     WHERE domain = ? AND zone = ?`);

/** Whether an account (store number) has attached a name to a bucket in any of its zones. */
export function hasBucketDomain(store: Store, domain: string, account: number): boolean {
  return statements(store).ofAccount.all(domain, account).length > 0;
}

export const findDomainOfBucket = oneRow<[bucket: number, domain: string], BucketDomainRow>(
  'SELECT * FROM bucket_domains WHERE bucket = ? AND domain = ?',
);

/** Ordered by name. */
export const domainsOfBucket = allRows<[bucket: number], BucketDomainRow>(
  'SELECT * FROM bucket_domains WHERE bucket = ? ORDER BY domain',
);

export function insertBucketDomain(store: Store, row: BucketDomainRow): void {
  const { domain, zone, bucket, enabled, min_tls, ciphers, created_at } = row;
  statements(store).insert.run(domain, zone, bucket, enabled, min_tls, ciphers, created_at);
}

/** Writes what can be edited: `enabled`, `min_tls`, `ciphers`. */
export function updateBucketDomain(store: Store, { domain, zone, enabled, min_tls, ciphers }: BucketDomainRow): void {
  statements(store).update.run(enabled, min_tls, ciphers, domain, zone);
}

export function removeBucketDomain(store: Store, { domain, zone }: BucketDomainRow): void {
  statements(store).remove.run(domain, zone);
}
