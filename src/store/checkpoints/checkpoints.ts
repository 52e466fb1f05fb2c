/**
 * Checkpoints of a process that writes all the time. SQLite makes them inside a commit, which then takes several times as long.
 * Here a thread copies the write-ahead log while commits go on. As the log can only begin anew when all of it is copied, and a
 * busy writer adds to it while the thread copies, this thread copies the few pages that are left between two writes once the
 * log is long.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import { IN_MEMORY, type Store } from '../driver.js';
import type { CheckpointOrder, CheckpointReport } from './order.js';

export interface Checkpoints {
  /** To be called after each commit, also those of other processes. Takes some microseconds. */
  noteCommit(): void;
  /** Ends the thread after its checkpoint; from then on, commits make checkpoints themselves. */
  stop(): Promise<void>;
}

/** Lengths of the log, in pages of 4 KiB. */
export interface CheckpointPages {
  /** The thread copies when so many pages are not copied. */
  readonly copy: number;
  /** From this length on, the log is to begin anew. */
  readonly renew: number;
  /** So many pages may be copied between two writes. */
  readonly rest: number;
  /** From this length on, and each time it has grown by as much, writes wait until it can begin anew. */
  readonly wait: number;
}

const PAGES: CheckpointPages = { copy: 1000, renew: 2048, rest: 256, wait: 16_384 };
/** How long writes wait then for those who read the log, in milliseconds. */
const READERS_WAIT_MS = 20;
/** Until the thread looks again after readers held it back. */
const HELD_BACK_MS = 1000;
/** Until a failed checkpoint is tried again: at first, and at most after many failures. */
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** Mebibytes of the thread's heap, which hardly uses it. */
const LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 } as const;

export interface CheckpointOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pages?: CheckpointPages;
}

/** Takes the checkpoints out of the commits of this handle. A handle that only reads, or a store in memory, has none. */
export function startCheckpoints(options: CheckpointOptions): Checkpoints {
  const { store } = options;
  if (store.readonly || store.path === IN_MEMORY) return { noteCommit() {}, async stop() {} };
  const checkpoints = new ThreadedCheckpoints(options);
  store.makeCheckpointsInCommits(false);
  checkpoints.noteCommit();
  return checkpoints;
}

class ThreadedCheckpoints implements Checkpoints {
  private readonly pages: CheckpointPages;
  private thread: Worker | undefined;
  private isCopying = false;
  private isStopped = false;
  /** Ends the wait for another try. */
  private endWait: (() => void) | undefined;
  private retryMs = FIRST_RETRY_MS;
  private hasFailed = false;
  /** Length of the log from which writes wait the next time. */
  private waitFrom: number;

  constructor(private readonly options: CheckpointOptions) {
    this.pages = options.pages ?? PAGES;
    this.waitFrom = this.pages.wait;
  }

  noteCommit(): void {
    if (!this.isStopped) this.attempt(() => this.look());
  }

  async stop(): Promise<void> {
    if (this.isStopped) return;
    this.isStopped = true;
    this.endWait?.();
    const { thread } = this;
    if (thread) {
      const ended = new Promise((resolve) => thread.once('exit', resolve));
      thread.ref();
      thread.postMessage('end' satisfies CheckpointOrder);
      await ended;
    }
    this.options.store.makeCheckpointsInCommits(true);
  }

  private look(): void {
    const { store } = this.options;
    const { pages, copied } = store.writeAheadLog();
    if (pages < this.pages.renew) this.noteRenewed();
    if (pages >= this.waitFrom) this.waitForReaders(pages);
    else if (pages - copied >= this.pages.copy) this.copy();
  }

  private copy(): void {
    if (this.isCopying || this.endWait) return;
    this.thread ??= this.startThread();
    this.isCopying = true;
    this.thread.postMessage('copy' satisfies CheckpointOrder);
  }

  private startThread(): Worker {
    const script = new URL('./checkpoint-thread.js', import.meta.url);
    const { path } = this.options.store;
    const thread = new Worker(script, { name: 'checkpoints', workerData: path, resourceLimits: LIMITS });
    thread.unref();
    const end = (reason: string): void => {
      if (this.thread !== thread) return;
      this.thread = undefined;
      this.hear({ failure: reason });
    };
    thread.on('message', (report: CheckpointReport) => this.hear(report));
    thread.on('error', (error) => end(messageOf(error)));
    thread.on('exit', () => end('the thread has ended'));
    return thread;
  }

  private hear(report: CheckpointReport): void {
    this.isCopying = false;
    if (this.isStopped) return;
    if ('failure' in report) this.fail(report.failure);
    else this.attempt(() => this.finish(report.isComplete));
  }

  /** After the thread has copied; `wasAll`: no reader held it back. */
  private finish(wasAll: boolean): void {
    this.noteSuccess();
    const { store } = this.options;
    const { pages, copied } = store.writeAheadLog();
    const rest = pages - copied;
    if (!wasAll) this.waitFor(HELD_BACK_MS);
    else if (pages < this.pages.renew || rest === 0) this.look();
    else if (rest > this.pages.rest) this.copy();
    else store.checkpoint('passive');
  }

  private waitForReaders(pages: number): void {
    const { store, log } = this.options;
    const isFirst = this.waitFrom === this.pages.wait;
    this.waitFrom = pages + this.pages.wait;
    if (store.checkpoint('restart', READERS_WAIT_MS).isComplete) {
      this.waitFrom = this.pages.wait;
      return;
    }
    if (isFirst) log.warn({ pages }, 'the write-ahead log grows, because something is reading the database for long');
    this.copy();
  }

  private noteRenewed(): void {
    if (this.waitFrom === this.pages.wait) return;
    this.waitFrom = this.pages.wait;
    this.options.log.info('the write-ahead log has begun anew');
  }

  private attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fail(messageOf(error));
    }
  }

  /** Nothing is lost by a failure: the log keeps what is not copied. */
  private fail(reason: string): void {
    if (!this.hasFailed) {
      const { log } = this.options;
      log.warn({ reason }, 'the write-ahead log could not be copied into the database; it is tried again');
    }
    this.hasFailed = true;
    this.waitFor(this.retryMs);
    this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
  }

  private noteSuccess(): void {
    this.retryMs = FIRST_RETRY_MS;
    if (!this.hasFailed) return;
    this.hasFailed = false;
    this.options.log.info('the write-ahead log is copied into the database again');
  }

  private waitFor(ms: number): void {
    this.endWait?.();
    const cancel = this.options.clock.after(ms, () => {
      this.endWait = undefined;
      this.noteCommit();
    });
    this.endWait = () => {
      this.endWait = undefined;
      cancel();
    };
  }
}
