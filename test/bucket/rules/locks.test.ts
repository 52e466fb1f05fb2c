/** Locks: what they lock and for how long, uploads that began before them, and what the application says. */
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import t from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { parseCidrSet } from '../../../src/base/ip.js';
import { silentLogger } from '../../../src/base/log.js';
import { buildBucketApplication } from '../../../src/bucket/application.js';
import { createBucketMetrics } from '../../../src/bucket/application-metrics.js';
import { createBucket } from '../../../src/bucket/buckets.js';
import { createLocalStore } from '../../../src/bucket/local-store.js';
import { isLocked, type LockRule } from '../../../src/bucket/rules/locks.js';
import { setRules } from '../../../src/bucket/rules/rule-sets.js';
import { allAccounts } from '../../../src/store/access/accounts.js';
import { allBuckets } from '../../../src/store/objects/buckets.js';
import { startControl } from '../../control/fixture.js';

const DAY_US = 86_400_000_000;
const { ctx, clock } = await startControl(t);
const { store } = ctx;
const account = toHex(allAccounts(store)[0]!.id);
await createBucket(ctx, account, { name: 'held', jurisdiction: 'default' });
const { seq } = allBuckets(store)[0]!;
const objects = createLocalStore({ ...ctx });
const place = { accountId: account, name: 'held', jurisdiction: 'default' as const };
const lock = (rules: LockRule[]) => setRules(ctx, place, 'lock', rules);
const body = (text: string) => Readable.from([Buffer.from(text)]);
const put = (key: string, octets: AsyncIterable<Uint8Array>) =>
  objects.put(seq, key, octets, { httpMetadata: {}, limit: 1000 });

t.test('what is locked, and for how long', async (t) => {
  const rule = (id: string, prefix: string, condition: LockRule['condition'], enabled = true): LockRule => ({
    ...{ id, enabled, condition },
    ...(prefix !== '' && { prefix }),
  });
  const age = (days: number) => ({ type: 'Age' as const, maxAgeSeconds: days * 86_400 });
  const is = (key: string, uploadedAt: number, now: number) =>
    isLocked(store, { bucket: seq, key, uploaded_at: uploadedAt }, now);
  t.notOk(is('a', 0, 1), 'without rules');
  await lock([rule('week', 'a/', age(7)), rule('month', 'a/b/', age(30)), rule('day', 'a/b/', age(1))]);
  t.same([is('a/x', 0, 7 * DAY_US - 1), is('a/x', 0, 7 * DAY_US)], [true, false]);
  t.same([is('a/b/x', 0, 30 * DAY_US - 1), is('a/b/x', 0, 30 * DAY_US)], [true, false], 'the strictest counts');
  t.notOk(is('b', 0, 1));
  t.ok(is('a/x', 100 * DAY_US, DAY_US), 'the clock was put back');
  const date = { type: 'Date' as const, date: '1970-01-11' };
  await lock([rule('until', '', date), rule('off', '', { type: 'Indefinite' }, false)]);
  t.same([is('', 0, 10 * DAY_US - 1), is('', 0, 10 * DAY_US)], [true, false]);
  await lock([rule('ever', 'k', { type: 'Indefinite' })]);
  t.same([is('k', 0, 1e18), is('j', 0, 1)], [true, false]);
});

t.test('an upload that began before the rule', async (t) => {
  await lock([]);
  await put('late', body('first'));
  async function* slow() {
    yield Buffer.from('second');
    await lock([{ id: 'l', enabled: true, condition: { type: 'Indefinite' } }]);
  }
  await t.rejects(put('late', slow()), { key: 'objects.locked' } as never);
  const found = await objects.open(seq, 'late', 'test');
  t.equal(Buffer.from(found!.octets!).toString(), 'first');
  await found!.close();
});

t.test('the application', async (t) => {
  await lock([{ id: 'l', enabled: true, condition: { type: 'Indefinite' } }]);
  const app = buildBucketApplication({
    ...{ objects, clock, random: ctx.random, log: silentLogger(), limit: 1000 },
    ...{ boundBucket: () => seq, authorize: () => true },
    ...{ trustedProxies: parseCidrSet([]), metrics: createBucketMetrics() },
  });
  t.teardown(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/late`;
  for (const method of ['PUT', 'DELETE']) {
    const answer = await fetch(url, { method, ...(method === 'PUT' && { body: 'x' }) });
    t.same([answer.status, await answer.text()], [403, 'Object Locked'], method);
  }
  t.equal(await (await fetch(url)).text(), 'first');
});
