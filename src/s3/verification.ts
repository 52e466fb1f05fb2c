/** Who sends a request, and what is asked: found before anything of its body is read. */
import { detachedText } from '../base/bytes.js';
import { clientAddress } from '../http/forwarded.js';
import { type AccessKey, requireAccessKey, requireTemporary } from './caller.js';
import { S3Error } from './errors.js';
import { chooseOperation, type Operation } from './operations.js';
import type { DoorOptions, Fields } from './request.js';
import { readAuthorization } from './signature/authorization.js';
import type { RequestHead } from './signature/request-head.js';
import {
  createSigningKeys,
  requireTimely,
  type Signed,
  type SigningKeys,
  verifySignature,
} from './signature/verify.js';
import { readTarget, type Target } from './target.js';

/** A request whose signature is right. */
export interface Verified {
  readonly target: Target;
  readonly fieldsOf: () => Fields;
  readonly signed: Signed;
  readonly accessKey: AccessKey;
  readonly operation: Operation;
  readonly address: string;
}

/**
 * `peer`: the address of the connection. `isBare`: whether the request has neither an `Authorization` field nor one of Amazon's, if that
 * is known. Throws for a request that is not signed as it must be.
 */
export type Verify = (raw: RequestHead, peer: string, isBare?: boolean) => Verified;

export function createVerification(options: DoorOptions): Verify {
  const keys = createSigningKeys();
  const links = new Map<string, Link>();
  return (raw, peer, isBare = isBareOf(raw.headers)) => {
    const name = isBare ? `${raw.method} ${raw.headers.host} ${raw.url}` : undefined;
    const before = name === undefined ? undefined : links.get(name);
    const again = before && verifyAgain(options, before, raw, peer);
    if (again) return again;
    const verified = verifyRequest(options, keys, raw, peer);
    if (name !== undefined && isOfHostAlone(verified.signed) && name.length <= LONGEST_LINK) {
      if (links.size >= MOST_LINKS) links.clear();
      const { target, signed, accessKey, operation } = verified;
      links.set(detachedText(name), { target, signed, accessKey, operation });
    }
    return verified;
  };
}

/** What is kept of a request with a link: neither its connection nor its fields. */
type Link = Pick<Verified, 'target' | 'signed' | 'accessKey' | 'operation'>;

/** Links are asked for by everybody who sees the page that they are in. */
const MOST_LINKS = 1000;
const LONGEST_LINK = 2048;

function isBareOf(headers: Fields): boolean {
  for (const name in headers) if (name === 'authorization' || name.startsWith('x-amz-')) return false;
  return true;
}

/** Whether nothing but method, target, host and secret has been signed. */
function isOfHostAlone({ authorization }: Signed): boolean {
  const { expires, signedHeaders, sessionToken } = authorization;
  return (
    expires !== undefined && sessionToken === undefined && signedHeaders.length === 1 && signedHeaders[0] === 'host'
  );
}

/** The same link: its signature is right for as long as the secret is the same. */
function verifyAgain(options: DoorOptions, before: Link, raw: RequestHead, peer: string): Verified | undefined {
  const { authorization } = before.signed;
  requireTimely(authorization, options.clock.nowMs());
  const accessKey = requireAccessKey(options.base, authorization.accessKeyId);
  if (accessKey.secret !== before.accessKey.secret) return undefined;
  const { target, signed, operation } = before;
  const fieldsOf = (): Fields => fieldsWith(raw, target, true);
  return { target, fieldsOf, signed, accessKey, operation, address: addressOf(options, raw, peer) };
}

function verifyRequest(options: DoorOptions, keys: SigningKeys, raw: RequestHead, peer: string): Verified {
  const { base, clock } = options;
  const nowMs = clock.nowMs();
  const target = readTarget(raw.url!, raw.headers.host!, options.domain);
  const authorization = readAuthorization(raw, target.query);
  if (!authorization) throw unsigned(raw, target);
  requireTimely(authorization, nowMs);
  const parent = requireAccessKey(base, authorization.accessKeyId);
  const { sessionToken } = authorization;
  const accessKey =
    sessionToken === undefined ? parent : requireTemporary(parent, sessionToken, { host: raw.headers.host!, nowMs });
  const signed = verifySignature(raw, target, authorization, keys.keyOf(accessKey.secret, authorization));
  const address = addressOf(options, raw, peer);
  const fieldsOf = (): Fields => fieldsWith(raw, target, authorization.expires !== undefined);
  const operation = chooseOperation(raw.method!, target, fieldsOf);
  return { target, fieldsOf, signed, accessKey, operation, address };
}

function addressOf({ trustedProxies }: DoorOptions, { headers }: RequestHead, peer: string): string {
  const address = clientAddress(peer, headers, trustedProxies);
  if (address === undefined) throw new S3Error('BadRequest', 'The fields of a proxy cannot be read.');
  return address;
}

/** The error for an unsigned request. Form uploads carry their signature in the body. */
function unsigned({ method, headers }: RequestHead, { bucket, key }: Target): S3Error {
  const isForm = /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
  if (method !== 'POST' || bucket === undefined || key !== undefined || !isForm) return new S3Error('AccessDenied');
  return new S3Error('NotImplemented', 'Form uploads are not implemented.');
}

/** Those who sign links move fields that they cannot put into a link to its query. */
function fieldsWith({ headers }: RequestHead, { query }: Target, isPresigned: boolean): Fields {
  if (!isPresigned) return headers;
  const fields: Record<string, string | string[] | undefined> = {};
  for (const [name, value] of query) {
    const lower = name.toLowerCase();
    if (lower.startsWith('x-amz-')) fields[lower] = value;
  }
  return Object.assign(fields, headers);
}
