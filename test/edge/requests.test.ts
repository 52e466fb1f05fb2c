/** Requests as clients send them: what reaches origins of their fields, and what answers those that are unusual. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import t, { type Test } from 'tap';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { limitedBody } from '../../src/edge/exchange/body.js';
import { until } from '../support/until.js';
import { type EdgeWorld, exchange, startEdgeWorld } from './fixture.js';
import { listenTo } from './raw-origin.js';

const HOST = 'www.a.test';

/** An origin whose answer is the head that it got. */
async function startWorld(t: Test, options = {}): Promise<EdgeWorld> {
  const port = await listenTo(t, (socket, head) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${head.length}\r\n\r\n${head}`);
  });
  const world = await startEdgeWorld(t, options);
  await editZoneSetting(world.ctx, await world.zone('a.test', port), 'ssl', 'flexible');
  await world.heard();
  return world;
}

const send = (world: EdgeWorld, head: string, body = ''): Promise<string> =>
  exchange(connect(world.httpPort, '127.0.0.1'), `${head}\r\nConnection: close\r\n\r\n${body}`);

const started = startWorld(t);

t.test('cookies that HTTP/2 divides reach the origin as one field', async (t) => {
  const world = await started;
  const socket = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => socket });
  t.teardown(() => session.destroy());
  const stream = session.request({ ':path': '/', cookie: ['a=1', 'b=2', 'c=3'] });
  let text = '';
  for await (const piece of stream) text += (piece as Buffer).toString();
  t.match(text, /^cookie: a=1; b=2; c=3\r$/m);
  t.equal(text.match(/cookie/g)?.length, 1);
});

t.test('names that an origin may take for others do not reach it', async (t) => {
  const fields = [
    'CF_Connecting_IP: 6.6.6.6',
    'X_Forwarded_For: 6.6.6.6',
    'X_Own: own',
    'CF.Connecting.IP: 6.6.6.6',
    'True!Client!IP: 6.6.6.6',
    'X.Own: dot',
  ];
  const head = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n${fields.join('\r\n')}`;
  const post = `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 1\r\n${fields.join('\r\n')}`;
  const dropping = await started;
  const keeping = await startWorld(t, { keepsUnderscores: true });
  for (const [request, body] of [
    [head, ''],
    [post, 'x'],
  ] as const) {
    const dropped = await send(dropping, request, body);
    t.notMatch(dropped, /6\.6\.6\.6|x_own/);
    t.match(dropped, /^x\.own: dot\r$/m, 'other names pass');
    const kept = await send(keeping, request, body);
    t.match(kept, /^x_own: own\r$/m);
    t.notMatch(kept, /6\.6\.6\.6/, 'names of the edge are its own all the same');
  }
});

const CHUNKS = '1\r\nx\r\n0\r\n\r\n';

t.test('unusual requests have the answers that they are due', async (t) => {
  const world = await started;
  const cases: readonly (readonly [head: string, status: number, body?: string])[] = [
    [`GET / HTTP/1.1\r\nHost: ${HOST}:`, 200],
    [`OPTIONS * HTTP/1.1\r\nHost: ${HOST}`, 200],
    [`GET * HTTP/1.1\r\nHost: ${HOST}`, 400],
    [`OPTIONS / HTTP/1.1\r\nHost: ${HOST}`, 200],
    [`GET / HTTP/1.2\r\nHost: ${HOST}`, 505],
    [`GET / HTTP/2.0\r\nHost: ${HOST}`, 505],
    [`FOO / HTTP/1.1\r\nHost: ${HOST}`, 501],
    [`get / HTTP/1.1\r\nHost: ${HOST}`, 501],
    [`F(O / HTTP/1.1\r\nHost: ${HOST}`, 400],
    ['nonsense', 400],
    [`PROPFIND / HTTP/1.1\r\nHost: ${HOST}`, 200],
    [`POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\t`, 200, CHUNKS],
    [`POST / HTTP/1.1\r\nTransfer-Encoding: chunked \t \r\nX: \t\r\nHost: ${HOST}`, 200, CHUNKS],
    [`POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chun\tked`, 400, CHUNKS],
    [`POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding\t: chunked`, 400, CHUNKS],
    [`POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\t\r\n\tx`, 400, CHUNKS],
  ];
  for (const [head, status, body] of cases) {
    t.equal(Number((await send(world, head, body)).slice(9, 12)), status, head);
  }
});

t.test('a request behind one that asks for another protocol is not lost in silence', async (t) => {
  const world = await started;
  const upgrade = `GET /1 HTTP/1.1\r\nHost: ${HOST}\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\n\r\n`;
  const text = await exchange(
    connect(world.httpPort, '127.0.0.1'),
    `${upgrade}GET /2 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`,
  );
  t.match(text, /^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n[\s\S]*get \/1 /i);
  t.notMatch(text, /get \/2 /);
});

t.test('a WebSocket is not opened before the requests in front of it are answered', async (t) => {
  const asked: string[] = [];
  let answerFirst = (): void => {};
  const port = await listenTo(t, (socket, head) => {
    asked.push(head.split(' ')[1]!);
    const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n';
    if (head.startsWith('post')) answerFirst = () => socket.write(`${ok}post`);
    else if (head.includes('upgrade: websocket')) {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    } else socket.write(`${ok}page`);
  });
  const world = await started;
  await editZoneSetting(world.ctx, await world.zone('b.test', port), 'ssl', 'flexible');
  await world.heard();
  const host = 'www.b.test';
  const first = `POST /post HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\n\r\nx`;
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
  const socket = connect(world.httpPort, '127.0.0.1');
  t.teardown(() => socket.destroy());
  let text = '';
  socket.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
  socket.write(`${first}GET /socket HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\n\r\n`);
  await until(() => asked.length === 2);
  answerFirst();
  await until(() => text.includes('post') && (text.endsWith('page') || text.includes(' 101 ')));
  const answers = text.replace(/\r\n[\s\S]*?\r\n\r\n/g, ' ');
  t.equal(answers, 'HTTP/1.1 200 OK postHTTP/1.1 200 OK page', 'it is a request like others');
});

t.test('no error of what follows a request is taken for its answer', async (t) => {
  const port = await listenTo(t, () => {});
  const world = await started;
  await editZoneSetting(world.ctx, await world.zone('c.test', port), 'ssl', 'flexible');
  await world.heard();
  const first = `POST /post HTTP/1.1\r\nHost: www.c.test\r\nContent-Length: 1\r\n\r\nx`;
  for (const behind of ['CONNECT a:1 HTTP/1.1\r\nHost: a:1', 'nonsense', 'GET / HTTP/1.1\r\nContent-Length: x']) {
    t.equal(await exchange(connect(world.httpPort, '127.0.0.1'), `${first}${behind}\r\n\r\n`), '', behind);
  }
  const own = `POST / HTTP/1.1\r\nHost: www.c.test\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n`;
  t.match(await exchange(connect(world.httpPort, '127.0.0.1'), own), /^HTTP\/1\.1 400 /, 'its own error is');
});

t.test('chunks of an upload that come together leave together', async (t) => {
  const message = new PassThrough({ highWaterMark: 1 << 20 });
  const body = limitedBody(message as unknown as IncomingMessage, { bodyLimit: 1 << 20 });
  const pieces: string[] = [];
  body.on('data', (octets: Buffer) => pieces.push(octets.toString()));
  const text = Array.from({ length: 3000 }, (_, number) => `${number} `);
  for (const octets of text) message.write(octets);
  message.end();
  await once(body, 'end');
  t.equal(pieces.join(''), text.join(''));
  t.ok(pieces.length < 30, `${pieces.length} pieces`);
});

t.test('statuses that HTTP does not register have their reason', async (t) => {
  const world = await startEdgeWorld(t);
  await world.zone('a.test', 1);
  t.match(await send(world, `GET / HTTP/1.1\r\nHost: ${HOST}`), /^HTTP\/1\.1 521 Web server is down\r\n/);
  t.match(
    await send(world, `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 1`, 'x'),
    /^HTTP\/1\.1 521 Web server is down\r\n/,
  );
});

t.test('uploads over HTTP/2 fill a long way', async (t) => {
  const size = 10 << 20;
  let octets = 0;
  const port = await listenTo(t, (socket, head) => {
    octets = head.length - head.indexOf('\r\n\r\n') - 4;
    socket.on('data', (piece: Buffer) => {
      octets += piece.length;
      if (octets >= size) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  const world = await startEdgeWorld(t, { bodyLimit: 1 << 25 });
  await editZoneSetting(world.ctx, await world.zone('a.test', port), 'ssl', 'flexible');
  await world.heard();
  const socket = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => socket });
  t.teardown(() => session.destroy());
  await once(session, 'remoteSettings');
  t.equal(session.remoteSettings.initialWindowSize, 1 << 20, 'of a stream');
  let widest = 0;
  const look = setInterval(() => (widest = Math.max(widest, session.state.remoteWindowSize ?? 0)), 1);
  t.teardown(() => clearInterval(look));
  const stream = session.request({ ':method': 'POST', ':path': '/', 'content-length': size });
  stream.write(Buffer.alloc(1));
  await until(() => widest > 1 << 22, 'the window of the connection');
  stream.end(Buffer.alloc(size - 1));
  const [headers] = (await once(stream, 'response')) as [Record<string, number>];
  t.equal(headers[':status'], 200);
});
