/** Lists of objects: what is read for a page, and the borders between groups. */
import t from 'tap';
import { listObjects } from '../../src/bucket/list.js';
import { IN_MEMORY, openStore, type Store } from '../../src/store/driver.js';
import { migrate } from '../../src/store/migrate.js';
import { insertObject } from '../../src/store/objects/objects.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';

const BUCKET = 1;

interface Counting {
  readonly store: Store;
  /** Rows that lists have read. */
  rows: number;
}

async function openWith(keys: Iterable<string>): Promise<Counting> {
  const inner = openStore(IN_MEMORY);
  migrate(inner, new TestClock(), seededRandom(1));
  const counting: Counting = { store: inner, rows: 0 };
  const prepare = inner.prepare.bind(inner);
  inner.prepare = ((sql: string) => {
    const statement = prepare(sql);
    return {
      ...statement,
      all(...params: never[]) {
        const rows = statement.all(...(params as []));
        counting.rows += rows.length;
        return rows;
      },
    };
  }) as Store['prepare'];
  await inner.write(() => {
    const sql = `INSERT INTO buckets (seq, account, jurisdiction, name, storage_class, created_at)
      VALUES (?, 1, 'default', 'tree', 'Standard', 0)`;
    inner
      .prepare<[]>(
        "INSERT INTO accounts (seq, id, name, type, created_at) VALUES (1, zeroblob(16), 'a', 'standard', 0)",
      )
      .run();
    inner.prepare<[number]>(sql).run(BUCKET);
    const rest = { version: 'v', size: 0, md5: new Uint8Array(16), storage_class: 'Standard' } as const;
    const more = { http_metadata: '{}', custom_metadata: '{}', metadata_size: 0, uploaded_at: 0, blob: null };
    const none = { upload: null, parts: null, checksum: null, crc32: null };
    for (const key of keys) insertObject(inner, { bucket: BUCKET, key, ...rest, ...more, ...none }, undefined);
  });
  return counting;
}

t.test('a page reads about as many rows as it shows', async (t) => {
  const keys = Array.from({ length: 50 }, (_, group) => Array.from({ length: 40 }, (_, i) => `g${group}/${i}`)).flat();
  const counting = await openWith([...keys, ...Array.from({ length: 30 }, (_, i) => `plain${i}`)]);
  const page = listObjects(counting.store, BUCKET, { delimiter: '/', limit: 1000 });
  t.equal(page.groups.length, 50);
  t.equal(page.items.length, 30);
  t.ok(counting.rows <= 2 * 80, `${counting.rows} rows were read`);
  counting.rows = 0;
  const first = listObjects(counting.store, BUCKET, { delimiter: '/', limit: 10 });
  t.equal(first.groups.length, 10);
  t.ok(counting.rows <= 2 * 11, `${counting.rows} rows were read`);
  counting.rows = 0;
  listObjects(counting.store, BUCKET, { delimiter: '/', limit: 10, cursor: first.cursor });
  t.ok(counting.rows <= 2 * 11, `${counting.rows} rows were read behind a cursor`);
});

t.test('keys with the highest characters belong to their group', async (t) => {
  const last = '\u{10ffff}';
  const keys = [
    'a',
    `a/${last}`,
    ...Array.from({ length: 100 }, (_, i) => `a/${last}${i}`),
    'a0',
    '\u{d7ff}1',
    '\u{e000}',
  ];
  const counting = await openWith([...keys, `${last}${last}`, `${last}${last}1`]);
  const { store } = counting;
  const page = listObjects(store, BUCKET, { delimiter: '/', limit: 1000 });
  t.strictSame(page.groups, ['a/']);
  t.ok(counting.rows <= 2 * 9, `${counting.rows} rows were read`);
  t.strictSame(listObjects(store, BUCKET, { delimiter: '\u{d7ff}', limit: 1000 }).groups, ['\u{d7ff}']);
  const atEnd = listObjects(store, BUCKET, { delimiter: last, prefix: last, limit: 1000 });
  t.strictSame([atEnd.groups, atEnd.items], [[`${last}${last}`], []], 'nothing comes behind the highest');
});
