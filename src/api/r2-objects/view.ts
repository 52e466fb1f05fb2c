/** Objects as v4 clients read them (v4: §13). */

import type { HttpMetadata, ObjectItem, ObjectPage } from '../../bucket/object-store.js';
import { parseHttpDate } from '../../http/date.js';
import { printTime } from '../times.js';
import type { BucketObject, HttpMetadataView, ObjectListInfo, UploadedObject } from './schema.js';

export function objectView(item: ObjectItem): BucketObject {
  return {
    key: item.key,
    etag: item.etag,
    size: item.size,
    last_modified: printTime(item.uploadedAt),
    http_metadata: metadataView(item.httpMetadata),
    custom_metadata: { ...item.customMetadata },
    storage_class: item.storageClass,
    ssec: false,
  };
}

function metadataView({ expires, ...metadata }: HttpMetadata): HttpMetadataView {
  const expiry = expires === undefined ? undefined : parseHttpDate(expires);
  return { ...metadata, ...(expiry === undefined ? {} : { cacheExpiry: printTime(expiry * 1_000_000) }) };
}

export function uploadedView(item: ObjectItem): UploadedObject {
  return {
    key: item.key,
    etag: item.etag,
    size: String(item.size),
    uploaded: printTime(item.uploadedAt),
    version: item.version,
    storage_class: item.storageClass,
  };
}

export function listInfo({ items, groups, cursor }: ObjectPage, perPage: number): ObjectListInfo {
  return {
    count: items.length,
    ...(cursor === undefined ? {} : { cursor }),
    is_truncated: cursor !== undefined,
    per_page: perPage,
    delimited: [...groups],
  };
}
