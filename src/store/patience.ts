/**
 * Waiting for the write lock. One attempt makes the thread stand still, so it is short; between attempts the event loop runs.
 */
import { sleep } from '../base/clock.js';
import { StoreBusy } from './failures.js';

/** How long one attempt waits for the lock, in milliseconds. */
const ATTEMPT_MS = 20;
/** How long the event loop runs between two attempts, in milliseconds. */
const PAUSE_MS = 15;
/** How long a write waits for others altogether, such as for an import by another process, in milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * Calls `attempt` until it no longer throws {@link StoreBusy}, and throws that after `patienceMs` milliseconds. `attempt` is
 * given the time it may stand still for the lock, in milliseconds.
 */
export async function whenFree<T>(attempt: (timeoutMs: number) => T, patienceMs: number = PATIENCE_MS): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += ATTEMPT_MS + PAUSE_MS) {
    try {
      return attempt(Math.min(ATTEMPT_MS, patienceMs));
    } catch (error) {
      if (!(error instanceof StoreBusy) || waitedMs + ATTEMPT_MS >= patienceMs) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
