/** Open uploads in parts are counted whenever one begins or gets a part: that must not cost what others have become. */
import t from 'tap';
import { toHex } from '../../src/base/bytes.js';
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
  await addUploads(store, first, 'complete', COMPLETE);
  const asked: string[] = [];
  const watch = <Watched extends object>(sql: string, statement: Watched): Watched =>
    new Proxy(statement, {
      get(target, key) {
        asked.push(sql);
        const value = Reflect.get(target, key) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const watched: Store = Object.assign(Object.create(store) as Store, {
    prepare: (sql: string) => watch(sql, store.prepare(sql)),
    prepareTuples: (sql: string) => watch(sql, store.prepareTuples(sql)),
  });
  t.equal(countOpenUploads(watched, first), 1);
  t.equal(countOpenUploadsOf(watched, account!.seq), 1);
  t.equal(openUploadsAfter(watched, first, '', Number.MAX_SAFE_INTEGER, 10).length, 1);
  // Only open ones are looked at: before there was an index of them, it took forty times as long beside those that are complete.
  t.equal(asked.length, 3);
  for (const sql of asked) {
    const plan = store
      .prepareTuples<number[], [number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...Array.from(sql.matchAll(/\?/g), () => 1));
    const details = plan.map(([, , , detail]) => detail).filter((detail) => /\buploads\b/.test(detail));
    t.ok(details.length > 0 && details.every((detail) => detail.includes('INDEX uploads_open')), details.join());
  }

  await addUploads(store, first, 'open', MOST);
  const refused = objects.uploads.create(second, 'x', { httpMetadata: {} });
  await t.rejects(refused, { message: 'The account has 20000 uploads that are not complete.' });
});
