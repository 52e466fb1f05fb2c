/** PutObject, CopyObject, DeleteObject and DeleteObjects. */
import { inSlices } from '../base/slices.js';
import { createBucket } from '../bucket/buckets.js';
import { objectFailure } from '../bucket/errors.js';
import { isObjectKey, type ObjectItem, type OpenObject } from '../bucket/object-store.js';
import { judgeRead, judgeWrite } from '../http/conditions.js';
import type { BucketRow } from '../store/objects/buckets.js';
import { type CheckedBody, openBody, readDocument, readNothing } from './body.js';
import { noteExpiry } from './bucket-lifecycle.js';
import { requireBucketNamed } from './caller.js';
import { checksumFields, checksumText, readContentMd5 } from './checksums.js';
import { S3Error, s3ErrorOf } from './errors.js';
import { printTime } from './lists.js';
import { readCustomMetadata, readHttpMetadata, readStorageClass } from './metadata.js';
import { type Fields, fieldOf, type S3Request, sendEmpty, sendXml } from './request.js';
import { escapeOctet } from './target.js';
import { documentOf, element, parent, readXml, textOf } from './xml.js';

const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const;
/** Octets: 5 GiB. */
const LARGEST_COPY = 5 * 1024 ** 3;
const LONGEST_DELETION = 2 << 20;
const MOST_DELETED = 1000;

/** Conditions, or those under other names. */
export function conditionsOf(headers: Fields, prefix = ''): Record<string, string | undefined> {
  return Object.fromEntries(CONDITIONS.map((name) => [name, fieldOf(headers, prefix + name)]));
}

export async function putObject(request: S3Request, name: string, key: string): Promise<void> {
  const { bucket, item, fields } = await storeBody(request, openBody(request), name, key);
  noteExpiry(request, bucket, item);
  sendEmpty(request, 200, fields);
}

/** What a request asks to be stored, however its body was read. */
export type Upload = Pick<S3Request, 'options' | 'headers' | 'caller'>;

export interface Stored {
  /** Store number. */
  readonly bucket: number;
  readonly item: ObjectItem;
  /** Fields of the answer. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Stores a body as an object. */
export async function storeBody(upload: Upload, body: CheckedBody, name: string, key: string): Promise<Stored> {
  const { options, headers, caller } = upload;
  if (body.size > options.limit) throw new S3Error('EntityTooLarge');
  const md5 = readContentMd5(headers);
  const { seq: bucket } = await bucketForUpload(upload, name);
  const item = await options.objects.put(bucket, key, body.octets, {
    httpMetadata: readHttpMetadata(headers),
    customMetadata: readCustomMetadata(headers),
    storageClass: readStorageClass(headers),
    limit: options.limit,
    size: body.size,
    md5,
    mayReplace: (existing) => judgeWrite(conditionsOf(headers), existing),
    beforeWrite: caller.stillMay,
    checksum: () => checksumText(body.checksum()),
  });
  const kept = checksumFields(checksumText(body.checksum()));
  return { bucket, item, fields: { etag: `"${item.etag}"`, ...kept, ...encryptionFields(headers) } };
}

/** All that is stored is written to a disk of the operator: whoever asks for it is told so. */
export function encryptionFields(headers: Fields): Record<string, string> {
  const asked = fieldOf(headers, 'x-amz-server-side-encryption');
  return asked === undefined ? {} : { 'x-amz-server-side-encryption': asked };
}

/** `cf-create-bucket-if-missing: true` makes the bucket. */
export async function bucketForUpload({ caller, headers }: Upload, name: string): Promise<BucketRow> {
  try {
    return requireBucketNamed(caller, name);
  } catch (error) {
    if (fieldOf(headers, 'cf-create-bucket-if-missing') !== 'true') throw error;
    caller.permit('buckets', 'write', name);
  }
  try {
    await createBucket(caller.context, caller.accountId, { name, jurisdiction: 'default' });
  } catch (error) {
    // Another request may have made it meanwhile.
    if ((error as { key?: string }).key !== 'buckets.exists') throw error;
  }
  return requireBucketNamed(caller, name);
}

export async function copyObject(request: S3Request, name: string, key: string): Promise<void> {
  await readNothing(request);
  const { options, headers, caller } = request;
  const source = readCopySource(headers);
  const bucket = requireBucketNamed(caller, name);
  const directive = fieldOf(headers, 'x-amz-metadata-directive') ?? 'COPY';
  if (!['COPY', 'REPLACE', 'MERGE'].includes(directive)) {
    throw new S3Error('InvalidArgument', 'x-amz-metadata-directive must be COPY, REPLACE or MERGE.');
  }
  const storageClass = readStorageClass(headers);
  if (source.bucket === name && source.key === key && directive === 'COPY' && storageClass === undefined) {
    const reason = 'This copy request is illegal because it is trying to copy an object to itself without changing it.';
    throw new S3Error('InvalidRequest', reason);
  }
  const found = await openSource(request);
  try {
    const { item } = found;
    if (item.size > Math.min(LARGEST_COPY, options.limit)) throw new S3Error('EntityTooLarge');
    const made = await options.objects.put(bucket.seq, key, octetsOf(found), {
      ...metadataOfCopy(directive, item, headers),
      storageClass,
      limit: item.size,
      size: item.size,
      shares: found,
      // The fields of S3, and those of R2: whoever sends both means both.
      mayReplace: (existing) =>
        judgeWrite(conditionsOf(headers), existing) &&
        judgeWrite(conditionsOf(headers, 'cf-copy-destination-'), existing),
      beforeWrite: caller.stillMay,
    });
    noteExpiry(request, bucket.seq, made);
    sendXml(request, documentOf('CopyObjectResult', ...resultOfCopy(made)), encryptionFields(headers));
  } finally {
    await found.close();
  }
}

/** The source of a copy, if the caller may read it and its conditions hold; to be closed. */
export async function openSource({ options, headers, caller, raw }: S3Request): Promise<OpenObject> {
  const source = readCopySource(headers);
  caller.permit('objects', 'read', source.bucket, { key: source.key });
  const from = requireBucketNamed(caller, source.bucket);
  const found = await options.objects.open(from.seq, source.key, raw.socket.remoteAddress ?? '');
  if (!found) throw objectFailure('missing');
  if (judgeRead(conditionsOf(headers, 'x-amz-copy-source-'), found.item) === 'proceed') return found;
  await found.close();
  throw new S3Error('PreconditionFailed');
}

/** Nothing is read before it is asked for: a shared body never is. */
export async function* octetsOf(found: OpenObject, first?: number, last?: number): AsyncGenerator<Uint8Array> {
  yield* found.read(first, last);
}

export function resultOfCopy({ uploadedAt, etag }: Pick<ObjectItem, 'uploadedAt' | 'etag'>): string[] {
  return [element('LastModified', printTime(uploadedAt)), element('ETag', `"${etag}"`)];
}

function metadataOfCopy(directive: string, item: ObjectItem, headers: Fields) {
  const { httpMetadata, customMetadata } = item;
  if (directive === 'COPY') return { httpMetadata, customMetadata };
  const given = { httpMetadata: readHttpMetadata(headers), customMetadata: readCustomMetadata(headers) };
  if (directive === 'REPLACE') return given;
  return {
    httpMetadata: { ...httpMetadata, ...given.httpMetadata },
    customMetadata: { ...customMetadata, ...given.customMetadata },
  };
}

/** `/bucket/key` or `bucket/key`, percent-encoded. */
function readCopySource(headers: Fields): { readonly bucket: string; readonly key: string } {
  const field = fieldOf(headers, 'x-amz-copy-source') ?? '';
  const mark = field.indexOf('?');
  if (mark >= 0) throw new S3Error('NotImplemented', 'Versions of objects are not implemented.');
  let text: string;
  try {
    // node:http makes a character of each octet; some clients do not percent-encode the octets of UTF-8.
    text = decodeURIComponent(field.replace(/[\x80-\xff]/g, escapeOctet));
  } catch {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source is not percent-encoded UTF-8.');
  }
  const [, bucket, key] = /^\/?([^/]+)\/([\s\S]+)$/.exec(text) ?? [];
  if (bucket === undefined || key === undefined) {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source must name a bucket and a key.');
  }
  return { bucket, key };
}

export async function deleteObject(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  await readNothing(request);
  const { options, caller, headers } = request;
  const condition = fieldOf(headers, 'if-match');
  await options.objects.delete(bucket.seq, [key], () => {
    caller.stillMay();
    if (condition === undefined) return;
    const existing = options.objects.find(bucket.seq, key);
    if (existing && !judgeWrite({ 'if-match': condition }, existing)) throw new S3Error('PreconditionFailed');
  });
  sendEmpty(request, 204);
}

interface Deletion {
  readonly key: string;
  readonly error: S3Error | undefined;
}

/** Up to 1000 keys, some in each write: each of them succeeds or fails by itself, also where credentials are limited to paths. */
export async function deleteObjects(request: S3Request, bucket: BucketRow): Promise<void> {
  const { options, caller } = request;
  const root = await inSlices(
    options.clock,
    readXml(await readDocument(request, LONGEST_DELETION, true), 'Delete', 'Object'),
  );
  const entries = root.children.get('Object') ?? [];
  if (entries.length === 0 || entries.length > MOST_DELETED) throw new S3Error('MalformedXML');
  const deletions = entries.map((entry): Deletion => {
    const key = textOf(entry, 'Key');
    if (key === undefined || key === '') throw new S3Error('MalformedXML', 'An object has no key.');
    if (!caller.may('objects', 'write', bucket.name, { key })) return { key, error: new S3Error('AccessDenied') };
    return { key, error: faultOf(key, textOf(entry, 'VersionId'), textOf(entry, 'ETag')) };
  });
  const keys = deletions.filter(({ error }) => error === undefined).map(({ key }) => key);
  const remaining = errorsOf(request, await options.objects.deleteEach(bucket.seq, keys, caller.stillMay));
  const isQuiet = textOf(root, 'Quiet')?.trim().toLowerCase() === 'true';
  const results = deletions.map(({ key, error: fault }) => {
    const error = fault ?? remaining.get(key);
    if (!error) return isQuiet ? '' : parent('Deleted', element('Key', key));
    return parent('Error', element('Key', key), element('Code', error.code), element('Message', error.message));
  });
  sendXml(request, documentOf('DeleteResult', ...results));
}

/** What is said of keys that remain. An unexpected error is logged once. */
function errorsOf({ options, id }: S3Request, remaining: ReadonlyMap<string, unknown>): ReadonlyMap<string, S3Error> {
  const known = new Map<unknown, S3Error>();
  const errors = new Map<string, S3Error>();
  for (const [key, reason] of remaining) {
    let error = known.get(reason) ?? s3ErrorOf(reason);
    if (!error) {
      options.log.error({ err: reason, request: id }, 'objects could not be deleted');
      error = new S3Error('InternalError');
    }
    known.set(reason, error);
    errors.set(key, error);
  }
  return errors;
}

function faultOf(key: string, version: string | undefined, etag: string | undefined): S3Error | undefined {
  if (version !== undefined && version !== '' && version !== 'null') {
    return new S3Error('NotImplemented', 'Versions of objects are not implemented.');
  }
  if (etag !== undefined) return new S3Error('NotImplemented', 'Conditions of single keys are not implemented.');
  return isObjectKey(key) ? undefined : new S3Error('KeyTooLongError');
}
