/** Refusals of records: HTTP status, v4 code, text (v4: §15.3). */
import { type AppError, defineErrors } from '../../base/errors.js';

export const recordFailure = defineErrors('records', {
  missing: { status: 404, code: 81044, text: 'Record does not exist.' },
  badTtl: { status: 400, code: 9208, text: 'Failed to parse. ttl must be a number' },
  badSearch: { status: 400, code: 9207, text: 'A search has one word or more, and {most} characters at most.' },
  badName: { status: 400, code: 9000, text: 'DNS name is invalid.' },
  notProxiableTarget: {
    status: 400,
    code: 9003,
    text: 'Target {target} is not allowed for a proxied record. It is not a public address, and allow-networks does not name its network for origins.',
  },
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
  ofPrimary: {
    status: 400,
    code: 1004,
    text: 'The records of {zone} come from its primary; change them there. With secondary_overrides in its DNS settings, its A, AAAA and CNAME records can be proxied here.',
  },
  ofSigner: {
    status: 400,
    code: 1004,
    text: '{zone} is signed by its primary; a record that is made here would have no signature.',
  },
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
  /** The code is ours; the vendor documents none. */
  ofBucket: {
    status: 400,
    code: 81059,
    text: 'The records of {name} lead to the bucket {bucket}: remove the custom domain from the bucket first.',
  },
  quota: { status: 400, code: 81045, text: 'Record quota exceeded.' },
  /** The code is ours. */
  manyNames: {
    status: 400,
    code: 1004,
    text: 'In a zone that is denied by NSEC3, one edit may make or end {most} names without records (those between a record and the zone). Nothing was changed; make several edits of it.',
  },
  importFault: { status: 400, code: 1004, text: 'Line {line}: {reason}' },
});

/** A duplicate is reported in both the current and the older form, because clients check either (v4: §15.3). */
export function identicalRecord(): AppError {
  return recordFailure('identical', {}, { also: [{ code: 81057, message: 'The record already exists.' }] });
}
