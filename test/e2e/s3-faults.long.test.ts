/**
 * The S3 API when the program is killed in the middle of uploads, and when the disk is full: what was acknowledged is there and
 * whole, and nothing else is.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { BLOB_DIRECTORY } from '../../src/bucket/blobs.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { openStore } from '../../src/store/driver.js';
import { freePort } from '../support/free-ports.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { seededRandom } from '../support/seeded-random.js';
import { mountSmall, skipWithoutMounts, unmount } from '../support/small-disk.js';
import { until } from '../support/until.js';
import { runSql } from '../support/write-now.js';

const KEY = 'faults-key-0123456789-0123456789-0123456789';
const Bucket = 'kept';
const ROUNDS = Number(process.env['ZONEPLANE_S3_KILLS'] ?? 3);
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
    requestHandler: { connectionTimeout: 20_000, requestTimeout: 60_000, throwOnRequestTimeout: true },
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

/** Ends it with all its processes at one stroke, unless it has ended. */
function kill({ program: { child } }: Pick<Running, 'program'>): void {
  if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL');
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

/** What writers have begun in a round, and what of it was acknowledged. */
class Journal {
  /** What may be there under each key: bodies, undefined for nothing. Acknowledged writes leave one. */
  readonly possible = new Map<string, (Buffer | undefined)[]>();
  writes = 0;

  async write(key: string, body: Buffer | undefined, work: () => Promise<unknown>): Promise<void> {
    this.possible.set(key, [...(this.possible.get(key) ?? [undefined]), body]);
    await work();
    this.possible.set(key, [body]);
    this.writes++;
  }
}

const SOURCE = bodyOf('source', 300_000);
/** Octets of objects in rows and in files, in turn. */
const SIZES = [0, 300, 70_000, 2 << 20];

type Write = (client: S3Client, journal: Journal, key: string, i: number) => Promise<void>;

const putOf = (client: S3Client, Key: string, Body: Buffer): Promise<unknown> =>
  client.send(new PutObjectCommand({ Bucket, Key, Body }));

const WRITERS: readonly Write[] = [
  (client, journal, key, i) => {
    const body = bodyOf(key, SIZES[i % SIZES.length]!);
    return journal.write(`${key}/${i}`, body, () => putOf(client, `${key}/${i}`, body));
  },
  (client, journal, key, i) => {
    const body = bodyOf(`${key} ${i}`, SIZES[i % SIZES.length]!);
    return journal.write(key, body, () => putOf(client, key, body));
  },
  (client, journal, key, i) => {
    const body = bodyOf(`${key} ${i}`, (5 << 20) + 7);
    return journal.write(key, body, () => uploadInParts(client, key, body));
  },
  async (client, journal, key) => {
    const input = { Bucket, Key: key, CopySource: `${Bucket}/source` };
    await journal.write(key, SOURCE, () => client.send(new CopyObjectCommand(input)));
    await journal.write(key, undefined, () => client.send(new DeleteObjectCommand({ Bucket, Key: key })));
  },
];

/** Keys whose bodies are none of those that may be there. */
async function strangersOf({ client }: Running, { possible }: Journal): Promise<string[]> {
  const wrong: string[] = [];
  for (const [Key, bodies] of possible) {
    const found = await client.send(new GetObjectCommand({ Bucket, Key })).catch((error: { name: string }) => {
      if (error.name !== 'NoSuchKey') throw error;
    });
    const octets = found && Buffer.from(await found.Body!.transformToByteArray());
    if (!bodies.some((body) => (octets && body ? octets.equals(body) : octets === body))) wrong.push(Key);
  }
  return wrong;
}

t.test('killed in the middle of writes', async (t) => {
  const directory = t.testdir();
  const random = seededRandom(20_261_126);
  let running = await start(directory);
  t.teardown(() => kill(running));
  const { credentials } = running;
  await putOf(running.client, 'source', SOURCE);
  let writes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { client } = running;
    const journal = new Journal();
    let isOver = false;
    const writers = WRITERS.map(async (write, writer) => {
      // After the kill, every write fails.
      for (let i = 0; !isOver; i++) await write(client, journal, `round${round}/writer${writer}`, i);
    });
    const [a, b] = random.bytes(2);
    await sleep(50 + (((a! << 8) | b!) % 900));
    // A busy machine has acknowledged little by then.
    await until(() => journal.writes > 1);
    kill(running);
    isOver = true;
    await Promise.allSettled(writers);
    running = await start(directory, credentials);
    writes += journal.writes;
    t.strictSame(await strangersOf(running, journal), [], `round ${round}: nothing is lost, half, or back again`);
    const Objects = [...journal.possible.keys()].map((Key) => ({ Key }));
    await running.client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
  }
  t.ok(writes > ROUNDS, `${writes} writes were acknowledged`);
  const kept = bodyOf('kept', 100_000);
  await putOf(running.client, 'kept', kept);
  await stopProgram(running.program, 'SIGKILL');
  t.same(await bodiesAfterSweep(join(directory, 'data')), [kept.length, SOURCE.length], 'no body is left of all that');
});

/** Octets of the files that are left when everything is old that nothing uses. */
async function bodiesAfterSweep(directory: string): Promise<number[]> {
  const store = openStore(directory);
  const clock = new SystemClock();
  const objects = createLocalStore({ store, clock, random: systemRandom, log: silentLogger() });
  const root = join(directory, BLOB_DIRECTORY);
  const files = (): string[] =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  for (const file of files()) utimesSync(file, 1, 1);
  runSql(store, 'UPDATE uploads SET started_at = 1 WHERE completed_at IS NULL');
  await objects.sweep();
  runSql(store, 'UPDATE blob_garbage SET noted_at = 1');
  await objects.sweep();
  store.close();
  return files()
    .map((file) => statSync(file).size)
    .sort((a, b) => a - b);
}

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
