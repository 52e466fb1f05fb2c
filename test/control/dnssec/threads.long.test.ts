/** Many signatures at once: threads make them, and others write meanwhile. */
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { editDnssec } from '../../../src/control/dnssec/delegation.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { importZone } from '../../../src/control/imports/zone.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { unusedRecordsJobs } from '../../../src/control/kernel/unused-records.js';
import { applyBatch } from '../../../src/control/records/batch.js';
import { createRecord } from '../../../src/control/records/records.js';
import { editDnsSettings } from '../../../src/control/zones/dns-settings.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import type { JobContext } from '../../../src/jobs/kind.js';
import { findDnssecZone } from '../../../src/store/dnssec/zones.js';
import { changesAfter } from '../../../src/store/log/changes.js';
import { checkLog, followAnew, followZone } from '../../support/followed-zone.js';
import { requireVerified, servedRecords } from '../../support/signed-copy.js';
import { enableSigning } from '../../support/signing.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

interface Threads {
  readonly ctx: Context;
  /** How many signatures each call of the threads made. */
  readonly made: number[];
  /** Called once, before the threads begin. */
  meanwhile: (() => Promise<unknown>) | undefined;
  /** Called whenever threads are given something to sign. */
  watch: (() => void) | undefined;
}

async function startThreads(t: Test): Promise<Threads> {
  const { ctx } = await startControl(t);
  const zoneKeys = await testZoneKeys(ctx.store, ctx.random);
  const made: number[] = [];
  const world: Threads = {
    ctx: {
      ...ctx,
      zoneKeys: {
        ...zoneKeys,
        threads: {
          async sign(orders) {
            if (orders.length > 0) {
              made.push(orders.length);
              world.watch?.();
            }
            const { meanwhile } = world;
            world.meanwhile = undefined;
            await meanwhile?.();
            return zoneKeys.threads.sign(orders);
          },
        },
      },
    },
    made,
    meanwhile: undefined,
    watch: undefined,
  };
  return world;
}

const names = (count: number, content: string): { type: string; name: string; content: string }[] =>
  Array.from({ length: count }, (_, i) => ({ type: 'A', name: `h${i}`, content }));

t.test('a large change is signed by threads before it is published; a small one is not', async (t) => {
  const threads = await startThreads(t);
  const { ctx, made } = threads;
  await createZone(ctx, { name: 'many.test' });
  const world = followZone(ctx, 'many.test');
  await enableSigning(ctx, world.zoneId);
  Object.assign(world, followZone(ctx, 'many.test'));
  made.length = 0;
  await applyBatch(ctx, world.zoneId, { posts: names(50, '192.0.2.1') });
  t.same(made, []);
  // Between two names of the batch, so that their NSEC records change while they are made.
  threads.meanwhile = () => createRecord(ctx, world.zoneId, { type: 'A', name: 'i5x', content: '192.0.2.2' });
  const posts = names(250, '192.0.2.1').map((post) => ({ ...post, name: `i${post.name}` }));
  await applyBatch(ctx, world.zoneId, { posts: [...posts, { type: 'NS', name: 'i5', content: 'ns.else.test' }] });
  t.ok(made[0]! > 500, made.join());
  t.ok(made.length === 2 && made[1]! < 20, `${made[1]}: what changed meanwhile was few`);
  checkLog(world);
  requireVerified(world, 'batch');
  const addresses = servedRecords(world).filter(({ type }) => type === Type.a);
  t.equal(addresses.length, 301);
});

t.test('a zone that is replaced is signed by threads, and never seen without signatures', async (t) => {
  const { ctx, made } = await startThreads(t);
  const file = (serial: number, content: string): string =>
    `$ORIGIN new.test.\n@ 300 IN SOA ns h ${serial} 2 3 4 60\n@ 300 IN NS ns.else.test.\n${names(400, content)
      .map(({ name }) => `${name} 300 IN A ${content}`)
      .join('\n')}\n`;
  await importZone(ctx, { source: { text: file(1, '192.0.2.1') }, origin: 'new.test' });
  const world = followZone(ctx, 'new.test');
  await enableSigning(ctx, world.zoneId);
  t.equal(made.length, 1, 'first signing');
  await importZone(ctx, { source: { text: file(2, '192.0.2.2') }, origin: 'new.test', replace: true });
  t.equal(made.length, 2);
  t.equal(made[1], 400, 'all addresses; the chain is the same');
  t.equal(requireVerified(world, 'replaced').signatures > 800, true);
});

/** A zone file of more than 64 KiB, which is stored in parts. `contentOf`: the address of the name with a number. */
function largeFile(serial: number, count: number, contentOf: (i: number) => string): string {
  const lines = Array.from(
    { length: count },
    (_, i) => `host-number-${i} 300 IN A ${contentOf(i)} ; ${'.'.repeat(60)}`,
  );
  const own = [
    `@ 300 IN SOA ns h ${serial} 3600 600 86400 60`,
    '@ 300 IN NS ns.else.test.',
    'cut 300 IN NS ns.else.test.',
  ];
  return `$ORIGIN large.test.\n${[...own, ...lines].join('\n')}\n`;
}

const jobOf = ({ store, clock, log }: Context): JobContext => {
  return { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease: () => {} };
};

async function largeZone(t: Test): Promise<Threads & { readonly world: ReturnType<typeof followZone> }> {
  const threads = await startThreads(t);
  const { ctx } = threads;
  const text = largeFile(1, 900, () => '192.0.2.1');
  await importZone(ctx, { source: { text }, origin: 'large.test' });
  const { zoneId } = followZone(ctx, 'large.test');
  await enableSigning(ctx, zoneId);
  const { seq } = followZone(ctx, 'large.test');
  while (findDnssecZone(ctx.store, seq)!.phase !== 'signed') await signingJob(ctx).handler(jobOf(ctx), zoneId);
  threads.made.length = 0;
  return Object.assign(threads, { world: followZone(ctx, 'large.test') });
}

const replace = (ctx: Context, text: string) =>
  importZone(ctx, { source: { text }, origin: 'large.test', replace: true });

for (const kind of ['nsec', 'nsec3'] as const) {
  t.test(
    `a large zone is replaced: its signatures are made before, and those that fit are kept: ${kind}`,
    async (t) => {
      const threads = await largeZone(t);
      const { ctx, world, made } = threads;
      const { store } = ctx;
      if (kind === 'nsec3') {
        await editDnssec(ctx, world.zoneId, { denial: 'nsec3' });
        while (findDnssecZone(store, world.seq)!.next_denial) await signingJob(ctx).handler(jobOf(ctx), world.zoneId);
        followAnew(world);
        made.length = 0;
      }
      const sets: number[] = [];
      threads.watch = () => sets.push(findDnssecZone(store, world.seq)!.signature_set);
      const [before] = [findDnssecZone(store, world.seq)!.signature_set];
      await replace(
        ctx,
        largeFile(2, 900, (i) => (i < 300 ? '192.0.2.2' : '192.0.2.1')),
      );
      t.ok(sets.length > 0 && sets.every((set) => set === before), 'the zone gets the new ones when all are made');
      t.not(findDnssecZone(store, world.seq)!.signature_set, before);
      const byThreads = made.reduce((sum, count) => sum + count, 0);
      t.ok(byThreads >= 300 && byThreads < 310, `${byThreads} signatures: those of other addresses, no others`);
      checkLog(world);
      requireVerified(world, 'some addresses');

      await replace(
        ctx,
        largeFile(3, 1200, (i) => `192.0.2.${i % 200}`),
      );
      followAnew(world);
      requireVerified(world, 'more names');
      await replace(
        ctx,
        largeFile(4, 800, (i) => `192.0.2.${i % 200}`),
      );
      followAnew(world);
      requireVerified(world, 'fewer names');
      t.equal(servedRecords(world).filter(({ type }) => type === Type.a).length, 800);
      await unusedRecordsJobs.handler(jobOf(ctx), '');
      requireVerified(world, 'the removal of unused rows');
    },
  );
}

t.test('what happens while a replacement is signed', async (t) => {
  const threads = await largeZone(t);
  const { ctx, world, made } = threads;
  threads.meanwhile = () => createRecord(ctx, world.zoneId, { type: 'A', name: 'new', content: '192.0.2.9' });
  await replace(
    ctx,
    largeFile(20, 900, (i) => (i < 10 ? '192.0.2.2' : '192.0.2.1')),
  );
  t.notOk(
    servedRecords(world).some(({ type, rdata }) => type === Type.a && rdata.at(-1) === 9),
    'a record that came meanwhile is replaced, too',
  );
  t.equal(changesAfter(ctx.store, world.seen, 100).at(-1)!.complete, 0, 'the difference is not known any more');
  followAnew(world);
  requireVerified(world, 'a record came meanwhile');

  made.length = 0;
  threads.meanwhile = () => editDnssec(ctx, world.zoneId, { dnssec_signals: true });
  await replace(
    ctx,
    largeFile(21, 900, (i) => (i < 10 ? '192.0.2.3' : '192.0.2.1')),
  );
  t.equal(made.length, 1, 'signed before all the same, and signatures that fit were not made again');
  requireVerified(world, 'other settings meanwhile');

  made.length = 0;
  threads.meanwhile = () => editDnssec(ctx, world.zoneId, { denial: 'nsec3' });
  await replace(
    ctx,
    largeFile(22, 900, (i) => (i < 10 ? '192.0.2.4' : '192.0.2.1')),
  );
  t.ok(made.reduce((sum, count) => sum + count, 0) > 900, 'the chain that is being made now was signed, too');
  requireVerified(world, 'another chain has begun meanwhile');
  while (findDnssecZone(ctx.store, world.seq)!.next_denial) await signingJob(ctx).handler(jobOf(ctx), world.zoneId);
  requireVerified(world, 'the other chain');

  const failing: Context = {
    ...ctx,
    zoneKeys: { ...ctx.zoneKeys!, threads: { sign: () => Promise.reject(new Error('a signer thread has ended')) } },
  };
  const before = servedRecords(world);
  await t.rejects(
    replace(
      failing,
      largeFile(23, 900, () => '192.0.2.5'),
    ),
    /thread has ended/,
  );
  t.same(servedRecords(world), before);
});

t.test('the job signs the next part while it stores one', async (t) => {
  const threads = await startThreads(t);
  const { ctx, made } = threads;
  const lines = names(1500, '192.0.2.1').map(({ name, content }) => `${name} 300 IN A ${content}`);
  const text = `$ORIGIN job.test.\n@ 300 IN SOA ns h 1 2 3 4 60\n@ 300 IN NS ns.else.test.\n${lines.join('\n')}\n`;
  await importZone(ctx, { source: { text }, origin: 'job.test' });
  const world = followZone(ctx, 'job.test');
  await enableSigning(ctx, world.zoneId);
  const { store, clock, log } = ctx;
  const { signal } = new AbortController();
  const job = { store, clock, log, attempt: 0, signal, requireLease: () => {} };
  const before: string[] = [];
  threads.watch = () => {
    const { phase, cursor } = findDnssecZone(store, world.seq)!;
    before.push(`${phase} ${cursor ? toHex(cursor) : ''}`);
  };
  while (findDnssecZone(store, world.seq)!.phase !== 'signed') await signingJob(ctx).handler(job, world.zoneId);
  t.equal(before[1], before[0], 'the second part is signed before the first one is stored');
  const { signatures } = requireVerified(world, 'signed');
  t.ok(signatures > 3000);
  const byThreads = made.reduce((sum, count) => sum + count, 0);
  t.ok(byThreads > signatures - 60 && byThreads < signatures + 60, `${byThreads} of ${signatures}, each once`);
});

t.test('a zone that changes after a part was read, and before it is stored', async (t) => {
  const threads = await startThreads(t);
  const { ctx } = threads;
  const lines = names(600, '192.0.2.1').map(({ name, content }) => `${name} 300 IN A ${content}`);
  const text = `$ORIGIN job.test.\n@ 300 IN SOA ns h 1 2 3 4 60\n@ 300 IN NS ns.else.test.\n${lines.join('\n')}\n`;
  await importZone(ctx, { source: { text }, origin: 'job.test' });
  const world = followZone(ctx, 'job.test');
  await enableSigning(ctx, world.zoneId);
  threads.meanwhile = () => createRecord(ctx, world.zoneId, { type: 'A', name: 'h10x', content: '192.0.2.2' });
  while (findDnssecZone(ctx.store, world.seq)!.phase !== 'signed') {
    await signingJob(ctx).handler(jobOf(ctx), world.zoneId);
  }
  requireVerified(world, 'signed');
});

t.test('what other settings change in a signed zone is signed by threads', async (t) => {
  const { ctx, made } = await startThreads(t);
  await createZone(ctx, { name: 'settings.test' });
  const world = followZone(ctx, 'settings.test');
  await applyBatch(ctx, world.zoneId, { posts: names(50, '192.0.2.1') });
  await enableSigning(ctx, world.zoneId);
  Object.assign(world, followZone(ctx, 'settings.test'));
  made.length = 0;
  // The TTL of NSEC records (RFC 9077).
  await editDnsSettings(ctx, world.zoneId, { soa: { min_ttl: 120 } });
  t.ok(made.length === 1 && made[0]! > 50, made.join());
  checkLog(world);
  requireVerified(world, 'another TTL');
});

t.test('a thread that fails refuses the change, and leaves the zone as it is', async (t) => {
  const { ctx } = await startThreads(t);
  await createZone(ctx, { name: 'fails.test' });
  const world = followZone(ctx, 'fails.test');
  await enableSigning(ctx, world.zoneId);
  const before = servedRecords(world);
  const failing: Context = {
    ...ctx,
    zoneKeys: { ...ctx.zoneKeys!, threads: { sign: () => Promise.reject(new Error('a signer thread has ended')) } },
  };
  await t.rejects(applyBatch(failing, world.zoneId, { posts: names(500, '192.0.2.1') }), /thread has ended/);
  t.same(servedRecords(world), before);
  const staged = ctx.store.prepareTuples<[], [number]>(
    "SELECT (SELECT count(*) FROM record_sets WHERE state = 'staged') + (SELECT count(*) FROM zone_edits WHERE zone = 0)",
  );
  t.same(staged.get(), [0], 'what was stored for it meanwhile is given up');
  await applyBatch(ctx, world.zoneId, { posts: names(500, '192.0.2.1') });
  requireVerified(world, 'again');
});
