import { createHash } from 'node:crypto';
import t from 'tap';
import { createRecord } from '../../../src/control/records/records.js';
import { IN_MEMORY, openStore, type Store } from '../../../src/store/driver.js';
import { lastEdgeChangeOf } from '../../../src/store/edge/changes.js';
import { migrate } from '../../../src/store/migrate.js';
import { storePacked } from '../../../src/store/records/import.js';
import { type ImportedRow, RowPacker } from '../../../src/store/records/packed-rows.js';
import { findZoneById } from '../../../src/store/zones/zones.js';
import { startZone } from '../../control/fixture.js';
import { seededRandom } from '../../support/seeded-random.js';
import { TestClock } from '../../support/test-clock.js';
import { writeNow } from '../../support/write-now.js';

const NOW = 1_700_000_000_000_000;
const SET = 7;

const PLAIN: ImportedRow = {
  owner_key: Buffer.from('www\0'),
  name: 'www.example.com',
  type: 1,
  content: '192.0.2.1',
  rdata: Buffer.of(192, 0, 2, 1),
  rdata_key: Buffer.of(192, 0, 2, 1),
  ttl: 300,
  proxied: 0,
  settings: null,
  comment: null,
  tags: null,
};

function openEmpty(): Store {
  const store = openStore(IN_MEMORY);
  migrate(store, new TestClock(), seededRandom(1));
  return store;
}

interface Stored extends ImportedRow {
  readonly id: Uint8Array;
  readonly record_set: number;
  readonly created_at: number;
  readonly comment_modified_at: number | null;
  readonly tags_modified_at: number | null;
}

/** Packs and stores rows; returns how many were stored of each pack, and what is in the database then. */
async function storeRows(store: Store, rows: readonly ImportedRow[]): Promise<readonly [number[], Stored[]]> {
  const packer = new RowPacker();
  for (const row of rows) packer.add(row);
  const packs = packer.take();
  t.equal(
    packs.reduce((sum, { count }) => sum + count, 0),
    rows.length,
  );
  t.strictSame([packer.count, packer.take()], [0, []]);
  let id = 0;
  for (const { octets, starts } of packs) for (const start of starts) octets.set(idOf(id++), start);
  const counts = await writeNow(store, () => packs.map((pack) => storePacked(store, SET, NOW, pack)));
  return [counts, store.prepare<[], Stored>('SELECT * FROM record_rows ORDER BY seq').all()];
}

const idOf = (index: number): Uint8Array => createHash('md5').update(String(index)).digest();

t.test('what was packed is stored as it was', async (t) => {
  const random = seededRandom(38);
  const octets = (most: number): Uint8Array => random.bytes(Buffer.from(random.bytes(4)).readUInt32LE() % (most + 1));
  const rows = Array.from({ length: 1200 }, (_, i): ImportedRow => {
    const rdata = octets(i % 300 === 0 ? 65_535 : 40);
    return {
      owner_key: Buffer.concat([Buffer.from(String(i)), octets(i % 7 === 0 ? 500 : 20)]),
      name: 'n'.repeat(i % 1004),
      type: (i * 4111) % 65_536,
      content: i % 300 === 0 ? '\\255'.repeat(65_535) : `${'ü\0"'.repeat(i % 50)}${i}`,
      rdata,
      rdata_key: i % 3 === 0 ? rdata.subarray(0, 64) : i % 3 === 1 ? octets(64) : Buffer.from(rdata).subarray(0, 64),
      ttl: [300, 1, -1, 0, 2 ** 31 - 1][i % 5]!,
      proxied: i % 2,
      settings: i % 4 === 0 ? '{"flatten_cname":true}' : null,
      comment: i % 5 === 0 ? `"ü" \\ \u2028 ${'c'.repeat(i)}` : null,
      tags: i % 6 === 0 ? '["a:b"]' : null,
    };
  });
  const store = openEmpty();
  const [counts, stored] = await storeRows(store, rows);
  t.ok(counts.length > 4, 'a statement stores a part of them');
  t.equal(stored.length, rows.length);
  for (const [index, row] of rows.entries()) {
    const { id, record_set, created_at, comment_modified_at, tags_modified_at, ...rest } = stored[index]!;
    const expected = {
      ...{ ...row, owner_key: Buffer.from(row.owner_key), rdata: Buffer.from(row.rdata) },
      ...{ rdata_key: Buffer.from(row.rdata_key), private_routing: null, modified_at: NOW, seq: index + 1 },
    };
    const actual = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, value instanceof Uint8Array ? Buffer.from(value) : value]),
    );
    if (!t.strictSame(actual, expected, `row ${index}`)) break;
    const times = [row.comment && NOW, row.tags && NOW];
    t.strictSame([Buffer.from(id), record_set, created_at], [idOf(index), SET, NOW]);
    t.strictSame([comment_modified_at, tags_modified_at], times);
  }
});

t.test('of equal records, the first is stored, within one statement and later', async (t) => {
  const store = openEmpty();
  const [counts, stored] = await storeRows(store, [
    PLAIN,
    { ...PLAIN, ttl: 600 },
    { ...PLAIN, rdata: Buffer.of(192, 0, 2, 2), rdata_key: Buffer.of(192, 0, 2, 2) },
  ]);
  t.strictSame([counts, stored.map(({ ttl }) => ttl)], [[2], [300, 300]]);
  t.strictSame((await storeRows(store, [{ ...PLAIN, comment: 'again' }]))[0], [0]);
});

t.test('long rows are few in a statement', async (t) => {
  const packer = new RowPacker();
  const rdata = Buffer.alloc(65_535);
  for (let i = 0; i < 5; i++) packer.add({ ...PLAIN, rdata, rdata_key: Buffer.of(i) });
  t.strictSame(
    packer.take().map(({ count }) => count),
    [1, 1, 1, 1, 1],
  );
});

t.test('SQLite keeps the rows of a statement once', (t) => {
  const triggers = openEmpty().prepareTuples<[], [string]>(
    "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'record_rows' AND sql LIKE '%AFTER INSERT%'",
  );
  t.strictSame(triggers.all(), [], 'with a trigger, it would keep them apart first, and enter that for each row');
  t.end();
});

t.test('edges are told of a proxied record that is added beside another one', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const subject = String(findZoneById(ctx.store, Buffer.from(zoneId, 'hex'))!.seq);
  const told: boolean[] = [];
  for (const [proxied, last] of [
    [true, 1],
    [true, 2],
    [false, 3],
    [false, 4],
  ] as const) {
    const before = lastEdgeChangeOf(ctx.store, { kind: 'zone', subject });
    const name = proxied ? 'shop' : 'plain';
    await createRecord(ctx, zoneId, { type: 'A', name, content: `192.0.2.${last}`, proxied });
    told.push(lastEdgeChangeOf(ctx.store, { kind: 'zone', subject }) > before);
  }
  t.strictSame(told, [true, true, false, false]);
});
