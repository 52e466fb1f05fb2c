/** What RFC 9113 and RFC 7541 demand of a server, rule by rule: the code of each fault, and what is no fault. */
import t from 'tap';
import type { ClientStream } from '../../../src/edge/http2/client-stream.js';
import { CODE, FLAG, FRAME, frame, number, PREFACE, SETTING, settings } from '../../../src/edge/http2/frames.js';
import { writeBlock } from '../../../src/edge/http2/hpack.js';
import { until } from '../../support/until.js';
import { openConnection } from './client-line.js';

const FIELDS = [':method', 'GET', ':scheme', 'https', ':authority', 'a.test', ':path', '/'] as const;
const POST = [':method', 'POST', ...FIELDS.slice(2)];
const END = FLAG.endHeaders | FLAG.endStream;
const block = (...fields: string[]): Buffer => writeBlock(fields, false);
const GET = block(...FIELDS);
const get = (stream: number): Buffer => frame(FRAME.headers, END, stream, GET);
const post = (stream: number, ...more: string[]): Buffer =>
  frame(FRAME.headers, FLAG.endHeaders, stream, block(...POST, ...more));
const data = (stream: number, text: string, flags = 0): Buffer => frame(FRAME.data, flags, stream, Buffer.from(text));
const request = (...fields: string[]): Buffer => frame(FRAME.headers, END, 1, block(...fields));
const octets = (...values: number[]): Buffer => Buffer.from(values);
const reserved = (whole: Buffer): Buffer => {
  whole[5]! |= 0x80;
  return whole;
};

/** `goAway`, `reset`: the code with which the connection or stream 1 ends. `served`: stream 1 is answered with 200. */
type Expected = { readonly goAway: number } | { readonly reset: number } | 'served';

const goAway = (code: keyof typeof CODE): Expected => ({ goAway: CODE[code] });
const reset = (code: keyof typeof CODE): Expected => ({ reset: CODE[code] });

const CASES: readonly (readonly [section: string, what: string, sent: readonly Buffer[], expected: Expected])[] = [
  ['4.1', 'frames of unknown types are ignored', [frame(0xbe, 0xff, 0, octets(1)), get(1)], 'served'],
  ['4.1', 'unknown flags are ignored', [frame(FRAME.headers, END | 0x82, 1, GET)], 'served'],
  ['4.1', 'the reserved bit is ignored', [reserved(get(1))], 'served'],
  ['4.2', 'a frame that is too long', [frame(FRAME.data, 0, 1, Buffer.alloc(16_385))], goAway('frameSize')],
  ['4.3', 'a block that cannot be read', [frame(FRAME.headers, END, 1, octets(0xff, 0xff))], goAway('compression')],
  [
    '4.3',
    'another frame within a block',
    [frame(FRAME.headers, 1, 1, GET), frame(FRAME.priority, 0, 1, Buffer.alloc(5))],
    goAway('protocol'),
  ],
  ['4.3', 'another request within a block', [frame(FRAME.headers, 1, 1, GET), get(3)], goAway('protocol')],
  ['5.5', 'an unknown frame within a block', [frame(FRAME.headers, 1, 1, GET), frame(0xbe, 0, 1)], goAway('protocol')],
  ['5.1', 'DATA of an idle stream', [data(1, 'x')], goAway('protocol')],
  ['5.1', 'RST_STREAM of an idle stream', [frame(FRAME.reset, 0, 1, number(8))], goAway('protocol')],
  ['5.1', 'WINDOW_UPDATE of an idle stream', [frame(FRAME.windowUpdate, 0, 1, number(8))], goAway('protocol')],
  ['5.1', 'CONTINUATION of an idle stream', [frame(FRAME.continuation, 4, 1, GET)], goAway('protocol')],
  ['5.1', 'DATA after the end', [get(1), data(1, 'x')], reset('streamClosed')],
  ['5.1', 'HEADERS after the end', [get(1), get(1)], reset('streamClosed')],
  ['5.1', 'CONTINUATION after the end', [get(1), frame(FRAME.continuation, 4, 1, GET)], goAway('protocol')],
  ['5.1', 'PRIORITY of an idle stream', [frame(FRAME.priority, 0, 9, Buffer.alloc(5)), get(1)], 'served'],
  ['5.1.1', 'an even identifier', [get(2)], goAway('protocol')],
  ['5.1.1', 'an identifier smaller than the last', [get(5), get(3)], goAway('protocol')],
  ['5.1.1', 'a stream that is used again', [post(1), frame(FRAME.reset, 0, 1, number(8)), get(1)], goAway('protocol')],
  ['6.1', 'DATA of no stream', [data(0, 'x')], goAway('protocol')],
  ['6.1', 'padding as long as DATA', [post(1), frame(FRAME.data, 8, 1, octets(2, 0))], goAway('protocol')],
  ['6.1', 'padding', [post(1, 'content-length', '1'), frame(FRAME.data, 9, 1, octets(2, 65, 0, 0))], 'served'],
  ['6.2', 'HEADERS of no stream', [frame(FRAME.headers, END, 0, GET)], goAway('protocol')],
  ['6.2', 'padding as long as HEADERS', [frame(FRAME.headers, END | 8, 1, octets(9, 0x82))], goAway('protocol')],
  [
    '6.2',
    'HEADERS with padding and priority',
    [frame(FRAME.headers, END | FLAG.padded | FLAG.priority, 1, octets(3, 0, 0, 0, 0, 9), GET, Buffer.alloc(3))],
    'served',
  ],
  ['6.3', 'PRIORITY of no stream', [frame(FRAME.priority, 0, 0, Buffer.alloc(5))], goAway('protocol')],
  ['6.3', 'PRIORITY of a wrong length', [frame(FRAME.priority, 0, 1, Buffer.alloc(4))], goAway('frameSize')],
  ['6.4', 'RST_STREAM of no stream', [frame(FRAME.reset, 0, 0, number(8))], goAway('protocol')],
  ['6.4', 'RST_STREAM of a wrong length', [post(1), frame(FRAME.reset, 0, 1, octets(1, 2, 3))], goAway('frameSize')],
  ['6.5', 'an acknowledgement with settings', [frame(FRAME.settings, 1, 0, Buffer.alloc(6))], goAway('frameSize')],
  ['6.5', 'SETTINGS of a stream', [frame(FRAME.settings, 0, 1)], goAway('protocol')],
  ['6.5', 'SETTINGS of a wrong length', [frame(FRAME.settings, 0, 0, Buffer.alloc(5))], goAway('frameSize')],
  ['6.5.2', 'ENABLE_PUSH of 2', [settings([[SETTING.enablePush, 2]])], goAway('protocol')],
  ['6.5.2', 'a first window of 2^31', [settings([[SETTING.initialWindow, 2 ** 31]])], goAway('flowControl')],
  ['6.5.2', 'frames of 16,383 octets', [settings([[SETTING.frameOctets, 16_383]])], goAway('protocol')],
  ['6.5.2', 'frames of 2^24 octets', [settings([[SETTING.frameOctets, 2 ** 24]])], goAway('protocol')],
  ['6.5.2', 'an unknown setting', [settings([[0xbe, 1]]), get(1)], 'served'],
  ['6.6', 'PUSH_PROMISE', [frame(FRAME.pushPromise, 4, 1, number(2), GET)], goAway('protocol')],
  ['6.7', 'PING of a stream', [frame(FRAME.ping, 0, 1, Buffer.alloc(8))], goAway('protocol')],
  ['6.7', 'PING of a wrong length', [frame(FRAME.ping, 0, 0, Buffer.alloc(6))], goAway('frameSize')],
  ['6.8', 'GOAWAY of a stream', [frame(FRAME.goAway, 0, 1, Buffer.alloc(8))], goAway('protocol')],
  ['6.8', 'GOAWAY of a wrong length', [frame(FRAME.goAway, 0, 0, Buffer.alloc(7))], goAway('frameSize')],
  ['6.9', 'WINDOW_UPDATE of 0 octets', [frame(FRAME.windowUpdate, 0, 0, number(0))], goAway('protocol')],
  ['6.9', 'of a stream', [get(1), frame(FRAME.windowUpdate, 0, 1, number(0))], reset('protocol')],
  ['6.9', 'WINDOW_UPDATE of a wrong length', [frame(FRAME.windowUpdate, 0, 0, octets(0, 0, 1))], goAway('frameSize')],
  ['6.9.1', 'a window of 2^31', [frame(FRAME.windowUpdate, 0, 0, number(2 ** 31 - 1))], goAway('flowControl')],
  ['6.9.1', 'of a stream', [get(1), frame(FRAME.windowUpdate, 0, 1, number(2 ** 31 - 1))], reset('flowControl')],
  [
    '6.9.2',
    'a first window that makes another too large',
    [get(1), frame(FRAME.windowUpdate, 0, 1, number(2 ** 30)), settings([[SETTING.initialWindow, 2 ** 31 - 1]])],
    goAway('flowControl'),
  ],
  [
    '6.10',
    'a block in three frames',
    [
      frame(FRAME.headers, 1, 1, GET.subarray(0, 1)),
      frame(FRAME.continuation, 0, 1, GET.subarray(1, 4)),
      frame(FRAME.continuation, 4, 1, GET.subarray(4)),
    ],
    'served',
  ],
  [
    '6.10',
    'CONTINUATION of another stream',
    [frame(FRAME.headers, 1, 1, GET), frame(FRAME.continuation, 4, 3, GET)],
    goAway('protocol'),
  ],
  ['6.10', 'CONTINUATION of no stream', [frame(FRAME.continuation, 4, 0, GET)], goAway('protocol')],
  ['8.1', 'trailers', [post(1), data(1, 'x'), frame(FRAME.headers, END, 1, block('t', '1'))], 'served'],
  ['8.1', 'trailers without an end', [post(1), frame(FRAME.headers, 4, 1, block('t', '1'))], reset('protocol')],
  ['8.1', 'trailers with a path', [post(1), frame(FRAME.headers, END, 1, block(':path', '/'))], reset('protocol')],
  ['8.1.1', 'less than Content-Length', [post(1, 'content-length', '2'), data(1, 'x', 1)], reset('protocol')],
  ['8.1.1', 'more in two frames', [post(1, 'content-length', '2'), data(1, 'xx'), data(1, 'x', 1)], reset('protocol')],
  ['8.1.1', 'a length, but no body', [request(...FIELDS, 'content-length', '1')], reset('protocol')],
  ['8.1.1', 'two lengths', [post(1, 'content-length', '1', 'content-length', '1'), data(1, 'x', 1)], reset('protocol')],
  ['8.1.1', 'a length that is none', [post(1, 'content-length', '+1'), data(1, 'x', 1)], reset('protocol')],
  ['8.2.1', 'upper case', [request(...FIELDS, 'X-Test', '1')], reset('protocol')],
  ['8.2.1', 'a colon in a name', [request(...FIELDS, 'x:y', '1')], reset('protocol')],
  ['8.2.1', 'a space in a name', [request(...FIELDS, 'x y', '1')], reset('protocol')],
  ['8.2.1', 'a name without a character', [request(...FIELDS, '', '1')], reset('protocol')],
  ['8.2.1', 'an octet of a name beyond ASCII', [request(...FIELDS, 'x\xe9', '1')], reset('protocol')],
  ['8.2.1', 'CR in a value', [request(...FIELDS, 'x', 'a\rb')], reset('protocol')],
  ['8.2.1', 'LF in a value', [request(...FIELDS, 'x', 'a\nhost: b')], reset('protocol')],
  ['8.2.1', 'NUL in a value', [request(...FIELDS, 'x', 'a\0')], reset('protocol')],
  ['8.2.1', 'a space before a value', [request(...FIELDS, 'x', ' a')], reset('protocol')],
  ['8.2.1', 'a tab behind a value', [request(...FIELDS, 'x', 'a\t')], reset('protocol')],
  ['8.2.1', 'spaces and octets beyond ASCII within a value', [request(...FIELDS, 'x', 'a \xe9 b')], 'served'],
  ['8.2.1', 'an empty value', [request(...FIELDS, 'x', '')], 'served'],
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map(
    (name) => ['8.2.2', name, [request(...FIELDS, name, 'x')], reset('protocol')] as const,
  ),
  ['8.2.2', 'TE', [request(...FIELDS, 'te', 'gzip')], reset('protocol')],
  ['8.2.2', 'TE: trailers', [request(...FIELDS, 'te', 'trailers')], 'served'],
  ['8.3', 'an unknown pseudo-header field', [request(...FIELDS, ':test', '1')], reset('protocol')],
  ['8.3', 'that of a response', [request(...FIELDS, ':status', '200')], reset('protocol')],
  ['8.3', 'a pseudo-header field behind others', [request('x', '1', ...FIELDS)], reset('protocol')],
  ...[':method', ':scheme', ':path'].flatMap((name) => {
    const without = FIELDS.filter((_, i) => FIELDS[i - (i % 2)] !== name);
    return [
      ['8.3.1', `no ${name}`, [request(...without)], reset('protocol')],
      ['8.3.1', `${name} twice`, [request(...FIELDS, name, '/')], reset('protocol')],
      ['8.3.1', `${name} without a value`, [request(...without, name, '')], reset('protocol')],
    ] as const;
  }),
  ['8.3.1', 'no authority', [request(...FIELDS.slice(0, 4), ':path', '/')], reset('protocol')],
  ['8.3.1', 'a path without a slash', [request(...FIELDS.slice(0, 6), ':path', 'x')], reset('protocol')],
  ['8.3.1', 'CR LF in a path', [request(...FIELDS.slice(0, 6), ':path', '/ HTTP/1.1\r\nx: y')], reset('protocol')],
  ['8.3.1', 'a space in a method', [request(':method', 'GET /', ...FIELDS.slice(2))], reset('protocol')],
  ['8.3.1', 'CR LF in an authority', [request(...FIELDS.slice(0, 4), ':authority', 'a\r\nb')], reset('protocol')],
  ['8.5', 'CONNECT with a path', [request(':method', 'CONNECT', ...FIELDS.slice(2))], reset('protocol')],
  ['8441 4', 'a protocol without CONNECT', [request(...FIELDS, ':protocol', 'websocket')], reset('protocol')],
  ...[
    ['2.3.3', 'the index 0', octets(0x80)],
    ['2.3.3', 'an index that there is not', octets(0xfe)],
    ['4.2', 'a table that is too large', Buffer.concat([octets(0x3f, 0xe2, 0x1f), GET])],
    ['4.2', 'the size of the table behind a field', Buffer.concat([GET, octets(0x20)])],
    ['5.1', 'a number without end', octets(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)],
    ['5.2', 'a text that is too long', octets(0x00, 0x05, 0x61)],
    ['5.2', 'padding of eight bits', octets(0x00, 0x01, 0x61, 0x82, 0x1f, 0xff)],
    ['5.2', 'padding of zeros', octets(0x00, 0x01, 0x61, 0x81, 0x18)],
    ['5.2', 'the symbol of the end', octets(0x00, 0x01, 0x61, 0x84, 0xff, 0xff, 0xff, 0xfc)],
    ['3', 'a block that ends within a field', octets(0x40)],
  ].map(
    ([section, what, sent]) =>
      [
        `7541 ${section}`,
        what as string,
        [frame(FRAME.headers, END, 1, sent as Buffer)],
        goAway('compression'),
      ] as const,
  ),
  ['7541 4.2', 'a smaller table', [frame(FRAME.headers, END, 1, octets(0x20), GET)], 'served'],
];

/** Answers once the whole request has come. */
function serve(stream: ClientStream): void {
  stream.watch({ drained() {}, closed() {} });
  const respond = (): void => {
    stream.head(200, ['content-length', '0'], []);
    stream.end(undefined, []);
  };
  if (!stream.body) setImmediate(respond);
  else stream.body.resume().on('end', respond);
}

for (const [section, what, sent, expected] of CASES) {
  t.test(`RFC ${section}: ${what}`, async (t) => {
    const { line, of } = openConnection(serve);
    line.push(Buffer.concat(sent));
    const ends = (): boolean => of(FRAME.goAway).length > 0 || of(FRAME.reset).length + of(FRAME.headers).length > 0;
    await until(ends);
    await new Promise(setImmediate);
    const codes = (type: number, at: number): number[] => of(type).map(({ payload }) => payload.readUInt32BE(at));
    if (expected === 'served') {
      t.strictSame([codes(FRAME.goAway, 4), codes(FRAME.reset, 0)], [[], []]);
      t.strictSame(
        of(FRAME.headers).map(({ stream }) => stream),
        [1],
      );
    } else if ('goAway' in expected) t.strictSame(codes(FRAME.goAway, 4), [expected.goAway]);
    else t.strictSame([codes(FRAME.goAway, 4), codes(FRAME.reset, 0)], [[], [expected.reset]]);
  });
}

t.test('RFC 9113 3.4: a connection begins with the preface and settings', async (t) => {
  for (const first of [Buffer.from('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'), Buffer.concat([PREFACE, get(1)])]) {
    const { line, of } = openConnection(serve, first);
    await until(() => line.destroyed);
    t.strictSame(
      of(FRAME.goAway).map(({ payload }) => payload.readUInt32BE(4)),
      [CODE.protocol],
    );
    t.equal(of(FRAME.headers).length, 0);
  }
});

t.test('RFC 9113 5.1.2: more streams at once than allowed are refused', async (t) => {
  const { line, of } = openConnection(() => {});
  line.push(Buffer.concat(Array.from({ length: 101 }, (_, i) => get(2 * i + 1))));
  await until(() => of(FRAME.reset).length > 0);
  t.strictSame(
    of(FRAME.reset).map(({ stream, payload }) => [stream, payload.readUInt32BE()]),
    [[201, CODE.refusedStream]],
  );
  t.equal(of(FRAME.goAway).length, 0);
});

t.test('RFC 9113 6.5.3, 6.7: settings and PING are acknowledged', async (t) => {
  const { line, of } = openConnection(serve);
  line.push(frame(FRAME.ping, 0xfe, 0, Buffer.from('12345678')));
  await until(() => of(FRAME.ping).length > 0);
  const { flags, payload } = of(FRAME.ping)[0]!;
  t.strictSame([flags, String(payload)], [FLAG.ack, '12345678']);
  t.equal(of(FRAME.settings).filter(({ flags }) => flags === FLAG.ack).length, 1);
  line.push(frame(FRAME.ping, FLAG.ack, 0, Buffer.alloc(8)));
  await new Promise(setImmediate);
  t.equal(of(FRAME.ping).length, 1, 'an answer is not answered');
});
