/**
 * What takes long is done in pieces, in turns by account and of one account by client. So bodies are written: a client that reads nothing
 * takes megabytes until its connection is full, and many of them at once would keep everybody else waiting.
 */
import { createDividedTurnQueue } from './lists/turn-queue.js';

export interface Pace {
  /** Calls `next`, which does one piece, when it is the turn of the account, and of the client among those of the account. */
  wait(account: number | string, client: string, next: () => void): void;
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
  readonly account: string;
  readonly client: string;
  readonly next: () => void;
}

/** `most`: pieces in a turn of the event loop while no connections come. */
export function createBodyPace(most: number): Pace {
  let seen = newcomers;
  let turns = 0;
  const piecesNow = (): number => {
    if (seen === newcomers) return most;
    seen = newcomers;
    return ++turns % TURNS_BESIDE_NEWCOMERS === 0 ? 1 : 0;
  };
  return createTurnPace(piecesNow);
}

/** `piecesNow`: how many in this turn of the event loop. */
export function createTurnPace(piecesNow: () => number): Pace {
  const waiting = createDividedTurnQueue<Waiting>(
    ({ account }) => account,
    ({ client }) => client,
  );
  let isPlanned = false;
  const run = (): void => {
    isPlanned = false;
    for (const { next } of waiting.take(piecesNow())) next();
    plan();
  };
  const plan = (): void => {
    if (isPlanned || waiting.size === 0) return;
    isPlanned = true;
    setImmediate(run);
  };
  return {
    wait(account, client, next) {
      waiting.add({ account: String(account), client, next });
      plan();
    },
  };
}
