/** Restorations to a moment: a backup, and the log of writes beside it. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { extendSeries, listSeries } from '../../src/backup/series.js';
import { keepWrites, stopKeepingWrites } from '../../src/backup/writes/keep.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createBlobs } from '../../src/bucket/blobs.js';
import { openStore } from '../../src/store/driver.js';
import { writeLogSeries } from '../../src/store/log/write-log.js';
import { putMeta } from '../../src/store/meta.js';
import { examineBackups } from '../../src/warnings/backups.js';
import { type Installation, makeInstallation, openObjects } from '../support/backups.js';
import { TestClock } from '../support/test-clock.js';

interface Kept extends Installation {
  readonly series: string;
  /** What the server does: takes out what was written, and makes a backup. */
  take(mostOctets?: number): Promise<void>;
  backUp(keep?: number): Promise<string>;
  note(): string;
}

/** An installation whose writes are kept, by commands. The clock of the commands is that of the system. */
async function makeKept(t: Parameters<typeof makeInstallation>[0]): Promise<Kept> {
  const own = await makeInstallation(t);
  const series = join(own.directory, 'series');
  mkdirSync(series);
  const clock = new TestClock();
  const withStore = async (work: (store: ReturnType<typeof openStore>) => Promise<unknown>) => {
    const store = openStore(own.data);
    try {
      return await work(store);
    } finally {
      store.close();
    }
  };
  const take = async (mostOctets = 1 << 30) => {
    clock.advance(Date.now() - clock.nowMs());
    await withStore(async (store) => {
      const log = silentLogger();
      const options = { store, clock, log, random: systemRandom, directory: series, mostOctets };
      const keeper = keepWrites({ ...options, onBegin: () => undefined });
      await keeper.look();
      await keeper.close();
    });
  };
  const backUp = async (keep = 7) => {
    let file = '';
    clock.advance(Date.now() - clock.nowMs());
    await withStore(async (store) => {
      const source = { store, bodies: createBlobs(own.data, systemRandom), elsewhere: undefined, clock };
      ({ file } = await extendSeries(source, series, keep));
    });
    return file;
  };
  const note = () => new Date().toISOString();
  return { ...own, series, take, backUp, note };
}

const addRecord = async ({ run }: Installation, name: string): Promise<void> => {
  const { code, err } = await run('record', 'add', 'example.com', name, 'A', '192.0.2.1');
  if (code !== 0) throw new Error(err);
  // The clock counts milliseconds.
  const at = Date.now();
  while (Date.now() <= at + 1) await new Promise((resolve) => setImmediate(resolve));
};

t.test('a moment between two writes, from every backup before it', async (t) => {
  const kept = await makeKept(t);
  await kept.take();
  await addRecord(kept, 'before');
  const first = await kept.backUp();
  await addRecord(kept, 'one');
  const moment = kept.note();
  await addRecord(kept, 'two');
  await kept.take();
  const objects = openObjects(kept.data);
  await objects.put('later', Buffer.alloc(300_000, 7));
  objects.close();
  await kept.take();
  const second = await kept.backUp();
  await addRecord(kept, 'three');
  await kept.take();
  const restore = async (file: string, asOf: string, ...args: string[]) => {
    const data = join(kept.directory, `restored-${Math.random()}`);
    const outcome = await kept.run('restore', file, '--as-of', asOf, '--data-dir', data, ...args);
    const list = outcome.code === 0 ? (await kept.run('record', 'list', 'example.com', '--data-dir', data)).out : '';
    const names = ['before', 'one', 'two', 'three'].filter((name) => list.includes(name));
    return { ...outcome, data, names };
  };
  t.match(await restore(first, moment), {
    code: 0,
    names: ['before', 'one'],
    out: /as of .*, with 1 write made after the backup/,
  });
  t.match(await restore(kept.series, moment), { code: 0, names: ['before', 'one'] }, 'the directory stands for it');
  const all = await restore(first, 'latest');
  t.match(all, { code: 0, names: ['before', 'one', 'two', 'three'] });
  const restored = openObjects(all.data);
  t.same(await restored.get('later'), Buffer.alloc(300_000, 7), 'a body of a later backup');
  t.equal(writeLogSeries(restored.store), undefined, 'what was restored has another history');
  restored.close();
  t.match(await restore(second, moment), { code: 1, err: /newer than that time/ });
  t.match(await restore(first, '2999-01-01T00:00:00Z'), { code: 2, err: /lies in the future/ });
  t.match(await restore(first, 'yesterday'), { code: 2, err: /expected a time/ });
  t.match(await restore(kept.series, '2001-01-01T00:00:00Z'), { code: 1, err: /all backups in .* are newer/ });
});

t.test('as far as it reaches, and said when it does not', async (t) => {
  const kept = await makeKept(t);
  await kept.take();
  const file = await kept.backUp();
  await addRecord(kept, 'one');
  await kept.take();
  await addRecord(kept, 'two');
  const moment = kept.note();
  const restore = async (name: string, asOf = moment) => {
    const data = join(kept.directory, name);
    const outcome = await kept.run('restore', file, '--as-of', asOf, '--data-dir', data, '--json');
    return { ...outcome, list: (await kept.run('record', 'list', 'example.com', '--data-dir', data)).out };
  };
  // The last write is still in the database that was lost.
  const short = await restore('short');
  t.match(short, { code: 1, err: /does not reach that time: it ends there/, list: /one/ });
  t.match(JSON.parse(short.out), { as_of: { writes: 1, whole: false } });
  t.notMatch(short.list, /two/);
  await kept.take();
  t.match(await restore('whole'), { code: 0, list: /two/ });
  const files = () => readdirSync(kept.series).filter((found) => found.startsWith('zoneplane-writes-'));
  const path = join(kept.series, files().at(-1)!);
  const octets = readFileSync(path);
  const changed = Buffer.from(octets);
  changed[octets.length - 60]! ^= 1;
  writeFileSync(path, changed);
  t.match(await restore('changed'), { code: 1, err: /does not reach that time: a write in .* is damaged/ });
  t.match(await restore('changed too', 'latest'), { code: 1, err: /is damaged/ });
  writeFileSync(path, octets);
  truncateSync(path, octets.length - 60);
  t.match(await restore('cut', 'latest'), { code: 0 }, 'an interruption may have cut the last file');
  await addRecord(kept, 'three');
  await kept.take();
  t.match(await restore('gap', 'latest'), { code: 1, err: /write \d+ is missing/ });
  // Writes that were taken out, but not removed before a crash, come again.
  const last = join(kept.series, files().at(-1)!);
  writeFileSync(path, octets);
  writeFileSync(last, Buffer.concat([octets, readFileSync(last)]));
  t.match(await restore('twice', 'latest'), { code: 0, list: /three/ });
  for (const name of files()) rmSync(join(kept.series, name));
  t.match(await restore('none', 'latest'), { code: 1, err: /no log of writes beside this backup/ });
});

t.test('files of writes that no backup needs are removed; a history ends where none is kept', async (t) => {
  const kept = await makeKept(t);
  const files = () => readdirSync(kept.series).filter((found) => found.startsWith('zoneplane-writes-'));
  await kept.take();
  await kept.backUp(1);
  for (const name of ['one', 'two', 'three']) {
    await addRecord(kept, name);
    await kept.take();
  }
  t.equal(files().length, 3);
  await kept.backUp(1);
  t.equal(files().length, 1, 'the newest, in which the next write may be');
  const store = openStore(kept.data);
  await stopKeepingWrites(store);
  t.equal(writeLogSeries(store), undefined);
  await store.write(() => putMeta(store, 'last_account', 1));
  t.same(store.prepareTuples('SELECT count(*) FROM write_log').get(), [0]);
  store.close();
  await kept.take();
  t.equal(new Set(files().map((name) => name.split('-')[2])).size, 2, 'another history');
  await kept.backUp(1);
  t.equal(new Set(files().map((name) => name.split('-')[2])).size, 1);
});

t.test('files of writes have a limit, and the oldest go first', async (t) => {
  const kept = await makeKept(t);
  const files = () => readdirSync(kept.series).filter((found) => found.startsWith('zoneplane-writes-'));
  await kept.take();
  const old = await kept.backUp();
  await addRecord(kept, 'one');
  await kept.take();
  await addRecord(kept, 'two');
  await kept.take();
  const [first] = files();
  const { size } = statSync(join(kept.series, files().at(-1)!));
  await addRecord(kept, 'three');
  await kept.take(2 * size);
  t.notOk(files().includes(first!), 'the oldest is gone');
  t.ok(files().length >= 2, 'and no more than that');
  const { code, err } = await kept.run('restore', old, '--as-of', 'latest', '--data-dir', join(kept.directory, 'gap'));
  t.equal(code, 1);
  t.match(err, /write \d+ is missing/);
});

t.test('a node of a cluster keeps none', async (t) => {
  const kept = await makeKept(t);
  await kept.take();
  const store = openStore(kept.data);
  await store.write(() => putMeta(store, 'cluster', 'c1'));
  store.close();
  const file = await kept.backUp();
  const { code, err } = await kept.run(
    'restore',
    file,
    '--as-of',
    'latest',
    '--data-dir',
    join(kept.directory, 'node'),
  );
  t.equal(code, 1);
  t.match(err, /of a node of a cluster, which keeps no log of writes/);
});

t.test('a record of the running database that changed without a write is found by the next backup', async (t) => {
  const kept = await makeKept(t);
  const plan = { directory: kept.series, everyMs: 86_400_000 };
  const examine = () => examineBackups(plan, Date.now());
  await kept.take();
  await kept.backUp();
  await addRecord(kept, 'one');
  await kept.take();
  // Still on its way when the backup is made.
  await addRecord(kept, 'flipped');
  await kept.backUp();
  t.same(
    (await examine()).map(({ verdict }) => verdict),
    ['ok'],
    'writes are not damage',
  );
  const store = openStore(kept.data);
  store.checkpoint();
  store.close();
  const path = join(kept.data, 'zoneplane.db');
  const octets = readFileSync(path);
  // In the table and its indexes, so that the form of the file is right.
  for (let at = octets.indexOf('flipped'); at >= 0; at = octets.indexOf('flipped', at + 1)) octets[at]! ^= 1;
  writeFileSync(path, octets);
  const damaged = await kept.backUp(1);
  t.match(await examine(), [
    { verdict: 'ok' },
    {
      verdict: 'fail',
      kind: 'backup-differs',
      text: /changed without a write, found by .*: .*1 row of the table record_rows \(\d+\)/,
    },
  ]);
  t.equal(listSeries(kept.series).length, 3, 'nothing is removed');
  await kept.backUp(1);
  t.equal(listSeries(kept.series).length, 4, 'nor later');
  rmSync(`${damaged}.differs`);
  await kept.backUp(1);
  t.same(
    (await examine()).map(({ verdict }) => verdict),
    ['ok'],
  );
  t.equal(listSeries(kept.series).length, 1);
  t.notOk(readdirSync(kept.series).some((name) => name.includes('.compared')));
});
