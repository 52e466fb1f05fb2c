/** Turns database rows into objects. */
import { toHex } from '../base/bytes.js';
import type { EntryRow, ObjectRow } from '../store/objects/objects.js';
import type { ObjectEntry, ObjectItem } from './object-store.js';

export function objectEntry(row: EntryRow): ObjectEntry {
  return {
    key: row.key,
    size: row.size,
    etag: row.parts === null ? toHex(row.md5) : `${toHex(row.md5)}-${row.parts}`,
    storageClass: row.storage_class,
    uploadedAt: row.uploaded_at,
  };
}

export function objectItem(row: ObjectRow): ObjectItem {
  return {
    ...objectEntry(row),
    version: row.version,
    ...(row.parts !== null && { parts: row.parts }),
    ...(row.checksum !== null && { checksum: row.checksum }),
    httpMetadata: JSON.parse(row.http_metadata),
    customMetadata: JSON.parse(row.custom_metadata),
  };
}
