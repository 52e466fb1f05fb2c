/** Backups that the server makes by itself, and the directory in which it keeps them. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { extendSeries, listSeries } from '../../src/backup/series.js';
import { systemRandom } from '../../src/base/random.js';
import { createBlobs } from '../../src/bucket/blobs.js';
import { openStore } from '../../src/store/driver.js';
import { filesBelow, makeInstallation, openObjects } from '../support/backups.js';
import { runCommand } from '../support/commands.js';
import { startProgram, stopProgram } from '../support/program.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';

t.test('a series: links, order without a clock, and what is kept', async (t) => {
  const { directory, data, run } = await makeInstallation(t);
  const open = openObjects(data);
  await open.put('one', Buffer.alloc(100_000, 1));
  await open.put('two', Buffer.alloc(100_000, 2));
  open.close();
  const series = join(directory, 'series');
  const clock = new TestClock();
  const extend = async (keep: number) => {
    const store = openStore(data, { readonly: true });
    const bodies = createBlobs(data, systemRandom);
    try {
      return await extendSeries({ store, bodies, elsewhere: undefined, clock }, series, keep);
    } finally {
      store.close();
    }
  };
  await t.rejects(extend(2), /cannot be read \(ENOENT\)/, 'it is not made: a disk may not be mounted');
  mkdirSync(series);
  const first = await extend(2);
  // The clock is set back for a day.
  clock.putBack(86_400_000);
  const second = await extend(2);
  t.same(
    listSeries(series).map(({ file }) => file),
    [first.file, second.file],
  );
  const linksOf = (file: string): number[] => filesBelow(`${file}.blobs`).map((path) => statSync(path).nlink);
  t.same(linksOf(second.file), [2, 2]);
  t.match(await run('backup', 'verify', second.file), { code: 0 });
  // What the one before has lost since is copied anew.
  const [spoilt] = filesBelow(`${second.file}.blobs`);
  const octets = readFileSync(spoilt!);
  octets[7]! ^= 1;
  writeFileSync(spoilt!, octets);
  mkdirSync(join(series, 'zoneplane-000009-20260101T000000Z.db.blobs'));
  const third = await extend(2);
  t.same(linksOf(third.file).toSorted(), [1, 2]);
  t.match(await run('backup', 'verify', third.file), { code: 0 });
  t.match(await run('backup', 'verify', second.file), { code: 1 });
  t.same(
    listSeries(series).map(({ number }) => number),
    [2, 3],
    'the oldest is gone, by number',
  );
  t.notOk(readdirSync(series).some((name) => name.includes('000001') || name.includes('000009')));
  // The body in the data directory is damaged, and gone from the newest backup.
  const [body] = filesBelow(join(data, 'blobs'));
  rmSync(body!);
  for (const path of filesBelow(`${third.file}.blobs`)) rmSync(path);
  const fourth = await extend(2);
  t.equal(fourth.damaged.length, 1);
  t.same(
    listSeries(series).map(({ number }) => number),
    [2, 3, 4],
    'nothing is removed for a backup that lacks something',
  );
});

t.test('the server makes them', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-scheduled-'));
  const series = join(directory, 'series');
  mkdirSync(series);
  const environment = { ZONEPLANE_BACKUP_DIR: series, ZONEPLANE_BACKUP_EVERY: '1d' };
  const program = await startProgram({ directory, environment });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  await until(() => program.printed().includes('a backup was made, and read again'), 'the first is made at once');
  const [made] = listSeries(series);
  const data = join(directory, 'data');
  t.match(await runCommand({}, 'backup', 'verify', made!.file), { code: 0 });
  const metricsOf = async () => (await fetch(`${program.api}/metrics`)).text();
  const metrics = await metricsOf();
  t.match(metrics, /backups_made_total 1/);
  t.match(metrics, new RegExp(`backup_newest_seconds ${made!.madeAtMs / 1000}`));
  const settings = { ZONEPLANE_DATA_DIR: data, ZONEPLANE_RESOLVER_UPSTREAMS: '', ...environment };
  t.match(await runCommand(settings, 'doctor'), { out: /ok +backups +the newest in .* is of 2/ });
  t.match(await runCommand(settings, 'doctor', '--backup-dir', directory), {
    out: /warn +backups +no backup in .* yet/,
  });
  t.match(await runCommand({ ...settings, ZONEPLANE_BACKUP_EVERY: 'daily' }, 'doctor'), { code: 2, err: /30m, 12h/ });
  // Whatever is written, by the server or by a command beside it, is soon in the log beside the backups.
  t.match(await runCommand(settings, 'zone', 'create', 'later.example'), { code: 0 });
  const onTheirWay = (): unknown => {
    const store = openStore(data, { readonly: true });
    const [count] = store.prepareTuples<[], [number]>('SELECT count(*) FROM write_log').get()!;
    store.close();
    return count === 0;
  };
  await until(onTheirWay, 'the log has it');
  t.match(await metricsOf(), /backup_writes_seconds [1-9]/);
  const restored = join(directory, 'restored');
  const restore = ['restore', series, '--as-of', 'latest', '--data-dir', restored];
  t.match(await runCommand({}, ...restore), { code: 0, out: /restored 1 zone/ });
  t.match(await runCommand({}, 'zone', 'list', '--data-dir', restored), { out: /later\.example/ });
});
