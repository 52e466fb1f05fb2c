/**
 * A UDP worker thread without batched system calls: sockets of node:dgram that share their port with those of other
 * workers.
 */
import type { Answer } from '../answer/transport.js';
import { SystemClock } from '../base/clock.js';
import { invariant } from '../base/errors.js';
import { answerPortable, closePortableSocket, openPortableSocket } from './portable-socket.js';
import { Control, type DeferredAnswer, MOST_DEFERRED, STOP } from './udp-protocol.js';
import { beginWorker } from './worker-thread.js';

/** Milliseconds between two checks for newer data. */
const REFRESH_MS = 1000;

const { data, engine, answer, counts, parent, tell } = await beginWorker();
const { places } = data;
invariant('addresses' in places, 'a portable worker has addresses');

const newest: Answer = (request, start, length, response, at, limit, transport, client) => {
  if (engine.isStale()) engine.refresh(data.port);
  return answer(request, start, length, response, at, limit, transport, client);
};
const clock = new SystemClock();
// Runs even without queries, so that unused data is released.
clock.every(REFRESH_MS, () => {
  if (engine.isStale()) engine.refresh(data.port);
});
const service = {
  answer: newest,
  counts,
  clock,
  onError: (error: Error) => tell({ kind: 'socket-error', error: error.message }),
};
const control = new Int32Array(data.control);
const sockets = await Promise.all(
  places.addresses.map((host) => openPortableSocket({ host, port: places.port, shared: true })),
);
for (const [index, socket] of sockets.entries()) {
  answerPortable(socket, {
    ...service,
    onDeferred(request, { address, port }) {
      if (Atomics.add(control, Control.deferred, 1) >= MOST_DEFERRED) Atomics.sub(control, Control.deferred, 1);
      else tell({ kind: 'deferred-portable', request, from: { socket: index, address, port } });
    },
  });
}
parent.on('message', async (message: typeof STOP | DeferredAnswer) => {
  if (message !== STOP) {
    const { answer, to } = message;
    sockets[to.socket]!.send(answer, to.port, to.address, () => {});
    return;
  }
  await Promise.all(sockets.map(closePortableSocket));
  // Either would keep the thread alive.
  data.port.close();
  parent.close();
});
tell({ kind: 'serving' });
