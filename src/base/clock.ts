/** The only source of time. Everything that waits or records a time takes a Clock, so that tests control time. */

import { untilNext } from './in-step.js';

export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  nowMs(): number;
  /** Microseconds since 1970. One clock never returns the same value twice and never goes back. */
  nowUs(): number;
  /** Calls `run` once after `delayMs`; the returned function cancels. Does not keep the process alive. */
  after(delayMs: number, run: () => void): () => void;
  /** Calls `run` every `periodMs`; the returned function cancels. Does not keep the process alive. */
  every(periodMs: number, run: () => void): () => void;
  /**
   * The same for what may come a little earlier or later the first time: it is in step with everything else that is called like
   * this, so that an idle process wakes up once for all of it.
   */
  inStep(periodMs: number, run: () => void): () => void;
}

/** Waits until that moment of {@link steadyMs}, or until the signal. */
export function untilSteady(clock: Clock, endMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(Math.max(0, endMs - steadyMs(clock)), end);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}

/** Milliseconds of a clock that is never put back: for intervals and idle times. What they count from has no meaning. */
export function steadyMs(clock: Clock): number {
  return clock.nowUs() / 1000;
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

  inStep(periodMs: number, run: () => void): () => void {
    let timer: NodeJS.Timeout | undefined;
    const plan = (): void => {
      timer = setTimeout(
        () => {
          plan();
          run();
        },
        untilNext(performance.now(), periodMs),
      );
      timer.unref();
    };
    plan();
    return () => clearTimeout(timer);
  }
}

/**
 * Processor time of this thread in microseconds, as precise as the system counts it: often a few milliseconds. Node before 23.9
 * does not tell; there it is the time by the clock, which is more.
 */
export function threadProcessorUs(): number {
  const used = process.threadCpuUsage?.();
  return used ? used.user + used.system : performance.now() * 1000;
}

/** Resolves after `ms` milliseconds; keeps the process alive meanwhile. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
