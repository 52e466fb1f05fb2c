/** Which responses purges are about, and that those of after a purge are not. */
import t from 'tap';
import { type CachedItem, createPurgedItems, purgedUrl } from '../../../src/edge/purge/purged.js';
import type { Purge } from '../../../src/store/edge/purges.js';

const item = (more: Partial<CachedItem> = {}): CachedItem => ({
  zone: 1,
  host: 'www.example.com',
  url: 'https://www.example.com/blog/2026/post.html?page=2',
  ignoresQuery: false,
  tags: ['red', 'blue'],
  ...more,
});

t.test('each kind', async (t) => {
  const rows: [isPurged: boolean, purge: Omit<Purge, 'seq'>, cached?: Partial<CachedItem>][] = [
    [true, { zone: 1, kind: 'purge_everything', items: [] }],
    [false, { zone: 2, kind: 'purge_everything', items: [] }],
    [true, { zone: 1, kind: 'hosts', items: ['a.example.com', 'www.example.com'] }],
    [false, { zone: 1, kind: 'hosts', items: ['example.com', 'x.www.example.com'] }],
    [false, { zone: 2, kind: 'hosts', items: ['www.example.com'] }],
    [true, { zone: 1, kind: 'tags', items: ['blue'] }],
    [false, { zone: 1, kind: 'tags', items: ['green'] }],
    [true, { zone: 1, kind: 'files', items: ['HTTPS://WWW.example.com:443/blog/x/../2026/post.html?page=2#top'] }],
    [false, { zone: 1, kind: 'files', items: ['http://www.example.com/blog/2026/post.html?page=2'] }],
    [false, { zone: 1, kind: 'files', items: ['https://www.example.com/blog/2026/post.html'] }],
    [false, { zone: 1, kind: 'files', items: ['https://www.example.com/blog/2026/post.html?page=3'] }],
    [
      true,
      { zone: 1, kind: 'files', items: ['https://www.example.com/a?v=3'] },
      { url: 'https://www.example.com/a', ignoresQuery: true },
    ],
    [false, { zone: 1, kind: 'files', items: ['https://www.example.com/a?v=3'] }, { url: 'https://www.example.com/a' }],
    [true, { zone: 1, kind: 'prefixes', items: ['www.example.com'] }],
    [true, { zone: 1, kind: 'prefixes', items: ['www.example.com/'] }],
    [true, { zone: 1, kind: 'prefixes', items: ['www.example.com/blog/'] }],
    [true, { zone: 1, kind: 'prefixes', items: ['www.example.com/blog/2026'] }],
    [true, { zone: 1, kind: 'prefixes', items: ['www.example.com/blog/2026/post.html'] }],
    [false, { zone: 1, kind: 'prefixes', items: ['www.example.com/blo'] }],
    [false, { zone: 1, kind: 'prefixes', items: ['www.example.com/Blog'] }],
    [false, { zone: 1, kind: 'prefixes', items: ['example.com'] }],
  ];
  for (const [isPurged, purge, cached] of rows) {
    const purged = createPurgedItems();
    purged.apply({ seq: 7, ...purge });
    t.equal(purged.isPurged(item(cached), 6), isPurged, JSON.stringify(purge));
    t.equal(purged.isPurged(item(cached), 7), false, 'not what was requested after it');
    t.equal(purged.lastSeq(), 7);
  }
});

t.test('deep paths are looked up as far as prefixes go', async (t) => {
  const purged = createPurgedItems();
  const deep = (levels: number): string => `www.example.com${'/a'.repeat(levels)}`;
  purged.apply({ seq: 1, zone: 1, kind: 'prefixes', items: [deep(31)] });
  t.ok(purged.isPurged(item({ url: `https://${deep(500)}` }), 0));
  t.notOk(purged.isPurged(item({ url: `https://${deep(30)}` }), 0));
});

t.test('all at once, and forgetting', async (t) => {
  const purged = createPurgedItems();
  purged.apply({ seq: 3, zone: 1, kind: 'tags', items: ['red'] });
  purged.apply({ seq: 4, zone: 2, kind: 'tags', items: ['green', 'long'.repeat(100)] });
  t.match(purged.largest(), { zone: 2 });
  purged.forget(2, 4);
  t.match(purged.largest(), { zone: 1 });
  t.ok(purged.isPurged(item({ zone: 2 }), 3), 'what was requested before counts as purged');
  t.notOk(purged.isPurged(item({ zone: 2 }), 4));
  t.ok(purged.isPurged(item(), 2), 'other zones are remembered');
  t.notOk(purged.isPurged(item({ tags: [] }), 2));
  purged.forget(undefined, 3);
  t.ok(purged.isPurged(item({ zone: 9 }), 2), 'in all zones');
  t.notOk(purged.isPurged(item(), 3));
  purged.applyAll(10);
  t.equal(purged.octets(), 0);
  t.ok(purged.isPurged(item({ zone: 9 }), 9));
  t.notOk(purged.isPurged(item(), 10));
});

t.test('what was purged twice is kept once, and nothing that everything includes', async (t) => {
  const purged = createPurgedItems();
  purged.apply({ seq: 1, zone: 1, kind: 'tags', items: ['red'] });
  const octets = purged.octets();
  purged.apply({ seq: 2, zone: 1, kind: 'tags', items: ['red'] });
  t.equal(purged.octets(), octets);
  purged.apply({ seq: 3, zone: 1, kind: 'purge_everything', items: [] });
  t.ok(purged.octets() < octets);
  t.ok(purged.isPurged(item({ tags: [] }), 2));
  t.notOk(purged.isPurged(item(), 3));
});

t.test('URLs', async (t) => {
  t.equal(purgedUrl('http://Example.com:8080/a b?c'), 'http://example.com/a%20b?c');
  t.equal(purgedUrl('http://example.com./'), 'http://example.com/');
  t.equal(purgedUrl('example.com/a'), undefined);
});
