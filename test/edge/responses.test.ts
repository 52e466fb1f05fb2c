/**
 * Responses of origins over HTTP/1.1, read by the edge itself: as Node reads them, or not at all; and the connections they come
 * over.
 */
import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { SystemClock, sleep } from '../../src/base/clock.js';
import type { OriginControl, OriginEvents } from '../../src/edge/exchange/exchange.js';
import { createPlainOrigins, type PlainOriginOptions } from '../../src/edge/http1/origins.js';
import { ResponseReader, UnreadableResponse } from '../../src/edge/http1/response-reader.js';
import { LaterClock } from './fixture.js';

interface Heard {
  readonly status: number | undefined;
  readonly headers: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
  readonly informed: readonly number[];
}

/** Notes what a response says. */
function listen() {
  const heard = { status: undefined as number | undefined, body: '', headers: [] as readonly string[] };
  const informed: number[] = [];
  const events: OriginEvents = {
    onInformation: (status) => void informed.push(status),
    onHead(status, headers) {
      heard.status = status;
      heard.headers = headers;
    },
    onData: (chunk) => (heard.body += chunk.toString('latin1')),
    onEnd() {},
    onError() {},
  };
  return { events, sum: (trailers: readonly string[]): Heard => ({ ...heard, informed, trailers }) };
}

/** Undefined if it is refused, or incomplete. */
function readHere(pieces: readonly Buffer[], isHead = false): Heard | undefined {
  const { events, sum } = listen();
  const reader = new ResponseReader(events, isHead);
  try {
    for (const piece of pieces) reader.feed(piece);
  } catch (error) {
    if (error instanceof UnreadableResponse) return undefined;
    throw error;
  }
  return reader.close() ? sum(reader.trailers) : undefined;
}

function isRefused(text: string): boolean {
  try {
    new ResponseReader(listen().events, false).feed(Buffer.from(text));
    return false;
  } catch (error) {
    return error instanceof UnreadableResponse;
  }
}

/** Octets until the response is whole. */
function lengthOf(octets: Buffer): number {
  const reader = new ResponseReader(listen().events, false);
  for (let at = 0; at < octets.length; at++) {
    reader.feed(octets.subarray(at, at + 1));
    if (reader.isDone) return at + 1;
  }
  return octets.length;
}

async function readByNode(text: string): Promise<Heard | undefined> {
  const [near, far] = duplexPair();
  far.on('error', () => {});
  const asked = requestHttp({ createConnection: () => near as Socket, host: 'www.example.org' });
  const informed: number[] = [];
  const answered = new Promise<Heard | undefined>((resolve) => {
    asked.on('information', ({ statusCode }) => informed.push(statusCode));
    asked.on('upgrade', () => resolve(undefined));
    asked.on('error', () => resolve(undefined));
    asked.on('response', (response) => {
      let body = '';
      response.on('data', (piece: Buffer) => (body += piece.toString('latin1')));
      response.on('error', () => resolve(undefined));
      response.on('close', () => resolve(undefined));
      response.on('end', () => {
        const { statusCode: status, rawHeaders, rawTrailers } = response;
        resolve({ status, body, informed, headers: lower(rawHeaders), trailers: lower(rawTrailers) });
      });
    });
  });
  asked.end();
  far.resume();
  far.end(Buffer.from(text, 'latin1'));
  const heard = await answered;
  near.destroy();
  far.destroy();
  return heard;
}

const lower = (raw: readonly string[]): string[] => raw.map((one, i) => (i % 2 ? one : one.toLowerCase()));

const often = (usual: readonly string[], ...others: string[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...usual) }, fc.constantFrom(...others));
const lineEnd = fc.oneof({ weight: 60, arbitrary: fc.constant('\r\n') }, fc.constantFrom('\n', '\r', '\r\n ', ''));
const field = fc
  .tuple(
    often(['X-A', 'content-type', 'Set-Cookie'], 'x y', '', 'x\x80'),
    often([': ', ':', ':\t'], ' : ', ''),
    fc.string({ unit: fc.constantFrom('a', ' ', '\t', '\xe9', ','), maxLength: 6 }),
    lineEnd,
  )
  .map((parts) => parts.join(''));
const framing = fc
  .tuple(
    often(
      ['Content-Length: 5', 'Transfer-Encoding: chunked', 'Content-Length: 0', 'X: 1'],
      'Content-Length: +5',
      'Content-Length: 5, 5',
      'Transfer-Encoding: gzip',
      'Transfer-Encoding: xchunked',
      'Content-Length: 5\r\nContent-Length: 5',
      'Content-Length: 5\r\nTransfer-Encoding: chunked',
    ),
    lineEnd,
  )
  .map((parts) => parts.join(''));
const body = fc.constantFrom(
  'hello',
  '',
  '5\r\nhello\r\n0\r\n\r\n',
  '2;a=b\r\nhe\r\n03\r\nllo\r\n0\r\nX-Sum: 1\r\n\r\n',
  '5\r\nhelloo\r\n0\r\n\r\n',
  'zz\r\nhello\r\n0\r\n\r\n',
  '5\nhello\r\n0\r\n\r\n',
  'A\r\n0123456789\r\n000\r\n\r\n',
  '-1\r\nhello\r\n0\r\n\r\n',
);
const response = fc
  .tuple(
    fc.constantFrom('', '', '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', 'HTTP/1.1 100 Continue\r\n\r\n'),
    often(
      ['HTTP/1.1 200 OK', 'HTTP/1.1 404 Not \xe9', 'HTTP/1.0 200 OK', 'HTTP/1.1 204 No', 'HTTP/1.1 304 Not'],
      'HTTP/1.1 200',
      'HTTP/2.0 200 OK',
      'HTTP/1.1 20 OK',
      'http/1.1 200 OK',
      'HTTP/1.1  200 OK',
      'HTTP/1.1 101 Switching',
    ),
    lineEnd,
    fc.array(field, { maxLength: 2 }),
    framing,
    lineEnd,
    body,
  )
  .map(([interim, start, first, fields, length, last, content]) =>
    [interim, start, first, ...fields, length, last, content].join(''),
  );

t.test('what is accepted here, Node reads in the same way, and so however it is split', async (t) => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(response, fc.array(fc.nat(120), { maxLength: 4 }), async (text, cuts) => {
      const octets = Buffer.from(text, 'latin1');
      const own = readHere([octets]);
      const at = [0, ...cuts.map((cut) => Math.min(cut, octets.length)).sort((a, b) => a - b), octets.length];
      const pieces = at.slice(1).map((end, i) => octets.subarray(at[i], end));
      t.strictSame(readHere(pieces), own, JSON.stringify(pieces.map(String)));
      t.strictSame(readHere([...octets].map((octet) => Buffer.of(octet))), own);
      if (!own) return;
      accepted += 1;
      // Node fails after octets that nobody asked for.
      t.strictSame(own, await readByNode(text.slice(0, lengthOf(octets))), JSON.stringify(text));
    }),
    { numRuns: 1500, seed: 13 },
  );
  t.ok(accepted > 200, `${accepted} were accepted`);
});

t.test('what no response may be is refused', async (t) => {
  const long = 'x'.repeat(40_000);
  for (const text of [
    'this is not HTTP',
    `HTTP/1.1 200 OK\r\nX: ${long}`,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${long}`,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ${long}`,
    'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100),
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
    'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\nContent-Length: 1e1\r\n\r\nhello',
  ]) {
    t.ok(isRefused(text), text.slice(0, 60));
  }
  t.match(
    readHere([Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n')], true),
    { status: 200, body: '' },
    'HEAD',
  );
  t.equal(readHere([Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell')]), undefined, 'cut off');
  t.match(readHere([Buffer.from('HTTP/1.1 200 OK\r\n\r\nhello')]), { body: 'hello' }, 'until the connection ends');
});

/** An origin that answers each request as `answer` says, with the number of its connection. */
async function startRaw(t: Test, answer: (connection: number, socket: Socket, text: string) => void) {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const number = ++connections;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (text: Buffer) => answer(number, socket, text.toString('latin1')));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections, sockets };
}

const OPTIONS = { clock: new SystemClock(), connectMs: 1000, waitMs: 200, keepAliveMs: 10_000 };

function start(t: Test, more: Partial<PlainOriginOptions> = {}) {
  const origins = createPlainOrigins({ ...OPTIONS, ...more });
  t.teardown(() => origins.close());
  /** The body, or the code of the error. */
  const ask = (
    port: number,
    target = '/',
    control?: (to: OriginControl, octets: number) => void,
    zone = 1,
    account = 1,
  ): Promise<string> =>
    new Promise((resolve) => {
      let text = '';
      const request = { method: 'GET', target, headers: ['host', 'a.example'], more: [], body: undefined };
      const to: OriginControl = origins.send({ account, zone }, { address: '127.0.0.1', port }, request, false, {
        onInformation() {},
        onHead: () => control?.(to, 0),
        onData(chunk) {
          text += chunk.toString();
          control?.(to, text.length);
        },
        onEnd: () => resolve(text),
        onError: (error) => resolve(String('code' in error ? error.code : error.message)),
      });
    });
  return { origins, ask };
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n';

t.test('chunks that come together are passed on together', async (t) => {
  const pieces: string[] = [];
  const { events } = listen();
  const reader = new ResponseReader({ ...events, onData: (octets) => pieces.push(octets.toString('latin1')) }, false);
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  reader.feed(Buffer.from(`${head}${'1\r\na\r\n'.repeat(1000)}a;b=c\r\n0123456789\r\n1`));
  t.strictSame(pieces, [`${'a'.repeat(1000)}0123456789`]);
  reader.feed(Buffer.from(`\r\nb\r\n800\r\n${'c'.repeat(2048)}\r\n1\r\nd\r\n0\r\n\r\n`));
  t.strictSame(pieces.slice(1), ['b', 'c'.repeat(2048), 'd'], 'in their order, before the end');
  t.equal(reader.isDone, true);
});

t.test('connections are used again if nothing speaks against it', async (t) => {
  const extras: Readonly<Record<string, string>> = {
    '/close': `${OK}Connection: close\r\n\r\n`,
    '/short': `${OK}Keep-Alive: timeout=1\r\n\r\n`,
    '/more': `${OK}\r\n`,
    '/keep': `${OK}Keep-Alive: timeout=60\r\n\r\n`,
  };
  const origin = await startRaw(t, (number, socket, text) => {
    const target = text.split(' ')[1]!;
    socket.write(`${extras[target] ?? `${OK}\r\n`}${number}${target === '/more' ? 'HTTP/1.1 200 OK\r\n' : ''}`);
  });
  const clock = new LaterClock();
  const { ask } = start(t, { clock });
  t.equal(await ask(origin.port), '1');
  t.equal(await ask(origin.port, '/keep'), '1');
  for (const [i, target] of ['/close', '/short', '/more'].entries()) {
    t.equal(await ask(origin.port, target), String(i + 1), target);
    if (target !== '/more') t.equal(await ask(origin.port), String(i + 2), `not after ${target}`);
  }
  clock.laterMs += 60_000;
  t.equal(await ask(origin.port), '4');
  for (const socket of origin.sockets) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil');
  await sleep(50);
  t.equal(await ask(origin.port), '5', 'not after an answer that nobody asked for');
  clock.laterMs += 60_000;
  t.equal(await ask(origin.port), '6');
  for (const socket of origin.sockets) socket.end();
  await sleep(50);
  t.equal(await ask(origin.port), '7', 'not after the origin has closed it');
});

t.test('an account with many zones does not close the connections of another', async (t) => {
  const origin = await startRaw(t, (number, socket) => socket.write(`${OK}\r\n${number.toString(36)}`));
  const { ask } = start(t, { mostIdle: 4 });
  const own = await Promise.all([ask(origin.port), ask(origin.port)]);
  t.same(own, ['1', '2']);
  for (let zone = 2; zone < 10; zone++) await ask(origin.port, '/', undefined, zone, 2);
  t.ok(own.includes(await ask(origin.port)), 'it is used again');
});

t.test('no zone uses the connections of another', async (t) => {
  const origin = await startRaw(t, (number, socket) => socket.write(`${OK}\r\n${number}`));
  const { ask } = start(t);
  t.strictSame(
    [
      await ask(origin.port),
      await ask(origin.port, '/', undefined, 2),
      await ask(origin.port),
      await ask(origin.port, '/', undefined, 2),
    ],
    ['1', '2', '1', '2'],
  );
});

t.test('what follows a response is never the answer to another request', async (t) => {
  const evil = `${OK}\r\nevil`;
  let closed: Promise<unknown> | undefined;
  const origin = await startRaw(t, (number, socket, text) => {
    const target = text.split(' ')[1]!;
    socket.write(`${OK}\r\n${number % 10}`);
    if (target === '/turn') setImmediate(() => socket.write(evil));
    if (target !== '/delayed') return;
    closed = once(socket, 'close');
    setTimeout(() => socket.write(evil), 20);
  });
  for (const target of ['/turn', '/delayed']) {
    const { ask } = start(t);
    const before = origin.connections();
    t.equal(await ask(origin.port, target), String((before + 1) % 10));
    // In the same turn, so that what follows is still on its way.
    const next = ask(origin.port);
    if (target === '/turn') t.equal(await next, String((before + 2) % 10), 'the request that waited went elsewhere');
    else {
      await next;
      await closed;
      const last = await ask(origin.port);
      t.equal(last, String(origin.connections() % 10));
    }
    const connections = origin.connections();
    for (let i = 1; i <= 3; i++)
      t.equal(await ask(origin.port), String((connections + i) % 10), 'mistrusted for a while');
  }
});

t.test('times', async (t) => {
  const origin = await startRaw(t, (_number, socket, text) => {
    const target = text.split(' ')[1]!;
    if (target === '/slow') socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1');
    if (target === '/large') socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n${'x'.repeat(5_000_000)}`);
  });
  const { ask } = start(t);
  t.equal(await ask(origin.port, '/silent'), 'ORIGIN_RESPONSE_TIMEOUT');
  t.equal(await ask(origin.port, '/slow'), 'ORIGIN_RESPONSE_TIMEOUT');
  let waits = 0;
  const patient = start(t, { waitMs: 2000 });
  const slow = await patient.ask(origin.port, '/large', (to) => {
    if (waits++ > 0) return;
    to.pause();
    setTimeout(() => to.resume(), 3000);
  });
  t.equal(slow.length, 5_000_000, 'a client that is slow does not count');
});

t.test('a request is one request, whatever its fields hold', async (t) => {
  const { origins } = start(t);
  const { events } = listen();
  for (const headers of [
    ['x', 'a\r\nb: c'],
    ['x', '\0'],
    ['x: y\r\nz', 'a'],
    ['', 'a'],
  ]) {
    const request = { method: 'GET', target: '/', headers, more: [], body: undefined };
    t.throws(() => origins.send({ account: 1, zone: 1 }, { address: '127.0.0.1', port: 1 }, request, false, events), {
      name: 'TypeError',
    });
  }
  for (const target of ['/ HTTP/1.1\r\nX: ', '', '/a b']) {
    const request = { method: 'GET', target, headers: ['host', 'a'], more: [], body: undefined };
    t.throws(() => origins.send({ account: 1, zone: 1 }, { address: '127.0.0.1', port: 1 }, request, false, events), {
      name: 'TypeError',
    });
  }
});
