/** Uploads in parts by the SDK and by hand, and objects of parts as every reader sees them. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  type ObjectAttributes,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import t from 'tap';
import { systemRandom } from '../../src/base/random.js';
import { BLOB_DIRECTORY, createBlobs } from '../../src/bucket/blobs.js';
import { compareBodies, verifyBodies } from '../../src/bucket/bodies/compare.js';
import { verifyShare } from '../../src/bucket/bodies/verify-round.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { editQuotas } from '../../src/control/access/quotas.js';
import { quotasOf } from '../../src/control/rules/quotas.js';
import { Crc64Nvme, crc32c } from '../../src/s3/crc.js';
import { openStore } from '../../src/store/driver.js';
import { findBucketByName, removeBucket } from '../../src/store/objects/buckets.js';
import { startS3World } from '../support/s3-door.js';
import { runSql } from '../support/write-now.js';

const Bucket = 'pictures';
const Key = 'in/parts';
const MIB = 1 << 20;
const PARTS = [Buffer.alloc(5 * MIB, 'first '), Buffer.alloc(5 * MIB + 3, 'second '), Buffer.from('the last one')];
const WHOLE = Buffer.concat(PARTS);
const md5 = (octets: Buffer): Buffer => createHash('md5').update(octets).digest();
const ETAG = `"${md5(Buffer.concat(PARTS.map(md5))).toString('hex')}-3"`;

const codeOf = async (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'done',
    (error: { name: string }) => error.name,
  );

async function begin(client: S3Client, key = Key): Promise<string> {
  const input = { Bucket, Key: key, ContentType: 'text/plain', Metadata: { colour: 'red' } };
  return (await client.send(new CreateMultipartUploadCommand(input))).UploadId!;
}

async function put(client: S3Client, UploadId: string, PartNumber: number, Body: Buffer, key = Key) {
  const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key: key, UploadId, PartNumber, Body }));
  return { ETag: ETag!, PartNumber };
}

async function upload(client: S3Client, key = Key): Promise<void> {
  const UploadId = await begin(client, key);
  const Parts = [];
  for (const [i, part] of PARTS.entries()) Parts.push(await put(client, UploadId, i + 1, part, key));
  await client.send(new CompleteMultipartUploadCommand({ Bucket, Key: key, UploadId, MultipartUpload: { Parts } }));
}

async function collect(source: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of source) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

function filesIn(directory: string): number {
  const root = join(directory, BLOB_DIRECTORY);
  if (!existsSync(root)) return 0;
  return readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

t.test('the whole way', async (t) => {
  const { client, objects, directory, ctx } = await startS3World(t);
  const UploadId = await begin(client);
  const second = await put(client, UploadId, 2, PARTS[1]!);
  await put(client, UploadId, 1, Buffer.alloc(5 * MIB, 'replaced'));
  const first = await put(client, UploadId, 1, PARTS[0]!);
  await put(client, UploadId, 9, Buffer.from('not wanted'));
  const last = await put(client, UploadId, 7, PARTS[2]!);
  t.equal(await codeOf(client.send(new GetObjectCommand({ Bucket, Key }))), 'NoSuchKey', 'nothing is visible yet');
  const listed = await client.send(new ListPartsCommand({ Bucket, Key, UploadId, MaxParts: 2 }));
  t.same(
    listed.Parts!.map(({ PartNumber, Size, ETag }) => [PartNumber, Size, ETag]),
    [
      [1, 5 * MIB, first.ETag],
      [2, 5 * MIB + 3, second.ETag],
    ],
  );
  t.match(listed, { IsTruncated: true, NextPartNumberMarker: '2', StorageClass: 'STANDARD' });
  const rest = await client.send(new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker: '2' }));
  t.same(
    rest.Parts!.map(({ PartNumber }) => PartNumber),
    [7, 9],
  );
  t.match((await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads, [{ Key, UploadId }]);
  const complete = new CompleteMultipartUploadCommand({
    ...{ Bucket, Key, UploadId },
    MultipartUpload: { Parts: [first, second, last] },
  });
  const made = await client.send(complete);
  t.equal(made.ETag, ETAG);
  t.equal((await client.send(complete)).ETag, ETAG, 'completed again, it says the same');
  t.equal(await codeOf(put(client, UploadId, 1, PARTS[0]!)), 'NoSuchUpload', 'no part comes after');
  t.equal((await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads, undefined);
  const got = await client.send(new GetObjectCommand({ Bucket, Key }));
  t.ok(Buffer.from(await got.Body!.transformToByteArray()).equals(WHOLE));
  t.match(got, { ETag: ETAG, ContentType: 'text/plain', Metadata: { colour: 'red' }, ContentLength: WHOLE.length });
  const across = { Bucket, Key, Range: `bytes=${5 * MIB - 4}-${10 * MIB + 6}` };
  const ranged = await client.send(new GetObjectCommand(across));
  t.ok(Buffer.from(await ranged.Body!.transformToByteArray()).equals(WHOLE.subarray(5 * MIB - 4, 10 * MIB + 7)));
  const part = await client.send(new GetObjectCommand({ Bucket, Key, PartNumber: 7 }));
  t.equal(await part.Body!.transformToString(), 'the last one');
  t.match(part, { PartsCount: 3, ContentRange: `bytes ${10 * MIB + 3}-${WHOLE.length - 1}/${WHOLE.length}` });
  t.match(await client.send(new HeadObjectCommand({ Bucket, Key, PartNumber: 1 })), { ContentLength: 5 * MIB });
  t.equal(await codeOf(client.send(new GetObjectCommand({ Bucket, Key, PartNumber: 3 }))), 'InvalidRange');

  const blobs = createBlobs(directory, systemRandom);
  t.match(await verifyBodies(ctx.store, blobs), { bodies: 3, octets: WHOLE.length, faults: [] }, 'a backup compares');
  t.match(await compareBodies(ctx.store, blobs), { bodies: 3, faults: [] });
  await verifyShare({ ...ctx, blobs, signal: new AbortController().signal, octetsPerSecond: 1e12 });
  const reader = openStore(directory, { readonly: true });
  t.teardown(() => reader.close());
  const elsewhere = createLocalStore({ ...ctx, store: reader });
  const bucket = findBucketByName(ctx.store, 1, 'default', Bucket)!;
  const open = (await elsewhere.open(bucket.seq, Key, 'reader'))!;
  t.equal(open.item.etag, ETAG.slice(1, -1), 'another process reads it');
  const reading = open.read();
  await client.send(new PutObjectCommand({ Bucket, Key, Body: 'replaced' }));
  t.ok((await collect(reading)).equals(WHOLE), 'to its end, although it was replaced meanwhile');
  await open.close();
  t.ok(await objects.sweep());
  runSql(ctx.store, 'UPDATE blob_garbage SET noted_at = noted_at - 3600000');
  t.ok(await objects.sweep());
  t.equal(filesIn(directory), 0, 'its bodies are removed an hour later');
  t.equal(ctx.store.prepareTuples<[], [number]>('SELECT count(*) FROM uploads').get()![0], 0);
});

t.test('what is wrong with it', async (t) => {
  const { client, send, directory, ctx, objects } = await startS3World(t);
  const UploadId = await begin(client);
  const small = await put(client, UploadId, 1, Buffer.from('small'));
  const last = await put(client, UploadId, 2, Buffer.from('last'));
  const complete = (Parts: { ETag: string; PartNumber: number }[], key = Key, extra = {}) =>
    codeOf(
      client.send(
        new CompleteMultipartUploadCommand({ Bucket, Key: key, UploadId, MultipartUpload: { Parts }, ...extra }),
      ),
    );
  t.equal(await complete([small, last]), 'EntityTooSmall');
  t.equal(await complete([last, small]), 'InvalidPartOrder');
  t.equal(await complete([last, last]), 'InvalidPartOrder');
  t.equal(await complete([{ ...last, ETag: small.ETag }]), 'InvalidPart');
  t.equal(await complete([{ ...last, PartNumber: 3 }]), 'InvalidPart');
  t.equal(await complete([]), 'MalformedXML');
  t.equal(await complete([last], 'another'), 'NoSuchUpload');
  t.equal(await complete([last], Key, { IfMatch: '"none"' }), 'PreconditionFailed');
  t.equal(await complete([last], Key, { MpuObjectSize: 1_000_000 }), 'InvalidRequest', 'of another size');
  for (const number of ['0', '10001', 'x', '']) {
    const { code } = await send('PUT', `/pictures/in/parts?partNumber=${number}&uploadId=${UploadId}`, { body: 'x' });
    t.equal(code, 'InvalidArgument', `part ${number}`);
  }
  t.equal((await send('PUT', '/pictures/in/parts?partNumber=1&uploadId=none', { body: 'x' })).code, 'NoSuchUpload');
  const damaged = { body: 'x', headers: { 'x-amz-checksum-crc32': 'AAAAAA==' } };
  const path = `/pictures/in/parts?partNumber=1&uploadId=${UploadId}`;
  t.equal((await send('PUT', path, damaged)).code, 'BadDigest');
  t.equal(
    (await client.send(new ListPartsCommand({ Bucket, Key, UploadId }))).Parts![0]!.Size,
    5,
    'the old part stays',
  );
  t.equal(await codeOf(client.send(new DeleteObjectCommand({ Bucket, Key }))), 'done');
  t.equal(await complete([last]), 'done', 'an object that is deleted has nothing to do with it');
  t.equal(await codeOf(client.send(new GetObjectCommand({ Bucket, Key }))), 'done');
  await client.send(new DeleteObjectCommand({ Bucket, Key }));
  t.equal(await complete([last]), 'NoSuchUpload', 'its object is gone');

  const other = await begin(client, 'aborted');
  await put(client, other, 1, Buffer.from('x'), 'aborted');
  await client.send(new AbortMultipartUploadCommand({ Bucket, Key: 'aborted', UploadId: other }));
  const again = new AbortMultipartUploadCommand({ Bucket, Key: 'aborted', UploadId: other });
  t.equal(await codeOf(client.send(again)), 'NoSuchUpload');
  const idle = await begin(client, 'idle');
  await put(client, idle, 1, Buffer.from('x'), 'idle');
  runSql(ctx.store, 'UPDATE uploads SET started_at = 1');
  await objects.sweep();
  t.equal(await codeOf(put(client, idle, 2, Buffer.from('x'), 'idle')), 'NoSuchUpload', 'given up after a week');

  const open = await begin(client, 'open');
  await put(client, open, 1, Buffer.from('y'), 'open');
  await client.send(new DeleteBucketCommand({ Bucket }));
  t.equal(await codeOf(put(client, open, 2, Buffer.from('y'), 'open')), 'NoSuchBucket');
  await objects.sweep();
  runSql(ctx.store, 'UPDATE blob_garbage SET noted_at = noted_at - 3600000');
  await objects.sweep();
  t.equal(filesIn(directory), 0, 'nothing is left of all that');
});

t.test('copies of parts, conditions, checksums', async (t) => {
  const { client } = await startS3World(t);
  await upload(client);
  const UploadId = await begin(client, 'copied');
  const copy = (PartNumber: number, CopySourceRange?: string) =>
    client.send(
      new UploadPartCopyCommand({
        ...{ Bucket, Key: 'copied', UploadId, PartNumber, CopySource: `/${Bucket}/${Key}` },
        ...(CopySourceRange !== undefined && { CopySourceRange }),
      }),
    );
  const one = await copy(1, `bytes=0-${6 * MIB}`);
  const two = await copy(2, `bytes=${6 * MIB + 1}-${WHOLE.length - 1}`);
  t.equal(await codeOf(copy(3, `bytes=0-${WHOLE.length}`)), 'InvalidArgument');
  const Parts = [one, two].map(({ CopyPartResult }, i) => ({ ETag: CopyPartResult!.ETag!, PartNumber: i + 1 }));
  const complete = new CompleteMultipartUploadCommand({
    ...{ Bucket, Key: 'copied', UploadId, IfNoneMatch: '*' },
    MultipartUpload: { Parts },
  });
  await client.send(complete);
  const got = await client.send(new GetObjectCommand({ Bucket, Key: 'copied' }));
  t.ok(Buffer.from(await got.Body!.transformToByteArray()).equals(WHOLE));
  const input = { Bucket, Key: 'summed', ChecksumAlgorithm: 'SHA256' as const };
  const { UploadId: summed } = await client.send(new CreateMultipartUploadCommand(input));
  const parts = [];
  for (const [i, Body] of [PARTS[0]!, PARTS[2]!].entries()) {
    const part = { ...input, UploadId: summed!, PartNumber: i + 1, Body };
    const { ETag, ChecksumSHA256 } = await client.send(new UploadPartCommand(part));
    parts.push({ ETag, ChecksumSHA256, PartNumber: i + 1 });
  }
  const done = await client.send(
    new CompleteMultipartUploadCommand({ ...input, UploadId: summed!, MultipartUpload: { Parts: parts } }),
  );
  const digests = [PARTS[0]!, PARTS[2]!].map((part) => createHash('sha256').update(part).digest());
  const expected = `${createHash('sha256').update(Buffer.concat(digests)).digest('base64')}-2`;
  t.equal(done.ChecksumSHA256, expected);
  const head = await client.send(new HeadObjectCommand({ Bucket, Key: 'summed', ChecksumMode: 'ENABLED' }));
  t.match(head, { ChecksumSHA256: expected, ChecksumType: 'COMPOSITE' });
  await client.send(new PutObjectCommand({ Bucket, Key: 'one', Body: 'abc', ChecksumAlgorithm: 'CRC32' }));
  t.match(await client.send(new HeadObjectCommand({ Bucket, Key: 'one', ChecksumMode: 'ENABLED' })), {
    ChecksumCRC32: 'NSRBwg==',
    ChecksumType: 'FULL_OBJECT',
  });
});

t.test('parts count against the quota of the account', async (t) => {
  const { client, ctx, send, objects } = await startS3World(t);
  const account = /<ID>([0-9a-f]{32})/.exec((await send('GET', '/')).text)![1]!;
  // What describes an upload counts, too, as it does of objects: text/plain, colour and red.
  await editQuotas(ctx, account, { octets: 19 + 10 });
  const UploadId = await begin(client);
  await put(client, UploadId, 1, Buffer.from('12345678'));
  t.equal(await codeOf(put(client, UploadId, 2, Buffer.from('123'))), 'QuotaExceeded');
  t.equal(await codeOf(put(client, UploadId, 1, Buffer.from('1234567890'))), 'done', 'in place of the other');
  t.equal(await codeOf(put(client, UploadId, 1, Buffer.from('12345678901'))), 'QuotaExceeded');
  const used = (): unknown => quotasOf(ctx.store, 1).find(({ kind }) => kind === 'octets')?.used;
  t.equal(used(), 29, 'and are in use');
  const object = (): Promise<string> => codeOf(client.send(new PutObjectCommand({ Bucket, Key: 'x', Body: '123' })));
  t.equal(await object(), 'QuotaExceeded', 'with the objects');
  const input = { Bucket, Key, UploadId };
  const parts = await client.send(new ListPartsCommand(input));
  const Parts = parts.Parts!.map(({ PartNumber, ETag }) => ({ PartNumber, ETag }));
  await client.send(new CompleteMultipartUploadCommand({ ...input, MultipartUpload: { Parts } }));
  t.equal(used(), 29, 'the object counts in their place');
  await client.send(new DeleteObjectCommand({ Bucket, Key }));
  t.equal(used(), 10, 'its part stays for those who read it, and counts meanwhile');
  await objects.sweep();
  t.equal(used(), 10);
  const again = await begin(client);
  t.equal(await codeOf(put(client, again, 1, Buffer.from('1'))), 'QuotaExceeded', 'so that nobody holds more');
  await client.send(new AbortMultipartUploadCommand({ ...input, UploadId: again }));
  runSql(ctx.store, 'UPDATE blob_garbage SET noted_at = noted_at - 3600000');
  await objects.sweep();
  t.equal(used(), 0, 'until they are removed');
  const other = await begin(client);
  await put(client, other, 1, Buffer.from('12345678'));
  t.equal(used(), 27);
  await client.send(new AbortMultipartUploadCommand({ ...input, UploadId: other }));
  t.equal(used(), 0, 'nothing is left of one that was given up');
  t.equal(await object(), 'done');
  const described = { Bucket, Key: 'described', Body: '', Metadata: { of: 'x'.repeat(40) } };
  t.equal(await codeOf(client.send(new PutObjectCommand(described))), 'QuotaExceeded', 'and metadata');
  await client.send(new DeleteObjectCommand({ Bucket, Key: 'x' }));
  await put(client, await begin(client), 1, Buffer.from('12345678'));
  await client.send(new DeleteBucketCommand({ Bucket }));
  t.equal(used(), 8, 'those of a bucket that has gone go with the next sweeps');
  await objects.sweep();
  runSql(ctx.store, 'UPDATE blob_garbage SET noted_at = noted_at - 3600000');
  await objects.sweep();
  t.equal(used(), 0, 'nor is anything left of the bucket');
  await client.send(new CreateBucketCommand({ Bucket }));
  const last = await begin(client);
  const MultipartUpload = { Parts: [await put(client, last, 1, Buffer.from('12345678'))] };
  await client.send(new CompleteMultipartUploadCommand({ ...input, UploadId: last, MultipartUpload }));
  // Somebody else deletes the object while the bucket is being deleted, so that its upload goes with the bucket.
  await client.send(new DeleteObjectCommand({ Bucket, Key }));
  t.equal(used(), 8);
  await ctx.store.write(() => removeBucket(ctx.store, findBucketByName(ctx.store, 1, 'default', Bucket)!.seq));
  t.equal(used(), 0, 'nor of an object that went just before it');
});

t.test('the CRC-64/NVME of an object in parts is that of its octets', async (t) => {
  const { send, client } = await startS3World(t);
  const checksum = (octets: Buffer): string => {
    const running = new Crc64Nvme();
    running.update(octets);
    return running.digest().toString('base64');
  };
  const pieces = [PARTS[0]!, Buffer.from('the last one')];
  const whole = checksum(Buffer.concat(pieces));
  const complete = async (given?: string) => {
    const UploadId = await begin(client);
    const parts: string[] = [];
    for (const [i, body] of pieces.entries()) {
      const headers = { 'x-amz-checksum-crc64nvme': checksum(body) };
      const path = `/pictures/${Key}?partNumber=${i + 1}&uploadId=${UploadId}`;
      const { status, headers: fields } = await send('PUT', path, { headers, body });
      t.equal(status, 200);
      parts.push(`<Part><PartNumber>${i + 1}</PartNumber><ETag>${fields.etag}</ETag></Part>`);
    }
    const headers: Record<string, string> = given === undefined ? {} : { 'x-amz-checksum-crc64nvme': given };
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    return send('POST', `/pictures/${Key}?uploadId=${UploadId}`, { headers, body });
  };
  t.match(await complete(checksum(pieces[0]!)), { status: 400, code: 'BadDigest' });
  t.equal(await codeOf(client.send(new HeadObjectCommand({ Bucket, Key }))), 'NotFound', 'nothing was published');
  const done = await complete(whole);
  t.match(done.text, `<ChecksumCRC64NVME>${whole}</ChecksumCRC64NVME><ChecksumType>FULL_OBJECT</ChecksumType>`);
  const { headers } = await send('HEAD', `/pictures/${Key}`, { headers: { 'x-amz-checksum-mode': 'ENABLED' } });
  t.match(headers, { 'x-amz-checksum-crc64nvme': whole, 'x-amz-checksum-type': 'FULL_OBJECT' });
});

t.test('the CRC-32 of the octets of an object in parts, if the client wants it', async (t) => {
  const { client, send } = await startS3World(t);
  const pieces = [PARTS[0]!, Buffer.from('the last one')];
  const base64 = (value: number): string => {
    const octets = Buffer.alloc(4);
    octets.writeUInt32BE(value >>> 0);
    return octets.toString('base64');
  };
  for (const [name, check] of Object.entries({ CRC32: (octets: Buffer) => crc32(octets), CRC32C: crc32c })) {
    const whole = base64(check(Buffer.concat(pieces)));
    const algorithm = { ChecksumAlgorithm: name as 'CRC32', ChecksumType: 'FULL_OBJECT' as const };
    const complete = async (more: object): Promise<{ ETag?: string | undefined }> => {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...algorithm }));
      const Parts = [];
      for (const [i, Body] of pieces.entries()) {
        const part = { Bucket, Key, UploadId, PartNumber: i + 1, Body, ChecksumAlgorithm: algorithm.ChecksumAlgorithm };
        const { ETag } = await client.send(new UploadPartCommand(part));
        Parts.push({ ETag, PartNumber: i + 1 });
      }
      return client.send(
        new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts }, ...more }),
      );
    };
    const given = { [`Checksum${name}`]: whole };
    for (const more of [{}, given, { ChecksumType: 'FULL_OBJECT' }, { ...given, ChecksumType: 'FULL_OBJECT' }]) {
      t.match(await complete(more), { ...given, ChecksumType: 'FULL_OBJECT' }, name);
    }
    const head = await client.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }));
    t.match(head, { ...given, ChecksumType: 'FULL_OBJECT' });
    const other = { [`Checksum${name}`]: base64(1), ChecksumType: 'FULL_OBJECT' };
    t.equal(await codeOf(complete(other)), 'BadDigest');
    t.equal(
      await codeOf(complete({ ChecksumType: 'COMPOSITE' })),
      'InvalidRequest',
      'it was begun with the other type',
    );
  }
  const headers = { 'x-amz-checksum-algorithm': 'SHA256', 'x-amz-checksum-type': 'FULL_OBJECT' };
  t.equal((await send('POST', `/pictures/${Key}?uploads`, { headers })).code, 'InvalidRequest');
});

t.test('the parts of an object as its attributes, page by page', async (t) => {
  const { client, send } = await startS3World(t);
  const { UploadId } = await client.send(
    new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: 'SHA256', ChecksumType: 'COMPOSITE' }),
  );
  const Parts = [];
  for (const [i, Body] of PARTS.entries()) {
    const part = { Bucket, Key, UploadId, PartNumber: 2 * i + 1, Body, ChecksumAlgorithm: 'SHA256' as const };
    const { ETag } = await client.send(new UploadPartCommand(part));
    Parts.push({ ETag, PartNumber: 2 * i + 1 });
  }
  await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
  const wanted = { Bucket, Key, ObjectAttributes: ['ObjectParts', 'Checksum', 'ObjectSize'] as ObjectAttributes[] };
  const sums = PARTS.map((part) => createHash('sha256').update(part).digest('base64'));
  const all = await client.send(new GetObjectAttributesCommand(wanted));
  t.match(all, {
    ObjectSize: WHOLE.length,
    Checksum: { ChecksumSHA256: /-3$/, ChecksumType: 'COMPOSITE' },
    ObjectParts: { TotalPartsCount: 3, IsTruncated: false, MaxParts: 1000 },
  });
  t.strictSame(
    all.ObjectParts!.Parts!.map(({ PartNumber, Size, ChecksumSHA256 }) => [PartNumber, Size, ChecksumSHA256]),
    PARTS.map((part, i) => [2 * i + 1, part.length, sums[i]]),
  );
  const page = { ...wanted, MaxParts: 1, PartNumberMarker: '1' };
  t.match((await client.send(new GetObjectAttributesCommand(page))).ObjectParts, {
    ...{ TotalPartsCount: 3, IsTruncated: true, MaxParts: 1, PartNumberMarker: '1', NextPartNumberMarker: '3' },
    Parts: [{ PartNumber: 3, Size: PARTS[1]!.length }],
  });
  const headers = { 'x-amz-object-attributes': 'ObjectParts', 'x-amz-part-number-marker': 'x' };
  t.equal((await send('GET', `/pictures/${Key}?attributes`, { headers })).code, 'InvalidArgument');
  await client.send(new PutObjectCommand({ Bucket, Key: 'one', Body: 'whole' }));
  const one = await client.send(new GetObjectAttributesCommand({ ...wanted, Key: 'one' }));
  t.equal(one.ObjectParts, undefined, 'an object that came as one has none');
});

t.test('uploads in groups', async (t) => {
  const { client } = await startS3World(t);
  for (const key of ['a', 'b/1', 'b/2', 'b/c/3', 'd', 'd', 'e/4']) await begin(client, key);
  const list = async (more: object) => {
    const page = await client.send(new ListMultipartUploadsCommand({ Bucket, ...more }));
    return [
      page.Uploads?.map((upload) => upload.Key),
      page.CommonPrefixes?.map((group) => group.Prefix),
      page,
    ] as const;
  };
  const [keys, groups] = await list({ Delimiter: '/' });
  t.strictSame(
    [keys, groups],
    [
      ['a', 'd', 'd'],
      ['b/', 'e/'],
    ],
  );
  const [inner, innerGroups] = await list({ Delimiter: '/', Prefix: 'b/' });
  t.strictSame([inner, innerGroups], [['b/1', 'b/2'], ['b/c/']]);
  const shown: unknown[] = [];
  let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
  for (let pages = 0; pages < 9; pages++) {
    const [some, someGroups, page] = await list({ Delimiter: '/', MaxUploads: 1, ...marker });
    shown.push(...(some ?? []), ...(someGroups ?? []));
    if (!page.IsTruncated) break;
    marker = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker || undefined };
  }
  t.strictSame(shown, ['a', 'b/', 'd', 'd', 'e/'], 'one at a time');
});
