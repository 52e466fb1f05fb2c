/** How many plain requests are begun in a turn of the event loop, and how their connections end. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { FurtherRequests } from '../../src/base/connections/in-turns.js';
import { createPlainConnections } from '../../src/plain/connections.js';
import { WholeResponse } from '../../src/plain/whole-response.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';

const [CLIENTS, REQUESTS, FURTHER] = [8, 20, 4];

t.test('the further requests of all connections share a turn', async (t) => {
  let begun = 0;
  const handOver = (): void => void t.fail('handed over');
  const connections = createPlainConnections({
    ...{ clock: new TestClock(), firstMs: 60_000, idleMs: 60_000, keepAliveMs: 60_000, checkMs: 1000 },
    ...{ further: new FurtherRequests(FURTHER), handOver, onLate: handOver },
  });
  const open: Socket[] = [];
  const server = createServer((socket) => {
    open.push(socket);
    connections.accept(socket, ({ method, isLast }, channel) => {
      begun++;
      const response = new WholeResponse(channel, method, isLast);
      response.send(204, '', Buffer.alloc(0));
      return response;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const clients = Array.from({ length: CLIENTS }, () => connect((server.address() as AddressInfo).port, '127.0.0.1'));
  t.teardown(() => {
    for (const socket of [...clients, ...open]) socket.destroy();
    server.close();
    connections.close();
  });
  await until(() => open.length === CLIENTS);
  for (const client of clients) client.resume().write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'.repeat(REQUESTS));
  let [most, before] = [0, 0];
  while (begun < CLIENTS * REQUESTS) {
    await turn();
    most = Math.max(most, begun - before);
    before = begun;
  }
  // What one turn leaves may be begun in the next one, before it is counted.
  t.ok(most <= 2 * (CLIENTS + FURTHER), `${most} requests in a turn`);
});

t.test('a client that ends its side gets what its connection has not taken yet', async (t) => {
  const handOver = (): void => void t.fail('handed over');
  const connections = createPlainConnections({
    ...{ clock: new TestClock(), firstMs: 60_000, idleMs: 60_000, keepAliveMs: 60_000, checkMs: 1000 },
    ...{ further: new FurtherRequests(FURTHER), handOver, onLate: handOver },
  });
  // Less than what a socket takes before it tells that it takes no more.
  const body = Buffer.alloc(60_000, 1);
  let [begun, written] = [0, 0];
  let socket: Socket | undefined;
  const server = createServer((accepted) => {
    socket = accepted;
    connections.accept(accepted, ({ method, isLast }, channel) => {
      begun++;
      const response = new WholeResponse(channel, method, isLast);
      response.send(200, `Content-Length: ${body.length}\r\n`, body);
      response.whenOver(() => written++);
      return response;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  t.teardown(() => {
    client.destroy();
    socket?.destroy();
    server.close();
    connections.close();
  });
  while (!socket || socket.writableLength === 0) {
    const sent = begun + 1;
    client.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await until(() => written === sent);
  }
  const ended = new Promise((resolve) => socket!.once('end', resolve));
  client.end();
  await ended;
  let octets = 0;
  for await (const piece of client) octets += (piece as Buffer).filter((octet) => octet === 1).length;
  t.equal(octets, begun * body.length);
});
