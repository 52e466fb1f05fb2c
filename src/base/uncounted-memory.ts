/**
 * Frees unused memory that V8 does not count, such as shared memory and TLS contexts. Only the garbage collector frees it, but V8 does
 * not see it when it decides whether to collect, and a thread that allocates little may never collect.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const MOST_WAITING = 16 << 20;

export interface UncountedMemory {
  /**
   * This thread has dropped its last reference to this many octets. Collects garbage when much memory is waiting; that
   * takes milliseconds.
   */
  release(octets: number): void;
}

/** Creates the instance of one thread. `mostWaiting`: octets that may await a collection. */
export function createUncountedMemory(mostWaiting: number = MOST_WAITING): UncountedMemory {
  let waiting = 0;
  let collect: (() => void) | undefined;
  return {
    release(octets) {
      waiting += octets;
      if (waiting < mostWaiting) return;
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
