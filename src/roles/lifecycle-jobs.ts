/** The job that does to objects what the lifecycle rules of their buckets say: in slices, with others in between. */
import { betweenWrites, nextSlice } from '../base/slices.js';
import type { ObjectStore, SweepPosition } from '../bucket/object-store.js';
import { bucketOfJob } from '../control/schedule/lifecycle.js';
import type { JobContext, JobKind, JobOutcome } from '../jobs/kind.js';
import { lastSweepOf, setLastSweep } from '../store/objects/rules.js';

/** A sweep later than planned by more than this may be due to a clock that is wrong: six hours, in milliseconds. */
const LATE_MS = 6 * 3_600_000;
/** Objects that a run looks at or changes, in steps and in changes, before jobs of others have their turn. */
const MOST_STEPS = 100;
const MOST_DONE = 2000;

/**
 * The first sweep comes an interval after the rules were set. One that comes much later than planned removes nothing either: the machine
 * was off, or the clock was set ahead, and there is an interval to put it right.
 */
export function lifecycleJobs(objects: ObjectStore, intervalMs: number): JobKind {
  /** Where sweeps go on that were not finished in one run. */
  const positions = new Map<string, SweepPosition>();
  return {
    async handler(context, subject) {
      const { store, clock } = context;
      const bucket = bucketOfJob(subject);
      const last = lastSweepOf(store, bucket);
      if (last === undefined) {
        positions.delete(subject);
        return { done: true };
      }
      const nowMs = clock.nowMs();
      const note = (): void => setLastSweep(store, bucket, clock.nowUs());
      if (last === null || nowMs - last / 1000 > intervalMs + LATE_MS) {
        return { againAtMs: nowMs + intervalMs, write: note };
      }
      const position = await sweepSome(objects, context, bucket, positions.get(subject));
      if (!position) {
        positions.delete(subject);
        return { againAtMs: clock.nowMs() + intervalMs, write: note };
      }
      positions.set(subject, position);
      return { againAtMs: clock.nowMs(), write: note } satisfies JobOutcome;
    },
  };
}

/** Where to go on; undefined at the end. */
async function sweepSome(
  objects: ObjectStore,
  { requireLease, signal }: JobContext,
  bucket: number,
  from: SweepPosition | undefined,
): Promise<SweepPosition | undefined> {
  let position = from;
  const until = (from?.done ?? 0) + MOST_DONE;
  for (let step = 0; step < MOST_STEPS; step++) {
    const before = position?.done ?? 0;
    position = await objects.sweepByRules(bucket, position, requireLease);
    if (!position || position.done >= until || signal.aborted) return position;
    await (position.done > before ? betweenWrites() : nextSlice());
  }
  return position;
}
