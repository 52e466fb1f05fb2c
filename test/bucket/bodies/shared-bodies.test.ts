/** Copies of large objects share their bodies: nothing is read, and each lives without the other. */
import { readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import t from 'tap';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { createBlobsIn } from '../../../src/bucket/blobs.js';
import { combineBlobs } from '../../../src/bucket/bodies/combined-blobs.js';
import { createS3Blobs } from '../../../src/bucket/s3/s3-blobs.js';
import { startS3 } from '../../support/s3.js';
import { startS3World } from '../../support/s3-door.js';
import { TestClock } from '../../support/test-clock.js';

const Bucket = 'pictures';
const BODY = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7) & 255));
const DAY = 86_400;

function bodiesIn(directory: string): { readonly path: string; readonly ino: number; readonly links: number }[] {
  const root = join(directory, 'blobs');
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => ({ path, ino: statSync(path).ino, links: statSync(path).nlink }));
}

t.test('copies are links to one file', async (t) => {
  const { client, directory, objects } = await startS3World(t);
  await client.send(new PutObjectCommand({ Bucket, Key: 'a', Body: BODY, ContentType: 'image/png' }));
  const [first] = bodiesIn(directory);
  const old = Date.now() / 1000 - DAY;
  utimesSync(first!.path, old, old);
  const copied = await client.send(new CopyObjectCommand({ Bucket, Key: 'b', CopySource: `${Bucket}/a` }));
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'c' }));
  const place = { Bucket, Key: 'c', UploadId };
  const part = await client.send(new UploadPartCopyCommand({ ...place, PartNumber: 1, CopySource: `${Bucket}/a` }));
  const range = { CopySource: `${Bucket}/a`, CopySourceRange: 'bytes=0-99' };
  await client.send(new UploadPartCopyCommand({ ...place, PartNumber: 2, ...range }));
  const bodies = bodiesIn(directory);
  t.strictSame(bodies.map(({ links }) => links).sort(), [1, 3, 3, 3], 'a part of the source is a file of its own');
  t.ok(
    bodies.every(({ path }) => statSync(path).mtimeMs > Date.now() - 3_600_000),
    'a sweep by another process leaves a link alone that is not published yet',
  );
  t.equal(copied.CopyObjectResult!.ETag, part.CopyPartResult!.ETag);
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag: part.CopyPartResult!.ETag }] };
  await client.send(new CompleteMultipartUploadCommand({ ...place, MultipartUpload }));
  await client.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'replaced' }));
  await objects.sweep();
  for (const Key of ['b', 'c']) {
    const { Body, ContentType } = await client.send(new GetObjectCommand({ Bucket, Key }));
    t.ok(BODY.equals(Buffer.from(await Body!.transformToByteArray())), Key);
    t.equal(ContentType, Key === 'b' ? 'image/png' : 'application/octet-stream');
  }
});

t.test('a body that is gone, or elsewhere, is not shared', async (t) => {
  const s3 = await startS3(t);
  const clock = new TestClock();
  const [files, shared] = [
    createBlobsIn(t.testdir(), systemRandom),
    createS3Blobs({ address: s3.address, random: systemRandom, log: silentLogger() }),
  ];
  t.teardown(() => shared.close());
  const both = combineBlobs(files, shared);
  const put = async (blobs: typeof both): Promise<string> => {
    const draft = await blobs.draft();
    await draft.write(BODY);
    await draft.publish();
    return draft.name;
  };
  const textOf = async (name: string): Promise<boolean> => {
    const reader = await both.open(name);
    const pieces: Buffer[] = [];
    for await (const piece of reader!.pieces(0, BODY.length - 1)) pieces.push(Buffer.from(piece));
    const octets = Buffer.concat(pieces);
    await reader!.close();
    return octets.equals(BODY);
  };
  t.equal(await files.share('0'.repeat(32), clock), undefined, 'no such file');
  t.equal(await shared.share('0'.repeat(32), clock), undefined, 'no such object');
  t.equal(await both.share(await put(files), clock), undefined, 'a file of this machine, which moves');
  const source = await put(shared);
  const copy = (await both.share(source, clock))!;
  await copy.publish();
  await both.remove(source);
  t.ok(await textOf(copy.name), 'on S3, too, a copy lives without its source');
  await copy.discard();
  t.equal(await both.open(copy.name), undefined);
});
