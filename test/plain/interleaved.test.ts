/** Many connections are read from one buffer: what one sends, in whatever pieces, never becomes part of another one's requests. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createListener, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { FURTHER_REQUESTS } from '../../src/base/connections/in-turns.js';
import { createPlainConnections } from '../../src/plain/connections.js';
import { WholeResponse } from '../../src/plain/whole-response.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';

const CONNECTIONS = 40;
const REQUESTS = 8;
const random = seededRandom(37);
const below = (most: number): number => (random.bytes(1)[0]! * 256 + random.bytes(1)[0]!) % most;

/** What a response says of its request. */
const said = (url: string, mark: unknown, body: string): string => `[${url} ${String(mark)} ${body}]`;

interface Story {
  /** What is left to be sent, in pieces. */
  readonly pieces: Buffer[];
  readonly expected: string[];
}

/** `hasBodies`: requests that go to Node's parser, and all behind them. */
function storyOf(connection: number, hasBodies: boolean): Story {
  const expected: string[] = [];
  let text = '';
  for (let i = 0; i < REQUESTS; i++) {
    const mark = `${connection}-${i}-`.padEnd(8 + below(200), String.fromCharCode(97 + (connection % 26)));
    const url = `/${connection}/${i}?${'q'.repeat(below(40))}`;
    const body = hasBodies && below(3) === 0 ? `body of ${mark}` : '';
    const more = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
    text += `${body === '' ? 'GET' : 'POST'} ${url} HTTP/1.1\r\nHost: a\r\nX-Mark: ${mark}\r\n${more}\r\n${body}`;
    expected.push(said(url, mark, body));
  }
  const pieces: Buffer[] = [];
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    // A piece often ends where a request does, and seldom in the middle of a head.
    const end = rest.indexOf('\r\n\r\n') + 4;
    const octets =
      hasBodies && below(4) === 0
        ? 1 + below(300)
        : end + (below(2) === 0 ? rest.indexOf('\r\n\r\n', end) + 4 - end : 0);
    pieces.push(rest.subarray(0, octets));
    rest = rest.subarray(octets);
  }
  return { pieces, expected };
}

t.test('each answer is of its own request', async (t) => {
  const http = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += String(piece);
    response.end(said(request.url!, request.headers['x-mark'], body));
  });
  const clock = new TestClock();
  let plain = 0;
  const handOver = (socket: Socket): void => void http.emit('connection', socket);
  const times = { firstMs: 60_000, idleMs: 60_000, keepAliveMs: 60_000, checkMs: 1000 };
  const connections = createPlainConnections({
    clock,
    ...times,
    further: FURTHER_REQUESTS,
    handOver,
    onLate: handOver,
  });
  const listener = createListener((socket) => {
    socket.on('error', () => {});
    connections.accept(socket, ({ url, method, isLast, rawHeaders }, channel) => {
      plain++;
      const response = new WholeResponse(channel, method, isLast);
      const body = Buffer.from(said(url, rawHeaders[rawHeaders.indexOf('x-mark') + 1], ''));
      const send = (): void => response.send(200, `Content-Length: ${body.length}\r\n`, body);
      let turns = below(4);
      const later = (): void => void (turns-- === 0 ? send() : setImmediate(later));
      later();
      return response;
    });
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const clients = Array.from({ length: CONNECTIONS }, (_, i) => {
    const socket = connect({ port: (listener.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
    const client = { socket, text: '', ...storyOf(i, i % 2 === 1) };
    socket.on('data', (piece: Buffer) => (client.text += piece.toString('latin1')));
    t.teardown(() => socket.destroy());
    return client;
  });
  for (let left = [...clients]; left.length > 0; left = left.filter(({ pieces }) => pieces.length > 0)) {
    for (let i = 0; i < 8; i++) {
      const { socket, pieces } = left[below(left.length)]!;
      const piece = pieces.shift();
      if (piece) socket.write(piece);
    }
    await turn();
  }
  const heard = ({ text }: { readonly text: string }): string[] => text.match(/\[.*?\]/g) ?? [];
  await until(() => clients.every((client) => heard(client).length === REQUESTS));
  t.strictSame(
    clients.map(heard),
    clients.map(({ expected }) => expected),
  );
  t.ok(plain >= (CONNECTIONS / 2) * REQUESTS, 'at least those without bodies were read from the one buffer');
  listener.close();
  http.close();
  connections.close();
});
