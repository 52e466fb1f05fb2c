/** A clock on which time runs faster, so that limits of seconds and minutes pass while a test waits. */
import { SystemClock } from '../../src/base/clock.js';

export class QuickClock extends SystemClock {
  private readonly startUs = super.steadyUs();

  constructor(private readonly times: number) {
    super();
  }

  override steadyUs(): number {
    return this.startUs + (super.steadyUs() - this.startUs) * this.times;
  }

  override after(delayMs: number, run: () => void): () => void {
    return super.after(delayMs / this.times, run);
  }

  override every(periodMs: number, run: () => void): () => void {
    return super.every(periodMs / this.times, run);
  }
}
