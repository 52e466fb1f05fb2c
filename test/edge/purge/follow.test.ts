/** Purges as rows: other processes read them in order, and one that was away too long purges everything. */
import t, { type Test } from 'tap';
import { followPurges } from '../../../src/edge/purge/follow.js';
import { type CachedItem, createPurgedItems } from '../../../src/edge/purge/purged.js';
import type { Store } from '../../../src/store/driver.js';
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
  const read = followPurges(store, purged, async () => void t.fail('nothing to sweep'));
  t.equal(purged.lastSeq(), lastPurge(store));
  t.equal(purged.octets(), 0, 'what was purged before is not in a new cache');
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
  const read = followPurges(store, purged, async () => {});
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

/** Purges of so many tags, a hundred in each. */
const insertTags = (store: Store, zone: number, name: string, purges: number) =>
  store.write(() => {
    for (let i = 0; i < purges; i++) {
      const items = Array.from({ length: 100 }, (_, item) => `${name}-${i}-${item}`);
      insertPurge(store, { zone, kind: 'tags', items }, 5);
    }
  });

const settled = () => new Promise((resolve) => setImmediate(resolve));

t.test('what is remembered is bound, and others lose nothing by it', async (t) => {
  const { store } = await setUp(t);
  const purged = createPurgedItems();
  const swept: (number | undefined)[] = [];
  const read = followPurges(store, purged, async (zone) => void swept.push(zone));
  await insertTags(store, 2, 'other', 1);
  read();
  const before = purged.lastSeq();
  for (let round = 0; round < 4; round++) {
    await insertTags(store, 1, `t${round}`, 100);
    while (read());
  }
  t.strictSame(swept, [1], 'only what the zone has stored is looked at');
  await settled();
  t.ok(purged.octets() < 1 << 20);
  const other = { ...cached('www.example.net'), zone: 2 };
  t.notOk(purged.isPurged(other, before), 'another zone keeps what it has');
  t.ok(purged.isPurged({ ...other, tags: ['other-0-7'] }, before - 1), 'and what it has purged');
  t.ok(purged.isPurged(cached('a.example.com'), before), 'what was not swept counts as purged');
});

t.test('who purges faster than the cache is swept loses what the zone has, and nobody waits', async (t) => {
  const { store } = await setUp(t);
  const purged = createPurgedItems();
  const read = followPurges(store, purged, () => new Promise(() => {}));
  const before = purged.lastSeq();
  const text = 'x'.repeat(1000);
  for (let round = 0; round < 2; round++) {
    await insertTags(store, 1, `${text}${round}`, 50);
    while (read());
    t.ok(purged.octets() <= 8 << 20);
  }
  t.ok(purged.isPurged(cached('a.example.com'), before));
  t.notOk(purged.isPurged({ ...cached('a.example.com'), zone: 2 }, before));
});

t.test('so many zones that none has much are swept together', async (t) => {
  const { store } = await setUp(t);
  const purged = createPurgedItems();
  const swept: (number | undefined)[] = [];
  const read = followPurges(store, purged, async (zone) => void swept.push(zone));
  for (let round = 0; swept.length === 0 && round < 20; round++) {
    await store.write(() => {
      for (let zone = 1; zone <= 100; zone++) {
        insertPurge(store, { zone, kind: 'tags', items: ['x'.repeat(10_000 + round)] }, 5);
      }
    });
    while (read());
  }
  t.strictSame(swept, [undefined]);
  await settled();
  t.ok(purged.octets() < 4 << 20, 'what came before is forgotten in all of them');
});

t.test('long purges are read a few at a time', async (t) => {
  const { store, purge } = await setUp(t);
  const url = `https://a.example.com/${'x'.repeat(8000)}`;
  const urls = Array.from({ length: 100 }, (_, i) => `${url}${i}`);
  const before = lastPurge(store);
  for (let i = 0; i < 3; i++) await purge('files', ...urls);
  t.equal(purgesAfter(store, before, 10).length, 1);
});
