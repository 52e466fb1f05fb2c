/** Starts the reader of what is observed: in this thread when it only counts, in one of its own when it writes files. */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { type Losses, type ReaderSettings, startReader } from './reader.js';
import type { ActivityReport } from './report.js';

export type ReaderOrder = 'reopen' | 'close';

export type ReaderMessage =
  | { readonly kind: 'started' }
  | { readonly kind: 'refused'; readonly message: string; readonly remedy: string | undefined }
  | { readonly kind: 'report'; readonly report: ActivityReport; readonly losses: Losses }
  | {
      readonly kind: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly facts: object;
      readonly text: string;
    }
  | { readonly kind: 'closed' };

export interface Observing {
  /** Begins new files. */
  reopen(): void;
  close(): Promise<void>;
}

/** Time for the last frames at shutdown, in milliseconds. */
const CLOSE_MS = 3000;

/** Rejects with a UserError when a file cannot be written. */
export async function startObserving(
  settings: ReaderSettings,
  clock: Clock,
  log: Logger,
  onReport: (report: ActivityReport, losses: Losses) => void,
): Promise<Observing> {
  if (settings.dnstap === undefined && settings.queryLog === undefined) {
    return startReader(settings, clock, log, onReport);
  }
  const thread = new Worker(new URL('./thread.js', import.meta.url), { name: 'dns-observe', workerData: settings });
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
  let isClosing = false;
  await new Promise<void>((resolve, reject) => {
    thread.on('error', (error) => {
      log.error({ err: error }, 'the thread of dnstap and the query log ended; DNS is answered without them');
      reject(error);
    });
    thread.on('message', (message: ReaderMessage) => {
      if (message.kind === 'report') onReport(message.report, message.losses);
      else if (message.kind === 'log') log[message.level](message.facts, message.text);
      else if (message.kind === 'started') resolve();
      else if (message.kind === 'refused') reject(new UserError(message.message, message.remedy));
    });
  });
  thread.unref();
  const order = (what: ReaderOrder): void => thread.postMessage(what);
  return {
    reopen: () => order('reopen'),
    async close() {
      if (isClosing) return;
      isClosing = true;
      order('close');
      const cancel = clock.after(CLOSE_MS, () => void thread.terminate());
      await ended;
      cancel();
    },
  };
}
