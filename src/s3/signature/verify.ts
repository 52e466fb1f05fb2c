/** Verifies the signature of a request against the secret of its access key. */

import { S3Error } from '../errors.js';
import type { Query, Target } from '../target.js';
import type { Authorization } from './authorization.js';
import type { RequestHead } from './request-head.js';
import { canonicalRequest, isSignature, sign, signingKey, stringToSign } from './sigv4.js';

/** What a verified request signs its chunks with. */
export interface Signed {
  readonly key: Buffer;
  readonly authorization: Authorization;
  /** `x-amz-content-sha256`: a digest, or how the payload is signed. */
  readonly payload: string;
}

/** Milliseconds by which clocks may differ. */
export const SKEW_MS = 15 * 60_000;
export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';
const MOST_KEYS = 1000;

/** Signing keys, one for each secret, day and region: deriving one takes four times as long as using it. */
export interface SigningKeys {
  keyOf(secret: string, authorization: Authorization): Buffer;
}

export function createSigningKeys(): SigningKeys {
  const kept = new Map<string, Buffer>();
  return {
    keyOf(secret, { scope }) {
      const name = `${secret}/${scope.date}/${scope.region}`;
      const known = kept.get(name);
      if (known) return known;
      if (kept.size >= MOST_KEYS) kept.delete(kept.keys().next().value!);
      const key = signingKey(secret, scope);
      kept.set(name, key);
      return key;
    },
  };
}

/** Throws when the request is too old or too new. */
export function requireTimely({ atMs, expires }: Authorization, nowMs: number): void {
  if (expires === undefined) {
    if (Math.abs(nowMs - atMs) > SKEW_MS) throw new S3Error('RequestTimeTooSkewed');
    return;
  }
  if (atMs - nowMs > SKEW_MS) throw new S3Error('AccessDenied', 'Request is not valid yet.');
  if (nowMs > atMs + expires * 1000) throw new S3Error('ExpiredRequest');
}

/** Throws 403 for another signature, and for headers that should be signed and are not. */
export function verifySignature(
  request: RequestHead,
  target: Target,
  authorization: Authorization,
  key: Buffer,
): Signed {
  const fields = fieldsOf(request.rawHeaders);
  requireSigned(fields, authorization);
  const payload = payloadOf(request, target.query, authorization);
  const parts = {
    method: request.method!,
    query: target.query.filter(([name]) => name !== 'X-Amz-Signature'),
    headers: authorization.signedHeaders.map((name) => [name, fields.get(name) ?? ''] as const),
    payload,
  };
  // Some clients sign an escaped slash of a key as it is; the key is the same.
  const sent = target.canonicalPath;
  const paths = sent.includes('%2F') ? [sent, sent.replaceAll('%2F', '/')] : [sent];
  for (const canonicalPath of paths) {
    const text = stringToSign(
      canonicalRequest({ ...parts, canonicalPath }),
      authorization.timestamp,
      authorization.scope,
    );
    if (isSignature(sign(key, text), authorization.signature)) return { key, authorization, payload };
  }
  throw new S3Error('SignatureDoesNotMatch');
}

/** Values by lower-case name; those of repeated fields joined, as they are signed. */
function fieldsOf(rawHeaders: readonly string[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const before = fields.get(name);
    const value = rawHeaders[i + 1]!.trim();
    fields.set(name, before === undefined ? value : `${before},${value}`);
  }
  return fields;
}

function requireSigned(fields: ReadonlyMap<string, string>, { signedHeaders }: Authorization): void {
  const missing: string[] = [];
  for (const name of fields.keys()) {
    if ((name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name)) missing.push(name);
  }
  if (missing.length > 0 || !signedHeaders.includes('host')) {
    const reason = `There were headers present in the request which were not signed: ${missing.join(', ') || 'host'}`;
    throw new S3Error('AccessDenied', reason);
  }
}

function payloadOf({ headers }: RequestHead, query: Query, { expires }: Authorization): string {
  const field = headers['x-amz-content-sha256'];
  if (field !== undefined) return String(field);
  if (expires === undefined) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  }
  return query.find(([name]) => name.toLowerCase() === 'x-amz-content-sha256')?.[1] ?? UNSIGNED_PAYLOAD;
}
