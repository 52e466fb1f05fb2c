/**
 * Bodies are written in pieces, in turns by account and of one account by client: a client that reads nothing takes megabytes until its
 * connection is full, and many of them at once would keep everybody else waiting.
 */
import { createTurnQueue, type TurnQueue } from './lists/turn-queue.js';

export interface Pace {
  /** Calls `next`, which makes or writes a piece, when it is the turn of the account, and of the client among those of the account. */
  wait(account: number, client: string, next: () => void): void;
}

/**
 * While connections come, one piece of all is made in so many turns of the event loop: it takes one connection from a listener in each
 * turn, so that whoever comes last waits for all that is done for those before.
 */
const TURNS_BESIDE_NEWCOMERS = 4;

let newcomers = 0;

/** To be called with each connection that a server accepts. */
export function noteNewcomer(): void {
  newcomers++;
}

interface Waiting {
  readonly client: string;
  readonly next: () => void;
}

/** `most`: pieces in a turn of the event loop while no connections come. */
export function createBodyPace(most: number): Pace {
  /** Each name stands for one of those that wait in the queue of the account. */
  const accounts = createTurnQueue<string>((name) => name);
  const clients = new Map<string, TurnQueue<Waiting>>();
  let isPlanned = false;
  let seen = newcomers;
  let turns = 0;
  const piecesNow = (): number => {
    if (seen === newcomers) return most;
    seen = newcomers;
    return ++turns % TURNS_BESIDE_NEWCOMERS === 0 ? 1 : 0;
  };
  const run = (): void => {
    isPlanned = false;
    for (const account of accounts.take(piecesNow())) {
      const queue = clients.get(account)!;
      const [one] = queue.take(1);
      if (queue.size === 0) clients.delete(account);
      one!.next();
    }
    plan();
  };
  const plan = (): void => {
    if (isPlanned || accounts.size === 0) return;
    isPlanned = true;
    setImmediate(run);
  };
  return {
    wait(account, client, next) {
      const name = String(account);
      let queue = clients.get(name);
      if (!queue) clients.set(name, (queue = createTurnQueue((one) => one.client)));
      queue.add({ client, next });
      accounts.add(name);
      plan();
    },
  };
}
