/** What clients may do over HTTP/2 to a connection, its memory, and the streams of others. */
import t from 'tap';
import { FurtherRequests } from '../../../src/base/connections/in-turns.js';
import type { ClientStream } from '../../../src/edge/http2/client-stream.js';
import { CODE, FLAG, FRAME, frame, number, PREFACE, SETTING, settings } from '../../../src/edge/http2/frames.js';
import { BlockReader, writeBlock } from '../../../src/edge/http2/hpack.js';
import { until } from '../../support/until.js';
import { answer, FIELDS, get, openConnection as open, post } from './client-line.js';

t.test('responses to requests that come together leave in one write', async (t) => {
  const { line, of } = open(answer(Buffer.alloc(1024)));
  await until(() => of(FRAME.settings).length === 2);
  const before = line.writes;
  line.push(Buffer.concat([get(1), get(3), get(5)]));
  await until(() => of(FRAME.data).length === 3);
  t.equal(line.writes, before + 1);
  const none = open(answer(Buffer.alloc(0)));
  none.line.push(get(1));
  await until(() => none.of(FRAME.headers).length === 1);
  t.strictSame([none.of(FRAME.headers)[0]!.flags, none.of(FRAME.data)], [5, []], 'without a body, the head is the end');
});

t.test('the further requests of all connections share a turn', async (t) => {
  const further = new FurtherRequests(2);
  const begun: string[] = [];
  const ask = Buffer.concat([PREFACE, settings([]), get(1), get(3), get(5), get(7)]);
  for (const name of ['a', 'b']) open(({ id }) => begun.push(`${name}${id}`), ask, { further });
  await until(() => begun.length === 8);
  t.strictSame(begun, ['a1', 'a3', 'a5', 'b1', 'a7', 'b3', 'b5', 'b7'], 'in each turn, the first of each and two more');
});

t.test('frames that come octet by octet', async (t) => {
  const paths: (string | undefined)[] = [];
  const { line } = open((stream) => paths.push(stream.request.path));
  for (const octet of Buffer.concat([get(1), get(3)])) line.push(Buffer.of(octet));
  await until(() => paths.length === 2);
  t.strictSame(paths, ['/', '/']);
});

t.test('fields that repeat are read once, and a path is read each time', async (t) => {
  const asked: ClientStream[] = [];
  const { line } = open((stream) => asked.push(stream));
  const request = (stream: number, path: string, agent: string): Buffer =>
    frame(FRAME.headers, 5, stream, writeBlock([...FIELDS.slice(0, 7), path, 'user-agent', agent], false));
  line.push(Buffer.concat([request(1, '/a', 'x'), request(3, '/b', 'x'), request(5, '/c', 'y'), request(7, 'd', 'y')]));
  await until(() => asked.length === 3);
  const [first, second, third] = asked.map(({ request: fields }) => fields);
  t.strictSame([first!.path, second!.path, third!.path], ['/a', '/b', '/c']);
  t.equal(first!.fields, second!.fields);
  t.ok(Object.isFrozen(second!.fields));
  t.strictSame(third!.fields, ['user-agent', 'y']);
});

t.test('bodies leave in turns, and who only has to end does not wait for the window', async (t) => {
  const { line, sent, of } = open((stream) => answer(Buffer.alloc(stream.id === 9 ? 0 : 40_000))(stream));
  line.push(Buffer.concat([get(1), get(3), get(9)]));
  await until(() => of(FRAME.data).length >= 5);
  const data = of(FRAME.data).map(({ stream, payload }) => [stream, payload.length]);
  t.strictSame(data.slice(0, 4), [
    [1, 16_384],
    [1, 16_384],
    [1, 7232],
    [3, 16_384],
  ]);
  t.equal(
    data.reduce((sum, [, length]) => sum + length!, 0),
    65_535,
    'as much as the window',
  );
  t.equal(of(FRAME.headers).at(-1)!.flags, 5, 'a response without a body ends with its head');
  line.push(frame(FRAME.windowUpdate, 0, 0, number(100_000)));
  await until(() => sent.filter(({ type, flags }) => type === FRAME.data && flags === FLAG.endStream).length === 2);
});

t.test('of a client that does not read, nothing more is read', async (t) => {
  let requests = 0;
  const { line } = open((stream) => {
    requests++;
    stream.head(200, ['x-long', 'x'.repeat(16_000)], []);
    stream.end(undefined, []);
  });
  await until(() => line.writes > 0);
  line.isStuck = true;
  for (let i = 0; i < 500; i++) {
    line.push(get(2 * i + 1));
    await new Promise(setImmediate);
  }
  t.ok(line.isPaused(), 'it waits');
  t.ok(requests < 50, `${requests} requests`);
  t.ok(line.writableLength < 1 << 19);
  line.loosen();
  await until(() => requests === 500, 'then it goes on');
});

t.test('a client that has streams reset one after the other ends its connection', async (t) => {
  const { line, floods, of } = open(() => {});
  for (let i = 0; i < 60; i++) {
    line.push(post(2 * i + 1, ['content-length', '1']));
    line.push(frame(FRAME.data, FLAG.endStream, 2 * i + 1, Buffer.from('xx')));
  }
  await until(() => of(FRAME.goAway).length > 0);
  t.equal(of(FRAME.goAway)[0]!.payload.readUInt32BE(4), CODE.enhanceYourCalm);
  t.strictSame(floods, ['broken']);
});

t.test('an upload that is refused at once leaves its connection as it is', async (t) => {
  const { line, of, floods } = open(answer(Buffer.from('no')));
  line.push(post(1));
  await until(() => of(FRAME.reset).length === 1);
  t.equal(of(FRAME.reset)[0]!.payload.readUInt32BE(0), CODE.none, 'the rest is not needed');
  // What was on its way.
  for (let i = 0; i < 40; i++) {
    line.push(frame(FRAME.data, 0, 1, Buffer.alloc(16_000)));
    await new Promise(setImmediate);
  }
  line.push(get(3));
  await until(() => of(FRAME.headers).length === 2);
  t.strictSame(floods, []);
  const given = of(FRAME.windowUpdate).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
  t.ok(given >= 600_000, 'its octets count no more');
});

t.test('a body is taken as its reader takes it, and all of it counts again', async (t) => {
  const streams: ClientStream[] = [];
  const { line, of, connection } = open((stream) => streams.push(stream));
  line.push(post(1));
  await until(() => of(FRAME.windowUpdate).length === 1, 'a wider window while something is uploaded');
  for (let i = 0; i < 64; i++) line.push(frame(FRAME.data, 0, 1, Buffer.alloc(16_384)));
  await new Promise(setImmediate);
  t.equal(of(FRAME.windowUpdate).length, 1, 'nobody reads');
  let received = 0;
  streams[0]!.body!.on('data', (piece: Buffer) => (received += piece.length));
  await until(() => received === 1 << 20);
  await until(() => of(FRAME.windowUpdate).some(({ stream }) => stream === 1), 'its client may send more');
  line.push(frame(FRAME.data, 0, 1, Buffer.alloc(16_384)));
  line.push(frame(FRAME.data, FLAG.endStream, 1));
  await until(() => streams[0]!.body!.readableEnded);
  t.equal(connection.streams.size, 1, 'the response is missing');
  const overfull = open(() => {});
  overfull.line.push(post(1));
  for (let i = 0; i < 65; i++) overfull.line.push(frame(FRAME.data, 0, 1, Buffer.alloc(16_384)));
  await until(() => overfull.of(FRAME.reset).length === 1);
  t.equal(overfull.of(FRAME.reset)[0]!.payload.readUInt32BE(0), CODE.flowControl, 'more than the window');
});

t.test('a connection that retires finishes what it has, and what comes late breaks nothing', async (t) => {
  const streams: ClientStream[] = [];
  const { line, connection, of, floods } = open((stream) => streams.push(stream));
  line.push(get(1));
  await until(() => streams.length === 1);
  connection.retire();
  await until(() => of(FRAME.goAway).length === 1);
  line.push(
    Buffer.concat([post(3), frame(FRAME.data, 1, 3, Buffer.from('late')), frame(FRAME.reset, 0, 3, number(8))]),
  );
  await new Promise(setImmediate);
  answer(Buffer.from('ok'))(streams[0]!);
  await until(() => line.destroyed);
  t.equal(of(FRAME.data).length, 1);
  t.strictSame([streams.length, floods], [1, []]);
  t.strictSame(
    of(FRAME.goAway).map(({ payload }) => payload.readUInt32BE(0)),
    [1],
    'the one that it had',
  );
});

t.test('a wider first window counts from its acknowledgement on', async (t) => {
  const { line, sent } = open(answer(Buffer.alloc(1000)));
  line.push(Buffer.concat([settings([[SETTING.initialWindow, 0]]), get(1)]));
  await until(() => sent.some(({ type }) => type === FRAME.headers));
  line.push(settings([[SETTING.initialWindow, 5000]]));
  await until(() => sent.some(({ type }) => type === FRAME.data));
  t.strictSame(
    sent.slice(-2).map(({ type }) => type),
    [FRAME.settings, FRAME.data],
  );
});

t.test('tunnels', async (t) => {
  const streams: ClientStream[] = [];
  const { line, of } = open((stream) => streams.push(stream));
  const connect = [':method', 'CONNECT', ':protocol', 'websocket', ...FIELDS.slice(2)];
  line.push(frame(FRAME.headers, FLAG.endHeaders, 1, writeBlock(connect, false)));
  await until(() => streams.length === 1);
  const duplex = streams[0]!.openTunnel();
  streams[0]!.head(200, [], []);
  line.push(frame(FRAME.data, 0, 1, Buffer.from('hello')));
  const [heard] = await Promise.all([new Promise((resolve) => duplex.once('data', resolve)), duplex.write('hi')]);
  t.equal(String(heard), 'hello');
  await until(() => of(FRAME.data).length === 1);
  const closed = new Promise((resolve) => duplex.once('close', resolve));
  line.push(frame(FRAME.reset, 0, 1, number(CODE.cancel)));
  await closed;
  t.equal(of(FRAME.reset).length, 0, 'it was the client who ended it');
});

t.test('what a client is sent can be read by its rules', async (t) => {
  const { line, of } = open((stream) => {
    stream.head(
      200,
      ['x', 'y'.repeat(40_000), 'connection', 'close', 'Bad', 'z', 'etag', '"a"', 'etag', '"b"'],
      ['a', 'b'],
    );
    stream.end(Buffer.from('body'), ['t', '1']);
  });
  line.push(get(1));
  await until(() => of(FRAME.headers).length === 2);
  const first = Buffer.concat([of(FRAME.headers)[0]!, ...of(FRAME.continuation)].map(({ payload }) => payload));
  const blocks = new BlockReader({ listOctets: 1 << 20, fields: 100 });
  const list = blocks.read(first)!;
  t.strictSame(list.slice(0, -2), [':status', '200', 'x', 'y'.repeat(40_000), 'etag', '"a"', 'a', 'b']);
  t.match(list.slice(-2), ['date', / GMT$/], 'a response without a date gets one');
  t.strictSame(blocks.read(of(FRAME.headers)[1]!.payload), ['t', '1']);
  t.equal(of(FRAME.headers)[1]!.flags, 5, 'trailers are the end');
});
