/** Turns database rows into objects. */
import { toHex } from '../base/bytes.js';
import type { ObjectRow } from '../store/objects/objects.js';
import type { ObjectItem } from './object-store.js';

export function objectItem(row: ObjectRow): ObjectItem {
  return {
    key: row.key,
    version: row.version,
    size: row.size,
    etag: toHex(row.md5),
    storageClass: row.storage_class,
    httpMetadata: JSON.parse(row.http_metadata),
    customMetadata: JSON.parse(row.custom_metadata),
    uploadedAt: row.uploaded_at,
  };
}
