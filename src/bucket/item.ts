/** Turns database rows into objects. */
import { toHex } from '../base/bytes.js';
import type { EntryRow, ObjectRow } from '../store/objects/objects.js';
import type { ObjectEntry, ObjectItem } from './object-store.js';

/** `md5`: in hexadecimal. */
export const etagOf = (md5: string, parts: number | null): string => (parts === null ? md5 : `${md5}-${parts}`);

function objectEntry(row: EntryRow): ObjectEntry {
  return {
    key: row.key,
    size: row.size,
    etag: etagOf(toHex(row.md5), row.parts),
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
