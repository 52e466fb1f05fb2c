/** Refusals of zones, records, accounts and credentials: HTTP status, v4 code, text (v4: §15). */
import { type AppError, defineErrors, type FailureOptions } from '../base/errors.js';

export const zoneFailure = defineErrors('zones', {
  missing: { status: 404, code: 1001, text: 'Invalid zone identifier' },
  foreign: { status: 403, code: 10000, text: 'Authentication error' },
  exists: { status: 400, code: 1061, text: '{name} already exists' },
  badName: { status: 400, code: 1002, text: 'Invalid domain name: {reason}.' },
  subdomainOfForeign: {
    status: 400,
    code: 1116,
    text: 'Please ensure you are providing the root domain and not any subdomains (e.g., example.com, not subdomain.example.com)',
  },
  stale: { status: 412, code: 10412, text: 'The zone is not in the state that was demanded. Its entity tag is {tag}.' },
  changeMissing: { status: 404, code: 10404, text: 'The zone has no change {change}, or it is no longer kept.' },
  badMoment: {
    status: 400,
    code: 9207,
    text: '{text} is no moment: expected a time as of RFC 3339, a serial, a change, or one of change:N, serial:N, version:N.',
  },
  notKept: { status: 404, code: 10410, text: '{reason}' },
  held: { status: 400, code: 1118, text: '{name} is held by another account.' },
  holdMissing: { status: 404, code: 1003, text: 'No Zone Hold Found' },
  purgeSelector: {
    status: 400,
    code: 1012,
    text: 'Request must contain one of "purge_everything", "files", "tags", "hosts" or "prefixes"',
  },
  badPurge: { status: 400, code: 1012, text: 'Invalid purge request: {reason}.' },
  settingUnknown: { status: 400, code: 1003, text: 'Undefined zone setting: {name}' },
  scansBusy: { status: 429, code: 971, text: '{most} scans are under way. Please wait and try again.' },
  badSetting: { status: 400, code: 1007, text: 'Invalid value for zone setting {name}' },
  typeUnsupported: { status: 400, code: 1002, text: 'Zones of type {type} are not supported.' },
  badEdit: { status: 400, code: 1006, text: '{reason}' },
  importExists: {
    status: 400,
    code: 1061,
    text: '{name} already exists. Replace it explicitly to import it again.',
  },
});

export const recordFailure = defineErrors('records', {
  missing: { status: 404, code: 81044, text: 'Record does not exist.' },
  badBody: { status: 400, code: 9207, text: 'Request body is invalid.' },
  badTtl: { status: 400, code: 9208, text: 'Failed to parse. ttl must be a number' },
  badName: { status: 400, code: 9000, text: 'DNS name is invalid.' },
  notProxiableTarget: { status: 400, code: 9003, text: 'Target {target} is not allowed for a proxied record.' },
  ownAddress: {
    status: 400,
    code: 9003,
    text: 'Target {target} is not allowed for a record: it is an address of this service.',
  },
  notProxiableType: { status: 400, code: 9004, text: 'This record type cannot be proxied.' },
  selfReference: { status: 400, code: 9039, text: 'CNAME content cannot reference itself.' },
  ttlRange: {
    status: 400,
    code: 9021,
    text: 'TTL must be between {minimum} and {maximum} seconds, or 1 for Automatic.',
  },
  tooManyTags: { status: 400, code: 9300, text: 'DNS record has {count} tags, exceeding the quota of {quota}.' },
  badTag: { status: 400, code: 9301, text: 'Tag {tag} is invalid: {reason}.' },
  commentTooLong: {
    status: 400,
    code: 9313,
    text: 'DNS record comment exceeds the maximum length of {maximum} characters.',
  },
  validation: { status: 400, code: 1004, text: 'DNS Validation Error: {reason}.' },
  identical: { status: 400, code: 81058, text: 'An identical record already exists.' },
  hostExists: {
    status: 400,
    code: 81053,
    text: 'An A, AAAA, or CNAME record with that host already exists.',
  },
  cnameExists: { status: 400, code: 81054, text: 'A CNAME record with that host already exists.' },
  addressExists: {
    status: 400,
    code: 81055,
    text: 'An A, AAAA, or CNAME record with that host already exists.',
  },
  nameServerExists: { status: 400, code: 81056, text: 'NS records with that host already exist.' },
  quota: { status: 400, code: 81045, text: 'Record quota exceeded.' },
  importFault: { status: 400, code: 1004, text: 'Line {line}: {reason}' },
});

export const accountFailure = defineErrors('accounts', {
  missing: { status: 404, code: 7003, text: 'No account has the identifier {id}.' },
  foreign: { status: 403, code: 9109, text: 'Unauthorized to access requested resource' },
  none: { status: 403, code: 9109, text: 'This credential belongs to no account.' },
  notAllowed: { status: 403, code: 1002, text: 'Only a super administrator may do this.' },
  readOnly: { status: 403, code: 10000, text: 'Authentication error' },
  outOfScope: { status: 403, code: 10000, text: 'Authentication error' },
  badInput: { status: 400, code: 9207, text: '{reason}' },
  keyMissing: { status: 404, code: 7003, text: 'No credential has the identifier {id}.' },
  keyExists: { status: 400, code: 9207, text: 'That secret is in use already.' },
});

/** (v4: §15.5) */
export const bucketFailure = defineErrors('buckets', {
  exists: { status: 409, code: 10004, text: 'The bucket you tried to create already exists, and you own it.' },
  badName: { status: 400, code: 10005, text: 'The specified bucket name is not valid.' },
  missing: { status: 404, code: 10006, text: 'The specified bucket does not exist.' },
  notEmpty: { status: 409, code: 10008, text: 'The bucket you tried to delete is not empty (account {account})' },
  tooMany: { status: 400, code: 10009, text: 'The account has as many buckets as it may have: {limit}.' },
  noRoute: { status: 404, code: 10015, text: 'No route of a bucket has this path.' },
  corsMissing: { status: 404, code: 10059, text: 'The CORS configuration does not exist.' },
  badInput: { status: 400, code: 9207, text: '{reason}' },
  badBinding: { status: 400, code: 9207, text: '{name} cannot name a binding: {reason}.' },
});

export const storeUnavailable = defineErrors('store', {
  busy: {
    status: 503,
    code: 1500,
    text: 'Another change is taking long to be stored. Nothing was changed; try again.',
  },
  full: { status: 507, code: 1500, text: 'There is no space left to store the change. Nothing was changed.' },
});

/** A wrong body (v4: 9207); what is wrong with it goes into the chain, since clients know the text. */
export function badBody(reason: string, pointer?: string): AppError {
  const options: FailureOptions = { chain: [{ code: 9207, message: reason }], ...(pointer ? { pointer } : {}) };
  return recordFailure('badBody', {}, options);
}

/** A duplicate is told in both the current and the older form: clients look for one or the other (v4: §15.3). */
export function identicalRecord(): AppError {
  return recordFailure('identical', {}, { also: [{ code: 81057, message: 'The record already exists.' }] });
}
