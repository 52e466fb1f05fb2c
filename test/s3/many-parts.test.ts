/** Very many parts and objects: they are completed, given up and removed a few at a time, so that nobody else waits for all of them. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import t from 'tap';
import { toHex } from '../../src/base/bytes.js';
import type { Clock } from '../../src/base/clock.js';
import { createBucket, deleteBucket } from '../../src/bucket/buckets.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { setRules } from '../../src/bucket/rules/rule-sets.js';
import { allAccounts } from '../../src/store/access/accounts.js';
import { objectParts } from '../support/rows.js';
import { startS3World } from '../support/s3-door.js';

const Bucket = 'pictures';
const SIZE = 5 << 20;
const world = await startS3World(t);
const { client, ctx, objects } = world;
const { store } = ctx;

interface Many {
  readonly place: { readonly Bucket: string; readonly Key: string; readonly UploadId: string };
  readonly Parts: readonly { readonly PartNumber: number; readonly ETag: string }[];
}

/** One part comes over the line; the others are rows like its own. */
async function begin(Key: string, count: number, bucket = Bucket): Promise<Many> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
  const place = { Bucket: bucket, Key, UploadId: UploadId! };
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

const count = (table: 'parts' | 'objects'): number =>
  store.prepareTuples<[], [number]>(`SELECT count(*) FROM ${table}`).get()![0];
const countParts = (): number => count('parts');

/** The most rows that one write removes. */
const mostRemoved = (run: () => Promise<unknown>, table: 'parts' | 'objects' = 'parts'): Promise<number> =>
  mostInWrite(run, () => count(table));

/** The most by which a count falls in one write. */
async function mostInWrite(run: () => Promise<unknown>, countNow: () => number): Promise<number> {
  const { write } = store;
  let most = 0;
  const counted = async <T>(work: () => T, timeoutMs?: number, waitedMs?: number): Promise<T> => {
    const before = countNow();
    const value = await write(work, timeoutMs, waitedMs);
    most = Math.max(most, before - countNow());
    return value;
  };
  Object.assign(store, { write: counted });
  await run().finally(() => Object.assign(store, { write }));
  return most;
}

/** Only so many writes succeed. */
async function failAfter(writes: number, run: () => Promise<unknown>): Promise<void> {
  const { write } = store;
  let begun = 0;
  const limited = <T>(work: () => T): Promise<T> =>
    ++begun > writes ? Promise.reject(new Error('killed')) : write(work);
  Object.assign(store, { write: limited });
  await run().finally(() => Object.assign(store, { write }));
}

/** A clock by which each step takes longer than a slice. */
let steadyUs = 0;
const slowClock: Clock = Object.assign(Object.create(ctx.clock), { steadyUs: () => (steadyUs += 10_000) });

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

t.test('a completion that is refused at its last look loses nothing', async (t) => {
  const many = await begin('refused', 250);
  const { Bucket: _, Key: key, UploadId: id } = many.place;
  const named = many.Parts.slice(3, 6).map(({ PartNumber, ETag }) => ({ number: PartNumber, etag: ETag.slice(1, -1) }));
  let looks = 0;
  const refused = objects.uploads.complete({ bucket: 1, key, id }, named, {
    limit: 1 << 30,
    mayReplace: () => ++looks === 1,
    *compose() {
      yield undefined;
      return undefined;
    },
  });
  await t.rejects(refused, { key: 'objects.precondition' } as never);
  t.equal(looks, 2);
  t.equal(objectParts(store, 'refused').length, 250, 'all parts are there');
  t.equal(objects.uploads.parts({ bucket: 1, key, id }, 0, 1000).length, 250);
  await complete(many, many.Parts);
  t.match(await client.send(new HeadObjectCommand({ Bucket, Key: key })), { ContentLength: 250 * SIZE });
  t.equal(objects.partsOf(1, key, 0, 1000)!.length, 250);
});

t.test('parts that an object was completed without are nowhere, and are swept', async (t) => {
  const many = await begin('without', 250);
  const others = countParts() - 250;
  // Two writes mark those that are left out, one makes the object, and the next one fails.
  await failAfter(3, () => complete(many, many.Parts.slice(248)));
  t.ok(countParts() > others + 2, 'it ended before they were removed');
  t.match(world.logged(), /parts that an upload was completed without were not removed/);
  const head = (PartNumber?: number) => client.send(new HeadObjectCommand({ Bucket, Key: 'without', PartNumber }));
  t.match(await head(), { ContentLength: 2 * SIZE });
  t.match(await head(250), { ContentLength: SIZE, ContentRange: `bytes ${SIZE}-${2 * SIZE - 1}/${2 * SIZE}` });
  await t.rejects(head(1));
  t.strictSame(
    objects.partsOf(1, 'without', 0, 1000)!.map(({ number }) => number),
    [249, 250],
  );
  await (await objects.open(1, 'without', 'test'))!.close();
  t.equal(await mostRemoved(() => objects.sweep()), 100);
  t.equal(countParts(), others + 2);
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

t.test('replaced and deleted', async (t) => {
  const many = await begin('gone', 350);
  await complete(many, many.Parts);
  const others = countParts() - 350;
  t.equal(await mostRemoved(() => client.send(new PutObjectCommand({ Bucket, Key: 'gone', Body: 'small' }))), 0);
  t.equal(await (await client.send(new GetObjectCommand({ Bucket, Key: 'gone' }))).Body!.transformToString(), 'small');
  await t.rejects(complete(many, many.Parts), { name: 'NoSuchUpload' });
  const again = await begin('deleted', 150);
  await complete(again, again.Parts);
  t.equal(await mostRemoved(() => client.send(new DeleteObjectCommand({ Bucket, Key: 'deleted' }))), 0);

  const sweeper = createLocalStore({ ...ctx, clock: slowClock });
  await t.rejects(
    failAfter(3, () => sweeper.sweep()),
    { message: 'killed' },
  );
  const left = countParts() - others;
  t.ok(left > 0 && left < 500, 'it ended in the middle');
  t.equal(await mostRemoved(() => sweeper.sweep()), 100);
  t.equal(countParts(), others, 'nothing is left');
  await store.write(() => void store.prepare('UPDATE blob_garbage SET noted_at = NULL').run());
  const unnoted = () =>
    store.prepareTuples<[], [number]>('SELECT count(*) - count(noted_at) FROM blob_garbage').get()![0];
  t.ok(unnoted() >= 500);
  t.equal(await mostInWrite(() => sweeper.sweep(), unnoted), 200);
  t.equal(unnoted(), 0);
  t.strictSame(objectParts(store, 'gone'), []);
});

t.test('a bucket is deleted with its uploads', async (t) => {
  const others = countParts();
  const name = 'second';
  await createBucket(ctx, undefined, { name, jurisdiction: 'default' });
  await begin('open', 250, name);
  const gone = await begin('gone', 250, name);
  await complete(gone, gone.Parts);
  const remove = () => deleteBucket({ ...ctx, clock: slowClock }, undefined, name, 'default');
  await t.rejects(remove(), { message: /empty/ });
  t.equal(countParts(), others + 500, 'a refusal removes nothing');
  await client.send(new DeleteObjectCommand({ Bucket: name, Key: 'gone' }));
  const requireStill = (): void => {
    throw new Error('not any more');
  };
  const reader = { ...ctx, actor: { ...ctx.actor, readOnly: true } };
  await t.rejects(deleteBucket(reader, undefined, name, 'default'), { message: 'Authentication error' });
  await t.rejects(deleteBucket({ ...ctx, requireStill }, undefined, name, 'default'), { message: 'not any more' });
  await deleteBucket({ ...ctx, dryRun: true }, undefined, name, 'default');
  t.equal(countParts(), others + 500, 'nor does a reader, a writer who has lost the permission, or a dry run');
  t.equal(await mostRemoved(remove), 100);
  t.equal(countParts(), others, 'nothing is left');
});

/** Objects with the keys many/1, many/2 … */
async function putMany(number: number): Promise<void> {
  await store.write(() => {
    store
      .prepare(
        `INSERT INTO objects (bucket, key, version, size, md5, storage_class, http_metadata, custom_metadata, metadata_size, uploaded_at)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${number})
         SELECT 1, 'many/' || i, i, 0, zeroblob(16), 'Standard', '{}', '{}', 0, 0 FROM n`,
      )
      .run();
  });
}

t.test('one request deletes many objects', async (t) => {
  const others = count('objects');
  await putMany(250);
  const Objects = Array.from({ length: 251 }, (_, i) => ({ Key: `many/${i}` }));
  const most = await mostRemoved(async () => {
    const { Deleted } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    t.strictSame(Deleted, Objects, 'each is answered, also one that was not there');
  }, 'objects');
  t.equal(most, 100);
  t.equal(count('objects'), others);
});

t.test('an error in a later write is that of the keys which stay', async (t) => {
  await putMany(250);
  const keys = Array.from({ length: 250 }, (_, i) => `many/${i + 1}`);
  const remove = () =>
    client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: keys.map((Key) => ({ Key })) } }));
  await failAfter(0, () => t.rejects(remove(), { name: 'InternalError' }, 'nothing was deleted'));
  await failAfter(1, async () => {
    const { Deleted, Errors } = await remove();
    t.strictSame(
      Deleted!.map(({ Key }) => Key),
      keys.slice(0, 100),
    );
    t.strictSame(
      Errors!.map(({ Key, Code }) => [Key, Code]),
      keys.slice(100).map((key) => [key, 'InternalError']),
    );
  });
  t.equal(world.logged().split('objects could not be deleted').length, 2, 'it is logged once');
  t.match(await remove(), { Errors: undefined });
});

t.test('other doors delete many objects in several writes, and none if one is locked', async (t) => {
  const others = count('objects');
  await putMany(250);
  const keys = Array.from({ length: 250 }, (_, i) => `many/${i + 1}`);
  const accountId = toHex(allAccounts(store)[0]!.id);
  const place = { accountId, name: Bucket, jurisdiction: 'default' } as const;
  const rule = { id: 'last', enabled: true, prefix: 'many/250', condition: { type: 'Indefinite' } } as const;
  await setRules(ctx, place, 'lock', [rule]);
  await t.rejects(objects.delete(1, keys), { key: 'objects.locked' } as never);
  t.equal(count('objects'), others + 250);
  await setRules(ctx, place, 'lock', []);
  t.equal(await mostRemoved(() => objects.delete(1, keys), 'objects'), 100);
  t.equal(count('objects'), others);
});

t.test('long lists are printed in slices', async (t) => {
  const slow = await startS3World(t, { clock: slowClock });
  const own = slow.ctx.store;
  const select = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
     SELECT buckets.seq, printf('long/%04d/é', i), `;
  await own.write(() => {
    const columns = 'bucket, key, storage_class, http_metadata, custom_metadata, metadata_size';
    const same = `'Standard', '{}', '{}', 0`;
    own
      .prepare(
        `INSERT INTO objects (${columns}, version, size, md5, uploaded_at)
         ${select} ${same}, 'v' || i, 1, zeroblob(16), 1 FROM buckets, n`,
      )
      .run();
    own
      .prepare(`INSERT INTO uploads (${columns}, id, started_at) ${select} ${same}, 'u' || i, 1 FROM buckets, n`)
      .run();
  });
  const looksOf = async (run: () => Promise<unknown>): Promise<number> => {
    const before = steadyUs;
    await run();
    return (steadyUs - before) / 10_000;
  };
  const asked = { Bucket, Prefix: 'long/', EncodingType: 'url' as const };
  const lists = [
    () => slow.client.send(new ListObjectsV2Command(asked)),
    () => slow.client.send(new ListObjectsCommand({ ...asked, Delimiter: 'é' })),
    () => slow.client.send(new ListMultipartUploadsCommand(asked)),
  ];
  for (const list of lists) t.ok((await looksOf(list)) > 400 / 8, 'others have their turns');
  t.equal((await slow.client.send(new ListObjectsV2Command(asked))).Contents?.length, 400);
});
