/** The client of HTTP/2 for origins: against Node's server, and against origins that break the protocol in every way. */
import { once } from 'node:events';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { SystemClock, sleep } from '../../../src/base/clock.js';
import type { OriginControl, OriginEvents, OriginRequest } from '../../../src/edge/exchange/exchange.js';
import {
  CODE,
  FLAG,
  FRAME,
  type Frame,
  FrameReader,
  frame,
  number,
  PREFACE,
  SETTING,
  settings,
} from '../../../src/edge/http2/frames.js';
import { BlockReader, writeBlock } from '../../../src/edge/http2/hpack.js';
import { createHttp2Origins, type Http2Origins } from '../../../src/edge/http2/origins.js';
import { until } from '../../support/until.js';
import { makeCertificate } from '../fixture.js';

const { certificate: cert, key } = makeCertificate(['origin.test']);
const TIMES = { connectMs: 20_000, waitMs: 20_000, keepAliveMs: 15_000 };

async function listen(t: Test, server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

function startClient(t: Test, times: Partial<typeof TIMES> = {}): Http2Origins {
  const origins = createHttp2Origins({ clock: new SystemClock(), ...TIMES, ...times });
  t.teardown(() => origins.close());
  return origins;
}

class Heard implements OriginEvents {
  readonly interim: number[] = [];
  status = 0;
  fields: readonly string[] = [];
  octets = 0;
  pieces = 0;
  text = '';
  trailers: readonly string[] | undefined;
  error: (Error & { code?: string }) | undefined;
  onInformation(status: number): void {
    this.interim.push(status);
  }
  onHead(status: number, fields: readonly string[]): void {
    this.status = status;
    this.fields = fields;
  }
  onData(chunk: Buffer): void {
    this.octets += chunk.length;
    this.pieces += 1;
    if (this.text.length < 100) this.text += chunk.toString('latin1');
  }
  onEnd(trailers: readonly string[]): void {
    this.trailers = trailers;
  }
  onError(error: Error): void {
    this.error = error;
  }
  get isOver(): boolean {
    return this.trailers !== undefined || this.error !== undefined;
  }
}

interface Sent {
  readonly heard: Heard;
  readonly control: OriginControl;
  readonly end: () => Promise<Heard>;
}

function send(origins: Http2Origins, port: number, request: Partial<OriginRequest> = {}, isFresh = false): Sent {
  const heard = new Heard();
  const place = {
    key: String(port),
    address: '127.0.0.1',
    port,
    tls: { servername: 'origin.test', rejectUnauthorized: false },
  };
  const headers = ['host', 'www.shop.test', 'x-asked', 'yes'];
  const whole = { method: 'GET', target: '/', headers, more: [], body: undefined, ...request };
  const control = origins.send(place, whole, isFresh, heard, () => {
    heard.onHead(505, []);
    heard.onEnd([]);
    return { pause() {}, resume() {}, abort() {} };
  });
  const end = async (): Promise<Heard> => {
    await until(() => heard.isOver, `the end of ${whole.method} ${whole.target}`);
    return heard;
  };
  return { heard, control, end };
}

/** An origin by Node. */
async function startNode(
  t: Test,
  answer: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
): Promise<{ readonly port: number; readonly sessions: () => number }> {
  let sessions = 0;
  const server = createSecureServer({ cert, key }, (request, response) => {
    request.on('error', () => {});
    response.on('error', () => {});
    answer(request, response);
  });
  server.on('session', (session) => {
    sessions += 1;
    session.on('error', () => {});
    t.teardown(() => session.destroy());
  });
  server.on('sessionError', () => {});
  return { port: await listen(t, server as unknown as Server), sessions: () => sessions };
}

interface RawOrigin {
  readonly socket: TLSSocket;
  readonly frames: Frame[];
  readonly say: (...octets: Buffer[]) => void;
  /** A response of this status and these fields. */
  readonly head: (stream: number, isLast: boolean, ...fields: string[]) => Buffer;
}

/** An origin that speaks frames. `onRequest` is called for each HEADERS. */
async function startRaw(
  t: Test,
  onRequest: (origin: RawOrigin, stream: number, fields: readonly string[]) => void,
  onOpen: (origin: RawOrigin) => void = ({ say }) => say(settings([])),
): Promise<{ readonly port: number; readonly opened: RawOrigin[] }> {
  const opened: RawOrigin[] = [];
  const server = createTlsServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
    const blocks = new BlockReader({ listOctets: 65_536, fields: 200 });
    const frames: Frame[] = [];
    const origin: RawOrigin = {
      ...{ socket, frames },
      say: (...octets) => void (socket.destroyed || socket.write(Buffer.concat(octets))),
      head: (stream, isLast, ...fields) =>
        frame(FRAME.headers, FLAG.endHeaders | (isLast ? FLAG.endStream : 0), stream, writeBlock(fields, false)),
    };
    opened.push(origin);
    socket.on('error', () => {});
    t.teardown(() => socket.destroy());
    onOpen(origin);
    // One that ends at once need not see all that comes.
    if (socket.writableEnded) return;
    let toSkip = PREFACE.length;
    const reader = new FrameReader((each) => {
      frames.push({ ...each, payload: Buffer.from(each.payload) });
      if (each.type === FRAME.headers) onRequest(origin, each.stream, blocks.read(each.payload)!);
    });
    socket.on('data', (octets: Buffer) => {
      const skipped = Math.min(toSkip, octets.length);
      toSkip -= skipped;
      reader.feed(octets.subarray(skipped));
    });
  });
  return { port: await listen(t, server), opened };
}

t.test('many requests over one connection, with bodies larger than every window', async (t) => {
  const { port, sessions } = await startNode(t, (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'x-path': request.url, 'set-cookie': ['a=1', 'b=2'] });
      response.end(`hello ${request.headers['x-asked']} ${request.authority}`);
      return;
    }
    response.addTrailers({ 'x-after': 'all' });
    request.pipe(response);
  });
  const origins = startClient(t);
  const gets = Array.from({ length: 60 }, (_, i) => send(origins, port, { target: `/${i}` }));
  for (const [i, { end }] of gets.entries()) {
    const { status, text, fields } = await end();
    t.match({ status, text }, { status: 200, text: 'hello yes www.shop.test' });
    t.equal(fields[fields.indexOf('x-path') + 1], `/${i}`);
    t.equal(fields.filter((name) => name === 'set-cookie').length, 2);
  }
  const body = (): Readable => Readable.from(Array.from({ length: 50 }, () => Buffer.alloc(60_000, 'a')));
  const posts = Array.from({ length: 4 }, () => send(origins, port, { method: 'POST', body: body() }));
  for (const { end } of posts) {
    const heard = await end();
    t.equal(heard.error, undefined);
    t.equal(heard.octets, 3_000_000);
    t.same(heard.trailers, ['x-after', 'all']);
  }
  t.equal(sessions(), 1);
  const fresh = await send(origins, port, {}, true).end();
  t.equal(fresh.status, 200);
  t.equal(sessions(), 2, 'a fresh one is not shared');
});

t.test('HEAD, no content, early hints, and an answer before the body is there', async (t) => {
  const { port } = await startNode(t, (request, response) => {
    if (request.url === '/hints') response.writeEarlyHints({ link: '</a.css>; rel=preload' });
    if (request.url === '/none') response.writeHead(204);
    else response.writeHead(200, { 'content-length': '5' });
    response.end(request.url === '/none' || request.method === 'HEAD' ? '' : 'hello');
  });
  const origins = startClient(t);
  t.match(await send(origins, port, { method: 'HEAD' }).end(), { status: 200, octets: 0, error: undefined });
  t.match(await send(origins, port, { target: '/none' }).end(), { status: 204, error: undefined });
  t.match(await send(origins, port, { target: '/hints' }).end(), { interim: [103], status: 200, text: 'hello' });
  const body = new PassThrough();
  t.match(await send(origins, port, { method: 'POST', body }).end(), { status: 200, text: 'hello', error: undefined });
  await until(() => body.destroyed, 'nobody needs the rest of the body');
});

t.test('the head of a request goes at once, its body when it comes', async (t) => {
  const seen: string[] = [];
  const { port } = await startNode(t, (request, response) => {
    seen.push('head');
    request.on('data', (piece: Buffer) => seen.push(piece.toString()));
    request.on('end', () => response.end('got it'));
  });
  const body = new PassThrough();
  const { end } = send(startClient(t), port, { method: 'POST', body });
  await until(() => seen.length === 1);
  body.write('part');
  await until(() => seen.length === 2);
  body.end();
  t.equal((await end()).text, 'got it');
  t.same(seen, ['head', 'part']);
});

t.test('requests that are given up at every moment leave the others alone', async (t) => {
  const { port, sessions } = await startNode(t, (request, response) => {
    if (request.url === '/late') setTimeout(() => response.end('late'), 5);
    else request.pipe(response);
  });
  const origins = startClient(t);
  t.equal((await send(origins, port, { target: '/late' }).end()).text, 'late');
  for (let i = 0; i < 60; i++) {
    const body = new PassThrough();
    const { control } = send(origins, port, { method: 'POST', target: i % 2 ? '/late' : '/echo', body });
    if (i % 3 !== 0) body.write('something');
    if (i % 4 === 0) await sleep(i % 7);
    // What brought Node's client into its loop: the end and the reset in one turn.
    if (i % 5 !== 0) body.end('more');
    if (i % 6 !== 0) await new Promise(setImmediate);
    control.abort();
    if (i % 10 === 0) t.equal((await send(origins, port, { target: '/late' }).end()).text, 'late');
  }
  t.equal(sessions(), 1);
});

t.test('a client that does not read holds up its own stream only', async (t) => {
  let written = 0;
  const { port } = await startNode(t, (request, response) => {
    if (request.url !== '/big') {
      response.end('small');
      return;
    }
    const more = (): void => {
      while (written < 64 && !response.destroyed) {
        written += 1;
        if (!response.write(Buffer.alloc(65_536, 'b'))) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
  });
  const origins = startClient(t);
  const big = send(origins, port, { target: '/big' });
  big.control.pause();
  await until(() => big.heard.status === 200);
  t.equal((await send(origins, port).end()).text, 'small');
  await sleep(50);
  t.ok(written < 32, `${written} of 64 parts were taken from the origin`);
  t.equal(big.heard.octets, 0);
  big.control.resume();
  t.equal((await big.end()).octets, 64 * 65_536);
});

t.test('frames of one octet reach the client in few pieces, also when it takes nothing for a while', async (t) => {
  const text = Array.from({ length: 20_000 }, (_, i) => String(i % 10)).join('');
  const { port } = await startRaw(t, ({ say, head }, stream) => {
    const frames = [...text].map((octet) => frame(FRAME.data, 0, stream, Buffer.from(octet)));
    say(head(stream, false, ':status', '200'), ...frames, frame(FRAME.data, FLAG.endStream, stream));
  });
  const origins = startClient(t);
  const fast = await send(origins, port).end();
  t.match(fast, { octets: text.length, text: text.slice(0, 100), error: undefined });
  t.ok(fast.pieces < 100, `${fast.pieces} pieces`);
  const { control, heard, end } = send(origins, port);
  control.pause();
  await send(origins, port).end();
  t.equal(heard.octets, 0);
  control.resume();
  await end();
  t.match(heard, { octets: text.length, text: text.slice(0, 100), error: undefined });
  t.ok(heard.pieces < 100, `${heard.pieces} pieces`);
});

t.test('an origin without HTTP/2 is asked otherwise', async (t) => {
  const server = createHttpsServer({ cert, key });
  const port = await listen(t, server);
  const origins = startClient(t);
  t.equal((await send(origins, port).end()).status, 505);
  t.equal((await send(origins, port).end()).status, 505, 'known now');
  t.equal((await send(origins, port, {}, true).end()).status, 505);
});

t.test('no connection', async (t) => {
  const server = createTlsServer({ cert, key }, () => {});
  const port = await listen(t, server);
  server.close();
  await once(server, 'close');
  const origins = startClient(t);
  t.equal((await send(origins, port).end()).error?.code, 'ECONNREFUSED');
  const place = { key: 'a', address: '127.0.0.1', port, tls: { servername: 'origin.test', rejectUnauthorized: true } };
  t.doesNotThrow(() =>
    origins.send(
      place,
      { method: 'GET', target: '/', headers: [], more: [], body: undefined },
      false,
      new Heard(),
      () => {
        throw new Error('not asked');
      },
    ),
  );
});

t.test('streams that the origin refuses may be sent again, others not', async (t) => {
  const { port } = await startRaw(t, ({ say, head }, stream, fields) => {
    const path = fields[fields.indexOf(':path') + 1];
    if (path === '/refused') say(frame(FRAME.reset, 0, stream, number(CODE.refusedStream)));
    if (path === '/reset') say(frame(FRAME.reset, 0, stream, number(CODE.internal)));
    if (path === '/away') say(frame(FRAME.goAway, 0, 0, number(stream - 2), number(0)));
    if (path === '/half')
      say(head(stream, false, ':status', '200'), frame(FRAME.reset, 0, stream, number(CODE.cancel)));
    if (path === '/closed') say(head(stream, true, ':status', '200'), frame(FRAME.reset, 0, stream, number(CODE.none)));
  });
  const origins = startClient(t);
  t.equal((await send(origins, port, { target: '/refused' }).end()).error?.code, 'ORIGIN_CLOSED');
  t.equal((await send(origins, port, { target: '/reset' }).end()).error?.code, undefined);
  t.match(await send(origins, port, { target: '/half' }).end(), { status: 200, trailers: undefined });
  t.match(await send(origins, port, { target: '/closed' }).end(), { status: 200, error: undefined });
  t.equal((await send(origins, port, { target: '/away' }).end()).error?.code, 'ORIGIN_CLOSED');
  t.match(await send(origins, port, { target: '/closed' }).end(), { status: 200 }, 'over another connection');
});

t.test('responses that are malformed end their stream only', async (t) => {
  const { port, opened } = await startRaw(t, ({ say, head }, stream, fields) => {
    const path = fields[fields.indexOf(':path') + 1]!;
    const ok = head(stream, false, ':status', '200');
    const data = (text: string, flags = 0): Buffer => frame(FRAME.data, flags, stream, Buffer.from(text));
    const answers: Record<string, Buffer[]> = {
      '/ok': [head(stream, false, ':status', '200', 'x-high', '\u00e9'), data('ok', FLAG.endStream)],
      '/099': [head(stream, true, ':status', '099')],
      '/000': [head(stream, true, ':status', '000')],
      '/words': [head(stream, true, ':status', '20')],
      '/no-status': [head(stream, true, 'x-a', 'b')],
      '/two': [head(stream, true, ':status', '200', ':status', '200')],
      '/pseudo': [head(stream, true, ':status', '200', ':path', '/')],
      '/upper': [head(stream, true, ':status', '200', 'X-A', 'b')],
      '/nul': [head(stream, true, ':status', '200', 'x-a', 'b\0c')],
      '/line': [head(stream, true, ':status', '200', 'x-a', 'b\r\nx: y')],
      '/space': [head(stream, true, ':status', '200', 'x-a', ' b')],
      '/connection': [head(stream, true, ':status', '200', 'transfer-encoding', 'chunked')],
      '/101': [head(stream, false, ':status', '101')],
      '/last-hint': [head(stream, true, ':status', '103')],
      '/hints': Array.from({ length: 70 }, () => head(stream, false, ':status', '103')),
      '/data-first': [data('x'), ok],
      '/short': [head(stream, false, ':status', '200', 'content-length', '5'), data('abc', FLAG.endStream)],
      '/long': [head(stream, false, ':status', '200', 'content-length', '2'), data('abc', FLAG.endStream)],
      '/lengths': [head(stream, true, ':status', '200', 'content-length', '2', 'content-length', '3')],
      '/trailers': [ok, head(stream, false, 'x-a', 'b')],
      '/status-after': [ok, head(stream, true, ':status', '200')],
      '/huge': [
        frame(FRAME.headers, 0, stream, writeBlock([':status', '200', 'x-a', 'b'.repeat(16_000)], false)),
        frame(FRAME.continuation, 0, stream, writeBlock(['x-b', 'b'.repeat(16_000)], false)),
        frame(
          FRAME.continuation,
          FLAG.endHeaders | FLAG.endStream,
          stream,
          writeBlock(['x-c', 'b'.repeat(16_000)], false),
        ),
      ],
      '/many': [head(stream, true, ':status', '200', ...Array.from({ length: 250 }, () => ['a', 'b']).flat())],
    };
    say(...answers[path]!);
  });
  const origins = startClient(t);
  for (const path of [
    ...['/099', '/000', '/words', '/no-status', '/two', '/pseudo', '/upper', '/nul', '/line', '/space', '/connection'],
    ...['/101', '/last-hint', '/hints', '/data-first', '/short', '/long', '/lengths', '/trailers', '/status-after'],
    ...['/huge', '/many'],
  ]) {
    const { error } = await send(origins, port, { target: path }).end();
    t.match(error?.message, /malformed/, path);
    t.match(await send(origins, port, { target: '/ok' }).end(), { status: 200, text: 'ok', error: undefined });
  }
  t.equal(opened.length, 1, 'all over one connection');
});

t.test('what breaks the protocol, or never ends, closes the connection and says so', async (t) => {
  const many = (count: number, octets: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => octets));
  const block = writeBlock([':status', '200'], false);
  const cases: Record<string, [code: number, octets: (stream: number) => Buffer]> = {
    SETTINGS: [CODE.enhanceYourCalm, () => many(3000, settings([]))],
    PING: [CODE.enhanceYourCalm, () => many(3000, frame(FRAME.ping, 0, 0, Buffer.alloc(8)))],
    'empty DATA': [
      CODE.enhanceYourCalm,
      (stream) => Buffer.concat([frame(FRAME.headers, 4, stream, block), many(3000, frame(FRAME.data, 0, stream))]),
    ],
    PRIORITY: [CODE.enhanceYourCalm, (stream) => many(3000, frame(FRAME.priority, 0, stream, Buffer.alloc(5)))],
    WINDOW_UPDATE: [CODE.enhanceYourCalm, (stream) => many(3000, frame(FRAME.windowUpdate, 0, stream, number(1)))],
    'unknown frames': [CODE.enhanceYourCalm, () => many(3000, frame(99, 0, 0))],
    CONTINUATION: [
      CODE.enhanceYourCalm,
      (stream) =>
        Buffer.concat([frame(FRAME.headers, 0, stream, block), many(3000, frame(FRAME.continuation, 0, stream))]),
    ],
    'a large frame': [CODE.frameSize, (stream) => frame(FRAME.data, 0, stream, Buffer.alloc(20_000))],
    'a push': [CODE.protocol, (stream) => frame(FRAME.pushPromise, 4, stream, number(2), block)],
    'an interrupted block': [
      CODE.protocol,
      (stream) => Buffer.concat([frame(FRAME.headers, 0, stream, block), frame(FRAME.ping, 0, 0, Buffer.alloc(8))]),
    ],
    'a stream that never was': [CODE.protocol, () => frame(FRAME.data, 0, 99, Buffer.from('x'))],
    'a stream of its own': [CODE.protocol, () => frame(FRAME.headers, 5, 2, block)],
    'padding longer than its frame': [CODE.protocol, (stream) => frame(FRAME.data, 8, stream, Buffer.of(9, 1))],
    'a window of nothing': [CODE.protocol, (stream) => frame(FRAME.windowUpdate, 0, stream, number(0))],
    'a window too large': [CODE.flowControl, () => frame(FRAME.windowUpdate, 0, 0, number(2 ** 31 - 1))],
    'a first window too large': [CODE.flowControl, () => settings([[SETTING.initialWindow, 2 ** 31]])],
    'a block that cannot be read': [CODE.compression, (stream) => frame(FRAME.headers, 5, stream, Buffer.of(0x80))],
    'more than the window': [
      CODE.flowControl,
      (stream) =>
        Buffer.concat([
          frame(FRAME.headers, 4, stream, block),
          many(17, frame(FRAME.data, 0, stream, Buffer.alloc(16_384))),
        ]),
    ],
  };
  for (const [what, [code, octets]] of Object.entries(cases)) {
    const { port, opened } = await startRaw(t, ({ say }, stream) => say(octets(stream)));
    const { end, control } = send(startClient(t), port);
    if (what === 'more than the window') control.pause();
    const { error } = await end();
    t.match(error?.message, /breaks HTTP\/2/, what);
    await until(() => opened[0]!.frames.some(({ type }) => type === FRAME.goAway), `${what}: it is told`);
    t.equal(opened[0]!.frames.find(({ type }) => type === FRAME.goAway)!.payload.readUInt32BE(4), code, what);
  }
});

t.test('silence, garbage, and ends at every moment', async (t) => {
  const cases: Record<string, (origin: RawOrigin) => void> = {
    'no settings': () => {},
    'garbage first': ({ say }) => say(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')),
    'an end': ({ socket }) => socket.end(),
    'a reset': ({ socket }) => socket.destroy(),
  };
  for (const [what, onOpen] of Object.entries(cases)) {
    const { port } = await startRaw(t, () => {}, onOpen);
    const { error } = await send(startClient(t, { waitMs: 300 }), port).end();
    t.ok(error, `${what}: ${error?.message}`);
  }
  const pieces = [1, 5, 9, 12, 20];
  const { port } = await startRaw(t, ({ say, head, socket }, stream) => {
    const octets = Buffer.concat([
      head(stream, false, ':status', '200'),
      frame(FRAME.data, 0, stream, Buffer.from('x')),
    ]);
    say(octets.subarray(0, pieces.shift()));
    setTimeout(() => socket.destroy(), 5);
  });
  const origins = startClient(t);
  // A reset where the origin had not read all that was sent.
  while (pieces.length > 0) t.match((await send(origins, port).end()).error?.code, /^(ORIGIN_CLOSED|ECONNRESET)$/);
});
