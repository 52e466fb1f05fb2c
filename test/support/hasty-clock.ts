/** A clock by which each slice of long work is over after so many looks at it. */
import { TestClock } from './test-clock.js';

const MORE_THAN_A_SLICE_US = 10_000;

export class HastyClock extends TestClock {
  /** Long work looks once after each of its slices, or more often; work in one turn never does. */
  looks = 0;
  private passedUs = 0;

  constructor(private readonly looksOfASlice = 1) {
    super();
  }

  override steadyUs(): number {
    this.looks++;
    this.passedUs += MORE_THAN_A_SLICE_US / this.looksOfASlice;
    return super.steadyUs() + this.passedUs;
  }
}
