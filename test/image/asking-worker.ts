/** Sends the same query as fast as possible while the image changes, and counts incomplete answers. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Transport } from '../../src/answer/transport.js';
import { createWorkerEngine } from '../../src/answer/worker-engine.js';

const { engine, port, stop, request } = workerData as {
  engine: unknown;
  port: MessagePort;
  stop: Int32Array;
  request: Uint8Array;
};

const { answer, isStale, refresh } = createWorkerEngine(engine);
const out = new Uint8Array(4096);
let asked = 0;
let broken = 0;
Atomics.store(stop, 1, 1);
while (Atomics.load(stop, 0) === 0) {
  if (isStale()) refresh(port);
  answer(request, 0, request.length, out, 0, 4096, Transport.tcp);
  asked++;
  // NOERROR with the alias and its address.
  if ((out[3]! & 15) !== 0 || out[7] !== 2) broken++;
}
parentPort?.postMessage({ asked, broken });
