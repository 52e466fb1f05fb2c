/** Links that hold for a time: requests whose signature stands in the query. Pure. */
import type { LinkOptions } from '../../bucket/credentials/keys.js';
import { encodeStrictly } from '../target.js';
import { ALGORITHM, canonicalRequest, type Scope, scopeText, sign, signingKey, stringToSign } from './sigv4.js';
import { UNSIGNED_PAYLOAD } from './verify.js';

export function presign(options: LinkOptions): string {
  const { accessKeyId, secretAccessKey, method, endpoint, bucket, key, expires, nowMs } = options;
  const timestamp = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const scope: Scope = { date: timestamp.slice(0, 8), region: 'auto' };
  const canonicalPath = `/${[bucket, ...key.split('/')].map(encodeStrictly).join('/')}`;
  const query = [
    ['X-Amz-Algorithm', ALGORITHM],
    ['X-Amz-Credential', `${accessKeyId}/${scopeText(scope)}`],
    ['X-Amz-Date', timestamp],
    ['X-Amz-Expires', String(expires)],
    ['X-Amz-SignedHeaders', 'host'],
  ] as const;
  const headers = [['host', endpoint.host]] as const;
  const canonical = canonicalRequest({ method, canonicalPath, query, headers, payload: UNSIGNED_PAYLOAD });
  const signature = sign(signingKey(secretAccessKey, scope), stringToSign(canonical, timestamp, scope));
  const search = query.map(([name, value]) => `${name}=${encodeStrictly(value)}`).join('&');
  return `${endpoint.origin}${canonicalPath}?${search}&X-Amz-Signature=${signature}`;
}
