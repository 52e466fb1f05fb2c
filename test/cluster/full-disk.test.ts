/** The disk of a node is full, and has room again. */
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { followLog } from '../../src/cluster/replica.js';
import { makeSnapshot } from '../../src/cluster/snapshots.js';
import { catchUp } from '../../src/store/log-writer.js';
import { putMeta } from '../../src/store/meta.js';
import { beginCluster, clock, contentIn, makeDirectory, openNode } from '../support/cluster-copies.js';
import { count, increase } from '../support/counter.js';
import { skipWithoutPostgres, startPostgres } from '../support/postgres.js';
import { mountSmall, skipWithoutMounts, unmount } from '../support/small-disk.js';
import { until } from '../support/until.js';

/** Writes a file until nothing more fits. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  const octets = Buffer.alloc(65_536);
  try {
    for (let size = octets.length; size > 0; ) {
      try {
        writeSync(file, octets, 0, size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size >>= 1;
      }
    }
  } finally {
    closeSync(file);
  }
}

t.test('a full disk', { skip: skipWithoutPostgres || skipWithoutMounts }, async (t) => {
  const postgres = await startPostgres(t);
  const first = await beginCluster(t, postgres.url);
  const disk = makeDirectory(t);
  t.ok(mountSmall(disk, 24));
  t.teardown(() => unmount(disk));
  const dataDir = join(disk, 'data');
  const filler = join(disk, 'filler');
  const a = await openNode(t, postgres.url, { node: 'a', dataDir: first });
  const b = await openNode(t, postgres.url, { node: 'b', dataDir });
  const replica = followLog({
    ...{ store: b.store, log: b.log, clock, logger: silentLogger(), isToBeReplaced: async () => true },
    onDiverged: (reason) => t.fail(reason),
  });
  t.teardown(() => replica.close());
  const own = b.log.connect('snapshot');
  t.teardown(() => own.close());
  await replica.catchUp();

  fill(filler);
  const large = Buffer.alloc(100_000, 'x');
  let counted = await increase(a.store);
  await a.store.write(() => putMeta(a.store, 'serving_settings', large));
  await t.rejects(replica.catchUp(), { name: 'StoreFull' });
  t.match(replica.status(), { state: 'stopped', reason: /The disk is full/ });
  const behind = b.store.position().number;
  t.ok(behind < a.store.position().number);
  await t.rejects(increase(b.store), { name: 'StoreFull' }, 'it writes nothing that it does not know how to order');
  await t.rejects(makeSnapshot(b.store, dataDir, own, 'b'), {
    name: 'UserError',
    message: /failed: .*(?:full|no space)/,
  });
  t.notOk(readdirSync(dataDir).includes('cluster-copy-out'), 'nothing of it is left behind');
  t.equal((await increase(a.store)) - counted, 1, 'the others go on');
  counted += 1;

  rmSync(filler);
  await until(async () => replica.status().state === 'following');
  t.equal(count(b.store), counted);
  t.ok(await makeSnapshot(b.store, dataDir, own, 'b'));

  // A write of its own is stored in the log, and answered, although its copy cannot take it.
  fill(filler);
  const wrote = await b.store.write(() => {
    putMeta(b.store, 'serving_settings', Buffer.alloc(500_000, 'y'));
    return 'stored';
  });
  t.equal(wrote, 'stored');
  await t.rejects(replica.catchUp(), { name: 'StoreFull' });
  rmSync(filler);
  await until(async () => replica.status().state === 'following');
  await a.store.write(() => putMeta(a.store, 'serving_settings', ''));
  for (const { store, log } of [a, b]) await catchUp(store, log);
  t.equal(contentIn(dataDir), contentIn(first), 'nothing is lost');

  const small = makeDirectory(t);
  t.ok(mountSmall(small, 1));
  t.teardown(() => unmount(small));
  fill(join(small, 'filler'));
  await t.rejects(openNode(t, postgres.url, { node: 'c', dataDir: join(small, 'data') }), {
    name: 'UserError',
    message: /cannot be used: no space is left/,
  });
});
