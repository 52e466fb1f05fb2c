/** What S3 clients store with an object, and how they read it back. */
import { isUtf8 } from 'node:buffer';
import { objectHeaders, readMetadata } from '../bucket/metadata.js';
import type { HttpMetadata, ObjectItem } from '../bucket/object-store.js';
import type { StorageClass } from '../store/objects/buckets.js';
import { S3Error } from './errors.js';
import { type Fields, fieldOf } from './request.js';

const PREFIX = 'x-amz-meta-';
const CLASSES: Readonly<Record<string, StorageClass>> = { STANDARD: 'Standard', STANDARD_IA: 'InfrequentAccess' };

/** Headers that would change what is stored, and are not implemented: leaving them out would do something else than was asked. */
const NOT_IMPLEMENTED = [
  /^x-amz-server-side-encryption-(customer-|aws-kms-|context|bucket-key)/,
  /^x-amz-copy-source-server-side-encryption-/,
  /^x-amz-object-lock-/,
  /^x-amz-tagging$/,
  /^x-amz-grant-/,
  /^x-amz-website-redirect-location$/,
  /^x-amz-write-offset-bytes$/,
  /^x-amz-mfa$/,
];

/** Throws 501 for what is asked for with a header and not implemented, and 403 for another account's bucket. */
export function refuseUnknown(headers: Fields, accountId: string): void {
  for (const name of Object.keys(headers)) {
    if (NOT_IMPLEMENTED.some((pattern) => pattern.test(name))) {
      throw new S3Error('NotImplemented', `The header ${name} is not implemented.`);
    }
  }
  const encryption = fieldOf(headers, 'x-amz-server-side-encryption');
  if (encryption !== undefined && encryption !== 'AES256') {
    throw new S3Error('NotImplemented', 'Only the encryption AES256 is implemented.');
  }
  const acl = fieldOf(headers, 'x-amz-acl');
  if (acl !== undefined && acl !== 'private' && acl !== 'bucket-owner-full-control') {
    throw new S3Error('NotImplemented', `The ACL ${acl.slice(0, 64)} is not implemented.`);
  }
  for (const name of ['x-amz-expected-bucket-owner', 'x-amz-source-expected-bucket-owner']) {
    const owner = fieldOf(headers, name);
    if (owner !== undefined && owner !== accountId) throw new S3Error('AccessDenied');
  }
}

/** Undefined: the bucket's class. */
export function readStorageClass(headers: Fields): StorageClass | undefined {
  const name = fieldOf(headers, 'x-amz-storage-class');
  if (name === undefined) return undefined;
  const known = CLASSES[name];
  if (known === undefined) throw new S3Error('InvalidStorageClass');
  return known;
}

export function printStorageClass(storageClass: StorageClass): string {
  return storageClass === 'Standard' ? 'STANDARD' : 'STANDARD_IA';
}

/** The six headers; `aws-chunked` is how the body came, and no coding of the object. */
export function readHttpMetadata(headers: Fields): HttpMetadata {
  const codings = fieldOf(headers, 'content-encoding')
    ?.split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '' && text.toLowerCase() !== 'aws-chunked');
  const values = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? textOfOctets(value) : value]),
  );
  const coding = codings?.join(', ');
  return readMetadata({ ...values, 'content-encoding': coding === '' ? undefined : coding });
}

/** `x-amz-meta-…` by the rest of the name. */
export function readCustomMetadata(headers: Fields): Record<string, string> {
  const found: [string, string][] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(PREFIX) || value === undefined) continue;
    found.push([name.slice(PREFIX.length), decodeWords(textOfOctets(String(value)))]);
  }
  return Object.fromEntries(found);
}

/** node:http makes a character of each octet; clients send UTF-8. */
function textOfOctets(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value;
  const octets = Buffer.from(value, 'latin1');
  return isUtf8(octets) ? octets.toString('utf8') : value;
}

const ENCODED_WORD = /=\?utf-8\?([bq])\?([^?\s]*)\?=(?:\s+(?==\?))?/gi;

/** Encoded words of RFC 2047 §2. */
function decodeWords(value: string): string {
  return value.replace(ENCODED_WORD, (whole, encoding: string, text: string) => {
    const octets =
      encoding.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64')
        : Buffer.from(
            text
              .replaceAll('_', ' ')
              .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
            'latin1',
          );
    return isUtf8(octets) ? octets.toString('utf8') : whole;
  });
}

const PLAIN = /^[\x20-\x7e]*$/;
const NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** Header fields of an object, except its length. Names that no header can have are counted instead. */
export function objectFields(item: ObjectItem): Record<string, string> {
  const fields = objectHeaders(item);
  for (const [name, value] of Object.entries(fields)) if (!PLAIN.test(value)) fields[name] = encodeWord(value);
  let missing = 0;
  for (const [name, value] of Object.entries(item.customMetadata)) {
    if (NAME.test(name.toLowerCase()))
      fields[PREFIX + name.toLowerCase()] = PLAIN.test(value) ? value : encodeWord(value);
    else missing++;
  }
  if (missing > 0) fields['x-amz-missing-meta'] = String(missing);
  if (item.storageClass !== 'Standard') fields['x-amz-storage-class'] = printStorageClass(item.storageClass);
  return fields;
}

const encodeWord = (value: string): string => `=?UTF-8?B?${Buffer.from(value).toString('base64')}?=`;
