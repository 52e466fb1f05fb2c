/**
 * Queues of messages with limits per hour, one for each network or account: its messages are sent one after the other, and wait for
 * nobody else's. Of what the others leave, one may use half, and the first message of each goes beyond what all share.
 */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import { hasShareFor } from '../base/turn-classes.js';

export interface LetterLimits {
  /** Messages to one address. */
  readonly to: number;
  /** Messages requested by one network or one account. */
  readonly of: number;
  /** Messages in all; as many more for those who have none. */
  readonly inAll: number;
}

export interface Letters {
  /** Counts a message; false if there were too many within the last hour. */
  count(to: string, of: string): boolean;
  /** Queues work; drops it if too much is waiting. A failure is logged. */
  later(of: string, work: () => Promise<void>): void;
  /** Resolves when the queues are empty. */
  idle(): Promise<void>;
}

const HOUR_US = 3_600_000_000;

export function createLetters(clock: Clock, log: Logger, limits: LetterLimits): Letters {
  const sent: { readonly to: string; readonly of: string; readonly atUs: number }[] = [];
  /** What waits, the one that is sent first; by network or account. */
  const queues = new Map<string, (() => Promise<void>)[]>();
  const sending = new Set<Promise<void>>();
  let waiting = 0;
  const sendAll = async (of: string, queue: (() => Promise<void>)[]): Promise<void> => {
    for (let work = queue[0]; work; work = queue[0]) {
      await work().catch((err: unknown) => log.error({ err }, 'a message to a user could not be sent'));
      queue.shift();
      waiting--;
    }
    queues.delete(of);
  };
  return {
    count(to, of) {
      const atUs = clock.steadyUs();
      while (sent.length > 0 && sent[0]!.atUs <= atUs - HOUR_US) sent.shift();
      const own = sent.filter((one) => one.of === of).length;
      const hasRoom = hasShareFor(own, sent.length, limits);
      if (!hasRoom || sent.filter((one) => one.to === to).length >= limits.to) return false;
      sent.push({ to, of, atUs });
      return true;
    },
    later(of, work) {
      const queue = queues.get(of);
      if (!hasShareFor(queue?.length ?? 0, waiting, limits)) return;
      waiting++;
      if (queue) {
        queue.push(work);
        return;
      }
      const own = [work];
      queues.set(of, own);
      const all: Promise<void> = Promise.resolve()
        .then(() => sendAll(of, own))
        .finally(() => sending.delete(all));
      sending.add(all);
    },
    idle: async () => void (await Promise.all(sending)),
  };
}
