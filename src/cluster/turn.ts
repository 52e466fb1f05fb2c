/** The turn: a lock with which a node keeps the others from appending for a moment, on a connection of its own. */
import { type Clock, steadyMs } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { LogUnavailable } from '../store/failures.js';
import type { Turn } from '../store/log-writer.js';
import type { Connection } from './connection.js';
import { isLockTimeout, isRefused } from './postgres-failures.js';
import { END_TURN, TAKE_TURN } from './statements.js';

/** A turn that was taken lasts so long while there is something to append. */
const TURN_MS = 200;
/** After an entry of another node, further ones are expected for so long. */
const OTHERS_MS = 1000;

interface Turns {
  /**
   * Resolves when no other node appends any more. Undefined where there is no need: `wasBeaten` is false, and no other node has
   * written for a while.
   */
  take(wasBeaten: boolean): Promise<Turn | undefined>;
  /** Another node has written. */
  noteOthers(): void;
  /** Whether this node has it. */
  isHeld(): boolean;
  /** An append begins; the returned function says that it has ended. */
  append(): () => void;
}

/**
 * Nodes that write at the same time do so in turns, so that none is beaten again and again, and no write is run in vain. A
 * turn ends when nothing is appended any more, or after its time. It belongs to a connection: with that it is lost.
 */
export function createTurns(own: Connection, clock: Clock, answerMs: number): Turns {
  let heldIn: number | undefined;
  let sinceMs = 0;
  let appending = 0;
  let othersAtMs = Number.NEGATIVE_INFINITY;

  const isHeld = (): boolean => heldIn !== undefined && heldIn === own.generation() && own.isUp();
  const end = (): void => {
    const wasHeld = isHeld();
    heldIn = undefined;
    if (wasHeld) own.query(END_TURN).catch(() => {});
  };
  const look = (): void => {
    if (heldIn === undefined || (appending > 0 && steadyMs(clock) - sinceMs < TURN_MS)) return;
    end();
  };
  const endSoon = (): void => void setImmediate(() => setImmediate(look));

  async function take(): Promise<Turn> {
    if (isHeld()) return { isFresh: false, end: endSoon };
    try {
      await own.query(TAKE_TURN, [], { answerMs, allMs: answerMs });
      heldIn = own.generation();
      sinceMs = steadyMs(clock);
    } catch (error) {
      // Another node has it for long, or the server is away: the next append says so.
      if (isLockTimeout(error)) own.query(END_TURN).catch(() => {});
      else if (!isRefused(error) && !(error instanceof LogUnavailable) && !(error instanceof UserError)) throw error;
    }
    // What is written next in this process usually begins within the same turn of the event loop.
    return { isFresh: true, end: endSoon };
  }

  return {
    async take(wasBeaten) {
      if (!wasBeaten && steadyMs(clock) - othersAtMs >= OTHERS_MS) return undefined;
      return take();
    },
    noteOthers() {
      othersAtMs = steadyMs(clock);
    },
    isHeld,
    append() {
      appending++;
      return () => {
        appending--;
        endSoon();
      };
    },
  };
}
