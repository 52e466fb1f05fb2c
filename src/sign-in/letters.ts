/** A queue of messages, sent one after the other, with limits per hour. */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';

export interface LetterLimits {
  /** Messages to one address. */
  readonly to: number;
  /** Messages requested by one network or one account. */
  readonly of: number;
  readonly inAll: number;
}

export interface Letters {
  /** Counts a message; false if there were too many within the last hour. */
  count(to: string, of: string): boolean;
  /** Queues work; drops it if too much is waiting. A failure is logged. */
  later(of: string, work: () => Promise<void>): void;
  /** Resolves when the queue is empty. */
  idle(): Promise<void>;
}

const HOUR_US = 3_600_000_000;

export function createLetters(clock: Clock, log: Logger, limits: LetterLimits): Letters {
  const sent: { readonly to: string; readonly of: string; readonly atUs: number }[] = [];
  const waiting: string[] = [];
  let work: Promise<void> = Promise.resolve();
  return {
    count(to, of) {
      const atUs = clock.steadyUs();
      while (sent.length > 0 && sent[0]!.atUs <= atUs - HOUR_US) sent.shift();
      const isFull =
        sent.length >= limits.inAll ||
        sent.filter((one) => one.to === to).length >= limits.to ||
        sent.filter((one) => one.of === of).length >= limits.of;
      if (!isFull) sent.push({ to, of, atUs });
      return !isFull;
    },
    later(of, next) {
      if (waiting.length >= limits.inAll || waiting.filter((one) => one === of).length >= limits.of) return;
      waiting.push(of);
      work = work
        .then(next)
        .catch((err: unknown) => log.error({ err }, 'a message to a user could not be sent'))
        .finally(() => waiting.splice(waiting.indexOf(of), 1));
    },
    idle: () => work,
  };
}
