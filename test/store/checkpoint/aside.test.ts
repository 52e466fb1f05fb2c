/** What writes in steps have written is copied into the database by a thread, and meanwhile by nobody else. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type AsideCheckpoints, createAsideCheckpoints } from '../../../src/store/checkpoint/aside.js';
import { openStore, openStoreFile, type Store } from '../../../src/store/driver.js';
import { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';

/** More pages than the log may have before a commit copies them. */
const ROWS = 1200;
const PAGE = 4096;

function open(t: Test, aside?: AsideCheckpoints): { readonly store: Store; readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-aside-'));
  const store = openStore(directory, aside ? { aside } : {});
  store.alter((run) => run('CREATE TABLE some (id INTEGER PRIMARY KEY, octets BLOB) STRICT'));
  t.teardown(() => {
    store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { store, directory };
}

function* fill(store: Store): Generator<undefined, void> {
  const insert = store.prepare<[Uint8Array], unknown>('INSERT INTO some (octets) VALUES (?)');
  for (let i = 0; i < ROWS; i++) {
    insert.run(new Uint8Array(PAGE));
    yield;
  }
}

const writeOne = (store: Store): Promise<unknown> =>
  store.write(() => store.prepare("INSERT INTO some (octets) VALUES (x'00')").run());

/** Rows that are in the database without its log. */
function copied(t: Test, { path }: Store): number {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-copied-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const copy = join(directory, 'copy.db');
  copyFileSync(path, copy);
  const store = openStoreFile(copy);
  const tables = store.prepareTuples<[], [number]>("SELECT count(*) FROM sqlite_schema WHERE name = 'some'").get()![0];
  const rows = tables && store.prepareTuples<[], [number]>('SELECT count(*) FROM some').get()![0];
  store.close();
  return rows;
}

/** A thread whose copies end when the test says so. */
function waitingThread() {
  const ends: (() => void)[] = [];
  const aside: AsideCheckpoints = {
    prepare() {},
    copy: () => new Promise((resolve) => void ends.push(resolve)),
  };
  return { aside, ends };
}

t.test('no commit copies it while the thread does, and the next one afterwards', async (t) => {
  const { aside, ends } = waitingThread();
  const { store } = open(t, aside);
  await store.writeInSteps(new TestClock(), fill);
  await writeOne(store);
  await writeOne(store);
  t.equal(copied(t, store), 0);
  t.equal(ends.length, 1);
  ends[0]!();
  await new Promise(setImmediate);
  await writeOne(store);
  t.equal(copied(t, store), ROWS + 3);
});

t.test('without a thread, the next commit copies it', async (t) => {
  const { store } = open(t);
  await store.writeInSteps(new TestClock(), fill);
  t.equal(copied(t, store), 0);
  await writeOne(store);
  t.equal(copied(t, store), ROWS + 1);
});

t.test('a thread that is still busy is not asked again, and a closed store is left alone', async (t) => {
  const { aside, ends } = waitingThread();
  const { store } = open(t, aside);
  await store.writeInSteps(new TestClock(), fill);
  await store.writeInSteps(new TestClock(), fill);
  t.equal(ends.length, 1);
  store.close();
  ends[0]!();
  await new Promise(setImmediate);
});

t.test('while what a copy would take is kept for deletions, none is made', async (t) => {
  const { aside, ends } = waitingThread();
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-aside-'));
  const store = openStore(directory, {
    aside,
    room(_database, _path, own) {
      own.pause('disk', true);
      return { make: () => false, committed() {} };
    },
  });
  t.teardown(() => {
    store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  store.alter((run) => run('CREATE TABLE some (id INTEGER PRIMARY KEY, octets BLOB) STRICT'));
  await store.writeInSteps(new TestClock(), fill);
  await writeOne(store);
  t.equal(ends.length, 0);
  t.equal(copied(t, store), 0);
});

t.test('the thread copies, ends when it has nothing to do, and is started again', async (t) => {
  const clock = new TestClock();
  const { store } = open(t, createAsideCheckpoints(clock));
  await store.writeInSteps(clock, fill);
  await until(() => copied(t, store) === ROWS, 'all is copied');
  clock.advance(60_000);
  await store.writeInSteps(clock, fill);
  await until(() => copied(t, store) === 2 * ROWS, 'all is copied again');
  clock.advance(60_000);
});

t.test('a copy that fails leaves all in the log', async (t) => {
  const clock = new TestClock();
  const aside = createAsideCheckpoints(clock);
  t.teardown(() => clock.advance(60_000));
  let ends = 0;
  void aside.copy(join(tmpdir(), 'zoneplane-nowhere', 'zoneplane.db')).then(() => ends++);
  await until(() => ends === 1, 'it has failed');
  const { store } = open(t, aside);
  await store.writeInSteps(clock, fill);
  await until(() => copied(t, store) === ROWS, 'the next one is made');
});

t.test('a copy has as long as it takes', async (t) => {
  const clock = new TestClock();
  const aside = createAsideCheckpoints(clock);
  t.teardown(() => clock.advance(60_000));
  let ends = 0;
  void aside.copy(join(tmpdir(), 'zoneplane-nowhere', 'zoneplane.db')).then(() => ends++);
  clock.advance(60_000);
  await until(() => ends === 1, 'it has ended');
});

t.test('where no thread can be started, what was written stays in the log', async () => {
  const aside = createAsideCheckpoints(new TestClock(), () => {
    throw new Error('the system has no room for another thread');
  });
  aside.prepare();
  await aside.copy('zoneplane.db');
});
