/**
 * GetObject and HeadObject of small objects, answered without Node's HTTP server. Signature, token and permission are checked as for
 * every request; what is asked in an unusual way, or refused, goes the way of all others.
 */
import type { Socket } from 'node:net';
import { detachedText } from '../base/bytes.js';
import { type Answered, type AnswerSmall, createSmallAnswers } from '../bucket/small/answer-small.js';
import { type Authentication, authenticateAtOnce } from '../control/access/authentication.js';
import { fieldsByName, type PlainHead } from '../plain/request-head.js';
import type { WholeResponse } from '../plain/whole-response.js';
import type { Store } from '../store/driver.js';
import { rulesOfBucket } from '../store/objects/rules.js';
import { callerOf, requireBucketNamed } from './caller.js';
import { s3ErrorOf } from './errors.js';
import { objectFields } from './metadata.js';
import type { DoorOptions } from './request.js';
import type { RequestHead } from './signature/request-head.js';
import { EMPTY_SHA256 } from './signature/sigv4.js';
import { UNSIGNED_PAYLOAD } from './signature/verify.js';
import type { Query } from './target.js';
import type { Verified, Verify } from './verification.js';

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

interface Asked {
  readonly head: PlainHead;
  readonly id: string;
}

interface Answer extends Answered {
  readonly headers: RequestHead['headers'];
}

/** Undefined: it is not answered here. */
export function answerAtOnce(
  options: DoorOptions,
  verify: Verify,
  { head, id }: Asked,
  response: WholeResponse,
  socket: Socket,
): Answer | undefined {
  const { method, url, rawHeaders } = head;
  const headers = options.refresh ? undefined : fieldsByName(head);
  const kind = headers && kindOf(headers);
  if (!headers || kind === 'unusual') return undefined;
  try {
    const found = verify({ method, url, headers, rawHeaders }, socket.remoteAddress ?? '', kind === 'bare');
    const { target, operation, signed } = found;
    if (!PLAIN_OPERATIONS.has(operation.name) || !isPlainQuery(target.query)) return undefined;
    if (signed.payload !== EMPTY_SHA256 && signed.payload !== UNSIGNED_PAYLOAD) return undefined;
    const grant = grantFor(options, found, id);
    if (!grant?.isPlain) return undefined;
    const object = options.objects.findSmall(grant.bucket, target.key!);
    if (!object || (object.item.checksum !== undefined && headers['x-amz-checksum-mode'] !== undefined))
      return undefined;
    const fields = headers['range']?.includes(',') ? { ...headers, range: undefined } : headers;
    const more = (): string => `x-amz-request-id: ${id}\r\nserver: Zoneplane\r\n`;
    const answered = answerSmall(object, { method, answers: 'GET', fields }, response, more);
    return answered && { ...answered, headers };
  } catch (error) {
    // A refusal is written by the way of all requests, which finds the same.
    if (s3ErrorOf(error)) return undefined;
    throw error;
  }
}

/** What a caller may read. */
interface Grant {
  readonly bucket: number;
  /** Whether the bucket has no rules that add something to its answers. */
  readonly isPlain: boolean;
}

/** Grants that are kept for one token at one address; there may be a thousand such pairs. */
const MOST_GRANTS = 100;

/** By authentication: what a token may do is looked up again after every commit. */
const grants = new WeakMap<Authentication, Map<string, Grant>>();

/** Undefined when the use of the token is to be noted first. Throws for what is not allowed. */
function grantFor(options: DoorOptions, verified: Verified, id: string): Grant | undefined {
  const { target, operation, accessKey, address } = verified;
  const found = authenticateAtOnce(options.base, accessKey.row, address);
  if (!found) return undefined;
  const { account, bucket = '' } = target;
  const find = (): Grant => {
    const caller = callerOf(options.base, accessKey, { id, address, account }, { found });
    caller.permitAction(operation.name);
    caller.permit(operation.area, operation.level, bucket, { key: target.key });
    const { seq } = requireBucketNamed(caller, bucket);
    return { bucket: seq, isPlain: !hasRules(options.base.store, seq) };
  };
  // Temporary credentials may be limited to keys.
  if (accessKey.claims) return find();
  let known = grants.get(found);
  if (!known) grants.set(found, (known = new Map()));
  const name = `${operation.name} ${account ?? ''} ${bucket}`;
  const before = known.get(name);
  if (before) return before;
  const grant = find();
  if (known.size < MOST_GRANTS) known.set(detachedText(name), grant);
  return grant;
}

/** Whether a bucket has rules that add something to its answers. */
export function hasRules(store: Store, bucket: number): boolean {
  return rulesOfBucket(store, bucket, 'cors') !== undefined || rulesOfBucket(store, bucket, 'lifecycle') !== undefined;
}

function isPlainQuery(query: Query): boolean {
  for (const [name] of query) if (!WITHOUT_EFFECT.has(name.toLowerCase())) return false;
  return true;
}

/** Fields of a request: only the host can be signed; more can be signed; or some belong to requests that are not answered here. */
type Kind = 'bare' | 'signed' | 'unusual';

/** Kept for fields that repeat. */
const kinds = new WeakMap<Readonly<Record<string, string>>, Kind>();

function kindOf(headers: Readonly<Record<string, string>>): Kind {
  let known = kinds.get(headers);
  if (known === undefined) kinds.set(headers, (known = readKind(headers)));
  return known;
}

function readKind(headers: Readonly<Record<string, string>>): Kind {
  let kind: Kind = 'bare';
  for (const name in headers) {
    if (name.startsWith('x-amz-')) {
      if (!WITHOUT_EFFECT.has(name) && name !== 'x-amz-checksum-mode') return 'unusual';
      kind = 'signed';
    } else if (name === 'authorization') kind = 'signed';
    else if (name === 'content-md5' || name === 'origin') return 'unusual';
  }
  return kind;
}
