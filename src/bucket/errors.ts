/**
 * Refusals of buckets and of the object store: HTTP status, v4 code, text (v4: §15.5). The bucket application has its
 * own texts.
 */
import { defineErrors } from '../base/errors.js';

export const objectFailure = defineErrors('objects', {
  /** The bucket was deleted during the request. */
  noBucket: { status: 404, code: 10006, text: 'The specified bucket does not exist.' },
  missing: { status: 404, code: 10007, text: 'The specified key does not exist.' },
  metadataTooLarge: { status: 400, code: 10012, text: 'The metadata of the object is larger than {limit} octets.' },
  /** It never was, was given up or completed. */
  noUpload: { status: 404, code: 10024, text: 'The specified multipart upload does not exist.' },
  badPart: { status: 400, code: 10025, text: 'One or more of the specified parts could not be found.' },
  partTooSmall: { status: 400, code: 10011, text: 'A part that is not the last one is smaller than {least} octets.' },
  noParts: { status: 501, code: 10001, text: 'Uploads in parts need a place for large bodies, such as --objects.' },
  tooManyUploads: { status: 400, code: 10001, text: 'The bucket has {most} uploads that are not complete.' },
  tooManyUploadsInAll: { status: 400, code: 10001, text: 'The account has {most} uploads that are not complete.' },
  incomplete: { status: 400, code: 10013, text: 'The body ended before its announced length.' },
  badKey: { status: 400, code: 10020, text: 'The specified object name is not valid.' },
  precondition: { status: 412, code: 10031, text: 'At least one of the preconditions you specified did not hold.' },
  badChecksum: { status: 400, code: 10037, text: 'The checksum you specified is not that of the body.' },
  badCursor: {
    status: 400,
    code: 9207,
    text: 'Query parameter cursor is invalid: expected the cursor of a page.',
  },
  range: { status: 416, code: 10039, text: 'The requested range cannot be satisfied.' },
  locked: { status: 403, code: 10069, text: 'The object is locked by a rule of its bucket.' },
  tooManyOpen: { status: 503, code: 10043, text: 'Too many objects are being read at the moment.' },
  storageAway: { status: 503, code: 10001, text: 'The bodies of objects cannot be reached at the moment.' },
  tooLarge: { status: 413, code: 100100, text: 'The object is too large: at most {limit} octets are accepted.' },
});

export const bucketFailure = defineErrors('buckets', {
  exists: { status: 409, code: 10004, text: 'The bucket you tried to create already exists, and you own it.' },
  badName: { status: 400, code: 10005, text: 'The specified bucket name is not valid.' },
  missing: { status: 404, code: 10006, text: 'The specified bucket does not exist.' },
  notEmpty: { status: 409, code: 10008, text: 'The bucket you tried to delete is not empty (account {account})' },
  tooMany: { status: 400, code: 10009, text: 'The account has reached its limit of {limit} buckets.' },
  noRoute: { status: 404, code: 10015, text: 'No route of a bucket has this path.' },
  /** The codes of domains are ours; the vendor documents none. */
  domainMissing: { status: 404, code: 10060, text: 'The custom domain {domain} is not attached to this bucket.' },
  domainTaken: { status: 409, code: 10061, text: 'The custom domain {domain} is already attached to a bucket.' },
  badDomain: { status: 400, code: 10062, text: 'The custom domain is not valid: {reason}.' },
  foreignZone: {
    status: 400,
    code: 10063,
    text: 'The zone of a custom domain must be in the account of the bucket.',
  },
  notManaged: {
    status: 400,
    code: 10064,
    text: 'There is no managed domain here; attach a custom domain to the bucket.',
  },
  tooManyDomains: { status: 400, code: 10065, text: 'A bucket can have no more than {limit} custom domains.' },
  corsMissing: { status: 404, code: 10059, text: 'The CORS configuration does not exist.' },
  noSigner: {
    status: 409,
    code: 10066,
    text: '{token} could sign the link: it needs a secret for S3, permission, and no limit to networks. Make one with POST …/keys of the bucket.',
  },
  badRule: { status: 400, code: 9207, text: 'The rules are not valid: {reason}.' },
  badInput: { status: 400, code: 9207, text: '{reason}' },
  badBinding: { status: 400, code: 9207, text: '{name} cannot name a binding: {reason}.' },
});
