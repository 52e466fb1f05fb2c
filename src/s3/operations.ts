/**
 * The one table of operations. Method and place choose a row, and sub-resources of S3 in the query do before anything else: a request
 * with one that has no row is answered with 501, and never as if it were without it.
 */
import type { Area, Level } from '../control/guard/permissions.js';
import { deleteBucketCors, getBucketCors, putBucketCors } from './bucket-cors.js';
import { deleteBucketLifecycle, getBucketLifecycle, putBucketLifecycle } from './bucket-lifecycle.js';
import {
  getAcl,
  getBucketEncryption,
  getBucketLocation,
  getBucketVersioning,
  headBucket,
  listAllBuckets,
  makeBucket,
  putAcl,
  removeBucket,
} from './buckets.js';
import { requireBucketNamed } from './caller.js';
import { S3Error } from './errors.js';
import { listObjectsV1, listObjectsV2 } from './lists.js';
import { refuseUnknown } from './metadata.js';
import {
  abortUpload,
  completeUpload,
  copyPart,
  createUpload,
  listParts,
  listUploads,
  uploadPart,
} from './multipart.js';
import { getObject, getObjectAttributes, getObjectTagging, headObject } from './read-object.js';
import { type Fields, fieldOf, type S3Request } from './request.js';
import { parameterOf, type Target } from './target.js';
import { copyObject, deleteObject, deleteObjects, putObject } from './write-object.js';

export interface Operation {
  /** Its name in the documentation of S3. */
  readonly name: string;
  readonly area: Area;
  readonly level: Level;
  run(request: S3Request, bucket: string, key: string): Promise<void>;
}

/** Parameters of the query that make a request another operation. */
const SUB_RESOURCES: ReadonlySet<string> = new Set([
  'abac',
  'accelerate',
  'acl',
  'analytics',
  'append',
  'attributes',
  'cors',
  'delete',
  'encryption',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'lifecycle',
  'location',
  'logging',
  'metadataConfiguration',
  'metadataInventoryTable',
  'metadataJournalTable',
  'metadataTable',
  'metrics',
  'notification',
  'object-lock',
  'ownershipControls',
  'policy',
  'policyStatus',
  'publicAccessBlock',
  'renameObject',
  'replication',
  'requestPayment',
  'restore',
  'retention',
  'select',
  'session',
  'tagging',
  'torrent',
  'uploadId',
  'uploads',
  'versionId',
  'versioning',
  'versions',
  'website',
]);

type Run = Operation['run'];
const row = (name: string, area: Area, level: Level, run: Run): Operation => ({ name, area, level, run });
const atBucket =
  (run: (request: S3Request, bucket: ReturnType<typeof requireBucketNamed>, key: string) => Promise<void>): Run =>
  (request, bucket, key) =>
    run(request, requireBucketNamed(request.caller, bucket), key);

/** By place, method and sub-resources. */
const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['service GET', row('ListBuckets', 'objects', 'read', listAllBuckets)],
  ['bucket PUT', row('CreateBucket', 'buckets', 'write', makeBucket)],
  ['bucket HEAD', row('HeadBucket', 'objects', 'read', headBucket)],
  ['bucket DELETE', row('DeleteBucket', 'buckets', 'write', removeBucket)],
  ['bucket GET', row('ListObjects', 'objects', 'read', atBucket(listObjectsV1))],
  ['bucket GET list-type', row('ListObjectsV2', 'objects', 'read', atBucket(listObjectsV2))],
  ['bucket GET location', row('GetBucketLocation', 'objects', 'read', getBucketLocation)],
  ['bucket GET encryption', row('GetBucketEncryption', 'objects', 'read', getBucketEncryption)],
  ['bucket GET versioning', row('GetBucketVersioning', 'objects', 'read', getBucketVersioning)],
  ['bucket GET acl', row('GetBucketAcl', 'objects', 'read', (request, bucket) => getAcl(request, bucket))],
  ['bucket PUT acl', row('PutBucketAcl', 'buckets', 'write', (request, bucket) => putAcl(request, bucket))],
  ['bucket GET cors', row('GetBucketCors', 'buckets', 'read', getBucketCors)],
  ['bucket PUT cors', row('PutBucketCors', 'buckets', 'write', putBucketCors)],
  ['bucket DELETE cors', row('DeleteBucketCors', 'buckets', 'write', deleteBucketCors)],
  ['bucket GET lifecycle', row('GetBucketLifecycleConfiguration', 'buckets', 'read', getBucketLifecycle)],
  ['bucket PUT lifecycle', row('PutBucketLifecycleConfiguration', 'buckets', 'write', putBucketLifecycle)],
  ['bucket DELETE lifecycle', row('DeleteBucketLifecycle', 'buckets', 'write', deleteBucketLifecycle)],
  ['bucket POST delete', row('DeleteObjects', 'objects', 'write', atBucket(deleteObjects))],
  ['object PUT', row('PutObject', 'objects', 'write', putObject)],
  ['object PUT copy', row('CopyObject', 'objects', 'write', copyObject)],
  ['object GET', row('GetObject', 'objects', 'read', atBucket(getObject))],
  ['object HEAD', row('HeadObject', 'objects', 'read', atBucket(headObject))],
  ['object DELETE', row('DeleteObject', 'objects', 'write', atBucket(deleteObject))],
  ['bucket GET uploads', row('ListMultipartUploads', 'objects', 'read', atBucket(listUploads))],
  ['object POST uploads', row('CreateMultipartUpload', 'objects', 'write', createUpload)],
  ['object PUT partNumber uploadId', row('UploadPart', 'objects', 'write', atBucket(uploadPart))],
  ['object PUT copy partNumber uploadId', row('UploadPartCopy', 'objects', 'write', copyPart)],
  ['object POST uploadId', row('CompleteMultipartUpload', 'objects', 'write', atBucket(completeUpload))],
  ['object DELETE uploadId', row('AbortMultipartUpload', 'objects', 'write', atBucket(abortUpload))],
  ['object GET uploadId', row('ListParts', 'objects', 'read', atBucket(listParts))],
  ['object GET attributes', row('GetObjectAttributes', 'objects', 'read', atBucket(getObjectAttributes))],
  ['object GET tagging', row('GetObjectTagging', 'objects', 'read', atBucket(getObjectTagging))],
  ['object GET acl', row('GetObjectAcl', 'objects', 'read', getAcl)],
  ['object PUT acl', row('PutObjectAcl', 'objects', 'write', putAcl)],
]);
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE']);

/**
 * Throws 501 for an operation of S3 that is not implemented, and 405 for a request that is not an operation. `fieldsOf`: the header
 * fields, which matter only for PUT.
 */
export function chooseOperation(method: string, target: Target, fieldsOf: () => Fields): Operation {
  const place = target.bucket === undefined ? 'service' : target.key === undefined ? 'bucket' : 'object';
  const subs: string[] = [];
  for (const [name] of target.query) if (SUB_RESOURCES.has(name) && !subs.includes(name)) subs.push(name);
  if (place === 'bucket' && subs.length === 0 && method === 'GET' && parameterOf(target.query, 'list-type') === '2') {
    subs.push('list-type');
  }
  if (place === 'object' && method === 'PUT' && fieldOf(fieldsOf(), 'x-amz-copy-source') !== undefined)
    subs.push('copy');
  // Without an upload it names nothing, and must not replace the object.
  if (method === 'PUT' && parameterOf(target.query, 'partNumber') !== undefined) subs.push('partNumber');
  const plain = `${place} ${method}`;
  const found = OPERATIONS.get(subs.length === 0 ? plain : [plain, ...subs.sort()].join(' '));
  if (found) return found;
  if (!METHODS.has(method)) throw new S3Error('MethodNotAllowed');
  if (subs.length > 0) throw new S3Error('NotImplemented', `${method} with ${subs.join(' and ')} is not implemented.`);
  if (place === 'bucket' && method === 'POST') {
    throw new S3Error('NotImplemented', 'Uploads of forms are not implemented.');
  }
  throw new S3Error('MethodNotAllowed');
}

/** Checks that the caller may do it, and does it. */
export async function perform(operation: Operation, request: S3Request): Promise<void> {
  requireAllowed(operation, request);
  const { bucket, key } = request.target;
  await operation.run(request, bucket ?? '', key ?? '');
}

/** Throws unless the caller may do it, and for fields that ask for what is not implemented. */
export function requireAllowed(
  operation: Operation,
  { target, caller, headers }: Pick<S3Request, 'target' | 'caller' | 'headers'>,
): void {
  const { bucket, key } = target;
  caller.permitAction(operation.name);
  const place = key === undefined && operation.name.startsWith('List') ? { prefix: prefixOf(target) } : { key };
  if (bucket !== undefined) caller.permit(operation.area, operation.level, bucket, place);
  refuseUnknown(headers, caller.accountId);
}

/** The beginning of the keys that a list is about. */
const prefixOf = ({ query }: Target): string => parameterOf(query, 'prefix') ?? '';
