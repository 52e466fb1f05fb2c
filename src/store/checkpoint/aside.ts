/**
 * Checkpoints on a thread. After a write of very many rows, the copy of its pages into the database takes as long as a third of the write,
 * and SQLite makes it in the next commit, whoever makes that one. The thread copies while others write.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.js';
import { nameTurns } from '../../base/long-turns.js';

export interface AsideCheckpoints {
  /** Starts the thread, if there is none: a copy will be wanted soon. */
  prepare(): void;
  /** Copies what is committed; resolves when that is done, or has failed. What is not copied stays in the log. */
  copy(path: string): Promise<void>;
}

/** Without anything to do the thread ends after this time. */
const IDLE_MS = 60_000;
/** It keeps nothing; MiB. */
const MOST_MEMORY_MB = 32;

const startThread = (): Worker => {
  const resourceLimits = { maxOldGenerationSizeMb: MOST_MEMORY_MB };
  return nameTurns(
    'checkpoint',
    () => new Worker(new URL('./checkpoint-thread.js', import.meta.url), { name: 'checkpoint', resourceLimits }),
  );
};

/** It copies for one handle, which asks for one copy after the other. `startOne`: throws where the system has no room for a thread. */
export function createAsideCheckpoints(clock: Clock, startOne = startThread): AsideCheckpoints {
  let thread: Worker | undefined;
  let done: (() => void) | undefined;
  let cancelEnd = (): void => {};

  const end = (): void => {
    thread = undefined;
    done?.();
  };
  const start = (): Worker => {
    const started = startOne();
    started.on('message', () => done?.());
    const endOfThis = (): void => {
      if (thread === started) end();
    };
    started.on('error', endOfThis);
    started.on('exit', endOfThis);
    // It keeps no process from its end: what is not copied stays in the log.
    started.unref();
    return started;
  };
  /** A thread that copies is left alone: nobody would hear of the end of its copy. */
  const endLater = (): void => {
    cancelEnd();
    cancelEnd = clock.after(IDLE_MS, () => {
      if (done) return;
      void thread?.terminate();
      thread = undefined;
    });
  };
  const prepare = (): Worker | undefined => {
    endLater();
    try {
      thread ??= start();
    } catch {
      // The next commit of the handle copies.
    }
    return thread;
  };
  return {
    prepare: () => void prepare(),
    async copy(path) {
      const running = prepare();
      if (!running) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      done = resolve;
      running.postMessage(path);
      await promise;
      done = undefined;
      endLater();
    },
  };
}
