/** Plain requests: read without Node's parser, but as it reads them, and answered with the same octets. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { createLogger } from '../../src/base/log.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { FieldsOfClient, HeadReader } from '../../src/plain/request-head.js';
import { type EdgeWorld, exchange, proxy, startEdgeWorld, startOrigin } from './fixture.js';

const HOST = 'Host: www.example.org\r\n';

/** Without what differs from one answer to the next. */
function withoutTimes(answer: string): string {
  return answer
    .replace(/(\ndate|\nlast-modified): [^\r]*/gi, '$1: …')
    .replace(/cf-ray: [0-9a-f]{16}/g, 'cf-ray: …')
    .replace(/ray":"[0-9a-f]{16}/g, 'ray":"…')
    .replace(/age: \d+/g, 'age: …')
    .replace(/ttl=-?\d+/g, 'ttl=…');
}

const handedOver = ({ edge }: EdgeWorld): number =>
  edge.samples().find(({ name }) => name === 'edge_handed_over_total')!.value;

async function startStory(t: Parameters<typeof startEdgeWorld>[0], more: Parameters<typeof startEdgeWorld>[1] = {}) {
  const origin = await startOrigin(t, (request, response) => {
    const { url = '' } = request;
    if (url.startsWith('/stored')) response.setHeader('Cache-Control', 'public, max-age=600');
    response.setHeader('Content-Type', 'text/plain');
    response.setHeader('ETag', '"one"');
    if (url === '/empty') response.writeHead(204).end();
    else if (url === '/not-modified') response.writeHead(304).end();
    else if (url === '/teapot') response.writeHead(418, { 'X-Octet': '\xe9' }).end('short and stout');
    else if (url === '/chunked') {
      response.setHeader('Trailer', 'x-sum');
      response.write('one ');
      response.addTrailers({ 'x-sum': '3' });
      response.end('two');
    } else if (url === '/large') response.end('l'.repeat(300_000));
    else if (url === '/none') response.writeHead(200, { 'content-length': 0 }).end();
    else if (request.headers['content-length'] !== undefined) {
      request.once('data', (piece) => response.end(`taken: ${piece}`));
    } else response.end(`body of ${url}`);
  });
  const world = await startEdgeWorld(t, more);
  const zone = await world.zone('example.org', origin.port);
  await editZoneSetting(world.ctx, zone, 'ssl', 'flexible');
  const security = { strict_transport_security: { enabled: true, max_age: 60, nosniff: true } };
  await editZoneSetting(world.ctx, zone, 'security_header', security);
  await proxy(world.ctx, zone, 'down', 'origin.example.org', 1);
  await world.heard();
  return { world, origin, zone };
}

/** Sends each piece in a packet of its own, and gives all that comes back. */
async function inPieces(socket: Socket, pieces: readonly string[]): Promise<string> {
  const heard = exchange(socket, pieces[0]!);
  for (const piece of pieces.slice(1)) {
    await sleep(2);
    if (socket.writable) socket.write(Buffer.from(piece, 'latin1'));
  }
  return heard;
}

const LAST = `GET /stored/last HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`;

const TABLE: Readonly<Record<string, string>> = {
  'from the cache': `GET /stored/a HTTP/1.1\r\n${HOST}\r\n`,
  'HEAD from the cache': `HEAD /stored/a HTTP/1.1\r\n${HOST}\r\n`,
  'a range': `GET /stored/a HTTP/1.1\r\n${HOST}Range: bytes=2-4\r\n\r\n`,
  'a range beyond the end': `GET /stored/a HTTP/1.1\r\n${HOST}Range: bytes=200-400\r\n\r\n`,
  'a condition': `GET /stored/a HTTP/1.1\r\n${HOST}If-None-Match: "one"\r\n\r\n`,
  'not a candidate': `GET /page HTTP/1.1\r\n${HOST}Accept: */*\r\n\r\n`,
  'HEAD of the origin': `HEAD /page HTTP/1.1\r\n${HOST}\r\n`,
  'no content': `GET /empty HTTP/1.1\r\n${HOST}\r\n`,
  'not modified by the origin': `GET /not-modified HTTP/1.1\r\n${HOST}\r\n`,
  'an octet above 127': `GET /teapot HTTP/1.1\r\n${HOST}\r\n`,
  'chunks and a trailer': `GET /chunked HTTP/1.1\r\n${HOST}TE: trailers\r\n\r\n`,
  'a long body': `GET /large HTTP/1.1\r\n${HOST}\r\n`,
  'an empty body': `GET /none HTTP/1.1\r\n${HOST}\r\n`,
  'keep-alive': `GET /stored/a HTTP/1.1\r\n${HOST}Connection: Keep-Alive\r\n\r\n`,
  'a host in upper case': 'GET /stored/a HTTP/1.1\r\nHOST:\twww.EXAMPLE.org.\t\r\n\r\n',
  'a host that is unknown': 'GET / HTTP/1.1\r\nHost: unknown.example.net\r\n\r\n',
  'an origin that is down': 'GET / HTTP/1.1\r\nHost: down.example.org\r\nAccept: application/json\r\n\r\n',
  'a loop': `GET / HTTP/1.1\r\n${HOST}CDN-Loop: other\r\n\r\n`,
};

t.test('both ways answer with the same octets', async (t) => {
  const { world } = await startStory(t);
  const sockets = {
    plain: async () => connect(world.httpPort, '127.0.0.1'),
    TLS: () => world.tls('www.example.org', { ALPNProtocols: ['http/1.1'] }),
  };
  for (const [kind, open] of Object.entries(sockets)) {
    // The final dot of a host tells stored responses apart.
    await exchange(await open(), TABLE['from the cache']! + TABLE['a host in upper case'] + LAST);
    for (const [what, request] of Object.entries(TABLE)) {
      const before = handedOver(world);
      const own = await exchange(await open(), request + LAST);
      t.equal(handedOver(world), before, `${what}, ${kind}: read here`);
      const socket = await open();
      const nodes = exchange(socket, request.slice(0, 1));
      while (handedOver(world) === before) await sleep(1);
      socket.write(request.slice(1) + LAST);
      t.equal(withoutTimes(own), withoutTimes(await nodes), `${what}, ${kind}`);
      t.match(own, /body of \/stored\/last$/, 'the connection goes on to the last request');
    }
  }
  const secured = await exchange(await sockets.TLS(), TABLE['from the cache']! + LAST);
  t.match(secured, /strict-transport-security: max-age=60\r\nx-content-type-options: nosniff\r\n/);
  const other = await exchange(
    await sockets.TLS(),
    'GET / HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n',
  );
  t.match(other, /^HTTP\/1\.1 421 /);
});

t.test('what is not plain goes to the parser of Node, in its place', async (t) => {
  const { world } = await startStory(t);
  const first = TABLE['from the cache']!;
  const others: readonly [what: string, request: string, answer: RegExp][] = [
    ['a body', `POST / HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\nhi`, /^HTTP\/1\.1 200[\s\S]*taken: hi/],
    ['a body of GET', `GET /x HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\nhi`, /^HTTP\/1\.1 200[\s\S]*taken: hi/],
    ['HTTP/1.0', `GET /x HTTP/1.0\r\n${HOST}\r\n`, /^HTTP\/1\.1 200[\s\S]*close/],
    ['another method', `OPTIONS /x HTTP/1.1\r\n${HOST}\r\n`, /^HTTP\/1\.1 200/],
    ['two hosts', `GET /x HTTP/1.1\r\n${HOST}${HOST}\r\n`, /^HTTP\/1\.1 400/],
    ['no host', 'GET /x HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400/],
    ['an absolute form', `GET http://www.example.org/x HTTP/1.1\r\n${HOST}\r\n`, /^HTTP\/1\.1 200/],
    ['an expectation', `GET /x HTTP/1.1\r\n${HOST}Expect: 100-continue\r\n\r\n`, /^HTTP\/1\.1 200/],
    [
      'an expectation with a body',
      `POST /x HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi`,
      /^HTTP\/1\.1 200[\s\S]*taken: hi/,
    ],
    ['a folded line', `GET /x HTTP/1.1\r\n${HOST}X: 1\r\n 2\r\n\r\n`, /^HTTP\/1\.1 400/],
    ['a bare LF', `GET /x HTTP/1.1\n${HOST}\r\n`, /^HTTP\/1\.1 400/],
    [
      'both lengths',
      `GET / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      /^HTTP\/1\.1 400/,
    ],
    ['named by Connection', `GET /x HTTP/1.1\r\n${HOST}Connection: x-a\r\nX-A: 1\r\n\r\n`, /^HTTP\/1\.1 200/],
    ['too long', `GET /x HTTP/1.1\r\n${HOST}X: ${'x'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1\.1 431/],
  ];
  for (const [what, request, answer] of others) {
    const before = handedOver(world);
    const all = await exchange(
      connect(world.httpPort, '127.0.0.1'),
      first + request + (what === 'HTTP/1.0' ? '' : LAST),
    );
    t.equal(handedOver(world), before + 1, what);
    const [, body = ''] = all.split('body of /stored/a');
    t.match(body, answer, `${what}: the second answer`);
  }
});

const token = fc.constantFrom(
  'x-a',
  'X_b',
  "!#$%&'*+.^`|~",
  'accept',
  'x\x80',
  'x y',
  '',
  'x(',
  'cookie',
  'Connection',
);
const value = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', ' ', '\t', ',', '"', ':'), maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('a', ' ', '\t', ',', '"', '\x00', '\x7f', '\xe9', '\r', '\n', ':'), maxLength: 8 }),
  fc.constantFrom('close', 'keep-alive', 'x-a', 'chunked', '5'),
);
const separator = fc.oneof(
  { weight: 15, arbitrary: fc.constantFrom(': ', ':', ':\t') },
  fc.constantFrom(' : ', ' ', ''),
);
const lineEnd = fc.oneof({ weight: 60, arbitrary: fc.constant('\r\n') }, fc.constantFrom('\n', '\r', '\r\n ', ''));
const field = fc.tuple(token, separator, value, lineEnd).map((parts) => parts.join(''));
const special = fc.constantFrom('Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Upgrade: h2c\r\n', HOST);
/** Mostly the first of the values. */
const often = (usual: string, ...others: string[]) =>
  fc.oneof({ weight: 15, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));
const start = fc
  .tuple(
    often('GET', 'HEAD', 'HEAD', 'get', 'POST', ' GET'),
    often(' ', '  ', '\t'),
    often('/a?b=c', '/a"<>\\^`{|}', '/', '/a#b', '/\x7f', '/\xe9', 'http://www.example.org/', '*', '/a b'),
    often(' HTTP/1.1', ' HTTP/1.0', ' HTTP/1.2', ''),
    lineEnd,
  )
  .map((parts) => parts.join(''));
const head = fc
  .tuple(start, fc.array(fc.oneof({ weight: 15, arbitrary: field }, special), { maxLength: 4 }), lineEnd)
  .map(([first, fields, last]) => `${first}${HOST}${fields.join('')}${last}`);

/** What Node's parser makes of a request; undefined if it refuses, or wants more. */
async function readByNode(text: string): Promise<unknown> {
  const server = createServer({ requireHostHeader: false });
  const [near, far] = duplexPair();
  const read = new Promise((resolve) => {
    server.on('request', ({ method, url, httpVersion, rawHeaders }, response) => {
      resolve({ method, url, httpVersion, rawHeaders: rawHeaders.map((one, i) => (i % 2 ? one : one.toLowerCase())) });
      response.end();
    });
    server.on('clientError', () => resolve(undefined));
    server.on('upgrade', () => resolve('upgrade'));
    far.on('end', () => resolve(undefined));
  });
  server.emit('connection', near);
  far.on('error', () => {});
  far.resume();
  far.end(Buffer.from(text, 'latin1'));
  const result = await read;
  near.destroy();
  far.destroy();
  server.close();
  return result;
}

t.test('what is accepted here, Node reads in the same way', async (t) => {
  let accepted = 0;
  const reader = new HeadReader();
  await fc.assert(
    fc.asyncProperty(head, async (text) => {
      const octets = Buffer.from(text, 'latin1');
      const plain = new HeadReader().read(octets, 0);
      // What a connection has sent before changes nothing, were it the same.
      for (const before of ['others', 'the same']) t.strictSame(reader.read(octets, 0), plain, before);
      if (!plain) return;
      accepted += 1;
      for (const name of ['content-length', 'transfer-encoding', 'upgrade']) t.notOk(plain.rawHeaders.includes(name));
      const { method, url, httpVersion, rawHeaders, length } = plain;
      t.strictSame(
        { method, url, httpVersion, rawHeaders },
        await readByNode(text.slice(0, length)),
        JSON.stringify(text),
      );
      for (let end = 0; end < length; end++) {
        if (new HeadReader().read(octets.subarray(0, end), 0)) throw new Error(`its first ${end} octets suffice`);
      }
      const shifted = new HeadReader().read(Buffer.concat([Buffer.from('x\r\n\r\n'), octets]), 5);
      t.strictSame(shifted, plain);
    }),
    { numRuns: 3000, seed: 13 },
  );
  t.ok(accepted > 200, `${accepted} were plain`);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (octets) => {
      new HeadReader().read(Buffer.concat([Buffer.from('GET / HTTP/1.1\r\n'), octets, Buffer.from('\r\n\r\n')]), 0);
    }),
    { seed: 13 },
  );
});

t.test('the fields of a head that comes again are the same list, until they are forgotten', async (t) => {
  const reader = new HeadReader();
  const read = (text: string) => reader.read(Buffer.from(text, 'latin1'), 0)!.rawHeaders;
  const once = read('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
  t.notOk(Object.isFrozen(once), 'nothing is kept with what comes once');
  t.equal(read('GET /b HTTP/1.1\r\nHost: a\r\n\r\nGET'), once);
  t.ok(Object.isFrozen(once));
  t.strictSame(read('GET /b HTTP/1.1\r\nHost: b\r\n\r\n'), ['host', 'b']);
  const long = `GET / HTTP/1.1\r\nHost: a\r\nx: ${'x'.repeat(4000)}\r\n\r\n`;
  t.not(read(long), read(long), 'long ones are not kept');
  const again = read('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
  reader.forget();
  t.not(read('GET /a HTTP/1.1\r\nHost: a\r\n\r\n'), again);
});

t.test('so they are over another connection of the client, and only the last ones', async (t) => {
  const client = new FieldsOfClient();
  const read = (reader: HeadReader, text: string) => reader.read(Buffer.from(text, 'latin1'), 0)!.rawHeaders;
  const first = read(new HeadReader(client), 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
  t.notOk(Object.isFrozen(first));
  const second = new HeadReader(client);
  t.equal(read(second, 'GET /b HTTP/1.1\r\nHost: a\r\n\r\n'), first);
  t.ok(Object.isFrozen(first));
  t.strictSame(read(second, 'GET /b HTTP/1.1\r\nHost: ab\r\n\r\n'), ['host', 'ab']);
  t.strictSame(read(new HeadReader(client), 'GET / HTTP/1.1\r\nHost: a\r\nx: y\r\n\r\n'), ['host', 'a', 'x', 'y']);
  second.forget();
  t.strictSame(read(second, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'), ['host', 'a']);
  t.not(read(new HeadReader(new FieldsOfClient()), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'), first, 'nor those of others');
});

t.test('however octets are split into packets, the answers are the same', async (t) => {
  const { world } = await startStory(t);
  const names = ['from the cache', 'not a candidate', 'HEAD from the cache', 'chunks and a trailer', 'a condition'];
  const post = `POST /p HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`;
  await exchange(connect(world.httpPort, '127.0.0.1'), TABLE['from the cache']! + LAST);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...names.map((name) => TABLE[name]!), post), { minLength: 1, maxLength: 5 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
      async (requests, cuts) => {
        const text = requests.join('') + LAST;
        const at = [0, ...cuts.map((cut) => Math.floor(cut * text.length)).sort((a, b) => a - b), text.length];
        const pieces = at
          .slice(1)
          .map((end, i) => text.slice(at[i], end))
          .filter(Boolean);
        const whole = await exchange(connect(world.httpPort, '127.0.0.1'), text);
        const split = await inPieces(connect(world.httpPort, '127.0.0.1'), pieces);
        t.equal(withoutTimes(split), withoutTimes(whole), JSON.stringify(pieces));
        t.match(whole, /body of \/stored\/last$/);
      },
    ),
    { numRuns: 40, seed: 13 },
  );
});

t.test('connections end in time', async (t) => {
  const limits = { headersTimeoutMs: 300, requestTimeoutMs: 300, keepAliveMs: 100 };
  const { world } = await startStory(t, { limits });
  const silent = await exchange(connect(world.httpPort, '127.0.0.1'), '');
  t.match(silent, /^HTTP\/1\.1 408 /, 'a connection without a request');
  const slow = await inPieces(connect(world.httpPort, '127.0.0.1'), ['GET /stored/a HTTP/1.1\r\n', 'Host: www']);
  t.match(slow, /^HTTP\/1\.1 408 /, 'a head that never ends');
  const idle = await exchange(connect(world.httpPort, '127.0.0.1'), TABLE['from the cache']!);
  t.match(idle, /Keep-Alive: timeout=0\r\n[\s\S]*body of \/stored\/a$/, 'after an answer');
});

t.test('a client that reads nothing is answered only as far as it reads', async (t) => {
  let answered = 0;
  const log = createLogger({ level: 'info', pretty: false, destination: { write: () => void answered++ } });
  const { world } = await startStory(t, { log, logEvery: 1 });
  const socket = connect(world.httpPort, '127.0.0.1');
  socket.pause();
  const count = 300;
  socket.write(`GET /large HTTP/1.1\r\n${HOST}\r\n`.repeat(count));
  let before = -1;
  while (answered !== before || answered === 0) {
    before = answered;
    await sleep(300);
  }
  t.ok(answered < count / 2, `${answered} of ${count}`);
  let octets = 0;
  socket.on('data', (piece) => (octets += piece.length));
  socket.resume();
  while (octets < count * 300_000) await sleep(5);
  t.pass('the others follow');
  socket.destroy();
});

t.test('a client that leaves ends the request to the origin', async (t) => {
  const { world, origin } = await startStory(t);
  const gone = new Promise<void>((resolve) => {
    origin.server.removeAllListeners('request');
    origin.server.on('request', (request, response) => {
      response.write('begun');
      request.once('close', resolve);
    });
  });
  const socket = connect(world.httpPort, '127.0.0.1');
  socket.write(`GET /page HTTP/1.1\r\n${HOST}\r\n`);
  await once(socket, 'data');
  socket.resetAndDestroy();
  await gone;
});
