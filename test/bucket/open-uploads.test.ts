/** Open uploads in parts are counted whenever one begins or gets a part: that must not cost what others have become. */
import t from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { threadProcessorUs } from '../../src/base/clock.js';
import { createBucket } from '../../src/bucket/buckets.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { allAccounts } from '../../src/store/access/accounts.js';
import type { Store } from '../../src/store/driver.js';
import { allBuckets } from '../../src/store/objects/buckets.js';
import {
  countOpenUploads,
  countOpenUploadsOf,
  findUpload,
  insertUpload,
  openUploadsAfter,
  setUploadCompleted,
} from '../../src/store/objects/uploads.js';
import { startControl } from '../control/fixture.js';

/** As many as one account may have open. */
const MOST = 20_000;
const COMPLETE = 5000;
const OPEN = { http_metadata: '{}', custom_metadata: '{}', metadata_size: 0, checksum_type: null, started_at: 1 };

async function addUploads(store: Store, bucket: number, name: string, count: number): Promise<void> {
  await store.write(() => {
    for (let i = 0; i < count; i++) {
      const id = `${name}${i}`;
      insertUpload(store, { ...OPEN, id, bucket, key: id, storage_class: 'Standard' });
      if (name === 'complete') setUploadCompleted(store, findUpload(store, id)!.seq, 2);
    }
  });
}

t.test('what has become objects costs nothing, and an account has not too many open', async (t) => {
  const { ctx } = await startControl(t);
  const { store } = ctx;
  const [account] = allAccounts(store);
  for (const name of ['first', 'second'])
    await createBucket(ctx, toHex(account!.id), { name, jurisdiction: 'default' });
  const [first, second] = allBuckets(store).map(({ seq }) => seq) as [number, number];
  const objects = createLocalStore(ctx);
  const id = await objects.uploads.create(first, 'open', { httpMetadata: {} });
  await objects.uploads.putPart({ bucket: first, key: 'open', id }, 1, (async function* () {})(), { limit: 10 });
  const cost = (): number => {
    const began = threadProcessorUs();
    for (let i = 0; i < 20; i++) {
      t.equal(countOpenUploads(store, first), 1);
      t.equal(countOpenUploadsOf(store, account!.seq), 1);
      t.equal(openUploadsAfter(store, first, '', Number.MAX_SAFE_INTEGER, 10).length, 1);
    }
    return threadProcessorUs() - began;
  };
  cost();
  const before = cost();
  await addUploads(store, first, 'complete', COMPLETE);
  const after = cost();
  // Before there was an index of them, it was forty times as much.
  t.ok(after < before * 5, `${before} µs, ${after} µs beside ${COMPLETE} that are complete`);

  await addUploads(store, first, 'open', MOST);
  const refused = objects.uploads.create(second, 'x', { httpMetadata: {} });
  await t.rejects(refused, { message: 'The account has 20000 uploads that are not complete.' });
});
