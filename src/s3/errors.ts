/** Refusals of the S3 API: code, HTTP status, text. Those of the use cases are translated here. */
import { AppError } from '../base/errors.js';
import { temporaryFailure } from '../control/kernel/errors.js';

const CODES = {
  AccessDenied: [403, 'Access Denied.'],
  AccessForbidden: [403, 'CORSResponse: This CORS request is not allowed.'],
  AuthorizationHeaderMalformed: [400, 'The authorization header is malformed.'],
  AuthorizationQueryParametersError: [400, 'The query parameters of the signature are malformed.'],
  BadDigest: [400, 'The checksum or Content-MD5 that you specified is not that of the body.'],
  BadRequest: [400, 'The request is malformed.'],
  BucketAlreadyOwnedByYou: [409, 'The bucket you tried to create already exists, and you own it.'],
  BucketNotEmpty: [409, 'The bucket you tried to delete is not empty.'],
  EntityTooLarge: [400, 'The object is larger than the largest accepted object.'],
  EntityTooSmall: [400, 'A part that is not the last one is smaller than 5 MiB.'],
  ExpiredRequest: [400, 'Request has expired.'],
  ExpiredToken: [400, 'The provided token has expired.'],
  IncompleteBody: [400, 'The body ended before its announced length, or is longer.'],
  InternalError: [500, 'The request failed unexpectedly.'],
  InvalidAccessKeyId: [403, 'The access key ID you provided does not exist.'],
  InvalidArgument: [400, 'Invalid argument.'],
  InvalidBucketName: [400, 'The specified bucket name is not valid.'],
  InvalidDigest: [400, 'The checksum or Content-MD5 that you specified is not valid.'],
  InvalidLocationConstraint: [400, 'The specified location constraint is not valid.'],
  InvalidPart: [400, 'A part is missing, or its ETag is another one.'],
  InvalidPartOrder: [400, 'The parts are not in ascending order.'],
  InvalidRange: [416, 'The requested range cannot be satisfied.'],
  InvalidRequest: [400, 'The request is not valid.'],
  InvalidStorageClass: [400, 'The storage class you specified is not valid.'],
  InvalidToken: [400, 'The provided token is malformed or otherwise invalid.'],
  InvalidURI: [400, 'The target of the request is not valid.'],
  InsufficientStorage: [507, 'There is no space left to store the object.'],
  KeyTooLongError: [400, 'The key is longer than 1024 octets.'],
  MalformedTrailerError: [400, 'The trailer of the body is not what was announced.'],
  MalformedXML: [400, 'The XML you provided was not well-formed or did not validate.'],
  MetadataTooLarge: [400, 'The metadata of the object is larger than 8192 octets.'],
  MethodNotAllowed: [405, 'The specified method is not allowed against this resource.'],
  MissingContentLength: [411, 'You must provide the Content-Length HTTP header.'],
  NoSuchBucket: [404, 'The specified bucket does not exist.'],
  NoSuchCORSConfiguration: [404, 'The CORS configuration does not exist.'],
  NoSuchKey: [404, 'The specified key does not exist.'],
  NoSuchLifecycleConfiguration: [404, 'The lifecycle configuration does not exist.'],
  NoSuchUpload: [404, 'The specified multipart upload does not exist.'],
  NotImplemented: [501, 'A header or parameter you provided implies functionality that is not implemented.'],
  ObjectLockedByBucketPolicy: [403, 'The object is locked by a rule of its bucket.'],
  PreconditionFailed: [412, 'At least one of the preconditions you specified did not hold.'],
  QuotaExceeded: [403, 'The account has reached its limit.'],
  RequestTimeTooSkewed: [403, 'The difference between the request time and the time of the server is too large.'],
  ServiceUnavailable: [503, 'The service is not available at the moment.'],
  SignatureDoesNotMatch: [
    403,
    'The request signature we calculated does not match the signature you provided. Check your secret access key and signing method.',
  ],
  SlowDown: [503, 'Too many objects are being read at the moment.'],
  TooManyBuckets: [400, 'The account has reached its limit of buckets.'],
  XAmzContentSHA256Mismatch: [400, "The provided 'x-amz-content-sha256' header does not match what was computed."],
} as const satisfies Readonly<Record<string, readonly [number, string]>>;

export type S3Code = keyof typeof CODES;

/** A refusal as S3 clients read it. */
export class S3Error extends Error {
  readonly status: number;

  constructor(
    readonly code: S3Code,
    message: string = CODES[code][1],
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'S3Error';
    this.status = CODES[code][0];
  }
}

/** Keys of refusals of the use cases, and what they are here. */
const TRANSLATED: Readonly<Record<string, S3Code>> = {
  'objects.noBucket': 'NoSuchBucket',
  'objects.missing': 'NoSuchKey',
  'objects.metadataTooLarge': 'MetadataTooLarge',
  'objects.incomplete': 'IncompleteBody',
  'objects.noUpload': 'NoSuchUpload',
  'objects.badPart': 'InvalidPart',
  'objects.partTooSmall': 'EntityTooSmall',
  'objects.noParts': 'NotImplemented',
  'objects.badKey': 'KeyTooLongError',
  'objects.locked': 'ObjectLockedByBucketPolicy',
  'objects.precondition': 'PreconditionFailed',
  'objects.badChecksum': 'BadDigest',
  'objects.badCursor': 'InvalidArgument',
  'objects.range': 'InvalidRange',
  'objects.tooManyOpen': 'SlowDown',
  'objects.storageAway': 'ServiceUnavailable',
  'objects.tooLarge': 'EntityTooLarge',
  'accounts.missing': 'AccessDenied',
  'buckets.exists': 'BucketAlreadyOwnedByYou',
  'buckets.badName': 'InvalidBucketName',
  'buckets.missing': 'NoSuchBucket',
  'buckets.notEmpty': 'BucketNotEmpty',
  'buckets.tooMany': 'TooManyBuckets',
};
/** When to try again what could not be stored. */
const LATER = { 'retry-after': '10' };

/** What any thrown value is for an S3 client; undefined for a bug. */
export function s3ErrorOf(error: unknown): S3Error | undefined {
  if (error instanceof S3Error) return error;
  const refused = error instanceof AppError ? error : temporaryFailure(error);
  if (!refused) return undefined;
  const code = TRANSLATED[refused.key];
  if (code !== undefined) return new S3Error(code, undefined, refused.key === 'objects.tooManyOpen' ? LATER : {});
  if (refused.key === 'buckets.badRule') return new S3Error('InvalidArgument', refused.message);
  if (refused.key.startsWith('quotas.')) return new S3Error('QuotaExceeded', refused.message);
  if (refused.status === 507) return new S3Error('InsufficientStorage', refused.message);
  if (refused.status === 503) return new S3Error('ServiceUnavailable', refused.message, LATER);
  if (refused.status === 403) return new S3Error('AccessDenied');
  return refused.status < 500 ? new S3Error('InvalidRequest', refused.message) : undefined;
}
