/** Reads, edits and queries one after the other for some seconds, and returns how long each took. */
import { createSocket } from 'node:dgram';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { isAnswered, spreadOf } from './latency.js';
import { createApiClient } from './program.js';
import { KINDS, type WaitsQuestion } from './shares-waits.js';
import { ZONE } from './workload.js';

const WORK_MS = 5000;
const EVERY_MS = 50;

const { records, port, what } = workerData as WaitsQuestion;
const api = createApiClient(port + 1);
const socket = createSocket('udp4');
const waits: Record<string, number[]> = Object.fromEntries(KINDS.map((kind) => [kind, []]));

async function timed(kind: (typeof KINDS)[number], run: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await run();
  waits[kind]!.push(performance.now() - began);
}

// This thread comes before the others of its process, which play the neighbours: it measures how long the server takes, and not how long
// its own process lets it wait. Where the system refuses that, the figures are what they are.
try {
  setPriority(0, -10);
} catch {}

const endMs = performance.now() + WORK_MS;
for (let count = 0; performance.now() < endMs; count++) {
  const name = `a${threadId}-${count}`;
  await timed('read', () => api.call('GET', `${records}?per_page=20`));
  await timed('read over a new connection', async () => {
    const newcomer = createApiClient(port + 1);
    await newcomer.call('GET', `${records}?per_page=20`);
    newcomer.close();
  });
  await timed('edit', () => api.call('POST', records, { type: 'A', name, content: '192.0.2.1' }));
  await timed('DNS after an edit', async () => {
    while (!(await isAnswered(socket, port, `${name}.${ZONE}`)));
  });
  for (let i = 0; i < 20; i++) await timed('DNS answer', () => isAnswered(socket, port, `ns1.${ZONE}`));
  await sleep(EVERY_MS);
}
socket.close();
api.close();
const figures: Record<string, number> = {};
for (const [kind, all] of Object.entries(waits)) {
  const { p50, p99 } = spreadOf(all);
  figures[`${kind}, ${what}, p50 ms`] = p50;
  figures[`${kind}, ${what}, p99 ms`] = p99;
}
parentPort!.postMessage(figures);
