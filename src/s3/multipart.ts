/** Uploads in parts: the operations on uploads themselves. */
import { collect, inSlices } from '../base/slices.js';
import { objectFailure } from '../bucket/errors.js';
import { MOST_PARTS, type NamedPart, type UploadItem, type UploadPlace } from '../bucket/uploads/uploads.js';
import { judgeWrite } from '../http/conditions.js';
import type { BucketRow } from '../store/objects/buckets.js';
import { openBody, readDocument, readNothing } from './body.js';
import { noteExpiry } from './bucket-lifecycle.js';
import { requireBucketNamed } from './caller.js';
import {
  type Checksum,
  checksumFields,
  checksumOf,
  checksumText,
  composeChecksums,
  readChecksumType,
  readContentMd5,
  requireComposed,
  withoutChecksums,
} from './checksums.js';
import { S3Error } from './errors.js';
import { initiatorOf, ownerOf, printTime, readMaximum } from './lists.js';
import { printStorageClass, readCustomMetadata, readHttpMetadata, readStorageClass } from './metadata.js';
import { type Fields, fieldOf, type S3Request, sendEmpty, sendXml } from './request.js';
import { encodeStrictly, parameterOf } from './target.js';
import { bucketForUpload, conditionsOf, encryptionFields, octetsOf, openSource, resultOfCopy } from './write-object.js';
import { documentOf, type Element, element, parent, readXml, textOf, type Xml } from './xml.js';

/** Octets. */
const LONGEST_COMPLETION = 2 << 20;
const LARGEST_OBJECT = 5 * 1024 ** 4;

function placeOf({ target }: S3Request, bucket: BucketRow, key: string): UploadPlace {
  return { bucket: bucket.seq, key, id: parameterOf(target.query, 'uploadId') ?? '' };
}

function readPartNumber({ target }: Pick<S3Request, 'target'>): number {
  const text = parameterOf(target.query, 'partNumber') ?? '';
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > MOST_PARTS) {
    throw new S3Error('InvalidArgument', 'Part number must be an integer between 1 and 10000, inclusive');
  }
  return number;
}

export async function createUpload(request: S3Request, name: string, key: string): Promise<void> {
  await readNothing(request);
  const { options, headers, caller } = request;
  const checksumType = readChecksumType(headers, fieldOf(headers, 'x-amz-checksum-algorithm'));
  const bucket = await bucketForUpload(request, name);
  const id = await options.objects.uploads.create(bucket.seq, key, {
    httpMetadata: readHttpMetadata(headers),
    customMetadata: readCustomMetadata(headers),
    storageClass: readStorageClass(headers),
    checksumType,
    beforeWrite: caller.stillMay,
  });
  const document = documentOf(
    'InitiateMultipartUploadResult',
    element('Bucket', bucket.name),
    element('Key', key),
    element('UploadId', id),
  );
  const wanted = ['x-amz-checksum-algorithm', 'x-amz-checksum-type'].map(
    (name) => [name, fieldOf(headers, name)] as const,
  );
  const repeated = Object.fromEntries(wanted.filter(([, value]) => value !== undefined));
  sendXml(request, document, { ...encryptionFields(headers), ...repeated });
}

export async function uploadPart(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  const { options, headers, caller } = request;
  const number = readPartNumber(request);
  const body = openBody(request);
  if (body.size > options.limit) throw new S3Error('EntityTooLarge');
  const part = await options.objects.uploads.putPart(placeOf(request, bucket, key), number, body.octets, {
    limit: options.limit,
    size: body.size,
    md5: readContentMd5(headers),
    beforeWrite: caller.stillMay,
    checksum: () => checksumText(body.checksum()),
  });
  sendEmpty(request, 200, { etag: `"${part.etag}"`, ...checksumFields(part.checksum), ...encryptionFields(headers) });
}

export async function copyPart(request: S3Request, name: string, key: string): Promise<void> {
  await readNothing(request);
  const { options, caller, headers } = request;
  const number = readPartNumber(request);
  const bucket = requireBucketNamed(caller, name);
  const found = await openSource(request);
  try {
    const { first, last } = readCopyRange(fieldOf(headers, 'x-amz-copy-source-range'), found.item.size);
    const size = last - first + 1;
    if (size > options.limit) throw new S3Error('EntityTooLarge');
    const part = await options.objects.uploads.putPart(
      placeOf(request, bucket, key),
      number,
      octetsOf(found, first, last),
      {
        ...{ limit: size, size },
        shares: size === found.item.size ? found : undefined,
        beforeWrite: caller.stillMay,
      },
    );
    sendXml(request, documentOf('CopyPartResult', ...resultOfCopy(part)));
  } finally {
    await found.close();
  }
}

function readCopyRange(field: string | undefined, size: number): { readonly first: number; readonly last: number } {
  if (field === undefined) return { first: 0, last: size - 1 };
  const [, from, to] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(field) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (from === undefined || first > last || last >= size) {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source-range must be bytes=FIRST-LAST within the source.');
  }
  return { first, last };
}

export async function completeUpload(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  const { options, headers, caller } = request;
  // Checksums are those of the object here.
  const asDocument = { ...request, headers: withoutChecksums(headers) };
  const octets = await readDocument(asDocument, LONGEST_COMPLETION);
  const root = await inSlices(options.clock, readXml(octets, 'CompleteMultipartUpload', 'Part'));
  const named = await inSlices(options.clock, readParts(root));
  const item = await options.objects.uploads.complete(placeOf(request, bucket, key), named, {
    limit: LARGEST_OBJECT,
    mayReplace: (existing) => judgeWrite(conditionsOf(headers), existing),
    beforeWrite: caller.stillMay,
    *compose(parts, begun) {
      requireSize(headers, parts);
      const composed = yield* composeChecksums(parts, headers, begun);
      requireComposed(headers, composed);
      return composed;
    },
  });
  const checksum = checksumOf(item.checksum);
  const document = documentOf(
    'CompleteMultipartUploadResult',
    element('Location', `/${bucket.name}/${encodeStrictly(key).replaceAll('%2F', '/')}`),
    element('Bucket', bucket.name),
    element('Key', key),
    element('ETag', `"${item.etag}"`),
    elementOfChecksum(checksum),
    checksum ? element('ChecksumType', checksumFields(item.checksum)['x-amz-checksum-type']) : '',
  );
  noteExpiry(request, bucket.seq, item);
  sendXml(request, document, encryptionFields(headers));
}

/** Throws 400 when the parts together are not as large as the client says that its object is. */
function requireSize(headers: Fields, parts: readonly { readonly size: number }[]): void {
  const field = fieldOf(headers, 'x-amz-mp-object-size');
  if (field === undefined) return;
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  if (!/^\d{1,15}$/.test(field) || Number(field) !== size) {
    throw new S3Error('InvalidRequest', `The parts have ${size} octets, other than x-amz-mp-object-size says.`);
  }
}

function* readParts(root: Element): Generator<undefined, NamedPart[]> {
  const parts: NamedPart[] = [];
  for (const part of root.children.get('Part') ?? []) {
    const number = Number(textOf(part, 'PartNumber')?.trim() || Number.NaN);
    const etag = textOf(part, 'ETag')
      ?.trim()
      .replace(/^"(.*)"$/, '$1');
    if (!Number.isInteger(number) || etag === undefined) throw new S3Error('MalformedXML');
    parts.push({ number, etag });
    yield;
  }
  if (parts.length === 0 || parts.length > MOST_PARTS) throw new S3Error('MalformedXML');
  if (parts.some(({ number }, i) => i > 0 && number <= parts[i - 1]!.number)) throw new S3Error('InvalidPartOrder');
  return parts;
}

export async function abortUpload(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  await readNothing(request);
  await request.options.objects.uploads.abort(placeOf(request, bucket, key), request.caller.stillMay);
  sendEmpty(request, 204);
}

/** The number of the part after which a page begins. */
export function readMarker(text: string | undefined, name: string): number {
  if (text === undefined || text === '') return 0;
  if (!/^\d{1,5}$/.test(text)) throw new S3Error('InvalidArgument', `${name} must be a number.`);
  return Number(text);
}

export const elementOfChecksum = (checksum: Checksum | undefined): Xml =>
  checksum ? element(`Checksum${checksum.name.toUpperCase()}`, checksum.value) : '';

export async function listParts(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  await readNothing(request);
  const { target, options } = request;
  const place = placeOf(request, bucket, key);
  const most = readMaximum(parameterOf(target.query, 'max-parts'), 'max-parts');
  const marker = readMarker(parameterOf(target.query, 'part-number-marker'), 'part-number-marker');
  const { storageClass } = options.objects.uploads.find(place);
  const found = options.objects.uploads.parts(place, marker, most + 1);
  const page = found.slice(0, most);
  const document = documentOf(
    'ListPartsResult',
    element('Bucket', bucket.name),
    element('Key', key),
    element('UploadId', place.id),
    initiatorOf(request),
    ownerOf(request),
    element('StorageClass', printStorageClass(storageClass)),
    element('PartNumberMarker', marker),
    element('NextPartNumberMarker', page.at(-1)?.number ?? 0),
    element('MaxParts', most),
    element('IsTruncated', most > 0 && found.length > most),
    ...page.map((part) =>
      parent(
        'Part',
        element('PartNumber', part.number),
        element('LastModified', printTime(part.uploadedAt)),
        element('ETag', `"${part.etag}"`),
        element('Size', part.size),
        elementOfChecksum(checksumOf(part.checksum)),
      ),
    ),
  );
  sendXml(request, document);
}

export async function listUploads(request: S3Request, bucket: BucketRow): Promise<void> {
  await readNothing(request);
  const { target, options } = request;
  const named = (name: string): string => parameterOf(target.query, name) ?? '';
  const [prefix, keyMarker, idMarker] = [named('prefix'), named('key-marker'), named('upload-id-marker')];
  const delimiter = named('delimiter');
  const most = readMaximum(parameterOf(target.query, 'max-uploads'), 'max-uploads');
  const isEncoded = named('encoding-type') === 'url';
  const show = (text: string): string => (isEncoded ? encodeStrictly(text).replaceAll('%2F', '/') : text);
  // A bucket has no more than 1000 that are open.
  const all = options.objects.uploads.list(bucket.seq, keyMarker, idMarker === '' ? undefined : idMarker, 1001);
  const fitting = groupUploads(all, { prefix, delimiter, after: keyMarker });
  const page = fitting.slice(0, most);
  const last = page.at(-1);
  const document = documentOf(
    'ListMultipartUploadsResult',
    element('Bucket', bucket.name),
    element('KeyMarker', show(keyMarker)),
    element('UploadIdMarker', idMarker),
    element('NextKeyMarker', show(typeof last === 'string' ? last : (last?.key ?? ''))),
    element('NextUploadIdMarker', typeof last === 'string' ? '' : (last?.id ?? '')),
    element('Prefix', prefix === '' ? undefined : show(prefix)),
    element('Delimiter', delimiter === '' ? undefined : show(delimiter)),
    element('MaxUploads', most),
    element('EncodingType', isEncoded ? 'url' : undefined),
    element('IsTruncated', most > 0 && fitting.length > most),
    ...(await inSlices(options.clock, collect(uploadsOf(request, page, show)))),
  );
  sendXml(request, document);
}

/** As long keys, percent-encoded, as those of objects. */
function* uploadsOf(
  request: S3Request,
  page: readonly (UploadItem | string)[],
  show: (text: string) => string,
): Generator<Xml> {
  for (const entry of page) {
    if (typeof entry === 'string') continue;
    const { key, id, storageClass, startedAt } = entry;
    yield parent(
      'Upload',
      element('Key', show(key)),
      element('UploadId', id),
      initiatorOf(request),
      ownerOf(request),
      element('StorageClass', printStorageClass(storageClass)),
      element('Initiated', printTime(startedAt)),
    );
  }
  for (const entry of page) {
    if (typeof entry === 'string') yield parent('CommonPrefixes', element('Prefix', show(entry)));
  }
}

interface Grouping {
  readonly prefix: string;
  readonly delimiter: string;
  /** The key marker: a group that it is, or is in, was shown before. */
  readonly after: string;
}

/** Uploads in their order, and one text for those whose keys have the same part up to a delimiter. */
function groupUploads(uploads: readonly UploadItem[], { prefix, delimiter, after }: Grouping): (UploadItem | string)[] {
  const entries: (UploadItem | string)[] = [];
  for (const upload of uploads) {
    const { key } = upload;
    if (!key.startsWith(prefix)) continue;
    const at = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    const group = at < 0 ? undefined : key.slice(0, at + delimiter.length);
    if (group === undefined) entries.push(upload);
    else if (!after.startsWith(group) && entries.at(-1) !== group) entries.push(group);
  }
  return entries;
}

/** The part of an object that a request names; undefined when it names none. Throws when there is no such part. */
export function rangeOfPart(
  { target, options }: S3Request,
  bucket: BucketRow,
  key: string,
): { readonly first: number; readonly last: number } | undefined {
  if (parameterOf(target.query, 'partNumber') === undefined) return undefined;
  const number = readPartNumber({ target });
  const range = options.objects.partOf(bucket.seq, key, number);
  if (!range) throw objectFailure('range');
  return range;
}
