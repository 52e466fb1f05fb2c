/** The work of encoders in the threads that reads of files need, too: a few at a time, in turns by account. */
import type { Transform } from 'node:stream';
import { createTurnQueue } from '../../base/lists/turn-queue.js';

/** libuv has four threads unless the operator says otherwise: one of them stays free for reads of files. */
const MOST_AT_WORK = 3;

interface Work {
  readonly account: number;
  /** `leave` ends its turn; further calls of it do nothing. */
  start(leave: () => void): void;
}

export interface ThreadTurns {
  /** Starts the work, perhaps at once. */
  enter(work: Work): void;
}

export function createThreadTurns(): ThreadTurns {
  const waiting = createTurnQueue<Work>(({ account }) => String(account));
  let atWork = 0;
  const begin = (work: Work): void => {
    atWork++;
    let isOver = false;
    work.start(() => {
      if (isOver) return;
      isOver = true;
      atWork--;
      for (const next of waiting.take(1)) begin(next);
    });
  };
  return {
    enter(work) {
      if (atWork < MOST_AT_WORK) begin(work);
      else waiting.add(work);
    },
  };
}

/** A stream of zlib begins all work in its thread in `_transform`: writing, flushing and ending. */
export function workInTurns(stream: Transform, account: number, turns: ThreadTurns): void {
  const { _transform: transform } = Object.getPrototypeOf(stream) as Transform;
  stream._transform = (chunk, encoding, done) => {
    const start = (leave: () => void): void => {
      if (stream.destroyed) {
        leave();
        done();
        return;
      }
      // Work that fails does not call back.
      stream.once('error', leave);
      transform.call(stream, chunk, encoding, (error, data) => {
        stream.off('error', leave);
        leave();
        done(error, data);
      });
    };
    turns.enter({ account, start });
  };
}
