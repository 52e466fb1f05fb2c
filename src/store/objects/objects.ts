/** Objects: their descriptions, the bodies of the small ones, and the files of large ones that nobody needs any more. */

import { perStore, type Store } from '../driver.js';
import type { StorageClass } from './buckets.js';

export interface ObjectRow {
  readonly seq: number;
  readonly bucket: number;
  readonly key: string;
  /** A UUID, another one with every upload. */
  readonly version: string;
  /** Octets. */
  readonly size: number;
  readonly md5: Uint8Array;
  readonly storage_class: StorageClass;
  /** JSON objects of texts. */
  readonly http_metadata: string;
  readonly custom_metadata: string;
  /** Octets of both. */
  readonly metadata_size: number;
  /** Microseconds since 1970. */
  readonly uploaded_at: number;
  /** Name of the file with the body; null when the body is in the database. */
  readonly blob: string | null;
}

export type NewObjectRow = Omit<ObjectRow, 'seq'>;

export const objectStatements = perStore((store) => ({
  byKey: store.prepare<[bucket: number, key: string], ObjectRow>('SELECT * FROM objects WHERE bucket = ? AND key = ?'),
  contents: store.prepareTuples<[object: number], [octets: Uint8Array]>(
    'SELECT octets FROM object_contents WHERE object = ?',
  ),
  putContents: store.prepare<[object: number, octets: Uint8Array]>(
    'INSERT INTO object_contents (object, octets) VALUES (?, ?)',
  ),
  /** The trigger notes the file of its body for removal. */
  remove: store.prepare<[seq: number]>('DELETE FROM objects WHERE seq = ?'),
  any: store.prepareTuples<[bucket: number], [1]>('SELECT 1 FROM objects WHERE bucket = ? LIMIT 1'),
  /** Keys at or after `from` that are also after `after`, in the order of their octets. */
  page: store.prepare<[bucket: number, from: string, after: string, limit: number], ObjectRow>(
    'SELECT * FROM objects WHERE bucket = ? AND key >= ? AND key > ? ORDER BY key LIMIT ?',
  ),
  blobInUse: store.prepareTuples<[blob: string], [1]>('SELECT 1 FROM objects WHERE blob = ?'),
  garbage: store.prepareTuples<[limit: number], [blob: string]>('SELECT blob FROM blob_garbage LIMIT ?'),
  forgetGarbage: store.prepare<[blob: string]>('DELETE FROM blob_garbage WHERE blob = ?'),
}));

const inserts = perStore((store) =>
  store.prepare<[number, string, string, number, Uint8Array, string, string, string, number, number, string | null]>(
    `INSERT INTO objects (bucket, key, version, size, md5, storage_class, http_metadata, custom_metadata, metadata_size,
       uploaded_at, blob) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
);

/** Returns the number of the new row. */
export function insertObject(store: Store, row: NewObjectRow): number {
  return inserts(store).run(
    row.bucket,
    row.key,
    row.version,
    row.size,
    row.md5,
    row.storage_class,
    row.http_metadata,
    row.custom_metadata,
    row.metadata_size,
    row.uploaded_at,
    row.blob,
  ).lastInsertRowid;
}
