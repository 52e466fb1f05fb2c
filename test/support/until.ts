/** Waiting for conditions. */
import { inspect } from 'node:util';
import { sleep } from '../../src/base/clock.js';

/** A look costs little at first; later it leaves the processor to what is waited for. */
const MOST_BETWEEN_LOOKS_MS = 20;
/** Minutes: a machine may be slow. */
const LIMIT_MS = 150_000;

/**
 * Resolves when `isDone` gives true, also in a promise. It may throw meanwhile. Throws when it does not come to that within
 * {@link LIMIT_MS}, with what was waited for and the text of `hint`.
 */
export async function until(isDone: () => unknown, what = '', hint: () => string = () => ''): Promise<void> {
  await firstThat(isDone, (result) => result === true, { what, hint });
}

export interface Waiting {
  /** What is waited for, and what else to tell when it does not come. */
  readonly what?: string;
  readonly hint?: () => string;
  /** Default: {@link LIMIT_MS}. */
  readonly limitMs?: number;
}

/**
 * Looks until what it sees fits, and resolves with that. `look` may throw meanwhile. Throws when it does not come to that in time,
 * with what was seen last.
 */
export async function firstThat<Seen>(
  look: () => Seen | Promise<Seen>,
  fits: (seen: Seen) => boolean,
  { what = '', hint = () => '', limitMs = LIMIT_MS }: Waiting = {},
): Promise<Seen> {
  const end = performance.now() + limitMs;
  let last: unknown;
  for (let pauseMs = 1; performance.now() < end; pauseMs = Math.min(2 * pauseMs, MOST_BETWEEN_LOOKS_MS)) {
    try {
      const seen = await look();
      if (fits(seen)) return seen;
      last = seen;
    } catch (error) {
      last = error;
    }
    await sleep(pauseMs);
  }
  const seen = last instanceof Error ? String(last) : inspect(last).slice(0, 3000);
  throw new Error(`it did not come to that: ${what} ${seen} ${hint().slice(-3000)}`);
}
