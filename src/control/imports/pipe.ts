/**
 * Reads a large zone file on another thread while this one stores the rows. Storing happens inside one transaction and
 * never yields the thread, so rows are received synchronously.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { UserError } from '../../base/errors.js';
import { type ImportPacket, unpackRows } from './packet.js';
import type { ImportBatch, ImportEnd, ImportOrder } from './reader.js';

/** Words of the shared counters: messages posted by the thread and received here. */
export const POSTED = 0;
export const CONSUMED = 1;
/** The largest number of waiting messages. */
export const MOST_WAITING = 16;

/** The thread posts at least this often, otherwise it counts as dead; milliseconds. */
const PATIENCE_MS = 60_000;

export interface ThreadData {
  readonly port: MessagePort;
  readonly flow: Int32Array;
  readonly order: ImportOrder;
}

export interface ThreadFailure {
  /** Whether the operator can fix the error. */
  readonly user: boolean;
  readonly message: string;
  readonly remedy: string | undefined;
  readonly stack: string | undefined;
}

export type ThreadMessage =
  | { readonly packet: ImportPacket }
  | { readonly end: ImportEnd }
  | { readonly failure: ThreadFailure };

/** Like readImport, but on its own thread. Blocks this thread while it waits. */
export function* readImportOnThread(order: ImportOrder): Generator<ImportBatch, ImportEnd> {
  const { port1, port2 } = new MessageChannel();
  const flow = new Int32Array(new SharedArrayBuffer(8));
  const workerData: ThreadData = { port: port2, flow, order };
  const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData, transferList: [port2] });
  try {
    for (;;) {
      const message = receive(port1, flow);
      if ('failure' in message) throw failureOf(message.failure);
      if ('end' in message) return message.end;
      yield unpackRows(message.packet);
    }
  } finally {
    port1.close();
    void worker.terminate();
  }
}

function receive(port: MessagePort, flow: Int32Array): ThreadMessage {
  for (;;) {
    const posted = Atomics.load(flow, POSTED);
    const received = receiveMessageOnPort(port);
    if (received) {
      Atomics.add(flow, CONSUMED, 1);
      Atomics.notify(flow, CONSUMED);
      return received.message as ThreadMessage;
    }
    if (Atomics.wait(flow, POSTED, posted, PATIENCE_MS) === 'timed-out') {
      throw new Error('the thread that reads the zone file has stopped');
    }
  }
}

function failureOf({ user, message, remedy, stack }: ThreadFailure): Error {
  if (user) return new UserError(message, remedy);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
