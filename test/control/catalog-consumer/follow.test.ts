/** Catalog zones of other servers (RFC 9432): what becomes of their members, and what a catalog that is wrong does not do. */
import t, { type Test } from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { systemRandom } from '../../../src/base/random.js';
import {
  allConsumed,
  confirmRemovals,
  consumeCatalog,
  forgetConsumed,
  getConsumed,
  listConsumed,
  listConsumedMembers,
} from '../../../src/control/catalog-consumer/consumer.js';
import { consumerJob } from '../../../src/control/catalog-consumer/job.js';
import {
  listRemoved,
  REMOVED_ZONE_JOB,
  removedZoneJob,
  restoreRemoved,
} from '../../../src/control/catalog-consumer/removed.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { replaceIncoming } from '../../../src/control/secondary/incoming.js';
import { createPeer } from '../../../src/control/secondary/peers.js';
import { createZone, deleteZone, editZone, getZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { parseName } from '../../../src/dns/name.js';
import { parseRdata } from '../../../src/dns/rr/registry.js';
import { allIncoming, primariesOfZone } from '../../../src/store/secondary/incoming.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { createIncomingCounts } from '../../../src/transfer/in/metrics.js';
import type { RefreshParts } from '../../../src/transfer/in/refresh.js';
import { fileKeys } from '../../../src/vault/master-key.js';
import { unlockVault } from '../../../src/vault/unlock.js';
import { refreshZone } from '../../support/refresh-zone.js';
import { type ScriptedRR, soa, startScriptedPrimary } from '../../support/scripted-primary.js';
import { startControl } from '../fixture.js';

const ROOT = parseName('.');

interface Producer {
  readonly id: string;
  readonly zoneId: string;
  /** Publishes a version with these records (`owner TYPE data`, below the catalog), and follows it. */
  publish(...lines: readonly string[]): Promise<void>;
  /** The same with `version` and these members (`label zone`). */
  list(...members: readonly string[]): Promise<void>;
  /** Follows what is stored. */
  follow(): Promise<void>;
  state(): ReturnType<typeof getConsumed>;
  /** `zone label problem`, where there is one. */
  members(): Promise<string[]>;
}

interface World {
  readonly ctx: Context;
  readonly parts: RefreshParts;
  readonly account: string;
  readonly peer: string;
  add(name: string): Promise<Producer>;
  /** Names of secondary zones that are served, and no catalogs. */
  zones(): string[];
}

async function start(t: Test): Promise<World> {
  const { ctx: fixture, directory } = await startControl(t);
  const ctx: Context = { ...fixture, clock: new SystemClock(), random: systemRandom };
  const { store } = ctx;
  const keys = fileKeys(`${directory}/master.key`);
  const vault = await unlockVault({ store, keys, random: systemRandom, purposes: ['check', 'tsig'] });
  const { clock, random, log, egress, settings, participants } = ctx;
  const base = { store, clock, random, log, egress, settings, participants };
  const parts: RefreshParts = { base, vault, authorities: undefined, counts: createIncomingCounts() };
  const account = (await createZone(ctx, { name: 'own.test' })).account.id;
  const catalogs: string[] = [];
  let peer = '';
  const add = async (name: string): Promise<Producer> => {
    catalogs.push(name);
    const primary = await startScriptedPrimary(name);
    t.teardown(() => primary.close());
    peer = (await createPeer(ctx, account, { name, ip: '127.0.0.1', port: primary.port })).id;
    const { id, zoneId } = await consumeCatalog(ctx, account, { name, peers: [peer] });
    const { seq } = findZoneByName(store, name)!;
    const job = consumerJob(base);
    let serial = 1;
    const follow = async (): Promise<void> => {
      const context = { store, clock: ctx.clock, log: ctx.log, attempt: 0, requireLease() {} };
      for (;;) {
        const outcome = await job.handler({ ...context, signal: new AbortController().signal }, id);
        if ('done' in outcome || outcome.againAtMs > ctx.clock.nowMs() + 1000) return;
      }
    };
    const publish = async (...lines: readonly string[]): Promise<void> => {
      const records = lines.map((line): ScriptedRR => {
        const [owner, type, ...data] = line.split(' ');
        const code = { TXT: Type.txt, PTR: Type.ptr, NS: Type.ns, A: Type.a }[type!]!;
        return [`${owner}.${name}.`, 0, code, parseRdata(code, data.join(' '), ROOT)];
      });
      const own = soa(name, ++serial);
      primary.script.serial = serial;
      primary.script.transfer = (_, say) => {
        const all = [own, ...records, own];
        for (let i = 0; i < all.length; i += 200) say.message(all.slice(i, i + 200));
      };
      await refreshZone(parts, seq, true, new AbortController().signal);
      t.match(store.prepare<[]>("SELECT count(*) AS n FROM jobs WHERE kind = 'catalog_consumer'").get(), {
        n: /[1-9]/,
      });
      await follow();
    };
    return {
      id,
      zoneId,
      publish,
      list: (...members) =>
        publish('version TXT "2"', ...members.map((member) => member.replace(/^(\S+) (\S+)$/, '$1.zones PTR $2.'))),
      follow,
      state: () => getConsumed(ctx, account, id),
      members: async () =>
        (await listConsumedMembers(ctx, account, id)).map((one) =>
          [one.name, one.memberId, one.problem].filter(Boolean).join(' '),
        ),
    };
  };
  return {
    ctx,
    parts,
    account,
    get peer() {
      return peer;
    },
    add,
    zones: () =>
      store
        .prepare<[], { name: string }>("SELECT name FROM zones WHERE type = 'secondary' AND served = 1 ORDER BY name")
        .all()
        .map(({ name }) => name)
        .filter((name) => !catalogs.includes(name)),
  };
}

const many = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `m${from + i} z${from + i}.test`);

t.test('members become secondary zones with the primaries of their catalog, and go again', async (t) => {
  const world = await start(t);
  const { ctx, account, add, zones } = world;
  const { store } = ctx;
  const catalog = await add('cat.test');
  t.match(await catalog.state(), { state: 'waiting', serial: null, zones: 0 });
  await catalog.list('m1 a.test', 'm2 B.Test');
  t.same(zones(), ['a.test', 'b.test']);
  t.match(await catalog.state(), { state: 'current', serial: 2, zones: 2, problems: 0 });
  const a = findZoneByName(store, 'a.test')!;
  t.match(a, { type: 'secondary', served: 1, expired: 1, name_server_mode: 'records' });
  t.equal(primariesOfZone(store, a.seq)[0]?.name, 'cat.test');
  t.ok(store.prepare<[string]>("SELECT 1 FROM jobs WHERE kind = 'zone_notified' AND subject = ?").get(String(a.seq)));
  await catalog.publish(
    'version TXT "2"',
    'm1.zones PTR a.test.',
    'group.m1.zones TXT "signed"',
    'extra.m1.zones TXT "is ignored"',
    'm9.zones TXT "is ignored"',
    'group.m8.zones TXT "of no member"',
  );
  t.same(zones(), ['a.test'], 'a member less');
  t.equal(findZoneByName(store, 'a.test')!.seq, a.seq, 'the other one is as it was');
  const [member] = await listConsumedMembers(ctx, account, catalog.id);
  t.match(member, { name: 'a.test', memberId: 'm1', group: 'signed', problem: null });

  await catalog.list('m2 a.test');
  t.not(findZoneByName(store, 'a.test')!.seq, a.seq, 'another identifier: the zone is made anew');
  t.same(await catalog.members(), ['a.test m2']);

  const { id: other } = await createPeer(ctx, account, { name: 'other', ip: '127.0.0.1', port: 9 });
  await replaceIncoming(ctx, catalog.zoneId, { name: 'cat.test', peers: [other] });
  await catalog.follow();
  t.equal(primariesOfZone(store, findZoneByName(store, 'a.test')!.seq)[0]?.name, 'other', 'they follow the catalog');
  await forgetConsumed(ctx, account, catalog.id);
  t.same(zones(), ['a.test'], 'zones of a catalog that is followed no longer stay');
  t.same(await listConsumed(ctx, account), []);
  t.equal(findZoneByName(store, 'cat.test'), undefined);
});

t.test('a broken catalog changes nothing', async (t) => {
  const { add, zones, ctx } = await start(t);
  const catalog = await add('cat.test');
  await catalog.list('m1 a.test', 'm2 b.test');
  const good = 'm1.zones PTR a.test.';
  for (const [fault, ...lines] of [
    [/no TXT record at version/, good],
    [/2 TXT records at version/, 'version TXT "1"', 'version TXT "2"', good],
    [/has the version "1"/, 'version TXT "1"', good],
    [/has the version "3"/, 'version TXT "3"', good],
    [/has the version ""/, 'version TXT ""', good],
    [/the member m1 has 2 PTR records/, 'version TXT "2"', good, 'm1.zones PTR c.test.'],
    [/a.test is a member twice/, 'version TXT "2"', good, 'm3.zones PTR A.test.'],
    [/m1 goes over to 2 catalogs/, 'version TXT "2"', good, 'coo.m1.zones PTR x.test.', 'coo.m1.zones PTR y.test.'],
  ] as const) {
    await catalog.publish(...lines);
    const state = await catalog.state();
    t.match(state, { state: 'broken', serial: 2, zones: 2 }, String(fault));
    t.match(state.fault, fault);
    t.same(zones(), ['a.test', 'b.test']);
  }
  t.match(allConsumed(ctx.store), [{ state: 'broken' }]);
  await catalog.list('m1 a.test');
  t.match(await catalog.state(), { state: 'current', fault: null, zones: 1 });
  t.same(zones(), ['a.test'], 'the next one that is right is followed');
});

t.test('zones that are here already, and names that nobody may have, are left alone and said', async (t) => {
  const { ctx, add, zones } = await start(t);
  const { store } = ctx;
  const own = findZoneByName(store, 'own.test')!;
  const catalog = await add('cat.test');
  const listed = ['own.test.', 'co.uk.', 'a.test.', 'cat.test.', 'bad\\.label.test.', '.'];
  await catalog.publish('version TXT "2"', ...listed.map((name, i) => `m${i}.zones PTR ${name}`));
  t.same(zones(), ['a.test']);
  t.match(findZoneByName(store, 'own.test'), { seq: own.seq, type: 'full' });
  t.match(await catalog.state(), { state: 'current', zones: 1, problems: 5 });
  const said = await catalog.members();
  t.match(
    said.find((line) => line.startsWith('own.test')),
    /already, which is not from a catalog/,
  );
  t.match(
    said.find((line) => line.startsWith('co.uk')),
    /public suffix/,
  );
  t.match(
    said.find((line) => line.startsWith('cat.test')),
    /already/,
  );
  await deleteZone(ctx, Buffer.from(own.id).toString('hex'));
  await catalog.follow();
  t.same(zones(), ['a.test', 'own.test'], 'a name that became free is taken when the catalog is looked at again');

  await editZone(ctx, Buffer.from(findZoneByName(store, 'a.test')!.id).toString('hex'), { type: 'full' });
  await catalog.list('m1 own.test');
  t.match(findZoneByName(store, 'a.test'), { type: 'full' }, 'a zone that became primary here is not removed');
});

t.test('many zones do not go without a person', async (t) => {
  const { ctx, account, add, zones } = await start(t);
  const catalog = await add('cat.test');
  await catalog.list(...many(0, 120));
  t.equal(zones().length, 120);
  await t.rejects(confirmRemovals(ctx, account, catalog.id), { key: 'secondary.nothingHeld' } as never);
  await catalog.list(...many(20, 120));
  t.equal(zones().length, 100, 'a sixth of them goes by itself');
  await catalog.list('n zz.test');
  t.match(await catalog.state(), { state: 'held', held: 100, zones: 101 });
  t.equal(zones().length, 101, 'new ones come all the same');
  await catalog.list();
  t.match(await catalog.state(), { state: 'held', held: 101 }, 'a catalog that lost all members');
  await catalog.list(...many(20, 120), 'n zz.test');
  t.match(await catalog.state(), { state: 'current', held: 0, zones: 101 }, 'they are back, and nothing happened');
  const before = findZoneByName(ctx.store, 'z50.test')!.seq;
  await catalog.list(...many(20, 120).map((member) => `x${member}`));
  t.match(await catalog.state(), { state: 'held', held: 101 }, 'other identifiers for all drop as much');
  t.equal(findZoneByName(ctx.store, 'z50.test')!.seq, before);
  t.match(await confirmRemovals(ctx, account, catalog.id), { held: 101 });
  await catalog.follow();
  t.equal(zones().length, 100);
  t.not(findZoneByName(ctx.store, 'z50.test')!.seq, before, 'they were made anew');
  await catalog.list();
  t.match(await catalog.state(), { state: 'held', held: 100 }, 'the next version needs another word');
  await confirmRemovals(ctx, account, catalog.id);
  await catalog.follow();
  t.same(zones(), []);
  t.match(await catalog.state(), { state: 'current', held: 0, zones: 0 });
});

t.test('a zone goes over to another catalog when both say so (coo)', async (t) => {
  const { ctx, add, zones } = await start(t);
  const seqOf = (name: string) => findZoneByName(ctx.store, name)!.seq;
  const [old, next] = [await add('old.test'), await add('next.test')];
  await old.list('m1 a.test', 'm2 b.test', 'm3 c.test');
  const [a, b] = [seqOf('a.test'), seqOf('b.test')];
  await next.list('m1 a.test');
  t.match((await next.members())[0], /^a\.test m1 it is a zone of the catalog old\.test, which does not say/);
  t.same(await old.members(), ['a.test m1', 'b.test m2', 'c.test m3'], 'nobody takes zones from another');

  const both = ['version TXT "2"', 'm1.zones PTR a.test.', 'm2.zones PTR b.test.', 'm3.zones PTR c.test.'];
  await old.publish(...both, 'coo.m1.zones PTR next.test.', 'coo.m2.zones PTR next.test.');
  await next.follow();
  t.same(await next.members(), ['a.test m1']);
  t.equal(seqOf('a.test'), a, 'under the same identifier it keeps its state');
  await old.follow();
  t.same(await old.members(), ['b.test m2', 'c.test m3']);
  await next.list('m1 a.test', 'other b.test');
  t.same(await next.members(), ['a.test m1', 'b.test other']);
  t.not(seqOf('b.test'), b, 'under another one it begins anew (RFC 9432 §4.3.1)');
  await old.list('m3 c.test');
  t.same(zones(), ['a.test', 'b.test', 'c.test'], 'the old catalog does not remove what went over');
  t.match(await old.state(), { zones: 1, problems: 0, state: 'current' });
});

const DAY_MS = 86_400_000;

/** A clock that is ahead. */
class ClockAhead extends SystemClock {
  constructor(aheadMs: number) {
    super({ wallMs: () => Date.now() + aheadMs, steadyMs: () => performance.now() });
  }
}

/** Runs the job of a removed zone, days later. */
async function runRemoval({ parts: { base } }: World, seq: number, days: number): Promise<unknown> {
  const clock = new ClockAhead(days * DAY_MS);
  const { store, log } = base;
  const context = { store, clock, log, attempt: 0, requireLease() {}, signal: new AbortController().signal };
  return removedZoneJob({ ...base, clock }).handler(context, String(seq));
}

t.test('a zone that leaves its catalog is kept for a week, and comes back as it was', async (t) => {
  const world = await start(t);
  const { ctx, account, add, zones, parts } = world;
  const { store } = ctx;
  const catalog = await add('cat.test');
  await catalog.list('m1 a.test', 'm2 b.test');
  const before = findZoneByName(store, 'a.test')!;
  const id = Buffer.from(before.id).toString('hex');
  const jobs = (kind: string) =>
    store.prepare<[string, string]>('SELECT 1 FROM jobs WHERE kind = ? AND subject = ?').all(kind, String(before.seq))
      .length;
  t.equal(jobs('zone_notified'), 1);

  await catalog.list('m2 b.test');
  t.same(zones(), ['b.test']);
  t.match(findZoneByName(store, 'a.test'), { seq: before.seq, served: 0 });
  t.match(await catalog.state(), { zones: 1, problems: 0, removed: 1 });
  t.match(await listRemoved(ctx, account), [{ id, name: 'a.test', catalog: 'cat.test', memberId: 'm1' }]);
  const [{ removedAt, keptUntil } = { removedAt: 0, keptUntil: 0 }] = await listRemoved(ctx, account);
  t.equal(keptUntil - removedAt, 7 * DAY_MS * 1000);
  t.equal(jobs('zone_notified'), 0, 'its primaries are not asked meanwhile');
  t.equal(
    await refreshZone(parts, before.seq, true, new AbortController().signal),
    undefined,
    'not even when a check ran already',
  );
  t.notOk(
    allIncoming(store).some(({ zone }) => zone === before.seq),
    'nothing waits for it',
  );
  await editZone(ctx, id, { paused: true });
  await editZone(ctx, id, { paused: false });
  t.equal(findZoneByName(store, 'a.test')!.served, 0, 'a change of its settings does not serve it');
  await t.rejects(createZone(ctx, { name: 'a.test', account }), { key: 'zones.left' } as never);
  t.match(await runRemoval(world, before.seq, 6.9), { againAtMs: keptUntil / 1000 });

  await catalog.list('m2 b.test', 'm1 a.test');
  t.same(zones(), ['a.test', 'b.test'], 'it is listed again');
  t.match(findZoneByName(store, 'a.test'), { seq: before.seq, id: before.id, created_at: before.created_at });
  t.match(await catalog.state(), { zones: 2, removed: 0 });
  t.equal(jobs('zone_notified'), 1, 'its primaries are asked at once');
  t.equal(jobs(REMOVED_ZONE_JOB), 0);
  t.match(await runRemoval(world, before.seq, 8), { done: true });
  t.same(zones(), ['a.test', 'b.test'], 'and it is not deleted later');

  await catalog.list('m2 b.test');
  await catalog.list('m2 b.test', 'other a.test');
  t.not(findZoneByName(store, 'a.test')!.seq, before.seq, 'under another identifier it begins anew');
  t.same(await listRemoved(ctx, account), []);
  await catalog.list('m2 b.test');
  const { seq } = findZoneByName(store, 'a.test')!;
  t.match(await runRemoval(world, seq, 7.1), { done: true });
  t.equal(findZoneByName(store, 'a.test'), undefined, 'after a week it is deleted');
});

t.test('a person brings zones back that left a catalog, makes them own ones or deletes them', async (t) => {
  const { ctx, account, add, zones } = await start(t);
  const { store } = ctx;
  const idOf = (name: string) => Buffer.from(findZoneByName(store, name)!.id).toString('hex');
  const catalog = await add('cat.test');
  await catalog.list('m1 a.test', 'm2 b.test', 'm3 c.test', 'm4 d.test');
  await catalog.list('m4 d.test');
  t.same(zones(), ['d.test']);
  t.match(await restoreRemoved(ctx, account, idOf('a.test')), { name: 'a.test' });
  t.same(zones(), ['a.test', 'd.test']);
  await t.rejects(restoreRemoved(ctx, account, idOf('a.test')), { key: 'secondary.removedMissing' } as never);
  await t.rejects(restoreRemoved(ctx, account, idOf('own.test')), { key: 'secondary.removedMissing' } as never);
  await editZone(ctx, idOf('b.test'), { type: 'full' });
  t.match(await getZone(ctx, idOf('b.test')), { type: 'full' });
  t.equal(findZoneByName(store, 'b.test')!.served, 1, 'as a primary zone it is served');
  await deleteZone(ctx, idOf('c.test'));
  t.same(await listRemoved(ctx, account), []);
  await catalog.list('m4 d.test', 'm3 c.test');
  t.same(zones(), ['a.test', 'c.test', 'd.test'], 'a deleted one is made anew');
  await catalog.list('m4 d.test');
  await forgetConsumed(ctx, account, catalog.id);
  t.same(zones(), ['a.test', 'd.test']);
  t.match(
    await listRemoved(ctx, account),
    [{ name: 'c.test', catalog: 'cat.test' }],
    'also when the catalog is followed no longer',
  );
});
