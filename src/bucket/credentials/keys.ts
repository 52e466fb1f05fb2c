/** Credentials of S3 clients for one bucket, and links that hold for a time. */
import { toHex } from '../../base/bytes.js';
import { inSlices } from '../../base/slices.js';
import { authenticateAgain } from '../../control/access/authentication.js';
import { keyItem } from '../../control/access/keys.js';
import type { PolicyInput } from '../../control/access/policy.js';
import { secretAccessKeyOf } from '../../control/access/secret-access-keys.js';
import { createToken } from '../../control/access/tokens.js';
import { parseId, requirePermission, requireWriter } from '../../control/guard/access.js';
import { decide } from '../../control/guard/decision.js';
import { type Level, PERMISSION_GROUPS, type Target } from '../../control/guard/permissions.js';
import type { Context } from '../../control/kernel/context.js';
import { findAccount } from '../../store/access/accounts.js';
import { allKeys, currentKeysOfUser, type KeyRow } from '../../store/access/keys.js';
import { findUserById } from '../../store/access/users.js';
import type { BucketRow } from '../../store/objects/buckets.js';
import { requireBucket } from '../access.js';
import type { BucketPlace } from '../domains.js';
import { bucketFailure, objectFailure } from '../errors.js';
import { isObjectKey } from '../object-store.js';

/** In seconds: a week. */
export const LONGEST_LINK = 604_800;

export interface LinkRequest {
  readonly key: string;
  readonly method: 'GET' | 'PUT';
  /** Seconds. */
  readonly expires: number;
}

/** A link to be signed. */
export interface LinkOptions extends LinkRequest {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Such as `https://s3.example.com`. */
  readonly endpoint: URL;
  readonly bucket: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** How links are signed (s3/signature/presign.ts), and for which endpoint. */
export interface LinkSigner {
  readonly endpoint: URL;
  readonly presign: (options: LinkOptions) => string;
}

function targetOf(
  { store }: Context,
  { account, jurisdiction, name }: BucketRow,
): Required<Pick<Target, 'account'>> & {
  readonly bucket: string;
} {
  return { account: toHex(findAccount(store, account)!.id), bucket: `${jurisdiction}_${name}` };
}

/** The permissions of a token for the objects of one bucket. */
export function policiesOfBucket(ctx: Context, bucket: BucketRow, isReadOnly: boolean): PolicyInput[] {
  const name = `Workers R2 Storage Bucket Item ${isReadOnly ? 'Read' : 'Write'}`;
  const group = PERMISSION_GROUPS.find((entry) => entry.name === name)!;
  const target = targetOf(ctx, bucket);
  const resource = `com.cloudflare.edge.r2.bucket.${target.account}_${target.bucket}`;
  return [{ effect: 'allow', permission_groups: [{ id: group.id }], resources: { [resource]: '*' } }];
}

export interface BucketKey {
  readonly id: string;
  readonly secretAccessKey: string;
  /** Microseconds since 1970; null: never. */
  readonly expiresAt: number | null;
}

/** Makes a token of the actor's user. Only this call returns the secret. */
export async function createBucketKey(
  ctx: Context,
  place: BucketPlace,
  { isReadOnly, expiresOn }: { readonly isReadOnly: boolean; readonly expiresOn: string | undefined },
): Promise<BucketKey> {
  const bucket = requireBucket(ctx, place.accountId, place.name, place.jurisdiction);
  const { token, secret } = await createToken(
    ctx,
    { user: true },
    {
      name: `S3: ${bucket.name}`,
      policies: policiesOfBucket(ctx, bucket, isReadOnly),
      expires_on: expiresOn,
    },
  );
  return { id: token.id, secretAccessKey: secretAccessKeyOf(secret), expiresAt: token.expiresAt };
}

export interface Link {
  readonly url: string;
  readonly accessKeyId: string;
}

/**
 * A link to an object, signed with a token of the actor's user, or with any token for the operator. It holds as long as that token. The
 * actor must be allowed to do what the link allows.
 */
export async function makeLink(
  ctx: Context,
  place: BucketPlace,
  request: LinkRequest & { readonly signer?: string | undefined },
  { endpoint, presign }: LinkSigner,
): Promise<Link> {
  const { key, method, expires } = request;
  const bucket = requireBucket(ctx, place.accountId, place.name, place.jurisdiction);
  const level: Level = method === 'GET' ? 'read' : 'write';
  if (level === 'write') requireWriter(ctx.actor);
  requirePermission(ctx.actor, 'objects', level, targetOf(ctx, bucket));
  if (key === '' || !isObjectKey(key)) throw objectFailure('badKey');
  const row = await chooseSigner(ctx, bucket, level, request.signer);
  const accessKeyId = toHex(row.id);
  const secretAccessKey = ctx.secretAccessKeys!.open(row.id, row.s3_secret!);
  const nowMs = ctx.clock.nowMs();
  const signer = { accessKeyId, secretAccessKey, endpoint, nowMs };
  return { url: presign({ ...signer, method, expires, key, bucket: bucket.name }), accessKeyId };
}

/** A token whose secret is kept, which may do it from everywhere; one for certain buckets before others. */
async function chooseSigner(
  ctx: Context,
  bucket: BucketRow,
  level: Level,
  wanted: string | undefined,
): Promise<KeyRow> {
  const target = targetOf(ctx, bucket);
  const fits = (row: KeyRow): boolean => {
    if (row.s3_secret === null || row.networks !== null || keyItem(ctx, row).status !== 'active') return false;
    const found = authenticateAgain(ctx, row, '127.0.0.1');
    if (!found.ok || (level === 'write' && found.actor.readOnly)) return false;
    // Clients use the first account of a token.
    if (found.actor.accountIds[0] !== target.account) return false;
    return decide(found.actor, 'objects', level, target).allowed;
  };
  const first = await inSlices(ctx.clock, findSigner(ctx, wanted, fits), 1);
  if (first && ctx.secretAccessKeys) return first;
  throw bucketFailure('noSigner', { token: wanted === undefined ? 'No token' : `No token ${wanted.slice(0, 64)}` });
}

/** Yields after each token: each may have a thousand permissions. */
function* findSigner(
  ctx: Context,
  wanted: string | undefined,
  fits: (row: KeyRow) => boolean,
): Generator<undefined, KeyRow | undefined> {
  let unlimited: KeyRow | undefined;
  for (const row of tokensOf(ctx)) {
    if (wanted === undefined || toHex(row.id) === wanted) {
      if (row.policies !== null && fits(row)) return row;
      if (row.policies === null) unlimited ??= fits(row) ? row : undefined;
    }
    yield;
  }
  return unlimited;
}

/** Tokens that are read at a time. */
const READ_AT_ONCE = 20;

/** Those of the actor's user; all of them for the operator. */
function* tokensOf({ store, actor }: Context): Generator<KeyRow> {
  if (actor.kind === 'operator') {
    yield* allKeys(store);
    return;
  }
  const id = parseId(actor.userId);
  const user = id && findUserById(store, id);
  if (!user) return;
  let page = currentKeysOfUser(store, user.seq, 0, READ_AT_ONCE);
  while (page.length > 0) {
    yield* page;
    page = currentKeysOfUser(store, user.seq, page.at(-1)!.seq, READ_AT_ONCE);
  }
}
