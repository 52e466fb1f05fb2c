/**
 * What answers take of the time for signatures. On a busy machine other programs run while an answer is made, for a hundred
 * times as long as it takes. The clock does not tell these apart, and the processor time of a thread is not known as precisely as
 * an answer is short. So answers take time by the clock first, and get back afterwards what is more than the processor time of
 * everything in the thread.
 */
import { takeSigningTime } from '../answer/signing-time.js';

/** What a deferred query takes beside the work here: it goes from thread to thread, and its answer is sent. */
const OUTSIDE_US = 50;
/** The longest time by the clock after which some is given back. Processor time is counted more precisely than this. */
const LONGEST_UNSETTLED_US = 50_000;

export interface Spending {
  /** Processor time counts from now on. */
  begin(nowUs: number): void;
  /** Takes the time of an answer that was made from `beganUs` to `nowUs`. */
  spend(beganUs: number, nowUs: number): void;
  /** Gives back what was not processor time. */
  settle(nowUs: number): void;
  /** Microseconds that all answers up to the last settling took. */
  totalUs(): number;
}

/** `processorUs`: processor time of this thread, in microseconds. */
export function createSpending(time: Int32Array<SharedArrayBuffer>, processorUs: () => number): Spending {
  let settledUs = 0;
  let countedUs = 0;
  let spentUs = 0;
  let totalUs = 0;
  const begin = (nowUs: number): void => {
    settledUs = nowUs;
    countedUs = processorUs();
  };
  const settle = (nowUs: number): void => {
    const usedUs = Math.min(spentUs, Math.max(0, Math.ceil(processorUs() - countedUs)));
    takeSigningTime(time, usedUs - spentUs);
    totalUs += usedUs;
    spentUs = 0;
    begin(nowUs);
  };
  return {
    begin,
    spend(beganUs, nowUs) {
      const us = nowUs - beganUs;
      takeSigningTime(time, us + OUTSIDE_US);
      totalUs += OUTSIDE_US;
      spentUs += us;
      if (nowUs - settledUs >= LONGEST_UNSETTLED_US) settle(nowUs);
    },
    settle,
    totalUs: () => totalUs,
  };
}
