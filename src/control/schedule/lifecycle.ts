/** Schedules that the objects of a bucket are looked at by its lifecycle rules, in the write that sets them. */
import { schedule } from '../../jobs/schedule.js';
import type { Context } from '../kernel/context.js';

/** Does to objects and uploads what the lifecycle rules of their bucket say. The subject is `bucket`, a blank and its store number. */
export const LIFECYCLE_JOB = 'bucket_lifecycle';

const SUBJECT = /^bucket (\d+)$/;

export function planLifecycle({ store, clock }: Pick<Context, 'store' | 'clock'>, bucket: number): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: LIFECYCLE_JOB, subject: `bucket ${bucket}`, runAtMs: nowMs }, nowMs);
}

/** The store number of the bucket that a job is about. */
export function bucketOfJob(subject: string): number {
  return Number(SUBJECT.exec(subject)?.[1]);
}
