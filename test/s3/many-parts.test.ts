/** Uploads of very many parts: they are completed and given up a few parts at a time, so that nobody else waits for all of them. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import t from 'tap';
import { objectParts } from '../support/rows.js';
import { startS3World } from '../support/s3-door.js';

const Bucket = 'pictures';
const SIZE = 5 << 20;
const world = await startS3World(t);
const { client, ctx } = world;
const { store } = ctx;

interface Many {
  readonly place: { readonly Bucket: string; readonly Key: string; readonly UploadId: string };
  readonly Parts: readonly { readonly PartNumber: number; readonly ETag: string }[];
}

/** One part comes over the line; the others are rows like its own. */
async function begin(Key: string, count: number): Promise<Many> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
  const place = { Bucket, Key, UploadId: UploadId! };
  const { ETag } = await client.send(new UploadPartCommand({ ...place, PartNumber: 1, Body: Buffer.from('x') }));
  const upload = `(SELECT seq FROM uploads WHERE id = '${UploadId}')`;
  await store.write(() => {
    store
      .prepare(
        `INSERT INTO parts (upload, number, size, md5, blob, uploaded_at)
         WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
         SELECT upload, i, ${SIZE}, md5, printf('%016x%016x', upload, i), uploaded_at FROM parts, n WHERE upload = ${upload}`,
      )
      .run();
    store.prepare(`UPDATE parts SET size = ${SIZE} WHERE upload = ${upload} AND number = 1`).run();
  });
  return { place, Parts: Array.from({ length: count }, (_, i) => ({ PartNumber: i + 1, ETag: ETag! })) };
}

/** How many writes something takes. */
async function writesOf(run: () => Promise<unknown>): Promise<number> {
  const { write } = store;
  let writes = 0;
  const counted = <T>(work: () => T, timeoutMs?: number, waitedMs?: number): Promise<T> => {
    writes++;
    return write(work, timeoutMs, waitedMs);
  };
  Object.assign(store, { write: counted });
  await run().finally(() => Object.assign(store, { write }));
  return writes;
}

const complete = ({ place }: Many, Parts: Many['Parts']) =>
  client.send(new CompleteMultipartUploadCommand({ ...place, MultipartUpload: { Parts: [...Parts] } }));

t.test('completed with all of its parts', async (t) => {
  const many = await begin('all', 420);
  t.ok((await writesOf(() => complete(many, many.Parts))) > 2);
  t.match(await client.send(new HeadObjectCommand({ Bucket, Key: 'all' })), { ContentLength: 420 * SIZE });
  const places = objectParts(store, 'all').map(({ number, first }) => [number, first]);
  t.strictSame(
    places,
    many.Parts.map(({ PartNumber }, i) => [PartNumber, i * SIZE]),
  );
});

t.test('completed with some of its parts', async (t) => {
  const many = await begin('some', 250);
  const [second, third] = [many.Parts[1]!, many.Parts[200]!];
  const stale = { ...many.Parts[3]!, ETag: '"00000000000000000000000000000000"' };
  await t.rejects(complete(many, [second, stale]), { name: 'InvalidPart' });
  const left = () => objectParts(store, 'some').length;
  t.equal(left(), 250, 'a refusal removes nothing');
  t.ok((await writesOf(() => complete(many, [second, third]))) > 2);
  t.strictSame(
    objectParts(store, 'some').map(({ number, first }) => [number, first]),
    [
      [2, 0],
      [201, SIZE],
    ],
  );
});

t.test('completed twice at once with different parts', async (t) => {
  const many = await begin('twice', 300);
  const results = await Promise.allSettled([complete(many, many.Parts), complete(many, many.Parts.slice(100))]);
  t.ok(results.some(({ status }) => status === 'fulfilled'));
  const { ContentLength } = await client.send(new HeadObjectCommand({ Bucket, Key: 'twice' }));
  const parts = objectParts(store, 'twice');
  t.equal(ContentLength, parts.length * SIZE);
  t.strictSame(
    parts.map(({ first }) => first),
    parts.map((_, i) => i * SIZE),
    'each begins where the one before ends',
  );
});

t.test('given up', async (t) => {
  const many = await begin('none', 250);
  t.ok((await writesOf(() => client.send(new AbortMultipartUploadCommand(many.place)))) > 2);
  t.strictSame(objectParts(store, 'none'), []);
  await t.rejects(client.send(new AbortMultipartUploadCommand(many.place)), { name: 'NoSuchUpload' });
});
