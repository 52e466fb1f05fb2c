/** Backups that the server keeps on S3: made, read back, listed, removed and restored. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { extendSeriesOnS3, listBackups, openSeriesOnS3 } from '../../src/backup/s3-series.js';
import { systemRandom } from '../../src/base/random.js';
import { createBlobs } from '../../src/bucket/blobs.js';
import { openStore } from '../../src/store/driver.js';
import { makeInstallation, openObjects } from '../support/backups.js';
import { runCommand } from '../support/commands.js';
import { startProgram, stopProgram } from '../support/program.js';
import { S3_ENVIRONMENT, startS3 } from '../support/s3.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';

t.test('a series on S3', async (t) => {
  const { directory, data, run } = await makeInstallation(t);
  const s3 = await startS3(t);
  const open = openObjects(data);
  await open.put('one', Buffer.alloc(100_000, 1));
  await open.put('two', Buffer.alloc(100_000, 2));
  open.close();
  const clock = new TestClock();
  const files = await openSeriesOnS3(s3.address);
  t.teardown(() => files.close());
  const extend = async (keep: number) => {
    const store = openStore(data, { readonly: true });
    clock.advance(1000);
    try {
      const source = { store, bodies: createBlobs(data, systemRandom), elsewhere: undefined, clock };
      return await extendSeriesOnS3(source, files, keep);
    } finally {
      store.close();
    }
  };
  const first = await extend(2);
  const before = s3.requests.length;
  await extend(2);
  const puts = s3.requests.slice(before).filter((request) => request.startsWith('PUT'));
  t.equal(puts.length, 2, 'bodies that are there are not sent again');
  const at = (name: string): string => s3.address.replace('?', `/${name}?`);
  const restored = join(directory, 'first');
  t.match(await run('restore', at(first.file), '--data-dir', restored), { code: 0, out: /2 objects in files/ });
  const objects = openObjects(restored);
  t.same(await objects.get('two'), Buffer.alloc(100_000, 2));
  objects.close();

  for (const octet of [3, 4]) {
    const change = openObjects(data);
    await change.put('two', Buffer.alloc(100_000, octet));
    change.close();
    await extend(2);
  }
  t.same(
    (await listBackups(s3.address)).map(({ number }) => number),
    [3, 4],
    'the oldest are gone',
  );
  t.equal((await files.list('bodies/')).length, 3, 'and the body that only they had');
  const newest = join(directory, 'newest');
  t.match(await run('restore', s3.address, '--data-dir', newest), { code: 0 }, 'the address alone: the newest');
  const latest = openObjects(newest);
  t.same(await latest.get('two'), Buffer.alloc(100_000, 4));
  latest.close();
  t.match(await run('restore', at('zoneplane-000001-20260101T000000Z.db'), '--data-dir', join(directory, 'none')), {
    code: 1,
    err: /there is no backup zoneplane-000001/,
  });
  t.match(await run('restore', s3.address, '--as-of', 'latest', '--data-dir', join(directory, 'none')), { code: 2 });

  // What S3 has changed is noticed while it is made, and by a restoration.
  s3.setFaults((method, url) => (method === 'GET' && url.includes('zoneplane-000005') ? 'missing' : undefined));
  await t.rejects(extend(2), /S3 does not have zoneplane-000005/);
  s3.setFaults(() => undefined);
  t.same((await listBackups(s3.address)).at(-1)?.number, 4, 'it is not there');
  const sums = join(directory, 'sums');
  const [name] = (await listBackups(s3.address)).map(({ file }) => file);
  await files.fetch(`${name}.sha256`, sums);
  const [, body] = /blobs\/..\/([0-9a-f]{32})/.exec(readFileSync(sums, 'utf8'))!;
  await files.put(`bodies/${body}`, sums);
  t.match(await run('restore', at(name!), '--data-dir', join(directory, 'damaged')), { code: 1, err: /is not whole/ });
  s3.setFaults(() => 'fails');
  await t.rejects(listBackups(s3.address), /the bucket bodies on S3 cannot be used/);
});

t.test('the server makes them on S3', async (t) => {
  const { directory } = await makeInstallation(t);
  const s3 = await startS3(t);
  const environment = { ...S3_ENVIRONMENT, ZONEPLANE_BACKUP_DIR: s3.address };
  const program = await startProgram({ directory, environment });
  t.teardown(() => stopProgram(program));
  await until(() => program.printed().includes('a backup was made, and read again'), 'the first is made at once');
  const [made] = await listBackups(s3.address);
  await until(
    async () =>
      (await (await fetch(`${program.api}/metrics`)).text()).includes(
        `\nzoneplane_backup_newest_seconds ${made!.madeAtMs / 1000}\n`,
      ),
    'its age is known',
  );
  const settings = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '', ...environment };
  t.match(await runCommand(settings, 'doctor'), { out: /ok +backups +the newest in s3:.* is of 2/ });
});
