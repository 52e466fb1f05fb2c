/** The number of a database's state: a new one after each commit, whoever made it, and the same one otherwise. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { IN_MEMORY, openStore, type Store } from '../../../src/store/driver.js';
import { openSnapshot } from '../../../src/store/handle/snapshot.js';
import { migrate } from '../../../src/store/migrate.js';
import { seededRandom } from '../../support/seeded-random.js';
import { TestClock } from '../../support/test-clock.js';

/** The state in another turn: within one it is looked at once. */
async function stateOf(store: Store): Promise<number> {
  await null;
  return store.state()!;
}

const change = (store: Store, value: string): Promise<unknown> =>
  store.write(() =>
    store.prepare<[string]>('UPDATE meta SET value = ? WHERE name = (SELECT min(name) FROM meta)').run(value),
  );

t.test('every commit of any handle makes another state', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'state-'));
  const [own, other] = [openStore(directory), openStore(directory)];
  migrate(own, new TestClock(), seededRandom(1));
  const reader = openStore(directory, { readonly: true });
  t.teardown(() => {
    for (const store of [own, other, reader]) store.close();
    rmSync(directory, { recursive: true });
  });
  const seen = new Set<string>();
  /** All handles see a state that they have not seen before. */
  const isNew = async (what: string): Promise<void> => {
    for (const [name, store] of Object.entries({ own, other, reader })) {
      const state = await stateOf(store);
      t.equal(await stateOf(store), state, `${name} stays: ${what}`);
      t.notOk(seen.has(`${name} ${state}`), `${name} changes: ${what}`);
      seen.add(`${name} ${state}`);
    }
  };
  await isNew('the first look');
  await change(own, 'a');
  await isNew('a commit');
  await change(other, 'b');
  await isNew('a commit by another');
  for (const round of ['first', 'next']) {
    // The log begins again, so that it is as long after the next commit as it was before.
    own.checkpoint();
    await stateOf(own);
    await change(other, round);
    await isNew(`a commit after the ${round} checkpoint`);
  }
  const before = await stateOf(own);
  await other.dryRun(() => other.prepare('DELETE FROM meta').run());
  await t.rejects(
    other.write(() => {
      other.prepare('DELETE FROM meta').run();
      throw new Error('no');
    }),
  );
  t.equal(await stateOf(own), before, 'what is undone is no commit');
  own.snapshot(() => t.equal(own.state(), undefined, 'a transaction has no state'));
  t.equal(await stateOf(own), before);
  for (const store of [own, reader]) {
    const rows = store.prepare('SELECT name FROM meta').iterate();
    rows.next();
    t.equal(await stateOf(store), undefined, 'an iteration reads what is old already');
    rows.return?.();
    t.type(await stateOf(store), 'number', 'and has one after its end');
  }
  const snapshot = openSnapshot(own);
  t.equal(snapshot.store.state(), undefined, 'nor has one that is open until its handle is closed');
  snapshot.close();
});

t.test('objects make no state that is followed, unless others have committed beside them', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'state-'));
  const [own, other] = [openStore(directory), openStore(directory)];
  migrate(own, new TestClock(), seededRandom(1));
  t.teardown(() => {
    for (const store of [own, other]) store.close();
    rmSync(directory, { recursive: true });
  });
  const followed = async (): Promise<number> => {
    await null;
    return own.followedState()!;
  };
  let blobs = 0;
  const remove = (store: Store): Promise<unknown> =>
    store.write(() => store.prepare<[string]>('INSERT INTO blob_garbage (blob) VALUES (?)').run(String(blobs++)));
  const before = await followed();
  const all = await stateOf(own);
  for (let i = 0; i < 3; i++) await remove(own);
  t.equal(await followed(), before);
  t.equal(own.committedState(), before);
  t.not(await stateOf(own), all, 'they are commits all the same');
  own.checkpoint();
  await followed();
  const short = await followed();
  await remove(own);
  t.equal(await followed(), short, 'when the log has begun again, too');
  const seen = new Set([before, short]);
  const isNew = async (what: string): Promise<void> => {
    const now = await followed();
    t.notOk(seen.has(now), what);
    seen.add(now);
  };
  await change(other, 'a');
  await remove(own);
  await isNew('another has committed before');
  await remove(own);
  await change(other, 'b');
  await isNew('another has committed after it');
  await remove(other);
  await isNew('objects of others are not told from the rest');
  await change(own, 'c');
  await remove(own);
  await isNew('its own commit of something else');
  await own.write(() => {
    own.prepare("DELETE FROM blob_garbage WHERE blob = '0'").run();
    own.prepare("UPDATE meta SET value = 'd' WHERE name = (SELECT min(name) FROM meta)").run();
  });
  await isNew('objects and something else');
  await change(other, 'e');
  await own.write(() => {});
  await isNew('another has committed before a write of nothing');
  await change(other, 'f');
  await own.write(() => own.prepare("DELETE FROM blob_garbage WHERE blob = 'none'").run());
  await isNew('another has committed before a write that finds nothing');
  own.snapshot(() => t.equal(own.followedState(), undefined, 'a transaction has no state'));
});

t.test('a database in memory has states, too', async (t) => {
  const store = openStore(IN_MEMORY);
  migrate(store, new TestClock(), seededRandom(1));
  const before = await stateOf(store);
  t.equal(await stateOf(store), before);
  await change(store, 'a');
  t.not(await stateOf(store), before);
});

t.test('a thread that has looked and ended does not end the locks of others', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'state-'));
  const store = openStore(directory);
  migrate(store, new TestClock(), seededRandom(1));
  t.teardown(() => {
    store.close();
    rmSync(directory, { recursive: true });
  });
  const driver = resolve('build/src/store/driver.js');
  const look = `const store = openStore(${JSON.stringify(directory)}, { readonly: true }); store.state(); store.close();`;
  /** Whether another process finds that this one is reading. */
  const isLocked = (): boolean => {
    const write = "db.exec('UPDATE meta SET value = value')";
    const script = `const db = new (require('better-sqlite3'))(process.argv[1]); db.pragma('busy_timeout = 0'); ${write};
      console.log(db.pragma('wal_checkpoint(TRUNCATE)')[0].busy)`;
    const { stdout } = spawnSync(process.execPath, ['-e', script, join(directory, 'zoneplane.db')], {
      encoding: 'utf8',
    });
    return stdout.trim() === '1';
  };
  await change(store, 'a');
  const iterator = store.prepare('SELECT name FROM meta').iterate();
  t.equal(iterator.next().done, false);
  t.ok(isLocked(), 'before');
  const thread = new Worker(`import(${JSON.stringify(driver)}).then(({ openStore }) => { ${look} })`, { eval: true });
  await once(thread, 'exit');
  t.ok(isLocked(), 'and after');
  iterator.return?.();
  t.notOk(isLocked(), 'until it has read');
});
