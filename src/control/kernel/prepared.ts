/**
 * The one way of every large change. It is planned outside of any write, in slices between which others get their turn, what it needs
 * is stored aside, and one write switches to it, which is short or in slices, too. If the zone has moved on meanwhile, it is planned
 * again; a zone that changes all the time gets it in one long write in the end.
 */
import { AppError } from '../../base/errors.js';
import { nextSlice } from '../../base/slices.js';
import { dropRecordSet } from '../../store/records/record-sets.js';
import { requireWriter } from '../guard/access.js';
import { type Committed, commitAlone, commitAndRead, commitInSteps, type Draft, orUnavailable } from './commit.js';
import type { Context } from './context.js';
import type { Replacement, StagedSignatures } from './touched-zone.js';
import { planRemoval } from './unused-records.js';
import type { MadeSignatures } from './zone-keys.js';

const MOST_PLANS = 4;

/** A plan does not fit the zone any more. */
export const OUTDATED = Symbol('outdated');

/** What was planned and stored aside. */
export interface Prepared {
  /** What it changes for resolvers, with the signatures for it; undefined when the write finds that out itself. */
  readonly replacement?: Replacement | undefined;
  /** Signatures that the write will need. */
  readonly signatures?: MadeSignatures | undefined;
  /** Removes what was stored aside for this plan alone, when it is not used. */
  giveUp?(): Promise<void>;
  /** Does what may wait until the change has happened. If it fails, others do it later. */
  complete?(): Promise<void>;
}

export interface LargeChange<Plan extends Prepared, Value, Result = Value> {
  /**
   * Plans it and stores it aside; undefined when it has to be made without a plan. `outdated`: the plan before, whose signatures
   * mostly still fit.
   */
  plan(outdated: Prepared | undefined): Promise<Plan | undefined>;
  /** Makes it, inside the write; without a plan it may take long. */
  make(draft: Draft, plan: Plan | undefined): Value | typeof OUTDATED;
  /** The same step by step, if it takes long with a plan, too; undefined when it does not. It reads and writes through `own`. */
  steps?(plan: Plan): ((draft: Draft, own: Context) => Generator<undefined, Value | typeof OUTDATED>) | undefined;
  /** Reads the result after everything is written, serials included, through `own`. */
  read(value: Value, own: Context): Result;
}

/** Makes a large change in one commit. */
export async function commitPrepared<Plan extends Prepared, Value, Result>(
  ctx: Context,
  change: LargeChange<Plan, Value, Result>,
): Promise<Committed<Result>> {
  requireWriter(ctx.actor);
  let unused: StagedSignatures | undefined;
  let outdated: Prepared | undefined;
  try {
    for (let plans = 0; plans < MOST_PLANS; plans++) {
      const plan = await orUnavailable(ctx, change.plan(outdated));
      const signatures = plan?.replacement?.signatures;
      if (unused && unused.set !== signatures?.set) await giveUpSignatures(ctx, unused);
      unused = signatures;
      outdated = plan;
      if (!plan) break;
      await nextSlice();
      const committed = await switchTo(ctx, change, plan);
      if (committed && !ctx.dryRun) unused = undefined;
      if (committed) return committed;
    }
  } catch (error) {
    if (isUnavailable(error)) unused = undefined;
    throw error;
  } finally {
    if (unused) await giveUpSignatures(ctx, unused);
  }
  const own = { ...ctx, signatures: outdated?.signatures };
  const { value, zones } = await commitAlone(own, (draft) => change.make(draft, undefined), whole(change));
  return { value: value!.result, zones };
}

/** Undefined when the plan has become outdated. */
async function switchTo<Plan extends Prepared, Value, Result>(
  ctx: Context,
  change: LargeChange<Plan, Value, Result>,
  plan: Plan,
): Promise<Committed<Result> | undefined> {
  let isUsed = false;
  try {
    const own = { ...ctx, signatures: plan.signatures };
    const steps = change.steps?.(plan);
    const { value, zones } = steps
      ? await commitInSteps(own, steps, whole(change))
      : await commitAndRead(own, (draft) => change.make(draft, plan), whole(change));
    isUsed = value !== undefined && !ctx.dryRun;
    if (isUsed) await completed(ctx, plan);
    return value && { value: value.result, zones };
  } catch (error) {
    isUsed = isUnavailable(error);
    throw error;
  } finally {
    if (!isUsed) await plan.giveUp?.();
  }
}

/** The change has happened, so nothing refuses it any more. */
async function completed(ctx: Context, plan: Prepared): Promise<void> {
  try {
    await orUnavailable(ctx, plan.complete?.() ?? Promise.resolve());
  } catch (error) {
    if (!isUnavailable(error)) ctx.log.error({ err: error }, 'work that follows a change is put off');
  }
}

/** A store that takes no writes would only keep the client waiting; what is left aside is removed as that of a crash is. */
function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.status === 503;
}

function whole<Value, Result>({
  read,
}: Pick<LargeChange<Prepared, Value, Result>, 'read'>): (
  value: Value | typeof OUTDATED,
  own: Context,
) => { readonly result: Result } | undefined {
  return (value, own) => (value === OUTDATED ? undefined : { result: read(value as Value, own) });
}

async function giveUpSignatures(ctx: Context, { set }: StagedSignatures): Promise<void> {
  await ctx.store.write(() => {
    if (!dropRecordSet(ctx.store, set)) planRemoval(ctx);
  });
}
