/** The threads that fill spools. They start when they are needed. */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Spool } from './spool.js';
import type { SpoolMessage, SpoolOrder, SpoolThreadData } from './spool-order.js';

/** Zones that are read at once. */
const MOST_THREADS = 4;
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
}

export interface SpoolThreads {
  fill(task: SpoolTask): void;
  close(): Promise<void>;
}

interface Seat {
  readonly thread: Worker;
  task: SpoolTask | undefined;
  /** Keeps it although it has no work at present. */
  cancelEnd: () => void;
}

export function createSpoolThreads(data: SpoolThreadData, clock: Clock): SpoolThreads {
  const seats = new Set<Seat>();
  const waiting: SpoolTask[] = [];
  let closed = false;

  const openSeat = (): Seat => {
    const thread = new Worker(new URL('./spool-thread.js', import.meta.url), {
      name: 'transfer',
      workerData: data,
      resourceLimits: LIMITS,
      // Spools read on from files that a thread has opened, also after it has ended.
      trackUnmanagedFds: false,
    });
    thread.unref();
    const seat: Seat = { thread, task: undefined, cancelEnd: () => {} };
    const end = (text: string): void => {
      seat.cancelEnd();
      seats.delete(seat);
      seat.task?.spool.hear({ kind: 'failure', text });
      seat.task = undefined;
      if (!closed) next();
    };
    thread.on('message', (message: SpoolMessage) => {
      const { task } = seat;
      task?.spool.hear(message);
      if (!task?.spool.isDone) return;
      seat.task = undefined;
      next();
      if (!seat.task) seat.cancelEnd = clock.after(IDLE_MS, () => void thread.terminate());
    });
    thread.on('error', (error) => end(messageOf(error)));
    thread.on('exit', () => end('the reading thread has ended'));
    seats.add(seat);
    return seat;
  };

  function next(): void {
    while (waiting.length > 0) {
      const seat = [...seats].find(({ task }) => !task) ?? (seats.size < MOST_THREADS ? openSeat() : undefined);
      if (!seat) return;
      seat.cancelEnd();
      seat.task = waiting.shift()!;
      seat.thread.postMessage(seat.task.order);
    }
  }

  return {
    fill(task) {
      waiting.push(task);
      next();
    },
    async close() {
      closed = true;
      for (const { cancelEnd } of seats) cancelEnd();
      await Promise.all([...seats].map(({ thread }) => thread.terminate()));
    },
  };
}
