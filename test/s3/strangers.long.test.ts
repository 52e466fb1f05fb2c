/** What strangers, neighbours, slow clients and dying connections do with the S3 API. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { BLOB_DIRECTORY } from '../../src/bucket/blobs.js';
import { authenticateAccessKey, findAccessKey } from '../../src/control/access/authentication.js';
import { replaceToken } from '../../src/control/access/tokens.js';
import { PERMISSION_GROUPS } from '../../src/control/guard/permissions.js';
import { sign, signingKey } from '../../src/s3/signature/sigv4.js';
import { startS3World } from '../support/s3-door.js';
import { until } from '../support/until.js';

const Bucket = 'pictures';
const MIB = 1 << 20;
const world = await startS3World(t, { limit: 32 * MIB });
const { port, send, credentials, client } = world;

function draftsIn(directory: string): number {
  const drafts = join(directory, BLOB_DIRECTORY, 'tmp');
  return existsSync(drafts) ? readdirSync(drafts).length : 0;
}

/** What comes back for these octets, when nothing more comes from either side. */
function exchange(octets: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect(port, '127.0.0.1', () => socket.end(octets));
    socket.on('data', (piece) => (heard += piece.toString('latin1')));
    socket.on('error', () => {});
    socket.on('close', () => resolve(heard));
  });
}

/** A PUT in signed chunks with a signed field behind them, as it goes over the line. */
async function signedStream(): Promise<Buffer> {
  const path = '/pictures/a%20b?x-id=PutObject';
  const headers = {
    ...{ 'x-amz-decoded-content-length': '11', 'x-amz-trailer': 'x-amz-checksum-crc32' },
    ...{ 'content-type': 'text/plain', 'x-amz-meta-colour': 'red' },
  };
  let head: Record<string, string> = {};
  const payload = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER';
  await send('PUT', path, { headers, payload, change: (sent) => void (head = sent.headers) });
  const timestamp = head['x-amz-date']!;
  const scope = { date: timestamp.slice(0, 8), region: 'auto' };
  const key = signingKey(credentials.secretAccessKey, scope);
  let previous = /Signature=(\w+)/.exec(head['authorization']!)![1]!;
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  const next = (kind: string, ...digests: readonly string[]): string => {
    const lines = [`AWS4-HMAC-SHA256-${kind}`, timestamp, `${scope.date}/auto/s3/aws4_request`, previous, ...digests];
    previous = sign(key, lines.join('\n'));
    return previous;
  };
  const chunks = ['some o', 'ctets', ''].map((text) => {
    const signature = next('PAYLOAD', digest(''), digest(text));
    return `${text.length.toString(16)};chunk-signature=${signature}\r\n${text}${text && '\r\n'}`;
  });
  const field = 'x-amz-checksum-crc32:2R85NQ==';
  const trailer = `${field}\r\nx-amz-trailer-signature:${next('TRAILER', digest(`${field}\n`))}\r\n\r\n`;
  const body = chunks.join('') + trailer;
  const fields = { ...head, 'content-length': String(body.length) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([`PUT ${path} HTTP/1.1`, ...lines, '', body].join('\r\n'));
}

t.test('one changed octet, at every place of a request in signed chunks', async (t) => {
  const request = await signedStream();
  const shown = async (): Promise<string> => {
    const { text, headers } = await send('GET', '/pictures/a%20b');
    return `${text} ${headers['content-type']} ${headers['x-amz-meta-colour']}`;
  };
  t.match(await exchange(request), /^HTTP\/1.1 200 /);
  t.equal(await shown(), 'some octets text/plain red');
  const accepted: string[] = [];
  const places = request.keys();
  const tryPlaces = async (): Promise<void> => {
    for (const place of places) {
      const changed = Buffer.from(request);
      changed[place]! ^= 1;
      if (!(await exchange(changed)).startsWith('HTTP/1.1 200 ')) continue;
      accepted.push(changed.toString('latin1', place - 3, place + 4));
      if ((await shown()) !== 'some octets text/plain red') t.fail(`octet ${place} made another object`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, tryPlaces));
  // Whatever is not signed may change, as long as nothing follows from it.
  t.strictSame(accepted, ['/1.0\r\nh'], `of ${request.length} places`);
  const { text } = await send('GET', '/pictures');
  t.strictSame(
    [...text.matchAll(/<Key>([^<]*)/g)].map(([, key]) => key),
    ['a b'],
    'nothing else is there',
  );
});

/** A GET that is signed now, as text. */
async function signedGet(key: string, as = credentials): Promise<string> {
  let head: Record<string, string> = {};
  await send('GET', `/pictures/${key}`, { credentials: as, change: (sent) => void (head = { ...sent.headers }) });
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
  return [`GET /pictures/${key} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

t.test('who does not read, and who does not send, is cut', async (t) => {
  const body = Buffer.alloc(24 * MIB, 'large');
  await client.send(new PutObjectCommand({ Bucket, Key: 'large', Body: body }));
  const accepted: Socket[] = [];
  world.server.on('connection', (socket) => accepted.push(socket));
  t.equal(world.server.timeout, 30_000);
  const get = await signedGet('large');
  await until(() => world.objects.openCount() === 0);
  const deaf = connect(port, '127.0.0.1', () => deaf.write(get));
  deaf.pause();
  const signed = await signedStream();
  const silent = connect(port, '127.0.0.1', () => silent.write(signed.subarray(0, -200)));
  const closed: string[] = [];
  for (const [name, socket] of Object.entries({ deaf, silent })) {
    socket.on('error', () => {});
    socket.once('close', () => closed.push(name));
  }
  silent.resume();
  await until(() => world.objects.openCount() === 1 && draftsIn(world.directory) === 0);
  t.equal((await send('GET', '/pictures/a%20b')).text, 'some octets', 'others are answered meanwhile');
  // For these two, the time is over sooner.
  for (const { localPort } of [deaf, silent]) {
    accepted.find(({ remotePort }) => remotePort === localPort)!.setTimeout(50);
  }
  await until(() => closed.includes('silent') && world.objects.openCount() === 0, 'no body stays open');
  // Who does not read does not notice the end.
  deaf.resume();
  await until(() => closed.includes('deaf'));
  t.ok(deaf.bytesRead < body.length, 'not to its end');
  t.equal(draftsIn(world.directory), 0, 'no draft stays');
});

t.test('a token that may do less while a stream runs', async (t) => {
  const home = /<ID>([0-9a-f]{32})/.exec((await send('GET', '/')).text)![1]!;
  const resource = `com.cloudflare.edge.r2.bucket.${home}_default_pictures`;
  const idOf = (name: string): string => PERMISSION_GROUPS.find((group) => group.name === name)!.id;
  const policyOf = (level: string, to: string) => ({
    ...{ effect: 'allow' as const, resources: { [to]: '*' } },
    permission_groups: [{ id: idOf(`Workers R2 Storage Bucket Item ${level}`) }],
  });
  const administrator = await authenticateAccessKey(world.ctx, findAccessKey(world.ctx, credentials.accessKeyId)!, '');
  if (!administrator.ok) throw new Error('the administrator is not accepted');
  const ctx = { ...world.ctx, actor: administrator.actor };
  const narrow = (id: string, level: string, to = resource): Promise<unknown> =>
    replaceToken(ctx, { user: true }, id, { name: 'narrow', policies: [policyOf(level, to)] });
  const writer = await world.makeKey({ policies: [policyOf('Write', resource)] });
  let isEnded = false;
  async function* endless(): AsyncGenerator<Buffer> {
    for (let i = 0; !isEnded; i++) {
      yield Buffer.alloc(10_000, i);
      if (i === 3) await narrow(writer.accessKeyId, 'Read');
      await sleep(20);
    }
  }
  const put = new PutObjectCommand({ Bucket, Key: 'never', Body: Readable.from(endless()), ContentLength: 15 * MIB });
  const refused = await world
    .clientFor(writer)
    .send(put)
    .catch((error: { name: string }) => error.name);
  isEnded = true;
  t.match(refused, /^(AccessDenied|EPIPE|ECONNRESET|TimeoutError)$/, 'an upload ends before its body does');
  t.equal((await send('GET', '/pictures/never')).code, 'NoSuchKey');
  const reader = await world.makeKey({ policies: [policyOf('Read', resource)] });
  const get = await signedGet('large', reader);
  const socket = connect(port, '127.0.0.1', () => socket.write(get));
  let octets = 0;
  socket.on('data', (piece: Buffer) => void (octets += piece.length));
  socket.on('error', () => {});
  await until(() => octets > 0);
  socket.pause();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await narrow(reader.accessKeyId, 'Read', `com.cloudflare.edge.r2.bucket.${home}_default_other`);
  await until(() => world.objects.openCount() === 0, 'a download');
  socket.resume();
  await closed;
  t.ok(octets < 24 * MIB, 'ends, too');
  t.equal((await send('GET', '/pictures/large', { credentials: reader })).code, 'AccessDenied');
});

t.test('resuming, and a bucket that is deleted under a download', async (t) => {
  const Parts = [Buffer.alloc(5 * MIB, 'one '), Buffer.alloc(5 * MIB + 1, 'two '), Buffer.from('end')];
  const upload = async (Key: string, bodies: readonly Buffer[]): Promise<string> => {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    const done = [];
    for (const [i, Body] of bodies.entries()) {
      const part = { Bucket, Key, UploadId, PartNumber: i + 1 };
      done.push({ PartNumber: i + 1, ETag: (await client.send(new UploadPartCommand({ ...part, Body }))).ETag });
    }
    const MultipartUpload = { Parts: done };
    return (await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }))).ETag!;
  };
  const etag = await upload('parts', Parts);
  const whole = Buffer.concat(Parts);
  const from = (at: number, tag: string) =>
    send('GET', '/pictures/parts', { headers: { range: `bytes=${at}-`, 'if-range': tag } });
  for (const at of [1, 5 * MIB - 1, 5 * MIB, 10 * MIB, whole.length - 1]) {
    const answer = await from(at, etag);
    t.same([answer.status, answer.octets.equals(whole.subarray(at))], [206, true], `from octet ${at}`);
  }
  const next = await upload('parts', [Parts[1]!, Parts[2]!]);
  const other = await from(5 * MIB, etag);
  t.same([other.status, other.headers.etag], [200, next], 'another object is sent as a whole');
  t.ok(other.octets.equals(Buffer.concat([Parts[1]!, Parts[2]!])));
  const get = [await signedGet('large'), await signedGet('parts')];
  const heard = get.map((request) => {
    const pieces: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    const whole = new Promise<Buffer>((resolve) => socket.once('end', () => resolve(Buffer.concat(pieces))));
    socket.on('data', (piece: Buffer) => void pieces.push(piece));
    return { socket, pieces, whole };
  });
  for (const { socket, pieces } of heard) {
    await until(() => pieces.length > 0);
    socket.pause();
  }
  const { text } = await send('GET', '/pictures');
  for (const [, key] of text.matchAll(/<Key>([^<]*)/g)) await send('DELETE', `/pictures/${encodeURIComponent(key!)}`);
  t.equal((await send('DELETE', '/pictures')).status, 204);
  await world.objects.sweep();
  const bodies = [Buffer.alloc(24 * MIB, 'large'), Buffer.concat([Parts[1]!, Parts[2]!])];
  for (const [i, { socket, pieces, whole }] of heard.entries()) {
    socket.resume();
    const bodyOf = (answer: Buffer) => answer.subarray(answer.indexOf('\r\n\r\n') + 4);
    await until(() => bodyOf(Buffer.concat(pieces)).length >= bodies[i]!.length);
    socket.end();
    t.ok(bodyOf(await whole).equals(bodies[i]!), 'is read to its end');
  }
});
