/**
 * What the rules of an account may cost in a second. One request that takes some milliseconds harms nobody; a hundred in a second would
 * take the thread of the edge from all others. An account that has used its share may still do what nearly all rules need.
 */
import { type Clock, steadyMs } from '../../base/clock.js';
import { MOST_WORK } from '../../rulesets/subject.js';

/** Units of work (expressions/work.ts) in a second: about a tenth of a thread. */
const MOST_OF_ACCOUNT = 16 * MOST_WORK;
/** What a request may always take. */
const MODEST = MOST_WORK / 16;

export interface WorkShares {
  /** Units that the next request of the account (store number) may take. */
  of(account: number): number;
  took(account: number, units: number): void;
}

export function createWorkShares(clock: Clock): WorkShares {
  const taken = new Map<number, number>();
  let second = 0;
  return {
    of(account) {
      const now = Math.floor(steadyMs(clock) / 1000);
      if (now !== second) taken.clear();
      second = now;
      return (taken.get(account) ?? 0) < MOST_OF_ACCOUNT ? MOST_WORK : MODEST;
    },
    took(account, units) {
      if (units > MODEST) taken.set(account, (taken.get(account) ?? 0) + units);
    },
  };
}
