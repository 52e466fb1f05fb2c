/** Buckets as v4 clients read them (v4: §13). */
import type { BucketItem, BucketUsage } from '../../bucket/buckets.js';
import { printTime } from '../times.js';
import type { Bucket } from './schema.js';

export function bucketView(item: BucketItem): Bucket {
  return {
    name: item.name,
    creation_date: printTime(item.createdAt),
    // Lower case is accepted, upper case is returned (v4: §18 no. 16).
    // Clients read it from every bucket; there is one location, which the default hint stands for (v4: §13).
    location: (item.location ?? 'enam').toUpperCase(),
    storage_class: item.storageClass,
    jurisdiction: item.jurisdiction,
  };
}

export interface MetricsView {
  readonly published: { readonly payloadSize: number; readonly metadataSize: number; readonly objects: number };
  readonly uploaded: { readonly payloadSize: number; readonly metadataSize: number; readonly objects: number };
}

/** There are no unpublished uploads: an unfinished upload leaves nothing behind. */
export function metricsView({ objects, payloadOctets, metadataOctets }: BucketUsage): MetricsView {
  return {
    published: { payloadSize: payloadOctets, metadataSize: metadataOctets, objects },
    uploaded: { payloadSize: 0, metadataSize: 0, objects: 0 },
  };
}
