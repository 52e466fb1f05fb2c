/** Recording a write and replaying it on another copy: recording.ts, replay.ts, log-writer.ts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { DATABASE_FILE, openStore, type SqlValue, type Store } from '../../src/store/driver.js';
import { EntryRefused, StoreConflict } from '../../src/store/failures.js';
import { catchUp, createLogWriter } from '../../src/store/log-writer.js';
import { findMeta, putMeta } from '../../src/store/meta.js';
import { migrate } from '../../src/store/migrate.js';
import { SCHEMA_VERSION } from '../../src/store/migrations/migration.js';
import { type Entry, startRecording, statementsOf, type Written } from '../../src/store/recording.js';
import { MemoryLog } from '../support/memory-log.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { runSql } from '../support/write-now.js';

const random = seededRandom(3);
const NOTES = 'CREATE TABLE notes (seq INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT';
const PUT = 'INSERT INTO notes (text) VALUES (?)';

function temporaryDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-log-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Copies of one database, each of which writes through the log when there is one. */
async function openCopies(t: Test, count: number, log?: MemoryLog): Promise<Store[]> {
  const first = temporaryDirectory(t);
  const original = openStore(first);
  migrate(original, new TestClock(), random);
  runSql(original, NOTES);
  const copies: Store[] = [];
  for (let i = 0; i < count; i++) {
    const directory = temporaryDirectory(t);
    await original.backup(join(directory, DATABASE_FILE));
    const store = openStore(directory, log ? { writer: (own) => createLogWriter(own, log, random) } : {});
    t.teardown(() => store.close());
    copies.push(store);
  }
  original.close();
  return copies;
}

const put = (store: Store, text: string): number => store.prepare<[string]>(PUT).run(text).lastInsertRowid;
const notes = (store: Store): string[] =>
  store
    .prepareTuples<[], [string]>('SELECT text FROM notes ORDER BY seq')
    .all()
    .map(([text]) => text);

function entryOf(store: Store, work: () => unknown): Entry {
  const { number, id: after } = store.position();
  const { written: body } = store.capture(work);
  if (!body) throw new Error('nothing was written');
  return { number: number + 1, id: random.uuid(), after, schema: SCHEMA_VERSION, body };
}

t.test('nothing is written outside of write', async (t) => {
  const [store] = (await openCopies(t, 1)) as [Store];
  const statement = store.prepare<[string]>(PUT);
  t.throws(() => statement.run('a'), /outside of Store\.write: INSERT INTO notes/);
  t.throws(() => store.snapshot(() => statement.run('a')), /outside/);
  t.throws(() => store.part(() => statement.run('a')), /outside/);
  for (const sql of ['CREATE TABLE x (a)', 'PRAGMA user_version = 7', "REPLACE INTO notes VALUES (1, 'x')"]) {
    t.throws(() => store.prepare(sql), /begins with INSERT, UPDATE or DELETE/, sql);
  }
  t.throws(() => store.prepareTuples(`${PUT} RETURNING seq`).get(), /returns no rows; use run/);
  await t.rejects(
    store.write(() => {
      statement.run('a');
      throw new Error('stop');
    }),
    /stop/,
  );
  t.throws(() => statement.run('a'), /outside/, 'nor after a write that failed');
  t.equal(await store.write(() => statement.run('a').changes), 1);
  t.equal(await store.dryRun(() => statement.run('b').changes), 1);
  t.throws(() => statement.run('c'), /outside/);
  t.strictSame(notes(store), ['a']);
});

t.test('a captured write leaves nothing behind and returns its statements', async (t) => {
  const [store, other] = (await openCopies(t, 2)) as [Store, Store];
  const captured = store.capture(() => {
    const kept = put(store, 'kept');
    try {
      store.part(() => {
        put(store, 'undone');
        throw new Error('undo');
      });
    } catch {}
    store.part(() => put(store, 'part'));
    store.prepare<[string]>('DELETE FROM notes WHERE text = ?').run('nowhere');
    return kept;
  });
  t.equal(captured.value, 1);
  t.strictSame(notes(store), []);
  t.strictSame(
    [...statementsOf(captured.written!)],
    [
      [PUT, ['kept'], 1],
      [PUT, ['part'], 1],
    ],
  );
  t.equal(store.capture(() => notes(store).length).written, undefined, 'reading is not written');
  t.throws(() => store.capture(() => put(store, 'x') && put(store, 'x')), StoreConflict);
  t.strictSame(notes(store), []);

  const entry: Entry = { number: 1, id: 'one', after: '', schema: SCHEMA_VERSION, body: captured.written! };
  t.strictSame(store.position(), { number: 0, id: '' });
  t.equal(store.replay(entry), true);
  t.equal(store.replay(entry), false, 'is here already');
  t.equal(other.replay(entry), true);
  t.strictSame(other.position(), { number: 1, id: 'one' });
  t.strictSame(notes(other), ['kept', 'part']);
});

t.test('entries that are read together are applied together, up to one that is refused', async (t) => {
  const log = new MemoryLog();
  const [store, other] = (await openCopies(t, 2, log)) as [Store, Store];
  for (let index = 0; index < 30; index++) await store.write(() => put(store, `n${index}`));
  const transactions = async (work: () => Promise<unknown>): Promise<number> => {
    let seen = 0;
    const { replay, replayAll } = other;
    const counted =
      <Given extends unknown[], Result>(apply: (...given: Given) => Result) =>
      (...given: Given): Result => {
        seen++;
        return apply.apply(other, given);
      };
    Object.assign(other, { replay: counted(replay), replayAll: counted(replayAll) });
    await work();
    Object.assign(other, { replay, replayAll });
    return seen;
  };
  t.equal(await transactions(() => catchUp(other, log)), 1);
  t.strictSame(notes(other), notes(store));
  for (let index = 30; index < 33; index++) await store.write(() => put(store, `n${index}`));
  const last = store.position();
  const entry = { number: last.number + 1, id: 'x', after: last.id, schema: SCHEMA_VERSION, body: Uint8Array.of(9) };
  log.entries.push(entry);
  await transactions(() => t.rejects(catchUp(other, log), { name: 'EntryRefused', entry: entry.number }));
  t.strictSame(other.position(), last, 'those before it are there');
  log.entries.pop();
  const large = 'x'.repeat(200_000);
  for (let index = 0; index < 3; index++)
    log.entries.push(
      entryAfter(log, store.capture(() => put(store, `${index}${random.bytes(100_000).toString()}${large}`)).written!),
    );
  t.equal(await transactions(() => catchUp(other, log)), 3, 'large ones do not keep others waiting for long');
});

function entryAfter({ entries }: MemoryLog, body: Uint8Array): Entry {
  const last = entries.at(-1)!;
  return { number: last.number + 1, id: random.uuid(), after: last.id, schema: SCHEMA_VERSION, body };
}

t.test('entries that cannot be applied leave nothing behind', async (t) => {
  const [store, other] = (await openCopies(t, 2)) as [Store, Store];
  const first = entryOf(store, () => put(store, 'first'));
  store.replay(first);
  other.replay(first);
  const next = entryOf(store, () => put(store, 'a') && put(store, 'b'));
  const reasonOf = (entry: Entry): string => {
    try {
      other.replay(entry);
      return 'applied';
    } catch (error) {
      if (error instanceof EntryRefused) return error.reason;
      throw error;
    }
  };
  const bodyOf = (...statements: Written[]): Uint8Array => {
    const recording = startRecording();
    for (const written of statements) recording.add(...written);
    return recording.finish()!;
  };
  t.equal(reasonOf({ ...next, number: 3 }), 'gap');
  t.equal(reasonOf({ ...next, after: 'another' }), 'history');
  t.equal(reasonOf({ ...first, id: 'another' }), 'history');
  t.equal(reasonOf({ ...next, schema: SCHEMA_VERSION + 1 }), 'schema');
  t.equal(reasonOf({ ...next, body: new Uint8Array(0) }), 'damaged');
  t.equal(reasonOf({ ...next, body: Uint8Array.of(9) }), 'damaged', 'another format');
  for (let length = 2; length < next.body.length; length++) {
    t.equal(reasonOf({ ...next, body: next.body.subarray(0, length) }), 'damaged', `${length} octets`);
  }
  for (const sql of ['PRAGMA user_version = 7', "ATTACH 'x' AS x", 'DROP TABLE notes', 'SELECT 1']) {
    t.equal(reasonOf({ ...next, body: bodyOf([PUT, ['x'], 1], [sql, [], 0]) }), 'damaged', sql);
  }
  t.equal(reasonOf({ ...next, body: bodyOf([PUT, ['x'], 2]) }), 'difference', 'another number of rows');
  t.equal(reasonOf({ ...next, body: bodyOf([PUT, ['x'], 1], [PUT, ['first'], 1]) }), 'difference', 'a conflict');
  t.strictSame(notes(other), ['first']);
  t.strictSame(other.position(), { number: 1, id: first.id });
  t.equal(reasonOf(next), 'applied');
  t.strictSame(notes(other), ['first', 'a', 'b']);
});

const value: fc.Arbitrary<SqlValue> = fc.oneof(
  fc.constant(null),
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.string({ unit: 'grapheme' }),
  fc.uint8Array({ maxLength: 300 }),
  // Large ones, so that pieces come to their end.
  fc.nat(300_000).map((length) => new Uint8Array(length).fill(length)),
);
const statement = fc.tuple(
  fc.constantFrom('INSERT a', 'UPDATE b', 'DELETE c', `INSERT ${'ü'.repeat(300)}`),
  fc.array(value, { maxLength: 6 }),
  fc.nat(100_000),
);
const step = fc.record({ statements: fc.array(statement, { maxLength: 4 }), undone: fc.boolean() });

t.test('a recording returns what was added, without what was undone', async (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const recording = startRecording();
      const kept: Written[] = [];
      for (const { statements, undone } of steps) {
        const mark = recording.mark();
        for (const [sql, params, changes] of statements) {
          const views = params.map((param) => (param instanceof Uint8Array ? new Uint8Array(param) : param));
          recording.add(sql, views, changes);
          // Values may be views of memory that is used again.
          for (const view of views) if (view instanceof Uint8Array) view.fill(0xee);
        }
        if (undone) recording.undo(mark);
        else kept.push(...statements);
      }
      const body = recording.finish();
      const read = body ? [...statementsOf(body)] : [];
      const plain = (list: readonly Written[]) =>
        list.map(([sql, params, changes]) => [
          sql,
          params.map((param) => (param instanceof Uint8Array ? Buffer.from(param).toString('hex') : param)),
          changes,
        ]);
      t.equal(body === undefined, kept.length === 0);
      t.strictSame(plain(read), plain(kept));
    }),
    { numRuns: 25, seed: 11 },
  );
});

t.test('copies that write through one log stay equal', async (t) => {
  const log = new MemoryLog();
  const copies = await openCopies(t, 3, log);
  const results = await Promise.all(
    copies.flatMap((store, copy) =>
      Array.from({ length: 20 }, (_, i) =>
        store.write(() => {
          const count = Number(findMeta(store, 'first_run_done') ?? 0);
          putMeta(store, 'first_run_done', count + 1);
          return put(store, `${copy} ${i}`);
        }),
      ),
    ),
  );
  t.equal(new Set(results).size, 60, 'no two wrote the same row');
  t.equal(log.entries.length, 60);
  await t.rejects(
    copies[0]!.write(() => put(copies[0]!, '1 1')),
    StoreConflict,
    'refused by what another wrote',
  );
  t.equal(await copies[0]!.write(() => 'nothing written'), 'nothing written');
  t.equal(log.entries.length, 60);
  for (const store of copies) {
    await catchUp(store, log);
    t.strictSame(store.position(), { number: 60, id: log.entries.at(-1)!.id });
    t.equal(findMeta(store, 'first_run_done'), 60, 'no update was lost');
    t.strictSame(notes(store), notes(copies[0]!));
  }
  log.entries.pop();
  await t.rejects(
    copies[0]!.write(() => put(copies[0]!, 'after a loss')),
    { name: 'LogUnavailable' },
    'a log that has lost an entry gets no other in its place',
  );
});
