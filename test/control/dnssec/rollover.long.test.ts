/**
 * The life of a signed zone in moved time: turned on, delegated, all rollovers, turned off. After every hour the zone is
 * one that validating resolvers accept, and the parent's DS records point to one of its keys.
 */
import t, { type Test } from 'tap';
import { deleteDnssec, editDnssec, getDnssec, listKeys } from '../../../src/control/dnssec/delegation.js';
import { beginSigning } from '../../../src/control/dnssec/enable.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { startRollover } from '../../../src/control/dnssec/rollover.js';
import { signingStatus } from '../../../src/control/dnssec/status.js';
import { confirmDs, parentJob } from '../../../src/control/dnssec/watch.js';
import { commit } from '../../../src/control/kernel/commit.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord } from '../../../src/control/records/records.js';
import { listHistory } from '../../../src/control/zones/history.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { typeByCode } from '../../../src/dns/rr/registry.js';
import type { RR } from '../../../src/dns/rr.js';
import { generateKey, KSK_FLAGS } from '../../../src/dnssec/signing-key.js';
import type { JobKind } from '../../../src/jobs/kind.js';
import type { ParentServerDs } from '../../../src/resolver/parent-ds.js';
import { findZoneById } from '../../../src/store/zones/zones.js';
import { requireVerified, servedRecords } from '../../support/signed-copy.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startZone, type ZoneFixture } from '../fixture.js';

const HOUR = 3_600_000;

interface World extends ZoneFixture {
  /** What the servers of the parent have. */
  parent: ParentServerDs[] | undefined;
  /** The parent takes what CDS records say (RFC 7344). */
  readonly followCds: () => void;
  /** Runs both jobs of the zone as they come due, while so much time passes; checks the zone each hour. */
  readonly pass: (ms: number, follow?: boolean, step?: number) => Promise<void>;
  readonly states: () => Promise<string[]>;
  readonly served: () => readonly RR[];
  /** Runs the job that asks the parent, now. */
  readonly lookAtParent: () => Promise<void>;
}

async function startWorld(t: Test): Promise<World> {
  const fixture = await startZone(t);
  const { clock, zoneId } = fixture;
  const ctx: Context = {
    ...fixture.ctx,
    zoneKeys: await testZoneKeys(fixture.ctx.store, fixture.ctx.random),
    findParentDs: async (name) => {
      t.equal(name, 'example.com');
      return world.parent;
    },
  };
  const jobs: Map<JobKind, number> = new Map([
    [parentJob(ctx), 0],
    [signingJob(ctx), 0],
  ]);
  const { store, log } = ctx;
  const context = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease: () => {} };
  async function runJobs(): Promise<void> {
    for (const [kind, atMs] of jobs) {
      if (atMs > clock.nowMs()) continue;
      const outcome = await kind.handler(context, zoneId);
      jobs.set(kind, 'done' in outcome ? 0 : outcome.againAtMs);
    }
  }

  const zone = { ctx, seq: findZoneById(store, Buffer.from(zoneId, 'hex'))!.seq, apex: 'example.com' };
  const served = () => servedRecords(zone);
  const contents = (type: number): string[] => {
    const records = served().filter((record) => record.type === type);
    return records.map(({ rdata }) => typeByCode(type).contentOf(rdata)).sort();
  };

  function check(): void {
    const records = served();
    const hasDs = (world.parent ?? []).some(({ ds: theirs }) => theirs && theirs.length > 0);
    // Below a DS record a zone has to be signed.
    if (!hasDs && !records.some(({ type }) => type === Type.dnskey)) return;
    const when = new Date(clock.nowMs()).toISOString();
    const { ds } = requireVerified(zone, when);
    const known = ds.map((rdata) => typeByCode(Type.ds).contentOf(rdata));
    const trusted = (world.parent ?? []).every(
      ({ ds: theirs }) => !theirs?.length || theirs.some((one) => known.includes(one)),
    );
    if (!trusted) t.fail(`${when}: the DS records point to no key`);
  }

  const world: World = {
    ...fixture,
    ctx,
    served,
    parent: [
      { server: 'a.gtld.test', ds: [], ttl: 900 },
      { server: 'b.gtld.test', ds: [], ttl: 900 },
    ],
    followCds() {
      const cds = contents(Type.cds);
      if (cds.length === 0) return;
      const ds = cds.join() === '0 0 0 00' ? [] : cds;
      world.parent = world.parent?.map(({ server }) => ({ server, ds, ttl: 900 }));
    },
    async pass(ms, follow = true, step = HOUR) {
      for (const end = clock.nowMs() + ms; clock.nowMs() < end; ) {
        for (const kind of jobs.keys()) jobs.set(kind, Math.min(jobs.get(kind)!, clock.nowMs()));
        await runJobs();
        await runJobs();
        if (follow) world.followCds();
        check();
        clock.advance(step);
      }
    },
    lookAtParent: async () => void (await [...jobs.keys()][0]!.handler(context, zoneId)),
    states: async () => {
      const { keys } = await listKeys(ctx, zoneId);
      return keys.map(({ role, algorithm, state }) => `${role} ${algorithm} ${state}`);
    },
  };
  return world;
}

const DAY = 24 * HOUR;

t.test('on, delegated, ZSK, KSK, algorithm, off', { timeout: 300_000 }, async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId, pass, states } = world;
  await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '192.0.2.1', ttl: 7200 });
  await createRecord(ctx, zoneId, { type: 'NS', name: 'sub', content: 'ns.elsewhere.test' });
  t.match(await getDnssec(ctx, zoneId), { status: 'disabled', key: undefined, denial: undefined });
  const enabled = await editDnssec(ctx, zoneId, { status: 'active' });
  t.match(enabled, { status: 'pending', denial: 'nsec', key: { role: 'ksk', flags: 257, ds: { digestType: 2 } } });
  const has = (type: number): boolean => world.served().some((record) => record.type === type);
  t.notOk(has(Type.cds), 'the parent is not asked while resolvers may have answers without signatures');
  await pass(HOUR);
  t.match((await listKeys(ctx, zoneId)).keys[0], { state: 'published', wait: { until: Number } });
  await pass(26 * HOUR);
  t.ok(has(Type.cds));
  t.match(await getDnssec(ctx, zoneId), { status: 'active' });
  t.same(await states(), ['ksk 13 active', 'zsk 13 active']);

  const zsk = await startRollover(ctx, zoneId, { role: 'zsk' });
  t.match(zsk.keys.at(-1), { role: 'zsk', state: 'published', wait: { waitingFor: /keys/ } });
  await t.rejects(startRollover(ctx, zoneId, { role: 'ksk' }), { message: /under way/ });
  await pass(DAY);
  t.match(await states(), ['ksk 13 active', 'zsk 13 retired', 'zsk 13 active']);
  await pass(DAY);
  t.same(await states(), ['ksk 13 active', 'zsk 13 active']);
  t.not((await listKeys(ctx, zoneId)).keys[1]!.tag, zsk.keys[1]!.tag);

  const before = await getDnssec(ctx, zoneId);
  await startRollover(ctx, zoneId, { role: 'ksk' });
  await pass(DAY, false);
  t.match(await listKeys(ctx, zoneId), { keys: [{ state: 'retired', wait: { waitingFor: /DS record/ } }, {}, {}] });
  t.not((await getDnssec(ctx, zoneId)).key!.tag, before.key!.tag, 'the new DS is shown');
  // One server of the parent is behind.
  world.followCds();
  const behind = world.parent?.map((server, i) => (i === 0 ? server : { ...server, ds: [DS(before)] }));
  world.parent = behind;
  await pass(DAY, false);
  t.match(await states(), ['ksk 13 retired', 'zsk 13 active', 'ksk 13 active']);
  await pass(DAY);
  t.same(await states(), ['zsk 13 active', 'ksk 13 active']);

  await t.rejects(startRollover(ctx, zoneId, { algorithm: 8 }), { message: /Keys of algorithm 8 are not made/ });
  await t.rejects(startRollover(ctx, zoneId, { algorithm: 15, role: 'zsk' }), { message: /both/ });
  await startRollover(ctx, zoneId, { algorithm: 15 });
  await pass(5 * DAY);
  t.same(await states(), ['ksk 15 active', 'zsk 15 active']);
  t.match(await getDnssec(ctx, zoneId), { status: 'active', key: { algorithmName: 'ED25519' } });

  t.match(await editDnssec(ctx, zoneId, { status: 'disabled' }), { status: 'pending-disabled' });
  await t.rejects(deleteDnssec(ctx, zoneId), { message: /Disable it first/ });
  t.match(await editDnssec(ctx, zoneId, { status: 'active' }), { status: 'pending', key: {} }, 'changed their mind');
  await pass(HOUR);
  t.match(await getDnssec(ctx, zoneId), { status: 'active' });
  await editDnssec(ctx, zoneId, { status: 'disabled' });
  await pass(2 * HOUR);
  t.match(await getDnssec(ctx, zoneId), { status: 'disabled', key: { algorithm: 15 } }, 'still signed');
  t.ok(has(Type.rrsig));
  await deleteDnssec(ctx, zoneId);
  t.match(await getDnssec(ctx, zoneId), { status: 'disabled', key: undefined });
  world.parent = [];
  for (let hours = 0; has(Type.dnskey) && hours < 10; hours++) await pass(HOUR);
  for (const type of [Type.rrsig, Type.nsec, Type.dnskey, Type.cds]) t.notOk(has(type), `type ${type}`);
  const { items } = await listHistory(ctx, zoneId, {});
  t.same(
    items.flatMap(({ event }) => event ?? []),
    ['unsigned', 'signed'],
  );
});

function DS({ key }: Awaited<ReturnType<typeof getDnssec>>): string {
  return key!.ds!.line.replace(/^.* DS /, '').toLowerCase();
}

t.test('a parent that cannot be asked, and one with foreign DS records', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId, pass } = world;
  world.parent = [];
  await editDnssec(ctx, zoneId, { status: 'active' });
  await pass(26 * HOUR);
  t.match(await getDnssec(ctx, zoneId), { status: 'pending' });
  const { key } = await getDnssec(ctx, zoneId);
  await t.rejects(confirmDs(ctx, zoneId, (key!.tag + 1) & 0xffff), { message: /no such key/ });
  await confirmDs(ctx, zoneId, key!.tag);
  await pass(HOUR);
  t.match(await getDnssec(ctx, zoneId), { status: 'active' });
  world.parent = [{ server: 'a.gtld.test', ds: [`1 13 2 ${'ab'.repeat(32)}`], ttl: 900 }];
  t.equal((await signingStatus(ctx, zoneId)).failure, undefined);
  await world.lookAtParent();
  t.match((await signingStatus(ctx, zoneId)).failure, /point to no key/);
});

t.test('a DS record at one server of the parent only is neither there nor gone', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId, pass, lookAtParent } = world;
  await editDnssec(ctx, zoneId, { status: 'active' });
  await pass(27 * HOUR);
  t.match(await getDnssec(ctx, zoneId), { status: 'active' });
  const [first, second] = world.parent!;
  const both = [...world.parent!];
  await startRollover(ctx, zoneId, { role: 'ksk' });
  await pass(3 * HOUR, false);
  const old = first!.ds!;
  const cds = world.served().filter(({ type }) => type === Type.cds);
  const fresh = cds.map(({ rdata }) => typeByCode(Type.cds).contentOf(rdata));
  t.notSame(fresh, old);
  world.parent = [{ ...first!, ds: fresh }, second!];
  await pass(2 * DAY, false);
  t.match(await world.states(), ['ksk 13 retired', 'zsk 13 active', 'ksk 13 active'], 'the old key stays');
  world.parent = both.map((server) => ({ ...server, ds: fresh }));
  await pass(DAY, false);
  t.same(await world.states(), ['zsk 13 active', 'ksk 13 active']);
  world.parent = [
    { ...first!, ds: [] },
    { ...second!, ds: fresh },
  ];
  await lookAtParent();
  t.match(await editDnssec(ctx, zoneId, { status: 'disabled' }), { status: 'pending-disabled' });
  await t.rejects(deleteDnssec(ctx, zoneId), { message: /Disable it first/ });
});

t.test('what cannot be had is refused', async (t) => {
  const { ctx, zoneId } = await startWorld(t);
  await t.rejects(editDnssec(ctx, zoneId, { dnssec_multi_signer: true }), { message: /DNSSEC is not enabled/ });
  await t.rejects(editDnssec(ctx, zoneId, { dnssec_presigned: true }), { message: /secondary/ });
  await t.rejects(startRollover(ctx, zoneId, { role: 'zsk' }), { message: /not enabled/ });
  await t.rejects(confirmDs(ctx, zoneId, 1), { message: /not enabled/ });
  await deleteDnssec(ctx, zoneId);
  t.match(await editDnssec(ctx, zoneId, { status: 'disabled' }), { status: 'disabled', modifiedAt: undefined });
  for (const length of [220, 221]) {
    const name = `${['a', 'b', 'c'].map((label) => label.repeat(63)).join('.')}.${'d'.repeat(length - 192 - 5)}.test`;
    const { id } = await createZone(ctx, { name });
    const denied = editDnssec(ctx, id, { status: 'active', denial: 'nsec3' });
    if (length === 220) t.match(await denied, { status: 'pending', denial: 'nsec3' });
    else await t.rejects(denied, { key: 'dnssec.hashedTooLong', message: /more than 220 characters/ });
  }
});

t.test('a parent that cannot be found out: signatures stay as long as a DS record may be there', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId, pass } = world;
  const isSigned = (): boolean => world.served().some(({ type }) => type === Type.rrsig);
  const off = async (): Promise<void> => {
    await editDnssec(ctx, zoneId, { status: 'disabled' });
    await deleteDnssec(ctx, zoneId);
  };
  await editDnssec(ctx, zoneId, { status: 'active' });
  world.parent = undefined;
  await off();
  t.match(await getDnssec(ctx, zoneId), { status: 'disabled', key: undefined });
  await pass(23 * HOUR, false);
  t.ok(isSigned(), 'nobody knows for sure');
  world.parent = [{ server: 'a.gtld.test', ds: [`1 13 2 ${'ab'.repeat(32)}`], ttl: 900 }];
  await world.lookAtParent();
  t.match(await getDnssec(ctx, zoneId), { status: 'pending-disabled' }, 'there was one');
  world.parent = undefined;
  await pass(3 * DAY, false);
  t.ok(isSigned(), 'and nobody saw it go');
  await confirmDs(ctx, zoneId, null);
  await pass(2 * HOUR, false);
  t.match(await getDnssec(ctx, zoneId), { status: 'disabled', key: {} }, 'a person said so');
  t.ok(isSigned(), 'its end has to be asked for again');
  await deleteDnssec(ctx, zoneId);
  await pass(HOUR, false);
  t.notOk(isSigned());
});

t.test('a DS record that was only seen after the end was asked for is forgotten first', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId, lookAtParent } = world;
  await editDnssec(ctx, zoneId, { status: 'active' });
  world.parent = [{ server: 'a.gtld.test', ds: [`1 13 2 ${'ab'.repeat(32)}`], ttl: 900 }];
  t.match(await editDnssec(ctx, zoneId, { status: 'disabled' }), { status: 'pending-disabled' });
  world.parent = [{ server: 'a.gtld.test', ds: [], ttl: 300 }];
  await lookAtParent();
  await deleteDnssec(ctx, zoneId);
  const isSigned = (): boolean => world.served().some(({ type }) => type === Type.rrsig);
  t.ok(isSigned(), 'resolvers may have it for 900 seconds');
  world.clock.advance(901_000);
  await lookAtParent();
  t.notOk(isSigned());
});

t.test('an emergency: nothing is waited for but the parent', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId, pass, states } = world;
  await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '192.0.2.1', ttl: 7200 });
  await editDnssec(ctx, zoneId, { status: 'active' });
  await pass(2 * DAY);
  t.same(await states(), ['ksk 13 active', 'zsk 13 active']);
  const tags = async (): Promise<number[]> => (await listKeys(ctx, zoneId)).keys.map(({ tag }) => tag).sort();
  const before = await tags();

  await startRollover(ctx, zoneId, { role: 'zsk', emergency: true });
  await pass(30_000, true, 2000);
  t.same(await states(), ['ksk 13 active', 'zsk 13 active'], 'within seconds');
  const between = await tags();
  t.not(between.join(), before.join());

  await startRollover(ctx, zoneId, { role: 'ksk', emergency: true });
  await pass(30_000, false, 2000);
  t.same(
    (await states()).sort(),
    ['ksk 13 active', 'ksk 13 retired', 'zsk 13 active'],
    'the parent has the old DS record',
  );
  await pass(120_000, true, 2000);
  t.same((await states()).sort(), ['ksk 13 active', 'zsk 13 active'], 'its TTL is not waited for');

  await startRollover(ctx, zoneId, { role: 'zsk' });
  await pass(HOUR / 2, true, 60_000);
  t.same(
    (await states()).sort(),
    ['ksk 13 active', 'zsk 13 active', 'zsk 13 published'],
    'the next one is not an emergency',
  );
  await t.rejects(startRollover(ctx, zoneId, { role: 'zsk' }), { key: 'dnssec.rolling', message: /under way/ });
  await startRollover(ctx, zoneId, { role: 'zsk', emergency: true });
  await pass(30_000, true, 2000);
  t.same((await states()).sort(), ['ksk 13 active', 'zsk 13 active'], 'but becomes one');

  await startRollover(ctx, zoneId, { role: 'ksk' });
  await startRollover(ctx, zoneId, { role: 'zsk', emergency: true });
  t.same(
    (await states()).sort(),
    ['ksk 13 active', 'ksk 13 published', 'zsk 13 active', 'zsk 13 published'],
    'beside another one',
  );
  await pass(150_000, true, 2000);
  t.same((await states()).sort(), ['ksk 13 active', 'zsk 13 active']);
});

for (const algorithm of [undefined, 15]) {
  t.test(
    `a zone that came with one key for everything gets two, of algorithm ${algorithm ?? 'the same'}`,
    async (t) => {
      const world = await startWorld(t);
      const { ctx, zoneId, pass, states } = world;
      await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '192.0.2.1', ttl: 7200 });
      const keys = [generateKey(13, KSK_FLAGS)];
      const zone = findZoneById(ctx.store, Buffer.from(zoneId, 'hex'))!;
      await commit(ctx, (draft) => beginSigning(ctx, draft, zone, { keys }));
      await pass(3 * HOUR);
      t.same(await states(), ['csk 13 active']);
      await startRollover(ctx, zoneId, algorithm ? { algorithm } : { role: 'zsk' });
      await pass(HOUR);
      t.equal((await states()).length, 3);
      await pass(5 * DAY);
      t.same((await states()).sort(), [`ksk ${algorithm ?? 13} active`, `zsk ${algorithm ?? 13} active`]);
      t.match(await getDnssec(ctx, zoneId), { status: 'active' });
      await startRollover(ctx, zoneId, { role: 'zsk' });
      t.match((await states()).sort(), [/ksk/, /zsk .* active/, /zsk .* published/], 'a usual one afterwards');
    },
  );
}

t.test('an emergency during a rollover of the algorithm replaces the ZSKs of both', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId, pass, states } = world;
  await editDnssec(ctx, zoneId, { status: 'active' });
  await pass(2 * DAY);
  await startRollover(ctx, zoneId, { algorithm: 15 });
  await pass(3 * DAY, false);
  const middle = ['ksk 13 retired', 'ksk 15 active', 'zsk 13 active', 'zsk 15 active'];
  t.same((await states()).sort(), middle, 'it waits for the parent');
  const tags = async (): Promise<number[]> => {
    const { keys } = await listKeys(ctx, zoneId);
    return keys.filter(({ role }) => role === 'zsk').map(({ tag }) => tag);
  };
  const before = await tags();
  await startRollover(ctx, zoneId, { role: 'zsk', emergency: true });
  t.same((await states()).sort(), [...middle, 'zsk 13 published', 'zsk 15 published'].sort());
  await pass(60_000, false, 2000);
  t.same((await states()).sort(), middle);
  t.notOk((await tags()).some((tag) => before.includes(tag)));
  await pass(2 * DAY);
  t.same((await states()).sort(), ['ksk 15 active', 'zsk 15 active']);
});

t.test('resolvers keep DS records as long as they were told, although the parent has lowered their TTL', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId, pass, states } = world;
  await editDnssec(ctx, zoneId, { status: 'active' });
  await pass(2 * DAY);
  const withTtl = (ttl: number): void => void (world.parent = world.parent!.map((server) => ({ ...server, ttl })));
  withTtl(2 * 86_400);
  await pass(DAY, false);
  withTtl(300);
  await pass(2 * HOUR, false);
  await startRollover(ctx, zoneId, { role: 'ksk' });
  await pass(3 * HOUR, false);
  world.followCds();
  await pass(30 * HOUR, false);
  const { keys } = await listKeys(ctx, zoneId);
  t.match(
    keys.find(({ state }) => state === 'retired'),
    { wait: { waitingFor: /old DS record/ } },
  );
  await pass(2 * DAY, false);
  t.same((await states()).sort(), ['ksk 13 active', 'zsk 13 active']);
});
