/** Schedules jobs, and tells the runner of the same process about them. */
import { perStore, type Store } from '../store/driver.js';
import { ensureJob, type NewJob, putJob } from '../store/jobs.js';

type Listener = (runAtMs: number) => void;

const listeners = perStore((): Set<Listener> => new Set());

/** Schedules a job, or moves it if it is already scheduled. Call inside the write that makes it necessary. */
export function schedule(store: Store, job: NewJob, nowMs: number): void {
  putJob(store, job, nowMs);
  announce(store, job.runAtMs);
}

/** Schedules a job that is not scheduled yet. Call inside a write. */
export function scheduleOnce(store: Store, job: NewJob, nowMs: number): void {
  ensureJob(store, job, nowMs);
  announce(store, job.runAtMs);
}

/** If the write is rolled back, the runner polls once in vain. */
function announce(store: Store, runAtMs: number): void {
  for (const listener of listeners(store)) listener(runAtMs);
}

/** Calls `listener` for each job scheduled through this handle from now on; the returned function stops that. */
export function onSchedule(store: Store, listener: Listener): () => void {
  const all = listeners(store);
  all.add(listener);
  return () => void all.delete(listener);
}
