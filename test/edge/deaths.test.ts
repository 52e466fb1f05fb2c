/**
 * Connections that die, and origins that answer what HTTP/2 forbids. The edge runs in the process of this test, so that an error
 * which nobody handles ends it. After each of them the edge still answers.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { until } from '../support/until.js';
import { type EdgeWorld, LaterClock, startEdgeWorld } from './fixture.js';

/** An origin that sends these octets after the head of a request, for each path. */
async function startRawOrigin(t: Test, answers: Readonly<Record<string, (socket: Socket) => void>>): Promise<number> {
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      const path = /^\S+ (\S+)/.exec(chunk.toString('latin1'))?.[1] ?? '';
      answers[path]?.(socket);
      if (path === '/ok') socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const says =
  (...lines: string[]) =>
  (socket: Socket): void =>
    void socket.write(lines.join('\r\n'));

function openHttp2(t: Test, { httpsPort }: EdgeWorld, servername = 'www.shop.test'): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${httpsPort}`, { servername, rejectUnauthorized: false });
  session.on('error', () => {});
  t.teardown(() => session.destroy());
  return session;
}

interface Heard {
  readonly headers: IncomingHttpHeaders | undefined;
  readonly trailers: IncomingHttpHeaders | undefined;
  readonly body: string;
  /** 0: it ended well. */
  readonly code: number;
}

/** Calls `answered` when the head of the answer has come. */
function get(
  session: ClientHttp2Session,
  path: string,
  fields: Record<string, string> = {},
  answered = (): void => {},
): Promise<Heard> {
  return new Promise((resolve) => {
    const stream = session.request({ ':authority': 'www.shop.test', ':path': path, ...fields });
    let headers: IncomingHttpHeaders | undefined;
    let trailers: IncomingHttpHeaders | undefined;
    let body = '';
    stream.on('response', (found) => {
      headers = found;
      answered();
    });
    stream.on('trailers', (found) => (trailers = found));
    stream.on('data', (piece: Buffer) => (body += piece.toString()));
    stream.on('error', () => {});
    stream.on('close', () => resolve({ headers, trailers, body, code: stream.rstCode ?? 0 }));
    // An extended CONNECT stays open for what the client sends.
    if (fields[':method'] !== 'CONNECT') stream.end();
  });
}

/** A zone whose origin is asked without TLS, whatever the client uses. */
async function shop(world: EdgeWorld, port: number): Promise<void> {
  const id = await world.zone('shop.test', port);
  await editZoneSetting(world.ctx, id, 'ssl', 'flexible');
  await world.heard();
}

async function answers(t: Test, world: EdgeWorld, what: string): Promise<void> {
  const text = await world.raw('GET /ok HTTP/1.1\r\nHost: www.shop.test\r\nConnection: close\r\n\r\n');
  t.match(text, /^HTTP\/1\.1 200 /, `after ${what} the edge answers`);
}

/** Sends octets and resets the connection. */
async function reset(port: number, octets: string, ms = 5): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(octets);
  await sleep(ms);
  socket.resetAndDestroy();
  await sleep(5);
}

t.test('resets on the plain port', async (t) => {
  const world = await startEdgeWorld(t);
  await world.zone('shop.test', await startRawOrigin(t, {}));
  for (let i = 0; i < 30; i++) {
    for (const head of ['CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', 'nonsense\r\n\r\n']) {
      await reset(world.httpPort, head, i % 3);
    }
    await reset(world.httpPort, 'GET /ok HTTP/1.1\r\nHost: www.shop.test\r\nUpgrade: h2c\r\n\r\n', i % 3);
    await reset(
      world.httpPort,
      'POST /ok HTTP/1.1\r\nHost: www.shop.test\r\nExpect: x\r\nContent-Length: 9\r\n\r\n',
      i % 3,
    );
  }
  await answers(t, world, 'resets');
});

t.test('a connection that says nothing and is reset when it hears that it is too late', async (t) => {
  const clock = new LaterClock();
  const limits = { headersTimeoutMs: 50, requestTimeoutMs: 1000, keepAliveMs: 1000 };
  const world = await startEdgeWorld(t, { clock, limits });
  await world.zone('shop.test', await startRawOrigin(t, {}));
  const sockets = Array.from({ length: 40 }, () => connect(world.httpPort, '127.0.0.1'));
  await Promise.all(
    sockets.map(async (socket) => {
      socket.on('error', () => {});
      await once(socket, 'connect');
      const [octets] = (await once(socket, 'data')) as [Buffer];
      t.match(octets.toString(), /^HTTP\/1\.1 408 /);
      socket.resetAndDestroy();
    }),
  );
  await sleep(20);
  await answers(t, world, 'late resets');
});

t.test('WebSockets over HTTP/2 that the origin answers with something else', async (t) => {
  /** What the origin does when the client has the head of the answer. */
  let later = (): void => {};
  const port = await startRawOrigin(t, {
    '/reset': (socket) => {
      later = () => socket.resetAndDestroy();
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    },
    '/broken': (socket) => {
      later = () => socket.write('zzz\r\n');
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n');
    },
    '/whole': says('HTTP/1.1 426 Upgrade Required', 'Content-Length: 4', '', 'none'),
    '/double': says(
      'HTTP/1.1 403 No',
      'ETag: "a"',
      'ETag: "b"',
      'Constructor: x',
      '__proto__: y',
      'Content-Length: 2',
      '',
      'no',
    ),
    '/001': says('HTTP/1.1 001 Odd', 'Content-Length: 0', '', ''),
    '/099': says('HTTP/1.1 099 Odd', 'Content-Length: 0', '', ''),
  });
  const world = await startEdgeWorld(t);
  await shop(world, port);
  const session = openHttp2(t, world);
  await once(session, 'remoteSettings');
  const open = (path: string): Promise<Heard> =>
    get(session, path, { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https' }, () => later());
  t.match(await open('/whole'), { headers: { ':status': 426 }, body: 'none', code: 0 });
  for (const path of ['/reset', '/broken']) {
    const { headers, code } = await open(path);
    t.equal(headers?.[':status'], 200, path);
    t.not(code, 0, `${path}: the client is told that it is not whole`);
  }
  t.match(await open('/double'), { headers: { ':status': 403, etag: '"a"' }, body: 'no', code: 0 });
  for (const path of ['/001', '/099']) t.match((await open(path)).headers, { ':status': 520 }, path);
  await answers(t, world, 'answers to WebSockets');
});

t.test('WebSockets over HTTP/1.1 that the origin answers with something else', async (t) => {
  const port = await startRawOrigin(t, {
    '/reset': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
      setTimeout(() => socket.resetAndDestroy(), 20);
    },
    '/broken': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n');
      setTimeout(() => socket.write('zzz\r\n'), 20);
    },
    '/001': says('HTTP/1.1 001 Odd', 'Content-Length: 0', '', ''),
  });
  const world = await startEdgeWorld(t);
  await shop(world, port);
  const fields = 'Host: www.shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
  for (const path of ['/reset', '/broken', '/001']) {
    const text = await world.raw(
      `GET ${path} HTTP/1.1\r\n${fields}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    t.equal(text.match(/HTTP\/1\.1 \d/g)?.length, 1, `${path}: one status line`);
    t.notMatch(text, /HTTP\/1\.1 001/);
  }
  await answers(t, world, 'answers to WebSockets');
});

t.test('fields of origins that HTTP/2 does not allow', async (t) => {
  const fields = [
    'ETag: "a"',
    'ETag: "b"',
    'Date: Mon, 23 Nov 2026 10:00:00 GMT',
    'Date: x',
    'Content-Type: text/plain',
    'Content-Type: a/b',
    'Location: /a',
    'Location: /b',
    'Age: 1',
    'Age: 2',
  ];
  const odd = ['Constructor: x', '__proto__: y', 'HasOwnProperty: z', 'Constructor: again'];
  const stored = 'Cache-Control: public, max-age=600';
  const port = await startRawOrigin(t, {
    '/double.css': says('HTTP/1.1 200 OK', ...fields, stored, 'Content-Length: 2', '', 'ok'),
    '/odd.css': says('HTTP/1.1 200 OK', ...odd, stored, 'Content-Length: 2', '', 'ok'),
    '/trailers': says('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '2', 'ok', '0', ...fields, ...odd, '', ''),
    '/hints': says(
      'HTTP/1.1 103 Early Hints',
      ...odd,
      'Link: </a>; rel=preload',
      'Link: </b>; rel=preload',
      'ETag: "a"',
      'ETag: "b"',
      '',
      'HTTP/1.1 200 OK',
      'Content-Length: 2',
      '',
      'ok',
    ),
    '/101': says('HTTP/1.1 101 Switching Protocols', '', 'hello'),
    '/101-upgrade': says('HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', '', ''),
    '/099': says('HTTP/1.1 099 Odd', '', 'HTTP/1.1 200 OK', 'Content-Length: 2', '', 'ok'),
    '/600': says('HTTP/1.1 600 Odd', 'Content-Length: 2', '', 'ok'),
    '/999': says('HTTP/1.1 999 Odd', 'Content-Length: 2', '', 'ok'),
  });
  const world = await startEdgeWorld(t);
  await shop(world, port);
  const session = openHttp2(t, world);
  for (const path of ['/double.css', '/odd.css']) {
    for (const from of ['the origin', 'the cache']) {
      const { headers, body } = await get(session, path);
      t.match({ status: headers?.[':status'], body }, { status: 200, body: 'ok' }, `${path} from ${from}`);
    }
  }
  t.match(await get(session, '/double.css'), { headers: { etag: '"a"', location: '/a' } }, 'the first counts');
  t.match(await get(session, '/trailers'), { headers: { ':status': 200 }, body: 'ok', code: 0 });
  t.match(await get(session, '/hints'), { headers: { ':status': 200 }, body: 'ok' });
  for (const path of ['/600', '/999', '/101', '/101-upgrade', '/099'])
    t.match((await get(session, path)).headers, { ':status': 520 }, path);
  for (const path of ['/trailers', '/odd.css', '/hints', '/600']) {
    t.match(
      await world.raw(`GET ${path} HTTP/1.1\r\nHost: www.shop.test\r\nConnection: close\r\n\r\n`),
      /^HTTP\/1\.1 /,
    );
  }
  await answers(t, world, 'odd fields');
});

/** A clock on which the time of handshakes passes only when it is told. */
class HandshakeClock extends SystemClock {
  readonly waiting = new Set<() => void>();

  override after(delayMs: number, run: () => void): () => void {
    if (delayMs !== HANDSHAKE_MS) return super.after(delayMs, run);
    this.waiting.add(run);
    return () => void this.waiting.delete(run);
  }

  pass(): void {
    const due = [...this.waiting];
    this.waiting.clear();
    for (const run of due) run();
  }
}

const HANDSHAKE_MS = 12_345;
const SETTINGS = Buffer.of(0, 0, 0, 4, 0, 0, 0, 0, 0);
const TAKEN = Buffer.of(0, 0, 0, 4, 1, 0, 0, 0, 0);
const PING = Buffer.of(0, 0, 8, 6, 0, 0, 0, 0, 0);

t.test('an HTTP/2 client that asks for nothing and answers no ping is let go', async (t) => {
  const clock = new HandshakeClock();
  const world = await startEdgeWorld(t, { clock, handshakeMs: HANDSHAKE_MS });
  await shop(world, await startRawOrigin(t, {}));
  const socket = await world.tls('www.shop.test', { ALPNProtocols: ['h2'] });
  const closed = once(socket, 'close');
  let heard = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (piece: Buffer) => (heard = Buffer.concat([heard, piece])));
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), SETTINGS]));
  await until(() => heard.includes(TAKEN));
  clock.pass();
  await until(() => heard.includes(PING));
  clock.pass();
  await closed;
  const asking = openHttp2(t, world);
  await get(asking, '/ok');
  clock.pass();
  clock.pass();
  t.equal((await get(asking, '/ok')).body, 'ok', 'one that has asked stays');
  const idle = openHttp2(t, world);
  await new Promise((resolve) => idle.ping(resolve));
  clock.pass();
  await until(() => clock.waiting.size === 0);
  t.equal((await get(idle, '/ok')).body, 'ok', 'and one that answers');
});

/** In a process of its own: the resets must come while the edge is busy with the handshakes. */
const RESETS = `
import socket, ssl, struct, sys
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
context.set_alpn_protocols(['h2'])
for number in range(int(sys.argv[2])):
    plain = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    secure = context.wrap_socket(plain, server_hostname='www.shop.test')
    secure.send(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])[:9 * (number % 2)])
    secure.close()
`;

const PYTHON = '/usr/bin/python3';
const withoutPython = !existsSync(PYTHON) && process.env['CI'] !== 'true' ? `not installed: ${PYTHON}` : false;

function resetAfterHandshakes(port: number, count: number): Promise<unknown> {
  return promisify(execFile)(PYTHON, ['-c', RESETS, String(port), String(count)]);
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

/** How many there are once no connection is open and their number stays the same. */
async function settled({ edge }: EdgeWorld): Promise<number> {
  await until(() => edge.samples().find(({ name }) => name === 'edge_connections')?.value === 0);
  let [count, looks] = [descriptors(), 0];
  for (let i = 0; i < 1000 && looks < 20; i++) {
    await sleep(20);
    looks = descriptors() === count ? looks + 1 : 0;
    count = descriptors();
  }
  return count;
}

t.test('HTTP/2 connections that are reset at once leave nothing behind', { skip: withoutPython }, async (t) => {
  const world = await startEdgeWorld(t, { handshakeMs: 1000 });
  await world.zone('shop.test', await startRawOrigin(t, {}));
  // The world opens something at its first connections.
  await resetAfterHandshakes(world.httpsPort, 2);
  const before = await settled(world);
  await resetAfterHandshakes(world.httpsPort, 100);
  await settled(world);
  await until(
    () => descriptors() <= before,
    `${before} descriptors`,
    () => String(descriptors()),
  );
  await answers(t, world, 'resets of HTTP/2');
});
