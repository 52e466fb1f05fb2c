/** The threads that read, each of which does one thing at a time: started when they are needed, ended when they are not. */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.js';
import { nameTurns } from '../../base/long-turns.js';
import type { MetricSample } from '../../base/metrics.js';
import type { FromReader, ReaderData, ToReader } from './order.js';

export interface ReadingThread {
  send(message: ToReader): Promise<FromReader>;
  end(): Promise<unknown>;
  cancelEnd: () => void;
  isGone: boolean;
}

export interface ReadingThreads {
  take(): ReadingThread;
  putBack(thread: ReadingThread): void;
  /** How many there are. */
  sample(): MetricSample;
  close(): Promise<void>;
}

/** Threads that have nothing to do end after this time. */
const IDLE_MS = 60_000;
/** One that needs more ends, and nothing else; MiB. */
const MOST_MEMORY_MB = 1024;

/** Threads that are ready before they are needed: a start takes most of a second, and longer on busy processors. */
export interface Spares {
  /** Whether the last thread stays, and a further one is started while all others are at work, so that nobody waits for a start. */
  readonly areKept: boolean;
  /** Threads that can be at work. */
  readonly most: number;
}

export function createThreads(data: ReaderData, clock: Clock, { areKept, most }: Spares): ReadingThreads {
  const idle: ReadingThread[] = [];
  const all = new Set<ReadingThread>();
  const startOne = (): ReadingThread => {
    const thread = startThread(data, () => all.delete(thread));
    all.add(thread);
    return thread;
  };
  const takeIdle = (): ReadingThread | undefined => {
    for (let known = idle.pop(); known; known = idle.pop()) {
      known.cancelEnd();
      // One that ended by a fault while it had nothing to do is of no use.
      if (!known.isGone) return known;
    }
    return undefined;
  };
  const take = (): ReadingThread => {
    const thread = takeIdle() ?? startOne();
    if (areKept && idle.length === 0 && all.size < most) putBack(startOne());
    return thread;
  };
  const putBack = (thread: ReadingThread): void => {
    if (thread.isGone) return;
    idle.push(thread);
    thread.cancelEnd = clock.after(IDLE_MS, () => {
      if (areKept && all.size === 1) return;
      idle.splice(idle.indexOf(thread), 1);
      all.delete(thread);
      void thread.end();
    });
  };
  const help = 'Threads that read for requests which may take long.';
  return {
    take,
    putBack,
    sample: () => ({ name: 'reading_threads', type: 'gauge', help, labels: {}, value: all.size }),
    async close() {
      for (const thread of all) thread.cancelEnd();
      await Promise.all([...all].map((thread) => thread.end()));
    },
  };
}

function startThread(workerData: ReaderData, onExit: () => void): ReadingThread {
  const resourceLimits = { maxOldGenerationSizeMb: MOST_MEMORY_MB };
  // Its messages belong to whoever waits for them, not to the request that has started it.
  const worker = nameTurns(
    'reading',
    () => new Worker(new URL('./reader-thread.js', import.meta.url), { workerData, resourceLimits }),
  );
  let waiting: PromiseWithResolvers<FromReader> | undefined;
  const fail = (error: Error): void => {
    reader.isGone = true;
    waiting?.reject(error);
  };
  const reader: ReadingThread = {
    isGone: false,
    cancelEnd: () => {},
    send(message) {
      waiting = Promise.withResolvers();
      worker.ref();
      if (reader.isGone) waiting.reject(new Error('a reading thread has ended'));
      else worker.postMessage(message);
      return waiting.promise;
    },
    end: () => worker.terminate(),
  };
  worker.on('message', (message: FromReader) => {
    worker.unref();
    waiting?.resolve(message);
  });
  worker.on('error', fail);
  worker.on('exit', () => {
    fail(new Error('a reading thread has ended'));
    onExit();
  });
  worker.unref();
  return reader;
}
