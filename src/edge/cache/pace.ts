/**
 * Bodies that are in memory are written in pieces, in turns by account: a client that reads nothing takes megabytes until its
 * connection is full, and many of them at once would keep everybody else waiting.
 */
import { createTurnQueue } from '../../base/turn-queue.js';

export interface Pace {
  /** Calls `next`, which writes a piece, when it is the account's turn. */
  wait(account: number, next: () => void): void;
}

/** Octets of a piece. */
export const PIECE = 1 << 16;
const PIECES_A_TURN = 16;

export function createPace(): Pace {
  const queue = createTurnQueue<{ readonly account: string; readonly next: () => void }>(({ account }) => account);
  let isPlanned = false;
  const run = (): void => {
    isPlanned = false;
    for (const { next } of queue.take(PIECES_A_TURN)) next();
    plan();
  };
  const plan = (): void => {
    if (isPlanned || queue.size === 0) return;
    isPlanned = true;
    setImmediate(run);
  };
  return {
    wait(account, next) {
      queue.add({ account: String(account), next });
      plan();
    },
  };
}
