/** What answering threads observe: counters by zone, samples, full rings, and how the reader takes them. */
import t from 'tap';
import type { Balance } from '../../src/answer/balance/choose.js';
import { Decided } from '../../src/answer/balance/choose.js';
import { countPool } from '../../src/answer/balance/count-pools.js';
import {
  createObservation,
  Mark,
  MOST_TRIED,
  observationBlock,
  POOLS,
  ROWS,
  Word,
} from '../../src/answer/observation.js';
import { silentLogger } from '../../src/base/log.js';
import { parseName } from '../../src/dns/name.js';
import { typeByMnemonic } from '../../src/dns/rr/registry.js';
import { RRsetSource } from '../../src/dns/rr.js';
import { COUNT_NAMES, type Counts, createCountsReader } from '../../src/observe/counts.js';
import { createActivityMetrics } from '../../src/observe/metrics.js';
import { createPoolCountsReader } from '../../src/observe/pool-counts.js';
import { describeSample, type SampledQuery } from '../../src/observe/query.js';
import { startReader } from '../../src/observe/reader.js';
import { type ActivityReport, printReport } from '../../src/observe/report.js';
import { readSamples, type Sample } from '../../src/observe/samples.js';
import { createChoice } from '../../src/steering/choice.js';
import { HEAD_WORDS, Head, POOL_WORDS, PoolWord } from '../../src/steering/layout.js';
import { APEX, startBalancedZone } from '../support/balanced-zone.js';
import { observed, zoneOf } from '../support/observed.js';
import { serveOwners, serveZones } from '../support/served-zones.js';

function named(counts: Counts): Partial<Record<(typeof COUNT_NAMES)[number], number>> {
  return Object.fromEntries(
    COUNT_NAMES.map((name, place) => [name, counts[place]!]).filter(([, count]) => count !== 0),
  );
}

/** Copies: the octets of a sample are those of the ring. */
function takeAll(block: Parameters<typeof readSamples>[0]): SampledQuery[] {
  const queries: SampledQuery[] = [];
  readSamples(block, (sample) => {
    // A ring whose positions are wrong would be read for ever.
    if (queries.length > block.ring.length) throw new Error('more samples than words');
    queries.push(describeSample(sample, 'prefix'));
  });
  return queries;
}

t.test('answers are counted by zone, response code and source', async (t) => {
  const rrset = (type: string, source?: RRsetSource) => {
    const { code } = typeByMnemonic(type)!;
    return { type: code, ttl: 60, rdatas: [new Uint8Array(type === 'AAAA' ? 16 : 4)], ...(source && { source }) };
  };
  const apex = parseName('example.com.');
  const soa = serveZones([zoneOf('example.com.')]);
  t.equal(soa.refused.size, 0);
  const owner = (label: string, rrsets: ReturnType<typeof rrset>[]) => ({
    ownerKey: new Uint8Array(Buffer.from(`${label}\0`)),
    records: [],
    rrsets,
  });
  const zones = serveOwners(apex, [
    { ownerKey: new Uint8Array(0), records: [], rrsets: [] },
    owner('flat', [rrset('A', RRsetSource.flattened)]),
    owner('plain', [rrset('A')]),
    owner('proxied', [rrset('A', RRsetSource.proxied), { ...rrset('HTTPS', RRsetSource.https) }]),
  ]);
  const { ask, block } = observed(zones);
  const reader = createCountsReader([block]);
  for (const name of ['flat', 'plain', 'plain', 'proxied', 'proxied', 'proxied', 'none']) ask(`${name}.example.com.`);
  ask('proxied.example.com.', 'HTTPS');
  ask('www.example.org.');
  const { total, zones: gained } = reader.gain();
  const { octets = 0, ...counts } = named(total);
  const expected = { flattened: 1, proxied: 3, https: 1, nxdomain: 1, plain: 3, noerror: 7 };
  t.strictSame(counts, { queries: 9, ...expected, refused: 1, foreign: 1 });
  t.ok(octets > 9 * 12);
  t.equal(gained.length, 1);
  const [zone] = gained;
  t.equal(zone!.apex, Buffer.from(apex).toString('latin1'));
  t.match(named(zone!.counts), { queries: 8, ...expected });
  t.strictSame(reader.gain().zones, [], 'nothing new');
  ask('plain.example.com.');
  t.match(named(reader.gain().zones[0]!.counts), { queries: 1, noerror: 1, plain: 1 }, 'only what was gained');
});

t.test('answers of load balancers are counted by what they chose', async (t) => {
  const world = await startBalancedZone(t);
  await world.pool('a', [{ name: 'o', address: '192.0.2.1' }]);
  await world.pool('b', [{ name: 'p', address: '192.0.2.2' }]);
  await world.balancer('www', { default_pools: [world.idOf('a')], fallback_pool: world.idOf('b') });
  await world.health('a', 'o', true);
  const { ask, block } = observed(world);
  const reader = createCountsReader([block]);
  ask(`www.${APEX}.`);
  ask(`${APEX}.`);
  ask(`www.${APEX}.`, 'AAAA');
  await world.health('a', 'o', false);
  for (let i = 0; i < 3; i++) ask(`www.${APEX}.`);
  const { total } = reader.gain();
  t.match(named(total), { queries: 6, balanced: 1, fallback: 3, unbalanced: 1 });
  const pools = createPoolCountsReader([block]);
  const names = new Map([1, 2].map((number) => [number, { id: `${number}`.repeat(32), name: `pool ${number}` }]));
  const metrics = createActivityMetrics((number) => names.get(number));
  const gained = pools();
  metrics.add({ total, zones: [], pools: gained } as unknown as ActivityReport, {
    samples: 0,
    dnstapFrames: 0,
    queryLogLines: 0,
  });
  const samples = metrics.samples().filter(({ name }) => name === 'dns_balanced_answers_total');
  t.strictSame(
    samples.map(({ labels, value }) => [labels['chosen'], value]),
    [
      ['pool', 1],
      ['fallback pool', 3],
      ['none', 1],
    ],
  );
  const byPool = () =>
    metrics
      .samples()
      .filter(({ name }) => name === 'dns_pool_answers_total')
      .map(({ labels, value }) => [labels['pool'], labels['way'], value]);
  t.strictSame(byPool(), [
    ['pool 2', 'chosen', 0],
    ['pool 2', 'fallback', 3],
    ['pool 1', 'chosen', 1],
    ['pool 1', 'fallback', 0],
  ]);
  t.strictSame(pools(), [], 'nothing new');
  names.delete(2);
  t.equal(byPool().length, 2, 'the series of a deleted pool ends');
  t.notMatch(
    printReport({ atMs: 0, total, zones: [], samples: [], pools: gained }),
    'pools',
    'other processes are not told',
  );
});

t.test('more pools than places: busy ones keep theirs, and those that are not asked any more lose them', async (t) => {
  const block = observationBlock({ observation: createObservation(1, 1024), thread: 0 });
  const pools = createPoolCountsReader([block]);
  const words = new Int32Array(HEAD_WORDS + POOL_WORDS);
  words[Head.poolsAt] = HEAD_WORDS;
  const balance = {
    choice: { ...createChoice(), words, at: 0, pool: 0 },
    decided: Decided.pool,
  } as unknown as Balance;
  const count = (number: number): void => {
    words[HEAD_WORDS + PoolWord.number] = number;
    countPool(block, balance);
  };
  const seen = new Map<number, number>();
  const look = (): void => {
    for (const { number, chosen } of pools()) seen.set(number, (seen.get(number) ?? 0) + chosen);
  };
  for (let i = 0; i < 20 * POOLS; i++) {
    count(1);
    count(2 + (i % (4 * POOLS)));
    if (i % POOLS === 0) look();
  }
  look();
  t.equal(seen.get(1), 20 * POOLS, 'each answer of the busy one');
  for (let i = 0; i < 1000; i++) count(7 * POOLS);
  look();
  t.ok((seen.get(7 * POOLS) ?? 0) > 500, 'a new one gets a place');
  t.ok(
    [...seen].every(([number, sum]) => number === 1 || number === 7 * POOLS || sum <= 20 / 4),
    'no more than was counted',
  );
});

t.test('more zones than rows: the sums stay whole, and busy zones keep their rows', async (t) => {
  const many = Array.from({ length: ROWS * 2 }, (_, i) => zoneOf(`z${i}.test.`));
  const served = serveZones([zoneOf('busy.test.'), ...many, zoneOf('late.test.')]);
  const { ask, block } = observed(served);
  const reader = createCountsReader([block]);
  let asked = 0;
  let busy = 0;
  const seen = new Map<string, number>();
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < many.length; i++) {
      ask('www.busy.test.');
      ask(`www.z${i}.test.`);
      busy += 1;
    }
    const { total, zones } = reader.gain();
    asked += total[0]!;
    for (const { apex, counts } of zones) seen.set(apex, (seen.get(apex) ?? 0) + counts[0]!);
  }
  t.equal(asked, 2 * busy);
  t.equal(seen.get('\x04busy\x04test\0'), busy);
  t.ok(seen.size <= ROWS * 3);
  for (let i = 0; i < 1000; i++) {
    ask('www.busy.test.');
    ask('www.late.test.');
  }
  const late = reader.gain().zones.find(({ apex }) => apex === '\x04late\x04test\0');
  t.ok(late && late.counts[0]! > 500, 'a zone that becomes busy gets the row of one that is forgotten');

  const once = observed(served);
  let next = 0;
  const passedOn = (questions: number): number => {
    const before = once.block.index.slice();
    for (let i = 0; i < questions; i++) once.ask(`www.z${next++ % many.length}.test.`);
    return before.filter((zone, at) => at % 2 === 0 && zone !== once.block.index[at]).length;
  };
  passedOn(many.length);
  const few = Math.max(passedOn(250), passedOn(250), passedOn(250));
  t.ok(few <= 2 * MOST_TRIED, `between two looks of the reader, ${few} of 250 take the rows of others`);
  let first = 0;
  for (let look = 0; look < 30; look++) {
    once.block.control[Word.epoch]! += 1;
    first += passedOn(40);
  }
  t.ok(first > 5, `after each look somebody gets a row: ${first} in thirty`);
});

t.test('samples tell what was asked and answered; strides thin them out', async (t) => {
  const { ask, block, clock } = observed(serveZones([zoneOf('example.com.')]));
  ask('www.example.com.');
  t.strictSame(takeAll(block), [], 'none is wanted');
  block.control[Word.stride] = 1;
  for (let i = 0; i < 64; i++) ask('www.example.com.');
  takeAll(block);
  ask('WWW.example.com.', 'A', '2001:db8:1:2ff:3::4', { dnssecOk: true });
  ask('none.example.com.', 'TXT');
  ask('www.example.org.');
  const samples = takeAll(block);
  t.match(samples, [
    { name: 'www.example.com', type: 'A', rcode: 'NOERROR', zone: 'example.com', client: '2001:db8:1:200::/56' },
    { name: 'none.example.com', type: 'TXT', rcode: 'NXDOMAIN', zone: 'example.com', client: '198.51.100.0/24' },
    { name: 'www.example.org', type: 'A', rcode: 'REFUSED', zone: '', source: 'plain', protocol: 'udp' },
  ]);
  t.ok(samples.every(({ atMs, size }) => Math.abs(atMs - clock.nowMs()) < 60_000 && size > 12));
  t.equal(samples[0]!.flags.includes('do'), true);
  block.control[Word.stride] = 10;
  for (let i = 0; i < 1000; i++) ask('www.example.com.');
  const thin = takeAll(block).length;
  t.ok(thin >= 95 && thin <= 101, `${thin} of 1000`);
  block.control[Word.stride] = 0;
  block.control[Word.logStride] = 7;
  for (let i = 0; i < 700 + 64; i++) ask('www.example.com.');
  const marks: number[] = [];
  readSamples(block, (sample) => marks.push(sample.marks));
  t.ok(
    marks.length >= 100 && marks.length <= 110 && marks.every((mark) => mark === Mark.log),
    `${marks.length} of 764`,
  );
});

t.test('a full ring drops samples, counts them, and never waits', async (t) => {
  const { ask, block } = observed(serveZones([zoneOf('example.com.')]), { ringOctets: 4096 });
  block.control[Word.tap] = 1;
  for (let i = 0; i < 1000; i++) t.ok(ask('www.example.com.') > 0);
  const first: Sample[] = [];
  const kept = readSamples(block, (sample) => first.push({ ...sample, request: sample.request.slice() }));
  t.ok(kept > 5 && kept < 40, `${kept} fit`);
  t.equal(block.control[Word.dropped], 1000 - kept);
  t.equal(first[0]!.request.length > 12, true);
});

t.test('wherever the ring stands when it becomes full, nothing that waits is overwritten', async (t) => {
  const { ask, block } = observed(serveZones([zoneOf('example.com.')]), { ringOctets: 4096 });
  const words = block.ring.length;
  block.control[Word.tap] = 1;
  const starts = new Set<number>();
  let asked = 0;
  for (let round = 0; round < 400; round++) {
    starts.add(block.control[Word.tail]! & (words - 1));
    const before = block.control[Word.dropped]!;
    const names: string[] = [];
    // From a few, which fit, to more than fit.
    for (let i = 0; i < 1 + (round % 50); i++) {
      const label = `${asked++}${'x'.repeat((asked * 7) % 50)}`;
      names.push(`${label}.example.com`);
      ask(`${label}.example.com.`);
    }
    const used = block.control[Word.head]! - block.control[Word.tail]!;
    if (used > words) return t.fail(`round ${round}: ${used} of ${words} words are used`);
    const kept = takeAll(block).map(({ name }) => name);
    const dropped = block.control[Word.dropped]! - before;
    const isInOrder = kept.reduce((at, name) => (at < 0 ? at : names.indexOf(name, at) + 1 || -1), 0) >= 0;
    if (!isInOrder) t.strictSame(kept, names, `round ${round}: all that was read had been asked, in its order`);
    if (kept.length + dropped !== names.length) t.equal(kept.length + dropped, names.length, `round ${round}`);
    if (names.length < 5) t.equal(dropped, 0, 'a few fit everywhere');
    if (names.length > 40) t.ok(dropped > 0 && kept.length > 5, `${kept.length} of ${names.length} fit`);
  }
  t.ok(starts.size > 100, `began at ${starts.size} places`);
});

t.test('the reader rests while nothing is asked, and the next sample wakes it', async (t) => {
  const { ask, block, clock, observation } = observed(serveZones([zoneOf('example.com.')]));
  const tapServer = { identity: '', version: '', addresses: [], ports: [] };
  const settings = { observation, statistics: true, tapServer, clients: 'none' as const };
  const reader = startReader(settings, clock, silentLogger(), () => {});
  const isRead = (): boolean => block.control[Word.head] === block.control[Word.tail];
  for (const round of [1, 2, 3]) {
    clock.advance(2000);
    t.equal(block.control[Word.resting], 1, `it rests, round ${round}`);
    ask('www.example.com.');
    t.equal(block.control[Word.resting], 0);
    clock.advance(100);
    t.notOk(isRead(), 'it does not look by itself');
    await new Promise((resolve) => setTimeout(resolve, 20));
    clock.advance(100);
    t.ok(isRead(), 'but was woken');
  }
  await reader.close();
});

t.test('while there are no queries, one report of ten is made', async (t) => {
  const { ask, clock, observation } = observed(serveZones([zoneOf('example.com.')]));
  const totals: number[] = [];
  const tapServer = { identity: '', version: '', addresses: [], ports: [] };
  const settings = { observation, statistics: true, tapServer, clients: 'none' as const };
  const reader = startReader(settings, clock, silentLogger(), ({ total }) => totals.push(total[0]!));
  for (const round of [1, 2]) {
    ask('www.example.com.');
    clock.advance(1000);
    t.same(totals.splice(0), [1], `asked, round ${round}`);
    clock.advance(60_000);
    t.ok(totals.length >= 6 && totals.length <= 9, `${totals.length} reports of a minute without questions`);
    t.ok(totals.splice(0).every((total) => total === 0));
    ask('www.example.com.');
    clock.advance(1000);
    t.same(totals.splice(0), [1], 'at once when something is asked again');
    // The thread has woken the reader; it hears that in a turn of its own.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await reader.close();
  totals.splice(0);
  const counting = startReader({ ...settings, statistics: false }, clock, silentLogger(), ({ total }) =>
    totals.push(total[0]!),
  );
  clock.advance(60_000);
  t.equal(totals.length, 60, 'without samples nobody wakes it');
  await counting.close();
});

t.test('the reader reports each second, and asks for fewer samples under load', async (t) => {
  const { ask, block, clock, observation } = observed(serveZones([zoneOf('example.com.')]));
  const reports: ActivityReport[] = [];
  const metrics = createActivityMetrics(() => undefined);
  const tapServer = { identity: '', version: '', addresses: [], ports: [] };
  const settings = { observation, statistics: true, tapServer, clients: 'none' as const };
  const reader = startReader(settings, clock, silentLogger(), (report, losses) => {
    reports.push(report);
    metrics.add(report, losses);
  });
  ask('www.example.com.');
  clock.advance(1000);
  t.match(reports, [
    { zones: [{ zone: 'example.com' }], samples: [{ name: 'www.example.com', client: '', weight: 1 }] },
  ]);
  for (let i = 0; i < 20_000; i++) {
    ask('www.example.com.');
    if (i % 2000 === 1999) clock.advance(100);
  }
  t.ok(block.control[Word.stride]! > 50, 'a share is enough');
  const [, second] = reports;
  t.equal(second!.total[0], 20_000);
  t.ok(second!.samples.length <= 400);
  clock.advance(2000);
  t.equal(block.control[Word.stride], 1, 'all again');
  const text = metrics.samples();
  t.match(
    text.find(({ name }) => name === 'dns_zone_queries_total'),
    { labels: { zone: 'example.com' }, value: 20_001 },
  );
  await reader.close();
});
