/** Bounds of what a client over HTTP/2 may cost: work of one frame, memory that was promised, and time to take what was sent. */
import t from 'tap';
import type { ClientStream } from '../../../src/edge/http2/client-stream.js';
import { CODE, FLAG, FRAME, frame, number, SETTING, settings } from '../../../src/edge/http2/frames.js';
import { writeBlock } from '../../../src/edge/http2/hpack.js';
import type { WindowShares } from '../../../src/edge/http2/inbox-window.js';
import { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';
import { answer, get, openConnection as open, post } from './client-line.js';

const codeOf = ({ payload }: { readonly payload: Buffer }): number => payload.readUInt32BE(4);

t.test('one frame of settings does not widen the windows of all streams thousands of times', async (t) => {
  const { line, of, floods } = open(answer(Buffer.alloc(4000)));
  line.push(settings([[SETTING.initialWindow, 0]]));
  for (let i = 0; i < 100; i++) line.push(get(2 * i + 1));
  await until(() => of(FRAME.headers).length === 100);
  line.push(settings(Array.from({ length: 2000 }, (_, i) => [SETTING.initialWindow, i + 1] as const)));
  await until(() => of(FRAME.goAway).length + of(FRAME.data).length > 0);
  t.ok(of(FRAME.data).length < 10_000, `${of(FRAME.data).length} frames of an octet`);
  t.strictSame([of(FRAME.goAway).map(codeOf), floods], [[CODE.enhanceYourCalm], ['broken']]);
});

t.test('a wide window is counted until its client cannot use it any more', async (t) => {
  let held = 0;
  const shares: WindowShares = {
    take(_client, octets) {
      if (held > 0) return false;
      held += octets;
      return true;
    },
    give: (_client, octets) => void (held -= octets),
  };
  const streams: ClientStream[] = [];
  const upload = async (line: { push(octets: Buffer): unknown }, stream: number): Promise<void> => {
    const before = streams.length;
    line.push(post(stream));
    await until(() => streams.length > before);
    line.push(frame(FRAME.data, FLAG.endStream, stream));
    await new Promise(setImmediate);
    answer(Buffer.from('ok'))(streams.at(-1)!);
  };
  const first = open((stream) => streams.push(stream), undefined, { shares });
  await upload(first.line, 1);
  t.ok(held > 0, 'it may still send as much');
  await upload(first.line, 3);
  t.equal(held, 1 << 24, 'once');
  first.line.destroy();
  await until(() => held === 0);
  const second = open((stream) => streams.push(stream), undefined, { shares });
  await upload(second.line, 1);
  for (let i = 0; i < 1024; i++) second.line.push(frame(FRAME.data, 0, 1, Buffer.alloc(16_384)));
  await until(() => held === 0, 'the window was used, and nothing is uploaded');
});

t.test('a client that reads slowly gets all that it was sent before its connection ended', async (t) => {
  const clock = new TestClock();
  const { line, of, connection } = open(answer(Buffer.alloc(60_000)), undefined, { clock });
  await until(() => of(FRAME.settings).length === 2);
  line.isStuck = true;
  line.push(Buffer.concat([get(1), frame(FRAME.windowUpdate, 0, 0, number(100_000))]));
  await until(() => line.writableLength > 0);
  connection.retire();
  clock.advance(5000);
  t.notOk(line.destroyed, 'it may be slow');
  line.loosen();
  await until(() => line.destroyed);
  t.strictSame(of(FRAME.goAway).map(codeOf), [CODE.none]);
});

t.test('one that takes nothing of it is not waited for', async (t) => {
  const clock = new TestClock();
  const { line, of, connection } = open(answer(Buffer.alloc(60_000)), undefined, { clock });
  await until(() => of(FRAME.settings).length === 2);
  line.isStuck = true;
  line.push(get(1));
  await until(() => line.writableLength > 0);
  connection.retire();
  clock.advance(60_000);
  t.ok(line.destroyed);
});

t.test('requests behind the end of a connection have their bound', async (t) => {
  const { line, of, floods } = open(() => {});
  line.push(Buffer.concat([get(1), frame(FRAME.goAway, 0, 0, number(0), number(0))]));
  const block = writeBlock(['x', 'y'.repeat(16_000)], false);
  for (let i = 1; i <= 20; i++) {
    line.push(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 2 * i + 1, block));
    await new Promise(setImmediate);
  }
  t.strictSame([of(FRAME.goAway).map(codeOf), floods], [[CODE.none, CODE.enhanceYourCalm], ['broken']]);
});

t.test('a fault while a response goes on ends its stream, and no other', async (t) => {
  const faults: unknown[] = [];
  const broken = (stream: ClientStream): void => {
    const fault = (): never => {
      throw new Error('a fault');
    };
    stream.watch({ drained: fault, closed: fault });
    stream.head(200, [], []);
    stream.write(Buffer.alloc(70_000));
  };
  const { line, of } = open((stream) => (stream.id === 1 ? broken : answer(Buffer.from('ok')))(stream), undefined, {
    onFault: (error) => faults.push((error as Error).message),
  });
  line.push(get(1));
  await until(() => of(FRAME.data).length > 0);
  line.push(Buffer.concat([0, 1].map((stream) => frame(FRAME.windowUpdate, 0, stream, number(10_000)))));
  await until(() => of(FRAME.reset).length === 1);
  line.push(get(3));
  await until(() => of(FRAME.data).some(({ stream }) => stream === 3));
  t.strictSame([of(FRAME.goAway), faults], [[], ['a fault', 'a fault']]);
});

t.test('a piece of a body keeps no more memory than four times its octets', async (t) => {
  const streams: ClientStream[] = [];
  const { line } = open((stream) => streams.push(stream));
  line.push(post(1));
  await until(() => streams.length === 1);
  const kept = frame(FRAME.data, 0, 1, Buffer.alloc(4096));
  line.push(Buffer.concat([kept, Buffer.alloc(12_000)]).fill(frame(99, 0, 0, Buffer.alloc(11_991)), kept.length));
  const body = streams[0]!.body!;
  await until(() => body.readableLength === 4096);
  const piece = body.read() as Buffer;
  t.ok(piece.buffer.byteLength <= 4 * piece.length, `${piece.buffer.byteLength} octets`);
});

t.test('a fault while frames of many connections leave ends its own connection', async (t) => {
  const faults: unknown[] = [];
  const streams: ClientStream[] = [];
  const [broken, whole] = [0, 1].map(() =>
    open((stream) => streams.push(stream), undefined, { onFault: (error) => faults.push(error) }),
  );
  for (const { line } of [broken!, whole!]) line.push(get(1));
  await until(() => streams.length === 2);
  const fault = new Error('a bug');
  broken!.line.write = () => {
    throw fault;
  };
  for (const stream of streams) answer(Buffer.from('ok'))(stream);
  await until(() => whole!.of(FRAME.data).length === 1);
  t.strictSame([faults, broken!.line.destroyed, whole!.line.destroyed], [[fault], true, false]);
});
