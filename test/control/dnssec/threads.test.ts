/** Many signatures at once: threads make them, and others write meanwhile. */
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { importZone } from '../../../src/control/imports/zone.js';
import { applyBatch } from '../../../src/control/records/batch.js';
import { createRecord } from '../../../src/control/records/records.js';
import type { Context } from '../../../src/control/write/context.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { findDnssecZone } from '../../../src/store/dnssec/zones.js';
import { checkLog, followZone } from '../../support/followed-zone.js';
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
  await applyBatch(ctx, world.zoneId, { posts: names(50, '192.0.2.1') });
  t.same(made, []);
  // Between two names of the batch, so that their NSEC records change while they are made.
  threads.meanwhile = () => createRecord(ctx, world.zoneId, { type: 'A', name: 'i5x', content: '192.0.2.2' });
  const posts = names(700, '192.0.2.1').map((post) => ({ ...post, name: `i${post.name}` }));
  await applyBatch(ctx, world.zoneId, { posts: [...posts, { type: 'NS', name: 'i5', content: 'ns.else.test' }] });
  t.ok(made[0]! > 1000, made.join());
  t.equal(made.length, 1, 'what changed meanwhile was few');
  checkLog(world);
  requireVerified(world, 'batch');
  const addresses = servedRecords(world).filter(({ type }) => type === Type.a);
  t.equal(addresses.length, 751);
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
  t.ok(
    made[1]! > 190 && made[1]! < 210,
    'of 400 addresses, those that the commit did not sign itself; the chain is the same',
  );
  t.equal(requireVerified(world, 'replaced').signatures > 800, true);
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
  await applyBatch(ctx, world.zoneId, { posts: names(500, '192.0.2.1') });
  requireVerified(world, 'again');
});
