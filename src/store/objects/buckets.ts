/** Buckets, their bindings to the bucket application, and the totals of their objects. */

import { allRows, oneRow, runs, theValue } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { keptPerState } from '../state/kept.js';

export const JURISDICTIONS = ['default', 'eu', 'us', 'fedramp', 'fedramp-high'] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

export const LOCATIONS = ['apac', 'eeur', 'enam', 'weur', 'wnam', 'oc'] as const;
export type Location = (typeof LOCATIONS)[number];

export const STORAGE_CLASSES = ['Standard', 'InfrequentAccess'] as const;
export type StorageClass = (typeof STORAGE_CLASSES)[number];

export interface BucketRow {
  readonly seq: number;
  readonly account: number;
  readonly jurisdiction: Jurisdiction;
  readonly name: string;
  readonly location: Location | null;
  readonly storage_class: StorageClass;
  readonly created_at: number;
}

export type NewBucketRow = Omit<BucketRow, 'seq'>;

/** Totals for one storage class; sizes in octets. */
export interface UsageRow {
  readonly storage_class: StorageClass;
  readonly objects: number;
  readonly payload_size: number;
  readonly metadata_size: number;
}

const statements = perStore((store) => ({
  insert: store.prepare<[number, string, string, string | null, string, number]>(
    'INSERT INTO buckets (account, jurisdiction, name, location, storage_class, created_at) VALUES (?, ?, ?, ?, ?, ?)',
  ),
  setStorageClass: store.prepare<[storageClass: string, seq: number]>(
    'UPDATE buckets SET storage_class = ? WHERE seq = ?',
  ),
  bindingsOf: store.prepareTuples<[bucket: number], [name: string]>(
    'SELECT name FROM bucket_bindings WHERE bucket = ? ORDER BY name',
  ),
  lastBound: store.prepare<[], BucketRow>(
    `SELECT buckets.* FROM bucket_bindings JOIN buckets ON buckets.seq = bucket
     ORDER BY bound_at DESC, bucket_bindings.name LIMIT 1`,
  ),
}));

const readBucket = oneRow<[seq: number], BucketRow>('SELECT * FROM buckets WHERE seq = ?');

const readBucketByName = oneRow<[account: number, jurisdiction: Jurisdiction, name: string], BucketRow>(
  'SELECT * FROM buckets WHERE account = ? AND jurisdiction = ? AND name = ?',
);

const kept = keptPerState<BucketRow>(1000);
const keptByName = keptPerState<BucketRow>(1000);

export function findBucket(store: Store, seq: number): BucketRow | undefined {
  return kept(store, String(seq), () => readBucket(store, seq));
}

export function findBucketByName(
  store: Store,
  account: number,
  jurisdiction: Jurisdiction,
  name: string,
): BucketRow | undefined {
  const place = `${account} ${jurisdiction} ${name}`;
  return keptByName(store, place, () => readBucketByName(store, account, jurisdiction, name));
}

/** All buckets, ordered by name. */
export const allBuckets = allRows<[], BucketRow>('SELECT * FROM buckets ORDER BY name, account, jurisdiction');

/** The buckets of an account in one jurisdiction, ordered by name. */
export const bucketsOfJurisdiction = allRows<[account: number, jurisdiction: Jurisdiction], BucketRow>(
  'SELECT * FROM buckets WHERE account = ? AND jurisdiction = ? ORDER BY name',
);

export const countBuckets = theValue<[account: number], number>('SELECT count(*) FROM buckets WHERE account = ?');

/** Returns the row number of the new bucket. */
export function insertBucket(store: Store, row: NewBucketRow): number {
  const { account, jurisdiction, name, location, storage_class, created_at } = row;
  return statements(store).insert.run(account, jurisdiction, name, location, storage_class, created_at).lastInsertRowid;
}

export function setStorageClass(store: Store, seq: number, storageClass: StorageClass): void {
  statements(store).setStorageClass.run(storageClass, seq);
}

/** Removes an empty bucket with its bindings. */
export const removeBucket = runs<[seq: number]>('DELETE FROM buckets WHERE seq = ?');

/** Names under which the application knows a bucket. */
export function bindingsOfBucket(store: Store, bucket: number): string[] {
  return statements(store)
    .bindingsOf.all(bucket)
    .map(([name]) => name);
}

/** Binds a name to a bucket, replacing an earlier binding. */
export const putBinding = runs<
  [name: string, bucket: number, boundAt: number]
>(`INSERT INTO bucket_bindings (name, bucket, bound_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET bucket = excluded.bucket, bound_at = excluded.bound_at`);

/** The most recently bound bucket. */
export function lastBoundBucket(store: Store): BucketRow | undefined {
  return lastBound(store, '', () => statements(store).lastBound.get());
}

const lastBound = keptPerState<BucketRow>(1);

/** Totals of a bucket, one row for each storage class. */
export const usageOfBucket = allRows<[bucket: number], UsageRow>('SELECT * FROM bucket_usage WHERE bucket = ?');

/** Totals of an account's buckets, one row for each bucket and storage class. */
export const usageOfAccount = allRows<[account: number], UsageRow>(
  'SELECT bucket_usage.* FROM bucket_usage JOIN buckets ON buckets.seq = bucket WHERE account = ?',
);
