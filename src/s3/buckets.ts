/** Operations on buckets, and what is asked about them that has one answer here. */
import { finished } from '../base/slices.js';
import { createBucket, deleteBucket, listBuckets } from '../bucket/buckets.js';
import { readDocument, readNothing } from './body.js';
import { requireBucketNamed } from './caller.js';
import { S3Error } from './errors.js';
import { ownerOf, printTime, readMaximum } from './lists.js';
import { fieldOf, type S3Request, sendEmpty, sendXml } from './request.js';
import { parameterOf } from './target.js';
import { documentOf, element, parent, readXml, textOf, type Xml } from './xml.js';

const LONGEST_CONFIGURATION = 64 * 1024;
/** Names of the one place where buckets are. */
const PLACES = new Set(['', 'auto', 'us-east-1', 'apac', 'eeur', 'enam', 'weur', 'wnam', 'oc']);
/** Buckets that are looked through for those that the token may read. */
const PAGE = 1000;

/** A token for certain buckets sees these alone. */
export async function listAllBuckets(request: S3Request): Promise<void> {
  await readNothing(request);
  const { target, caller, headers } = request;
  const named = (name: string): string | undefined => parameterOf(target.query, name) ?? fieldOf(headers, `cf-${name}`);
  const prefix = named('prefix') ?? '';
  const limit = parameterOf(target.query, 'max-buckets') === undefined ? 'max-keys' : 'max-buckets';
  const most = readMaximum(parameterOf(target.query, limit), limit) || PAGE;
  const found: Xml[] = [];
  let [next, last] = [named('continuation-token'), ''];
  let startAfter = named('start-after');
  let isTruncated = false;
  for (let isFirst = true; isFirst || next !== undefined; isFirst = false) {
    const query = { jurisdiction: 'default' as const, perPage: PAGE, cursor: next, startAfter };
    const page = await listBuckets(caller.context, caller.accountId, query);
    for (const { name, createdAt } of page.items) {
      if (!name.startsWith(prefix) || !(caller.may('buckets', 'read', name) || caller.may('objects', 'read', name)))
        continue;
      if (found.length === most) {
        isTruncated = true;
        break;
      }
      found.push(parent('Bucket', element('Name', name), element('CreationDate', printTime(createdAt))));
      last = name;
    }
    if (isTruncated) break;
    [next, startAfter] = [page.next, undefined];
  }
  const token = isTruncated ? Buffer.from(last).toString('base64url') : undefined;
  const document = documentOf(
    'ListAllMyBucketsResult',
    ownerOf(request),
    parent('Buckets', ...found),
    element('ContinuationToken', token),
    element('Prefix', prefix === '' ? undefined : prefix),
  );
  sendXml(
    request,
    document,
    token === undefined ? {} : { 'cf-is-truncated': 'true', 'cf-next-continuation-token': token },
  );
}

export async function makeBucket(request: S3Request, name: string): Promise<void> {
  const { caller } = request;
  const octets = await readDocument(request, LONGEST_CONFIGURATION);
  if (octets.length > 0) {
    const place =
      textOf(finished(readXml(octets, 'CreateBucketConfiguration', 'LocationConstraint')), 'LocationConstraint') ?? '';
    if (!PLACES.has(place.trim().toLowerCase())) throw new S3Error('InvalidLocationConstraint');
  }
  await createBucket(caller.context, caller.accountId, { name, jurisdiction: 'default' });
  sendEmpty(request, 200, { location: `/${name}` });
}

export async function removeBucket(request: S3Request, name: string): Promise<void> {
  await readNothing(request);
  await deleteBucket(request.caller.context, request.caller.accountId, name, 'default');
  sendEmpty(request, 204);
}

export async function headBucket(request: S3Request, name: string): Promise<void> {
  await readNothing(request);
  requireBucketNamed(request.caller, name);
  sendEmpty(request, 200, { 'x-amz-bucket-region': 'auto' });
}

/** An answer that is the same for every bucket. */
function sendAlways(document: Buffer): (request: S3Request, name: string) => Promise<void> {
  return async (request, name) => {
    await readNothing(request);
    requireBucketNamed(request.caller, name);
    sendXml(request, document);
  };
}

export const getBucketLocation = sendAlways(Buffer.from(documentOf('LocationConstraint', 'auto')));

export const getBucketVersioning = sendAlways(documentOf('VersioningConfiguration'));

export const getBucketEncryption = sendAlways(
  documentOf(
    'ServerSideEncryptionConfiguration',
    parent(
      'Rule',
      parent('ApplyServerSideEncryptionByDefault', element('SSEAlgorithm', 'AES256')),
      element('BucketKeyEnabled', true),
    ),
  ),
);

/** The account may do everything; nobody else is named. */
export async function getAcl(request: S3Request, name: string, key?: string): Promise<void> {
  await readNothing(request);
  const { seq } = requireBucketNamed(request.caller, name);
  if (key !== undefined && !request.options.objects.find(seq, key)) throw new S3Error('NoSuchKey');
  const grantee = `<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser">${element('ID', request.caller.accountId)}${element('DisplayName', request.caller.accountId)}</Grantee>`;
  const grant = parent('Grant', grantee, element('Permission', 'FULL_CONTROL'));
  sendXml(request, documentOf('AccessControlPolicy', ownerOf(request), parent('AccessControlList', grant)));
}

/** Only what holds anyway: `private`. Anything else in headers was refused before. */
export async function putAcl(request: S3Request, name: string, key?: string): Promise<void> {
  await readNothing(request);
  if (fieldOf(request.headers, 'x-amz-acl') !== 'private') {
    throw new S3Error('NotImplemented', 'Only the ACL private is implemented, as the header x-amz-acl.');
  }
  const { seq } = requireBucketNamed(request.caller, name);
  if (key !== undefined && !request.options.objects.find(seq, key)) throw new S3Error('NoSuchKey');
  sendEmpty(request, 200);
}
