/**
 * A UDP worker thread without batched system calls: sockets of node:dgram that share their port with those of other
 * workers.
 */
import type { Answer } from '../answer/transport.js';
import { SystemClock } from '../base/clock.js';
import { invariant } from '../base/errors.js';
import { clientNetwork } from '../base/ip.js';
import { Count } from './counters.js';
import { answerPortable, closePortableSocket, openPortableSocket } from './portable-socket.js';
import { DeferredPlaces } from './turns/deferred-places.js';
import { type DeferredAnswer, STOP } from './udp-protocol.js';
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
const deferred = new DeferredPlaces(data.deferred);
const sockets = await Promise.all(
  places.addresses.map((host) => openPortableSocket({ host, port: places.port, shared: true })),
);
for (const [index, socket] of sockets.entries()) {
  answerPortable(socket, {
    ...service,
    onDeferred(request, { address, port }) {
      const place = deferred.enter(clientNetwork(address));
      if (place === undefined) counts[Count.silent]! += 1;
      else tell({ kind: 'deferred-portable', request, from: { socket: index, address, port }, place });
    },
  });
}
parent.on('message', async (message: typeof STOP | DeferredAnswer) => {
  if (message !== STOP) {
    const { answer, to } = message;
    if (answer) sockets[to.socket]!.send(answer, to.port, to.address, () => {});
    return;
  }
  await Promise.all(sockets.map(closePortableSocket));
  // Either would keep the thread alive.
  data.port.close();
  parent.close();
});
tell({ kind: 'serving' });
