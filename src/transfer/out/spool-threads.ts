/** The threads that fill spools, in turns by account. They start when they are needed. */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { createTurns, type Leave } from '../../base/turns.js';
import type { Spool } from './spool.js';
import type { SpoolMessage, SpoolOrder, SpoolThreadData } from './spool-order.js';

/**
 * Zones that are read at once. A large one takes seconds, also when its client has gone: so each account that has none gets one of
 * four more while others have all. No more wait than there may be transfers.
 */
const PLACES = {
  all: { places: 4, waiting: 1000, beyond: 4 },
  each: [{ places: 4, waiting: 1000 }],
  waitMs: 3_600_000,
} as const;
/**
 * Mebibytes of the heap of a thread. Its objects live as long as a part of a zone; without limits they would be collected
 * only after some tens of mebibytes.
 */
const LIMITS = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 256 } as const;
/** Milliseconds until a thread without work ends. */
const IDLE_MS = 60_000;

export interface SpoolTask {
  readonly order: SpoolOrder;
  readonly spool: Spool;
  /** Of the zone; a store number. */
  readonly account: number;
}

export interface SpoolThreads {
  fill(task: SpoolTask): void;
  close(): Promise<void>;
}

interface Seat {
  readonly thread: Worker;
  task: SpoolTask | undefined;
  /** Gives its turn to the next task. */
  leave: Leave;
  /** Keeps it although it has no work at present. */
  cancelEnd: () => void;
}

/** `open` starts a thread. */
export function createSpoolThreads(
  data: SpoolThreadData,
  clock: Clock,
  open: () => Worker = () => openThread(data),
): SpoolThreads {
  const seats = new Set<Seat>();
  const turns = createTurns(PLACES, clock);
  let closed = false;

  const openSeat = (): Seat => {
    const thread = open();
    thread.unref();
    const seat: Seat = { thread, task: undefined, leave: () => {}, cancelEnd: () => {} };
    const end = (text: string): void => {
      seat.cancelEnd();
      seats.delete(seat);
      seat.task?.spool.hear({ kind: 'failure', text });
      seat.task = undefined;
      seat.leave();
    };
    thread.on('message', (message: SpoolMessage) => {
      const { task } = seat;
      task?.spool.hear(message);
      if (!task?.spool.isDone) return;
      seat.task = undefined;
      seat.leave();
      if (!seat.task)
        seat.cancelEnd = clock.after(IDLE_MS, () => {
          seats.delete(seat);
          void thread.terminate();
        });
    });
    thread.on('error', (error) => end(messageOf(error)));
    thread.on('exit', () => end('the reading thread has ended'));
    seats.add(seat);
    return seat;
  };

  const begin = (task: SpoolTask, leave: Leave): void => {
    const seat = [...seats].find((one) => !one.task) ?? openSeat();
    seat.cancelEnd();
    seat.task = task;
    seat.leave = leave;
    seat.thread.postMessage(task.order);
  };

  return {
    fill(task) {
      turns.ask([String(task.account)], {}, (turn) => {
        if (typeof turn !== 'string' && !closed) begin(task, turn);
        else task.spool.hear({ kind: 'failure', text: 'too many zones are read for transfers, or none any more' });
      });
    },
    async close() {
      closed = true;
      for (const { cancelEnd } of seats) cancelEnd();
      await Promise.all([...seats].map(({ thread }) => thread.terminate()));
    },
  };
}

function openThread(data: SpoolThreadData): Worker {
  return new Worker(new URL('./spool-thread.js', import.meta.url), {
    name: 'transfer',
    workerData: data,
    resourceLimits: LIMITS,
    // Spools read on from files that a thread has opened, also after it has ended.
    trackUnmanagedFds: false,
  });
}
