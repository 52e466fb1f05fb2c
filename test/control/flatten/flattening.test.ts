/**
 * CNAME flattening from the write to the answer: records through the use cases, targets from our own zones and a
 * scripted resolver, answers from the engine over the follower's image. Only the test moves the time.
 */
import t, { type Test } from 'tap';
import { createEngine } from '../../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../../src/answer/state.js';
import { Transport } from '../../../src/answer/transport.js';
import { SystemClock, sleep } from '../../../src/base/clock.js';
import { parseIP } from '../../../src/base/ip.js';
import { silentLogger } from '../../../src/base/log.js';
import { type FlattenRefresher, startFlattenRefresher } from '../../../src/control/flatten/refresher.js';
import type { Context } from '../../../src/control/kernel/context.js';
import {
  createRecord,
  deleteRecord,
  editRecord,
  getRecord,
  listRecords,
} from '../../../src/control/records/records.js';
import { editDnsSettings } from '../../../src/control/zones/dns-settings.js';
import { createZone, deleteZone, editZone, getZone } from '../../../src/control/zones/zones.js';
import { parseName } from '../../../src/dns/name.js';
import { typeByMnemonic } from '../../../src/dns/rr/registry.js';
import { explain } from '../../../src/explain/explain.js';
import { ImageWriter } from '../../../src/image/writer.js';
import { createFollower } from '../../../src/publish/follow.js';
import { createZoneSource } from '../../../src/publish/source.js';
import { createResolver } from '../../../src/resolver/resolve.js';
import { createUpstream } from '../../../src/resolver/upstream.js';
import { countTargets, findTarget, nextDueAt } from '../../../src/store/flatten/targets.js';
import { boundTimes } from '../../../src/store/put-back.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.js';
import { seededRandom } from '../../support/seeded-random.js';
import type { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';
import { startControl } from '../fixture.js';

const EDGE = { ipv4: [parseIP('198.51.100.1')!], ipv6: [parseIP('2001:db8:ed::1')!] };
const NEGATIVE = ['t.test. 100 SOA ns. root. 1 2 3 4 40'];

interface World {
  readonly ctx: Context;
  readonly clock: TestClock;
  readonly zoneId: string;
  readonly upstream: ScriptedUpstream;
  /** Replaces what the outside world says. */
  setScript(script: Script): void;
  /** Lets the refresher look. */
  wake(): void;
  /** Moves time until everything that is due was asked for. */
  settle(): Promise<void>;
  /** `rcode records… [ede N]` */
  ask(name: string, type: string): string;
  serial(): Promise<number>;
  /** Time that passes without this process. */
  leap(ms: number): Promise<void>;
  /** A process that starts anew on the same store. */
  restart(): Promise<void>;
}

async function startWorld(t: Test, first: Script, privateAddresses: 'allow' | 'refuse' = 'allow'): Promise<World> {
  const edgeAddresses = [...EDGE.ipv4, ...EDGE.ipv6];
  const { ctx, clock } = await startControl(t, { edgeAddresses });
  const { id: zoneId } = await createZone(ctx, { name: 'flat.test' });
  let script = first;
  const upstream = await startScriptedUpstream(t, (question) => script(question));
  const resolver = createResolver({
    store: ctx.store,
    upstream: createUpstream({
      servers: [upstream.server],
      clock: new SystemClock(),
      random: seededRandom(3),
      // Long enough for a machine that is busy with other tests.
      timeoutMs: 600,
    }),
    clock,
    random: seededRandom(5),
    serving: ctx.settings,
  });
  const begin = (): Promise<FlattenRefresher> =>
    startFlattenRefresher({ base: ctx, resolver, policy: { edgeAddresses, privateAddresses } });
  let refresher = await begin();
  t.teardown(() => refresher.close());
  const writer = new ImageWriter({ seed: 99 });
  const source = createZoneSource(ctx.store, ctx.settings);
  const follower = createFollower({ source, writer, clock, log: silentLogger() });
  follower.loadAll();
  const engine = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  const out = Buffer.alloc(65_535);
  const refreshes = (): number =>
    refresher
      .samples()
      .filter(({ name }) => name === 'flatten_refreshes_total')
      .reduce((sum, { value }) => sum + value, 0);
  return {
    ctx,
    clock,
    zoneId,
    upstream,
    setScript: (next) => {
      script = next;
    },
    wake() {
      refresher.wake();
      clock.advance(20);
    },
    async settle() {
      const isDue = (): boolean => (nextDueAt(ctx.store) ?? Number.POSITIVE_INFINITY) <= clock.nowMs();
      for (let round = 0; isDue(); round++) {
        if (round > 100) throw new Error('targets stay due');
        const before = refreshes();
        refresher.wake();
        clock.advance(20);
        for (let wait = 0; refreshes() === before && wait < 100; wait++) {
          await sleep(10);
          if (!isDue()) break;
        }
      }
      await refresher.close();
      refresher = await begin();
    },
    ask(name, type) {
      follower.catchUp();
      const query = makeQuery(parseName(`${name}.`), typeByMnemonic(type)!.code, { edns: 1232 });
      const length = engine(query, 0, query.length, out, 0, out.length, Transport.tcp);
      const { rcode, answer, opt } = decodeMessage(Buffer.from(out.subarray(0, length)));
      const records = answer.map((rr) => `${rr.ttl} ${printData(rr.type, rr.rdata)}`).sort();
      const error = opt && opt.options.length >= 6 && opt.options.readUInt16BE(0) === 15;
      return [rcode, ...records, ...(error ? [`ede ${opt.options.readUInt16BE(4)}`] : [])].join(' ');
    },
    serial: async () => {
      const row = ctx.store.prepareTuples<[], [number]>("SELECT serial FROM zones WHERE name = 'flat.test'").get()!;
      return row[0];
    },
    async leap(ms) {
      await refresher.close();
      clock.advance(ms);
      refresher = await begin();
    },
    async restart() {
      await refresher.close();
      refresher = await begin();
      follower.loadAll();
    },
  };
}

function printData(type: number, rdata: string): string {
  const octets = Buffer.from(rdata, 'hex');
  if (type === 1) return [...octets].join('.');
  return type === 28 ? `…${octets.readUInt16BE(14).toString(16)}` : `TYPE${type}`;
}

/** Names of t.test by what they lead to. */
const OUTSIDE: Script = ({ name, type }) => {
  const a = (ttl: number, address: string) => ({ answer: [`${name}. ${ttl} A ${address}`] });
  switch (name) {
    case 'both.t.test':
      return type === 'A'
        ? { answer: ['both.t.test. 200 A 203.0.113.1', 'both.t.test. 200 A 203.0.113.2'] }
        : { answer: ['both.t.test. 100 AAAA 2001:db8::7'] };
    case 'v4.t.test':
      return type === 'A' ? a(50, '203.0.113.4') : { authority: NEGATIVE };
    case 'chain.t.test':
      return type === 'A'
        ? { answer: ['chain.t.test. 60 CNAME v4.t.test.', 'v4.t.test. 500 A 203.0.113.4'] }
        : { answer: ['chain.t.test. 60 CNAME v4.t.test.'], authority: NEGATIVE };
    case 'home.t.test':
      return { answer: ['home.t.test. 300 CNAME www.flat.test.'] };
    case 'loop.t.test':
      return { answer: ['loop.t.test. 60 CNAME pool.t.test.', 'pool.t.test. 60 CNAME loop.t.test.'] };
    case 'private.t.test':
      return type === 'A' ? a(60, '10.0.0.1') : { authority: NEGATIVE };
    case 'broken.t.test':
      return { rcode: 2 };
    default:
      return { rcode: 3, authority: NEGATIVE };
  }
};

const alias = (name: string, content: string, more = {}) => ({ type: 'CNAME', name, content, ttl: 600, ...more });

t.test('at the apex, by record, by zone, with other types', async (t) => {
  const { ctx, zoneId, ask, settle, serial } = await startWorld(t, OUTSIDE);
  await createRecord(ctx, zoneId, alias('@', 'both.t.test'));
  t.equal(ask('flat.test', 'A'), '2 ede 14', 'nobody has been asked yet');
  const before = await serial();
  await settle();
  t.equal(ask('flat.test', 'A'), '0 100 203.0.113.1 100 203.0.113.2', 'the least TTL');
  t.equal(ask('flat.test', 'AAAA'), '0 100 …7');
  t.equal(ask('flat.test', 'CNAME'), '0', 'no CNAME shows');
  t.match(ask('flat.test', 'NS'), /^0 /);
  t.ok((await serial()) > before, 'the serial grows with what was heard');

  await createRecord(ctx, zoneId, alias('plain', 'v4.t.test'));
  t.match(ask('plain.flat.test', 'A'), '0 600 TYPE5', 'elsewhere a CNAME is a CNAME');
  await createRecord(ctx, zoneId, alias('marked', 'v4.t.test', { settings: { flatten_cname: true } }));
  await settle();
  t.equal(ask('marked.flat.test', 'A'), '0 50 203.0.113.4');
  t.equal(ask('marked.flat.test', 'AAAA'), '0', 'NODATA');
  await createRecord(ctx, zoneId, { type: 'TXT', name: 'plain', content: '"beside"', ttl: 600 });
  await settle();
  t.equal(ask('plain.flat.test', 'A'), '0 50 203.0.113.4', 'beside other types');
  t.equal(ask('plain.flat.test', 'TXT'), '0 600 TYPE16');

  const wild = await createRecord(ctx, zoneId, alias('*.wild', 'chain.t.test'));
  t.match(ask('a.wild.flat.test', 'A'), /TYPE5/);
  await editDnsSettings(ctx, zoneId, { flatten_all_cnames: true });
  await settle();
  t.equal(ask('a.wild.flat.test', 'A'), '0 60 203.0.113.4', 'the whole zone, wildcards too');
  await deleteRecord(ctx, zoneId, wild.id);
  t.equal(ask('a.wild.flat.test', 'A'), '3');
  await editDnsSettings(ctx, zoneId, { flatten_all_cnames: false });
});

t.test('the possible results for targets', async (t) => {
  const { ctx, zoneId, ask, settle } = await startWorld(t, OUTSIDE, 'refuse');
  const flat = async (name: string, target: string): Promise<string> => {
    await createRecord(ctx, zoneId, alias(name, target, { settings: { flatten_cname: true } }));
    await settle();
    return ask(`${name}.flat.test`, 'A');
  };
  t.equal(await flat('gone', 'gone.t.test'), '0', 'the name exists, whatever its target does (NODATA)');
  t.equal(ask('gone.flat.test', 'TXT'), '0');
  t.equal(await flat('broken', 'broken.t.test'), '2 ede 22');
  t.equal(ask('broken.flat.test', 'AAAA'), '2 ede 22');
  t.equal(ask('broken.flat.test', 'TXT'), '0', 'what the name itself has is known');
  t.equal(await flat('loop', 'loop.t.test'), '2 ede 22');
  t.equal(await flat('private', 'private.t.test'), '2 ede 22', 'a private address is refused where that is wanted');
  await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '203.0.113.80', ttl: 70 });
  t.equal(await flat('own', 'www.flat.test'), '0 70 203.0.113.80', 'our own zone');
  t.equal(await flat('there', 'home.t.test'), '0 70 203.0.113.80', 'out and back');
  t.equal(await flat('lost', 'nowhere.flat.test'), '0');
});

t.test('proxied names without a target address are reported', async (t) => {
  const { ctx, zoneId, ask, settle, serial, leap, upstream } = await startWorld(t, OUTSIDE);
  const rows: readonly (readonly [name: string, target: string, status: string | undefined])[] = [
    ['good', 'both.t.test', undefined],
    ['gone', 'gone.t.test', 'nowhere'],
    ['broken', 'broken.t.test', 'unreachable'],
    ['loop', 'loop.t.test', 'unreachable'],
    ['lost', 'nowhere.flat.test', 'nowhere'],
  ];
  for (const [name, target] of rows) await createRecord(ctx, zoneId, alias(name, target, { proxied: true }));
  const before = await serial();
  await settle();
  for (const [name, target, status] of rows) {
    t.equal(ask(`${name}.flat.test`, 'A'), '0 300 198.51.100.1', `${name} answers the edge`);
    const { items } = await listRecords(ctx, zoneId, { name: { exact: `${name}.flat.test` } });
    t.equal(items[0]?.targetFault?.status, status, name);
    t.strictSame(await getRecord(ctx, zoneId, items[0]!.id), items[0]);
    const { steps } = explain(ctx, `${name}.flat.test`, 'A');
    const origin = steps.find(({ step }) => step === 'origin');
    t.ok(origin?.detail.includes(target), `${name}: ${origin?.detail}`);
    t.equal(origin?.detail.includes('leads nowhere'), status === 'nowhere');
  }
  t.equal(await serial(), before, 'what is heard of an origin is not a change of the zone');
  const asked = upstream.asked.length;
  await leap(1_800_000);
  await settle();
  t.equal(upstream.asked.length, asked, 'nobody is answered with them: they are asked for now and then');
  await leap(3_600_000);
  await settle();
  t.ok(upstream.asked.length > asked);
  const now = upstream.asked.length;
  await leap(600_000);
  await createRecord(ctx, zoneId, alias('answered', 'both.t.test', { settings: { flatten_cname: true } }));
  await settle();
  t.ok(upstream.asked.length > now, 'one that is answered from now on is asked for at once');
  t.match(ask('answered.flat.test', 'A'), /^0 100 203/);
  const plain = await createRecord(ctx, zoneId, alias('plain', 'gone.t.test'));
  await settle();
  t.notOk('targetFault' in (await getRecord(ctx, zoneId, plain.id)), 'an alias is the resolvers’ affair');
});

t.test('a change in our own zones is served at once where it is flattened', async (t) => {
  const { ctx, zoneId, ask, settle } = await startWorld(t, OUTSIDE);
  const www = await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '203.0.113.80', ttl: 70 });
  await createRecord(ctx, zoneId, alias('@', 'www.flat.test'));
  await settle();
  t.equal(ask('flat.test', 'A'), '0 70 203.0.113.80');
  await editRecord(ctx, zoneId, www.id, { content: '203.0.113.81' });
  await settle();
  t.equal(ask('flat.test', 'A'), '0 70 203.0.113.81');
  await deleteRecord(ctx, zoneId, www.id);
  await settle();
  t.equal(ask('flat.test', 'A'), '0');
  const proxied = await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '203.0.113.82', proxied: true });
  await settle();
  t.equal(ask('flat.test', 'A'), '0 300 198.51.100.1', 'the edge, not the origin behind it');
  t.equal(ask('flat.test', 'AAAA'), '0 300 …1');
  await editRecord(ctx, zoneId, proxied.id, { proxied: false, ttl: 90 });
  await settle();
  t.equal(ask('flat.test', 'A'), '0 90 203.0.113.82');
  const other = await createZone(ctx, { name: 'other.test' });
  await createRecord(ctx, other.id, { type: 'A', name: 'x', content: '203.0.113.90', ttl: 80 });
  await createRecord(ctx, zoneId, alias('far', 'x.other.test', { settings: { flatten_cname: true } }));
  await settle();
  t.equal(ask('far.flat.test', 'A'), '0 80 203.0.113.90');
  await editZone(ctx, other.id, { paused: true });
  await deleteZone(ctx, other.id);
  await settle();
  t.equal(ask('far.flat.test', 'A'), '0', 'that zone is gone');
});

t.test('settings without effect on flattening leave the index unchanged', async (t) => {
  const { ctx, zoneId } = await startWorld(t, OUTSIDE);
  await createRecord(ctx, zoneId, alias('plain', 'both.t.test'));
  await createRecord(ctx, zoneId, alias('marked', 'both.t.test', { settings: { flatten_cname: true } }));
  const owners = (): number => ctx.store.prepareTuples<[], [number]>('SELECT count(*) FROM flatten_owners').get()![0];
  t.equal(owners(), 1);
  await ctx.store.write(() => ctx.store.prepare('DELETE FROM flatten_owners').run());
  await editDnsSettings(ctx, zoneId, { ns_ttl: 300 });
  t.equal(owners(), 0, 'not made anew');
  await editDnsSettings(ctx, zoneId, { flatten_all_cnames: true });
  t.equal(owners(), 2);
  await editDnsSettings(ctx, zoneId, { flatten_all_cnames: false });
  t.equal(owners(), 1);
});

t.test('time passes', async (t) => {
  const { ctx, zoneId, ask, settle, clock, setScript, upstream, serial, restart, leap } = await startWorld(t, OUTSIDE);
  await createRecord(ctx, zoneId, alias('@', 'both.t.test'));
  await settle();
  const first = '0 100 203.0.113.1 100 203.0.113.2';
  t.equal(ask('flat.test', 'A'), first);
  const [asked, steady] = [upstream.asked.length, await serial()];
  clock.advance(75_000);
  await sleep(30);
  t.equal(upstream.asked.length, asked, 'not before its time');
  // What a caching resolver says later: the same, with less time left.
  setScript((question) => {
    const reply = OUTSIDE(question)!;
    return { ...reply, answer: (reply.answer ?? []).map((line) => line.replace(/ (200|100) /, ' 9 ')) };
  });
  clock.advance(16_000);
  await settle();
  t.ok(upstream.asked.length > asked, 'but before its end');
  t.equal(ask('flat.test', 'A'), first, 'seconds left are not a new TTL');
  t.equal(await serial(), steady, 'and move no serial');
  const version = (await getZone(ctx, zoneId)).modifiedAt;
  setScript(({ type }) => (type === 'A' ? { answer: ['both.t.test. 200 A 203.0.113.9'] } : { authority: NEGATIVE }));
  clock.advance(40_000);
  await settle();
  t.equal(ask('flat.test', 'A'), '0 200 203.0.113.9', 'a changed target');
  t.equal(ask('flat.test', 'AAAA'), '0');
  t.equal((await getZone(ctx, zoneId)).modifiedAt, version, 'nobody edited the zone');

  setScript(() => ({ rcode: 2 }));
  clock.advance(190_000);
  await settle();
  t.equal(ask('flat.test', 'A'), '0 200 203.0.113.9', 'no answer: what is known is still good');
  clock.advance(15_000);
  await settle();
  t.equal(ask('flat.test', 'A'), '0 30 203.0.113.9 ede 3', 'then it is stale, and said to be (RFC 8767)');
  const before = upstream.asked.length;
  for (let minute = 0; minute < 60; minute++) {
    await leap(60_000);
    await settle();
  }
  t.ok(upstream.asked.length - before < 60 * 2 * 3, `asked less and less: ${upstream.asked.length - before}`);
  await restart();
  t.equal(ask('flat.test', 'A'), '0 30 203.0.113.9 ede 3', 'it is known after a restart');
  setScript(OUTSIDE);
  await leap(600_000);
  await settle();
  t.equal(ask('flat.test', 'A'), first, 'and well again');
  setScript(() => ({ rcode: 2 }));
  await leap(4 * 86_400_000);
  await settle();
  t.equal(ask('flat.test', 'A'), '2 ede 22', 'days later it is nothing any more');
});

t.test('targets are added and removed with the names that need them', async (t) => {
  const { ctx, zoneId, settle, clock, upstream } = await startWorld(t, OUTSIDE);
  const count = (): number => countTargets(ctx.store);
  const records = [];
  for (let i = 0; i < 200; i++) {
    records.push(createRecord(ctx, zoneId, alias(`n${i}`, 'both.t.test', { settings: { flatten_cname: true } })));
  }
  const made = await Promise.all(records);
  await settle();
  t.equal(upstream.asked.length, 2, 'one target is asked for once, for however many names');
  t.equal(count(), 1);
  for (const { id } of made) await deleteRecord(ctx, zoneId, id);
  clock.advance(100_000);
  await settle();
  t.equal(count(), 0);
  await createRecord(ctx, zoneId, alias('@', 'v4.t.test'));
  await settle();
  await deleteZone(ctx, zoneId);
  clock.advance(100_000);
  await settle();
  t.equal(count(), 0);
});

t.test('dead targets of one zone do not delay those of another', async (t) => {
  const isDead = (name: string): boolean => name.endsWith('dead.test');
  const { ctx, zoneId, upstream, wake } = await startWorld(t, (question) =>
    isDead(question.name) ? undefined : OUTSIDE(question),
  );
  const deadNames = (): number => new Set(upstream.asked.map(({ name }) => name).filter(isDead)).size;
  await Promise.all(
    Array.from({ length: 400 }, (_, i) =>
      createRecord(ctx, zoneId, alias(`n${i}`, `n${i}.dead.test`, { settings: { flatten_cname: true } })),
    ),
  );
  wake();
  await until(() => deadNames() > 0);
  const other = await createZone(ctx, { name: 'other.test' });
  await createRecord(ctx, other.id, alias('@', 'both.t.test'));
  const target = parseName('both.t.test.');
  await until(() => {
    wake();
    return findTarget(ctx.store, target)?.asked === 1;
  });
  t.equal(findTarget(ctx.store, target)?.asked, 1);
  // As many as are asked for at once, if one zone could take all places.
  t.ok(deadNames() > 0 && deadNames() < 64, `${deadNames()} of 400 dead names were asked for before it`);
});

t.test('a clock that is set back by a day stops nothing', async (t) => {
  const { ctx, zoneId, clock, settle, wake } = await startWorld(t, OUTSIDE);
  await createRecord(ctx, zoneId, alias('@', 'both.t.test'));
  await settle();
  const target = parseName('both.t.test.');
  const restMs = (): number => findTarget(ctx.store, target)!.refresh_at - clock.nowMs();
  const before = restMs();
  clock.putBack(86_400_000);
  t.ok(restMs() > 86_000_000, 'it would not be asked for in a day');
  await ctx.store.write(() => boundTimes(ctx.store, clock.nowMs(), 0));
  wake();
  t.ok(Math.abs(restMs() - before) < 1000, `${restMs()} ms, and ${before} before`);
});

t.test('many targets that fail at the same time', async (t) => {
  const { ctx, zoneId, settle, upstream } = await startWorld(t, () => undefined);
  await Promise.all(
    Array.from({ length: 150 }, (_, i) =>
      createRecord(ctx, zoneId, alias(`n${i}`, `n${i}.t.test`, { settings: { flatten_cname: true } })),
    ),
  );
  await settle();
  t.ok(upstream.mostAtOnce() <= 128, `${upstream.mostAtOnce()} questions at once`);
  const rows = ctx.store.prepareTuples<[], [number]>('SELECT count(*) FROM flatten_targets WHERE failures = 1').get()!;
  t.equal(rows[0], 150, 'each was tried once');
});
