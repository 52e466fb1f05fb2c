/** Floods of frames over HTTP/2, and clients that do not end their connections when they are told to. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { CODE, FRAME, FrameReader, frame, number, PREFACE, SETTING, settings } from '../../src/edge/http2/frames.js';
import { writeBlock } from '../../src/edge/http2/hpack.js';
import { firstThat, until } from '../support/until.js';
import { type EdgeWorld, startEdgeWorld, startOrigin } from './fixture.js';

/** Sends frames until the connection ends; resolves with the codes of GOAWAY. */
async function flood(t: Test, world: EdgeWorld, first: Buffer, again: Buffer, most = 40_000): Promise<number[]> {
  const socket = await world.tls('www.example.org', { ALPNProtocols: ['h2'] });
  t.teardown(() => socket.destroy());
  const codes: number[] = [];
  const reader = new FrameReader(({ type, payload }) => {
    if (type === FRAME.goAway) codes.push(payload.readUInt32BE(4));
  });
  let isOver = false;
  socket.on('data', (octets: Buffer) => reader.feed(octets));
  socket.on('error', () => {});
  socket.once('close', () => (isOver = true));
  socket.write(Buffer.concat([PREFACE, settings([]), first]));
  const many = Buffer.concat(Array.from({ length: 100 }, () => again));
  for (let sent = 0; sent < most && !isOver; sent += 100) {
    socket.write(many);
    await new Promise(setImmediate);
  }
  await until(() => isOver, 'the end of the connection');
  return codes;
}

const REQUEST = writeBlock(
  [':method', 'POST', ':scheme', 'https', ':authority', 'www.example.org', ':path', '/'],
  true,
);

/** nghttp2 counts the others. */
const OURS: ReadonlySet<string> = new Set(['SETTINGS', 'PING', 'padding alone', 'WINDOW_UPDATE']);

t.test('frames without a purpose end their connection', async (t) => {
  const origin = await startOrigin(t, () => {});
  const world = await startEdgeWorld(t, { floodPenaltyMs: 0 });
  await world.zone('example.org', origin.port);
  const open = frame(FRAME.headers, 4, 1, REQUEST);
  for (const [what, first, again] of [
    ['SETTINGS', open, settings([[SETTING.initialWindow, 65_535]])],
    ['empty SETTINGS', open, settings([])],
    ['PING', open, frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
    ['empty DATA', open, frame(FRAME.data, 0, 1)],
    ['padding alone', open, frame(FRAME.data, 8, 1, Buffer.from([5, 0, 0, 0, 0, 0]))],
    ['PRIORITY', open, frame(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 0, 5]))],
    ['PRIORITY on stream 0', open, frame(FRAME.priority, 0, 0, Buffer.from([0, 0, 0, 0, 5]))],
    ['a smaller identifier', frame(FRAME.headers, 4, 5, REQUEST), frame(FRAME.headers, 5, 3, REQUEST)],
    ['WINDOW_UPDATE', open, frame(FRAME.windowUpdate, 0, 0, number(1))],
    ['unknown frames', open, frame(77, 0, 0)],
    ['CONTINUATION', frame(FRAME.headers, 0, 1, REQUEST), frame(FRAME.continuation, 0, 1)],
  ] as const) {
    const codes = await flood(t, world, first, again);
    t.comment(`${what}: ${codes.join()}`);
    // One that still sends when its connection ends may not hear why.
    if (OURS.has(what))
      t.ok(
        codes.every((code) => code === CODE.enhanceYourCalm),
        what,
      );
  }
});

t.test('uploads and downloads are not floods', async (t) => {
  const size = 2 << 20;
  const origin = await startOrigin(t, (request, response) => {
    request.resume();
    request.on('end', () => response.end(Buffer.alloc(size, 'x')));
  });
  const world = await startEdgeWorld(t, { bodyLimit: 2 * size });
  await editZoneSetting(world.ctx, await world.zone('example.org', origin.port), 'ssl', 'flexible');
  await world.heard();
  const { connect: connectHttp2 } = await import('node:http2');
  const session = connectHttp2(`https://127.0.0.1:${world.httpsPort}`, {
    servername: 'www.example.org',
    rejectUnauthorized: false,
  });
  t.teardown(() => session.destroy());
  const fields = { ':authority': 'www.example.org', ':method': 'POST', ':path': '/' };
  for (let i = 0; i < 3; i++) {
    const stream = session.request(fields);
    stream.end(Buffer.alloc(size, 'y'));
    let received = 0;
    stream.on('data', (piece: Buffer) => (received += piece.length));
    await once(stream, 'end');
    t.equal(stream.rstCode, 0);
    t.equal(received, size);
  }
});

t.test('a client that is told that its connection ends, and does not end it, does not keep it', async (t) => {
  const origin = await startOrigin(t, (_request, response) => response.end('no'));
  const world = await startEdgeWorld(t);
  await world.zone('example.org', origin.port);
  const open: Socket[] = [];
  t.teardown(() => {
    for (const socket of open) socket.destroy();
  });
  const count = (): number => world.edge.samples().find(({ name }) => name === 'edge_connections')!.value;
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ==\r\n\r\n';
  for (const octets of [
    'nonsense\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n',
    `GET / HTTP/1.1\r\nHost: www.example.org\r\n${upgrade}`,
    `GET / HTTP/1.1\r\nHost: nobody.example\r\n${upgrade}`,
    'GET / HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ]) {
    const before = count();
    for (let i = 0; i < 5; i++) {
      const socket = connect({ port: world.httpPort, host: '127.0.0.1', allowHalfOpen: true });
      open.push(socket);
      socket.on('error', () => {});
      socket.write(octets);
      socket.resume();
    }
    await Promise.all(open.map((socket) => socket.readableEnded || once(socket, 'end')));
    await firstThat(count, (connections) => connections <= before, { what: octets, limitMs: 60_000 });
  }
  t.equal(count(), 0);
});
