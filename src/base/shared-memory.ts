/**
 * Frees unused shared memory. Only the garbage collector frees it, but V8 does not count shared memory when it decides
 * whether to collect, and a thread that allocates nothing may never collect.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Octets of shared memory that may await a collection in one thread. */
const MOST_WAITING = 16 << 20;

export interface SharedMemoryUse {
  /**
   * This thread has dropped its last reference to this many octets. Collects garbage when much memory is waiting; that
   * takes milliseconds.
   */
  release(octets: number): void;
}

/** Creates the instance of one thread. */
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

/** The collector as a function. V8 exposes it in contexts that are created after the flag is set. */
function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
