/** Checkpoints by a thread, beside a handle that writes and others that read. */
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { type Checkpoints, startCheckpoints } from '../../src/store/checkpoints/checkpoints.js';
import { IN_MEMORY, type OpenOptions, openStore, type Store } from '../../src/store/driver.js';
import { StoreBusy } from '../../src/store/failures.js';
import { findDamage } from '../../src/store/integrity.js';
import type { WriteAheadLog } from '../../src/store/write-ahead-log.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';
import { runSql, writeNow } from '../support/write-now.js';

/** Small, so that a test writes kibibytes where the program writes mebibytes. */
const PAGES = { copy: 20, renew: 80, rest: 10, wait: 400 };
const PAGE = 4096;

interface World {
  readonly directory: string;
  readonly store: Store;
  readonly checkpoints: Checkpoints;
  readonly clock: TestClock;
  /** What was logged. */
  readonly lines: string[];
  /** The log as each commit left it, before the thread was told. */
  readonly left: WriteAheadLog[];
  /** Whether commits are told. */
  readonly told: { isOn: boolean };
  /** Makes a commit of about so many pages at once. */
  readonly commit: (pages: number) => void;
  /** Opens a handle that sees the present state until it is closed. */
  readonly read: () => Store;
}

function open(t: Test, options: OpenOptions = {}): World {
  const directory = join(mkdtempSync(join(tmpdir(), 'checkpoints-')), 'data');
  const clock = new TestClock();
  const lines: string[] = [];
  const left: WriteAheadLog[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const told = { isOn: true };
  let noteCommit = (): void => {};
  const store = openStore(directory, { ...options, onCommit: () => noteCommit() });
  runSql(store, 'CREATE TABLE pieces (id INTEGER PRIMARY KEY, octets BLOB)');
  const checkpoints = startCheckpoints({ store, clock, log, pages: PAGES });
  noteCommit = () => {
    left.push(store.writeAheadLog());
    if (told.isOn) checkpoints.noteCommit();
  };
  const insert = store.prepare<[octets: Uint8Array]>('INSERT INTO pieces (octets) VALUES (?)');
  const readers: Store[] = [];
  t.teardown(async () => {
    await checkpoints.stop();
    for (const part of [...readers, store]) part.close();
    rmSync(dirname(directory), { recursive: true, force: true });
  });
  return {
    ...{ directory, store, checkpoints, clock, lines, left, told },
    commit: (pages) => writeNow(store, () => void insert.run(new Uint8Array(pages * PAGE - 100))),
    read: () => {
      const reader = openStore(directory, { readonly: true });
      readers.push(reader);
      reader.prepare('BEGIN').run();
      reader.prepare('SELECT count(*) FROM pieces').get();
      return reader;
    },
  };
}

const isCopied = ({ store }: World): boolean => store.writeAheadLog().copied === store.writeAheadLog().pages;

/** Until the thread, which may be waiting for another try, has copied all. */
function untilCopied(world: World): Promise<void> {
  return until(() => {
    world.clock.advance(60_000);
    return isCopied(world);
  }, 'all is copied');
}

/** Until a commit begins the log anew. The thread may still be at the end of its checkpoint, so it need not be the first. */
function untilAnew({ commit, store }: World): Promise<void> {
  return until(() => {
    commit(1);
    return store.writeAheadLog().pages < 15;
  }, 'the log begins anew');
}

t.test(
  'SQLite lets one handle write while another copies: before 3.51.3, that could damage the database',
  async (t) => {
    const [version] = openStore(IN_MEMORY).prepareTuples<[], [string]>('SELECT sqlite_version()').get()!;
    const [major, minor, patch] = version.split('.').map(Number) as [number, number, number];
    t.ok((major * 1000 + minor) * 1000 + patch >= 3_051_003, version);
  },
);

t.test('commits leave the log to the thread, until that is stopped', async (t) => {
  const world = open(t);
  const { checkpoints, commit, left, store } = world;
  commit(1200);
  t.match(left, [{ copied: 0 }], 'SQLite makes a checkpoint in a commit from a thousand pages on');
  await until(() => isCopied(world), 'all is copied');
  await untilAnew(world);
  await checkpoints.stop();
  await checkpoints.stop();
  left.length = 0;
  commit(1200);
  const [{ pages, copied }] = left as [WriteAheadLog];
  t.ok(pages > 1000 && copied === pages, 'without the thread, in the commit');
  t.equal(findDamage(store), undefined);
});

t.test('what a busy writer adds while the thread copies is copied between two writes', async (t) => {
  const world = open(t);
  const { checkpoints, commit, store, told } = world;
  told.isOn = false;
  commit(100);
  // With a reader of what is in the log, the next commit does not begin it anew.
  const reader = world.read();
  // The event loop has no turn from here on, so that what the thread says is heard after the last commit.
  checkpoints.noteCommit();
  const end = performance.now() + 60_000;
  while (!isCopied(world) && performance.now() < end) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  t.ok(isCopied(world), 'the thread has copied what was there');
  commit(5);
  reader.close();
  const { pages, copied } = store.writeAheadLog();
  t.ok(pages >= PAGES.renew && pages - copied <= PAGES.rest && pages > copied, `${copied} of ${pages}`);
  await until(() => isCopied(world), 'the rest, which is too little for the thread');
});

t.test('beside a reader the log grows, which is said once, and begins anew when that is gone', async (t) => {
  const world = open(t);
  const { commit, lines, read, store } = world;
  commit(2);
  const reader = read();
  commit(600);
  commit(600);
  commit(600);
  const grows = lines.filter((line) => /grows, because something is reading/.test(line));
  t.equal(grows.length, 1);
  t.ok(store.writeAheadLog().pages > 1800);
  await until(() => store.writeAheadLog().copied > 0, 'the thread has copied what the reader does not need');
  reader.close();
  await untilCopied(world);
  await untilAnew(world);
  t.match(lines.at(-1), /begun anew/);
});

t.test('the log has a limit', async (t) => {
  const world = open(t, { mostLogPages: 300 });
  const { checkpoints, commit, read, store } = world;
  const insert = store.prepare('INSERT INTO pieces (octets) VALUES (NULL)');
  const write = () => store.write(() => insert.run(), 1);
  const first = read();
  commit(300);
  await t.rejects(write(), { name: 'StoreBusy', message: /limit of 1 MiB: something has been reading/ });
  t.throws(() => commit(1), StoreBusy);
  first.close();
  await untilCopied(world);
  await store.write(() => insert.run());
  await untilAnew(world);

  await checkpoints.stop();
  const second = read();
  commit(300);
  await t.rejects(write(), StoreBusy, 'the same without the thread');
  second.close();
  await store.write(() => insert.run());
  t.ok(store.writeAheadLog().pages < 20, 'and without it, the write copies');
});

t.test('a checkpoint that fails is logged once, and tried again', async (t) => {
  const world = open(t);
  const { commit, directory, lines } = world;
  renameSync(directory, `${directory}-away`);
  commit(30);
  await until(() => lines.length > 0, 'the failure');
  renameSync(`${directory}-away`, directory);
  await untilCopied(world);
  await until(() => lines.length > 1, 'the success');
  t.strictSame(lines, [
    'the write-ahead log could not be copied into the database; it is tried again',
    'the write-ahead log is copied into the database again',
  ]);
  t.equal(findDamage(world.store), undefined);
});

t.test('handles that only read and stores in memory have none', async (t) => {
  const { directory, clock } = open(t);
  const log = pino({ level: 'silent' });
  for (const store of [openStore(directory, { readonly: true }), openStore(IN_MEMORY)]) {
    const checkpoints = startCheckpoints({ store, clock, log });
    checkpoints.noteCommit();
    await checkpoints.stop();
    store.close();
  }
});
