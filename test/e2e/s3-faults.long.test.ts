/**
 * The S3 API when the program is killed in the middle of uploads, and when the disk is full: what was acknowledged is there and
 * whole, and nothing else is.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { freePort } from '../support/free-ports.js';
import { type Program, startProgram } from '../support/program.js';
import { mountSmall, skipWithoutMounts, unmount } from '../support/small-disk.js';

const KEY = 'faults-key-0123456789-0123456789-0123456789';
const Bucket = 'kept';
const ROUNDS = Number(process.env['ZONEPLANE_S3_KILLS'] ?? 3);
/** Milliseconds after which the program is killed, counted from the first upload. */
const KILLED_AFTER = [150, 400, 900];
const bodyOf = (name: string, octets: number): Buffer => Buffer.alloc(octets, `${name} `);

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

interface Running {
  readonly program: Program;
  readonly client: S3Client;
  readonly credentials: Credentials;
}

async function start(directory: string, credentials?: Credentials): Promise<Running> {
  const port = await freePort();
  const environment = { ZONEPLANE_S3: 'on', ZONEPLANE_S3_PORT: String(port) };
  const program = await startProgram({ directory, key: KEY, detached: true, environment });
  const own = credentials ?? (await makeToken(program.api));
  const client = new S3Client({
    ...{ endpoint: `http://127.0.0.1:${port}`, region: 'auto', forcePathStyle: true, maxAttempts: 1 },
    credentials: own,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });
  return { program, client, credentials: own };
}

async function makeToken(api: string): Promise<Credentials> {
  const call = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const answer = await fetch(`${api}/client/v4${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return ((await answer.json()) as { result: { id: string; value: string } }).result;
  };
  const groups = [{ id: 'bf7481a1826f439697cb59a20b22293e' }];
  const policy = { effect: 'allow', permission_groups: groups, resources: { 'com.cloudflare.api.account.*': '*' } };
  const { id, value } = await call('/user/tokens', { name: 's3', policies: [policy] });
  const accounts = await fetch(`${api}/client/v4/accounts`, { headers: { authorization: `Bearer ${KEY}` } });
  const [account] = ((await accounts.json()) as { result: { id: string }[] }).result;
  await call(`/accounts/${account!.id}/r2/buckets`, { name: Bucket });
  return { accessKeyId: id, secretAccessKey: createHash('sha256').update(value).digest('hex') };
}

/** Ends it with all its processes at one stroke. */
function kill({ program }: Pick<Running, 'program'>): void {
  process.kill(-program.child.pid!, 'SIGKILL');
}

async function uploadInParts(client: S3Client, Key: string, body: Buffer): Promise<void> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
  const Parts = [];
  for (const [i, at] of [0, 5 << 20].entries()) {
    const Body = body.subarray(at, at + (5 << 20));
    const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: i + 1, Body }));
    Parts.push({ ETag, PartNumber: i + 1 });
  }
  await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
}

t.test('killed in the middle of uploads', async (t) => {
  const directory = t.testdir();
  let running = await start(directory);
  t.teardown(() => kill(running));
  const { credentials } = running;
  const acknowledged = new Set<string>();
  /** Octets of each, whose bodies are made of their names. */
  const begun = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const { client } = running;
    let isOver = false;
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; !isOver; i++) {
        const name = `round${round}/writer${writer}/${i}`;
        const body = bodyOf(name, writer === 0 ? (5 << 20) + 7 : [0, 300, 70_000, 2 << 20][writer]!);
        begun.set(name, body.length);
        try {
          if (writer === 0) await uploadInParts(client, name, body);
          else await client.send(new PutObjectCommand({ Bucket, Key: name, Body: body }));
        } catch {
          return;
        }
        acknowledged.add(name);
      }
    });
    await sleep(KILLED_AFTER[round % KILLED_AFTER.length]! + Math.floor(round / KILLED_AFTER.length));
    kill(running);
    isOver = true;
    await Promise.all(writers);
    running = await start(directory, credentials);
  }
  t.ok(acknowledged.size > ROUNDS, `${acknowledged.size} of ${begun.size} uploads were acknowledged`);
  const found: string[] = [];
  for (let ContinuationToken: string | undefined, more = true; more; ) {
    const page = await running.client.send(new ListObjectsV2Command({ Bucket, ContinuationToken }));
    found.push(...(page.Contents ?? []).map(({ Key }) => Key!));
    more = page.IsTruncated!;
    ContinuationToken = page.NextContinuationToken;
  }
  const there = new Set(found);
  const lost = [...acknowledged].filter((name) => !there.has(name));
  t.strictSame(lost, [], 'nothing that was acknowledged is lost');
  const torn: string[] = [];
  for (const Key of found) {
    const { Body } = await running.client.send(new GetObjectCommand({ Bucket, Key }));
    if (!Buffer.from(await Body!.transformToByteArray()).equals(bodyOf(Key, begun.get(Key)!))) torn.push(Key);
  }
  t.strictSame(torn, [], 'and nothing that is there is torn');
});

t.test('a full disk', { skip: skipWithoutMounts }, async (t: Test) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-s3-disk-'));
  const small = join(directory, 'data');
  t.ok(mountSmall(small, 48));
  t.teardown(() => {
    unmount(small);
    rmSync(directory, { recursive: true, force: true });
  });
  const running = await start(directory);
  t.teardown(() => kill(running));
  const { client } = running;
  await client.send(new PutObjectCommand({ Bucket, Key: 'before', Body: 'before' }));
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'parts' }));
  const codeOf = (attempt: Promise<unknown>): Promise<string> =>
    attempt.then(
      () => 'done',
      (error: { name: string; $metadata: { httpStatusCode: number } }) =>
        `${error.$metadata.httpStatusCode} ${error.name}`,
    );
  const large = bodyOf('large', 40 << 20);
  t.equal(
    await codeOf(client.send(new PutObjectCommand({ Bucket, Key: 'large', Body: large }))),
    '507 InsufficientStorage',
  );
  const part = new UploadPartCommand({ Bucket, Key: 'parts', UploadId, PartNumber: 1, Body: large });
  t.equal(await codeOf(client.send(part)), '507 InsufficientStorage');
  const { Contents } = await client.send(new ListObjectsV2Command({ Bucket }));
  t.strictSame(
    Contents!.map(({ Key }) => Key),
    ['before'],
    'nothing is half-done',
  );
  const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: 'before' }));
  t.equal(await Body!.transformToString(), 'before');
});
