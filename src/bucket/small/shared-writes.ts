/**
 * Writes of objects that are requested while others are written share the next transaction: syncing the disk takes most of the time,
 * and then happens once for all of them. Each can be refused by itself.
 */
import { perStore, type Store, StoreFull } from '../../store/driver.js';

interface Job {
  readonly work: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Queue {
  readonly jobs: Job[];
  isDraining: boolean;
}

/** The largest number of writes in one transaction. */
const MOST_TOGETHER = 32;

const queues = perStore((): Queue => ({ jobs: [], isDraining: false }));

/** Like {@link Store.write}; `work` must not use {@link Store.part}. */
export function writeTogether<T>(store: Store, work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const queue = queues(store);
    queue.jobs.push({ work, resolve: resolve as Job['resolve'], reject });
    if (queue.isDraining) return;
    queue.isDraining = true;
    setImmediate(() => void drain(store, queue));
  });
}

async function drain(store: Store, queue: Queue): Promise<void> {
  while (queue.jobs.length > 0) await runTogether(store, queue.jobs.splice(0, MOST_TOGETHER));
  queue.isDraining = false;
}

/** Settles all of them; never throws. */
async function runTogether(store: Store, jobs: readonly Job[]): Promise<void> {
  try {
    const settlers = await store.write(() => jobs.map((job) => runPart(store, job)));
    for (const settle of settlers) settle();
  } catch (error) {
    // Perhaps there is room for some of them. Any other failure is one of the database, and that of all.
    if (jobs.length > 1 && error instanceof StoreFull) for (const job of jobs) await runTogether(store, [job]);
    else for (const job of jobs) job.reject(error);
  }
}

function runPart(store: Store, { work, resolve, reject }: Job): () => void {
  try {
    const value = store.part(work);
    return () => resolve(value as never);
  } catch (error) {
    // The whole transaction has failed, or may be tried again when there is more room.
    if (error instanceof StoreFull || store.state() !== undefined) throw error;
    return () => reject(error);
  }
}
