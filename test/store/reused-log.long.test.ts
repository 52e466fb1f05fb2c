/** Deletions on a full disk: what a checkpoint may take, and what it gives back. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openStoreFile, type Store } from '../../src/store/driver.js';
import { reuseLog } from '../../src/store/reused-log.js';
import { fill, mountSmall, skipWithoutMounts, unmount } from '../support/small-disk.js';

const SPARE_OCTETS = 512 << 10;

interface Disk {
  readonly store: Store;
  /** Octets of the database and of its log. */
  readonly sizes: () => { readonly database: number; readonly log: number };
  readonly remove: (row: number) => Promise<unknown>;
  readonly fill: () => void;
}

/** A database on a small disk with room kept for deletions: rows of a page each, so many of them in the file, and all others in the log. */
async function makeDisk(t: Test, { copied, logged }: { copied: number; logged: number }): Promise<Disk> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-log-'));
  t.ok(mountSmall(directory, 16));
  const path = join(directory, 'some.db');
  const spare = join(directory, 'spare');
  writeFileSync(path, '');
  writeFileSync(spare, Buffer.alloc(SPARE_OCTETS));
  let hasSpare = true;
  const giveUp = (): boolean => {
    rmSync(spare, { force: true });
    const had = hasSpare;
    hasSpare = false;
    return had;
  };
  const store = openStoreFile(path, { room: reuseLog(giveUp) });
  t.teardown(() => {
    store.close();
    unmount(directory);
    rmSync(directory, { recursive: true, force: true });
  });
  store.alter((run) => run('CREATE TABLE some (id INTEGER PRIMARY KEY, octets BLOB) STRICT'));
  const insert = store.prepare<[id: number, octets: Uint8Array], unknown>('INSERT INTO some VALUES (?, ?)');
  const insertRows = (from: number, count: number) =>
    store.write(() => {
      for (let id = from; id < from + count; id++) insert.run(id, new Uint8Array(3900));
    });
  await insertRows(0, copied);
  store.checkpoint();
  await insertRows(copied, logged);
  const remove = store.prepare<[id: number], unknown>('DELETE FROM some WHERE id = ?');
  return {
    store,
    sizes: () => ({ database: statSync(path).size, log: statSync(`${path}-wal`).size }),
    remove: (row) => store.write(() => remove.run(row)),
    fill: () => fill(join(directory, 'filler')),
  };
}

t.test('a log that was copied has room for the next deletions', { skip: skipWithoutMounts }, async (t) => {
  const { remove, fill, sizes } = await makeDisk(t, { copied: 1500, logged: 10 });
  fill();
  const before = sizes();
  for (let row = 0; row < 1500; row++) await remove(row);
  t.ok(sizes().log <= before.log + SPARE_OCTETS);
});

t.test('a database that must grow leaves the room to deletions', { skip: skipWithoutMounts }, async (t) => {
  const { remove, fill, sizes } = await makeDisk(t, { copied: 0, logged: 970 });
  fill();
  const before = sizes();
  for (let row = 0; row < 25; row++) await remove(row);
  t.equal(sizes().database, before.database, 'by no checkpoint');
  t.ok(sizes().log > before.log);
});
