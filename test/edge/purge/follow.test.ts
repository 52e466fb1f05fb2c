/** Purges as rows: other processes read them in order, and one that was away too long purges everything. */
import t, { type Test } from 'tap';
import { followPurges } from '../../../src/edge/purge/follow.js';
import { type CachedItem, createPurgedItems } from '../../../src/edge/purge/purged.js';
import { firstPurge, insertPurge, lastPurge, type PurgeKind, purgesAfter } from '../../../src/store/edge/purges.js';
import { seededRandom } from '../../support/seeded-random.js';
import { TestClock } from '../../support/test-clock.js';
import { openTwoCopies } from '../../support/two-copies.js';

const cached = (host: string): CachedItem => ({
  zone: 1,
  host,
  url: `https://${host}/`,
  ignoresQuery: false,
  tags: [],
});

async function setUp(t: Test) {
  const { store, close } = openTwoCopies('purges', new TestClock(), seededRandom(3));
  t.teardown(close);
  const purge = (kind: PurgeKind, ...items: string[]) =>
    store.write(() => insertPurge(store, { zone: 1, kind, items }, 5));
  return { store, purge };
}

t.test('a follower hears of what comes after it began', async (t) => {
  const { store, purge } = await setUp(t);
  await purge('hosts', 'a.example.com');
  const purged = createPurgedItems();
  const read = followPurges(store, purged, () => t.fail('nothing to sweep'));
  t.equal(purged.lastSeq(), lastPurge(store));
  t.equal(purged.size(), 0, 'what was purged before is not in a new cache');
  await purge('hosts', 'b.example.com', 'c.example.com');
  await purge('tags', 'x');
  const before = purged.lastSeq();
  t.notOk(read());
  t.equal(purged.lastSeq(), lastPurge(store));
  t.ok(purged.isPurged(cached('c.example.com'), before));
  t.notOk(purged.isPurged(cached('a.example.com'), before));
  t.strictSame(
    purgesAfter(store, before, 10).map(({ seq, ...rest }) => ({ ...rest, isLater: seq > before })),
    [
      { zone: 1, kind: 'hosts', items: ['b.example.com', 'c.example.com'], isLater: true },
      { zone: 1, kind: 'tags', items: ['x'], isLater: true },
    ],
  );
});

t.test('many at once are read in parts, and the table does not grow for ever', async (t) => {
  const { store } = await setUp(t);
  const purged = createPurgedItems();
  const read = followPurges(store, purged, () => {});
  const insert = (count: number) =>
    store.write(() => {
      for (let i = 0; i < count; i++) insertPurge(store, { zone: 1, kind: 'hosts', items: [`h${i}.example.com`] }, 5);
    });
  await insert(150);
  t.ok(read(), 'there is more');
  t.notOk(read());
  await insert(2001);
  t.equal(lastPurge(store) - firstPurge(store) + 1, 2000);
  const before = purged.lastSeq();
  t.notOk(read(), 'those of between are gone');
  t.equal(purged.lastSeq(), lastPurge(store));
  t.ok(purged.isPurged(cached('never-named.example.com'), before), 'they may have been about anything');
});

t.test('what is remembered is bound', async (t) => {
  const { store } = await setUp(t);
  const purged = createPurgedItems();
  let sweeps = 0;
  const read = followPurges(store, purged, () => sweeps++);
  for (let round = 0; round < 3; round++) {
    await store.write(() => {
      for (let i = 0; i < 100; i++) {
        const items = Array.from({ length: 100 }, (_, item) => `t${round}-${i}-${item}`);
        insertPurge(store, { zone: 1, kind: 'tags', items }, 5);
      }
    });
    read();
  }
  t.equal(sweeps, 1);
  t.equal(purged.size(), 0);
});
