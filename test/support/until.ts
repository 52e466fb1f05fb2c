/** Waiting for conditions. */
import { sleep } from '../../src/base/clock.js';

const LOOK_MS = 20;
/** More than a minute: a machine may be slow. */
const MOST_LOOKS = 3500;

/** Resolves when `isDone` resolves with true. It may reject meanwhile. Throws when it does not come to that. */
export async function until(isDone: () => Promise<unknown>): Promise<void> {
  let last: unknown;
  for (let look = 0; look < MOST_LOOKS; look++) {
    try {
      last = await isDone();
      if (last === true) return;
    } catch (error) {
      last = error;
    }
    await sleep(LOOK_MS);
  }
  throw new Error(`it did not come to that: ${String(last)}`);
}
