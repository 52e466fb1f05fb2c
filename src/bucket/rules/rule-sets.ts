/**
 * The rules of a bucket, as both APIs set them: one list for each kind, in the form of v4. A list replaces the whole one before, and one
 * without rules removes it.
 */
import { commit } from '../../control/kernel/commit.js';
import type { Context } from '../../control/kernel/context.js';
import { planLifecycle } from '../../control/schedule/lifecycle.js';
import type { CorsRule } from '../../http/cors.js';
import type { BucketRow } from '../../store/objects/buckets.js';
import { putBucketRules, type RuleKind, removeBucketRules, rulesOfBucket } from '../../store/objects/rules.js';
import { requireBucket } from '../access.js';
import type { BucketPlace } from '../domains.js';
import { badRule, requireUniqueIds } from './check.js';
import { checkCorsRules } from './cors.js';
import { checkLifecycleRules, type LifecycleRule } from './lifecycle.js';
import { checkLockRules, type LockRule } from './locks.js';

/** The rule of each kind. */
export interface RuleOf {
  readonly cors: CorsRule;
  readonly lifecycle: LifecycleRule;
  readonly lock: LockRule;
}

/** Octets of a list as it is stored. */
const LARGEST = 256 * 1024;
/** Octets of a list that an event holds. */
const LARGEST_TOLD = 16 * 1024;

/** Throw for lists that are not valid. */
const CHECKS: { readonly [Kind in RuleKind]: (rules: readonly RuleOf[Kind][]) => void } = {
  cors: checkCorsRules,
  lifecycle: checkLifecycleRules,
  lock: checkLockRules,
};

function bucketOf(ctx: Context, { accountId, name, jurisdiction }: BucketPlace): BucketRow {
  return requireBucket(ctx, accountId, name, jurisdiction);
}

/** Undefined when none were set. Leaves out members that only S3 has. */
export function getRules<Kind extends RuleKind>(
  ctx: Context,
  place: BucketPlace,
  kind: Kind,
): readonly RuleOf[Kind][] | undefined {
  return getStoredRules(ctx, place, kind)?.map((rule) => {
    if (!('hasPlainPrefix' in rule)) return rule;
    const { hasPlainPrefix: _, ...common } = rule;
    return common as RuleOf[Kind];
  });
}

/** The rules exactly as they were set. */
export function getStoredRules<Kind extends RuleKind>(
  ctx: Context,
  place: BucketPlace,
  kind: Kind,
): readonly RuleOf[Kind][] | undefined {
  return ctx.store.snapshot(() => rulesOfBucket<RuleOf[Kind]>(ctx.store, bucketOf(ctx, place).seq, kind));
}

/** Throws 400 for rules that are not valid. Nothing is changed then. */
export async function setRules<Kind extends RuleKind>(
  ctx: Context,
  place: BucketPlace,
  kind: Kind,
  rules: readonly RuleOf[Kind][],
): Promise<void> {
  requireUniqueIds(rules);
  CHECKS[kind](rules);
  const text = JSON.stringify(rules);
  if (Buffer.byteLength(text) > LARGEST) throw badRule(`together they are larger than ${LARGEST} octets`);
  await commit(ctx, (draft) => {
    const bucket = bucketOf(ctx, place);
    const before = rulesOfBucket(ctx.store, bucket.seq, kind);
    if (JSON.stringify(before ?? []) === text) return;
    const isRemoved = rules.length === 0;
    if (isRemoved) removeBucketRules(ctx.store, bucket.seq, kind);
    else {
      putBucketRules(ctx.store, bucket.seq, kind, { rules: text, revision: ctx.random.uuid(), at: draft.now });
      if (kind === 'lifecycle') planLifecycle(ctx, bucket.seq);
    }
    draft.event({
      ...{
        kind: `bucket_${kind}.${isRemoved ? 'delete' : 'put'}` as const,
        account: bucket.account,
        name: bucket.name,
      },
      ...(before && { before: told(before) }),
      ...(!isRemoved && { after: told(rules) }),
    });
  });
}

/** Long lists by their number. */
function told(rules: readonly unknown[]): { readonly rules: unknown } {
  return { rules: JSON.stringify(rules).length > LARGEST_TOLD ? rules.length : rules };
}
