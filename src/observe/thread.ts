/** The thread of the reader, when there may be much to write: it keeps the work off the thread that answers over TCP. */
import { parentPort, workerData } from 'node:worker_threads';
import { SystemClock } from '../base/clock.js';
import { invariant, messageOf, UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { Steps, standBack } from '../base/process/scheduling.js';
import { type ReaderSettings, startReader } from './reader.js';
import type { ReaderMessage, ReaderOrder } from './start.js';

const parent = parentPort;
invariant(parent, 'the reader runs in a worker thread');
standBack(Steps.background, 'thread');
const tell = (message: ReaderMessage): void => parent.postMessage(message);
const say =
  (level: 'info' | 'warn' | 'error') =>
  (facts: object, text: string): void =>
    tell({ kind: 'log', level, facts, text });
const log = { info: say('info'), warn: say('warn'), error: say('error') } as unknown as Logger;

try {
  const reader = startReader(workerData as ReaderSettings, new SystemClock(), log, (report, losses) =>
    tell({ kind: 'report', report, losses }),
  );
  parent.on('message', async (order: ReaderOrder) => {
    if (order === 'reopen') {
      reader.reopen();
      return;
    }
    await reader.close();
    tell({ kind: 'closed' });
    parent.close();
  });
  tell({ kind: 'started' });
} catch (error) {
  const remedy = error instanceof UserError ? error.remedy : undefined;
  tell({ kind: 'refused', message: messageOf(error), remedy });
  parent.close();
}
