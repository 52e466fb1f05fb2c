/**
 * The messages of transfers: after each of many random changes, differences from earlier serials, applied by a client that
 * shares no code with the server, lead to the zone as it is transferred whole. Signed zones too.
 */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { parseIP } from '../../src/base/ip.js';
import { createLoadBalancer } from '../../src/control/balancing/load-balancers.js';
import { createPool, editPool } from '../../src/control/balancing/pools.js';
import { changeDenial } from '../../src/control/dnssec/switch-denial.js';
import { importZone } from '../../src/control/imports/zone.js';
import { commit } from '../../src/control/kernel/commit.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord, deleteRecord } from '../../src/control/records/records.js';
import { createOutgoing, enableOutgoing } from '../../src/control/secondary/outgoing.js';
import { Type } from '../../src/dns/codes.js';
import { allAccounts } from '../../src/store/access/accounts.js';
import type { DenialKind } from '../../src/store/dnssec/zones.js';
import { findZone } from '../../src/store/zones/zones.js';
import { differences, onlySoa, wholeZone } from '../../src/transfer/out/content.js';
import { startControl } from '../control/fixture.js';
import { type FollowedZone, zoneOf } from '../support/followed-zone.js';
import { type DecodedRR, decodeMessage } from '../support/message.js';
import { applyStep, createChangedZone, step } from '../support/random-changes.js';
import { enableSigning } from '../support/signing.js';
import { applyDifferences, asSet, serialOf } from '../support/transfer-client.js';
import { testZoneKeys } from '../support/zone-keys.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 20261122);
/** Changes of each zone. */
const CHANGES = Number(process.env['ZONEPLANE_TRANSFER_CHANGES'] ?? 60);
/** Earlier versions from which each new one is reached. */
const REACHED = 8;

async function start(t: Test): Promise<Context> {
  const { ctx } = await startControl(t, {
    edgeAddresses: [parseIP('198.51.100.1')!, parseIP('2001:db8:ed::1')!],
    nameServerAddresses: [parseIP('198.51.100.53')!, parseIP('2001:db8:ed::53')!],
  });
  return { ...ctx, zoneKeys: await testZoneKeys(ctx.store, ctx.random) };
}

async function openWorld(ctx: Context, apex: string): Promise<FollowedZone> {
  return { ...(await createChangedZone(ctx, apex)), copy: new Map(), seen: 0 };
}

function read(messages: Iterable<Uint8Array>): DecodedRR[] {
  return [...messages].flatMap((message) => decodeMessage(Buffer.from(message)).answer);
}

function axfr(world: FollowedZone): DecodedRR[] {
  return world.ctx.store.snapshot(() => read(wholeZone(world.ctx.store, zoneOf(world))));
}

function ixfr(world: FollowedZone, from: number): DecodedRR[] | undefined {
  return world.ctx.store.snapshot(() => {
    const messages = differences(world.ctx.store, zoneOf(world), from);
    return messages && read(messages);
  });
}

for (const denial of ['none', 'nsec', 'nsec3'] as const) {
  t.test(`random changes of a zone, ${denial === 'none' ? 'not signed' : denial}`, async (t) => {
    const world = await openWorld(await start(t), `${denial}.test`);
    if (denial !== 'none') await sign(world, denial);
    const versions = new Map<number, string[]>();
    const steps = fc.sample(step, { numRuns: CHANGES, seed: SEED });
    let incremental = 0;
    for (const [i, change] of steps.entries()) {
      await applyStep(world, change);
      const whole = axfr(world);
      const serial = serialOf(whole[0]!);
      const current = asSet(whole);
      const about = `change ${i}, ${JSON.stringify(change.value)}`;
      if (whole.at(-1)!.rdata !== whole[0]!.rdata) t.fail(`${about}: the last record is not the first one`);
      if (current.length !== whole.length - 1) t.fail(`${about}: a record is sent twice`);
      for (const [from, copy] of [...versions].slice(-REACHED)) {
        if (from === serial) continue;
        const records = ixfr(world, from);
        if (!records) continue;
        incremental++;
        t.equal(records[1]!.type, Type.soa);
        t.equal(serialOf(records[1]!), from, 'it begins with the version of the client');
        const reached = applyDifferences(copy, records);
        if (reached.join('\n') !== current.join('\n')) t.strictSame(reached, current, `${about}, from ${from}`);
      }
      versions.set(serial, current);
    }
    t.ok(versions.size > CHANGES / 3, `${versions.size} versions`);
    t.ok(incremental > CHANGES, `${incremental} differences`);
    let reached = 0;
    const [newest] = axfr(world);
    for (const [from, copy] of versions) {
      const records = from === serialOf(newest!) ? undefined : ixfr(world, from);
      if (!records) continue;
      reached++;
      t.strictSame(applyDifferences(copy, records), versions.get(serialOf(newest!)), `from ${from} to the last one`);
    }
    t.comment(`${reached} of ${versions.size} versions lead to the last one`);
  });
}

t.test('a change of a pool leaves no gap between the versions of a zone', async (t) => {
  const ctx = await start(t);
  const world = await openWorld(ctx, 'balanced.test');
  const account = Buffer.from(allAccounts(ctx.store)[0]!.id).toString('hex');
  const { id: pool } = await createPool(ctx, account, {
    name: 'web',
    origins: [
      { name: 'a', address: '198.51.100.1' },
      { name: 'b', address: '198.51.100.2' },
    ],
  });
  await createLoadBalancer(ctx, world.zoneId, { name: 'lb', default_pools: [pool], fallback_pool: pool });
  const before = axfr(world);
  await createRecord(ctx, world.zoneId, { type: 'TXT', name: 'one', content: 'x' });
  await editPool(ctx, account, pool, { minimum_origins: 2 });
  await createRecord(ctx, world.zoneId, { type: 'TXT', name: 'two', content: 'x' });
  await editPool(ctx, account, pool, { minimum_origins: 1 });
  const records = ixfr(world, serialOf(before[0]!));
  t.ok(records, 'the differences are known');
  t.strictSame(applyDifferences(asSet(before), records!), asSet(axfr(world)));
});

async function sign({ ctx, zoneId, seq }: FollowedZone, denial: DenialKind): Promise<void> {
  await enableSigning(ctx, zoneId);
  await commit(ctx, (draft) => changeDenial(ctx, draft, findZone(ctx.store, seq)!, denial));
}

t.test('the whole zone instead of differences', async (t) => {
  const ctx = await start(t);
  const world = await openWorld(ctx, 'whole.test');
  const serial = (): number => findZone(ctx.store, world.seq)!.serial;
  const before = serial();
  const make = (name: string): Promise<{ readonly id: string }> =>
    createRecord(ctx, world.zoneId, { type: 'TXT', name, content: '"x"', ttl: 60 });
  const { id } = await make('one');
  t.ok(ixfr(world, before), 'a difference');
  t.equal(ixfr(world, before - 1000), undefined, 'a serial that was never there');
  t.equal(ixfr(world, (before + 2 ** 31) >>> 0), undefined, 'a serial half way round the circle (RFC 1982 §3.2)');
  await createOutgoing(ctx, world.zoneId, { name: world.apex, peers: [] });
  await enableOutgoing(ctx, world.zoneId, true);
  t.equal(ixfr(world, before), undefined, 'from before the peers were linked');
  const linked = serial();
  await deleteRecord(ctx, world.zoneId, id);
  t.ok(ixfr(world, linked));
  await enableOutgoing(ctx, world.zoneId, false);
  t.equal(ixfr(world, linked), undefined, 'disabling forgets the history');
  const forgotten = serial();
  for (let i = 0; i < 60; i++) await make(`long${i}`);
  t.ok(ixfr(world, serial() - 20), 'some changes');
  t.equal(ixfr(world, forgotten), undefined, 'more than half of the zone');
});

t.test('a change that is not complete ends the differences', async (t) => {
  const ctx = await start(t);
  const world = await openWorld(ctx, 'incomplete.test');
  const before = serialOf(axfr(world)[0]!);
  const hosts = Array.from({ length: 5200 }, (_, i) => `h${i} 300 IN A 192.0.2.1`);
  const head = ['$ORIGIN incomplete.test.', `@ 300 IN SOA ns h ${before + 5} 2 3 4 60`, '@ 300 IN NS ns.else.test.'];
  const text = `${[...head, ...hosts].join('\n')}\n`;
  await importZone(ctx, { source: { text }, origin: world.apex, replace: true });
  const replaced = axfr(world);
  t.ok(replaced.length > 5200);
  t.equal(ixfr(world, before), undefined);
  await createRecord(ctx, world.zoneId, { type: 'A', name: 'x', content: '192.0.2.7' });
  t.equal(ixfr(world, before), undefined, 'also later');
  t.strictSame(applyDifferences(asSet(replaced), ixfr(world, serialOf(replaced[0]!))!), asSet(axfr(world)));
});

t.test('messages', async (t) => {
  const ctx = await start(t);
  const world = await openWorld(ctx, 'messages.test');
  const text = `"${'x'.repeat(250)}"`;
  const long = Array.from({ length: 80 }, () => text).join(' ');
  await createRecord(ctx, world.zoneId, { type: 'TXT', name: 'long', content: long.slice(0, 2000), ttl: 60 });
  for (let i = 0; i < 90; i++) {
    await createRecord(ctx, world.zoneId, { type: 'TXT', name: `t${i}`, content: text, ttl: 60 });
  }
  const messages = ctx.store.snapshot(() => [...wholeZone(ctx.store, zoneOf(world))]);
  t.ok(messages.length > 1);
  const decoded = messages.map((message) => decodeMessage(Buffer.from(message)));
  t.ok(
    decoded.every(({ qr, aa, rcode, length }) => qr && aa && rcode === 0 && length <= 16_384),
    'authoritative, and as far as pointers reach',
  );
  t.strictSame(
    decoded.map(({ question }) => question.length > 0),
    decoded.map((_, i) => i === 0),
    'the question is in the first only (RFC 5936 §2.2.1)',
  );
  const soa = ctx.store.snapshot(() => read(onlySoa(zoneOf(world))));
  t.match(soa, [{ type: Type.soa }]);
});
