/** Buckets, their bindings to the bucket application, and the sums over their objects. */
import { perStore, type Store } from '../driver.js';

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

/** What is stored in one class; sizes in octets. */
export interface UsageRow {
  readonly storage_class: StorageClass;
  readonly objects: number;
  readonly payload_size: number;
  readonly metadata_size: number;
}

export const bucketStatements = perStore((store) => ({
  bySeq: store.prepare<[seq: number], BucketRow>('SELECT * FROM buckets WHERE seq = ?'),
  byName: store.prepare<[account: number, jurisdiction: string, name: string], BucketRow>(
    'SELECT * FROM buckets WHERE account = ? AND jurisdiction = ? AND name = ?',
  ),
  all: store.prepare<[], BucketRow>('SELECT * FROM buckets ORDER BY name, account, jurisdiction'),
  ofJurisdiction: store.prepare<[account: number, jurisdiction: string], BucketRow>(
    'SELECT * FROM buckets WHERE account = ? AND jurisdiction = ? ORDER BY name',
  ),
  count: store.prepareTuples<[account: number], [number]>('SELECT count(*) FROM buckets WHERE account = ?'),
  setStorageClass: store.prepare<[storageClass: string, seq: number]>(
    'UPDATE buckets SET storage_class = ? WHERE seq = ?',
  ),
  remove: store.prepare<[seq: number]>('DELETE FROM buckets WHERE seq = ?'),
  bindingsOf: store.prepareTuples<[bucket: number], [name: string]>(
    'SELECT name FROM bucket_bindings WHERE bucket = ? ORDER BY name',
  ),
  bind: store.prepare<[name: string, bucket: number, boundAt: number]>(
    `INSERT INTO bucket_bindings (name, bucket, bound_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET bucket = excluded.bucket, bound_at = excluded.bound_at`,
  ),
  lastBound: store.prepare<[], BucketRow>(
    `SELECT buckets.* FROM bucket_bindings JOIN buckets ON buckets.seq = bucket
     ORDER BY bound_at DESC, bucket_bindings.name LIMIT 1`,
  ),
  usage: store.prepare<[bucket: number], UsageRow>('SELECT * FROM bucket_usage WHERE bucket = ?'),
  accountUsage: store.prepare<[account: number], UsageRow>(
    'SELECT bucket_usage.* FROM bucket_usage JOIN buckets ON buckets.seq = bucket WHERE account = ?',
  ),
}));

const inserts = perStore((store) =>
  store.prepare<[number, string, string, string | null, string, number]>(
    'INSERT INTO buckets (account, jurisdiction, name, location, storage_class, created_at) VALUES (?, ?, ?, ?, ?, ?)',
  ),
);

/** Returns the number of the new row. */
export function insertBucket(store: Store, row: NewBucketRow): number {
  const { account, jurisdiction, name, location, storage_class, created_at } = row;
  return inserts(store).run(account, jurisdiction, name, location, storage_class, created_at).lastInsertRowid;
}
