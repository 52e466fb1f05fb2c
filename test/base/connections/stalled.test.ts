/** Connections that delay the end of a server, over real sockets; the test sets the time. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { sleep } from '../../../src/base/clock.js';
import { cutStalledConnections, keepWhileAnswering } from '../../../src/base/connections/stalled.js';
import { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';

/** More than the buffers of two sockets hold. */
const LARGE = Buffer.alloc(32 << 20);

async function startServer(t: Test) {
  const clock = new TestClock();
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/large') response.write(LARGE, () => response.end());
    else if (request.url === '/waits') waiting.push(response);
    else request.resume().once('end', () => response.end('ok'));
  });
  const cut = cutStalledConnections(server, clock);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    clock,
    server,
    waiting,
    close(): { readonly closed: () => boolean } {
      let closed = false;
      server.close(() => {
        closed = true;
      });
      cut();
      return { closed: () => closed };
    },
    async send(text: string): Promise<Socket> {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      sockets.push(socket);
      await once(socket, 'connect');
      const accepted = once(server, text.endsWith('\r\n\r\n') ? 'request' : 'connection');
      socket.write(text);
      await Promise.race([accepted, sleep(200)]);
      return socket;
    },
  };
}

t.test('stalled clients are cut after a second', async (t) => {
  const { clock, send, close } = await startServer(t);
  await send('GET /large HTTP/1.1\r\nhost: a\r\n\r\n');
  await send('PUT /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nbegin');
  await send('GET /half HTTP/1.1\r\nho');
  await sleep(50);
  const { closed } = close();
  await sleep(50);
  t.notOk(closed(), 'they hold the server');
  clock.advance(1000);
  await until(closed, 'and no longer');
});

t.test(
  'an answer that takes longer than a connection may be idle arrives, and nobody waits for a client',
  async (t) => {
    const { server, send, waiting } = await startServer(t);
    keepWhileAnswering(server);
    server.timeout = 100;
    const begun = once(server, 'connection') as Promise<[Socket]>;
    const patient = await send('GET /waits HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    const [accepted] = await begun;
    await once(accepted, 'timeout');
    waiting[0]!.end('late');
    t.match(String(await once(patient, 'data')), /late/);
    for (const text of [
      'GET /large HTTP/1.1\r\nhost: a\r\n\r\n',
      'PUT /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nbegin',
    ]) {
      const next = once(server, 'connection') as Promise<[Socket]>;
      await send(text);
      const [socket] = await next;
      if (!socket.closed) await once(socket, 'close');
      t.pass('closed');
    }
  },
);

t.test('clients that make progress or wait for us are not', async (t) => {
  const { clock, send, close, waiting } = await startServer(t);
  const reader = await send('GET /large HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  const patient = await send('GET /waits HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  let read = 0;
  let isCut = false;
  for (const socket of [reader, patient]) socket.on('error', () => (isCut = true));
  await sleep(50);
  const { closed } = close();
  reader.on('data', (piece: Buffer) => (read += piece.length));
  await once(reader, 'end');
  t.ok(read > LARGE.length, `it got everything, ${read} octets`);
  clock.advance(5000);
  waiting[0]!.end('at last');
  const [answer] = (await once(patient, 'data')) as [Buffer];
  t.match(String(answer), '200 OK');
  patient.resume();
  await until(closed, 'the server ends');
  t.notOk(isCut);
});
