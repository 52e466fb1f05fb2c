/** Worker thread that reads and checks a zone file and posts its rows; the other end is pipe.ts. */
import { parentPort } from 'node:worker_threads';
import { messageOf, UserError } from '../../base/errors.js';
import { Steps, standBack } from '../../base/process/scheduling.js';
import { CONSUMED, MOST_WAITING, octetsOf, type ThreadData, type ThreadMessage } from './pipe.js';
import { readImport } from './reader.js';

/** Octets of the batches that were posted, modulo 2^32, as the counter of those that were taken. */
let posted = 0;

/** Blocks while the storing side is far behind, so that memory use stays low. */
function waitForRoom(flow: Int32Array): void {
  for (;;) {
    const consumed = Atomics.load(flow, CONSUMED);
    if (((posted - consumed) | 0) < MOST_WAITING) return;
    Atomics.wait(flow, CONSUMED, consumed);
  }
}

parentPort!.once('message', ({ port, flow, order, standsBack }: ThreadData) => {
  const post = (message: ThreadMessage, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);
  if (standsBack) standBack(Steps.background, 'thread');
  try {
    const reading = readImport(order);
    let step = reading.next();
    for (; !step.done; step = reading.next()) {
      const batch = step.value;
      waitForRoom(flow);
      posted = (posted + octetsOf(batch)) | 0;
      post({ batch }, batch.packs.flatMap(({ octets, starts }) => [octets.buffer, starts.buffer]) as ArrayBuffer[]);
    }
    post({ end: step.value });
  } catch (error) {
    const remedy = error instanceof UserError ? error.remedy : undefined;
    const stack = error instanceof Error ? error.stack : undefined;
    post({ failure: { user: error instanceof UserError, message: messageOf(error), remedy, stack } });
  }
});
