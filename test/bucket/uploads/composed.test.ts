/** Objects of very many parts are opened in slices, and an object that is replaced meanwhile is not taken for a damaged one. */
import t from 'tap';
import type { Blobs } from '../../../src/bucket/blobs.js';
import type { OpenObject } from '../../../src/bucket/object-store.js';
import { openComposed } from '../../../src/bucket/uploads/composed.js';
import { allAccounts } from '../../../src/store/access/accounts.js';
import { insertBucket } from '../../../src/store/objects/buckets.js';
import { findObject, removeObject } from '../../../src/store/objects/objects.js';
import {
  findUpload,
  insertPart,
  insertUpload,
  objectPartsAfter,
  placePart,
} from '../../../src/store/objects/uploads.js';
import { startControl } from '../../control/fixture.js';
import { countTurns } from '../../support/turns.js';
import { openOneCopy } from '../../support/two-copies.js';
import { runSql, writeNow } from '../../support/write-now.js';

const PARTS = 2600;

t.test('parts are looked up in slices', async (t) => {
  const { store } = (await startControl(t, {}, openOneCopy)).ctx;
  writeNow(store, () => {
    const { seq: account } = allAccounts(store)[0]!;
    const bucket = insertBucket(store, {
      ...{ account, jurisdiction: 'default', name: 'many', location: 'weur', storage_class: 'Standard', created_at: 1 },
    });
    insertUpload(store, {
      ...{ id: 'u', bucket, key: 'k', storage_class: 'Standard', http_metadata: '{}', custom_metadata: '{}' },
      ...{ metadata_size: 0, checksum_type: null, started_at: 1 },
    });
    const upload = findUpload(store, 'u')!.seq;
    for (let i = 1; i <= PARTS; i++) {
      insertPart(store, {
        ...{ upload, number: i, size: 2, md5: new Uint8Array(16), blob: `b${i}`, checksum: null, crc32: null },
        uploaded_at: 1,
      });
    }
    for (const { seq, number } of objectPartsAfter(store, upload, 0, PARTS)) placePart(store, seq, 2 * (number - 1));
  });
  runSql(
    store,
    `INSERT INTO objects (bucket, key, version, size, md5, storage_class, http_metadata, custom_metadata, metadata_size,
       uploaded_at, parts, upload)
     SELECT bucket, key, 'v', ${2 * PARTS}, zeroblob(16), 'Standard', '{}', '{}', 0, 1, ${PARTS}, seq FROM uploads`,
  );
  const row = findObject(store, 1, 'k')!;
  const blobs = {} as Blobs;
  let first: OpenObject | undefined;
  const turns = await countTurns(async () => {
    first = await openComposed(store, row, blobs);
    t.equal(first?.item.size, 2 * PARTS);
  });
  t.ok(turns >= 5, `${turns} turns`);
  const again = await countTurns(async () => (await openComposed(store, row, blobs))?.close());
  t.ok(again < 5, 'who reads it at the same time shares what was looked up');
  await first?.close();
  const later = await countTurns(async () => (await openComposed(store, row, blobs))?.close());
  t.ok(later >= 5, 'and nothing is kept when nobody reads it');
  runSql(store, `DELETE FROM parts WHERE number = ${PARTS}`);
  await t.rejects(openComposed(store, row, blobs), /is not whole/);
  writeNow(store, () => removeObject(store, row.seq));
  t.equal(await openComposed(store, row, blobs), undefined, 'it is gone');
});
