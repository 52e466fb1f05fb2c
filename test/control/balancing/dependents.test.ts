/**
 * A pool that very many load balancers use changes: each write reaches few of them, the others go on to see it as it was, and at any
 * moment the change log leads from what was served to what is served.
 */
import t, { type Test } from 'tap';
import type { Members } from '../../../src/balancing/members.js';
import { toHex } from '../../../src/base/bytes.js';
import { CHANGED_POOLS_JOB, changedPoolsJob, reachBalancers } from '../../../src/control/balancing/dependents.js';
import { createLoadBalancer, editLoadBalancer } from '../../../src/control/balancing/load-balancers.js';
import { createMonitorGroup, editMonitorGroup } from '../../../src/control/balancing/monitor-groups.js';
import { createMonitor } from '../../../src/control/balancing/monitors.js';
import { createPool, editPool, editPools } from '../../../src/control/balancing/pools.js';
import { editDnssec } from '../../../src/control/dnssec/delegation.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { balancedAt } from '../../../src/serving/balanced.js';
import { copyServed } from '../../../src/serving/difference.js';
import { servingZone } from '../../../src/serving/zone.js';
import { allAccounts } from '../../../src/store/access/accounts.js';
import { hasEarlierPools } from '../../../src/store/balancing/earlier-pools.js';
import { loadBalancersOfZone } from '../../../src/store/balancing/load-balancers.js';
import type { Store } from '../../../src/store/driver.js';
import { listJobs } from '../../../src/store/jobs.js';
import {
  type ChangedRR,
  changesAfter,
  lastChange,
  rrsOfChange,
  touchedOwners,
} from '../../../src/store/log/changes.js';
import { findZone, findZoneById } from '../../../src/store/zones/zones.js';
import { examineStore } from '../../../src/warnings/examine.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startZone } from '../fixture.js';

/** More than one write reaches. */
const MANY = 26;

const originsAt = (network: number, count = 100): object[] =>
  Array.from({ length: count }, (_, i) => ({ name: `o${i}`, address: `198.51.${network}.${i + 1}` }));

async function start(t: Test, count: number, pool: Members, signed = false) {
  const fixture = await startZone(t);
  const { store } = fixture.ctx;
  const ctx = { ...fixture.ctx, zoneKeys: await testZoneKeys(store, fixture.ctx.random) };
  const { id, seq: account } = allAccounts(store)[0]!;
  const accountId = toHex(id);
  if (signed) await editDnssec(ctx, fixture.zoneId, { status: 'active' });
  const made = await createPool(ctx, accountId, { name: 'web', ...pool });
  const create = (name: string, pool = made.id) =>
    createLoadBalancer(ctx, fixture.zoneId, { name, default_pools: [pool], fallback_pool: pool });
  for (let i = 0; i < count; i++) await create(`b${String(i).padStart(2, '0')}.example.com`);
  const zone = findZoneById(store, Buffer.from(fixture.zoneId, 'hex'))!.seq;
  return {
    ...{ ...fixture, ctx, store, account, accountId, zone, pool: made.id, create },
    edit: (members: Members) => editPool(ctx, accountId, made.id, members),
    seen: (name: string) => {
      const row = loadBalancersOfZone(store, zone).find((one) => one.name === `${name}.example.com`)!;
      const [one] = balancedAt(store, zone, new Uint8Array(row.owner_key))!.pools;
      return { address: one!.pool.origins[0]!.address, monitored: one!.monitored };
    },
    follow: (other: number) => follow(ctx, other),
    followed: follow(ctx, zone),
  };
}

/**
 * Gives the numbers of owners of the changes of a zone (store number) since the last call, which must lead from what was served then to
 * what is served.
 */
function follow({ store, settings }: Pick<Context, 'store' | 'settings'>, zone: number): (t: Test) => number[] {
  const served = (): string[] => {
    const all = [...copyServed(store, servingZone(store, findZone(store, zone)!, settings)).values()];
    return linesOf(all.flatMap(({ ownerKey, rrs }) => rrs.map((rr) => ({ ...rr, owner_key: ownerKey })))).sort();
  };
  let [before, since] = [served(), lastChange(store)];
  return (t) => {
    const state = new Map<string, number>();
    const add = (line: string, by: number): unknown => state.set(line, (state.get(line) ?? 0) + by);
    for (const line of before) add(line, 1);
    const changes = changesAfter(store, since, 1000).filter((change) => change.zone === zone);
    for (const change of changes) {
      t.equal(change.complete, 1);
      const rrs = rrsOfChange(store, change);
      for (const op of [0, 1])
        for (const line of linesOf(rrs.filter((rr) => rr.op === op))) add(line, op === 1 ? 1 : -1);
    }
    [before, since] = [served(), lastChange(store)];
    const now = [...state].flatMap(([line, times]) => (times === 0 ? [] : Array.from({ length: times }, () => line)));
    t.strictSame(now.sort(), before, 'the change log leads there');
    return changes.map(({ seq }) => touchedOwners(store, seq).length);
  };
}

/** Without SOA records, their signatures, and marks. */
function linesOf(rrs: readonly Omit<ChangedRR, 'op'>[]): string[] {
  return rrs
    .filter(({ type, rdata }) => type !== 0 && type !== Type.soa && !(type === Type.rrsig && rdata[1] === Type.soa))
    .map(
      ({ owner_key: key, type, ttl, rdata }) => `${Buffer.from(key).toString('latin1')} ${type} ${ttl} ${toHex(rdata)}`,
    );
}

/** Lets only those of the next writes happen. One that fails with others is tried a second time, alone. */
function onlyWrites({ store }: { readonly store: Store }, mayHappen: (number: number) => boolean): () => void {
  const own = store as unknown as { write: (...args: unknown[]) => Promise<unknown> };
  const write = own.write.bind(store);
  let number = 0;
  own.write = async (...args) => {
    if (!mayHappen(++number)) throw new Error('the process ends here');
    return write(...args);
  };
  return () => void (own.write = write);
}

// One installation: each test leaves it as it needs it.
let world: Awaited<ReturnType<typeof start>>;

t.before(async () => {
  world = await start(t, MANY, { origins: originsAt(100) });
});

const LAST = `b${MANY - 1}`;

t.test('each write reaches few load balancers, and all see the change in the end', async (t) => {
  const { edit, followed, seen, store, account } = world;
  await edit({ origins: originsAt(101) });
  const owners = followed(t);
  t.equal(owners.length, 2, 'in several writes');
  t.ok(Math.max(...owners) < 23, 'few in each');
  t.equal(owners[0]! + owners[1]!, MANY);
  t.equal(seen(LAST).address, '198.51.101.1');
  t.notOk(hasEarlierPools(store, account), 'nothing is left');
});

t.test('few are reached in the write itself', async (t) => {
  const { ctx, accountId, create, followed, store, account } = world;
  const few = await createPool(ctx, accountId, { name: 'few', origins: originsAt(100, 2) });
  for (const name of ['few1.example.com', 'few2.example.com']) await create(name, few.id);
  followed(t);
  const end = onlyWrites(world, (number) => number === 1);
  await editPool(ctx, accountId, few.id, { origins: originsAt(101, 3) });
  end();
  t.notOk(hasEarlierPools(store, account));
  t.strictSame(followed(t), [2]);
});

t.test('signatures of very many origins are made in several writes', async (t) => {
  const { edit, followed } = await start(t, 3, { origins: originsAt(100, 50) }, true);
  await edit({ origins: originsAt(101, 50) });
  t.equal(followed(t).length, 2);
});

t.test('where it stands still, each load balancer sees one state, and the job goes on', async (t) => {
  const { ctx, store, zone, zoneId, account, accountId, edit, followed, seen, create } = world;
  const addresses = (): string[] => ['b00', LAST].map((name) => seen(name).address);
  let end = onlyWrites(world, (number) => number <= 2);
  await edit({ origins: originsAt(102) });
  end();
  t.strictSame(addresses(), ['198.51.102.1', '198.51.101.1'], 'the first ones see the change');
  followed(t);
  for (const at of [1, MANY - 1]) {
    const { id } = loadBalancersOfZone(store, zone)[at]!;
    await editLoadBalancer(ctx, zoneId, toHex(id), { ttl: 60 });
  }
  followed(t);
  // The second change comes while the first one is under way.
  end = onlyWrites(world, (number) => number === 3);
  await edit({ origins: originsAt(103) });
  end();
  t.strictSame(addresses(), ['198.51.102.1', '198.51.101.1']);
  await create('late.example.com');
  t.equal(seen('late').address, '198.51.103.1', 'a new one sees the pool as it is');
  followed(t);
  const planned = listJobs(store, 10).find(({ kind }) => kind === CHANGED_POOLS_JOB);
  t.match(planned, { subject: accountId });
  const job = changedPoolsJob(ctx);
  const lease = { ...ctx, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  t.strictSame(await job.handler(lease, accountId), { done: true });
  t.strictSame(addresses(), ['198.51.103.1', '198.51.103.1']);
  t.notOk(hasEarlierPools(store, account));
  followed(t);
  t.strictSame(await job.handler(lease, accountId), { done: true }, 'once more does nothing');
  t.strictSame(followed(t), []);
});

t.test('whether health plays a part changes for each load balancer with its write', async (t) => {
  const { ctx, accountId, edit, followed, seen } = world;
  const monitored = (): boolean[] => ['b00', LAST].map((name) => seen(name).monitored);
  const monitor = await createMonitor(ctx, accountId, { type: 'tcp', port: 25 });
  const member = { monitor_id: monitor.id, enabled: true, monitoring_only: false, must_be_healthy: false };
  const group = await createMonitorGroup(ctx, accountId, { description: 'g', members: [member] });
  await edit({ monitor_group: group.id });
  t.strictSame(monitored(), [true, true]);
  followed(t);
  const end = onlyWrites(world, (number) => number <= 2);
  await editMonitorGroup(ctx, accountId, group.id, { members: [{ ...member, enabled: false }] });
  end();
  t.strictSame(monitored(), [false, true]);
  await edit({ description: 'other' });
  t.strictSame(monitored(), [false, false], 'the next edit goes on');
  t.equal(followed(t).length, 2);
});

t.test(
  'settings that change while a change of monitors is under way come to each load balancer with its write',
  async (t) => {
    const { ctx, accountId, edit, followed, seen } = world;
    const monitor = await createMonitor(ctx, accountId, { type: 'tcp', port: 26 });
    const member = { monitor_id: monitor.id, enabled: true, monitoring_only: false, must_be_healthy: false };
    const group = await createMonitorGroup(ctx, accountId, { description: 'h', members: [member] });
    await edit({ monitor_group: group.id, origins: originsAt(104) });
    followed(t);
    let end = onlyWrites(world, (number) => number === 1);
    await editMonitorGroup(ctx, accountId, group.id, { members: [{ ...member, enabled: false }] });
    end();
    end = onlyWrites(world, (number) => number === 3);
    await edit({ origins: originsAt(105) });
    end();
    t.strictSame(seen(LAST), { address: '198.51.104.1', monitored: true }, 'as it was before both');
    followed(t);
    await edit({ description: 'then' });
    t.strictSame(seen(LAST), { address: '198.51.105.1', monitored: false });
    followed(t);
  },
);

t.test('an edit of all pools comes to all load balancers, too', async (t) => {
  const { ctx, store, account, accountId, followed, seen } = world;
  followed(t);
  await editPools(ctx, accountId, { origins: originsAt(106) });
  t.notOk(hasEarlierPools(store, account), 'nothing is left');
  t.equal(seen(LAST).address, '198.51.106.1');
  followed(t);
});

t.test('changes that cannot come to load balancers do not pile up', async (t) => {
  const { ctx, store, edit, followed, seen } = world;
  const kept = (): unknown => store.prepare('SELECT count(*) AS pools FROM earlier_pools').get()!;
  await edit({ origins: originsAt(107) });
  followed(t);
  let end = onlyWrites(world, (number) => number <= 2);
  await edit({ origins: originsAt(108) });
  end();
  followed(t);
  for (let network = 109; network < 115; network++) {
    end = onlyWrites(world, (number) => number === 3);
    await edit({ origins: originsAt(network) });
    end();
  }
  t.strictSame(kept(), { pools: 2 }, 'for those before and behind the last one that was reached');
  t.strictSame(
    ['b00', LAST].map((name) => seen(name).address),
    ['198.51.108.1', '198.51.107.1'],
  );
  followed(t);
  await reachBalancers(ctx, world.account);
  t.equal(seen(LAST).address, '198.51.114.1');
  followed(t);
});

/** A load balancer of a pool in a signed zone of its own. */
async function inSignedZone(pool: string, name: string) {
  const { ctx, store } = world;
  const { id } = await createZone(ctx, { name });
  await createLoadBalancer(ctx, id, { name: `broken.${name}`, default_pools: [pool], fallback_pool: pool });
  await editDnssec(ctx, id, { status: 'active' });
  const { seq } = findZoneById(store, Buffer.from(id, 'hex'))!;
  const address = (): string => {
    const [row] = loadBalancersOfZone(store, seq);
    return balancedAt(store, seq, new Uint8Array(row!.owner_key))!.pools[0]!.pool.origins[0]!.address;
  };
  return { id, seq, address };
}

/** Lets the keys of a zone (store number) not open until the returned function is called. */
function breakKeys(zone: number): () => void {
  const { zoneKeys } = world.ctx;
  const { open } = zoneKeys;
  zoneKeys.open = (row) => {
    if (row.zone === zone) throw new Error('another master key sealed it');
    return open(row);
  };
  return () => void (zoneKeys.open = open);
}

t.test('one of few that cannot be written does not refuse the change', async (t) => {
  const { ctx, clock, accountId, create, followed, seen } = world;
  const { id: few } = await createPool(ctx, accountId, { name: 'fewer', origins: originsAt(130, 2) });
  await create('beside.example.com', few);
  const { seq, address } = await inSignedZone(few, 'few.test');
  followed(t);
  const mend = breakKeys(seq);
  await editPool(ctx, accountId, few, { origins: originsAt(131, 2) });
  t.strictSame([seen('beside').address, address()], ['198.51.131.1', '198.51.130.1']);
  followed(t);
  mend();
  clock.advance(60_000);
  const lease = { ...ctx, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  t.strictSame(await changedPoolsJob(ctx).handler(lease, accountId), { done: true });
  t.equal(address(), '198.51.131.1');
});

t.test('one that cannot be written keeps no other one waiting, and follows when it can', async (t) => {
  const { ctx, clock, store, account, accountId, pool, edit, followed, seen } = world;
  const { id, seq, address: atBroken } = await inSignedZone(pool, 'signed.test');
  await world.create('behind.example.com');
  const ofBroken = world.follow(seq);
  const addresses = (): string[] => [...['b00', 'behind'].map((name) => seen(name).address), atBroken()];
  followed(t);
  const before = seen(LAST).address;
  const mend = breakKeys(seq);
  for (const network of [120, 121, 122]) {
    await editPool(ctx, accountId, pool, { origins: originsAt(network) });
    t.strictSame(addresses(), [`198.51.${network}.1`, `198.51.${network}.1`, before]);
  }
  followed(t);
  t.strictSame(ofBroken(t), []);
  t.notOk(hasEarlierPools(store, account));
  t.strictSame(store.prepare('SELECT count(*) AS pools FROM earlier_pools').get(), { pools: 1 }, 'nothing piles up');
  const { actor, settings } = ctx;
  const told = examineStore({ store, actor }, settings, ctx.clock.nowUs()).filter(
    (one) => one.kind === 'balancer-held',
  );
  t.match(told, [{ zoneId: id, text: /broken\.signed\.test .* once: .*another master key sealed it/ }]);
  const job = changedPoolsJob(ctx);
  const lease = { ...ctx, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  const due = (): number => listJobs(store, 10).find(({ kind }) => kind === CHANGED_POOLS_JOB)!.run_at;
  t.ok(due() > ctx.clock.nowMs(), 'it is tried again');
  clock.advance(due() - ctx.clock.nowMs());
  const outcome = await job.handler(lease, accountId);
  t.ok('againAtMs' in outcome && outcome.againAtMs > ctx.clock.nowMs() + 40_000, 'later each time');
  mend();
  clock.advance(3_600_000);
  t.strictSame(await job.handler(lease, accountId), { done: true });
  t.strictSame(
    addresses(),
    Array.from({ length: 3 }, () => '198.51.122.1'),
  );
  t.strictSame(store.prepare('SELECT count(*) AS pools FROM earlier_pools').get(), { pools: 0 });
  t.strictSame(
    examineStore({ store, actor }, settings, ctx.clock.nowUs()).filter((one) => one.kind === 'balancer-held'),
    [],
  );
  await edit({ origins: originsAt(123) });
  t.equal(atBroken(), '198.51.123.1');
  t.equal(ofBroken(t).length, 2);
  followed(t);
});

t.test('an edit of many pools reaches in one write no more than that of one', async (t) => {
  const { ctx, accountId, create, followed, pool } = world;
  const networks = [2, 3, 4];
  for (const network of networks) {
    const made = await createPool(ctx, accountId, { name: `w${network}`, origins: originsAt(network) });
    for (let i = 0; i < 9; i++) await create(`w${network}${i}.example.com`, made.id);
  }
  await editPool(ctx, accountId, pool, { enabled: false });
  followed(t);
  await editPools(ctx, accountId, { enabled: true, minimum_origins: 2 });
  const owners = followed(t);
  t.ok(Math.max(...owners) < 25, `in one write at most ${Math.max(...owners)}`);
});
