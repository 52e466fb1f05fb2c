/**
 * Removes, in parts, the rows of records that belong to no zone: those of deleted and replaced zones, and those of
 * imports that ended in the middle. Appends the events of very large edits whose process ended before it had appended them.
 */
import { inWrites } from '../../base/slices.js';
import type { JobKind } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import { ABANDONED_MS } from '../../store/log/edits.js';
import { abandonStagedEvents, appendStagedEvents } from '../../store/log/events.js';
import { abandonStagedSets, countStagedSets, removeUnusedPart } from '../../store/records/record-sets.js';
import type { Context } from './context.js';

/** There is one job, for all sets. */
export const UNUSED_RECORDS_JOB = 'unused_records';

/** Milliseconds after which whoever made a very large edit has mostly appended its events. */
const TOLD_MS = 5000;

type WriteContext = Pick<Context, 'store' | 'clock'>;

/** Call inside the write that leaves rows behind. */
export function planRemoval({ store, clock }: WriteContext): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: UNUSED_RECORDS_JOB, subject: '', runAtMs: nowMs }, nowMs);
}

/** Call inside the write that makes an edit whose events are appended later, before {@link planRemoval}. */
export function planTelling({ store, clock }: WriteContext): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: UNUSED_RECORDS_JOB, subject: '', runAtMs: nowMs + TOLD_MS }, nowMs);
}

/** Call inside the write that begins an import. */
export function planRemovalOfAbandoned({ store, clock }: WriteContext): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: UNUSED_RECORDS_JOB, subject: '', runAtMs: nowMs + ABANDONED_MS }, nowMs);
}

export const unusedRecordsJobs: JobKind = {
  async handler({ store, clock, signal, requireLease }) {
    await store.write(() => {
      requireLease();
      const beforeUs = (clock.nowMs() - ABANDONED_MS) * 1000;
      abandonStagedSets(store, beforeUs);
      abandonStagedEvents(store, beforeUs);
    });
    const hasMore = (isLeft: boolean): boolean => isLeft && !signal.aborted;
    await inWrites({ store, clock }, true, hasMore, () => {
      requireLease();
      return appendStagedEvents(store) || removeUnusedPart(store);
    });
    if (signal.aborted) return { againAtMs: clock.nowMs() };
    return countStagedSets(store) > 0 ? { againAtMs: clock.nowMs() + ABANDONED_MS } : { done: true };
  },
};
