/** How the sockets of the edge take connections. */
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { EdgeListenError, listenAt } from '../../../src/edge/listen/listeners.js';
import { freePort } from '../../support/free-ports.js';

const HOST = '127.0.0.1';
const CLIENTS = 64;

t.test(
  'a turn takes several connections',
  { skip: process.platform !== 'linux' && 'ports are not shared' },
  async (t) => {
    const [httpPort, httpsPort] = [await freePort(), await freePort()];
    const taken: Socket[] = [];
    const accept = (socket: Socket): void => void taken.push(socket);
    const listeners = await listenAt({ hosts: [HOST], httpPort, httpsPort }, { http: accept, https: accept });
    const clients = Array.from({ length: CLIENTS }, (_, i) => connect(i % 2 === 0 ? httpPort : httpsPort, HOST));
    let [most, before] = [0, 0];
    while (taken.length < CLIENTS) {
      await turn();
      most = Math.max(most, taken.length - before);
      before = taken.length;
    }
    t.ok(most > 2, `${most} connections in a turn, to two ports`);
    for (const socket of [...clients, ...taken]) socket.destroy();
    await listeners.close();
  },
);

t.test('a port that another program of this user has is noticed', async (t) => {
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen({ host: HOST, port: httpsPort, ...(process.platform === 'linux' && { reusePort: true }) }, resolve);
  });
  t.teardown(() => other.close());
  const accept = (socket: Socket): void => void socket.destroy();
  const listening = listenAt({ hosts: [HOST], httpPort, httpsPort }, { http: accept, https: accept });
  await t.rejects(listening, new EdgeListenError('EADDRINUSE', HOST, httpsPort));
  // Nothing is left behind.
  const again = createServer();
  await new Promise<void>((resolve) => again.listen({ host: HOST, port: httpPort }, resolve));
  await new Promise((resolve) => again.close(resolve));
});
