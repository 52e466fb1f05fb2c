/** The parts that a process has started. They are stopped in reverse order under one time limit. */
import type { Clock } from './clock.js';
import type { Logger } from './log.js';

export interface Lifecycle {
  /** Adds a started part, whose `stop` will be called once. Returns the part. */
  own<Part>(name: string, part: Part, stop: (part: Part) => void | Promise<void>): Part;
  /**
   * Stops all parts, the latest first, each after the previous one has stopped. A failing part is logged, and the
   * others are still stopped. Resolves to true when all stopped in time; resolves after `limitMs` milliseconds at the
   * latest. Further calls return the same promise.
   */
  stop(limitMs: number): Promise<boolean>;
}

export function createLifecycle(clock: Clock, log: Logger): Lifecycle {
  const parts: { readonly name: string; readonly stop: () => void | Promise<void> }[] = [];
  let stopping: Promise<boolean> | undefined;

  async function stopAll(): Promise<boolean> {
    let clean = true;
    for (let part = parts.pop(); part; part = parts.pop()) {
      try {
        await part.stop();
      } catch (error) {
        clean = false;
        log.error({ err: error }, `could not stop ${part.name}`);
      }
    }
    return clean;
  }

  return {
    own(name, part, stop) {
      parts.push({ name, stop: () => stop(part) });
      return part;
    },
    stop(limitMs) {
      stopping ??= withLimit(clock, limitMs, stopAll()).then((clean) => {
        if (clean === undefined) log.warn(`stopping took longer than ${limitMs} ms`);
        return clean ?? false;
      });
      return stopping;
    },
  };
}

/** The result of `work`, or undefined when it takes longer than `limitMs` milliseconds. */
export async function withLimit<Result>(
  clock: Clock,
  limitMs: number,
  work: Promise<Result>,
): Promise<Result | undefined> {
  let cancel = (): void => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(limitMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
