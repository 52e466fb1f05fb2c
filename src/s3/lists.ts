/** ListObjects in both versions. */
import { createHash } from 'node:crypto';
import { collect, inSlices } from '../base/slices.js';
import { listEntries } from '../bucket/list.js';
import type { ObjectEntry } from '../bucket/object-store.js';
import type { BucketRow } from '../store/objects/buckets.js';
import { readNothing } from './body.js';
import { S3Error } from './errors.js';
import { printStorageClass } from './metadata.js';
import { type S3Request, sendXml } from './request.js';
import { encodeStrictly, parameterOf, type Query } from './target.js';
import { documentOf, element, escapeText, parent, type Xml } from './xml.js';

const MOST_KEYS = 1000;
/** Texts that are the same when they are encoded. */
const UNCHANGED = /^[A-Za-z0-9\-._~/]*$/;

/** `2026-11-25T23:00:00.000Z` */
export function printTime(us: number): string {
  const ms = Math.floor(us / 1000);
  const second = Math.floor(ms / 1000);
  // Objects that are next to each other in a list often came together.
  if (second !== lastSecond.second) {
    lastSecond = { second, text: new Date(second * 1000).toISOString().slice(0, -'000Z'.length) };
  }
  return `${lastSecond.text}${String(ms % 1000).padStart(3, '0')}Z`;
}

let lastSecond = { second: Number.NaN, text: '' };

/** What both versions ask for. */
interface Listing {
  readonly prefix: string;
  readonly delimiter: string;
  readonly maxKeys: number;
  /** Whether keys are percent-encoded: XML cannot hold all characters. */
  readonly isEncoded: boolean;
  readonly show: (text: string) => string;
}

function readListing(query: Query): Listing {
  const encoding = parameterOf(query, 'encoding-type');
  if (encoding !== undefined && encoding !== '' && encoding !== 'url') {
    throw new S3Error('InvalidArgument', 'Invalid Encoding Method specified in Request');
  }
  const isEncoded = encoding === 'url';
  return {
    prefix: parameterOf(query, 'prefix') ?? '',
    delimiter: parameterOf(query, 'delimiter') ?? '',
    maxKeys: readMaximum(parameterOf(query, 'max-keys'), 'max-keys'),
    isEncoded,
    show: (text) => (isEncoded && !UNCHANGED.test(text) ? encodeStrictly(text).replaceAll('%2F', '/') : text),
  };
}

/** A number of entries of a page; larger ones are 1000. */
export function readMaximum(text: string | undefined, name: string): number {
  if (text === undefined || text === '') return MOST_KEYS;
  if (!/^\d{1,10}$/.test(text)) throw new S3Error('InvalidArgument', `Argument ${name} must be an integer from 0 on.`);
  return Math.min(MOST_KEYS, Number(text));
}

interface Page {
  readonly items: readonly ObjectEntry[];
  readonly groups: readonly string[];
  readonly cursor?: string;
}

const EMPTY: Page = { items: [], groups: [] };

export async function listObjectsV2(request: S3Request, bucket: BucketRow): Promise<void> {
  await readNothing(request);
  const { target, caller } = request;
  const listing = readListing(target.query);
  const { prefix, delimiter, maxKeys, isEncoded, show } = listing;
  const token = parameterOf(target.query, 'continuation-token');
  const startAfter = parameterOf(target.query, 'start-after');
  // Some clients send an empty one for the first page.
  const cursor = token === undefined || token === '' ? undefined : readToken(token, listing);
  const after = cursor === undefined ? startAfter : undefined;
  const page: Page =
    maxKeys === 0
      ? EMPTY
      : listEntries(caller.context.store, bucket.seq, { prefix, delimiter, cursor, startAfter: after, limit: maxKeys });
  const owner = parameterOf(target.query, 'fetch-owner') === 'true' ? ownerOf(request) : undefined;
  const document = documentOf(
    'ListBucketResult',
    element('Name', bucket.name),
    element('Prefix', show(prefix)),
    element('Delimiter', delimiter === '' ? undefined : show(delimiter)),
    element('MaxKeys', maxKeys),
    element('EncodingType', isEncoded ? 'url' : undefined),
    element('KeyCount', page.items.length + page.groups.length),
    element('IsTruncated', page.cursor !== undefined),
    element('ContinuationToken', token),
    element('NextContinuationToken', page.cursor === undefined ? undefined : makeToken(page.cursor, listing)),
    element('StartAfter', startAfter === undefined ? undefined : show(startAfter)),
    ...(await printContents(request, page, listing, owner)),
  );
  sendXml(request, document);
}

export async function listObjectsV1(request: S3Request, bucket: BucketRow): Promise<void> {
  await readNothing(request);
  const { target, caller } = request;
  const listing = readListing(target.query);
  const { prefix, delimiter, maxKeys, isEncoded, show } = listing;
  const marker = parameterOf(target.query, 'marker') ?? '';
  const page: Page =
    maxKeys === 0
      ? EMPTY
      : listEntries(caller.context.store, bucket.seq, {
          ...{ prefix, delimiter, limit: maxKeys },
          ...positionOf(marker, prefix, delimiter),
        });
  const isTruncated = page.cursor !== undefined;
  const document = documentOf(
    'ListBucketResult',
    element('Name', bucket.name),
    element('Prefix', show(prefix)),
    element('Marker', show(marker)),
    element('MaxKeys', maxKeys),
    element('Delimiter', delimiter === '' ? undefined : show(delimiter)),
    element('EncodingType', isEncoded ? 'url' : undefined),
    element('IsTruncated', isTruncated),
    element('NextMarker', isTruncated && delimiter !== '' ? show(lastOf(page)) : undefined),
    ...(await printContents(request, page, listing, ownerOf(request))),
  );
  sendXml(request, document);
}

/** A marker that is a group, or inside of one, stands behind all keys of the group: they were shown as one. */
function positionOf(marker: string, prefix: string, delimiter: string): { startAfter?: string; cursor?: string } {
  if (marker === '') return {};
  const at = delimiter !== '' && marker.startsWith(prefix) ? marker.indexOf(delimiter, prefix.length) : -1;
  if (at < 0 || at + delimiter.length !== marker.length) return { startAfter: marker };
  return { cursor: Buffer.from(`g${marker}`).toString('base64url') };
}

/** The last key or group of a page. */
function lastOf({ items, groups }: Page): string {
  const [key, group] = [items.at(-1)?.key, groups.at(-1)];
  if (key === undefined || group === undefined) return key ?? group ?? '';
  return Buffer.compare(Buffer.from(key), Buffer.from(group)) > 0 ? key : group;
}

/** In slices: percent-encoding a thousand of the longest keys takes some dozen milliseconds. */
function printContents({ options }: S3Request, page: Page, listing: Listing, owner: Xml | undefined): Promise<Xml[]> {
  return inSlices(options.clock, collect(contentsOf(page, listing, owner)));
}

function* contentsOf({ items, groups }: Page, { show }: Listing, owner: Xml | undefined): Generator<Xml> {
  for (const { key, uploadedAt, etag, size, storageClass } of items) {
    // One template string each: for a thousand entries, separate elements take a millisecond longer.
    yield `<Contents><Key>${escapeText(show(key))}</Key><LastModified>${printTime(uploadedAt)}</LastModified>` +
      `<ETag>&quot;${etag}&quot;</ETag><Size>${size}</Size>` +
      `<StorageClass>${printStorageClass(storageClass)}</StorageClass>${owner ?? ''}</Contents>`;
  }
  for (const group of groups) yield parent('CommonPrefixes', element('Prefix', show(group)));
}

/** The account, as the owner of everything in it. */
export function ownerOf({ caller }: S3Request): Xml {
  return parent('Owner', element('ID', caller.accountId), element('DisplayName', caller.accountId));
}

/** A position that holds for one prefix and delimiter. */
function makeToken(cursor: string, listing: Listing): string {
  return `${digestOf(cursor, listing)}.${cursor}`;
}

function readToken(token: string, listing: Listing): string {
  const cursor = token.slice(token.indexOf('.') + 1);
  if (!token.includes('.') || makeToken(cursor, listing) !== token) {
    throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect');
  }
  return cursor;
}

function digestOf(cursor: string, { prefix, delimiter }: Listing): string {
  const text = JSON.stringify([prefix, delimiter, cursor]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 12);
}

/** The same account, as who began an upload. */
export function initiatorOf({ caller }: S3Request): Xml {
  return parent('Initiator', element('ID', caller.accountId), element('DisplayName', caller.accountId));
}
