/** Objects of buckets in a cluster: whole `serve` processes, a real PostgreSQL, and bodies on S3. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { openStore } from '../../src/store/driver.js';
import { allBuckets } from '../../src/store/objects/buckets.js';
import { copyMasterKey, makeNodes, type TestNode } from '../support/cluster-nodes.js';
import { runCommand } from '../support/commands.js';
import { skipWithoutPostgres, startPostgres } from '../support/postgres.js';
import { S3_ENVIRONMENT, startS3 } from '../support/s3.js';
import { until } from '../support/until.js';

t.test('objects of a cluster', { skip: skipWithoutPostgres }, async (t) => {
  const [postgres, s3] = [await startPostgres(t), await startS3(t)];
  const make = makeNodes(t, postgres, { ...S3_ENVIRONMENT, ZONEPLANE_OBJECTS: s3.address });
  const [a, b] = [make('a'), make('b')];
  const alone = { ZONEPLANE_DATA_DIR: a.dataDir, ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const single = make('a', undefined, '');
  let path = '';
  const large = Buffer.alloc(300_000, 'body ');
  const send = async (node: TestNode, method: string, key: string, body?: Buffer): Promise<Buffer | number> => {
    const { status, octets } = await node.raw(method, `${path}/objects/${key}`, body);
    return status === 200 && method === 'GET' ? octets : status;
  };

  t.test('files are refused without S3, and moved there', async (t) => {
    mkdirSync(a.dataDir, { recursive: true });
    t.match(await single.command('bucket', 'create', 'pictures'), { code: 0 });
    const store = openStore(a.dataDir);
    const objects = createLocalStore({ store, clock: new SystemClock(), random: systemRandom, log: silentLogger() });
    const [bucket] = allBuckets(store);
    await objects.put(bucket!.seq, 'old', Readable.from([large]), { httpMetadata: {}, limit: 1 << 20 });
    store.close();
    t.match(
      await runCommand({ ...alone, ZONEPLANE_CLUSTER: postgres.url, ZONEPLANE_NODE_NAME: 'a' }, 'cluster', 'init'),
      { code: 1, err: /1 object of buckets is a file of this machine.*ZONEPLANE_OBJECTS/s },
    );
    t.match(await a.command('cluster', 'init', '--objects', s3.address.replace('bodies', 'nobodies')), {
      code: 1,
      err: /nobodies on S3 cannot be used: it does not exist/,
    });
    t.match(await a.command('cluster', 'init'), { code: 0, out: /1 bodies of objects that were files are on S3 now/ });
    t.equal(s3.bodies().length, 1);
  });

  t.test('any node stores objects of any size, and all have them', async (t) => {
    copyMasterKey(a, b);
    await a.start();
    await b.start();
    const { json } = await a.call('GET', '/accounts');
    path = `/accounts/${json.result[0].id}/r2/buckets/pictures`;
    t.ok(large.equals((await send(b, 'GET', 'old')) as Buffer), 'what was a file of the first node');
    const huge = Buffer.alloc(12 << 20, 'huge ');
    t.equal(await send(a, 'PUT', 'huge', huge), 200);
    t.ok(huge.equals((await send(b, 'GET', 'huge')) as Buffer), 'right after the answer');
    t.equal(await send(b, 'PUT', 'huge', large), 200);
    t.ok(large.equals((await send(a, 'GET', 'huge')) as Buffer));
    t.equal(await send(b, 'DELETE', 'old'), 200);
    t.equal(await send(a, 'GET', 'old'), 404);
    t.match(await a.command('doctor'), { out: /ok +objects +the bodies on S3 of 1 objects are there/ });
  });

  t.test('S3 is away: objects are refused, everything else goes on', async (t) => {
    s3.setFaults(() => 'fails');
    t.equal(await send(a, 'PUT', 'huge', large), 503);
    t.equal(await send(a, 'GET', 'huge'), 503);
    t.equal(await send(a, 'PUT', 'small', Buffer.from('small')), 200, 'small ones are rows');
    t.equal((await a.call('POST', '/zones', { name: 'objects.test' })).status, 200);
    t.match(await a.command('doctor'), { code: 1, out: /fail +objects +the bucket bodies on S3 cannot be used/ });
    s3.setFaults(() => undefined);
    t.ok(large.equals((await send(b, 'GET', 'huge')) as Buffer));
  });

  t.test('a backup has the bodies; one that was restored is served from it', async (t) => {
    const file = join(a.dataDir, '..', 'whole.db');
    t.match(await a.command('backup', file), { code: 0, out: /1 bodies of objects, 300000 octets/ });
    t.match(await a.command('backup', `${file}2`, '--no-bodies'), { code: 0, out: /left out: 1 bodies/ });
    const restored = { ZONEPLANE_DATA_DIR: join(a.dataDir, '..', 'restored'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
    t.match(await runCommand(restored, 'restore', file), { code: 0, out: /1 object in files/ });
    t.match(await runCommand(restored, 'doctor'), { out: /ok +objects +the files of 1 objects are there/ });
    const other = { ...restored, ZONEPLANE_DATA_DIR: `${restored.ZONEPLANE_DATA_DIR}2` };
    t.match(await runCommand(other, 'restore', `${file}2`), { code: 1, err: /body of object huge is missing/ });
    const withS3 = { ...other, ...S3_ENVIRONMENT, ZONEPLANE_OBJECTS: s3.address };
    t.match(await runCommand(withS3, 'restore', `${file}2`), { code: 0 });
  });

  t.test('the last node goes on alone, with the same objects', async (t) => {
    await b.stop();
    await a.stop();
    t.match(await a.command('cluster', 'leave'), { code: 0 });
    await single.start();
    t.ok(large.equals((await send(single, 'GET', 'huge')) as Buffer));
    t.equal(await send(single, 'PUT', 'new', large), 200);
    await until(async () => s3.bodies().length >= 2);
  });
});
