/** Plain requests in front of Node's HTTP server: who answers what, in which order, and what a slow or broken client does. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { type AnswerAtOnce, answerPlainFirst } from '../../src/plain/in-front.js';
import { makeCertificate } from '../edge/fixture.js';
import { until } from '../support/until.js';

const HELLO = 'GET /at-once HTTP/1.1\r\nHost: a\r\n\r\n';
const LARGE = Buffer.alloc(8 << 20, 'x');

const AT_ONCE: ReadonlySet<string> = new Set(['/at-once', '/large', '/late', '/other', '/last']);

const { certificate: cert, key } = makeCertificate(['a.test']);

async function start(t: Test, isSecure: boolean) {
  const faults: unknown[] = [];
  const ended: boolean[] = [];
  const room = { onAnswer: (_url: string) => {} };
  const onRequest: RequestListener = (request, response) => {
    request.resume();
    request.on('end', () => response.end(`node ${request.method} ${request.url}`));
  };
  const server = isSecure ? createSecureServer({ cert, key }, onRequest) : createServer(onRequest);
  const answer: AnswerAtOnce = ({ url }, response) => {
    if (url === '/early') throw new Error('a fault');
    if (!AT_ONCE.has(url)) return false;
    room.onAnswer(url);
    const body = url === '/large' ? LARGE : Buffer.from('at once');
    response.send(200, `content-length: ${body.length}\r\n`, body);
    response.whenOver((isSent) => ended.push(isSent));
    if (url === '/late') throw new Error('a fault');
    return true;
  };
  const closeIdle = answerPlainFirst(server, {
    clock: new SystemClock(),
    answer,
    onFault: (error) => faults.push(error),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.teardown(() => {
    closeIdle();
    server.close();
    server.closeAllConnections();
  });
  const open = async (): Promise<{ socket: Socket; text: () => string }> => {
    const place = { port, host: '127.0.0.1' };
    const socket = isSecure ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
    let text = '';
    socket.on('data', (piece) => (text += piece.toString('latin1')));
    socket.on('error', () => {});
    await once(socket, isSecure ? 'secureConnect' : 'connect');
    t.teardown(() => socket.destroy());
    return { socket, text: () => text };
  };
  return { server, faults, ended, open, closeIdle, room };
}

/** Over plain connections, and over TLS. */
function both(name: string, run: (t: Test, begin: () => ReturnType<typeof start>) => Promise<void>): void {
  t.test(name, (t) => run(t, () => start(t, false)));
  t.test(`${name}, over TLS`, (t) => run(t, () => start(t, true)));
}

both('requests on one connection are answered in their order, whoever answers', async (t, begin) => {
  const { open, ended } = await begin();
  const { socket, text } = await open();
  const put = 'PUT /body HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc';
  socket.write(HELLO + HELLO + put + HELLO);
  await until(() => text().split('HTTP/1.1 200').length === 5);
  const bodies = [...text().matchAll(/at once|node [A-Z]+ [/a-z-]+/g)].map(([found]) => found);
  t.strictSame(bodies, ['at once', 'at once', 'node PUT /body', 'node GET /at-once'], 'Node keeps the connection');
  t.strictSame(ended, [true, true]);
});

both('a client with many requests lets others have their turn', async (t, begin) => {
  const { open, room } = await begin();
  const [first, other] = [await open(), await open()];
  const heard: string[] = [];
  room.onAnswer = (url) => {
    // It is there before the first connection has its next turn.
    if (heard.length === 0) other.socket.write(HELLO.replace('/at-once', '/other'));
    if (heard.at(-1) !== url) heard.push(url);
  };
  // No more than a record of TLS: a head in two pieces would go to Node.
  first.socket.write(HELLO.repeat(300) + HELLO.replace('/at-once', '/last'));
  await until(() => first.text().split('HTTP/1.1 200').length === 302);
  t.strictSame(heard, ['/at-once', '/other', '/at-once', '/last']);
});

both('a head in pieces, another method and another target go to the server of Node', async (_, begin) => {
  const { open } = await begin();
  const { socket, text } = await open();
  const head = 'GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n';
  socket.write(head.slice(0, 20));
  await new Promise((resolve) => setImmediate(resolve));
  socket.write(head.slice(20));
  await until(() => text().endsWith('node GET /pieces'));
  const second = await open();
  second.socket.write('GET /else HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await until(() => second.text().includes('node GET /else'));
});

both('a client that wants its connection to end, or asks with HEAD', async (t, begin) => {
  const { open } = await begin();
  const { socket, text } = await open();
  socket.write('HEAD /at-once HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await once(socket, 'close');
  t.match(text(), /content-length: 7\r\n/);
  t.match(text(), /Connection: close\r\n\r\n$/);
});

both('a slow reader gets all of it, and a client that leaves is noted', async (t, begin) => {
  const { open, ended } = await begin();
  const slow = await open();
  slow.socket.pause();
  slow.socket.write(`GET /large HTTP/1.1\r\nHost: a\r\n\r\n${HELLO}`);
  const gone = await open();
  gone.socket.pause();
  gone.socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.strictSame(ended, [], 'neither is over');
  gone.socket.destroy();
  await until(() => ended.length === 1);
  slow.socket.resume();
  await until(() => slow.text().endsWith('at once'));
  t.strictSame(ended, [false, true, true]);
  t.equal(slow.text().split('x').length - 1, LARGE.length + 0);
});

both('a fault ends its connection and no other', async (t, begin) => {
  const { open, faults } = await begin();
  const [early, late, good] = [await open(), await open(), await open()];
  early.socket.write('GET /early HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => early.text().endsWith('node GET /early'), 'nothing was sent: the other way answers');
  t.equal(faults.length, 0);
  late.socket.write('GET /late HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(late.socket, 'close');
  t.equal(faults.length, 1);
  good.socket.write(HELLO);
  await until(() => good.text().endsWith('at once'));
});

both('idle connections can be closed, new ones stay', async (_, begin) => {
  const { open, closeIdle } = await begin();
  const [used, fresh] = [await open(), await open()];
  used.socket.write(HELLO);
  await until(() => used.text().endsWith('at once'));
  closeIdle();
  await once(used.socket, 'close');
  fresh.socket.write(HELLO);
  await until(() => fresh.text().endsWith('at once'));
});
