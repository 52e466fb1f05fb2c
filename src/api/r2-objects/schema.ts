/** Shapes of objects on the wire (v4: §13). */
import { z } from 'zod';
import { bucketParams, jurisdictionHeader, storageClass } from '../r2-buckets/schema.js';
import { answers, message, time } from '../schema.js';

/** The largest object that is uploaded, in octets (v4: §1.1; wrangler's own limit). */
export const UPLOAD_LIMIT_BYTES = 300 * 1024 * 1024;

/** The key itself is read from the original target (key.ts). */
export const objectParams = bucketParams.extend({ '*': z.string().describe('Key of the object') });

export const httpMetadata = z.object({
  contentType: z.string().optional(),
  contentLanguage: z.string().optional(),
  contentDisposition: z.string().optional(),
  contentEncoding: z.string().optional(),
  cacheControl: z.string().optional(),
  cacheExpiry: time.optional(),
});

export type HttpMetadataView = z.output<typeof httpMetadata>;

export const object = z
  .object({
    key: z.string(),
    etag: z.string().describe('Hexadecimal, without quotes'),
    size: z.int().describe('Octets'),
    last_modified: time,
    http_metadata: httpMetadata,
    custom_metadata: z.record(z.string(), z.string()),
    storage_class: storageClass,
    ssec: z.boolean().describe("Always false: there is no encryption with customers' keys"),
  })
  .meta({ id: 'BucketObject' });

export type BucketObject = z.output<typeof object>;

export const objectQuery = z.object({
  prefix: z.string().optional(),
  delimiter: z.string().optional().describe('Keys are grouped up to it; the groups are in `delimited`'),
  start_after: z.string().optional().describe('Keys after this one'),
  cursor: z.string().optional().describe('From the previous page'),
  per_page: z.string().optional().describe('Default 1000, at most 1000'),
});

const objectListInfo = z.object({
  count: z.int(),
  cursor: z.string().optional(),
  is_truncated: z.boolean(),
  per_page: z.int(),
  delimited: z.array(z.string()).describe('Groups of this page'),
});

export type ObjectListInfo = z.output<typeof objectListInfo>;

/** A page of objects; the last one has no cursor, because clients continue while there is one. */
export const objectList = answers(
  z.object({
    result: z.array(object),
    success: z.literal(true),
    errors: z.array(message),
    messages: z.array(message),
    result_info: objectListInfo,
  }),
);

export const readHeaders = z.object({
  ...jurisdictionHeader,
  'if-match': z.string().optional(),
  'if-none-match': z.string().optional(),
  'if-modified-since': z.string().optional(),
  'if-unmodified-since': z.string().optional(),
  range: z.string().optional().describe('One range of octets'),
  'if-range': z.string().optional(),
});

export const uploadHeaders = z.object({
  ...jurisdictionHeader,
  'cf-r2-storage-class': storageClass.optional(),
  'content-type': z.string().optional(),
  'content-language': z.string().optional(),
  'content-disposition': z.string().optional(),
  'content-encoding': z.string().optional(),
  'cache-control': z.string().optional(),
  expires: z.string().optional(),
  'content-md5': z.string().optional().describe('Base64; an upload with other octets is refused'),
  'if-match': z.string().optional(),
  'if-none-match': z.string().optional(),
});

export const uploaded = z
  .object({
    key: z.string(),
    etag: z.string(),
    size: z.string().describe('Octets, in decimal'),
    uploaded: time,
    version: z.string(),
    storage_class: storageClass,
  })
  .meta({ id: 'UploadedObject' });

export type UploadedObject = z.output<typeof uploaded>;

export const onlyKey = z.object({ key: z.string() });
