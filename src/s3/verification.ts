/** Who sends a request, and what is asked: found before anything of its body is read. */
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
  readonly headers: Fields;
  readonly signed: Signed;
  readonly accessKey: AccessKey;
  readonly operation: Operation;
  readonly address: string;
}

/** `peer`: the address of the connection. Throws for a request that is not signed as it must be. */
export type Verify = (raw: RequestHead, peer: string) => Verified;

export function createVerification(options: DoorOptions): Verify {
  const keys = createSigningKeys();
  return (raw, peer) => verifyRequest(options, keys, raw, peer);
}

function verifyRequest(options: DoorOptions, keys: SigningKeys, raw: RequestHead, peer: string): Verified {
  const { base, clock } = options;
  const target = readTarget(raw.url!, raw.headers.host!, options.domain);
  const authorization = readAuthorization(raw, target.query);
  if (!authorization) throw unsigned(raw, target);
  requireTimely(authorization, clock.nowMs());
  const parent = requireAccessKey(base, authorization.accessKeyId);
  const { sessionToken } = authorization;
  const now = { host: raw.headers.host!, nowMs: clock.nowMs() };
  const accessKey = sessionToken === undefined ? parent : requireTemporary(parent, sessionToken, now);
  const signed = verifySignature(raw, target, authorization, keys.keyOf(accessKey.secret, authorization));
  const address = clientAddress(peer, raw.headers, options.trustedProxies);
  if (address === undefined) throw new S3Error('BadRequest', 'The fields of a proxy cannot be read.');
  const headers = fieldsOf(raw, target, authorization.expires !== undefined);
  const operation = chooseOperation(raw.method!, target, headers);
  return { target, headers, signed, accessKey, operation, address };
}

/** The error for an unsigned request. Form uploads carry their signature in the body. */
function unsigned({ method, headers }: RequestHead, { bucket, key }: Target): S3Error {
  const isForm = /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
  if (method !== 'POST' || bucket === undefined || key !== undefined || !isForm) return new S3Error('AccessDenied');
  return new S3Error('NotImplemented', 'Form uploads are not implemented.');
}

/** Those who sign links move fields that they cannot put into a link to its query. */
function fieldsOf({ headers }: RequestHead, { query }: Target, isPresigned: boolean): Fields {
  if (!isPresigned) return headers;
  const moved = query.map(([name, value]) => [name.toLowerCase(), value] as const);
  return { ...Object.fromEntries(moved.filter(([name]) => name.startsWith('x-amz-'))), ...headers };
}
