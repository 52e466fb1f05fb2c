/** What every UDP worker thread begins with: its engine, its counters, and the line to the main thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Answer } from '../answer/transport.js';
import { toHex } from '../base/bytes.js';
import { invariant } from '../base/errors.js';
import { type CountBlock, countBlock } from './counters.js';
import { guardAnswer, sampleReports } from './guard.js';
import type { UdpWorkerData, UdpWorkerMessage, WorkerEngine, WorkerEngineModule } from './udp-protocol.js';

export interface WorkerThread {
  readonly data: Omit<UdpWorkerData, 'engine'>;
  readonly engine: WorkerEngine;
  /** The engine's answer with counting; a fault becomes SERVFAIL and is told to the main thread. */
  readonly answer: Answer;
  readonly counts: CountBlock;
  readonly parent: MessagePort;
  tell(message: UdpWorkerMessage): void;
}

/** Loads the engine this thread was started with. */
export async function beginWorker(): Promise<WorkerThread> {
  const data = workerData as UdpWorkerData;
  const parent = parentPort;
  invariant(parent, 'a UDP worker runs in a worker thread');
  const tell = (message: UdpWorkerMessage): void => parent.postMessage(message);
  const { createWorkerEngine } = (await import(data.module)) as WorkerEngineModule;
  const engine = createWorkerEngine(data.engine);
  // Node keeps `workerData`; the data the engine began with is replaced some day, and must not stay with it.
  delete (workerData as { engine?: unknown }).engine;
  const counts = countBlock(data.counters, data.thread);
  const admitFault = sampleReports();
  const answer = guardAnswer(engine.answer, counts, (error, request) => {
    if (admitFault() === undefined) return;
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    tell({ kind: 'fault', stack, request: toHex(request) });
  });
  return { data, engine, answer, counts, parent, tell };
}
