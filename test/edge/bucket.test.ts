/** A bucket at a name of a zone: what the edge answers there, from the bucket and from its cache, and when it ends. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createBucket, deleteBucket } from '../../src/bucket/buckets.js';
import {
  attachBucketDomain,
  type BucketPlace,
  detachBucketDomain,
  editBucketDomain,
} from '../../src/bucket/domains.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import type { HttpMetadata } from '../../src/bucket/object-store.js';
import { purgeCache } from '../../src/control/zones/purge.js';
import { keyOfTarget } from '../../src/edge/bucket/object-key.js';
import { explainRoute } from '../../src/hostnames/routing/explain-route.js';
import { allAccounts } from '../../src/store/access/accounts.js';
import { allBuckets } from '../../src/store/objects/buckets.js';
import { filesBelow } from '../support/backups.js';
import { until } from '../support/until.js';
import { exchange, startEdgeWorld } from './fixture.js';

const HOST = 'cdn.shop.test';

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly result: string | string[] | undefined;
}

async function prepare(t: Test) {
  const world = await startEdgeWorld(t);
  const { ctx, httpPort } = world;
  const account = toHex(allAccounts(ctx.store)[0]!.id);
  const place: BucketPlace = { accountId: account, name: 'pictures', jurisdiction: 'default' };
  await createBucket(ctx, account, { name: 'pictures', jurisdiction: 'default' });
  const { seq } = allBuckets(ctx.store)[0]!;
  const objects = createLocalStore({ ...ctx, random: systemRandom, log: silentLogger() });
  const zone = await world.zone('shop.test', 9);
  await attachBucketDomain(ctx, place, { domain: HOST, zoneId: zone });
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(
        { host: '127.0.0.1', port: httpPort, path, method, headers: { host: HOST, ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode!,
              headers: response.headers,
              text: Buffer.concat(chunks).toString('latin1'),
              result: response.headers['cf-cache-status'],
            }),
          );
        },
      );
      sent.on('error', reject);
      sent.end();
    });
  return {
    ...{ world, ctx, place, zone, account, get },
    put: (key: string, content: string | Buffer, httpMetadata: HttpMetadata = {}) =>
      objects.put(seq, key, Readable.from([Buffer.from(content)]), { httpMetadata, limit: 1 << 30 }),
    remove: (...keys: string[]) => objects.delete(seq, keys),
  };
}

t.test('the name that a URL gives an object', async (t) => {
  const rows: [target: string, key: string | undefined][] = [
    ['/a/b.txt', 'a/b.txt'],
    ['/my%20pic.jpg?width=3', 'my pic.jpg'],
    ['/%C3%A4', 'ä'],
    ['/a%2Fb', 'a/b'],
    ['//x', '/x'],
    ['/', ''],
    ['/%ff', undefined],
    ['/%', undefined],
    [`/${'k'.repeat(1024)}`, 'k'.repeat(1024)],
    [`/${'k'.repeat(1025)}`, undefined],
  ];
  for (const [target, key] of rows) t.equal(keyOfTarget(target), key, target.slice(0, 40));
});

t.test('objects over the edge', async (t) => {
  const room = await prepare(t);
  const { get, put, world } = room;
  const stored = await put('dir/a b.txt', 'hello from the bucket', {
    contentType: 'text/plain',
    cacheControl: 'max-age=600',
    contentLanguage: 'en',
  });
  const path = '/dir/a%20b.txt';
  await until(async () => (await get(path)).status === 200);

  await t.test('whole, with what was stored with it', async (t) => {
    t.match(await get(path), {
      status: 200,
      text: 'hello from the bucket',
      headers: {
        'content-type': 'text/plain',
        'content-language': 'en',
        'cache-control': 'max-age=600',
        'content-length': '21',
        'accept-ranges': 'bytes',
        etag: `"${stored.etag}"`,
        'last-modified': /GMT$/,
        'x-content-type-options': 'nosniff',
        'cf-ray': /./,
      },
    });
    t.match(await get(path, {}, 'HEAD'), { status: 200, text: '', headers: { 'content-length': '21' } });
  });

  await t.test('conditions and ranges, from the bucket', async (t) => {
    // The cache does not store what it must ask the origin about, so these come from the bucket.
    await put('video.bin', '0123456789', { cacheControl: 'no-store' });
    const video = '/video.bin';
    const { headers } = await get(video);
    const etag = headers.etag!;
    t.match(await get(video, { 'if-none-match': etag }), { status: 304, text: '', headers: { etag } });
    t.match(await get(video, { 'if-match': '"other"' }), { status: 412 });
    t.match(await get(video, { 'if-match': etag }), { status: 200, text: '0123456789' });
    t.match(await get(video, { range: 'bytes=2-4' }), {
      status: 206,
      text: '234',
      headers: { 'content-range': 'bytes 2-4/10', 'content-length': '3' },
    });
    t.match(await get(video, { range: 'bytes=2-4', 'if-range': '"other"' }), { status: 200, text: '0123456789' });
    t.match(await get(video, { range: 'bytes=20-' }), { status: 416, headers: { 'content-range': 'bytes */10' } });
    const parts = await get(video, { range: 'bytes=0-1,8-' });
    t.match(parts, { status: 206, headers: { 'content-type': /^multipart\/byteranges; boundary=/ } });
    t.match(parts.text, /Content-Range: bytes 0-1\/10\r\n\r\n01\r\n/);
    t.match(parts.text, /Content-Range: bytes 8-9\/10\r\n\r\n89\r\n/);
    t.equal(parts.text.length, Number(parts.headers['content-length']));
  });

  await t.test('a body that is a file, whole and in part', async (t) => {
    const large = Buffer.alloc(3 << 20, 'abcdefg');
    await put('large.bin', large);
    const whole = await get('/large.bin');
    t.match(whole, { status: 200, result: 'MISS', headers: { 'content-length': `${large.length}` } });
    t.equal(whole.text, large.toString());
    const part = (): ReturnType<typeof get> => get('/large.bin', { range: 'bytes=-7' });
    // The edge may still hear of the purge that attaching the name made.
    await until(async () => (await get('/large.bin')).result === 'HIT' && (await part()).result === 'HIT');
    t.match(await part(), {
      status: 206,
      result: 'HIT',
      text: large.toString().slice(-7),
    });
  });

  await t.test('compressed for clients that accept it, unless it was stored compressed', async (t) => {
    const text = '{"a":"value of an object"}\n'.repeat(200);
    await put('data.json', text, { contentType: 'application/json' });
    await put('data.json.gz', gzipSync(text), { contentType: 'application/json', contentEncoding: 'gzip' });
    for (const name of ['/data.json', '/data.json.gz']) {
      const { headers, text: octets } = await get(name, { 'accept-encoding': 'gzip' });
      t.equal(headers['content-encoding'], 'gzip');
      t.equal(gunzipSync(Buffer.from(octets, 'latin1')).toString(), text);
      t.equal(headers.etag?.startsWith('W/'), name === '/data.json', `${name}: ${headers.etag}`);
    }
    const part = await get('/data.json', { 'accept-encoding': 'gzip', range: 'bytes=1-3' });
    t.match([part.status, part.text, part.headers['content-encoding']], [206, text.slice(1, 4), undefined]);
  });

  await t.test('the cache, and purging it', async (t) => {
    await put('style.css', 'old');
    // Of the purge that attaching the name made, too.
    await world.heard();
    t.match(await get('/style.css'), { text: 'old', result: 'MISS' });
    t.match(await get('/style.css'), { text: 'old', result: 'HIT' });
    await put('style.css', 'new');
    t.match(await get('/style.css'), { text: 'old', result: 'HIT' }, 'an upload purges nothing');
    await purgeCache(room.ctx, room.zone, { hosts: [HOST] });
    await until(async () => (await get('/style.css')).text === 'new');
  });

  await t.test('what is not there is not kept', async (t) => {
    t.match(await get('/later.css'), {
      status: 404,
      text: 'Object Not Found',
      headers: { 'cache-control': 'no-store' },
    });
    t.match(await get('/later.css', {}, 'HEAD'), { status: 404, text: '' });
    await put('later.css', 'now');
    t.match(await get('/later.css'), { status: 200, text: 'now' });
    t.match(await get('/'), { status: 404 });
    t.match(await get('/%ff'), { status: 404 });
  });

  await t.test('nobody writes', async (t) => {
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH', 'OPTIONS']) {
      t.match(await get('/style.css', {}, method), { status: 405, headers: { allow: 'GET, HEAD' } }, method);
    }
    t.match(await get('/style.css'), { status: 200 });
    const upgrade =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
    t.match(await world.raw(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n${upgrade}\r\n\r\n`), /^HTTP\/1\.1 400 /);
  });
});

t.test('settings, and the end', async (t) => {
  const { ctx, place, zone, account, get, put, remove, world } = await prepare(t);
  await put('a.css', 'a');
  await until(async () => (await get('/a.css')).status === 200);
  const explain = () => explainRoute(ctx, HOST);
  t.match(explain(), { by: 'record', cause: null, origins: [], detail: /objects of the bucket pictures/ });

  await editBucketDomain(ctx, place, HOST, { minTls: '1.3' });
  await until(() =>
    world.tls(HOST, { maxVersion: 'TLSv1.2' }).then(
      (socket) => void socket.destroy(),
      () => true,
    ),
  );
  const secure = await world.tls(HOST);
  t.equal(secure.getProtocol(), 'TLSv1.3');
  secure.destroy();
  // Both names are in the certificate of the zone.
  const older = await world.tls('www.shop.test', { maxVersion: 'TLSv1.2' });
  const asked = `GET /a.css HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`;
  t.match(await exchange(older, asked), /^HTTP\/1\.1 421 /, 'not over a connection for a host with other settings');
  await editBucketDomain(ctx, place, HOST, { minTls: '1.2', ciphers: ['ECDHE-ECDSA-AES256-GCM-SHA384'] });
  await until(async () => {
    const socket = await world.tls(HOST, { maxVersion: 'TLSv1.2' });
    const { name } = socket.getCipher();
    socket.destroy();
    return name === 'ECDHE-ECDSA-AES256-GCM-SHA384';
  });

  await editBucketDomain(ctx, place, HOST, { enabled: false });
  await until(async () => (await get('/a.css')).status === 403);
  t.match(explain()!.detail, /not enabled/);
  await editBucketDomain(ctx, place, HOST, { enabled: true });
  await until(async () => (await get('/a.css')).status === 200);

  await detachBucketDomain(ctx, place, HOST);
  await until(async () => (await get('/a.css')).status === 409);
  t.equal(explain(), undefined);
  await put('a.css', 'b');
  await attachBucketDomain(ctx, place, { domain: HOST, zoneId: zone });
  await until(async () => (await get('/a.css')).status === 200);
  t.equal((await get('/a.css')).text, 'b', 'nothing of the time before');

  await remove('a.css');
  await deleteBucket(ctx, account, 'pictures', 'default');
  await until(async () => (await get('/a.css')).status === 409);
});

t.test('a damaged body is not sent, or breaks off', async (t) => {
  const { get, put, ctx } = await prepare(t);
  await put('middle', Buffer.alloc(200_000, 'm'));
  await put('large', Buffer.alloc(2_000_000, 'l'));
  for (const path of filesBelow(join(dirname(ctx.store.path), 'blobs'))) {
    const octets = readFileSync(path);
    octets[100_000]! ^= 1;
    writeFileSync(path, octets);
  }
  t.match(await get('/middle'), { status: 500 });
  await t.rejects(get('/large'), { code: 'ECONNRESET' });
  await t.rejects(get('/large'), { code: 'ECONNRESET' }, 'and the cache does not have it');
});
