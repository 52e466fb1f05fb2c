/** The turn: an advisory lock with which a node keeps the others from appending for a moment. */
import { type Clock, steadyMs } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { LogUnavailable } from '../store/failures.js';
import type { Connection } from './connection.js';
import { isLockTimeout } from './postgres-failures.js';
import { END_TURN, TAKE_TURN } from './statements.js';

/** A turn that was taken lasts so long while there is something to append. */
const TURN_MS = 200;

interface Turn {
  /** Resolves when no other node appends any more, with the function that ends the turn. */
  take(): Promise<() => void>;
  /** An append begins; the returned function says that it has ended. */
  append(): () => void;
}

/**
 * A node that was beaten keeps others from appending for a moment, so that it is not beaten again and again. The turn ends when
 * nothing is appended any more, or after its time. It belongs to a connection: with that it is lost.
 */
export function createTurn(writer: Connection, clock: Clock, answerMs: number): Turn {
  let heldIn: number | undefined;
  let sinceMs = 0;
  let appending = 0;

  const end = (): void => {
    if (heldIn === undefined) return;
    const isSame = heldIn === writer.generation();
    heldIn = undefined;
    if (isSame) writer.query(END_TURN).catch(() => {});
  };
  const look = (): void => {
    if (heldIn === undefined || (appending > 0 && steadyMs(clock) - sinceMs < TURN_MS)) return;
    end();
  };

  return {
    async take() {
      if (heldIn === undefined || heldIn !== writer.generation()) {
        try {
          await writer.query(TAKE_TURN, [], { answerMs, allMs: answerMs });
          heldIn = writer.generation();
          sinceMs = steadyMs(clock);
        } catch (error) {
          // Another node has it for long, or the server is away: the next append says so.
          if (!isLockTimeout(error) && !(error instanceof LogUnavailable) && !(error instanceof UserError)) throw error;
        }
      }
      // What is written next in this process usually begins within the same turn of the event loop.
      return () => void setImmediate(() => setImmediate(look));
    },
    append() {
      appending++;
      return () => {
        appending--;
        setImmediate(() => setImmediate(look));
      };
    },
  };
}
