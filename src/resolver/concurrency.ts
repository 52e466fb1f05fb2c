/**
 * Limits how many queries run at once. The others wait in one queue for each domain, and the queues take turns. So ten
 * thousand names of one broken domain do not delay the one name of another.
 */
import { type Clock, steadyMs } from '../base/clock.js';

export interface ConcurrencyLimits {
  readonly parallel: number;
  readonly waiting: number;
  readonly waitMs: number;
}

export interface Concurrency {
  /** Runs `work` when its turn comes; undefined when too many are waiting, or when the turn does not come in time. */
  run<Result>(line: string, work: () => Promise<Result>): Promise<Result | undefined>;
  readonly running: number;
  readonly waiting: number;
}

interface Waiting {
  readonly sinceMs: number;
  /** Called with whether the work may begin. */
  readonly call: (mayBegin: boolean) => void;
}

export function limitConcurrency(clock: Clock, limits: ConcurrencyLimits): Concurrency {
  /** Insertion order is the order of turns. */
  const lines = new Map<string, Waiting[]>();
  let running = 0;
  let waiting = 0;

  function callNext(): void {
    while (running < limits.parallel) {
      const next = lines.entries().next();
      if (next.done) return;
      const [line, queue] = next.value;
      lines.delete(line);
      const first = queue.shift()!;
      if (queue.length > 0) lines.set(line, queue);
      waiting--;
      const inTime = steadyMs(clock) - first.sinceMs <= limits.waitMs;
      if (inTime) running++;
      first.call(inTime);
    }
  }

  function waitInLine(line: string): Promise<boolean> {
    if (running < limits.parallel && waiting === 0) {
      running++;
      return Promise.resolve(true);
    }
    if (waiting >= limits.waiting) return Promise.resolve(false);
    return new Promise((call) => {
      const queue = lines.get(line) ?? [];
      queue.push({ sinceMs: steadyMs(clock), call });
      lines.set(line, queue);
      waiting++;
    });
  }

  return {
    async run(line, work) {
      if (!(await waitInLine(line))) return undefined;
      try {
        return await work();
      } finally {
        running--;
        callNext();
      }
    },
    get running() {
      return running;
    },
    get waiting() {
      return waiting;
    },
  };
}
