/** Small objects in memory: what another process writes is seen by the next request. */
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { createLocalStore } from '../../../src/bucket/local-store.js';
import { createHeldObjects } from '../../../src/bucket/small/held-objects.js';
import { insertAccount } from '../../../src/store/access/accounts.js';
import { openStore } from '../../../src/store/driver.js';
import { putMeta } from '../../../src/store/meta.js';
import { migrate } from '../../../src/store/migrate.js';
import { insertBucket } from '../../../src/store/objects/buckets.js';
import { keptPerState } from '../../../src/store/state/kept.js';
import { seededRandom } from '../../support/seeded-random.js';
import { TestClock } from '../../support/test-clock.js';

async function start(t: Test) {
  const directory = t.testdir();
  const store = openStore(directory);
  const clock = new TestClock();
  migrate(store, clock, seededRandom(1));
  const seq = await store.write(() => {
    const account = insertAccount(store, { id: new Uint8Array(16), name: 'a', type: 'standard', created_at: 1 });
    const place = { account, jurisdiction: 'default', name: 'pictures', location: null } as const;
    return insertBucket(store, { ...place, storage_class: 'Standard', created_at: 1 });
  });
  const other = openStore(directory);
  t.teardown(() => {
    other.close();
    store.close();
  });
  const options = { clock, random: systemRandom, log: silentLogger() };
  const [here, there] = [createLocalStore({ ...options, store }), createLocalStore({ ...options, store: other })];
  const put = (objects: typeof here, key: string, text: string) =>
    objects.put(seq, key, Readable.from([Buffer.from(text)]), { httpMetadata: {}, limit: 1 << 20 });
  return { store, other, seq, here, there, put };
}

const textOf = (found: { readonly octets: Uint8Array } | undefined): string | undefined =>
  found && Buffer.from(found.octets).toString();

t.test('what this process and another one write is read at once', async (t) => {
  const { store, other, seq, here, there, put } = await start(t);
  t.equal(here.findSmall(seq, 'k'), undefined);
  await put(there, 'k', 'one');
  t.equal(textOf(here.findSmall(seq, 'k')), 'one', 'made elsewhere');
  t.equal(here.findSmall(seq, 'k'), here.findSmall(seq, 'k'), 'held');
  await put(here, 'k', 'two');
  t.equal(textOf(here.findSmall(seq, 'k')), 'two', 'replaced here');
  await put(there, 'k', 'three');
  t.equal(textOf(here.findSmall(seq, 'k')), 'three', 'replaced elsewhere');
  const held = here.findSmall(seq, 'k');
  await other.write(() => putMeta(other, 'verified_bodies', 'x'));
  t.equal(here.findSmall(seq, 'k'), held, 'a commit of something else does not end it');
  await store.write(() => {
    t.equal(store.state(), undefined, 'a transaction has no state');
  });
  await there.delete(seq, ['k']);
  t.equal(here.findSmall(seq, 'k'), undefined, 'deleted elsewhere');
  t.equal(await here.open(seq, 'k', ''), undefined);
});

t.test('no more is held than may be, and large bodies never', async (t) => {
  const { store, seq, here, put } = await start(t);
  const held = createHeldObjects(store, 4096);
  for (const key of ['a', 'b', 'c', 'd', 'e']) await put(here, key, key);
  const first = held.find(seq, 'a');
  t.equal(held.find(seq, 'a'), first);
  for (const key of ['b', 'c', 'd', 'e']) held.find(seq, key);
  t.not(held.find(seq, 'a'), first, 'the oldest was forgotten');
  t.equal(textOf(held.find(seq, 'a')), 'a', 'and read anew');
  await put(here, 'large', 'x'.repeat(100_000));
  t.equal(here.findSmall(seq, 'large'), undefined);
  t.equal((await (await here.open(seq, 'large', ''))!.read().toArray()).join('').length, 100_000);
});

t.test('the account of which most is held loses first', async (t) => {
  const { store, seq, here, put } = await start(t);
  const other = await store.write(() => {
    const account = insertAccount(store, {
      id: new Uint8Array(16).fill(1),
      name: 'b',
      type: 'standard',
      created_at: 1,
    });
    const place = { account, jurisdiction: 'default', name: 'logs', location: null } as const;
    return insertBucket(store, { ...place, storage_class: 'Standard', created_at: 1 });
  });
  const held = createHeldObjects(store, 4096);
  await put(here, 'a', 'a');
  for (const key of ['b', 'c', 'd', 'e', 'f']) {
    await here.put(other, key, Readable.from([Buffer.from(key)]), { httpMetadata: {}, limit: 1 << 20 });
  }
  const mine = held.find(seq, 'a');
  for (const key of ['b', 'c', 'd', 'e', 'f']) held.find(other, key);
  t.equal(held.find(seq, 'a'), mine);
});

t.test('values are made once in a state of the database, and anew in a transaction', async (t) => {
  const { store, other } = await start(t);
  const kept = keptPerState<number>(2);
  let made = 0;
  const take = (name: string): number => kept(store, name, () => ++made);
  t.equal(take('a'), 1);
  t.equal(take('a'), 1);
  await other.write(() => putMeta(other, 'verified_bodies', 'y'));
  t.equal(take('a'), 2, 'another handle committed');
  await store.write(() => putMeta(store, 'verified_bodies', 'z'));
  t.equal(take('a'), 3, 'this handle committed');
  await store.write(() => {
    t.not(take('a'), take('a'), 'nothing is kept in a transaction');
  });
  const after = take('a');
  t.equal(take('a'), after);
  take('b');
  t.equal(take('a'), after, 'two are kept');
  take('c');
  t.not(take('a'), after, 'and no more');
});
