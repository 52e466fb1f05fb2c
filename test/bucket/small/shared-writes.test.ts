/** Writes of objects that are requested at once: one transaction, and each refused by itself. */
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { createLocalStore } from '../../../src/bucket/local-store.js';
import { writeTogether } from '../../../src/bucket/small/shared-writes.js';
import { insertAccount } from '../../../src/store/access/accounts.js';
import { openStore, type Store, StoreFull } from '../../../src/store/driver.js';
import { findMeta, putMeta } from '../../../src/store/meta.js';
import { migrate } from '../../../src/store/migrate.js';
import { insertBucket } from '../../../src/store/objects/buckets.js';
import { seededRandom } from '../../support/seeded-random.js';
import { TestClock } from '../../support/test-clock.js';

function open(t: Test): { readonly store: Store; readonly clock: TestClock; readonly commits: () => number } {
  let commits = 0;
  const clock = new TestClock();
  const store = openStore(t.testdir(), { onCommit: () => commits++ });
  migrate(store, clock, seededRandom(1));
  t.teardown(() => store.close());
  return { store, clock, commits: () => commits };
}

t.test('sixty-four writers of one key that must not be there: one wins, and they share transactions', async (t) => {
  const { store, commits } = open(t);
  const seq = await store.write(() => {
    const account = insertAccount(store, { id: new Uint8Array(16), name: 'a', type: 'standard', created_at: 1 });
    const place = { account, jurisdiction: 'default', name: 'pictures', location: null } as const;
    return insertBucket(store, { ...place, storage_class: 'Standard', created_at: 1 });
  });
  const objects = createLocalStore({ store, clock: new TestClock(), random: systemRandom, log: silentLogger() });
  const before = commits();
  const put = (key: string, text: string, mayReplace?: (existing: unknown) => boolean) =>
    objects.put(seq, key, Readable.from([Buffer.from(text)]), { httpMetadata: {}, limit: 100, mayReplace });
  const writers = Array.from({ length: 64 }, (_, i) => put('one', String(i), (existing) => existing === undefined));
  const others = Array.from({ length: 36 }, (_, i) => put(`k${i}`, String(i)));
  const results = await Promise.allSettled(writers);
  await Promise.all(others);
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  t.ok(commits() - before <= 10, `${commits() - before} commits of 100 writers`);
  for (let i = 0; i < 36; i++) t.equal(objects.find(seq, `k${i}`)?.size, String(i).length);
});

t.test('what one of them throws is its own, and a full disk is met alone', async (t) => {
  const { store, clock } = open(t);
  let isFull = true;
  let attempts = 0;
  const note = (value: string) => (): string => {
    putMeta(store, 'verified_bodies', value);
    return value;
  };
  const results = await Promise.allSettled([
    writeTogether({ store, clock }, note('one')),
    writeTogether({ store, clock }, () => {
      note('undone')();
      throw new TypeError('a bug');
    }),
    writeTogether({ store, clock }, () => findMeta(store, 'verified_bodies')),
  ]);
  t.match(results, [{ value: 'one' }, { reason: { message: 'a bug' } }, { value: 'one' }]);
  const full = await Promise.allSettled([
    writeTogether({ store, clock }, note('two')),
    writeTogether({ store, clock }, () => {
      attempts++;
      if (isFull) throw new StoreFull();
    }),
    writeTogether({ store, clock }, () => findMeta(store, 'verified_bodies')),
  ]);
  t.match(full, [{ value: 'two' }, { reason: StoreFull }, { value: 'two' }]);
  t.ok(attempts >= 2, 'tried with the others, then alone');
  isFull = false;
  t.equal(await writeTogether({ store, clock }, note('three')), 'three', 'the queue goes on');
});

t.test('others have their turn between long writes', async (t) => {
  const { store, clock, commits } = open(t);
  const before = commits();
  const order: string[] = [];
  const write = (name: string) =>
    writeTogether({ store, clock }, () => {
      order.push(name);
      clock.advance(40);
      setImmediate(() => order.push('another'));
    });
  await Promise.all([write('first'), write('second'), write('third')]);
  t.strictSame(order.slice(0, 5), ['first', 'another', 'second', 'another', 'third']);
  t.equal(commits() - before, 3);
});
