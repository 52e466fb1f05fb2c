/** Connections that all clients of a server share, over real sockets from different addresses of this machine. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { shareConnections } from '../../../src/base/connections/shared.js';
import { until } from '../../support/until.js';

const GREEDY = '127.0.0.2';
const OTHER = '127.0.0.3';

interface Client {
  readonly socket: Socket;
  /** What the server has sent. */
  readonly text: () => string;
}

async function startServer(t: Test, most: number) {
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/waits') waiting.push(response);
    else request.resume().once('end', () => response.end('done'));
  });
  shareConnections(server, most);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const all: Socket[] = [];
  t.teardown(() => {
    server.close();
    for (const socket of all) socket.destroy();
  });
  const open = async (localAddress: string, head?: string): Promise<Client> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
    all.push(socket);
    let text = '';
    socket.on('data', (octets) => {
      text += octets;
    });
    await once(socket, 'connect');
    if (head !== undefined) socket.write(`${head} HTTP/1.1\r\nhost: a\r\n\r\n`);
    return { socket, text: () => text };
  };
  return { server, waiting, open };
}

async function isAnswered({ socket, text }: Client): Promise<boolean> {
  await until(() => text().includes('done') || socket.closed);
  return text().includes('done');
}

t.test('a client that holds all connections keeps nobody away', async (t) => {
  const { open } = await startServer(t, 20);
  const held: Client[] = [];
  for (let i = 0; i < 20; i++) held.push(await open(GREEDY));
  t.ok(await isAnswered(await open(OTHER, 'GET /')), 'another client is answered');
  await until(() => held[0]!.socket.closed);
  t.equal(held.filter(({ socket }) => socket.closed).length, 1, 'in the place of the oldest');
  for (let i = 0; i < 30; i++) await open(GREEDY);
  t.ok(await isAnswered(await open(OTHER, 'GET /')), 'and again');
});

t.test('clients with one connection each, on which nothing is asked, keep nobody away', async (t) => {
  const { open } = await startServer(t, 5);
  const held: Client[] = [];
  for (let i = 0; i < 5; i++) held.push(await open(`127.0.0.${20 + i}`));
  t.ok(await isAnswered(await open(OTHER, 'GET /')));
  await until(() => held.some(({ socket }) => socket.closed));
});

t.test('connections on which something is asked are cut last, and only of the client that has most', async (t) => {
  const { open, waiting } = await startServer(t, 6);
  const own = await open(OTHER, 'GET /waits');
  await until(() => waiting.length === 1);
  const asked = await open(GREEDY, 'GET /waits');
  await until(() => waiting.length === 2);
  const half = await open(GREEDY, 'POST /waits');
  const sent = await open(GREEDY);
  sent.socket.write('POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n1');
  await until(() => waiting.length === 3);
  const idle = await open(GREEDY, 'GET /');
  t.ok(await isAnswered(idle), 'answered, and idle now');
  await open(GREEDY);
  const order: boolean[][] = [];
  for (let i = 0; i < 4; i++) {
    const before = waiting.length;
    const newest = await open(GREEDY, 'GET /waits');
    await until(() => waiting.length > before || newest.socket.closed);
    order.push([idle, sent, asked, half, own, newest].map(({ socket }) => socket.closed));
  }
  t.strictSame(order, [
    [true, false, false, false, false, false],
    [true, false, false, false, false, false],
    [true, true, false, false, false, false],
    [true, true, false, false, false, true],
  ]);
  for (const response of waiting) response.end('done');
  t.ok(await isAnswered(own), 'whoever has fewer is never cut');
  t.ok(await isAnswered(asked));
});

t.test('a client alone has all connections, and requests that follow each other keep theirs', async (t) => {
  const { open, server } = await startServer(t, 10);
  const clients = [];
  for (let i = 0; i < 10; i++) clients.push(await open(GREEDY, 'GET /'));
  for (const client of clients) t.ok(await isAnswered(client));
  t.notOk(clients.some(({ socket }) => socket.closed));
  t.equal(await new Promise((resolve) => server.getConnections((_error, count) => resolve(count))), 10);
});
