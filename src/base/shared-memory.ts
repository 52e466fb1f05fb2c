/**
 * Shared memory that is no longer used. Only the garbage collector frees it, but V8 does not count shared memory when it decides
 * whether to collect, and a thread that allocates nothing may never collect at all.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Octets of shared memory that may wait for a collection in one thread. */
const MOST_WAITING = 16 << 20;

export interface SharedMemoryUse {
  /** The last reference of this thread to so many octets is gone. Collects when much is waiting, which takes milliseconds. */
  release(octets: number): void;
}

/** For one thread. */
export function createSharedMemoryUse(): SharedMemoryUse {
  let waiting = 0;
  let collect: (() => void) | undefined;
  return {
    release(octets) {
      waiting += octets;
      if (waiting < MOST_WAITING) return;
      waiting = 0;
      collect ??= exposeCollector();
      collect();
    },
  };
}

/** The collector as a function: V8 gives it to contexts made after the flag is set. */
function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
