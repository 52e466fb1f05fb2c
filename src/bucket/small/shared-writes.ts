/**
 * Writes of objects that are requested while others are written share the next transaction: syncing the disk takes most of the time,
 * and then happens once for all of them. Each can be refused by itself.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.js';
import { beginShared } from '../../base/slices.js';
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

interface Where {
  readonly store: Store;
  readonly clock: Clock;
}

/** Like {@link Store.write}; `work` must not use {@link Store.part}. */
export function writeTogether<T>(where: Where, work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const queue = queues(where.store);
    queue.jobs.push({ work, resolve: resolve as Job['resolve'], reject });
    if (queue.isDraining) return;
    queue.isDraining = true;
    setImmediate(() => void drain(where, queue));
  });
}

async function drain(where: Where, queue: Queue): Promise<void> {
  while (queue.jobs.length > 0) {
    queue.jobs.unshift(...(await runTogether(where, queue.jobs.splice(0, MOST_TOGETHER))));
    // Otherwise all waiting writes would run in one turn of the event loop, in which nobody else is answered.
    if (queue.jobs.length > 0) await nextTurn();
  }
  queue.isDraining = false;
}

/** Runs as many of the first jobs as one transaction has time for, and returns the others; never throws. */
async function runTogether(where: Where, jobs: readonly Job[]): Promise<readonly Job[]> {
  const { store, clock } = where;
  try {
    const settlers = await store.write(() => {
      const isOver = beginShared(clock);
      const ran: (() => void)[] = [];
      for (const job of jobs) {
        ran.push(runPart(store, job));
        if (isOver()) break;
      }
      return ran;
    });
    for (const settle of settlers) settle();
    return jobs.slice(settlers.length);
  } catch (error) {
    // Perhaps there is room for some of them. Any other failure is one of the database, and that of all.
    if (jobs.length > 1 && error instanceof StoreFull) for (const job of jobs) await runTogether(where, [job]);
    else for (const job of jobs) job.reject(error);
    return [];
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
