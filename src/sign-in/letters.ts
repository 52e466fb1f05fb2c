/**
 * A queue of messages, sent one after the other, with limits per hour. Networks and accounts take turns; of what the others leave, one
 * may use half, and the first message of each goes beyond what all share.
 */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import { hasRoomFor } from '../base/turn-classes.js';
import { createTurnQueue } from '../base/turn-queue.js';

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
  /** Resolves when the queue is empty. */
  idle(): Promise<void>;
}

interface Waiting {
  readonly of: string;
  readonly work: () => Promise<void>;
}

const HOUR_US = 3_600_000_000;

export function createLetters(clock: Clock, log: Logger, limits: LetterLimits): Letters {
  const sent: { readonly to: string; readonly of: string; readonly atUs: number }[] = [];
  const queue = createTurnQueue<Waiting>(({ of }) => of);
  const waiting: string[] = [];
  let sending: Promise<void> | undefined;
  const sendAll = async (): Promise<void> => {
    for (let [next] = queue.take(1); next; [next] = queue.take(1)) {
      const { of, work } = next;
      await work().catch((err: unknown) => log.error({ err }, 'a message to a user could not be sent'));
      waiting.splice(waiting.indexOf(of), 1);
    }
    sending = undefined;
  };
  return {
    count(to, of) {
      const atUs = clock.steadyUs();
      while (sent.length > 0 && sent[0]!.atUs <= atUs - HOUR_US) sent.shift();
      const own = sent.filter((one) => one.of === of).length;
      const hasRoom = hasRoomOf(own, sent.length, limits);
      if (!hasRoom || sent.filter((one) => one.to === to).length >= limits.to) return false;
      sent.push({ to, of, atUs });
      return true;
    },
    later(of, work) {
      const own = waiting.filter((one) => one === of).length;
      if (!hasRoomOf(own, waiting.length, limits)) return;
      waiting.push(of);
      queue.add({ of, work });
      sending ??= Promise.resolve().then(sendAll);
    },
    idle: async () => sending,
  };
}

/** Whether there is room for one more of somebody who has `own` of `all`. */
function hasRoomOf(own: number, all: number, { of, inAll }: LetterLimits): boolean {
  const most = Math.min(of, (inAll - (all - own)) / 2);
  return (own === 0 || own < most) && hasRoomFor(own, all, { places: inAll, beyond: inAll });
}
