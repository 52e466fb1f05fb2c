/** Turns database rows into objects. */
import { toHex } from '../base/bytes.js';
import type { EntryRow, ObjectRow } from '../store/objects/objects.js';
import type { ObjectEntry, ObjectItem } from './object-store.js';

export function objectEntry(row: EntryRow): ObjectEntry {
  return {
    key: row.key,
    size: row.size,
    etag: toHex(row.md5),
    storageClass: row.storage_class,
    uploadedAt: row.uploaded_at,
  };
}

export function objectItem(row: ObjectRow): ObjectItem {
  return {
    ...objectEntry(row),
    version: row.version,
    httpMetadata: JSON.parse(row.http_metadata),
    customMetadata: JSON.parse(row.custom_metadata),
  };
}
