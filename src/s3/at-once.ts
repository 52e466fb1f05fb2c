/**
 * GetObject and HeadObject of small objects, answered without Node's HTTP server. Signature, token and permission are checked as for
 * every request; what is asked in an unusual way, or refused, goes the way of all others.
 */
import type { Socket } from 'node:net';
import { type AnswerSmall, createSmallAnswers } from '../bucket/small/answer-small.js';
import { fieldsByName, type PlainHead } from '../plain/request-head.js';
import type { WholeResponse } from '../plain/whole-response.js';
import type { Store } from '../store/driver.js';
import { rulesOfBucket } from '../store/objects/rules.js';
import { keptPerState } from '../store/state/kept.js';
import { admitAtOnce, requireBucketNamed } from './caller.js';
import { s3ErrorOf } from './errors.js';
import { objectFields } from './metadata.js';
import { type DoorOptions, fieldOf } from './request.js';
import type { RequestHead } from './signature/request-head.js';
import { EMPTY_SHA256 } from './signature/sigv4.js';
import { UNSIGNED_PAYLOAD } from './signature/verify.js';
import type { Verify } from './verification.js';

/** Fields and parameters that change nothing of an answer, or are signed and nothing else. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'x-amz-algorithm',
  'x-amz-content-sha256',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-security-token',
  'x-amz-signature',
  'x-amz-signedheaders',
  'x-amz-user-agent',
  'x-id',
]);
const PLAIN_OPERATIONS: ReadonlySet<string> = new Set(['GetObject', 'HeadObject']);

const answerSmall: AnswerSmall = createSmallAnswers(objectFields);

/** False: it is not answered here. */
export function answerAtOnce(
  options: DoorOptions,
  verify: Verify,
  { head, id }: { readonly head: PlainHead; readonly id: string },
  response: WholeResponse,
  socket: Socket,
): { readonly status: number; readonly sent: number; readonly headers: RequestHead['headers'] } | undefined {
  const { method, url, rawHeaders } = head;
  const headers = options.refresh ? undefined : fieldsByName(head);
  if (!headers) return undefined;
  try {
    const peer = socket.remoteAddress ?? '';
    const { target, operation, signed, accessKey, address } = verify({ method, url, headers, rawHeaders }, peer);
    const { bucket = '', key = '', query } = target;
    if (!PLAIN_OPERATIONS.has(operation.name) || !query.every(([name]) => WITHOUT_EFFECT.has(name.toLowerCase())))
      return undefined;
    if (signed.payload !== EMPTY_SHA256 && signed.payload !== UNSIGNED_PAYLOAD) return undefined;
    if (!isUsual(headers)) return undefined;
    const caller = admitAtOnce(options.base, accessKey, { id, address, account: target.account });
    if (!caller) return undefined;
    caller.permitAction(operation.name);
    caller.permit(operation.area, operation.level, bucket, { key });
    const row = requireBucketNamed(caller, bucket);
    if (headers['origin'] !== undefined || hasRules(options.base.store, row.seq)) return undefined;
    const object = options.objects.findSmall(row.seq, key);
    if (!object || (object.item.checksum !== undefined && fieldOf(headers, 'x-amz-checksum-mode') !== undefined))
      return undefined;
    const range = headers['range']?.includes(',') ? undefined : headers['range'];
    const fields = { ...headers, range };
    const answered = answerSmall(
      object,
      { method, answers: 'GET', fields },
      response,
      `x-amz-request-id: ${id}\r\nserver: Zoneplane\r\n`,
    );
    return answered && { ...answered, headers };
  } catch (error) {
    // A refusal is written by the way of all requests, which finds the same.
    if (s3ErrorOf(error)) return undefined;
    throw error;
  }
}

const ruled = keptPerState<boolean>(1000);

/** Whether rules of the bucket add something to its answers. */
function hasRules(store: Store, bucket: number): boolean {
  const find = (): boolean =>
    rulesOfBucket(store, bucket, 'cors') !== undefined || rulesOfBucket(store, bucket, 'lifecycle') !== undefined;
  return ruled(store, String(bucket), find);
}

function isUsual(headers: Readonly<Record<string, string>>): boolean {
  for (const name in headers) {
    if (name.startsWith('x-amz-') && !WITHOUT_EFFECT.has(name) && name !== 'x-amz-checksum-mode') return false;
    if (name === 'content-md5') return false;
  }
  return true;
}
