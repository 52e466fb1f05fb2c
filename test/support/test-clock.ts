/** A clock for tests, which the test sets. */
import type { Clock } from '../../src/base/clock.js';

interface Pending {
  dueMs: number;
  readonly periodMs: number | undefined;
  readonly run: () => void;
}

/** A clock that stands still until {@link TestClock.advance} is called. */
export class TestClock implements Clock {
  private pending: Pending[] = [];
  private microsecond = 0;
  private backMs = 0;
  private backs = 0;

  constructor(private currentMs: number = Date.UTC(2026, 0, 1)) {}

  nowMs(): number {
    return this.currentMs;
  }

  nowUs(): number {
    this.microsecond = Math.max(this.microsecond + 1, this.currentMs * 1000);
    return this.microsecond;
  }

  steadyUs(): number {
    return (this.currentMs + this.backMs) * 1000;
  }

  timesPutBack(): number {
    return this.backs;
  }

  /** Sets the wall clock back, or forward by a negative time; what is due stays as far away as it was. */
  putBack(ms: number): void {
    this.currentMs -= ms;
    this.backMs += ms;
    this.microsecond = 0;
    if (ms > 10_000) this.backs++;
    for (const entry of this.pending) entry.dueMs -= ms;
  }

  after(delayMs: number, run: () => void): () => void {
    return this.add({ dueMs: this.currentMs + delayMs, periodMs: undefined, run });
  }

  every(periodMs: number, run: () => void): () => void {
    return this.add({ dueMs: this.currentMs + periodMs, periodMs, run });
  }

  inStep(periodMs: number, run: () => void): () => void {
    return this.every(periodMs, run);
  }

  /** Moves time forward and runs, in order, all that falls due. */
  advance(ms: number): void {
    const end = this.currentMs + ms;
    for (;;) {
      const next = this.pending.filter((entry) => entry.dueMs <= end).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (!next) break;
      this.currentMs = next.dueMs;
      if (next.periodMs === undefined) this.pending = this.pending.filter((entry) => entry !== next);
      else next.dueMs += next.periodMs;
      next.run();
    }
    this.currentMs = end;
  }

  private add(entry: Pending): () => void {
    this.pending.push(entry);
    return () => {
      this.pending = this.pending.filter((other) => other !== entry);
    };
  }
}
