/** Waiting for conditions. */
import { sleep } from '../../src/base/clock.js';

/** A look costs little at first; later it leaves the processor to what is waited for. */
const MOST_BETWEEN_LOOKS_MS = 20;
/** More than a minute: a machine may be slow. */
const LIMIT_MS = 75_000;

/**
 * Resolves when `isDone` gives true, also in a promise. It may throw meanwhile. Throws when it does not come to that within
 * {@link LIMIT_MS}, with what was waited for and the text of `hint`.
 */
export async function until(isDone: () => unknown, what = '', hint: () => string = () => ''): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  let last: unknown;
  for (let pauseMs = 1; performance.now() < end; pauseMs = Math.min(2 * pauseMs, MOST_BETWEEN_LOOKS_MS)) {
    try {
      last = await isDone();
      if (last === true) return;
    } catch (error) {
      last = error;
    }
    await sleep(pauseMs);
  }
  throw new Error(`it did not come to that: ${what} ${String(last)} ${hint().slice(-3000)}`);
}
