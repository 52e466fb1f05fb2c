/** Blocks of fields: the examples of RFC 7541, what Node writes, and what no block may hold. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { FLAG, FRAME, FrameReader, PREFACE, settings } from '../../../src/edge/http2/frames.js';
import { BlockReader, HpackError, writeBlock } from '../../../src/edge/http2/hpack.js';
import { readHuffman } from '../../../src/edge/http2/huffman.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const isRefused = (read: () => unknown): boolean => {
  try {
    read();
    return false;
  } catch (error) {
    return error instanceof HpackError;
  }
};
const reader = (limits = { listOctets: 32_768, fields: 200 }): BlockReader => new BlockReader(limits);

t.test('requests of RFC 7541, Appendix C.3 and C.4: one table over three blocks', async (t) => {
  const first = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'];
  const third = [':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'];
  const plain = [
    '828684410f7777772e6578616d706c652e636f6d',
    '828684be58086e6f2d6361636865',
    '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
  ];
  const coded = [
    '828684418cf1e3c2e5f23a6ba0ab90f4ff',
    '828684be5886a8eb10649cbf',
    '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
  ];
  for (const blocks of [plain, coded]) {
    const blockReader = reader();
    const lists = blocks.map((block) => blockReader.read(hex(block)));
    t.same(lists, [first, [...first, 'cache-control', 'no-cache'], [...third, 'custom-key', 'custom-value']]);
  }
});

t.test('a table that shrinks drops its oldest entries', async (t) => {
  const blockReader = reader();
  t.same(blockReader.read(hex('4001 61 01 31 4001 62 01 32')), ['a', '1', 'b', '2']);
  t.same(blockReader.read(hex('be bf')), ['b', '2', 'a', '1']);
  // 34 octets each.
  t.same(blockReader.read(hex('3f 0d be')), ['b', '2'], 'room for one');
  t.ok(isRefused(() => blockReader.read(hex('bf'))));
  t.same(blockReader.read(hex('20')), []);
  t.ok(
    isRefused(() => blockReader.read(hex('be'))),
    'nothing is left',
  );
});

t.test('what no block may hold', async (t) => {
  for (const [what, block] of [
    ['entry 0', '80'],
    ['an entry that is not there', 'be'],
    ['an end within a string', '0005 6161'],
    ['an end within a number', '7f'],
    ['a number without end', '7f ff ff ff ff ff 01'],
    ['a table larger than allowed', '3f e2 1f'],
    ['a table that changes within', '82 20'],
    ['a name without a value', '0001 61'],
    ['the end in a string', '00 01 61 84 ffffffff'],
    ['padding that is too long', '00 01 61 82 1fff'],
    ['padding of zeros', '00 01 61 81 18'],
  ] as const) {
    t.ok(
      isRefused(() => reader().read(hex(block))),
      what,
    );
  }
});

t.test('more than the limits is left out, and the table stays right', async (t) => {
  const few = reader({ listOctets: 1000, fields: 3 });
  t.equal(few.read(hex('82 82 82 82 4001 61 01 31')), undefined);
  t.same(few.read(hex('be')), ['a', '1']);
  const small = reader({ listOctets: 100, fields: 30 });
  t.equal(small.read(hex('82 82 82')), undefined, '42 octets each');
});

t.test('what is written is read again', async (t) => {
  const long = 'x'.repeat(20_000);
  const fields = [':method', 'GET', 'x-long', long, 'cookie', 'a=1', 'x-empty', '', 'x-high', '\u0080\u00ff'];
  for (const isFirst of [true, false]) {
    t.same(reader({ listOctets: 65_536, fields: 99 }).read(writeBlock(fields, isFirst)), fields);
  }
});

/** The block that Node's own library writes for these fields. */
async function blockOfNode(t: Test, fields: Record<string, string>): Promise<Buffer[]> {
  const blocks: Buffer[] = [];
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.write(settings([]));
    let isFirst = true;
    const frames = new FrameReader(({ type, flags, payload }) => {
      if (type !== FRAME.headers) return;
      blocks.push(Buffer.from(flags & FLAG.priority ? payload.subarray(5) : payload));
      if (blocks.length === 2) socket.destroy();
    });
    socket.on('data', (octets: Buffer) => {
      frames.feed(isFirst ? octets.subarray(PREFACE.length) : octets);
      isFirst = false;
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on('error', () => {});
  for (let i = 0; i < 2; i++) session.request({ ':authority': 'a', ...fields }).on('error', () => {});
  await once(session, 'close');
  return blocks;
}

t.test('every octet that Node sends in a value', async (t) => {
  const octets = Array.from({ length: 256 }, (_, code) => code).filter((code) => code >= 0x20 && code !== 0x7f);
  const value = String.fromCharCode(...octets).trim();
  const blocks = await blockOfNode(t, { 'x-all': value, 'x-repeated': 'e'.repeat(500) });
  const blockReader = reader();
  for (const block of blocks) {
    const list = blockReader.read(block)!;
    t.equal(Buffer.from(list[list.indexOf('x-all') + 1]!, 'latin1').toString('utf8').length > 0, true);
    t.equal(list[list.indexOf('x-repeated') + 1], 'e'.repeat(500));
    t.equal(list[list.indexOf('x-all') + 1]!.slice(0, 94), value.slice(0, 94));
  }
  t.equal(blocks.length, 2, 'the second one refers to the table');
});

t.test('the code of each octet', async (t) => {
  // The longest ones, by Appendix B: 0x01 is 23 bits of 0x7fffd8, 0xf9 28 bits of 0xffffffe.
  t.equal(readHuffman(hex('ffffb1')), '\u0001');
  t.equal(readHuffman(hex('ffffffef')), '\u00f9');
  t.equal(readHuffman(hex('ffffffff')), undefined);
  t.equal(readHuffman(Buffer.alloc(0)), '');
});
