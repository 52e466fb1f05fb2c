/**
 * Pages of a large zone, one behind the other, are its records in canonical order, each once, whatever was edited since the places
 * of pages were found.
 */
import t, { type Test } from 'tap';
import { requireZone } from '../../../src/control/guard/access.js';
import { importRecords } from '../../../src/control/imports/records.js';
import type { Context } from '../../../src/control/kernel/context.js';
import {
  applyBatch,
  createRecord,
  deleteRecord,
  editRecord,
  listRecords,
} from '../../../src/control/records/records.js';
import { openStore, type SqlValue, type Store } from '../../../src/store/driver.js';
import { recordsOfZone } from '../../../src/store/records/records.js';
import { startZone, type ZoneFixture } from '../../control/fixture.js';
import { seededRandom } from '../../support/seeded-random.js';
import { openOneCopy } from '../../support/two-copies.js';

const NAMES = 6500;
/** From here on, pages are found by their places. */
const FIRST = 5000;

interface Pages extends ZoneFixture {
  /** With a handle that only reads, and notes how many records each of its statements passes. */
  readonly reading: Context;
  readonly passed: number[];
}

async function startPages(t: Test): Promise<Pages> {
  const fixture = await startZone(t, {}, openOneCopy);
  const lines = Array.from({ length: NAMES }, (_, i) => `${nameAt(i)} 300 A 192.0.2.${i % 250}\n`);
  await importRecords(fixture.ctx, fixture.zoneId, lines.join(''), {});
  const reader = openStore(fixture.directory, { readonly: true });
  t.teardown(() => reader.close());
  const passed: number[] = [];
  return { ...fixture, passed, reading: { ...fixture.ctx, store: watch(reader, passed) } };
}

const nameAt = (i: number): string => `h${String(i).padStart(6, '0')}`;

/** The last value of each call of a statement with OFFSET. */
function watch(store: Store, passed: number[]): Store {
  const noting = <S extends { all(...values: never): unknown; get(...values: never): unknown }>(
    sql: string,
    own: S,
  ): S => {
    if (!sql.endsWith('OFFSET ?')) return own;
    const note = (values: never): never => {
      passed.push((values as SqlValue[]).at(-1) as number);
      return values;
    };
    return {
      ...own,
      all: (...values: never) => own.all(...note(values)),
      get: (...values: never) => own.get(...note(values)),
    };
  };
  return Object.assign(Object.create(store) as Store, {
    prepare: (sql: string) => noting(sql, store.prepare(sql)),
    prepareTuples: (sql: string) => noting(sql, store.prepareTuples(sql)),
  });
}

const idsOf = ({ ctx, zoneId }: Pages): string[] =>
  Array.from(recordsOfZone(ctx.store, requireZone(ctx, zoneId).seq), ({ id }) => Buffer.from(id).toString('hex'));

async function pageOf(
  { reading, zoneId }: Pages,
  page: number,
  perPage: number,
  direction: 'asc' | 'desc',
): Promise<string[]> {
  const { items } = await listRecords(reading, zoneId, { page, perPage, order: 'canonical', direction });
  return items.map(({ id }) => id);
}

async function comparePages(t: Test, pages: Pages, perPage: number, what: string): Promise<void> {
  const all = idsOf(pages);
  for (const direction of ['asc', 'desc'] as const) {
    const found: string[] = [];
    for (let page = Math.ceil(FIRST / perPage) + 1; (page - 1) * perPage < all.length; page++) {
      found.push(...(await pageOf(pages, page, perPage, direction)));
    }
    const wanted = direction === 'asc' ? all : all.toReversed();
    t.strictSame(found, wanted.slice(Math.ceil(FIRST / perPage) * perPage), `${what}: ${direction}`);
  }
}

t.test('pages behind pages are all records, whatever was edited', async (t) => {
  const pages = await startPages(t);
  const { ctx, zoneId, passed } = pages;
  await pageOf(pages, 60, 100, 'asc');
  t.strictSame(passed.splice(0), [1000, 1000, 1000, 1000, 1000, 900], 'its place is found in steps');
  await createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.1' });
  await pageOf(pages, 60, 100, 'asc');
  t.strictSame(passed.splice(0), [899], 'the places are known, and have moved on by one');
  await comparePages(t, pages, 700, 'at first');
  const random = seededRandom(5);
  const below = (count: number): number => Buffer.from(random.bytes(4)).readUInt32LE() % count;
  const anyId = (): string => {
    const all = idsOf(pages);
    return all[below(all.length)]!;
  };
  const some = (from: number, count: number, suffix: string): string =>
    Array.from({ length: count }, (_, i) => `${nameAt(from + i)}${suffix} 300 A 192.0.2.9\n`).join('');
  let added = 0;
  const edits: Readonly<Record<string, () => Promise<unknown>>> = {
    'a record more': () =>
      createRecord(ctx, zoneId, { type: 'A', name: `${nameAt(below(NAMES))}n${added++}`, content: '192.0.2.7' }),
    'a record less': () => deleteRecord(ctx, zoneId, anyId()),
    'another name': () => editRecord(ctx, zoneId, anyId(), { name: `${nameAt(below(NAMES))}m${added++}` }),
    'another address': () => editRecord(ctx, zoneId, anyId(), { content: `198.51.100.${added++}` }),
    'a hundred less': () =>
      applyBatch(ctx, zoneId, {
        deletes: idsOf(pages)
          .slice(2950, 3050)
          .map((id) => ({ id })),
      }),
    'three hundred more in one place': () => importRecords(ctx, zoneId, some(1000, 300, `i${added++}`), {}),
  };
  for (let round = 0; round < 3; round++) {
    for (const [what, edit] of Object.entries(edits)) {
      await edit();
      if (below(3) === 0) await comparePages(t, pages, 900 + below(900), what);
    }
  }
  await comparePages(t, pages, 500, 'after all edits');
  passed.length = 0;
  await importRecords(ctx, zoneId, some(NAMES, 2100, ''), {});
  await pageOf(pages, 80, 100, 'asc');
  t.equal(passed.length, 8, 'after thousands of edits, the places are found again');
  await comparePages(t, pages, 1000, 'after thousands of edits');
});
