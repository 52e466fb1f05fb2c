/** What a client may not send over HTTP/2 (RFC 9113), from outside: one connection for each fault. */
import t, { type Test } from 'tap';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { FRAME, FrameReader, frame, number, PREFACE, settings } from '../../src/edge/http2/frames.js';
import { BlockReader, writeBlock } from '../../src/edge/http2/hpack.js';
import { until } from '../support/until.js';
import { type EdgeWorld, startEdgeWorld, startOrigin } from './fixture.js';

const END = 5;
const USUAL = [':method', 'GET', ':scheme', 'https', ':authority', 'www.example.org', ':path', '/'] as const;
const request = (stream: number, fields: readonly string[], flags = END): Buffer =>
  frame(FRAME.headers, flags, stream, writeBlock([...fields], false));
const LIMITS = { listOctets: 65_536, fields: 1000 };
const PROTOCOL_ERROR = 1;
const FRAME_SIZE_ERROR = 6;

interface Outcome {
  /** By stream: a status, or `reset CODE`. */
  readonly streams: Record<number, string>;
  /** Of GOAWAY. */
  goAway: number | undefined;
  isClosed: boolean;
}

async function openConnection(t: Test, world: EdgeWorld) {
  const socket = await world.tls('www.example.org', { ALPNProtocols: ['h2'] });
  t.teardown(() => socket.destroy());
  const outcome: Outcome = { streams: {}, goAway: undefined, isClosed: false };
  const blocks = new BlockReader(LIMITS);
  const reader = new FrameReader(({ type, stream, payload }) => {
    if (type === FRAME.goAway) outcome.goAway = payload.readUInt32BE(4);
    else if (type === FRAME.reset) outcome.streams[stream] ??= `reset ${payload.readUInt32BE(0)}`;
    else if (type === FRAME.headers) outcome.streams[stream] ??= blocks.read(payload)![1]!;
  });
  socket.on('data', (octets: Buffer) => reader.feed(octets));
  socket.on('error', () => {});
  socket.once('close', () => (outcome.isClosed = true));
  socket.write(Buffer.concat([PREFACE, settings([])]));
  return { socket, outcome };
}

t.test('each fault ends its stream or its connection, and no part of it reaches an origin', async (t) => {
  const seen: string[] = [];
  const origin = await startOrigin(t, (asked, response) => {
    const made = Object.keys(asked.headers).filter((name) => name.startsWith('x-') && !name.startsWith('x-forwarded'));
    seen.push([asked.url, ...made].join(' '));
    response.end('ok');
  });
  const world = await startEdgeWorld(t);
  await editZoneSetting(world.ctx, await world.zone('example.org', origin.port), 'ssl', 'flexible');
  await world.heard();
  const next = [...USUAL.slice(0, 7), '/next'];
  /** What becomes of a fault on stream 1, and of a request behind it on stream 101. */
  const send = async (what: string, octets: Buffer) => {
    seen.length = 0;
    const { socket, outcome } = await openConnection(t, world);
    socket.write(Buffer.concat([octets, request(101, next)]));
    await until(() => outcome.isClosed || outcome.streams[101] !== undefined, what);
    socket.destroy();
    return outcome;
  };
  const reset = `reset ${PROTOCOL_ERROR}`;
  const field = (...fields: string[]): Buffer => request(1, [...USUAL, ...fields]);
  const post = [':method', 'POST', ...USUAL.slice(2), 'content-length', '5'];
  for (const [what, octets] of [
    ['upper case in a name', field('X-Upper', '1')],
    ['a line feed in a value', field('x-lf', 'a\nb')],
    ['a NUL in a value', field('x-nul', 'a\0b')],
    ['a blank at the end of a value', field('x-blank', 'a ')],
    ['a blank in a name', field('x blank', 'a')],
    ['connection', field('connection', 'close')],
    ['transfer-encoding', field('transfer-encoding', 'chunked')],
    ['te', field('te', 'gzip')],
    ['no path', request(1, USUAL.slice(0, 6))],
    ['an empty path', request(1, [...USUAL.slice(0, 7), ''])],
    ['two paths', field(':path', '/b')],
    ['an unknown pseudo-header field', field(':x', 'b')],
    ['one behind other fields', request(1, [...USUAL.slice(0, 6), 'x-a', 'b', ':path', '/'])],
    ['a wrong length', Buffer.concat([request(1, post, 4), frame(FRAME.data, 1, 1, Buffer.from('123'))])],
  ] as const) {
    const { streams, isClosed } = await send(what, octets);
    t.strictSame([streams, isClosed], [{ 1: reset, 101: '200' }, false], what);
    t.notOk(seen.includes('/'), `${what}: no origin is asked`);
  }
  for (const [what, octets, code] of [
    ['an even identifier', request(2, USUAL), PROTOCOL_ERROR],
    ['PRIORITY of no stream', frame(FRAME.priority, 0, 0, Buffer.alloc(5)), PROTOCOL_ERROR],
    ['PRIORITY of four octets', frame(FRAME.priority, 0, 1, Buffer.alloc(4)), FRAME_SIZE_ERROR],
    ['DATA on stream 0', frame(FRAME.data, 0, 0, Buffer.from('x')), PROTOCOL_ERROR],
    ['HEADERS on stream 0', request(0, USUAL), PROTOCOL_ERROR],
    ['SETTINGS on a stream', frame(FRAME.settings, 0, 1), PROTOCOL_ERROR],
    ['PING of seven octets', frame(FRAME.ping, 0, 0, Buffer.alloc(7)), FRAME_SIZE_ERROR],
    ['RST_STREAM of an idle stream', frame(FRAME.reset, 0, 1, number(8)), PROTOCOL_ERROR],
    ['WINDOW_UPDATE by 0', frame(FRAME.windowUpdate, 0, 0, number(0)), PROTOCOL_ERROR],
    ['PUSH_PROMISE', frame(5, 4, 1, number(2), writeBlock(USUAL, false)), PROTOCOL_ERROR],
    ['a frame that is too long', frame(FRAME.ping, 0, 0, Buffer.alloc(20_000)), FRAME_SIZE_ERROR],
  ] as const) {
    const { goAway, isClosed } = await send(what, octets);
    t.strictSame([goAway, isClosed, seen], [code, true, []], what);
  }
});
