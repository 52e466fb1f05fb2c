/**
 * What evaluating expressions may cost: whoever writes them, and whoever sends what they examine, share a thread with others. Parts that
 * take longer the longer a text is spend units before they begin; a unit is about the comparison of one character.
 */

/** The work that was allowed is spent. */
export class TooMuchWork extends Error {}

/** Small whole numbers, which cost no memory. */
let left = 0;
let isCounted = false;

/** Throws {@link TooMuchWork} when nothing is left. */
export function spend(units: number): void {
  if (!isCounted) return;
  left -= units;
  if (left < 0) throw new TooMuchWork('the expressions take too long');
}

/** Runs what evaluates expressions with the units of an account; without one, nothing is counted. */
export function withinWork<Result>(account: { work: number }, run: () => Result): Result {
  const [before, was] = [left, isCounted];
  left = account.work;
  isCounted = true;
  try {
    return run();
  } finally {
    account.work = left;
    left = before;
    isCounted = was;
  }
}
