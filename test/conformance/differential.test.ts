/**
 * Every question asked of NSD, Knot, BIND and us, answers compared by meaning. Where the three agree, we agree with them.
 *
 * ZONEPLANE_CONFORMANCE_SEED repeats a run, ZONEPLANE_CONFORMANCE_ZONES (default 150) makes it longer.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { Transport } from '../../src/answer/transport.js';
import { parseName } from '../../src/dns/name.js';
import { typeByMnemonic } from '../../src/dns/rr/registry.js';
import { type DecodedMessage, type DecodedRR, decodeMessage, makeQuery } from '../support/message.js';
import {
  askAll,
  askAllByTcp,
  missingReferences,
  type References,
  startReferences,
} from '../support/reference-servers.js';
import { type ServedZones, serveZones, type ZoneSource } from '../support/served-zones.js';
import { candidateNames, makeRandomZones, type Question } from './random-zones.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? process.hrtime.bigint() & 0xffffffn);
const ZONES = Number(process.env['ZONEPLANE_CONFORMANCE_ZONES'] ?? 150);
const QUESTIONS = 120;

const TOPICS = fileURLToPath(new URL('../../../test/vectors/conformance/', import.meta.url));
const TOPIC_TYPES = [
  'A',
  'AAAA',
  'NS',
  'CNAME',
  'MX',
  'TXT',
  'SOA',
  'DS',
  'SRV',
  'TYPE65280',
  'DNAME',
  'PTR',
  'HTTPS',
  'NAPTR',
  'CAA',
];

type Way = 'udp' | 'edns' | 'tcp';

/** What an answer means: the parts that must be the same on every server. */
interface Meaning {
  readonly rcode: number;
  readonly tc: boolean;
  readonly aa: boolean;
  readonly answer: string;
  readonly authority: string;
}

interface Tally {
  asked: number;
  unanimous: number;
  differences: string[];
  agreed: Map<string, number>;
}

const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

t.test(`random zones, seed ${SEED}`, { skip, timeout: 240_000 }, async (t) => {
  const zones = makeRandomZones(SEED, ZONES, QUESTIONS);
  const tally = await compare(
    zones,
    zones.flatMap(({ questions }) => questions),
  );
  t.ok(tally.unanimous > ZONES * QUESTIONS, 'the references were asked and mostly agreed');
  t.strictSame(
    tally.differences.slice(0, 10),
    [],
    `nothing differs where they agree (repeat with ZONEPLANE_CONFORMANCE_SEED=${SEED})`,
  );
  report(t, tally);
});

t.test('zones by topic', { skip, timeout: 240_000 }, async (t) => {
  const zones = readTopics();
  t.ok(zones.length >= 20, `${zones.length} zones`);
  const tally = await compare(zones, zones.flatMap(questionsFor));
  t.strictSame(tally.differences.slice(0, 10), [], 'nothing differs where the references agree');
  report(t, tally);
});

function report(t: Tap, { asked, unanimous, agreed }: Tally): void {
  const shares = [...agreed].map(([name, count]) => `${name} ${((100 * count) / asked).toFixed(2)} %`);
  t.comment(
    `${asked} answers compared, ${unanimous} where NSD, Knot and BIND agree; we agree with ${shares.join(', ')}`,
  );
}

type Tap = Pick<typeof t, 'comment'>;

async function compare(zones: readonly ZoneSource[], questions: readonly Question[]): Promise<Tally> {
  const ours = serveZones(zones);
  const references = await startReferences(zones);
  try {
    const tally: Tally = { asked: 0, unanimous: 0, differences: [], agreed: new Map() };
    for (const way of ['udp', 'edns', 'tcp'] as const) await compareBy(way, ours, references, questions, tally);
    return tally;
  } finally {
    await references.stop();
  }
}

async function compareBy(
  way: Way,
  ours: ServedZones,
  references: References,
  questions: readonly Question[],
  tally: Tally,
): Promise<void> {
  const queries = questions.map(({ name, type }) =>
    makeQuery(parseName(name), typeByMnemonic(type)!.code, way === 'edns' ? { edns: 1232 } : {}),
  );
  const ask = way === 'tcp' ? askAllByTcp : askAll;
  const theirs = await Promise.all(references.servers.map(({ port }) => ask(port, queries)));
  queries.forEach((query, index) => {
    const answers = theirs.map((list) => list[index] && decodeMessage(list[index]));
    // A zone that one of them did not load says nothing.
    if (answers.some((answer) => !answer || answer.rcode === 2 || answer.rcode === 5)) return;
    const mine = decodeMessage(answerOf(ours, query, way));
    const meanings = answers.map((answer) => meaningOf(answer!));
    const own = meaningOf(mine);
    tally.asked++;
    references.servers.forEach(({ name }, at) => {
      if (same(meanings[at]!, own)) tally.agreed.set(name, (tally.agreed.get(name) ?? 0) + 1);
    });
    if (!same(meanings[0]!, meanings[1]!) || !same(meanings[1]!, meanings[2]!)) return;
    tally.unanimous++;
    const { name, type } = questions[index]!;
    if (!same(meanings[0]!, own)) {
      tally.differences.push(`${way} ${name} ${type}: they ${JSON.stringify(meanings[0])}, we ${JSON.stringify(own)}`);
    }
    const lost = mandatoryGlue(answers as DecodedMessage[], mine);
    if (lost !== undefined) tally.differences.push(`${way} ${name} ${type}: glue is missing: ${lost}`);
  });
}

function answerOf({ answer }: ServedZones, query: Buffer, way: Way): Buffer {
  const out = Buffer.alloc(65535);
  const length = answer(query, 0, query.length, out, 0, out.length, way === 'tcp' ? Transport.tcp : Transport.udp);
  return out.subarray(0, length);
}

function meaningOf(message: DecodedMessage): Meaning {
  const { rcode, tc, aa } = message;
  // What a truncated answer still holds is free.
  if (tc) return { rcode, tc, aa: true, answer: '', authority: '' };
  return { rcode, tc, aa, answer: printAnswer(message.answer), authority: printAuthority(message) };
}

/** Links of a chain in their order, the rest as a set. */
function printAnswer(records: readonly DecodedRR[]): string {
  const links = records.filter(({ type }) => type === 5 || type === 39).map(printRR);
  const others = records.filter(({ type }) => type !== 5 && type !== 39).map(printRR);
  return [...links, ...others.sort()].join('\n');
}

/** NS of the zone beside a positive answer is free: it helps nobody who has the answer. */
function printAuthority({ aa, answer, authority }: DecodedMessage): string {
  const isReferralOrNegative =
    !aa || answer.length === 0 || authority.some(({ type }) => type === 6) || isChain(answer);
  return isReferralOrNegative ? authority.map(printRR).sort().join('\n') : '';
}

function isChain(answer: readonly DecodedRR[]): boolean {
  return answer.every(({ type }) => type === 5 || type === 39);
}

function printRR({ owner, type, class: rrClass, ttl, rdata }: DecodedRR): string {
  return `${owner} ${ttl} ${rrClass} ${type} ${rdata}`;
}

function same(a: Meaning, b: Meaning): boolean {
  return a.rcode === b.rcode && a.tc === b.tc && a.aa === b.aa && a.answer === b.answer && a.authority === b.authority;
}

/** In a referral, addresses at or below the cut that all references give must be in ours (RFC 9471). */
function mandatoryGlue(theirs: readonly DecodedMessage[], mine: DecodedMessage): string | undefined {
  if (mine.aa || mine.tc || theirs.some(({ aa, tc }) => aa || tc)) return undefined;
  const cut = mine.authority[0]?.owner;
  if (cut === undefined) return undefined;
  const [first, ...others] = theirs.map(({ additional }) =>
    additional.filter(({ owner }) => owner === cut || owner.endsWith(`.${cut}`)).map(printRR),
  );
  const given = new Set(mine.additional.map(printRR));
  return first?.find((record) => !given.has(record) && others.every((list) => list.includes(record)));
}

/** Zones written by hand, one a file, named by the apex in their first line. */
function readTopics(): ZoneSource[] {
  return readdirSync(TOPICS)
    .filter((file) => file.endsWith('.zone'))
    .flatMap((file) => {
      const text = readFileSync(`${TOPICS}${file}`, 'utf8');
      const apexes = [...text.matchAll(/^\$ORIGIN (\S+)$/gm)].map((match) => match[1]!);
      const parts = text.split(/^(?=\$ORIGIN )/m).slice(1);
      return apexes.map((apex, index) => ({ apex, text: parts[index]! }));
    });
}

function questionsFor({ apex, text }: ZoneSource): Question[] {
  const owners = text
    .split('\n')
    .slice(1)
    .flatMap((line) => /^([^\s;$]+)\s/.exec(line)?.[1] ?? [])
    .map((owner) => (owner === '@' ? apex : owner.endsWith('.') ? owner : `${owner}.${apex}`));
  const names = candidateNames([...new Set(owners), apex], apex).filter((name) => name.length < 230);
  return names.flatMap((name) => TOPIC_TYPES.map((type) => ({ name, type })));
}
