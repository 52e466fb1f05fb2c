/** Asks a name of a load balancer as fast as it can while the health of its origins changes, and counts what it is answered. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Transport } from '../src/answer/transport.js';
import { createWorkerEngine } from '../src/answer/worker-engine.js';

const { engine, port, count, request } = workerData as {
  readonly engine: unknown;
  readonly port: MessagePort;
  readonly count: number;
  readonly request: Uint8Array;
};

const { answer, isStale, refresh } = createWorkerEngine(engine);
const out = new Uint8Array(512);
/** By the last octet of the address; 0: none. */
const counts = new Int32Array(256);
for (let i = 0; i < count; i++) {
  if (isStale()) refresh(port);
  const length = answer(request, 0, request.length, out, 0, 512, Transport.tcp);
  const isAddress = (out[3]! & 15) === 0 && out[7] === 1 && out[9] === 0;
  counts[isAddress ? out[length - 1]! : 0]!++;
}
parentPort!.postMessage(counts);
