/**
 * The only source of time. Whatever waits, measures or records a time takes a Clock, so that tests control time. There are two times:
 * that of the wall clock, which anybody may set at any moment, and a steady one for intervals.
 */

import { untilNext } from './in-step.js';

export interface Clock {
  /** The wall clock: milliseconds since 1970-01-01T00:00:00Z. Goes back when the clock is set back. */
  nowMs(): number;
  /**
   * The wall clock in microseconds, for stamps: one clock never returns the same value twice, and goes back only when the wall clock
   * was set back by more than a second.
   */
  nowUs(): number;
  /** How often the wall clock was found put back, by more than time servers do it: what was stamped before may lie in the future. */
  timesPutBack(): number;
  /** Microseconds of a clock that nobody sets: for intervals. What they count from has no meaning. */
  steadyUs(): number;
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

/** Milliseconds of a clock that nobody sets: for intervals and idle times. What they count from has no meaning. */
export function steadyMs(clock: Clock): number {
  return clock.steadyUs() / 1000;
}

/** What the system says. */
export interface SystemTime {
  /** Whole milliseconds since 1970. */
  wallMs(): number;
  steadyMs(): number;
}

/** Read once, because it never changes and reading it takes longer than the addition. */
const { timeOrigin } = performance;

const SYSTEM_TIME: SystemTime = {
  wallMs: () => Date.now(),
  steadyMs: () => timeOrigin + performance.now(),
};

/** The wall clock is read by the millisecond; further away from it, the computed time is wrong because the clock was set. */
const PRECISION_US = 2000;
/** Stamps stay in order when the clock is put back by less, as time servers do it. */
const SMALL_STEP_US = 1_000_000;

/** How long before the moment in which the clock is found put back rows may have been written since. */
const READ_AGAIN_US = 60_000_000;

/**
 * From which stamp on rows are to be read when those up to `readUs` were: the clock may have been put back since. Rows with stamps of
 * a clock that is ahead are among them each time.
 */
export function unreadSince(clock: Clock, readUs: number): number {
  const now = clock.nowUs();
  return readUs <= now ? readUs : now - READ_AGAIN_US;
}

/** Whoever is put back by less makes nothing wait for long. */
const PUT_BACK_MS = 10_000;

export class SystemClock implements Clock {
  private lastUs = 0;
  /** Between the steady time and that of the wall clock. */
  private aheadUs = 0;
  /** The latest time that it has said since it was put back. */
  private latestMs = 0;
  private backs = 0;

  constructor(private readonly system: SystemTime = SYSTEM_TIME) {}

  nowMs(): number {
    const now = this.system.wallMs();
    if (now >= this.latestMs) this.latestMs = now;
    else if (this.latestMs - now > PUT_BACK_MS) {
      this.backs++;
      this.latestMs = now;
    }
    return now;
  }

  timesPutBack(): number {
    this.nowMs();
    return this.backs;
  }

  nowUs(): number {
    const steady = Math.floor(this.system.steadyMs() * 1000);
    const wall = this.nowMs() * 1000;
    if (Math.abs(steady + this.aheadUs - wall) > PRECISION_US) this.aheadUs = wall - steady;
    const now = steady + this.aheadUs;
    const isBehind = now <= this.lastUs && this.lastUs - now < SMALL_STEP_US;
    this.lastUs = isBehind ? this.lastUs + 1 : now;
    return this.lastUs;
  }

  steadyUs(): number {
    return Math.floor(this.system.steadyMs() * 1000);
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
        // All processes of one program, too: a message from one of them then reaches another that is awake anyway.
        untilNext(this.system.steadyMs(), periodMs),
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
