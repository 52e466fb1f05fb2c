/** A clock by which each slice of long work is over after so many looks at it. */
import { TestClock } from './test-clock.js';

const MORE_THAN_A_SLICE_US = 10_000;

export class HastyClock extends TestClock {
  private passedUs = 0;

  constructor(private readonly looksOfASlice = 1) {
    super();
  }

  override steadyUs(): number {
    this.passedUs += MORE_THAN_A_SLICE_US / this.looksOfASlice;
    return super.steadyUs() + this.passedUs;
  }
}
