/** Reads a large zone file on another thread, while this one stores the rows and does what else there is to do. */
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type TransferListItem,
  Worker,
} from 'node:worker_threads';
import { UserError } from '../../base/errors.js';
import type { ImportBatch, ImportEnd, ImportOrder } from './reader.js';

/** The word of the shared counter: octets of the batches that were taken here, modulo 2^32. */
export const CONSUMED = 0;
/** While so many octets of batches wait, nothing more is read. The rows of the largest write fit, so one is ready when the last has ended. */
export const MOST_WAITING = 4 << 20;
/** Of a batch without rows, too, as a file of comments makes them. */
const OF_BATCH = 256;

export interface ThreadData {
  readonly port: MessagePort;
  readonly flow: Int32Array;
  readonly order: ImportOrder;
  /** Whether others come first when the processors are busy. */
  readonly standsBack: boolean;
}

export interface ThreadFailure {
  /** Whether the operator can fix the error. */
  readonly user: boolean;
  readonly message: string;
  readonly remedy: string | undefined;
  readonly stack: string | undefined;
}

export type ThreadMessage =
  | { readonly batch: ImportBatch }
  | { readonly end: ImportEnd }
  | { readonly failure: ThreadFailure };

/** Files of this size or larger are read on a thread, because starting one takes as long as reading this much; octets. */
export const FILE_ON_THREAD_BYTES = 2 << 20;

/** A thread that waits for its file. */
let started: Worker | undefined;

function startThread(): Worker {
  return new Worker(new URL('./thread.js', import.meta.url));
}

/**
 * For commands: starts the thread for the first file that is read on one, while everything else is loaded. Returns a function that ends it
 * if there was none.
 */
export function startThreadAhead(): () => void {
  // Its end is told to whoever reads a file on it.
  started ??= startThread().on('error', () => {});
  return () => {
    void started?.terminate();
    started = undefined;
  };
}

/**
 * Like readImport, but on its own thread; a batch has all that has been read since the one before. `standsBack`: others come first when
 * the processors are busy.
 */
export async function* readImportOnThread(
  order: ImportOrder,
  standsBack = true,
): AsyncGenerator<ImportBatch, ImportEnd> {
  const { port1, port2 } = new MessageChannel();
  const flow = new Int32Array(new SharedArrayBuffer(4));
  const data: ThreadData = { port: port2, flow, order, standsBack };
  const worker = started ?? startThread();
  started = undefined;
  worker.postMessage(data, [port2, ...ownBufferOf(order)]);
  const messages = queueOf(port1, worker);
  try {
    for (;;) {
      const message = await messages.next();
      if ('failure' in message) throw failureOf(message.failure);
      if ('end' in message) return message.end;
      const batches = [message.batch, ...messages.waitingBatches()];
      Atomics.add(
        flow,
        CONSUMED,
        batches.reduce((sum, batch) => sum + octetsOf(batch), 0),
      );
      Atomics.notify(flow, CONSUMED);
      yield { ...batches.at(-1)!, packs: batches.flatMap(({ packs }) => packs) };
    }
  } finally {
    port1.close();
    void worker.terminate();
  }
}

/** The memory that a batch takes while it waits. */
export function octetsOf({ packs }: ImportBatch): number {
  return packs.reduce(
    (sum, { octets, starts, numbers }) => sum + octets.length + starts.byteLength + numbers.length,
    OF_BATCH,
  );
}

/** The memory of a text that is in nothing else's: it moves to the thread, because copying takes long. */
function ownBufferOf({ source }: ImportOrder): TransferListItem[] {
  if (!('text' in source) || typeof source.text === 'string') return [];
  const { buffer, byteLength } = source.text;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

interface Messages {
  /** The next one. Rejects when the thread has ended without having said how. */
  next(): Promise<ThreadMessage>;
  /** Batches that are here already. */
  waitingBatches(): ImportBatch[];
}

function queueOf(port: MessagePort, worker: Worker): Messages {
  const waiting: ThreadMessage[] = [];
  let ended: unknown;
  let wake = (): void => {};
  port.on('message', (message: ThreadMessage) => {
    waiting.push(message);
    wake();
  });
  const end = (why: unknown): void => {
    ended ??= why;
    wake();
  };
  worker.on('error', end);
  worker.on('exit', () => {
    // What it said last may still be on its way.
    for (let last = receiveMessageOnPort(port); last; last = receiveMessageOnPort(port)) waiting.push(last.message);
    end(new Error('the thread that reads the zone file has stopped'));
  });
  return {
    async next() {
      while (waiting.length === 0) {
        if (ended !== undefined) throw ended;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return waiting.shift()!;
    },
    waitingBatches() {
      const batches: ImportBatch[] = [];
      for (let [first] = waiting; first && 'batch' in first; [first] = waiting) {
        batches.push(first.batch);
        waiting.shift();
      }
      return batches;
    },
  };
}

function failureOf({ user, message, remedy, stack }: ThreadFailure): Error {
  if (user) return new UserError(message, remedy);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
