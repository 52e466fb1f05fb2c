/** Who has signed a request, and what the token behind the access key may do. */
import { toHex } from '../base/bytes.js';
import { requireBucket } from '../bucket/access.js';
import {
  LONGEST_TTL,
  type RequestedAccess,
  readSessionToken,
  type TemporaryClaims,
  withinLimits,
} from '../bucket/credentials/session-token.js';
import type { BucketPlace } from '../bucket/domains.js';
import {
  type Authentication,
  authenticateAccessKey,
  authenticateAgain,
  findAccessKey,
  isUnchangedSince,
} from '../control/access/authentication.js';
import { chooseAccount, mayUseBuckets, permitted, requireWriter } from '../control/guard/access.js';
import type { Actor } from '../control/guard/actor.js';
import type { Area, Level } from '../control/guard/permissions.js';
import type { Context, ContextBase } from '../control/kernel/context.js';
import type { KeyRow } from '../store/access/keys.js';
import type { BucketRow } from '../store/objects/buckets.js';
import { keptPerState } from '../store/state/kept.js';
import { VaultError } from '../vault/errors.js';
import { S3Error } from './errors.js';
import { SKEW_MS } from './signature/verify.js';

export interface Caller {
  readonly context: Context;
  /** The account of the buckets that it names. */
  readonly accountId: string;
  /** Throws unless the token may still do what it asked for; inside the write that does it. */
  readonly stillMay: () => void;
  /**
   * Throws 403 unless the token may do it. `bucket`: the name of one; undefined: the account's buckets. `place`: the key, or the
   * beginning of keys, that is asked for.
   */
  permit(area: Area, level: Level, bucket?: string, place?: Place): void;
  /** The same for buckets and what is in them, as an answer. */
  may(area: Area, level: Level, bucket: string, place?: Place): boolean;
  /** Throws 403 for an operation that temporary credentials leave out. */
  permitAction(name: string): void;
}

export type Place = Pick<RequestedAccess, 'key' | 'prefix'>;

export interface AccessKey {
  readonly row: KeyRow;
  readonly secret: string;
  /** Of temporary credentials. */
  readonly claims?: TemporaryClaims;
}

const known = keptPerState<AccessKey>(1000);
const accounts = keptPerState<string>(1000);

/** Throws 403 for an access key that nobody can sign with. */
export function requireAccessKey(base: ContextBase, accessKeyId: string): AccessKey {
  return known(base.store, accessKeyId, () => openAccessKey(base, accessKeyId));
}

function openAccessKey(base: ContextBase, accessKeyId: string): AccessKey {
  const row = findAccessKey(base, accessKeyId);
  if (!row) throw new S3Error('InvalidAccessKeyId');
  if (row.s3_secret === null || !base.secretAccessKeys) {
    const reason = 'The token has no secret access key, because it was made without one. Roll the token.';
    throw new S3Error('InvalidAccessKeyId', reason);
  }
  try {
    return { row, secret: base.secretAccessKeys.open(row.id, row.s3_secret) };
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    base.log.error({ accessKeyId, reason: error.message }, 'the secret of an access key cannot be opened');
    throw new S3Error('InvalidAccessKeyId', 'The secret access key of the token cannot be opened. Roll the token.');
  }
}

/**
 * The secret of temporary credentials, whose token was signed with that of their parent. Throws for a token that is forged, for
 * another access key or host, and outside of its time.
 */
export function requireTemporary(
  { row, secret }: AccessKey,
  token: string,
  { host, nowMs }: { readonly host: string; readonly nowMs: number },
): AccessKey {
  const found = readSessionToken(token, secret);
  if (!found || found.claims.parent !== toHex(row.id)) throw new S3Error('InvalidToken');
  const { audience, issuedAt, expiresAt } = found.claims;
  const named = audience
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '')
    .toLowerCase();
  const bare = host.toLowerCase().replace(/:\d+$/, '');
  // The host of a bucket is below that of the endpoint.
  const fits = [host.toLowerCase(), bare].some((name) => name === named || name.endsWith(`.${named}`));
  if (!fits) throw new S3Error('InvalidToken', 'The token is for another host.');
  if (nowMs >= expiresAt * 1000) throw new S3Error('ExpiredToken');
  const isTimely = issuedAt * 1000 <= nowMs + SKEW_MS && expiresAt > issuedAt && expiresAt - issuedAt <= LONGEST_TTL;
  if (!isTimely) throw new S3Error('InvalidToken', 'The time of the token is not valid.');
  return { row, secret: found.secretAccessKey, claims: found.claims };
}

interface CallerRequest {
  readonly id: string;
  readonly address: string;
  /** Identifier of the account that the host names. */
  readonly account: string | undefined;
}

/** Throws 403 when the token may not be used now, or from there. */
export async function admitCaller(base: ContextBase, key: AccessKey, request: CallerRequest): Promise<Caller> {
  // Before the token is read: what is committed meanwhile counts.
  const state = base.store.committedState();
  const found = await authenticateAccessKey(base, key.row, request.address);
  return callerOf(base, key, request, { found, state });
}

interface Found {
  readonly found: Authentication;
  /** The state of the database before it was looked for; undefined if that is not known. */
  readonly state?: number;
}

/** A caller that was found. Throws 403 when it was refused. */
export function callerOf(
  base: ContextBase,
  { row, claims }: AccessKey,
  { id: requestId, address, account }: CallerRequest,
  { found, state }: Found,
): Caller {
  if (!found.ok) throw refusedCaller(found.reason);
  const { actor, key } = found;
  const context: Context = { ...base, actor, requestId, source: 'api', address, requireStill: stillMay };
  const named = account ?? claims?.account;
  const accountId = accounts(base.store, `${row.seq} ${named}`, () => toHex(chooseAccount(context, named).id));
  if (claims && claims.account !== accountId) throw new S3Error('AccessDenied');
  const asked = new Map<string, readonly [Area, Level, string | undefined]>();
  const permit = (by: Actor, area: Area, level: Level, bucket: string | undefined, place: Place = {}): void => {
    if (claims && !withinLimits(claims, { area, level, bucket, ...place })) throw new S3Error('AccessDenied');
    if (!mayUseBuckets(by) || !by.accountIds.includes(accountId)) throw new S3Error('AccessDenied');
    if (level === 'write') requireWriter(by);
    permitted(by, area, level, { account: accountId, ...(bucket !== undefined && { bucket: `default_${bucket}` }) });
  };
  function stillMay(): void {
    if (claims && base.clock.nowMs() >= claims.expiresAt * 1000) throw new S3Error('ExpiredToken');
    // The write that asks changes objects alone.
    if (isUnchangedSince(base, state, key)) return;
    const now = authenticateAgain(base, row, address);
    if (!now.ok) throw refusedCaller(now.reason);
    for (const [area, level, bucket] of asked.values()) permit(now.actor, area, level, bucket);
  }
  return {
    context,
    accountId,
    stillMay,
    permit(area, level, bucket, place) {
      permit(actor, area, level, bucket, place);
      asked.set(`${area} ${level} ${bucket}`, [area, level, bucket]);
    },
    may(area, level, bucket, place) {
      try {
        permit(actor, area, level, bucket, place);
        return true;
      } catch {
        return false;
      }
    },
    permitAction(name) {
      if (claims?.actions && !claims.actions.includes(name)) throw new S3Error('AccessDenied');
    },
  };
}

function refusedCaller(reason: 'unknown' | 'expired' | 'disabled' | 'location'): S3Error {
  if (reason === 'expired') return new S3Error('ExpiredToken');
  if (reason === 'location') return new S3Error('AccessDenied', 'The token may not be used from this address.');
  return new S3Error(reason === 'unknown' ? 'InvalidAccessKeyId' : 'AccessDenied');
}

const buckets = keptPerState<BucketRow>(1000);

/** The bucket with this name in the account of the caller. Throws 404 when there is none. */
export function requireBucketNamed({ context, accountId }: Caller, name: string): BucketRow {
  return buckets(context.store, `${accountId}/${name}`, () => requireBucket(context, accountId, name, 'default'));
}

/** The same place for use cases that look it up themselves. */
export function placeOfBucket({ accountId }: Caller, name: string): BucketPlace {
  return { accountId, name, jurisdiction: 'default' };
}
