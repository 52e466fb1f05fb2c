/** Looking up names: our own zones, outside names through a scripted resolver, chains across both, and all failures. */
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { importZone } from '../../src/control/imports/zone.js';
import { createResolver, type Resolver, type ResolverLimits } from '../../src/resolver/resolve.js';
import { createResolverMetrics, type ResolverMetrics } from '../../src/resolver/resolver-metrics.js';
import { createUpstream, type Upstream, type UpstreamOptions } from '../../src/resolver/upstream.js';
import type { Store } from '../../src/store/driver.js';
import { updateZone, zonesOfName } from '../../src/store/zones/zones.js';
import { startControl } from '../control/fixture.js';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';

const SOA = 'SOA ns1.dns.test. dns.dns.test. 1 7200 3600 1209600 120';

const OWN = `$ORIGIN own.test.
@ 600 IN ${SOA}
@ 600 IN NS ns1.dns.test.
@ 60 IN A 192.0.2.1
@ 60 IN MX 10 Mail
@ 60 IN TXT "one " "text"
www 60 IN A 192.0.2.2
www 50 IN A 192.0.2.3
alias 40 IN CNAME www
out 30 IN CNAME a.outside.test.
back 30 IN CNAME b.outside.test.
deep.ent 60 IN A 192.0.2.4
*.wild 45 IN A 192.0.2.5
x.y.*.starry 45 IN A 192.0.2.5
*.aliases 45 IN CNAME www
cut 60 IN NS ns.cut
ns.cut 60 IN A 192.0.2.6
moved 70 IN DNAME other.own.test.
grows 70 IN DNAME a.much.longer.other.own.test.
here.other 60 IN A 192.0.2.7
loop1 60 IN CNAME loop2
loop2 60 IN CNAME loop1
${Array.from({ length: 12 }, (_, index) => `c${index} 60 IN CNAME c${index + 1}`).join('\n')}
c12 60 IN A 192.0.2.8
lost 60 IN CNAME nowhere
empty 60 IN CNAME wild
odd 60 IN CNAME a\\.b.outside.test.
proxied 60 IN CNAME www
`;

/** For answers that come, however busy the machine is. */
const PATIENT_MS = 30_000;

interface World {
  readonly store: Store;
  readonly clock: TestClock;
  readonly resolver: Resolver;
  readonly metrics: ResolverMetrics;
  readonly upstream: ScriptedUpstream;
}

interface WorldOptions {
  readonly limits?: Partial<ResolverLimits>;
  readonly client?: Partial<UpstreamOptions>;
}

/** Own zone own.test, and a scripted resolver for everything else. Time stands still for what is kept, not for the network. */
async function startWorld(t: Test, script: Script, { limits = {}, client = {} }: WorldOptions = {}): Promise<World> {
  const { ctx, clock } = await startControl(t);
  const { imported, issues } = await importZone(ctx, { source: { text: OWN } });
  t.ok(imported, JSON.stringify(issues));
  const upstream = await startScriptedUpstream(t, script);
  const metrics = createResolverMetrics();
  const asking = createUpstream({
    servers: [upstream.server],
    clock: new SystemClock(),
    random: seededRandom(3),
    timeoutMs: PATIENT_MS,
    ...client,
  });
  const resolver = createResolver({
    store: ctx.store,
    upstream: asking,
    clock,
    random: seededRandom(5),
    metrics,
    limits,
    serving: ctx.settings,
  });
  return { store: ctx.store, clock, resolver, metrics, upstream };
}

const OUTSIDE: Script = ({ name, type }) => {
  const negative = [`outside.test. 100 SOA ns. root. 1 2 3 4 40`];
  switch (name) {
    case 'a.outside.test':
      return type === 'A' ? { answer: ['a.outside.test. 200 A 203.0.113.1'] } : { authority: negative };
    case 'b.outside.test':
      return {
        answer: [
          'b.outside.test. 200 CNAME c.outside.test.',
          'c.outside.test. 100 CNAME www.own.test.',
          'www.own.test. 100 A 6.6.6.6',
        ],
      };
    case 'gone.outside.test':
      return { rcode: 3, authority: negative };
    case 'broken.outside.test':
      return { rcode: 2 };
    case 'ns.cut.own.test':
    case 'cut.own.test':
      return { answer: [`${name}. 20 A 203.0.113.9`] };
    case 'pending.test':
      return { answer: ['pending.test. 20 A 203.0.113.10'] };
    default:
      return { rcode: 3 };
  }
};

function contents(records: readonly { readonly content: string }[]): string[] {
  return records.map(({ content }) => content).sort();
}

t.test('our own zones', async (t) => {
  const { resolver, upstream, store, metrics } = await startWorld(t, OUTSIDE);
  const www = await resolver.resolve('WWW.own.test.', 'A');
  t.same(www, {
    status: 'ok',
    chain: [],
    end: 'www.own.test',
    records: www.records,
    ttl: 50,
    source: 'own',
    zone: 1,
  });
  t.same(contents(www.records), ['192.0.2.2', '192.0.2.3']);
  t.match(await resolver.resolve('alias.own.test', 'A'), {
    status: 'ok',
    chain: [{ name: 'alias.own.test', target: 'www.own.test', ttl: 40, source: 'own' }],
    end: 'www.own.test',
    ttl: 40,
    source: 'own',
  });
  t.match(await resolver.resolve('alias.own.test', 'CNAME'), { chain: [], records: [{ content: 'www.own.test' }] });
  t.match(await resolver.resolve('own.test', 'MX'), { records: [{ content: '10 mail.own.test', ttl: 60 }] });
  t.match(await resolver.resolve('own.test', 'TXT'), { records: [{ content: 'one text' }] });
  t.match(await resolver.resolve('own.test', 'NS'), { records: [{ content: 'ns1.dns.test' }] });
  t.match(await resolver.resolve('own.test', 'SOA'), {
    records: [{ content: /^ns1\.dns\.test dns\.dns\.test \d+ 7200/ }],
  });
  t.match(await resolver.resolve('own.test', 'CAA'), { status: 'nodata', ttl: 120 });
  t.match(await resolver.resolve('ent.own.test', 'A'), { status: 'nodata' }, 'an empty non-terminal');
  t.match(await resolver.resolve('nothing.own.test', 'A'), { status: 'nxdomain', ttl: 120, source: 'own' });
  t.match(await resolver.resolve('a.b.wild.own.test', 'A'), { records: [{ content: '192.0.2.5', ttl: 45 }] });
  t.match(await resolver.resolve('wild.own.test', 'A'), { status: 'nodata' });
  t.match(await resolver.resolve('q.starry.own.test', 'A'), { status: 'nodata' }, 'a wildcard without records');
  t.match(await resolver.resolve('q.aliases.own.test', 'A'), { end: 'www.own.test', status: 'ok' });
  t.match(await resolver.resolve('here.moved.own.test', 'A'), {
    status: 'ok',
    chain: [{ name: 'here.moved.own.test', target: 'here.other.own.test', ttl: 70, source: 'own' }],
    records: [{ content: '192.0.2.7' }],
  });
  t.match(await resolver.resolve('moved.own.test', 'A'), { status: 'nodata' }, 'the owner of a DNAME stays');
  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(52)}.grows.own.test`;
  t.match(await resolver.resolve(long, 'A'), { status: 'servfail', reason: /255 octets/ });
  t.match(await resolver.resolve('loop1.own.test', 'A'), {
    status: 'servfail',
    reason: /loops back to loop1\.own\.test/,
  });
  t.match(await resolver.resolve('c2.own.test', 'A'), { status: 'ok', chain: { length: 10 } }, 'ten links');
  t.match(await resolver.resolve('c1.own.test', 'A'), { status: 'servfail', reason: /more than 10 links/ });
  t.match(await resolver.resolve('lost.own.test', 'A'), { status: 'nxdomain', end: 'nowhere.own.test' });
  t.match(await resolver.resolve('empty.own.test', 'A'), { status: 'nodata', end: 'wild.own.test' });
  t.equal(upstream.asked.length, 0, 'nobody else was asked');
  t.match(await resolver.resolve('odd.own.test', 'A'), {
    status: 'servfail',
    reason: /is not a name that can be queried/,
  });
  t.match(await resolver.resolve(`${'a'.repeat(64)}.own.test`, 'A'), { status: 'servfail', reason: /63 octets/ });
  t.match(
    await resolver.resolve('höst.test', 'A'),
    { status: 'nxdomain' },
    'octets beyond ASCII are asked for as they are',
  );

  t.match(await resolver.resolve('cut.own.test', 'A'), { source: 'upstream', records: [{ content: '203.0.113.9' }] });
  t.match(await resolver.resolve('ns.cut.own.test', 'A'), { source: 'upstream' }, 'below a delegation');

  const [zone] = zonesOfName(store, 'own.test');
  await store.write(() => updateZone(store, zone!.seq, { status: 'pending' }));
  t.match(await resolver.resolve('www.own.test', 'A'), { source: 'upstream', status: 'nxdomain' }, 'not yet active');
  const own = metrics.samples().find(({ name }) => name === 'resolver_own_total');
  t.ok(own!.value > 20);
});

t.test('outside names, and chains across both', async (t) => {
  const { resolver, upstream, clock, metrics } = await startWorld(t, OUTSIDE);
  t.match(await resolver.resolve('out.own.test', 'A'), {
    status: 'ok',
    chain: [{ name: 'out.own.test', target: 'a.outside.test', source: 'own' }],
    records: [{ content: '203.0.113.1', ttl: 200 }],
    ttl: 30,
    source: 'mixed',
  });
  t.match(await resolver.resolve('back.own.test', 'A'), {
    status: 'ok',
    chain: [
      { name: 'back.own.test', source: 'own' },
      { name: 'b.outside.test', source: 'upstream', ttl: 200 },
      { name: 'c.outside.test', target: 'www.own.test', source: 'upstream', ttl: 100 },
    ],
    source: 'mixed',
  });
  t.same(
    contents((await resolver.resolve('back.own.test', 'A')).records),
    ['192.0.2.2', '192.0.2.3'],
    'ours, not theirs',
  );
  t.match(await resolver.resolve('a.outside.test', 'AAAA'), { status: 'nodata', ttl: 40, source: 'upstream' });
  t.match(await resolver.resolve('gone.outside.test', 'A'), { status: 'nxdomain', ttl: 40 });
  t.match(await resolver.resolve('broken.outside.test', 'A'), { status: 'servfail', reason: /answered SERVFAIL/ });

  const before = upstream.asked.length;
  clock.advance(4000);
  t.match(await resolver.resolve('a.outside.test', 'A'), { ttl: 196, records: [{ ttl: 196 }] }, 'what is left of it');
  t.match(await resolver.resolve('gone.outside.test', 'A'), { status: 'nxdomain', ttl: 36 });
  t.equal(upstream.asked.length, before, 'known answers');
  await resolver.resolve('a.outside.test', 'A', { bypassCache: true });
  t.equal(upstream.asked.length, before + 1, 'asked all the same');
  clock.advance(29_000);
  await resolver.resolve('gone.outside.test', 'A');
  t.equal(upstream.asked.length, before + 2, 'negative answers are kept for 30 s');
  clock.advance(60_000);
  t.match(await resolver.resolve('a.outside.test', 'A'), { ttl: 200 }, 'positive ones for 60 s');

  const together = upstream.asked.length;
  const same = await Promise.all(Array.from({ length: 50 }, () => resolver.resolve('new.outside.test', 'A')));
  t.ok(same.every(({ status }) => status === 'nxdomain'));
  t.equal(upstream.asked.length, together + 1, 'one question for all who ask at once');
  const joined = metrics.samples().find(({ labels }) => labels.how === 'joined');
  t.equal(joined!.value, 49);
});

t.test('failures are cached for a short time, longer each time', async (t) => {
  const { resolver, upstream, clock } = await startWorld(t, () => ({ rcode: 2 }));
  const ask = async (): Promise<number> => {
    await resolver.resolve('broken.test', 'A');
    return upstream.asked.length;
  };
  t.equal(await ask(), 1);
  t.equal(await ask(), 1);
  clock.advance(5001);
  t.equal(await ask(), 2);
  clock.advance(5001);
  t.equal(await ask(), 2, 'the second failure counts for longer');
  clock.advance(5000);
  t.equal(await ask(), 3);
});

t.test('chains from outside', async (t) => {
  const { resolver, upstream } = await startWorld(t, ({ name, type }) => {
    switch (name) {
      case 'disorder.test':
        return { answer: ['end.test. 60 A 192.0.2.66', 'disorder.test. 60 CNAME end.test.'] };
      case 'end.test':
        return { answer: ['end.test. 60 A 203.0.113.5'] };
      case 'poison.test':
        return {
          answer: ['poison.test. 60 A 203.0.113.6', 'bank.test. 60 A 6.6.6.6', 'poison.test. 60 TXT "x"'],
          authority: ['bank.test. 60 NS evil.test.'],
        };
      case 'bank.test':
        return { answer: ['bank.test. 60 A 203.0.113.7'] };
      case 'round.test':
        return { answer: ['round.test. 60 CNAME about.test.', 'about.test. 60 CNAME round.test.'] };
      case 'lame.test':
        return { authority: ['test. 60 NS ns.test.'] };
      case 'bare.test':
        return {};
      case 'nxtail.test':
        return { rcode: 3, answer: ['nxtail.test. 60 CNAME tail.test.'], authority: [`test. 60 ${SOA}`] };
      case 'foreign.test':
        return { authority: [`elsewhere.example. 3600 ${SOA}`] };
      default: {
        const index = Number(/^n(\d+)\.test$/.exec(name)?.[1] ?? NaN);
        if (Number.isNaN(index)) return { rcode: 3 };
        return { answer: type === 'A' ? [`${name}. 60 CNAME n${index + 1}.test.`] : [] };
      }
    }
  });
  t.match(await resolver.resolve('disorder.test', 'A'), { records: [{ content: '203.0.113.5' }], end: 'end.test' });
  t.match(await resolver.resolve('poison.test', 'A'), { records: [{ content: '203.0.113.6' }] });
  t.match(
    await resolver.resolve('bank.test', 'A'),
    { records: [{ content: '203.0.113.7' }] },
    'nothing was left behind',
  );
  t.match(await resolver.resolve('round.test', 'A'), { status: 'servfail', reason: /loops back/ });
  t.match(await resolver.resolve('lame.test', 'A'), { status: 'servfail', reason: /referral/ });
  t.match(await resolver.resolve('bare.test', 'A'), { status: 'nodata', ttl: 5 });
  t.match(await resolver.resolve('nxtail.test', 'A'), { status: 'nxdomain', end: 'tail.test', ttl: 60 });
  t.match(await resolver.resolve('foreign.test', 'A'), { status: 'nodata', ttl: 5 }, 'an SOA of somewhere else');
  const before = upstream.asked.length;
  t.match(await resolver.resolve('n1.test', 'A'), { status: 'servfail', reason: /more than 10 links/ });
  t.equal(upstream.asked.length - before, 11, 'an endless chain is not followed for ever');
});

t.test('answers that must not be trusted', async (t) => {
  const good = ['a.test. 60 A 203.0.113.1'];
  const bad = (message: Buffer): Buffer => {
    const copy = Buffer.from(message);
    copy[copy.length - 1] = 66;
    return copy;
  };
  const wrongId = (message: Buffer): Buffer => {
    const copy = bad(message);
    copy.writeUInt16BE(copy.readUInt16BE(0) ^ 0x55, 0);
    return copy;
  };
  const wrongQuestion = (message: Buffer): Buffer => {
    const copy = bad(message);
    copy[13] = 'b'.charCodeAt(0);
    return copy;
  };
  const counts = (message: Buffer): Buffer => {
    const copy = Buffer.from(message.subarray(0, 12));
    for (const at of [6, 8, 10]) copy.writeUInt16BE(0xffff, at);
    return copy;
  };
  const pointerLoop = (message: Buffer): Buffer => {
    const tail = Buffer.from([0xc0, message.length, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 1, 2, 3, 4]);
    const copy = Buffer.concat([message, tail]);
    copy.writeUInt16BE(2, 6);
    return copy;
  };
  const cases: [
    name: string,
    reply: ReturnType<Script>,
    expected: { readonly status?: string; readonly [member: string]: unknown },
  ][] = [
    [
      'forged id before the answer',
      { answer: good, twist: (m) => [wrongId(m), m] },
      { records: [{ content: '203.0.113.1' }] },
    ],
    [
      'other question before the answer',
      { answer: good, twist: (m) => [wrongQuestion(m), m] },
      { status: 'ok', records: [{ content: '203.0.113.1' }] },
    ],
    [
      'nonsense before the answer',
      { answer: good, twist: (m) => [Buffer.of(1), counts(m), pointerLoop(m), m] },
      { status: 'ok' },
    ],
    ['forged id', { answer: good, twist: wrongId }, { status: 'timeout' }],
    ['other question', { answer: good, twist: wrongQuestion }, { status: 'servfail', reason: /another question/ }],
    ['from elsewhere', { answer: good, fromElsewhere: true }, { status: 'timeout' }],
    ['65535 records announced', { twist: counts }, { status: 'servfail', reason: /cannot be read/ }],
    [
      'a name that points to itself',
      { answer: good, twist: pointerLoop },
      { status: 'servfail', reason: /cannot be read/ },
    ],
    ['cut short', { answer: good, twist: (m) => m.subarray(0, -2) }, { status: 'servfail', reason: /cannot be read/ }],
    ['octets behind the end', { answer: good, twist: (m) => Buffer.concat([m, Buffer.of(0)]) }, { status: 'servfail' }],
    ['silence', undefined, { status: 'timeout', reason: /no answer within/ }],
    ['late', { answer: good, delayMs: 300 }, { status: 'timeout' }],
  ];
  for (const [title, reply, expected] of cases) {
    const timeoutMs = expected.status === 'timeout' ? 80 : PATIENT_MS;
    const { resolver } = await startWorld(t, () => reply, { client: { timeoutMs } });
    t.match(await resolver.resolve('a.test', 'A'), expected, title);
  }
});

t.test('truncation, servers without EDNS, letter case', async (t) => {
  const many = Array.from({ length: 60 }, (_, index) => `big.test. 60 A 203.0.113.${index}`);
  const { resolver, upstream } = await startWorld(t, ({ name, transport, edns }) => {
    if (name === 'old.test') return edns ? { rcode: 1 } : { answer: ['old.test. 60 A 203.0.113.2'] };
    if (name === 'cut.test' && transport === 'udp')
      return { truncated: true, answer: many, twist: (m) => m.subarray(0, 99) };
    return { answer: name === 'cut.test' ? ['cut.test. 60 A 203.0.113.3'] : many, truncated: transport === 'udp' };
  });
  t.match(await resolver.resolve('big.test', 'A'), { status: 'ok', records: { length: 60 } });
  t.same(
    upstream.asked.map(({ transport }) => transport),
    ['udp', 'tcp'],
  );
  t.match(await resolver.resolve('cut.test', 'A'), { records: [{ content: '203.0.113.3' }] }, 'cut within a record');
  t.match(await resolver.resolve('old.test', 'A'), { records: [{ content: '203.0.113.2' }] });
  const silent: Script = ({ transport }) => (transport === 'udp' ? { truncated: true } : undefined);
  const stuck = await startWorld(t, silent, { client: { timeoutMs: 1000 } });
  t.match(await stuck.resolver.resolve('stuck.test', 'A'), { status: 'timeout', reason: /over TCP/ });
  const upper = (message: Buffer): Buffer => Buffer.from(message.toString('latin1').toUpperCase(), 'latin1');
  const loud = await startWorld(t, () => ({ rcode: 3, twist: upper }));
  t.match(await loud.resolver.resolve('name.test', 'A'), { status: 'nxdomain' }, 'in whatever letters');
  const wrong = (message: Buffer): Buffer => Buffer.from(message.toString('latin1').replace('name', 'game'), 'latin1');
  const strange = await startWorld(t, () => ({ rcode: 3, twist: wrong }));
  t.match(await strange.resolver.resolve('name.test', 'A'), { status: 'servfail', reason: /another question/ });
});

t.test('without a resolver', async (t) => {
  const { resolver } = await startWorld(t, () => undefined, { client: { servers: [] } });
  t.match(await resolver.resolve('a.outside.test', 'A'), { status: 'timeout', reason: /no resolver is configured/ });
  t.match(await resolver.resolve('alias.own.test', 'A'), { status: 'ok' }, 'our own zones need none');
});

t.test('servers that do not answer rest, and the next one is asked', async (t) => {
  const silent = await startScriptedUpstream(t, () => undefined);
  const good = await startScriptedUpstream(t, ({ name }) => ({ answer: [`${name}. 60 A 203.0.113.4`] }));
  const client = { servers: [silent.server, good.server], timeoutMs: 500 };
  const { resolver } = await startWorld(t, () => undefined, { client });
  for (let index = 0; index < 30; index++) {
    t.equal((await resolver.resolve(`n${index}.test`, 'A')).status, 'ok');
  }
  const names = silent.asked.filter(({ name }) => name.startsWith('n'));
  t.ok(names.length < 10, `left alone after five failures, and those while it was suspected: ${names.length}`);
  t.equal(silent.asked.length, names.length + 1, 'it was given a chance with the root');
  t.equal(good.asked.length, 30);
});

t.test('slow names do not make a working server rest', async (t) => {
  const server = await startScriptedUpstream(t, ({ name }) =>
    name.startsWith('slow') ? undefined : { answer: [`${name}. 60 A 203.0.113.4`] },
  );
  const { resolver } = await startWorld(t, () => undefined, { client: { servers: [server.server], timeoutMs: 250 } });
  for (let index = 0; index < 12; index++) {
    t.equal((await resolver.resolve(`slow${index}.test`, 'A')).status, 'timeout');
  }
  t.equal((await resolver.resolve('good.test', 'A')).status, 'ok');
  t.equal(server.asked.filter(({ name }) => name.startsWith('slow')).length, 12, 'each of them was asked');
});

t.test('two thousand names that fail at the same time', async (t) => {
  const { resolver, upstream, metrics } = await startWorld(
    t,
    ({ name }) =>
      name.endsWith('good.example') ? { answer: [`${name}. 60 A 203.0.113.4`] } : { rcode: 2, delayMs: 1 },
    { limits: { parallel: 20, entries: 1000, waitMs: 60_000 } },
  );
  const read = (name: string): number => metrics.samples().find((sample) => sample.name === name)!.value;
  const failing = Array.from({ length: 2000 }, (_, index) => resolver.resolve(`n${index}.bad.example.org`, 'A'));
  t.equal(read('resolver_questions_running'), 20);
  let done = 0;
  for (const one of failing) void one.then(() => done++);
  t.equal((await resolver.resolve('www.good.example', 'A')).status, 'ok');
  t.ok(done < 200, `another domain does not wait behind them: ${done} had their turn before`);
  const all = await Promise.all(failing);
  t.ok(all.every(({ status }) => status === 'servfail'));
  t.equal(upstream.asked.length, 2001, 'each asked once');
  t.ok(upstream.mostAtOnce() <= 20, `${upstream.mostAtOnce()} at once`);
  t.equal(read('resolver_known_answers'), 1000, 'no more is kept than allowed');
  t.equal(read('resolver_questions_waiting'), 0);
});

t.test('a resolver that disappears while thousands wait', async (t) => {
  const { resolver, upstream } = await startWorld(t, () => undefined, {
    limits: { parallel: 20, waiting: 3000 },
    client: { timeoutMs: 50 },
  });
  const all = await Promise.all(Array.from({ length: 5000 }, (_, index) => resolver.resolve(`n${index}.test`, 'A')));
  t.ok(all.every(({ status }) => status === 'timeout'));
  t.ok(upstream.asked.length < 300, `${upstream.asked.length} questions, then it is left alone`);
  t.equal(all.filter(({ reason }) => /too many names are waiting/.test(reason!)).length, 5000 - 3020);
});

t.test('the octets of the cache are also limited', async (t) => {
  const text = 'x'.repeat(200);
  const upstream: Upstream = {
    query: async (name, type) => ({
      status: 'ok',
      records: Array.from({ length: 20 }, () => ({ name, type, ttl: 60, content: text })),
      referral: [],
    }),
  };
  const { store } = await startWorld(t, () => undefined);
  const metrics = createResolverMetrics();
  const resolver = createResolver({
    store,
    upstream,
    clock: new TestClock(),
    random: seededRandom(1),
    metrics,
    limits: { octets: 200_000 },
    serving: { nameServers: [], nameServerAddresses: [], edgeAddresses: [] },
  });
  for (let index = 0; index < 100; index++) await resolver.resolve(`n${index}.test`, 'TXT');
  const kept = metrics.samples().find(({ name }) => name === 'resolver_known_answers')!.value;
  t.ok(kept > 5 && kept < 20, `${kept} answers of some 12 kB`);
});
