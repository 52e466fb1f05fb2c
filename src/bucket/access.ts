/** Which buckets an actor may use. */
import { type Asked, chooseAccount, mayUseBuckets } from '../control/guard/access.js';
import { accountFailure } from '../control/guard/account-failures.js';
import type { AccountRow } from '../store/access/accounts.js';
import { type BucketRow, findBucketByName, type Jurisdiction } from '../store/objects/buckets.js';
import { isBucketName } from './bucket-name.js';
import { bucketFailure } from './errors.js';

/** The account, if the actor may use its buckets. A credential for zones may not. */
export function requireBucketAccount(ctx: Asked, accountId: string | undefined): AccountRow {
  const account = chooseAccount(ctx, accountId);
  if (!mayUseBuckets(ctx.actor)) throw accountFailure('outOfScope');
  return account;
}

/**
 * The bucket with this name. Throws 400/10005 for an invalid name, 404/10006 when there is none, and the errors of
 * accounts when the actor may not see the account.
 */
export function requireBucket(
  ctx: Asked,
  accountId: string | undefined,
  name: string,
  jurisdiction: Jurisdiction,
): BucketRow {
  const account = requireBucketAccount(ctx, accountId);
  if (!isBucketName(name)) throw bucketFailure('badName');
  const row = findBucketByName(ctx.store, account.seq, jurisdiction, name);
  if (!row) throw bucketFailure('missing');
  return row;
}
