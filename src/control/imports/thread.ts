/** Worker thread that reads and checks a zone file and posts its rows; the other end is pipe.ts. */
import { workerData } from 'node:worker_threads';
import { messageOf, UserError } from '../../base/errors.js';
import { Steps, standBack } from '../../base/process/scheduling.js';
import { CONSUMED, MOST_WAITING, octetsOf, type ThreadData, type ThreadMessage } from './pipe.js';
import { readImport } from './reader.js';

const { port, flow, order, standsBack } = workerData as ThreadData;
/** Octets of the batches that were posted, modulo 2^32, as the counter of those that were taken. */
let posted = 0;

if (standsBack) standBack(Steps.background, 'thread');

function post(message: ThreadMessage, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

/** Blocks while the storing side is far behind, so that memory use stays low. */
function waitForRoom(): void {
  for (;;) {
    const consumed = Atomics.load(flow, CONSUMED);
    if (((posted - consumed) | 0) < MOST_WAITING) return;
    Atomics.wait(flow, CONSUMED, consumed);
  }
}

try {
  const reading = readImport(order);
  let step = reading.next();
  for (; !step.done; step = reading.next()) {
    const batch = step.value;
    waitForRoom();
    posted = (posted + octetsOf(batch)) | 0;
    post({ batch }, batch.packs.flatMap(({ octets, starts }) => [octets.buffer, starts.buffer]) as ArrayBuffer[]);
  }
  post({ end: step.value });
} catch (error) {
  const remedy = error instanceof UserError ? error.remedy : undefined;
  const stack = error instanceof Error ? error.stack : undefined;
  post({ failure: { user: error instanceof UserError, message: messageOf(error), remedy, stack } });
}
