/** The common start of every UDP worker thread: its engine, its counters, and the connection to the main thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Answer } from '../answer/transport.js';
import { toHex } from '../base/bytes.js';
import { invariant } from '../base/errors.js';
import { sampleReports } from '../base/sample-reports.js';
import { type CountBlock, countBlock } from './counters.js';
import { guardAnswer } from './guard.js';
import type { UdpWorkerData, UdpWorkerMessage, WorkerEngine, WorkerEngineModule } from './udp-protocol.js';

export interface WorkerThread {
  readonly data: Omit<UdpWorkerData, 'engine'>;
  readonly engine: WorkerEngine;
  /** The engine's answer with counting; an error becomes SERVFAIL and is reported to the main thread. */
  readonly answer: Answer;
  readonly counts: CountBlock;
  readonly parent: MessagePort;
  tell(message: UdpWorkerMessage): void;
}

/** Loads the engine with which this thread was started. */
export async function beginWorker(): Promise<WorkerThread> {
  const data = workerData as UdpWorkerData;
  const parent = parentPort;
  invariant(parent, 'a UDP worker runs in a worker thread');
  const tell = (message: UdpWorkerMessage): void => parent.postMessage(message);
  const { createWorkerEngine } = (await import(data.module)) as WorkerEngineModule;
  const engine = createWorkerEngine(data.engine);
  // Node keeps `workerData`, but the engine's initial data will be replaced and must be freed then.
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
