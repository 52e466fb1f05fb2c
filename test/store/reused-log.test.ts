/** When the write-ahead log of a full disk is copied, and what a copy that fails does. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { OwnCheckpoints } from '../../src/store/checkpoint/own-checkpoints.js';
import { IN_MEMORY, openStore } from '../../src/store/driver.js';
import { reuseLog } from '../../src/store/reused-log.js';

/** `pages`: of the database. `copy`: a checkpoint. */
function prepare(t: Test, { pages, copy }: { pages: () => number; copy: () => unknown }) {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-log-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'some.db');
  writeFileSync(path, '');
  const settings: string[] = [];
  const pragma = (text: string): unknown => {
    if (text === 'page_count') return pages();
    if (text === 'page_size') return 4096;
    if (text.startsWith('wal_checkpoint')) return copy();
    settings.push(text);
    return undefined;
  };
  const database = { pragma } as unknown as Database.Database;
  return { room: reuseLog(() => false)(database, path, new OwnCheckpoints(database)), settings };
}

t.test('a log that was kept is copied once there is room, and then by SQLite again', async (t) => {
  let pages = 2 ** 40;
  let copies = 0;
  const copy = (): unknown => [{ log: ++copies, checkpointed: copies }];
  const { room, settings } = prepare(t, { pages: () => pages, copy });
  room.committed();
  t.equal(room.make(), false);
  room.committed();
  t.strictSame([settings, copies], [['wal_autocheckpoint = 0'], 0]);
  pages = 1;
  room.committed();
  room.committed();
  t.strictSame([settings.slice(1), copies], [['wal_autocheckpoint = 1000'], 1]);
});

t.test('a copy that fails fails no write', async (t) => {
  let pages = 2 ** 40;
  const copy = (): unknown => {
    throw new Error('disk I/O error');
  };
  const { room } = prepare(t, { pages: () => pages, copy });
  t.equal(room.make(), false);
  pages = 1;
  room.committed();
  t.equal(room.make(), false);
});

t.test('each commit is told, and nothing else', async (t) => {
  let commits = 0;
  const room = { make: () => false, committed: () => void commits++ };
  const store = openStore(IN_MEMORY, { room: () => room });
  t.teardown(() => store.close());
  store.alter((run) => run('CREATE TABLE some (id INTEGER PRIMARY KEY) STRICT'));
  t.equal(commits, 1);
  const insert = store.prepare<[id: number]>('INSERT INTO some VALUES (?)');
  await store.write(() => insert.run(1));
  t.equal(commits, 2);
  await t.rejects(store.write(() => insert.run(1)));
  await store.dryRun(() => insert.run(2));
  t.equal(commits, 2);
});
