/** The only source of time. Everything that waits or stamps takes a Clock, so that tests move time by hand. */

export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  nowMs(): number;
  /** Microseconds since 1970, never the same twice from one clock, never going back. */
  nowUs(): number;
  /** Calls `run` once after `delayMs`; the returned function cancels. Does not keep the process alive. */
  after(delayMs: number, run: () => void): () => void;
  /** Calls `run` every `periodMs`; the returned function cancels. Does not keep the process alive. */
  every(periodMs: number, run: () => void): () => void;
}

export class SystemClock implements Clock {
  private lastUs = 0;

  nowMs(): number {
    return Date.now();
  }

  nowUs(): number {
    const now = Math.floor((performance.timeOrigin + performance.now()) * 1000);
    this.lastUs = now > this.lastUs ? now : this.lastUs + 1;
    return this.lastUs;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = setTimeout(run, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  }

  every(periodMs: number, run: () => void): () => void {
    const timer = setInterval(run, periodMs);
    timer.unref();
    return () => clearInterval(timer);
  }
}

interface Pending {
  dueMs: number;
  readonly periodMs: number | undefined;
  readonly run: () => void;
}

/** A clock that stands still until {@link TestClock.advance} is called. */
export class TestClock implements Clock {
  private pending: Pending[] = [];
  private microsecond = 0;

  constructor(private currentMs: number = Date.UTC(2026, 0, 1)) {}

  nowMs(): number {
    return this.currentMs;
  }

  nowUs(): number {
    this.microsecond = Math.max(this.microsecond + 1, this.currentMs * 1000);
    return this.microsecond;
  }

  after(delayMs: number, run: () => void): () => void {
    return this.add({ dueMs: this.currentMs + delayMs, periodMs: undefined, run });
  }

  every(periodMs: number, run: () => void): () => void {
    return this.add({ dueMs: this.currentMs + periodMs, periodMs, run });
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

/** Resolves after `ms` milliseconds; keeps the process alive meanwhile. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
