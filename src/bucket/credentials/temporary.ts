/** Use case: temporary credentials for a bucket, signed with the secret of a token. */
import { toHex } from '../../base/bytes.js';
import { keyItem, refuseLimited } from '../../control/access/keys.js';
import { requireNoMore } from '../../control/access/policy.js';
import { parseId, permitted, requireWriter } from '../../control/guard/access.js';
import { accountFailure } from '../../control/guard/account-failures.js';
import { commit } from '../../control/kernel/commit.js';
import type { Context } from '../../control/kernel/context.js';
import { findKeyById, type KeyRow } from '../../store/access/keys.js';
import { findUser } from '../../store/access/users.js';
import { requireBucket, requireBucketAccount } from '../access.js';
import { makeSessionToken, type TemporaryLimits } from './session-token.js';

export interface TemporaryInput extends TemporaryLimits {
  readonly parentAccessKeyId: string;
  readonly ttlSeconds: number;
}

export interface TemporaryCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** `audience`: the host of the S3 API. The parent must be the actor's own token, or one that the actor could have made. */
export async function createTemporaryCredentials(
  ctx: Context,
  accountId: string,
  { parentAccessKeyId: parent, ttlSeconds, ...limits }: TemporaryInput,
  audience: string,
): Promise<TemporaryCredentials> {
  const account = toHex(requireBucketAccount(ctx, accountId).id);
  const row = requireParent(ctx, parent);
  // What may only read gets no more by way of another token that may write.
  if (parent !== ctx.actor.keyId && !limits.permission.endsWith('read-only')) requireWriter(ctx.actor);
  // This and the permission come before the bucket is looked up, so that a token without rights in it cannot learn its name.
  if (row.s3_secret === null || !ctx.secretAccessKeys) {
    throw accountFailure('badInput', { reason: 'The parent has no secret access key. Roll the token to give it one.' });
  }
  permitted(ctx.actor, 'objects', 'read', { account, bucket: `default_${limits.bucket}` });
  const bucket = requireBucket(ctx, accountId, limits.bucket, 'default');
  const issuedAt = Math.floor(ctx.clock.nowMs() / 1000);
  const claims = { ...limits, account, parent, audience, issuedAt, expiresAt: issuedAt + ttlSeconds };
  // Nothing is stored but that it was done, so one that may only read may do it.
  await commit({ ...ctx, actor: { ...ctx.actor, readOnly: false } }, (draft) => {
    const after = { ...limits, ttlSeconds, expiresAt: claims.expiresAt };
    draft.event({ kind: 'key.derive', id: row.id, name: row.name, account: bucket.account, after });
  });
  return { accessKeyId: parent, ...makeSessionToken(claims, ctx.secretAccessKeys.open(row.id, row.s3_secret)) };
}

/** Throws 404 for a token that is not the actor's business, and 403 for one that may do more than the actor. */
function requireParent(ctx: Context, id: string): KeyRow {
  const octets = parseId(id);
  const row = octets && findKeyById(ctx.store, octets);
  const isOwn = row !== undefined && id === ctx.actor.keyId;
  const isOfUser = row && toHex(findUser(ctx.store, row.user)!.id) === ctx.actor.userId;
  if (row?.kind !== 'token' || row.revoked_at !== null || !(isOwn || isOfUser)) {
    throw accountFailure('keyMissing', { id: id.slice(0, 64) });
  }
  if (isOwn) return row;
  if (ctx.actor.policies) requireNoMore(ctx, keyItem(ctx, row));
  else refuseLimited(ctx);
  return row;
}
