/** Small PUTs in front of Node's HTTP server: which ones, where they end, and what slow, broken and closing connections do. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { answerPlainFirst } from '../../src/plain/in-front.js';
import { HeadReader } from '../../src/plain/request-head.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';

const put = (body: string, more = ''): string =>
  `PUT /k HTTP/1.1\r\nHost: a\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
const GET = 'GET /g HTTP/1.1\r\nHost: a\r\n\r\n';

async function start(t: Test) {
  const clock = new TestClock();
  const faults: unknown[] = [];
  const release: (() => void)[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    try {
      for await (const piece of request) body += piece;
    } catch {
      return;
    }
    response.end(`node ${request.method} ${body}.`);
  });
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => sockets.push(socket));
  const closeIdle = answerPlainFirst(server, {
    clock,
    answer({ url }, response) {
      response.send(200, 'content-length: 6\r\n', Buffer.from(`at ${url}.`));
      return true;
    },
    store({ url, body }, response) {
      if (url === '/refused') return undefined;
      if (url === '/early') throw new Error('a refusal');
      const text = `stored ${body}.`;
      return (async () => {
        if (url === '/late') await new Promise<void>((resolve) => release.push(resolve));
        if (url === '/fault') throw new Error('a fault');
        response.send(200, `content-length: ${text.length}\r\n`, Buffer.from(text));
      })();
    },
    onFault: (error) => faults.push((error as Error).message),
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => socket.end(`HTTP/1.1 400 ${code}\r\n\r\n`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const open = async (): Promise<{ socket: Socket; text: () => string; bodies: () => string[] }> => {
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
    let text = '';
    socket.on('data', (piece) => (text += piece.toString('latin1')));
    socket.on('error', () => {});
    await once(socket, 'connect');
    t.teardown(() => socket.destroy());
    const bodies = () => [...text.matchAll(/(?:at|stored|node) [^.]*(?=\.)/g)].map(([found]) => found);
    return { socket, text: () => text, bodies };
  };
  return { clock, faults, release, open, closeIdle, sockets };
}

t.test('a body ends where its length says, and the next request begins there', async (t) => {
  const { open } = await start(t);
  const { socket, bodies } = await open();
  socket.write(put('') + put('GET / HTTP/1.1\r\n') + GET + put('b', 'Connection: keep-alive\r\n') + GET);
  await until(() => bodies().length === 5);
  t.strictSame(bodies(), ['stored ', 'stored GET / HTTP/1', 'at /g', 'stored b', 'at /g']);
});

t.test('what is not certain goes to Node, with all that follows', async (t) => {
  const { open, faults } = await start(t);
  const unusual = [
    put('abc').replace('Content-Length: 3', 'Content-Length: 03'),
    put('abc').replace('Content-Length: 3', 'Content-Length: 3 '),
    put('abc', 'Trailer: a\r\n'),
    'PUT /k HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    'PUT /k HTTP/1.1\r\nHost: a\r\n\r\n',
    put('abc').replace('PUT', 'POST'),
    put('abc').replace('/k', '/refused'),
    put('abc').replace('/k', '/early'),
    put('x'.repeat(16_385)),
  ];
  for (const [index, request] of unusual.entries()) {
    const { socket, bodies } = await open();
    socket.write(request + GET);
    await until(() => bodies().length === 2);
    const trimmed = index === 1;
    t.match(bodies(), trimmed ? [/^stored/, /^at/] : [/^node/, /^node/], request.slice(0, 90));
  }
  for (const request of [
    put('abc', 'Content-Length: 3\r\n'),
    put('abc', 'Content-Length: 4\r\n'),
    put('abc', 'Transfer-Encoding: chunked\r\n'),
    put('abc').replace('Content-Length: 3', 'Content-Length: +3'),
    put('abc').replace('Content-Length: 3', 'Content-Length: 3, 3'),
    put('abc').replace('Content-Length:', 'Content-Length :'),
  ]) {
    const { socket, text } = await open();
    socket.write(request + GET);
    await until(() => text().includes('400 HPE'));
    t.notMatch(text(), /stored|at \/g/, request.slice(0, 90));
  }
  t.strictSame(faults, []);
});

t.test('what is accepted here, Node reads in the same way, and no beginning of it is enough', async (t) => {
  const server = createServer();
  const accepted: Buffer[] = [];
  const read = new Promise<string[][]>((resolve) => {
    const all: string[][] = [];
    let begun = 0;
    let ended = 0;
    server.on('request', async (request, response) => {
      const index = begun++;
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const names = request.rawHeaders.map((one, i) => (i % 2 ? one : one.toLowerCase()));
      all[index] = [request.url!, Buffer.concat(pieces).toString('latin1'), ...names];
      response.end();
      if (++ended === accepted.length) resolve(all);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const line = fc.constantFrom(
    'X: y',
    'x-amz-date:\t1 ',
    'Connection: Keep-Alive',
    'Content-Length: 1',
    'A:',
    'Expect: x',
    'B :c',
  );
  const request = fc
    .tuple(fc.constantFrom('/', '/a%20b?c=d', 'x'), fc.array(line, { maxLength: 3 }), fc.string({ maxLength: 40 }))
    .map(([target, lines, body]) => {
      const octets = Buffer.from(body);
      const fields = ['Host: a', ...lines, `Content-Length: ${octets.length}`].join('\r\n');
      return Buffer.concat([Buffer.from(`PUT ${target} HTTP/1.1\r\n${fields}\r\n\r\n`), octets]);
    });
  const expected: string[][] = [];
  const reader = new HeadReader();
  for (const octets of fc.sample(request, { numRuns: 400, seed: 38 })) {
    const plain = new HeadReader().readUpload(octets, 0);
    for (const before of ['others', 'the same']) t.strictSame(reader.readUpload(octets, 0), plain, before);
    t.equal(reader.read(octets, 0), undefined, 'it is no request without a body');
    if (!plain) continue;
    t.equal(plain.length, octets.length);
    accepted.push(octets);
    expected.push([plain.url, plain.body.toString('latin1'), ...plain.rawHeaders]);
    const some = octets.findIndex((_, end) => new HeadReader().readUpload(octets.subarray(0, end), 0) !== undefined);
    t.equal(some, -1, 'no beginning is enough');
  }
  t.ok(accepted.length > 50, `${accepted.length} were plain`);
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
  t.teardown(() => socket.destroy());
  socket.write(Buffer.concat(accepted));
  t.strictSame(await read, expected);
});

t.test('a body that comes behind its head is waited for once', async (t) => {
  const { open, clock, sockets } = await start(t);
  const [head, body] = [put('abc').slice(0, -3), 'abc'];
  const { socket, bodies } = await open();
  // An answer in between shows that the head has been read by itself.
  socket.write(GET + head);
  await until(() => bodies().length === 1);
  socket.write(body + GET);
  await until(() => bodies().length === 3);
  t.strictSame(bodies(), ['at /g', 'stored abc', 'at /g']);
  // In three pieces, or not in time: Node's server waits, by its own rules.
  const inPieces = await open();
  inPieces.socket.write(GET + head);
  await until(() => inPieces.bodies().length === 1);
  inPieces.socket.write('a');
  await until(() => sockets.at(-1)!.bytesRead === GET.length + head.length + 1);
  const late = await open();
  late.socket.write(GET + head);
  await until(() => late.bodies().length === 1);
  clock.advance(2000);
  inPieces.socket.write('bc');
  late.socket.write(body);
  await until(() => inPieces.bodies().length + late.bodies().length === 4);
  t.strictSame([inPieces.bodies()[1], late.bodies()[1]], ['node PUT abc', 'node PUT abc']);
  const broken = await open();
  broken.socket.end(`${GET}${head}a`);
  await until(() => broken.text().includes('400 HPE_INVALID_EOF_STATE'));
});

t.test('while something is stored, its connection waits, however long, and ends with the server', async (t) => {
  const { open, release, clock, closeIdle, faults } = await start(t);
  const { socket, text, bodies } = await open();
  socket.write(put('abc').replace('/k', '/late') + GET);
  await until(() => release.length === 1);
  clock.advance(300_000);
  release[0]!();
  await until(() => bodies().length === 2);
  t.strictSame(bodies(), ['stored abc', 'at /g']);
  socket.write(put('d').replace('/k', '/late'));
  await until(() => release.length === 2);
  const gone = await open();
  gone.socket.write(put('e').replace('/k', '/late'));
  await until(() => release.length === 3);
  gone.socket.destroy();
  closeIdle();
  for (const go of release.slice(1)) go();
  await once(socket, 'close');
  t.match(text(), /stored d\.$/);
  const failed = await open();
  failed.socket.write(put('f').replace('/k', '/fault'));
  await once(failed.socket, 'close');
  t.strictSame([failed.text(), faults], ['', ['a fault']]);
});
