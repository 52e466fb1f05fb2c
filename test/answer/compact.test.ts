/** Compact denial (RFC 9824): what answers hold, what is signed for them, and the limit of the time for signatures. */
import t from 'tap';
import { answerWith, createEngine } from '../../src/answer/engine.js';
import { signingTimeOf, takeSigningTime } from '../../src/answer/signing-time.js';
import { createEngineState, DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { DEFERRED, Transport, type TransportCode } from '../../src/answer/transport.js';
import { compareBytes } from '../../src/base/bytes.js';
import type { Clock } from '../../src/base/clock.js';
import type { CompactAnswerer } from '../../src/compact/answerer.js';
import { Type } from '../../src/dns/codes.js';
import { nameLength, nameOfLabels, ownerKeyOf, parseName, printName } from '../../src/dns/name.js';
import { typeByMnemonic, typeMnemonic } from '../../src/dns/rr/registry.js';
import { typesOfBitmap } from '../../src/dns/type-bitmap.js';
import { compactNsecRdata, nameBehind } from '../../src/dnssec/denial.js';
import { type DecodedMessage, type DecodedRR, decodeMessage, makeQuery } from '../support/message.js';
import { type ServedZones, serveCompact, serveZones } from '../support/served-zones.js';
import { TestClock } from '../support/test-clock.js';

const APEX = 'example.';
const ZONE = `$ORIGIN ${APEX}
$TTL 300
@ SOA ns1 host 1 7200 3600 1209600 60
@ NS ns1
ns1 A 192.0.2.1
*.w A 192.0.2.3
*.w MX 10 mail.w
a.b.c TXT "below empty non-terminals"
gone CNAME missing
*.al CNAME y.w
d DNAME w
ins NS ns.ins
ns.ins A 192.0.2.5
`;
/** EDNS flags. */
const DO = 0x80;
const CO = 0x40;

function serve(): ServedZones {
  return serveZones([{ apex: APEX, text: ZONE, denial: { kind: 'compact' } }]);
}

function query(name: string, type: string, flags = DO, size = 1232): Buffer {
  const code = type === 'NXNAME' ? Type.nxname : type === 'ANY' ? Type.any : typeByMnemonic(type)!.code;
  const octets = makeQuery(parseName(name), code, { edns: size });
  // OPT is the end of the message; its flags stand before the length of its options.
  octets[octets.length - 4] = flags;
  return octets;
}

function ask(compact: Pick<CompactAnswerer, 'answer'>, octets: Buffer, transport: TransportCode = 0): DecodedMessage {
  const out = Buffer.alloc(65535);
  return decodeMessage(out.subarray(0, compact.answer(octets, 0, octets.length, out, 0, out.length, transport)));
}

/** RRsets as `owner type`, of NSEC with next name and types, and with `S` behind those with a signature that covers them. */
function setsOf(records: readonly DecodedRR[]): string[] {
  const sets = new Map<string, string>();
  for (const { owner, type, rdata } of records) {
    if (type === Type.rrsig) {
      const set = `${owner} ${typeMnemonic(Number.parseInt(rdata.slice(0, 4), 16))}`;
      const labels = Number.parseInt(rdata.slice(6, 8), 16);
      const own = owner === '.' ? 0 : owner.replace(/^\*\./, '').split('.').length - 1;
      sets.set(set, `${sets.get(set)} S${labels === own ? '' : `${labels}`}`);
    } else sets.set(`${owner} ${typeMnemonic(type)}`, type === Type.nsec ? ` ${printNsec(rdata)}` : '');
  }
  return [...sets].map(([set, rest]) => set + rest);
}

function printNsec(hex: string): string {
  const rdata = Buffer.from(hex, 'hex');
  const length = nameLength(rdata);
  const types = typesOfBitmap(rdata, length, rdata.length).map(typeMnemonic);
  return `${printName(rdata)} ${types.join(' ')}`;
}

const SOA = 'example. SOA S';
// 128: NXNAME.
const MISSING = 'RRSIG NSEC TYPE128 S';

type Row = readonly [
  name: string,
  type: string,
  rcode: number,
  answer: readonly string[],
  authority: readonly string[],
];

const ROWS: readonly Row[] = [
  ['ns1.example.', 'A', 0, ['ns1.example. A S'], []],
  ['NS1.example.', 'MX', 0, [], [SOA, 'ns1.example. NSEC \\000.ns1.example. A RRSIG NSEC S']],
  ['missing.example.', 'A', 0, [], [SOA, `missing.example. NSEC \\000.missing.example. ${MISSING}`]],
  ['MISSING.example.', 'ANY', 0, [], [SOA, `missing.example. NSEC \\000.missing.example. ${MISSING}`]],
  ['x.y.ns1.example.', 'A', 0, [], [SOA, `x.y.ns1.example. NSEC \\000.x.y.ns1.example. ${MISSING}`]],
  ['b.c.example.', 'A', 0, [], [SOA, 'b.c.example. NSEC \\000.b.c.example. RRSIG NSEC S']],
  ['q.w.example.', 'A', 0, ['q.w.example. A S'], []],
  ['q.r.w.example.', 'MX', 0, ['q.r.w.example. MX S'], []],
  ['q.w.example.', 'TXT', 0, [], [SOA, 'q.w.example. NSEC \\000.q.w.example. A MX RRSIG NSEC S']],
  [
    'gone.example.',
    'A',
    0,
    ['gone.example. CNAME S'],
    [SOA, `missing.example. NSEC \\000.missing.example. ${MISSING}`],
  ],
  ['q.al.example.', 'A', 0, ['q.al.example. CNAME S', 'y.w.example. A S'], []],
  [
    'q.al.example.',
    'TXT',
    0,
    ['q.al.example. CNAME S'],
    [SOA, 'y.w.example. NSEC \\000.y.w.example. A MX RRSIG NSEC S'],
  ],
  ['q.d.example.', 'A', 0, ['d.example. DNAME S', 'q.d.example. CNAME', 'q.w.example. A S'], []],
  ['x.ins.example.', 'A', 0, [], ['ins.example. NS', 'ins.example. NSEC \\000.ins.example. NS RRSIG NSEC S']],
  ['ins.example.', 'DS', 0, [], [SOA, 'ins.example. NSEC \\000.ins.example. NS RRSIG NSEC S']],
  // Every name has an NSEC record.
  ['missing.example.', 'NSEC', 0, [`missing.example. NSEC \\000.missing.example. ${MISSING}`], []],
  ['q.w.example.', 'NSEC', 0, ['q.w.example. NSEC \\000.q.w.example. A MX RRSIG NSEC S'], []],
  ['c.example.', 'NSEC', 0, ['c.example. NSEC \\000.c.example. RRSIG NSEC S'], []],
  ['ns1.example.', 'NSEC', 0, ['ns1.example. NSEC \\000.ns1.example. A RRSIG NSEC S'], []],
];

t.test('every kind of answer', async (t) => {
  const { compact } = serveCompact(serve(), { clock: new TestClock() });
  for (const [name, type, rcode, answer, authority] of ROWS) {
    // The second time from the table.
    for (const time of ['first', 'second']) {
      const found = ask(compact, query(name, type), Transport.tcp);
      const sets = [found.rcode, setsOf(found.answer), setsOf(found.authority)];
      t.strictSame(sets, [rcode, answer, authority], `${name} ${type}, ${time} time`);
    }
  }
  compact.close();
});

t.test('response codes: as ever without DO, NXDOMAIN and CO for those who set CO', async (t) => {
  const served = serve();
  const { compact } = serveCompact(served, { clock: new TestClock() });
  const flagsOf = (octets: Buffer): [rcode: number, flags: number, authority: number] => {
    const out = Buffer.alloc(4096);
    const length = compact.answer(octets, 0, octets.length, out, 0, out.length, Transport.tcp);
    const { rcode, authority } = decodeMessage(out.subarray(0, length));
    return [rcode, out[length - 4]!, authority.length];
  };
  t.strictSame(flagsOf(query('missing.example.', 'A', 0)), [3, 0, 1]);
  t.strictSame(flagsOf(query('missing.example.', 'A', CO)), [3, 0, 1], 'CO is nothing without DO');
  t.strictSame(flagsOf(query('missing.example.', 'A', DO)), [0, DO, 4]);
  t.strictSame(flagsOf(query('missing.example.', 'A', DO | CO)), [3, DO | CO, 4]);
  t.strictSame(flagsOf(query('gone.example.', 'A', DO | CO)), [3, DO | CO, 4]);
  t.strictSame(flagsOf(query('b.c.example.', 'A', DO | CO)), [0, DO | CO, 4], 'an empty non-terminal exists');
  t.strictSame(flagsOf(query('ns1.example.', 'A', DO | CO)), [0, DO | CO, 0]);
  compact.close();
  const nsec = ask(
    serveZones([{ apex: APEX, text: ZONE, denial: { kind: 'nsec' } }]),
    query('missing.example.', 'A', DO | CO),
  );
  t.equal(nsec.rcode, 3);
  t.equal(nsec.opt?.dnssecOk, true);
});

t.test('a question for NXNAME is a format error', async (t) => {
  const out = Buffer.alloc(512);
  const octets = query('ns1.example.', 'NXNAME');
  const length = serve().answer(octets, 0, octets.length, out, 0, out.length, Transport.udp);
  const { rcode, answer, authority, opt } = decodeMessage(out.subarray(0, length));
  t.strictSame([rcode, answer, authority], [1, [], []]);
  t.strictSame(opt?.options, Buffer.from('000f0002001e', 'hex'), 'RFC 8914: invalid query type');
});

/** Octets of the names, most significant label first, as canonical order compares them. */
const orderOf = (name: Uint8Array): Uint8Array => ownerKeyOf(name, Uint8Array.of(0));

t.test('the name behind a name', async (t) => {
  const label = (length: number, octet: number): Uint8Array => new Uint8Array(length).fill(octet);
  const long = [label(63, 97), label(63, 97), label(63, 97)];
  const cases: readonly (readonly [name: Uint8Array, behind: Uint8Array])[] = [
    [parseName('example.'), parseName('\\000.example.')],
    [nameOfLabels([label(59, 98), ...long]), nameOfLabels([label(1, 0), label(59, 98), ...long])],
    // 254 octets: the first label grows.
    [nameOfLabels([label(60, 98), ...long]), nameOfLabels([Uint8Array.of(...label(60, 98), 0), ...long])],
    // 255 octets: the first label is the next one.
    [nameOfLabels([label(61, 98), ...long]), nameOfLabels([Uint8Array.of(...label(60, 98), 99), ...long])],
    [
      nameOfLabels([Uint8Array.of(...label(60, 98), 0x40), ...long]),
      nameOfLabels([Uint8Array.of(...label(60, 98), 0x5b), ...long]),
    ],
    [nameOfLabels([Uint8Array.of(98, ...label(60, 255)), ...long]), nameOfLabels([Uint8Array.of(99), ...long])],
    [nameOfLabels([label(61, 255), ...long]), nameOfLabels([Uint8Array.of(...label(62, 97), 98), ...long.slice(1)])],
    [nameOfLabels([label(61, 255), label(63, 255), label(63, 255), label(63, 255)]), Uint8Array.of(0)],
  ];
  for (const [name, behind] of cases) {
    t.strictSame(Buffer.from(nameBehind(name)), Buffer.from(behind), printName(name).slice(0, 20));
    if (behind.length > 1) t.ok(compareBytes(orderOf(name), orderOf(behind)) < 0);
  }
  t.equal(
    printNsec(Buffer.from(compactNsecRdata(parseName('Ab.example.'), [1])).toString('hex')),
    '\\000.ab.example. A',
  );
});

t.test('the engine alone defers on streams, and truncates datagrams beyond the time for signatures', async (t) => {
  const served = serve();
  const out = Buffer.alloc(4096);
  const memory = new SharedArrayBuffer(8);
  const run = (settings: object, octets: Buffer, transport: TransportCode): number =>
    createEngine(served.writer.reader, { ...DEFAULT_ENGINE_SETTINGS, ...settings })(
      octets,
      0,
      octets.length,
      out,
      0,
      out.length,
      transport,
    );
  const missing = query('missing.example.', 'A');
  t.equal(run({ signingTime: memory }, missing, Transport.tcp), DEFERRED);
  for (const settings of [{}, { signingTime: memory }]) {
    const { tc, rcode, authority } = decodeMessage(out.subarray(0, run(settings, missing, Transport.udp)));
    t.strictSame([tc, rcode, authority.length], [true, 0, 0], 'no time');
  }
  takeSigningTime(signingTimeOf(memory), -20_001);
  t.equal(run({ signingTime: memory }, missing, Transport.udp), DEFERRED, 'time');
  takeSigningTime(signingTimeOf(memory), 1);
  t.ok(run({ signingTime: memory }, missing, Transport.udp) > 0, 'the rest is for streams');
  for (const [name, type] of [
    ['ns1.example.', 'A'],
    ['ns1.example.', 'MX'],
    ['x.ins.example.', 'A'],
  ] as const) {
    t.ok(run({}, query(name, type), Transport.udp) > 0, `${name} ${type} needs no signature`);
  }
});

t.test(
  'beyond the time, streams wait for a second, then use time of the future; beyond that there is SERVFAIL',
  async (t) => {
    const clock = new TestClock();
    const { compact, signingTime, made } = serveCompact(serve(), { clock });
    const time = signingTimeOf(signingTime);
    const later = async (name: string): Promise<DecodedMessage> => {
      const answer = await compact.answerDeferred(query(name, 'A'), Transport.tcp, '192.0.2.9', 5353);
      return decodeMessage(Buffer.from(answer!));
    };
    t.equal((await later('one.example.')).rcode, 0);
    takeSigningTime(time, 150_000);
    const [two, three] = [later('two.example.'), later('three.example.')];
    clock.advance(200);
    t.equal(made.size, 1, 'nothing is signed meanwhile');
    clock.advance(400);
    t.strictSame(setsOf((await two).authority).length, 2);
    t.strictSame(setsOf((await three).authority).length, 2);
    t.equal(made.size, 3);
    // A second adds 0.2 s.
    takeSigningTime(time, time[0]! + 290_000);
    const late = later('late.example.');
    clock.advance(900);
    t.equal(made.size, 3, 'nothing is signed meanwhile');
    clock.advance(150);
    t.strictSame(setsOf((await late).authority).length, 2);
    t.equal(made.size, 4);
    t.ok(time[0]! < -50_000, 'with time of the future');
    // Of those that cannot wait, such as signed ones.
    t.equal(ask(compact, query('at-once.example.', 'A'), Transport.tcp).rcode, 0);
    t.equal(made.size, 5);
    takeSigningTime(time, 10_000_000);
    const four = later('four.example.');
    clock.advance(1100);
    const failed = await four;
    t.equal(failed.rcode, 2);
    t.strictSame(failed.opt?.options, Buffer.from('000f0002000e', 'hex'), 'RFC 8914: not ready');
    t.equal(made.size, 5, 'the failure is not kept');
    t.equal((await later('two.example.')).rcode, 0, 'what is made costs no signature');
    const [, spent, , failures] = compact.samples();
    t.ok(spent!.value > 0);
    t.equal(failures!.value, 1);
    compact.close();
  },
);

t.test('whoever asks for many names keeps nobody else waiting', async (t) => {
  const clock = new TestClock();
  const names = ['mine.', 'greedy.', 'second.', 'third.'];
  const zones = names.map((apex) => ({
    apex,
    text: ZONE.replaceAll(APEX, apex),
    denial: { kind: 'compact' } as const,
  }));
  const { compact, signingTime } = serveCompact(serveZones(zones), {
    clock,
    accountOf: (apex) => names.indexOf(printName(apex)),
  });
  const time = signingTimeOf(signingTime);
  const rcodes = new Map<string, number>();
  const later = (name: string): void => {
    const answer = compact.answerDeferred(query(name, 'A'), Transport.tcp, '192.0.2.9', 5353);
    void Promise.resolve(answer).then((octets) => rcodes.set(name, decodeMessage(Buffer.from(octets!)).rcode));
  };
  const ended = (part: string): number => [...rcodes.keys()].filter((name) => name.includes(part)).length;
  takeSigningTime(time, time[0]!);
  for (let i = 0; i < 500; i++) later(`n${i}.greedy.`);
  for (let i = 0; i < 100; i++) for (const zone of ['second.', 'third.']) later(`n${i}.${zone}`);
  later('one.mine.');
  await new Promise(setImmediate);
  t.strictSame(
    [ended('mine'), ended('second'), ended('third')],
    [0, 0, 0],
    'what waits has displaced what is too much',
  );
  t.equal(ended('greedy'), 201);
  clock.advance(50);
  await new Promise(setImmediate);
  t.equal(rcodes.get('one.mine.'), 0, 'in the first of many turns');
  t.ok(ended('second') > 20 && ended('third') > 20, `${ended('second')} and ${ended('third')} of a turn`);
  // Those of the greedy one that have waited for a second do not use the time of the future meanwhile.
  takeSigningTime(time, time[0]! + 1000);
  later('two.mine.');
  clock.advance(1000);
  await new Promise(setImmediate);
  t.equal(rcodes.get('two.mine.'), 0);
  t.ok(time[0]! >= -20_000, `${time[0]} us`);
  compact.close();
});

t.test('time that other programs take while something is signed is given back', async (t) => {
  const clock = new TestClock();
  let stolenUs = 0;
  let usedUs = 0;
  const busy: Clock = Object.assign(Object.create(clock), { steadyUs: () => clock.steadyUs() + stolenUs });
  const { compact } = serveCompact(serve(), {
    clock: busy,
    processorUs: () => usedUs,
    hasKeys() {
      stolenUs += 30_000;
      usedUs += 100;
      return true;
    },
  });
  const answers = Array.from({ length: 40 }, (_, i) =>
    compact.answerDeferred(query(`m${i}.example.`, 'A'), Transport.tcp, '192.0.2.9', 5353),
  );
  clock.advance(2000);
  for (const answer of answers) {
    const { rcode, authority } = decodeMessage(Buffer.from((await answer)!));
    t.strictSame([rcode, authority.length], [0, 4]);
  }
  const [, seconds, , failures] = compact.samples();
  // With the constant share of what happens outside.
  t.strictSame([seconds!.value.toFixed(4), failures!.value], ['0.0060', 0]);
  compact.close();
});

t.test('without keys: a wait, SERVFAIL, and an answer when they come', async (t) => {
  const clock = new TestClock();
  let hasKeys = false;
  const { compact } = serveCompact(serve(), { clock, hasKeys: () => hasKeys });
  const later = (name: string) => compact.answerDeferred(query(name, 'A'), Transport.udp, '192.0.2.9', 5353);
  const one = later('one.example.');
  clock.advance(1100);
  t.equal(decodeMessage(Buffer.from((await one)!)).rcode, 2);
  const two = later('two.example.');
  hasKeys = true;
  clock.advance(100);
  t.equal(decodeMessage(Buffer.from((await two)!)).rcode, 0);
  const three = later('three.example.');
  t.notOk(three instanceof Promise, 'at once');
  compact.close();
});

t.test('a change of the zone makes everything anew', async (t) => {
  const served = serve();
  const { compact, made } = serveCompact(served, { clock: new TestClock() });
  const octets = query('q.w.example.', 'A');
  const first = ask(compact, octets).answer;
  t.strictSame(ask(compact, octets).answer, first);
  t.equal(made.size, 1);
  const [entry] = made.values();
  const state = createEngineState(
    DEFAULT_ENGINE_SETTINGS,
    new Map([[[...made.keys()][0]!, { ...entry!, apexNode: entry!.apexNode + 1 }]]),
  );
  const out = Buffer.alloc(4096);
  const engine = answerWith(state, served.writer.reader);
  t.equal(engine(octets, 0, octets.length, out, 0, out.length, Transport.tcp), DEFERRED, 'another apex node');
  compact.close();
});

t.test('signatures of long ago are removed', async (t) => {
  const clock = new TestClock();
  const { compact, made } = serveCompact(serve(), { clock });
  ask(compact, query('missing.example.', 'A'));
  clock.advance(86_000_000);
  t.equal(made.size, 1);
  clock.advance(500_000);
  t.equal(made.size, 0);
  compact.close();
});
