/**
 * TSIG and the message writer: round trips, every changed octet, the order of the checks, compression against an independent
 * decoder.
 */
import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { readMessage } from '../../src/dns/message.js';
import { LONGEST_MESSAGE, MessageWriter } from '../../src/dns/message-writer.js';
import { parseName } from '../../src/dns/name.js';
import {
  appendTsigError,
  createStreamSigner,
  findTsig,
  parseTsigAlgorithm,
  signMessage,
  TSIG_ALGORITHMS,
  type TsigKey,
  type TsigRecord,
  tsigLength,
  verifyMessage,
  withoutTsig,
} from '../../src/dns/tsig.js';
import { decodeMessage, makeQuery, printWire } from '../support/message.js';
import { seededRandom } from '../support/seeded-random.js';

const NAME = parseName('zone.example.');
const NOW = 1_800_000_000;
const keyOf = (algorithm: TsigKey['algorithm']): TsigKey => ({
  name: parseName('k.example.'),
  algorithm,
  secret: Buffer.from('0123456789abcdef'),
});
const KEY = keyOf('hmac-sha256');
const query = new Uint8Array(makeQuery(NAME, 252, { id: 0x1234 }));

function found(message: Uint8Array): TsigRecord {
  const tsig = findTsig(message);
  if (tsig === 'none' || tsig === 'malformed') throw new Error(tsig);
  return tsig;
}

t.test('every algorithm signs and verifies, and the length is as announced', async (t) => {
  for (const algorithm of TSIG_ALGORITHMS) {
    const key = keyOf(algorithm);
    const { message } = signMessage(query, key, { time: NOW });
    t.equal(message.length, query.length + tsigLength(key), algorithm);
    t.equal(verifyMessage(message, found(message), key, NOW), 0);
    const asBuffer = Buffer.from(message);
    t.same(withoutTsig(asBuffer, found(asBuffer), 0x1234), query);
    t.same(new Uint8Array(asBuffer), message, 'the octets of the caller stay');
    t.equal(parseTsigAlgorithm(`${algorithm.toUpperCase()}.`), algorithm);
  }
  t.equal(parseTsigAlgorithm('hmac-md5'), 'hmac-md5.sig-alg.reg.int');
  t.equal(parseTsigAlgorithm('hmac-sha3'), undefined);
});

t.test('the digest is that of the document', async (t) => {
  const key: TsigKey = {
    name: parseName('k.example.'),
    algorithm: 'hmac-sha256',
    secret: Buffer.from('0123456789abcdef0123456789abcdef'),
  };
  const plain = new Uint8Array(makeQuery(parseName('example.com.'), 252, { id: 17_751 }));
  const { mac } = signMessage(plain, key, { time: 1_795_338_474 });
  t.equal(Buffer.from(mac).toString('base64'), computeByHand());
});

t.test('any changed octet is noticed', async (t) => {
  const { message } = signMessage(query, KEY, { time: NOW });
  for (let at = 0; at < message.length; at++) {
    const changed = message.slice();
    changed[at]! ^= 0x01;
    const tsig = findTsig(changed);
    if (tsig === 'none' || tsig === 'malformed') continue;
    // The ID itself is not covered: the original one is (RFC 8945 §5.3).
    if (at < 2) continue;
    const sameKey = Buffer.compare(tsig.keyName, KEY.name) === 0;
    const named = sameKey && Buffer.compare(tsig.algorithm, found(message).algorithm) === 0;
    t.not(named ? verifyMessage(changed, tsig, KEY, NOW) : 17, 0, `octet ${at}`);
  }
});

t.test('the checks come in the order of the document', async (t) => {
  const { message } = signMessage(query, KEY, { time: NOW });
  const tsig = found(message);
  const cut = (octets: number): TsigRecord => ({ ...tsig, mac: tsig.mac.slice(0, octets) });
  t.equal(verifyMessage(message, cut(15), KEY, NOW), 'malformed', 'less than half');
  t.equal(verifyMessage(message, { ...tsig, mac: new Uint8Array(33) }, KEY, NOW), 'malformed', 'more than there is');
  t.equal(
    verifyMessage(message, { ...tsig, mac: new Uint8Array(32) }, KEY, NOW + 1000),
    16,
    'a wrong one, and too late',
  );
  t.equal(verifyMessage(message, cut(16), KEY, NOW + 301), 18, 'too late, and too short');
  t.equal(verifyMessage(message, cut(16), KEY, NOW + 300), 22, 'too short');
  t.equal(verifyMessage(message, tsig, KEY, NOW - 300), 0);
  t.equal(verifyMessage(message, tsig, KEY, NOW - 301), 18);
});

t.test('a record in the wrong place or twice is malformed', async (t) => {
  const { message } = signMessage(query, KEY, { time: NOW });
  t.equal(findTsig(query), 'none');
  const twice = signMessage(message, KEY, { time: NOW }).message;
  t.equal(findTsig(twice), 'malformed');
  t.equal(findTsig(message.slice(0, -1)), 'malformed');
  t.equal(findTsig(Buffer.concat([message, Buffer.alloc(1)])), 'malformed');
  t.equal(findTsig(new Uint8Array(5)), 'malformed');
  const moved = message.slice();
  moved[7] = 1;
  moved[11] = 0;
  t.equal(findTsig(moved), 'malformed', 'in the answer section');
});

t.test('answers are bound to their request, and messages of a stream to those before', async (t) => {
  const request = signMessage(query, KEY, { time: NOW });
  const answer = signMessage(query, KEY, { time: NOW, prior: request.mac }).message;
  t.equal(verifyMessage(answer, found(answer), KEY, NOW, { prior: request.mac }), 0);
  t.equal(verifyMessage(answer, found(answer), KEY, NOW), 16);

  const sign = createStreamSigner(KEY, request.mac, () => NOW);
  const messages = [sign(query), sign(query), sign(query)];
  let prior = request.mac;
  for (const [index, message] of messages.entries()) {
    const tsig = found(message);
    t.equal(verifyMessage(message, tsig, KEY, NOW, { prior, continues: index > 0 }), 0);
    prior = tsig.mac;
  }
  const second = found(messages[1]!);
  t.equal(verifyMessage(messages[1]!, second, KEY, NOW, { prior: request.mac, continues: true }), 16, 'one is missing');
});

t.test('an error about a signature names its key and has no MAC', async (t) => {
  const { message } = signMessage(query, KEY, { time: NOW });
  const told = found(appendTsigError(query, found(message), 17));
  t.match(told, { error: 17, originalId: 0x1234, fudge: 300, time: NOW });
  t.equal(told.mac.length, 0);
  t.equal(printWire(told.keyName), 'k.example.');
});

t.test('random messages come back from two decoders', async (t) => {
  const random = seededRandom(7);
  const pick = (below: number): number => random.bytes(4).reduce((sum, octet) => sum * 256 + octet, 0) % below;
  const labels = ['a', 'www', 'Mail', 'x'.repeat(63), '_sip', '*'];
  const nameOf = (): Uint8Array => parseName(`${labels[pick(6)]}.${labels[pick(6)]}.Zone.example.`);
  const rdataOf = (type: number): Uint8Array => {
    if (type === 1) return random.bytes(4);
    if (type === 15) return Buffer.concat([random.bytes(2), nameOf()]);
    if (type === 6) return Buffer.concat([nameOf(), nameOf(), random.bytes(20)]);
    if (type === 39 || type === 2) return nameOf();
    return Buffer.concat([Uint8Array.of(200), Buffer.alloc(200, 'x')]);
  };
  const writer = new MessageWriter(16_000);
  let smaller = 0;
  for (let round = 0; round < 40; round++) {
    writer.begin(round, 0x8400, { name: NAME, type: 252, class: 1 });
    const records: { owner: Uint8Array; type: number; ttl: number; rdata: Uint8Array }[] = [];
    let plain = 12;
    for (let left = pick(300); left > 0; left--) {
      const type = [1, 15, 6, 39, 2, 16][pick(6)]!;
      const record = { owner: nameOf(), type, ttl: pick(86_400), rdata: new Uint8Array(rdataOf(type)) };
      if (!writer.add('answer', record.owner, type, record.ttl, record.rdata)) break;
      records.push(record);
      plain += record.owner.length + 10 + record.rdata.length;
    }
    const message = writer.finish();
    if (message.length < plain) smaller++;
    if (message.length > 16_000) t.fail('longer than a usual message');
    const read = readMessage(message);
    const wanted = records.map((record) => ({ ...record, class: 1 }));
    t.ok(isDeepStrictEqual(read?.answers, wanted));
    t.ok(
      isDeepStrictEqual(
        decodeMessage(Buffer.from(message)).answer.map(({ owner, type, ttl }) => [owner, type, ttl]),
        records.map(({ owner, type, ttl }) => [printWire(owner), type, ttl]),
      ),
    );
  }
  t.ok(smaller > 30, 'names are compressed');
});

t.test('a large record stands alone, and one that fits nowhere is refused', async (t) => {
  const writer = new MessageWriter(1000, LONGEST_MESSAGE - 400);
  writer.begin(1, 0x8400, { name: NAME, type: 252, class: 1 });
  t.ok(writer.isEmpty);
  t.ok(writer.add('answer', NAME, 16, 60, new Uint8Array(60_000)));
  t.notOk(writer.add('answer', NAME, 1, 60, new Uint8Array(4)));
  t.equal(decodeMessage(Buffer.from(writer.finish())).answer.length, 1);
  writer.begin(1, 0x8400);
  t.notOk(writer.add('answer', NAME, 16, 60, new Uint8Array(65_535)));
  t.ok(writer.add('answer', NAME, 16, 60, new Uint8Array(65_000)));
});

/** RFC 8945 §4.3.3 by hand: the message, then name, class, TTL, algorithm, time, fudge, error and other length. */
function computeByHand(): string {
  const message = Buffer.from('455700000001000000000000' + '076578616d706c6503636f6d00' + '00fc0001', 'hex');
  const variables = Buffer.from(
    '016b076578616d706c6500' +
      '00ff' +
      '00000000' +
      '0b686d61632d73686132353600' +
      '00006b02b0ea' +
      '012c' +
      '0000' +
      '0000',
    'hex',
  );
  return createHmac('sha256', '0123456789abcdef0123456789abcdef').update(message).update(variables).digest('base64');
}
