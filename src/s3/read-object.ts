/** GetObject, HeadObject and GetObjectAttributes. */
import { sendPieces } from '../bucket/bodies/send-pieces.js';
import { objectFailure } from '../bucket/errors.js';
import type { ObjectItem, OpenObject } from '../bucket/object-store.js';
import { watchAnswer } from '../bucket/send-object.js';
import type { Range } from '../http/range.js';
import { notModifiedHeaders, selectParts } from '../http/selection.js';
import type { BucketRow } from '../store/objects/buckets.js';
import { readNothing } from './body.js';
import { noteExpiry } from './bucket-lifecycle.js';
import { checksumFields, checksumOf } from './checksums.js';
import { S3Error } from './errors.js';
import { readMaximum } from './lists.js';
import { objectFields, printStorageClass } from './metadata.js';
import { elementOfChecksum, rangeOfPart, readMarker } from './multipart.js';
import { fieldOf, type S3Request, sendXml } from './request.js';
import { parameterOf } from './target.js';
import { documentOf, element, parent, type Xml } from './xml.js';

/** Parameters that replace header fields of an answer. */
const OVERRIDES = [
  'content-type',
  'content-language',
  'expires',
  'cache-control',
  'content-disposition',
  'content-encoding',
];

export async function headObject(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  await readNothing(request);
  const { options, response } = request;
  const item = options.objects.find(bucket.seq, key);
  if (!item) throw objectFailure('missing');
  const { status, fields, range } = answerFor(request, item, rangeOfPart(request, bucket, key));
  noteExpiry(request, bucket.seq, item);
  const length = range ? range.last - range.first + 1 : item.size;
  response.writeHead(status, status === 304 ? fields : { ...fields, 'content-length': length });
  response.end();
}

export async function getObject(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  await readNothing(request);
  const { options, raw, response } = request;
  const found = await options.objects.open(bucket.seq, key, raw.socket.remoteAddress ?? '');
  if (!found) throw objectFailure('missing');
  noteExpiry(request, bucket.seq, found.item);
  try {
    await send(request, found, rangeOfPart(request, bucket, key));
  } finally {
    await found.close();
  }
  if (response.destroyed) return;
}

async function send(request: S3Request, found: OpenObject, part: Range | undefined): Promise<void> {
  const { response } = request;
  const { size } = found.item;
  const { status, fields, range } = answerFor(request, found.item, part);
  if (status === 304) {
    response.writeHead(304, fields).end();
    return;
  }
  const { first, last } = range ?? { first: 0, last: size - 1 };
  response.writeHead(status, { ...fields, 'content-length': last - first + 1 });
  if (found.octets) response.end(found.octets.subarray(first, last + 1));
  else if (size === 0) response.end();
  else await pump(found, first, last, request);
}

/** Resolves when the answer has ended, however. What was damaged breaks the connection off. */
async function pump(found: OpenObject, first: number, last: number, request: S3Request): Promise<void> {
  const { response, options, id, caller } = request;
  watchAnswer(options.clock, response, caller.stillMay);
  try {
    await sendPieces(found.pieces(first, last), response);
  } catch (error) {
    options.log.error({ err: error, request: id }, 'an object could not be read to its end');
    response.destroy();
  }
}

interface Answer {
  readonly status: 200 | 206 | 304;
  readonly fields: Readonly<Record<string, string | number>>;
  readonly range: Range | undefined;
}

/** Conditions first, then the range. Throws 412 and 416. */
function answerFor({ target, headers }: S3Request, item: ObjectItem, part: Range | undefined): Answer {
  const { query } = target;
  const range = fieldOf(headers, 'range');
  if (part !== undefined && range !== undefined) {
    throw new S3Error('InvalidRequest', 'Cannot specify both Range header and partNumber query parameter.');
  }
  // Several ranges are answered with the whole; HEAD has the fields of a GET.
  const asked = { ...headers, range: range?.includes(',') ? undefined : range } as Record<string, string | undefined>;
  const { status, ranges } = selectParts('GET', asked, item);
  if (status === 412) throw new S3Error('PreconditionFailed');
  if (status === 416) throw new S3Error('InvalidRange', undefined, { 'content-range': `bytes */${item.size}` });
  const fields: Record<string, string | number> = objectFields(item);
  if (status === 304) return { status, fields: notModifiedHeaders(fields), range: undefined };
  for (const name of OVERRIDES) override(fields, name, parameterOf(query, `response-${name}`));
  if (part && item.parts !== undefined) fields['x-amz-mp-parts-count'] = item.parts;
  const only = part ?? ranges[0];
  if (only) {
    if (item.size > 0) fields['content-range'] = `bytes ${only.first}-${only.last}/${item.size}`;
    return { status: 206, fields, range: only };
  }
  const wantsChecksum = fieldOf(headers, 'x-amz-checksum-mode')?.toUpperCase() === 'ENABLED';
  return { status: 200, fields: { ...fields, ...(wantsChecksum && checksumFields(item.checksum)) }, range: undefined };
}

function override(fields: Record<string, string | number>, name: string, value: string | undefined): void {
  if (value === undefined) return;
  if (!/^[\x20-\x7e]*$/.test(value)) throw new S3Error('InvalidArgument', `response-${name} is not a header value.`);
  fields[name] = value;
}

/** `x-amz-object-attributes` names what is shown. */
export async function getObjectAttributes(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  await readNothing(request);
  const item = request.options.objects.find(bucket.seq, key);
  if (!item) throw objectFailure('missing');
  const wanted = new Set(
    fieldOf(request.headers, 'x-amz-object-attributes')
      ?.split(',')
      .map((name) => name.trim()),
  );
  if (wanted.size === 0) throw new S3Error('InvalidArgument', 'x-amz-object-attributes names nothing.');
  const checksum = checksumOf(item.checksum);
  const show = (name: string, value: string | number): string => (wanted.has(name) ? element(name, value) : '');
  const document = documentOf(
    'GetObjectAttributesResponse',
    show('ETag', item.etag),
    checksum && wanted.has('Checksum')
      ? parent(
          'Checksum',
          elementOfChecksum(checksum),
          element('ChecksumType', checksumFields(item.checksum)['x-amz-checksum-type']),
        )
      : '',
    item.parts !== undefined && wanted.has('ObjectParts') ? partsElement(request, bucket, key, item.parts) : '',
    show('StorageClass', printStorageClass(item.storageClass)),
    show('ObjectSize', item.size),
  );
  sendXml(request, document, { 'last-modified': objectFields(item)['last-modified'] });
}

/** A page of the parts of an object. `total`: how many it has. */
function partsElement({ options, headers }: S3Request, bucket: BucketRow, key: string, total: number): Xml {
  const most = readMaximum(fieldOf(headers, 'x-amz-max-parts'), 'x-amz-max-parts');
  const marker = readMarker(fieldOf(headers, 'x-amz-part-number-marker'), 'x-amz-part-number-marker');
  const found = options.objects.partsOf(bucket.seq, key, marker, most + 1) ?? [];
  const page = found.slice(0, most);
  return parent(
    'ObjectParts',
    element('IsTruncated', most > 0 && found.length > most),
    element('MaxParts', most),
    element('NextPartNumberMarker', page.at(-1)?.number ?? 0),
    ...page.map((part) =>
      parent(
        'Part',
        element('PartNumber', part.number),
        element('Size', part.size),
        elementOfChecksum(checksumOf(part.checksum)),
      ),
    ),
    element('PartNumberMarker', marker),
    // The SDKs read it under this name and call it TotalPartsCount.
    element('PartsCount', total),
  );
}

/** Returns no tags, since none can be set. The AWS command line asks for them before it copies an object in parts. */
export async function getObjectTagging(request: S3Request, bucket: BucketRow, key: string): Promise<void> {
  await readNothing(request);
  if (!request.options.objects.find(bucket.seq, key)) throw objectFailure('missing');
  sendXml(request, documentOf('Tagging', parent('TagSet')));
}
