/** The slow round through all bodies finds what nobody reads. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { createBlobs } from '../../../src/bucket/blobs.js';
import { notedDamage, verifyShare } from '../../../src/bucket/bodies/verify-round.js';
import { filesBelow, makeInstallation, openObjects } from '../../support/backups.js';

t.test('damage is noted until the object is replaced', async (t) => {
  const { data, run } = await makeInstallation(t);
  const { store, put, close } = openObjects(data);
  await put('row', Buffer.from('small'));
  // More than the share of one run.
  await put('first', Buffer.alloc(17 << 20, 1));
  await put('second', Buffer.alloc(100_000, 2));
  const share = () =>
    verifyShare({
      ...{ store, blobs: createBlobs(data, systemRandom), log: silentLogger() },
      ...{ signal: new AbortController().signal, octetsPerSecond: Number.POSITIVE_INFINITY },
    });
  const damage = (): string[] => notedDamage(store).map(({ key }) => key);
  await share();
  await share();
  t.same(damage(), []);
  const path = filesBelow(join(data, 'blobs')).find((file) => readFileSync(file).length === 100_000)!;
  const octets = readFileSync(path);
  octets[5]! ^= 1;
  writeFileSync(path, octets);
  for (let runs = 0; runs < 3; runs++) await share();
  t.same(damage(), ['second']);
  t.match(await run('doctor'), {
    out: /fail +objects +the bodies of 1 of 2 objects are damaged, such as that of second/,
  });
  await put('second', Buffer.alloc(100_000, 3));
  t.same(damage(), []);
  await share();
  t.same(damage(), []);
  close();
});
