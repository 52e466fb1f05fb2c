/** Planning jobs, and telling the runner of the same process about it. */
import { perStore, type Store } from '../store/driver.js';
import { ensureJob, type NewJob, putJob } from '../store/jobs.js';

type Listener = (runAtMs: number) => void;

const listeners = perStore((): Set<Listener> => new Set());

/**
 * Has a job run at a time, and moves it there when it is planned already. Call inside a write: what is planned is written with
 * what it is planned for.
 */
export function schedule(store: Store, job: NewJob, nowMs: number): void {
  putJob(store, job, nowMs);
  announce(store, job.runAtMs);
}

/** Plans a job that is not planned yet. Call inside a write. */
export function scheduleOnce(store: Store, job: NewJob, nowMs: number): void {
  ensureJob(store, job, nowMs);
  announce(store, job.runAtMs);
}

/** When the write is taken back after all, somebody has looked in vain. */
function announce(store: Store, runAtMs: number): void {
  for (const listener of listeners(store)) listener(runAtMs);
}

/** Calls `listener` for each job that is planned through this handle from now on; the returned function ends that. */
export function onSchedule(store: Store, listener: Listener): () => void {
  const all = listeners(store);
  all.add(listener);
  return () => void all.delete(listener);
}
