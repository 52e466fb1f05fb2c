/**
 * The bucket application over real sockets: the brief's table octet by octet, keys, conditions, ranges, refusals, limits.
 * Everything runs twice: with large bodies as files, and on S3.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { parseCidrSet } from '../../src/base/ip.js';
import { createLogger, silentLogger } from '../../src/base/log.js';
import { countOpenFiles } from '../../src/base/process/open-files.js';
import { systemRandom } from '../../src/base/random.js';
import { buildBucketApplication } from '../../src/bucket/application.js';
import { createBucketMetrics } from '../../src/bucket/application-metrics.js';
import { type Authorize, authorizeByMethod, secretMatcher } from '../../src/bucket/authorization.js';
import { createBlobs } from '../../src/bucket/blobs.js';
import { createOpenBodies } from '../../src/bucket/bodies/open-bodies.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { allowedKeys } from '../../src/bucket/request-key.js';
import { createS3Blobs } from '../../src/bucket/s3/s3-blobs.js';
import { insertAccount } from '../../src/store/access/accounts.js';
import type { Store } from '../../src/store/driver.js';
import { insertBucket } from '../../src/store/objects/buckets.js';
import { startS3 } from '../support/s3.js';
import { mountSmall, skipWithoutMounts, unmount } from '../support/small-disk.js';
import { TestClock } from '../support/test-clock.js';
import { openTwoCopies } from '../support/two-copies.js';
import { until } from '../support/until.js';

const SECRET = 'correct horse battery staple';
const AUTH = { 'x-custom-auth-key': SECRET };
const LIMIT = 4 << 20;
const clock = new SystemClock();

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

interface Room {
  readonly port: number;
  readonly directory: string;
  readonly logged: () => string;
  readonly openObjects: () => number;
  readonly samples: () => Record<string, number>;
  send(
    method: string,
    path: string,
    headers?: Record<string, string | string[]>,
    body?: string | Buffer,
  ): Promise<Answer>;
}

interface Options {
  readonly allow?: readonly string[];
  readonly secret?: string;
  readonly authorize?: Authorize;
  readonly bound?: boolean;
}

/** The bucket with the number 1. */
async function makeBucket(store: Store): Promise<void> {
  await store.write(() => {
    const account = insertAccount(store, { id: new Uint8Array(16), name: 'a', type: 'standard', created_at: 1 });
    insertBucket(store, {
      account,
      jurisdiction: 'default',
      name: 'abc',
      location: null,
      storage_class: 'Standard',
      created_at: 1,
    });
  });
}

async function serve(t: Test, { allow = [], secret = SECRET, authorize, bound = true }: Options = {}): Promise<Room> {
  const { store, directory, close } = openTwoCopies('bucket', clock, systemRandom);
  await makeBucket(store);
  const lines: string[] = [];
  const log = createLogger({
    level: 'info',
    pretty: false,
    destination: { write: (line: string) => void lines.push(line) } as never,
  });
  const metrics = createBucketMetrics();
  const blobs =
    placeOf(t) === 's3' ? createS3Blobs({ address: s3.address, random: systemRandom, log: silentLogger() }) : undefined;
  const objects = createLocalStore({ store, clock, random: systemRandom, log, blobs });
  const app = buildBucketApplication({
    objects,
    boundBucket: () => (bound ? 1 : undefined),
    authorize: authorize ?? authorizeByMethod(secretMatcher(secret), allowedKeys(allow)),
    limit: LIMIT,
    trustedProxies: parseCidrSet(['127.0.0.1']),
    clock,
    random: systemRandom,
    log,
    metrics,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  t.teardown(async () => {
    await app.close();
    await blobs?.close();
    await close();
  });
  return {
    port,
    directory,
    logged: () => lines.join(''),
    openObjects: objects.openCount,
    samples: () =>
      Object.fromEntries(
        metrics.samples().map(({ name, labels, value }) => [[name, ...Object.values(labels)].join(' '), value]),
      ),
    send: (method, path, headers = {}, body) => send(port, method, path, headers, body),
  };
}

function send(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string | string[]>,
  body?: string | Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          text: Buffer.concat(pieces).toString('latin1'),
          headers: response.headers,
        }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** What a server says to octets on a socket until it closes, or until `enough` has been seen. */
function sendRaw(port: number, octets: string | Buffer, enough?: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(octets));
    let heard = '';
    socket.setTimeout(10_000, () => socket.destroy(new Error(`silence after ${heard}`)));
    socket.on('data', (piece) => {
      heard += piece.toString('latin1');
      if (enough?.test(heard)) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
  });
}

type Place = 'files' | 's3';
const placeOf = (t: Test): Place => (t.context as { readonly place?: Place }).place ?? 'files';
const s3 = await startS3(t);

/** Runs a test for each place of large bodies. */
function test(name: string, work: (t: Test) => Promise<unknown>): void {
  for (const place of ['files', 's3'] as const) {
    t.test(`${name} (${place})`, async (t) => {
      t.context = { place };
      await work(t);
    });
  }
}

const short = ({ status, text, headers }: Answer) => [status, text, headers['content-type']];
const plain = (status: number, text: string) => [status, text, 'text/plain;charset=UTF-8'];
const FORBIDDEN = plain(403, 'Forbidden');

test('the table of the brief', async (t) => {
  const { send, logged, samples } = await serve(t, { allow: ['dir/a.txt', 'absent'] });
  t.same(short(await send('PUT', '/dir/a.txt', AUTH, 'hello\n')), plain(200, 'Put dir/a.txt successfully!'));
  const got = await send('GET', '/dir/a.txt');
  t.same(short(got), [200, 'hello\n', 'application/octet-stream']);
  t.match(got.headers, {
    etag: '"b1946ac92492d2347c6235b4d2611184"',
    'content-length': '6',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    'last-modified': /GMT$/,
  });
  for (const headers of [{}, { 'x-custom-auth-key': 'wrong' }, { 'x-custom-auth-key': '' }]) {
    t.same(short(await send('PUT', '/dir/a.txt', headers, 'x')), FORBIDDEN);
    t.same(short(await send('DELETE', '/dir/a.txt', headers)), FORBIDDEN);
  }
  t.same(
    short(await send('PUT', '/b', { 'x-custom-auth-key': ['wrong', SECRET] }, 'x')),
    FORBIDDEN,
    'the first counts',
  );
  t.equal((await send('PUT', '/b', { 'x-custom-auth-key': [SECRET, 'wrong'] }, 'x')).status, 200);
  t.same(short(await send('GET', '/b')), FORBIDDEN, 'it exists, and is not on the list');
  t.same(short(await send('GET', '/b', AUTH)), FORBIDDEN, 'the secret is for changes');
  t.same(short(await send('GET', '/absent')), plain(404, 'Object Not Found'));
  for (const method of ['POST', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'SEARCH']) {
    t.same(short(await send(method, '/dir/a.txt', AUTH)), FORBIDDEN, method);
  }
  t.equal((await send('HEAD', '/dir/a.txt', AUTH)).status, 403);
  t.same(short(await send('DELETE', '/dir/a.txt', AUTH)), plain(200, 'Deleted!'));
  t.same(short(await send('DELETE', '/dir/a.txt', AUTH)), plain(200, 'Deleted!'), 'what is gone is gone');
  t.same(short(await send('GET', '/dir/a.txt')), plain(404, 'Object Not Found'));
  await until(async () => samples()['bucket_requests_total other 403'] === 8);
  t.match(samples(), { 'bucket_requests_total PUT 200': 2 });
  t.match(logged(), /"path":"\/dir\/a\.txt"/);
  t.notMatch(logged(), SECRET, 'the log holds no secret');
  t.notMatch(logged(), 'wrong');
});

test('without a secret no one writes', async (t) => {
  const { send } = await serve(t, { secret: '', allow: ['a'] });
  for (const headers of [{}, { 'x-custom-auth-key': '' }, AUTH]) {
    t.same(short(await send('PUT', '/a', headers, 'x')), FORBIDDEN);
    t.same(short(await send('DELETE', '/a', headers)), FORBIDDEN);
  }
  t.equal((await send('GET', '/a')).status, 404);
});

test('other methods, if the operator allows them', async (t) => {
  const { send } = await serve(t, { authorize: () => true });
  for (const method of ['POST', 'PATCH', 'OPTIONS', 'PROPFIND']) {
    const answer = await send(method, '/a');
    t.same(short(answer), plain(405, 'Method Not Allowed'), method);
    t.equal(answer.headers.allow, 'PUT, GET, DELETE', method);
  }
  t.equal((await send('HEAD', '/a')).status, 405);
});

test('no bucket is bound', async (t) => {
  const { send } = await serve(t, { bound: false, allow: ['a'] });
  t.same(short(await send('PUT', '/a', AUTH, 'x')), plain(503, 'No Bucket Bound'));
  t.same(short(await send('GET', '/a')), plain(503, 'No Bucket Bound'));
  t.same(short(await send('PUT', '/a', {}, 'x')), FORBIDDEN, 'authorization comes first');
});

test('keys', async (t) => {
  const { send, port, directory } = await serve(t, {
    allow: ['a/b', 'my pic.jpg', '/x', 'a%2Fb', 'q?', 'k', 'etc/passwd', 'ü'],
  });
  const put = async (path: string) => (await send('PUT', path, AUTH, path)).text;
  for (const [path, key] of [
    ['/a/./b', 'a/b'],
    ['/a/c/../b', 'a/b'],
    ['/a/c/%2e%2E/b', 'a/b'],
    ['/../../etc/passwd', 'etc/passwd'],
    ['/%2e%2e/%2e%2e/etc/passwd', 'etc/passwd'],
    ['/..%2f..%2fetc/passwd', '..%2f..%2fetc/passwd'],
    ['/\\..\\..\\etc\\passwd', 'etc/passwd'],
    ['//x', '/x'],
    ['/a%2Fb', 'a%2Fb'],
    ['/my%20pic.jpg', 'my%20pic.jpg'],
    ['/k?version=1', 'k'],
    ['/q%3F', 'q%3F'],
    ['/%ZZ%', '%ZZ%'],
    ['/%00', '%00'],
    ['/a/', 'a/'],
    ['/', ''],
    [`/${'k'.repeat(1024)}`, 'k'.repeat(1024)],
  ] as const) {
    t.equal(await put(path), `Put ${key} successfully!`, path.slice(0, 60));
  }
  t.equal((await send('GET', '/a/b')).text, '/a/c/%2e%2E/b', 'the last one written');
  for (const path of ['/my%20pic.jpg', '//x', '/a%2Fb', '/q%3F', '/k', '/k?other', '/etc/passwd']) {
    t.equal((await send('GET', path)).status, 200, path);
  }
  t.equal((await send('GET', '/a%2fb')).status, 403, 'escapes are compared as they stand');
  t.match(await send('PUT', `/${'k'.repeat(1025)}`, AUTH, ''), { status: 400, text: /longer than 1024/ });
  t.same(short(await send('PUT', `/${'k'.repeat(1025)}`, {}, '')), FORBIDDEN);
  const absolute = `PUT http://else.example/abs HTTP/1.1\r\nHost: h\r\nX-Custom-Auth-Key: ${SECRET}\r\nContent-Length: 1\r\n\r\nx`;
  t.match(await sendRaw(port, absolute, /!$/), /Put abs successfully!/);
  t.strictSame(
    readdirSync(directory).filter((name) => name === 'etc'),
    [],
  );
  t.notOk(existsSync(join(directory, '..', 'etc')));
  t.match(await sendRaw(port, 'GET / HTTP/9.9\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request\r\n/);
});

test('metadata', async (t) => {
  const { send } = await serve(t, { allow: ['a', 'b'] });
  const metadata = {
    'content-type': 'text/html; charset=utf-8',
    'content-language': 'de',
    'content-disposition': 'attachment; filename="x"',
    'content-encoding': 'gzip',
    'cache-control': 'max-age=60',
    expires: 'Thu, 01 Jan 2032 00:00:00 GMT',
  };
  const put = await send('PUT', '/a', { ...AUTH, ...metadata }, 'x');
  const got = await send('GET', '/a');
  t.match(got.headers, metadata);
  t.equal(put.headers.etag, got.headers.etag);
  const first = (await send('GET', '/a')).headers['last-modified'];
  t.match(await send('GET', '/a', { 'if-none-match': `"x", W/${got.headers.etag}` }), {
    status: 304,
    text: '',
    headers: { etag: got.headers.etag, 'cache-control': 'max-age=60', 'last-modified': first },
  });
  // Node's server reads a request with the field Keep-Alive.
  for (const more of [{}, { 'keep-alive': 'x' }]) {
    t.equal((await send('PUT', '/b', { ...AUTH, ...more, 'content-type': 'garbage' }, 'x')).status, 200);
    const { headers } = await send('GET', '/b');
    t.equal(headers['content-type'], 'application/octet-stream', 'what is no media type counts as absent');
  }
  await send('PUT', '/a', { ...AUTH, 'content-type': 'application/x-www-form-urlencoded' }, 'y');
  const replaced = await send('GET', '/a');
  t.equal(replaced.headers['content-type'], 'application/octet-stream', 'what curl says by itself');
  t.equal(replaced.headers['cache-control'], undefined, 'nothing of the object before is left');
});

test('conditions on writing', async (t) => {
  const { send } = await serve(t, { allow: ['a', 'counter'] });
  t.equal((await send('PUT', '/a', { ...AUTH, 'if-match': '*' }, 'x')).status, 412);
  t.equal((await send('PUT', '/a', { ...AUTH, 'if-none-match': '*' }, 'x')).status, 200);
  t.same(short(await send('PUT', '/a', { ...AUTH, 'if-none-match': '*' }, 'y')), plain(412, 'Precondition Failed'));
  const { etag } = (await send('GET', '/a')).headers;
  t.equal((await send('PUT', '/a', { ...AUTH, 'if-match': `W/${etag}` }, 'y')).status, 412);
  t.equal((await send('PUT', '/a', { ...AUTH, 'if-match': etag! }, 'y')).status, 200);
  const rounds = await Promise.all(
    Array.from({ length: 50 }, (_, i) => send('PUT', '/counter', { ...AUTH, 'if-none-match': '*' }, `body ${i}`)),
  );
  const won = rounds.findIndex(({ status }) => status === 200);
  t.same(rounds.map(({ status }) => status).sort(), [200, ...Array(49).fill(412)], 'one of fifty wins');
  t.equal((await send('GET', '/counter')).text, `body ${won}`);
  const large = Buffer.alloc(1 << 20, 'x');
  const current = (await send('GET', '/counter')).headers.etag!;
  const swaps = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      send('PUT', '/counter', { ...AUTH, 'if-match': current }, Buffer.concat([large, Buffer.from([i])])),
    ),
  );
  t.equal(swaps.filter(({ status }) => status === 200).length, 1, 'and one of twenty swaps of large bodies');
});

test('ranges', async (t) => {
  const { send } = await serve(t, { allow: ['a', 'empty', 'big'] });
  await send('PUT', '/a', { ...AUTH, 'content-type': 'text/plain' }, '0123456789');
  await send('PUT', '/empty', AUTH, '');
  const { etag, 'last-modified': date } = (await send('GET', '/a')).headers as Record<string, string>;
  const range = async (value: string, more = {}) => {
    const { status, text, headers } = await send('GET', '/a', { range: value, ...more });
    return [status, text, headers['content-range']];
  };
  t.same(await range('bytes=0-3'), [206, '0123', 'bytes 0-3/10']);
  t.same(await range('BYTES=8-'), [206, '89', 'bytes 8-9/10']);
  t.same(await range('bytes=-3'), [206, '789', 'bytes 7-9/10']);
  t.same(await range('bytes=-99999999999999999999'), [206, '0123456789', 'bytes 0-9/10']);
  t.same(await range('bytes=4-99999999999999999999'), [206, '456789', 'bytes 4-9/10']);
  t.same(await range('bytes=10-'), [416, 'Range Not Satisfiable', 'bytes */10']);
  t.same(await range('bytes=-0'), [416, 'Range Not Satisfiable', 'bytes */10']);
  for (const ignored of ['bytes=5-4', 'bytes=x', 'bytes=', 'bytes=-', 'octets=0-1', 'bytes=0-1;2']) {
    t.same(await range(ignored), [200, '0123456789', undefined], ignored);
  }
  t.same(await range('bytes=0-1', { 'if-range': etag }), [206, '01', 'bytes 0-1/10']);
  t.same(await range('bytes=0-1', { 'if-range': date }), [206, '01', 'bytes 0-1/10']);
  t.same(await range('bytes=0-1', { 'if-range': `W/${etag}` }), [200, '0123456789', undefined]);
  t.same(await range('bytes=0-1', { 'if-range': '"other"' }), [200, '0123456789', undefined]);
  t.equal((await send('GET', '/empty', { range: 'bytes=0-' })).status, 416);
  const several = await send('GET', '/a', { range: 'bytes=0-1, 20-, -2' });
  const boundary = /^multipart\/byteranges; boundary=([0-9a-f]{32})$/.exec(several.headers['content-type']!)![1];
  t.same(
    [several.status, several.text],
    [
      206,
      `\r\n--${boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01` +
        `\r\n--${boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89\r\n--${boundary}--\r\n`,
    ],
  );
  t.equal(several.headers['content-length'], String(several.text.length));
  t.equal((await send('GET', '/a', { range: 'bytes=0-8,1-9' })).status, 200, 'more than the whole');
  t.equal((await send('GET', '/a', { range: `bytes=${'0-0,'.repeat(17)}` })).status, 200, 'too many');
  t.same(await range('bytes=0-0,30-40'), [206, '0', 'bytes 0-0/10'], 'one of two');
  const big = Buffer.alloc(300_000, 'zoneplane!');
  await send('PUT', '/big', AUTH, big);
  const parts = await send('GET', '/big', { range: 'bytes=0-9,100000-299999' });
  t.equal(parts.headers['content-length'], String(parts.text.length), 'from a file too');
  t.ok(parts.text.includes(big.subarray(100_000).toString()));
});

test('bodies', async (t) => {
  const { send, port, directory } = await serve(t, { allow: ['a', 'chunked'] });
  const large = Buffer.alloc(LIMIT, 'zoneplane');
  t.equal((await send('PUT', '/a', AUTH, large)).status, 200, 'as large as it may be');
  t.equal((await send('GET', '/a')).text.length, LIMIT);
  t.same(short(await send('PUT', '/a', AUTH, Buffer.alloc(LIMIT + 1))), plain(413, 'Payload Too Large'));
  t.same(
    short(await send('PUT', '/a', { ...AUTH, 'transfer-encoding': 'chunked' }, Buffer.alloc(LIMIT + 1))),
    plain(413, 'Payload Too Large'),
    'found out on the way',
  );
  t.equal((await send('GET', '/a')).text.length, LIMIT, 'what was there is untouched');
  t.equal((await send('PUT', '/chunked', { ...AUTH, 'transfer-encoding': 'chunked' }, 'abc')).status, 200);
  t.equal((await send('GET', '/chunked')).text, 'abc');
  const sums = (body: string) => ({
    'content-md5': createHash('md5').update(body).digest('base64'),
    'x-checksum-sha256': createHash('sha256').update(body).digest('hex'),
  });
  t.equal((await send('PUT', '/a', { ...AUTH, ...sums('good') }, 'good')).status, 200);
  for (const name of ['content-md5', 'x-checksum-sha256'] as const) {
    t.match(await send('PUT', '/a', { ...AUTH, [name]: sums('good')[name] }, 'evil'), {
      status: 400,
      text: /checksum/,
    });
    t.equal((await send('PUT', '/a', { ...AUTH, [name]: 'x' }, 'good')).status, 400);
  }
  t.equal((await send('GET', '/a')).text, 'good');
  const head = `PUT /a HTTP/1.1\r\nHost: h\r\nX-Custom-Auth-Key: ${SECRET}\r\nContent-Length: 200000\r\n`;
  const socket = connect(port, '127.0.0.1', () => socket.write(`${head}\r\n${'x'.repeat(150_000)}`));
  if (placeOf(t) === 'files') {
    const unfinished = () => readdirSync(join(directory, 'blobs', 'tmp'));
    await until(async () => unfinished().length === 1);
    socket.destroy();
    await until(async () => unfinished().length === 0);
  } else {
    socket.destroy();
    t.notOk(existsSync(join(directory, 'blobs')), 'nothing is a file');
  }
  t.equal((await send('GET', '/a')).text, 'good', 'a body that breaks off publishes nothing');
  t.match(await sendRaw(port, `${head}Expect: 100-continue\r\n\r\n`, /\r\n\r\n/), /^HTTP\/1\.1 100 Continue\r\n/);
});

test('a wrong secret is refused at once, whatever the size of the body', async (t) => {
  const { port, directory } = await serve(t);
  const head = 'PUT /a HTTP/1.1\r\nHost: h\r\nX-Custom-Auth-Key: wrong\r\nContent-Length: 1000000000\r\n';
  for (const octets of [`${head}\r\n`, `${head}\r\n${'x'.repeat(1 << 20)}`, `${head}Expect: 100-continue\r\n\r\n`]) {
    const heard = await sendRaw(port, octets, /Forbidden/);
    t.match(heard, /^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*connection: close[\s\S]*\r\n\r\nForbidden$/i);
  }
  t.notOk(existsSync(join(directory, 'blobs')), 'nothing was written');
});

test('two Host fields are not a request', async (t) => {
  const { port } = await serve(t, { allow: ['a'] });
  const request = 'GET /a HTTP/1.1\r\nhost: one\r\nhost: two\r\nconnection: close\r\n\r\n';
  t.match(await sendRaw(port, request), /^HTTP\/1\.1 400 /);
});

/** Sends octets, waits for the first of the answer, or does not, and resets the connection. */
function abort(port: number, octets: string, after: 'nothing' | 'answer'): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(octets, () => {
        if (after === 'nothing') socket.resetAndDestroy();
      });
    });
    socket.once('readable', () => socket.resetAndDestroy());
    socket.on('error', () => {}).on('close', () => resolve());
  });
}

t.test('no file stays open, however a client disconnects', async (t) => {
  const files = countOpenFiles();
  if (files === undefined) return t.pass('this system does not tell what is open');
  const { port, send, openObjects } = await serve(t, { allow: ['large'] });
  t.equal((await send('PUT', '/large', AUTH, Buffer.alloc(2 << 20))).status, 200);
  const get = (fields = ''): string => `GET /large HTTP/1.1\r\nhost: a\r\n${fields}\r\n`;
  /** What is sent, and how often. */
  const kinds: Readonly<Record<string, readonly [octets: string, aborts: number]>> = {
    'resets mid-body': [get(), 1000],
    'several ranges': [get('range: bytes=0-700000,1000000-1900000\r\n'), 1000],
    'pipelined requests': [get().repeat(10), 100],
    'pipelined ranges': [get('range: bytes=0-9,20-900000\r\n').repeat(10), 100],
  };
  const before = countOpenFiles()!;
  for (const [kind, [octets, aborts]] of Object.entries(kinds)) {
    for (const after of ['nothing', 'answer'] as const) {
      for (let round = 0; round < aborts / 20; round++) {
        await Promise.all(Array.from({ length: 10 }, () => abort(port, octets, after)));
      }
    }
    await until(() => openObjects() === 0);
    t.equal(openObjects(), 0, `${kind}: all objects are closed`);
    await until(() => countOpenFiles()! <= before + 20);
    t.ok(countOpenFiles()! <= before + 20, `${kind}: ${countOpenFiles()} open, ${before} before`);
  }
  t.equal((await send('GET', '/large')).text.length, 2 << 20, 'and it goes on');
});

t.test('open bodies are limited for a client and for all', async (t) => {
  const waitClock = new TestClock();
  const bodies = createOpenBodies(waitClock, 4);
  const [first] = await Promise.all([bodies.take(1, 'a'), bodies.take(1, 'a')]);
  const late = t.rejects(bodies.take(1, 'a'), /Too many/, 'one client has half of the places');
  await bodies.take(1, 'b');
  const last = await bodies.take(1, 'c');
  const tooMany = t.rejects(bodies.take(1, 'd'), /Too many/);
  await (await bodies.take(2, 'a'))();
  t.equal(bodies.count(), 4, 'another account has a place at once');
  waitClock.advance(5000);
  await Promise.all([late, tooMany]);
  first!();
  first!();
  t.equal(bodies.count(), 3, 'a place is given back once');
  await bodies.take(1, 'd');
  const other = await bodies.take(2, 'a');
  const next = bodies.take(2, 'a');
  const own = bodies.take(1, 'e');
  last();
  other();
  await next;
  t.equal(bodies.count(), 4, 'and the next place that is free');
  t.equal(await Promise.race([own.then(() => 'taken'), Promise.resolve('waits')]), 'waits');
  waitClock.advance(5000);
  await t.rejects(own);
});

t.test('a full disk', { skip: skipWithoutMounts }, async (t) => {
  const { send, directory } = await serve(t, { allow: ['a', 'b'] });
  const blobs = join(directory, 'blobs');
  t.ok(mountSmall(blobs, 1));
  t.teardown(() => unmount(blobs));
  const large = Buffer.alloc(600_000, 'x');
  t.equal((await send('PUT', '/a', AUTH, large)).status, 200);
  t.same(short(await send('PUT', '/a', AUTH, Buffer.alloc(900_000, 'y'))), plain(507, 'Insufficient Storage'));
  t.equal((await send('GET', '/a')).text, large.toString(), 'what was there is untouched');
  t.same(readdirSync(join(blobs, 'tmp')), [], 'and nothing is left behind');
  t.equal((await send('PUT', '/b', AUTH, 'small')).status, 200, 'small ones are kept elsewhere');
});

t.test('files that crashes left go after an hour, and no others', async (t) => {
  let nowMs = clock.nowMs();
  const moving = Object.assign(Object.create(clock) as SystemClock, { nowMs: () => nowMs });
  const { store, directory, close } = openTwoCopies('sweep', clock, systemRandom);
  t.teardown(close);
  await makeBucket(store);
  const objects = createLocalStore({ store, clock: moving, random: systemRandom, log: silentLogger() });
  await objects.put(1, 'kept', Readable.from([Buffer.alloc(100_000, 'x')]), { httpMetadata: {}, limit: LIMIT });
  const blobs = createBlobs(directory, systemRandom);
  const [published, draft] = [await blobs.draft(), await blobs.draft()];
  await published.publish();
  await draft.write(Buffer.from('begun'));
  t.teardown(() => draft.discard());
  const names = () =>
    readdirSync(join(directory, 'blobs'), { recursive: true, encoding: 'utf8' })
      .map((path) => basename(path))
      .filter((name) => name.length === 32);
  nowMs += 3_500_000;
  await objects.sweep();
  t.equal(names().length, 3, 'they may belong to an upload');
  nowMs += 200_000;
  await objects.sweep();
  t.equal(names().length, 1);
  t.notOk(names().includes(published.name) || names().includes(draft.name));
  t.equal((await objects.open(1, 'kept', 'test'))?.item.size, 100_000);
  const root = join(directory, 'blobs');
  writeFileSync(join(root, 'lost+found'), '');
  await objects.sweep();
  const free = ['00', '01', '02', '03', '04'].find((name) => !existsSync(join(root, name)))!;
  writeFileSync(join(root, free), '');
  await t.rejects(objects.sweep(), { code: 'ENOTDIR' }, 'what cannot be read is not an empty directory');
});
