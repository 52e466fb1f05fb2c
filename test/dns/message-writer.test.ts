/** Messages of random records, read by a decoder that shares no code with the writer. */
import t from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { Type } from '../../src/dns/codes.js';
import { MessageWriter } from '../../src/dns/message-writer.js';
import { parseName } from '../../src/dns/name.js';
import { decodeMessage } from '../support/message.js';
import { seededRandom } from '../support/seeded-random.js';

const RECORDS = 20_000;
const USUAL = 20_000;
/** Pointers have 14 bits. */
const REACH = 0x3fff;

t.test('owners that repeat, records that do not fit, names out of the reach of pointers', async (t) => {
  const random = seededRandom(20261122);
  const below = (limit: number): number => Buffer.from(random.bytes(4)).readUInt32LE() % limit;
  const writer = new MessageWriter(USUAL);
  const wanted: string[] = [];
  const got: string[] = [];
  let octets = 0;
  let beyond = 0;
  const take = (): void => {
    const message = Buffer.from(writer.finish());
    octets += message.length;
    t.ok(message.length <= USUAL || message.readUInt16BE(6) === 1);
    for (const { owner, type, rdata } of decodeMessage(message).answer) got.push(`${owner} ${type} ${rdata}`);
    if (message.length > REACH && message.readUInt16BE(6) > 1) beyond++;
  };
  writer.begin(1, 0x8400);
  let name = 'a.example.';
  for (let i = 0; i < RECORDS; i++) {
    if (below(3) === 0) name = ['example.', `h${below(50)}.example.`, `x.h${below(9)}.example.`, '.'][below(4)]!;
    const owner = parseName(name);
    const isName = below(4) === 0;
    const rdata = isName ? parseName(`n${below(5)}.example.`) : random.bytes(below(200) === 0 ? 30_000 : below(120));
    const type = isName ? Type.ns : 65_400;
    wanted.push(`${name === '.' ? '.' : name} ${type} ${toHex(rdata)}`);
    if (writer.add('answer', owner, type, 60, rdata)) continue;
    take();
    writer.begin(1, 0x8400);
    if (!writer.add('answer', owner, type, 60, rdata)) t.fail('a record fits into no message');
  }
  take();
  t.equal(got.length, RECORDS);
  const first = got.findIndex((text, i) => text !== wanted[i]);
  t.equal(first, -1, first < 0 ? 'every record' : `${got[first]} instead of ${wanted[first]}`);
  t.ok(beyond > 10, 'some have names that pointers do not reach');
  t.ok(octets < wanted.reduce((sum, text) => sum + text.length, 0) / 2 + RECORDS * 12, 'names are compressed');
});

t.test('records without data, and data that ends early', async (t) => {
  const owner = parseName('a.example.');
  const writer = new MessageWriter(USUAL);
  writer.begin(1, 0x2800, { name: parseName('example.'), type: Type.soa, class: 1 });
  for (const type of [Type.ns, Type.mx, Type.soa]) {
    t.ok(
      writer.add('authority', owner, type, 0, new Uint8Array(0), 255),
      'an RRset that an update deletes (RFC 2136 §2.5.2)',
    );
  }
  const message = Buffer.from(writer.finish());
  t.equal(message.readUInt16BE(8), 3);
  t.equal(message.length, 12 + 13 + 14 + 12 + 12, 'an owner, and twice a pointer to it; no data');
  for (const rdata of [[3, 0x6e, 0x73], [0], [0, 10, 1]]) {
    t.throws(() => writer.add('authority', owner, Type.mx, 60, new Uint8Array(rdata)), RangeError);
  }
});

t.test('a name that repeats its own labels has no pointer into itself', async (t) => {
  const writer = new MessageWriter();
  for (let i = 0; i < 10_000; i++) {
    // Zeros stand where the name will, as if it ended after each label.
    writer.begin(1, 0);
    writer.add('answer', parseName('.'), 65_400, 60, new Uint8Array(30));
    const name = parseName(`${i}.${i}.`);
    writer.begin(1, 0x0100, { name, type: Type.a, class: 1 });
    const message = writer.finish();
    if (message.length !== 12 + name.length + 4) t.fail(`${i}.${i}. is cut`);
  }
});
