/**
 * Header, EDNS and framing cases: bytes in, what must come out, and where it is written. Asked of the engine directly and over UDP
 * and TCP on both UDP transports, which must all say the same.
 */

import { MessageChannel } from 'node:worker_threads';
import fc from 'fast-check';
import t from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { parseName } from '../../src/dns/name.js';
import { startDnsServers } from '../../src/server/start.js';
import { type DecodedMessage, decodeMessage, makeOpt, makeQuery, type QueryOptions } from '../support/message.js';
import { askAll, askAllByTcp } from '../support/reference-servers.js';
import { serveZones } from '../support/served-zones.js';

const text = (length: number, fill: string): string => `"${fill.repeat(length)}"`;

const ZONE = `
@ 3600 IN SOA ns hostmaster 2026 7200 3600 1209600 300
@ 3600 IN NS ns
ns 3600 IN A 192.0.2.1
www 300 IN A 192.0.2.2
alias 300 IN CNAME www
sub 300 IN NS ns.sub
ns.sub 300 IN A 192.0.2.3
x.ent 300 IN A 192.0.2.4
fit509 300 IN TXT ${text(230, 'x')} ${text(220, 'y')}
big 300 IN TXT ${Array.from({ length: 8 }, (_, i) => text(200, String(i))).join(' ')}
huge 300 IN TXT ${text(255, 'a')}
${Array.from({ length: 60 }, (_, i) => `wide 300 IN AAAA 2001:db8::${i + 1}`).join('\n')}
${Array.from({ length: 13 }, (_, i) => `many 300 IN NS ns${i}.many\nns${i}.many 300 IN A 192.0.2.${i}\nns${i}.many 300 IN AAAA 2001:db8::${i}`).join('\n')}
`;

const SETTINGS = { ...DEFAULT_ENGINE_SETTINGS, version: 'probe', identity: 'node-1' };
const served = serveZones([{ apex: 'probe.test.', text: ZONE }], SETTINGS);
t.equal(served.refused.size, 0, 'the zone loads');

const name = (owner: string): Uint8Array => parseName(owner === '@' ? 'probe.test.' : `${owner}.probe.test.`);
const ask = (owner: string, type: number, options: QueryOptions = {}): Buffer => makeQuery(name(owner), type, options);
const patched = (message: Buffer, at: number, ...octets: number[]): Buffer => {
  const out = Buffer.from(message);
  Buffer.from(octets).copy(out, at);
  return out;
};
const WWW = ask('www', 1);
const SOA = 6;
const TXT = 16;
const FORMERR = 1;

type Expectation = 'silence' | ((answer: DecodedMessage) => boolean);

interface Probe {
  readonly what: string;
  readonly rfc: string;
  readonly query: Buffer;
  readonly expect: Expectation;
  /** Only on one kind of transport. */
  readonly only?: 'udp' | 'tcp';
}

const rcode =
  (wanted: number) =>
  (answer: DecodedMessage): boolean =>
    answer.rcode === wanted;
const normal = (answer: DecodedMessage): boolean => answer.rcode === 0 && answer.answer.length === 1 && answer.aa;

const PROBES: readonly Probe[] = [
  {
    what: 'a question',
    rfc: 'RFC 1035 §4.1',
    query: WWW,
    expect: (a) => normal(a) && !a.ra && !a.tc && a.opt === undefined,
  },
  { what: 'a response', rfc: 'RFC 1035 §7.3', query: patched(WWW, 2, 0x80), expect: 'silence' },
  { what: 'eleven octets', rfc: 'RFC 1035 §4.1.1', query: WWW.subarray(0, 11), expect: 'silence', only: 'udp' },
  {
    what: 'a header alone',
    rfc: 'RFC 9619',
    query: Buffer.from('1234000000000000000000 00'.replace(' ', ''), 'hex'),
    expect: (a) => a.rcode === FORMERR && a.question.length === 0,
  },
  {
    what: 'QDCOUNT 0 with OPT',
    rfc: 'RFC 9619',
    query: Buffer.concat([Buffer.from('123400000000000000000001', 'hex'), makeOpt({})]),
    expect: rcode(FORMERR),
  },
  {
    what: 'QDCOUNT 2',
    rfc: 'RFC 9619',
    query: Buffer.concat([patched(WWW, 5, 2), WWW.subarray(12)]),
    expect: rcode(FORMERR),
  },
  {
    what: 'a question that ends early',
    rfc: 'RFC 1035 §4.1.2',
    query: WWW.subarray(0, WWW.length - 2),
    expect: (a) => a.rcode === FORMERR && a.question.length === 0,
  },
  { what: 'a name that runs out', rfc: 'RFC 1035 §3.1', query: WWW.subarray(0, 20), expect: rcode(FORMERR) },
  {
    what: 'a pointer in the question',
    rfc: 'RFC 1035 §4.1.4',
    query: Buffer.from('12340000000100000000 0000c00c00010001'.replace(' ', ''), 'hex'),
    expect: rcode(FORMERR),
  },
  {
    what: 'label type 01',
    rfc: 'RFC 6891 §5',
    query: Buffer.from('123400000001000000000000410000010001', 'hex'),
    expect: rcode(FORMERR),
  },
  {
    what: 'a name of 256 octets',
    rfc: 'RFC 1035 §2.3.4',
    query: Buffer.concat([
      WWW.subarray(0, 12),
      Buffer.alloc(254, Buffer.from('0161', 'hex')),
      Buffer.from('0161000001 0001'.replace(' ', ''), 'hex'),
    ]),
    expect: rcode(FORMERR),
  },
  {
    what: 'octets behind the message',
    rfc: 'RFC 1035',
    query: Buffer.concat([WWW, Buffer.alloc(9, 7)]),
    expect: normal,
  },
  { what: 'ARCOUNT without a record', rfc: 'RFC 1035 §4.1.1', query: patched(WWW, 11, 1), expect: rcode(FORMERR) },
  {
    what: 'RD copied, RA clear',
    rfc: 'RFC 1034 §4.3.1',
    query: ask('www', 1, { flags: 0x0100 }),
    expect: (a) => normal(a) && a.rd && !a.ra,
  },
  {
    what: 'TC, AA, RA, Z, AD, CD and an rcode set',
    rfc: 'RFC 8906 §8.1',
    query: ask('www', 1, { flags: 0x06ff }),
    expect: (a) => normal(a) && !a.tc && !a.ra && !a.ad && !a.z,
  },
  ...[1, 2, 3, 6, 7, 15].map(
    (opcode): Probe => ({
      what: `opcode ${opcode}`,
      rfc: 'RFC 1035 §4.1.1',
      query: ask('www', 1, { flags: opcode << 11 }),
      expect: (a) => a.rcode === 4 && a.opcode === opcode,
    }),
  ),
  {
    what: 'opcode 2 in a header alone',
    rfc: 'RFC 8906 §8.1.4',
    query: Buffer.from('123410000000000000000000', 'hex'),
    expect: (a) => a.rcode === 4 && a.id === 0x1234,
  },
  {
    what: 'opcode 15 with OPT gets OPT',
    rfc: 'RFC 6891 §6.1.1',
    query: ask('www', 1, { flags: 15 << 11, edns: 1232 }),
    expect: (a) => a.rcode === 4 && a.opt !== undefined,
  },
  { what: 'NOTIFY', rfc: 'RFC 1996 §3.10', query: ask('@', SOA, { flags: 4 << 11 }), expect: rcode(5) },
  { what: 'UPDATE', rfc: 'RFC 2136 §3.3', query: ask('@', SOA, { flags: 5 << 11 }), expect: rcode(5) },
  {
    what: 'EDNS',
    rfc: 'RFC 6891 §6.1.1',
    query: ask('www', 1, { edns: 4096 }),
    expect: (a) => normal(a) && a.opt?.size === 1232 && a.opt.version === 0 && !a.opt.dnssecOk,
  },
  {
    what: 'DO comes back',
    rfc: 'RFC 3225 §3',
    query: ask('www', 1, { edns: 1232, dnssecOk: true }),
    expect: (a) => normal(a) && a.opt?.dnssecOk === true,
  },
  {
    what: 'EDNS version 1',
    rfc: 'RFC 6891 §6.1.3',
    query: ask('www', 1, { edns: 1232, version: 1 }),
    expect: (a) => a.rcode === 16 && a.opt?.version === 0 && a.answer.length === 0,
  },
  {
    what: 'an unknown option',
    rfc: 'RFC 6891 §6.1.2',
    query: ask('www', 1, { edns: 1232, options: Buffer.from('fde90002abcd', 'hex') }),
    expect: (a) => normal(a) && a.opt?.options.length === 0,
  },
  {
    what: 'an option that runs out',
    rfc: 'RFC 6891 §6.1.2',
    query: ask('www', 1, { edns: 1232, options: Buffer.from('fde90009ab', 'hex') }),
    expect: rcode(FORMERR),
  },
  {
    what: 'unknown EDNS flags',
    rfc: 'RFC 6891 §6.1.4',
    query: patched(ask('www', 1, { edns: 1232 }), WWW.length + 7, 0x7f, 0xff),
    expect: (a) => normal(a) && a.opt?.dnssecOk === false,
  },
  {
    what: 'two OPT records',
    rfc: 'RFC 6891 §6.1.1',
    query: Buffer.concat([patched(ask('www', 1, { edns: 1232 }), 11, 2), makeOpt({})]),
    expect: rcode(FORMERR),
  },
  {
    what: 'OPT with a name',
    rfc: 'RFC 6891 §6.1.2',
    query: Buffer.concat([patched(WWW, 11, 1), Buffer.from('0161', 'hex'), makeOpt({})]),
    expect: rcode(FORMERR),
  },
  {
    what: 'OPT in the answer section',
    rfc: 'RFC 6891 §6.1.1',
    query: Buffer.concat([patched(WWW, 7, 1), makeOpt({})]),
    expect: rcode(FORMERR),
  },
  { what: 'EDNS size 0 counts as 512', rfc: 'RFC 6891 §6.2.3', query: ask('www', 1, { edns: 0 }), expect: normal },
  {
    what: 'NSID',
    rfc: 'RFC 5001 §2.2',
    query: ask('www', 1, { edns: 1232, options: Buffer.from('00030000', 'hex') }),
    expect: (a) => normal(a) && a.opt?.options.toString('latin1') === '\0\x03\0\x06node-1',
  },
  {
    what: 'the version of the zone',
    rfc: 'RFC 9660 §3.1',
    query: ask('nothing', 1, { edns: 1232, options: Buffer.from('00130000', 'hex') }),
    expect: (a) => a.rcode === 3 && a.opt?.options.toString('hex') === '001300060200000007ea',
  },
  {
    what: 'idle time is told over TCP',
    rfc: 'RFC 7828 §3.2.1',
    query: ask('www', 1, { edns: 1232, options: Buffer.from('000b0000', 'hex') }),
    expect: (a) => normal(a) && a.opt?.options.toString('hex') === '000b00020064',
    only: 'tcp',
  },
  {
    what: 'idle time means nothing over UDP',
    rfc: 'RFC 7828 §3.2.1',
    query: ask('www', 1, { edns: 1232, options: Buffer.from('000b0000', 'hex') }),
    expect: (a) => normal(a) && a.opt?.options.length === 0,
    only: 'udp',
  },
  {
    what: 'a name of no zone',
    rfc: 'RFC 8914 §4.21',
    query: makeQuery(parseName('other.test.'), 1, { edns: 1232 }),
    expect: (a) =>
      a.rcode === 5 && !a.aa && a.authority.length === 0 && a.opt?.options.toString('hex') === '000f00020014',
  },
  {
    what: 'the root',
    rfc: 'RFC 1034 §4.3.2',
    query: makeQuery(parseName('.'), 2),
    expect: (a) => a.rcode === 5 && a.authority.length === 0,
  },
  {
    what: 'NXDOMAIN has the negative TTL',
    rfc: 'RFC 2308 §3',
    query: ask('nothing', 1),
    expect: (a) => a.rcode === 3 && a.aa && a.authority[0]?.type === SOA && a.authority[0].ttl === 300,
  },
  {
    what: 'NODATA at an empty non-terminal',
    rfc: 'RFC 8020 §2',
    query: ask('ent', 1),
    expect: (a) => a.rcode === 0 && a.answer.length === 0 && a.authority.length === 1,
  },
  {
    what: 'ANY is one RRset',
    rfc: 'RFC 8482 §4.1',
    query: ask('@', 255),
    expect: (a) => a.rcode === 0 && a.answer.length === 1,
  },
  {
    what: 'ANY at an alias is the alias',
    rfc: 'RFC 8482 §4.1',
    query: ask('alias', 255),
    expect: (a) => a.answer.length === 1 && a.answer[0]?.type === 5,
  },
  ...[41, 46, 47, 249, 250, 253, 254, 666, 65280, 65535, 0].map(
    (type): Probe => ({
      what: `type ${type}`,
      rfc: 'RFC 6895 §3.1',
      query: ask('www', type),
      expect: (a) => a.rcode === 0 && a.answer.length === 0 && a.authority.length === 1,
    }),
  ),
  { what: 'AXFR', rfc: 'RFC 5936 §4.2', query: ask('@', 252), expect: rcode(4), only: 'udp' },
  { what: "AXFR is nobody's", rfc: 'RFC 5936 §5', query: ask('@', 252), expect: rcode(5), only: 'tcp' },
  {
    what: 'IXFR gives the SOA',
    rfc: 'RFC 1995 §2',
    query: ask('@', 251),
    expect: (a) => a.rcode === 0 && a.answer.length === 1 && a.answer[0]?.type === SOA,
    only: 'udp',
  },
  ...[4, 254, 1000].map(
    (rrClass): Probe => ({
      what: `class ${rrClass}`,
      rfc: 'RFC 1035 §3.2.4',
      query: ask('www', 1, { class: rrClass }),
      expect: rcode(5),
    }),
  ),
  { what: 'class ANY', rfc: 'RFC 1035 §3.2.5', query: ask('www', 1, { class: 255 }), expect: normal },
  {
    what: 'version.bind',
    rfc: 'RFC 4892',
    query: makeQuery(parseName('VERSION.bind.'), TXT, { class: 3 }),
    expect: (a) => a.rcode === 0 && a.answer[0]?.rdata === '0570726f6265' && a.answer[0].class === 3,
  },
  {
    what: 'id.server',
    rfc: 'RFC 4892',
    query: makeQuery(parseName('id.server.'), TXT, { class: 3 }),
    expect: (a) => a.answer[0]?.rdata === '066e6f64652d31',
  },
  {
    what: 'another CH name',
    rfc: 'RFC 4892',
    query: makeQuery(parseName('authors.bind.'), TXT, { class: 3 }),
    expect: rcode(5),
  },
  {
    what: 'the question keeps its case',
    rfc: 'RFC 4343 §4.1',
    query: makeQuery(parseName('wWw.PrObE.tEsT.'), 1),
    expect: (a) => normal(a) && a.question.toString('latin1').includes('wWw\x05PrObE'),
  },
  {
    what: 'more than 512 octets without EDNS',
    rfc: 'RFC 2181 §9',
    query: ask('big', TXT),
    expect: (a) => a.tc && a.length <= 512 && a.answer.length === 0,
    only: 'udp',
  },
  {
    what: 'more than 1232 octets with EDNS 4096',
    rfc: 'RFC 6891 §6.2.5',
    query: ask('big', TXT, { edns: 4096 }),
    expect: (a) => a.tc && a.opt !== undefined && a.answer.length === 0,
    only: 'udp',
  },
  {
    what: 'large answers by TCP are whole',
    rfc: 'RFC 7766 §5',
    query: ask('big', TXT),
    expect: (a) => !a.tc && a.answer.length === 1 && a.length > 1600,
    only: 'tcp',
  },
  {
    what: 'a just fitting answer',
    rfc: 'RFC 1035 §4.2.1',
    query: ask('fit509', TXT),
    expect: (a) => !a.tc && a.answer.length === 1 && a.length > 490 && a.length <= 512,
  },
  {
    what: 'an RRset is whole or absent',
    rfc: 'RFC 2181 §9',
    query: ask('wide', 28, { edns: 1232 }),
    expect: (a) => a.tc && a.answer.length === 0,
    only: 'udp',
  },
  {
    what: 'glue that does not fit sets TC',
    rfc: 'RFC 9471 §3.1',
    query: ask('x.many', 1),
    expect: (a) => a.tc,
    only: 'udp',
  },
  {
    what: 'all glue by TCP',
    rfc: 'RFC 9471 §3.1',
    query: ask('x.many', 1),
    expect: (a) => !a.tc && !a.aa && a.authority.length === 13 && a.additional.length === 26,
    only: 'tcp',
  },
  {
    what: 'a key nobody knows',
    rfc: 'RFC 8945 §5.2.1',
    query: withTsig(WWW),
    expect: (a) =>
      a.rcode === 9 &&
      a.additional.length === 1 &&
      a.additional[0]?.type === 250 &&
      a.additional[0].rdata.endsWith('0000123400110000'),
  },
  {
    what: 'TSIG that is not last',
    rfc: 'RFC 8945 §5.1',
    query: Buffer.concat([patched(withTsig(WWW), 11, 2), makeOpt({})]),
    expect: rcode(FORMERR),
  },
];

/** Signs with a key that does not exist; the MAC is anything. */
function withTsig(query: Buffer): Buffer {
  const algorithm = Buffer.from(parseName('hmac-sha256.'));
  const rest = Buffer.concat([
    Buffer.from('00006553f1000 12c0020'.replace(' ', ''), 'hex'),
    Buffer.alloc(32, 5),
    Buffer.from('123400000000', 'hex'),
  ]);
  const fixed = Buffer.from('00fa00ff000000000000', 'hex');
  fixed.writeUInt16BE(algorithm.length + rest.length, 8);
  return Buffer.concat([patched(query, 11, 1), Buffer.from(parseName('key.test.')), fixed, algorithm, rest]);
}

function direct(query: Buffer, transport: number): Buffer | undefined {
  const out = Buffer.alloc(65535);
  const length = served.answer(query, 0, query.length, out, 0, out.length, transport as 0 | 1 | 2 | 3);
  return length === 0 ? undefined : out.subarray(0, length);
}

const forUdp = PROBES.filter(({ only }) => only !== 'tcp');
const forTcp = PROBES.filter(({ only }) => only !== 'udp');

function check(
  t: { ok(value: unknown, message: string): boolean },
  probes: readonly Probe[],
  answers: readonly (Buffer | undefined)[],
): void {
  probes.forEach(({ what, rfc, expect }, index) => {
    const answer = answers[index];
    if (expect === 'silence') t.ok(answer === undefined, `${what}: silence (${rfc})`);
    else t.ok(answer !== undefined && expect(decodeMessage(answer)), `${what} (${rfc})`);
  });
}

t.test('the engine', async (t) => {
  check(
    t,
    forUdp,
    forUdp.map(({ query }) => direct(query, Transport.udp)),
  );
  check(
    t,
    forTcp,
    forTcp.map(({ query }) => direct(query, Transport.tcp)),
  );
});

for (const transport of ['portable', 'batched'] as const) {
  const skip = transport === 'batched' && process.platform !== 'linux' ? 'batched system calls are for Linux' : false;
  t.test(`over sockets, ${transport}`, { skip }, async (t) => {
    const servers = await startDnsServers({
      addresses: ['127.0.0.1'],
      port: 0,
      transport,
      workers: 1,
      answer: createEngine(served.writer.reader, SETTINGS),
      workerEngine: {
        connect: () => ({
          data: { image: served.writer.current(), settings: SETTINGS },
          port: new MessageChannel().port2,
        }),
      },
      log: silentLogger(),
      clock: new SystemClock(),
    });
    try {
      check(
        t,
        forUdp,
        await askAll(
          servers.port,
          forUdp.map(({ query }) => query),
          300,
          1,
        ),
      );
      const whole = forTcp.filter(({ expect }) => expect !== 'silence');
      check(
        t,
        whole,
        await askAllByTcp(
          servers.port,
          whole.map(({ query }) => query),
        ),
      );
    } finally {
      await servers.close();
    }
  });
}

t.test('answers over encrypted transports are padded when the query was (RFC 8467 §4.1)', async (t) => {
  const padded = ask('www', 1, { edns: 1232, options: Buffer.from('000c000400000000', 'hex') });
  const length = (query: Buffer, transport: number): number => direct(query, transport)!.length;
  t.equal(length(padded, Transport.tls), 468);
  t.equal(length(padded, Transport.https), 468);
  t.ok(length(padded, Transport.tcp) < 100, 'not in the clear');
  t.ok(length(ask('www', 1, { edns: 1232 }), Transport.tls) < 100, 'not unasked');
});

t.test('whatever comes in, the engine neither throws nor writes past its limit', async (t) => {
  const GUARD = 0xa5;
  const seeds = PROBES.map(({ query }) => query);
  const mutated = fc
    .tuple(fc.nat(seeds.length - 1), fc.array(fc.tuple(fc.nat(300), fc.nat(255)), { maxLength: 6 }), fc.nat(400))
    .map(([index, changes, cut]) => {
      const message = Buffer.from(
        seeds[index]!.subarray(0, Math.max(0, seeds[index]!.length - (cut > 350 ? cut - 350 : 0))),
      );
      for (const [at, octet] of changes) if (at < message.length) message[at] = octet;
      return message;
    });
  const anything = fc.uint8Array({ maxLength: 600 }).map((octets) => Buffer.from(octets));
  const limits = fc.constantFrom(12, 40, 100, 511, 512, 1232, 4096, 65535);
  const property = fc.property(
    fc.oneof(mutated, anything),
    limits,
    fc.constantFrom(0, 1),
    (query, limit, transport) => {
      const out = Buffer.alloc(70_000, GUARD);
      const length = served.answer(query, 0, query.length, out, 7, limit, transport as 0 | 1);
      if (length > limit || out.subarray(0, 7).some((octet) => octet !== GUARD)) return false;
      if (out.subarray(7 + limit).some((octet) => octet !== GUARD)) return false;
      if (length === 0) return true;
      const answer = decodeMessage(out.subarray(7, 7 + length));
      return answer.qr && answer.id === query.readUInt16BE(0) && [0, 1, 3, 4, 5, 6, 9, 16].includes(answer.rcode);
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 20_000 }));
});
