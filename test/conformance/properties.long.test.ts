/**
 * Properties that hold for any octets, any limit and any zone: no exception, no misplaced octet, answers that others
 * can parse.
 */
import { createRequire } from 'node:module';
import fc from 'fast-check';
import t from 'tap';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { type DecodedMessage, decodeMessage, makeQuery } from '../support/message.js';
import { type ServedZones, serveZones } from '../support/served-zones.js';
import { PROBE_APEX, PROBE_SETTINGS, PROBE_ZONE, PROBES } from './probe-table.js';
import { queryFor } from './questions.js';
import { makeRandomZones } from './random-zones.js';

type Code = 0 | 1 | 2 | 3;

const GUARD = 0xa5;
const BEFORE = 7;
const RCODES = [0, 1, 3, 4, 5, 6, 9, 16];
const LIMITS = [0, 11, 12, 13, 40, 100, 511, 512, 513, 1232, 4096, 65535];

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 2178548);
const RUNS = Number(process.env['ZONEPLANE_PROPERTY_RUNS'] ?? 30_000);

const SETTINGS = { ...DEFAULT_ENGINE_SETTINGS, ...PROBE_SETTINGS };
const probed = serveZones([{ apex: PROBE_APEX, text: PROBE_ZONE }], SETTINGS);
const randomZones = makeRandomZones(SEED, 60, 60);
const random = serveZones(randomZones, SETTINGS);

const out = Buffer.alloc(BEFORE + 65535 + 512);

/** The answer; throws when an octet outside the room given was written. */
function answerWithin({ answer }: ServedZones, query: Buffer, limit: number, transport: Code): Buffer {
  out.fill(GUARD);
  // The request lies in the middle of other octets, which must not matter.
  const around = Buffer.concat([Buffer.alloc(3, 0xff), query, Buffer.alloc(20, 0xff)]);
  const length = answer(around, 3, query.length, out, BEFORE, limit, transport);
  if (length > limit) throw new Error(`${length} octets, ${limit} allowed`);
  const isTouched = (octet: number): boolean => octet !== GUARD;
  if (out.subarray(0, BEFORE).some(isTouched)) throw new Error('octets before the room were written');
  if (out.subarray(BEFORE + limit).some(isTouched)) throw new Error('octets behind the room were written');
  return Buffer.from(out.subarray(BEFORE, BEFORE + length));
}

/** What every answer must be, whatever was asked. */
function checkAnswer(query: Buffer, answer: Buffer, limit: number, transport: Code): void {
  if (answer.length === 0) return;
  const decoded = decodeMessage(answer);
  const problem = problemOf(query, decoded, limit, transport);
  if (problem) throw new Error(`${problem}: ${query.toString('hex')} gives ${answer.toString('hex')}`);
}

function problemOf(query: Buffer, answer: DecodedMessage, limit: number, transport: Code): string | undefined {
  if (!answer.qr || answer.ra || answer.z || answer.ad) return 'flags';
  if (answer.id !== query.readUInt16BE(0)) return 'identifier';
  if (answer.opcode !== ((query[2]! >> 3) & 15)) return 'opcode';
  if (answer.rd !== ((query[2]! & 1) === 1)) return 'RD';
  if (!RCODES.includes(answer.rcode)) return `rcode ${answer.rcode}`;
  if (answer.tc && transport !== Transport.udp && limit === 65535) return 'TC over a stream';
  if (transport === Transport.udp && answer.length > (answer.opt ? SETTINGS.udpSize : 512)) return 'too long for UDP';
  const { question } = answer;
  if (question.length > 0 && !query.subarray(12, 12 + question.length).equals(question)) return 'question';
  if ([1, 4, 5, 9].includes(answer.rcode) && answer.answer.length > 0) return 'data beside an error';
  return undefined;
}

const mutated = fc
  .tuple(
    fc.nat(PROBES.length - 1),
    fc.array(fc.tuple(fc.nat(120), fc.nat(255)), { maxLength: 5 }),
    fc.constantFrom(0, 0, 0, 1, 2, 5, 11, 20),
    fc.uint8Array({ maxLength: 12 }),
  )
  .map(([index, changes, cut, tail]) => {
    const { query } = PROBES[index]!;
    const message = Buffer.concat([
      query.subarray(0, Math.max(0, query.length - cut)),
      cut === 2 ? tail : Buffer.alloc(0),
    ]);
    for (const [at, octet] of changes) if (at < message.length) message[at] = octet;
    return message;
  });
const anything = fc.uint8Array({ maxLength: 600 }).map((octets) => Buffer.from(octets));
/** A header that is in order, and then anything: goes deeper than noise alone. */
const withHeader = fc
  .tuple(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ maxLength: 100 }))
  .map(([counts, rest]) => {
    const [answers, authorities, additionals] = [counts[0]! % 2, counts[1]! % 2, counts[2]! % 4];
    return Buffer.concat([Buffer.from([0x12, 0x34, 0, 0, 0, 1, 0, answers, 0, authorities, 0, additionals]), rest]);
  });

t.test('any octets', async (t) => {
  const property = fc.property(
    fc.oneof({ arbitrary: mutated, weight: 4 }, anything, withHeader),
    fc.constantFrom(...LIMITS),
    fc.constantFrom<Code>(0, 1, 2, 3),
    (query, limit, transport) => {
      const answer = answerWithin(probed, query, limit, transport);
      if (limit >= 512) checkAnswer(query, answer, limit, transport);
      else if (answer.length > 0) decodeMessage(answer);
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: RUNS, seed: SEED }), `${RUNS} packets`);
});

t.test('any buffer size: what does not fit is omitted completely, and the rest equals the TCP answer', async (t) => {
  const questions = randomZones.flatMap((zone) => zone.questions);
  const property = fc.property(
    fc.nat(questions.length - 1),
    fc.integer({ min: 12, max: 700 }),
    fc.constantFrom('udp' as const, 'edns' as const),
    (index, limit, way) => {
      const query = queryFor(questions[index]!, way);
      const answer = answerWithin(random, query, limit, Transport.udp);
      if (answer.length === 0) return limit < query.length + 11;
      const [part, whole] = [answer, answerWithin(random, query, 65535, Transport.tcp)].map(decodeMessage) as [
        DecodedMessage,
        DecodedMessage,
      ];
      const texts = (records: DecodedMessage['answer']): string[] => records.map((record) => JSON.stringify(record));
      const known = new Set(texts(whole.additional));
      if (part.tc) return part.answer.length + part.authority.length + part.additional.length === 0;
      return (
        texts(part.answer).join() === texts(whole.answer).join() &&
        texts(part.authority).join() === texts(whole.authority).join() &&
        texts(part.additional).every((record) => known.has(record)) &&
        part.rcode === whole.rcode
      );
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: RUNS / 3, seed: SEED }));
});

interface ForeignRR {
  readonly name: string;
  readonly type: string;
  readonly ttl?: number;
}
interface ForeignMessage {
  readonly id: number;
  readonly flag_tc: boolean;
  readonly flag_aa: boolean;
  readonly answers: readonly ForeignRR[];
  readonly authorities: readonly ForeignRR[];
  readonly additionals: readonly ForeignRR[];
}
const foreign = createRequire(import.meta.url)('dns-packet') as { decode(message: Buffer): ForeignMessage };

t.test('an independent decoder reads the same', async (t) => {
  let read = 0;
  const print = (name: string, ttl: number | undefined): string => `${name.toLowerCase().replace(/\.$/, '')} ${ttl}`;
  for (const { questions } of randomZones) {
    for (const question of questions) {
      const answer = answerWithin(random, queryFor(question, 'edns'), 65535, Transport.tcp);
      const ours = decodeMessage(answer);
      const theirs = foreign.decode(answer);
      read++;
      const sections = [
        [ours.answer, theirs.answers],
        [ours.authority, theirs.authorities],
        [ours.additional, theirs.additionals.filter(({ type }) => type !== 'OPT')],
      ] as const;
      const same = sections.every(
        ([mine, other]) =>
          mine.map(({ owner, ttl }) => print(owner, ttl)).join() ===
          other.map(({ name, ttl }) => print(name, ttl)).join(),
      );
      if (!same || theirs.flag_aa !== ours.aa || theirs.flag_tc !== ours.tc) t.fail(answer.toString('hex'));
    }
  }
  t.ok(read > 3000, `${read} answers`);
});

t.test('long chains and large RRsets stay readable, however far apart names are', async (t) => {
  const long = (i: number): string =>
    ['a', 'b', 'c'].map((letter) => `${letter.repeat(50)}${String(i).padStart(6, '0')}`).join('.');
  for (const links of [0, 5, 20, 40, 64, 80]) {
    const lines = [
      '@ 300 IN SOA ns h 1 2 3 4 300',
      '@ 300 IN NS ns.example.net.',
      ...Array.from({ length: links }, (_, i) => `${long(i)} 300 IN CNAME ${long(i + 1)}`),
      ...Array.from(
        { length: 400 },
        (_, i) => `${long(links)} 300 IN MX ${i} ${'m'.repeat(50)}${i}.${'z'.repeat(50)}${i % 50}.example.net.`,
      ),
    ];
    const zones = serveZones([{ apex: 'far.test.', text: `${lines.join('\n')}\n` }]);
    const answer = answerWithin(zones, makeQuery(parseName(`${long(0)}.far.test.`), Type.mx), 65535, Transport.tcp);
    const decoded = decodeMessage(answer);
    const followed = decoded.answer.filter(({ type }) => type === Type.cname).length;
    t.ok(followed === links || followed >= 16, `${followed} of ${links} links`);
    t.equal(decoded.answer.length - followed, followed === links ? 400 : 0, 'all MX or none');
  }
});
