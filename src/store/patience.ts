/** Waits for the write lock. An attempt blocks the thread, so it is short; the event loop runs between attempts. */
import { sleep } from '../base/clock.js';
import { StoreBusy, StoreFull } from './failures.js';

/** Milliseconds that one attempt waits for the lock. */
const ATTEMPT_MS = 20;
/** Milliseconds between two attempts, in which the event loop runs. */
const PAUSE_MS = 15;
/** The total time that a write waits for others, such as an import by another process, in milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * Calls `attempt` until it no longer throws {@link StoreBusy}; throws that error after `patienceMs` milliseconds.
 * `attempt` receives the milliseconds for which it may block on the lock.
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

/** What makes room for writes on a full disk. */
export interface WriteRoom {
  /** Called when a write found the disk full. True: there is some room now, and it runs again. */
  make(): boolean;
  /** Called after each commit, which stands: it must not throw. */
  committed(): void;
}

/** Calls `attempt` again when the disk was full and room was made. */
export function withRoom<T>(attempt: () => T, room: WriteRoom | undefined): T {
  try {
    return attempt();
  } catch (error) {
    if (!(error instanceof StoreFull) || !room?.make()) throw error;
    return attempt();
  }
}
