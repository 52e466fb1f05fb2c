/**
 * GET and HEAD of small objects, answered without Node's HTTP server and the framework. Credential, address, permission, limit of
 * requests and bucket are checked as for every request, by the same functions; a request that is unusual or refused is handled like
 * all others.
 */
import { toHex } from '../../base/bytes.js';
import { steadyMs } from '../../base/clock.js';
import type { CidrSet } from '../../base/ip.js';
import { requireBucket } from '../../bucket/access.js';
import { objectHeaders } from '../../bucket/metadata.js';
import { isObjectKey, type ObjectStore } from '../../bucket/object-store.js';
import { createSmallAnswers } from '../../bucket/small/answer-small.js';
import { type Authentication, authenticateAtOnce, findCredential } from '../../control/access/authentication.js';
import { hashSecret } from '../../control/access/keys.js';
import { requireWriter } from '../../control/guard/access.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { printFieldLines } from '../../plain/field-lines.js';
import type { AnswerAtOnce } from '../../plain/in-front.js';
import { fieldsByName } from '../../plain/request-head.js';
import { readCredential } from '../auth.js';
import { clientAddressFinder } from '../client-address.js';
import { PREFIX, SECURITY_FIELDS } from '../connection.js';
import { type Asking, permit } from '../permission.js';
import type { CountRequest } from '../rate-limit.js';
import { type Caller, requestIdOf } from '../request.js';
import { noteAnswer, type RequestMetrics } from '../request-metrics.js';

/** Permissions for the bodies of objects. */
export const OBJECT_AREA = { area: 'objects' } as const;

export interface Place {
  readonly account: string;
  readonly bucket: string;
  readonly key: string;
}

/** Account, bucket and key as clients write them; the router reads the others, and folds slashes. */
const TARGET = new RegExp(
  `^${PREFIX}/accounts/([0-9a-f]{32})/r2/buckets/([a-z0-9][a-z0-9-]{1,61}[a-z0-9])/objects/(?!/+$)([^?#]{1,1024})$`,
);
/** A field that names another bucket, or a value that is refused. */
const JURISDICTION = 'cf-r2-jurisdiction';

/** Where a plain request leads; undefined for one that is left to the framework. */
export function placeOfRequest(url: string, fields: Fields): Place | undefined {
  return fields[JURISDICTION] === undefined ? placeOf(url) : undefined;
}

export interface ObjectAnswerOptions {
  readonly base: ContextBase;
  readonly objects: ObjectStore;
  readonly trustedProxies?: CidrSet;
  /** In a cluster, nothing is answered before the copy has been checked. */
  readonly copy?: unknown;
  readonly count: CountRequest;
  readonly requestMetrics: RequestMetrics;
}

export type Fields = Readonly<Record<string, string>>;

export function createObjectAnswers(options: ObjectAnswerOptions): AnswerAtOnce {
  const { base, objects, trustedProxies, copy, count, requestMetrics } = options;
  const addressOf = clientAddressFinder(base.store, trustedProxies);
  const answerSmall = createSmallAnswers((item) => ({ ...ALWAYS, ...objectHeaders(item) }), ALWAYS);
  return (head, response, socket) => {
    const fields = copy === undefined ? fieldsByName(head) : undefined;
    const place = fields && placeOfRequest(head.url, fields);
    if (!place) return false;
    const beganMs = steadyMs(base.clock);
    const address = addressOf.call({ socket, headers: fields });
    const found = authenticate(base, fields, address);
    const grant = found && grantOf(base, found, place, 'GET');
    const object = grant && objects.findSmall(grant.bucket, place.key);
    if (!object) return false;
    const requestId = requestIdOf(base);
    // A request that the framework handles is counted there.
    const more = (): string | undefined => {
      const quota = count({ caller: grant.caller, clientAddress: address });
      if (quota?.isExceeded) return undefined;
      return `x-request-id: ${requestId}\r\n${quota ? printFieldLines(Object.entries(quota.fields).flat()) : ''}`;
    };
    const { method, url } = head;
    const answered = answerSmall(object, { method, fields }, response, more);
    if (!answered) return false;
    const { status } = answered;
    response.whenOver(() =>
      noteAnswer(
        requestMetrics,
        { method, path: url, status, ms: steadyMs(base.clock) - beganMs, requestId },
        base.log,
      ),
    );
    return true;
  };
}

/** Fields of every answer; an object may have other values. */
export const ALWAYS = { ...SECURITY_FIELDS, 'cache-control': 'no-store' };

function placeOf(url: string): Place | undefined {
  const [, account, bucket, escaped] = TARGET.exec(url) ?? [];
  if (account === undefined) return undefined;
  // An escape that is not UTF-8 throws; the framework then refuses it with a message.
  const key = escaped!.includes('%') ? decodeURIComponent(escaped!) : escaped!;
  return isObjectKey(key) ? { account, bucket: bucket!, key } : undefined;
}

/** The credential of fields that repeat; only its hash is kept. */
const hashes = new WeakMap<Fields, { readonly hash: Uint8Array; readonly name: string }>();

/** What a token may do; undefined for other credentials, for one that is refused, and when its use is to be noted first. */
export function authenticate(base: ContextBase, fields: Fields, address: string): Authentication | undefined {
  let known = hashes.get(fields);
  if (!known) {
    const credential = readCredential(fields);
    if (credential.scheme !== 'token') return undefined;
    const hash = hashSecret(base.store, credential.secret);
    known = { hash, name: toHex(hash) };
    hashes.set(fields, known);
  }
  const row = findCredential(base, known.hash, known.name);
  return row && authenticateAtOnce(base, row, address);
}

export interface Grant {
  readonly caller: Caller;
  /** Store number. */
  readonly bucket: number;
}

/** Grants that are kept for one token at one address; there may be a thousand such pairs. */
const MOST_GRANTS = 100;

/** By authentication: what a token may do is looked up again after every commit. */
const grants = new WeakMap<Authentication, Map<string, Grant>>();

/** Undefined for a credential that is refused; throws for what is not allowed. */
export function grantOf(
  base: ContextBase,
  found: Authentication,
  place: Place,
  method: 'GET' | 'PUT',
): Grant | undefined {
  if (!found.ok) return undefined;
  let known = grants.get(found);
  if (!known) grants.set(found, (known = new Map()));
  const { account, bucket } = place;
  const name = `${method} ${account}/${bucket}`;
  const before = known.get(name);
  if (before) return before;
  const { actor, key, hash: keyHash } = found;
  const caller = permit(base, askedFor(place, method), { actor, key, keyHash, scheme: 'token' });
  if (method === 'PUT') requireWriter(caller.actor);
  const { seq } = requireBucket({ store: base.store, actor: caller.actor }, account, bucket, 'default');
  const grant = { caller, bucket: seq };
  if (known.size < MOST_GRANTS) known.set(name, grant);
  return grant;
}

/** What of a request decides who may make it. */
export function askedFor({ account, bucket }: Place, method: 'GET' | 'PUT'): Asking {
  return {
    method,
    headers: {},
    params: { account_id: account, bucket_name: bucket },
    routeOptions: { config: OBJECT_AREA },
  };
}
