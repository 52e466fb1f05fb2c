/** Small objects of a bucket on the short way: the same answers as on the general one, which a connection that ends takes. */
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { createBucket } from '../../../src/bucket/buckets.js';
import { attachBucketDomain, type BucketPlace, editBucketDomain } from '../../../src/bucket/domains.js';
import { createLocalStore } from '../../../src/bucket/local-store.js';
import type { HttpMetadata } from '../../../src/bucket/object-store.js';
import { setRules } from '../../../src/bucket/rules/rule-sets.js';
import { editZoneSetting } from '../../../src/control/zones/settings.js';
import { allAccounts } from '../../../src/store/access/accounts.js';
import { allBuckets } from '../../../src/store/objects/buckets.js';
import { until } from '../../support/until.js';
import { startEdgeWorld } from '../fixture.js';

const HOST = 'cdn.shop.test';

async function prepare(t: Test) {
  const world = await startEdgeWorld(t);
  const { ctx } = world;
  const accountId = toHex(allAccounts(ctx.store)[0]!.id);
  const place: BucketPlace = { accountId, name: 'pictures', jurisdiction: 'default' };
  await createBucket(ctx, accountId, { name: 'pictures', jurisdiction: 'default' });
  const { seq } = allBuckets(ctx.store)[0]!;
  const objects = createLocalStore({ ...ctx, random: systemRandom, log: silentLogger() });
  const zoneId = await world.zone('shop.test', 9);
  await attachBucketDomain(ctx, place, { domain: HOST, zoneId });
  /** The answers of both ways, without what differs between any two. */
  const ask = async (path: string, more = ''): Promise<readonly [string, string]> => {
    const head = `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${more}`;
    const text = await world.raw(`${head}\r\n${head}Connection: close\r\n\r\n`);
    const all = text.split(/(?=HTTP\/1\.1 )/);
    t.equal(all.length, 2, path);
    const known = all.map((one) => one.replace(/(?:cf-ray|Date|Connection|Keep-Alive): [^\r]*\r\n/gi, ''));
    return [known[0]!, known[1]!];
  };
  return {
    ...{ ctx, place, zoneId, ask },
    /** Of both ways, which must not differ. */
    async get(path: string, more?: string): Promise<string> {
      const [short, general] = await ask(path, more);
      t.equal(short, general, `${path} ${more ?? ''}`);
      return short;
    },
    put: (key: string, content: string | Buffer, httpMetadata: HttpMetadata = {}) =>
      objects.put(seq, key, Readable.from([Buffer.from(content)]), { httpMetadata, limit: 1 << 30 }),
    remove: (key: string) => objects.delete(seq, [key]),
  };
}

t.test('both ways answer the same', async (t) => {
  const { put, remove, get, ask, ctx, place } = await prepare(t);
  const text = 'text '.repeat(500);
  await put('plain', 'a small object');
  await put('empty', '');
  await put('text', text, { contentType: 'text/plain', contentLanguage: 'de' });
  await put('fixed', text, { contentType: 'text/plain', cacheControl: 'no-transform' });
  await put('sixty-four', Buffer.alloc(65_536, 's'));
  await put('private', 'for one', { cacheControl: 'private' });
  await put('stored', 'for all', { cacheControl: 'public, max-age=60' });
  const { etag } = await put('with space', 'another');
  t.match(await get('/plain'), /^HTTP\/1\.1 200 OK\r\n[\s\S]*cf-cache-status: DYNAMIC\r\n\r\na small object$/);
  t.match(await get('/plain?with=query'), /a small object$/);
  t.match(await get('/empty'), /content-length: 0\r\n[\s\S]*\r\n\r\n$/);
  t.match(await get('/text'), /vary: Accept-Encoding\r\n/);
  t.match(await get('/text', 'Accept-Encoding: gzip\r\n'), /content-encoding: gzip\r\n/);
  t.notMatch(await get('/fixed', 'Accept-Encoding: gzip\r\n'), /vary|content-encoding/);
  t.match(await get('/sixty-four'), /\r\n\r\ns{65536}$/);
  t.match(await get('/private'), /cache-control: private\r\n[\s\S]*for one$/);
  t.match(await get('/with%20space'), /another$/);
  t.match(await get('/with%20space', `If-None-Match: "${etag}"\r\n`), /^HTTP\/1\.1 304 /);
  t.match(await get('/with%20space', 'If-None-Match: "another"\r\n'), /^HTTP\/1\.1 200 /);
  t.match(await get('/with%20space', 'If-Match: "another"\r\n'), /^HTTP\/1\.1 412 /);
  t.match(
    await get('/plain', 'Range: bytes=2-6\r\n'),
    /^HTTP\/1\.1 206 [\s\S]*content-range: bytes 2-6\/14\r\n[\s\S]*small$/,
  );
  t.match(await get('/plain', 'Range: bytes=20-\r\n'), /^HTTP\/1\.1 416 /);
  t.match(await get('/never'), /^HTTP\/1\.1 404 /);
  t.match(await get('/%ff'), /^HTTP\/1\.1 404 /);
  const [miss, hit] = await ask('/stored');
  t.match([miss, hit], [/cf-cache-status: MISS/, /cf-cache-status: HIT/], 'what may be stored is');
  await put('plain', 'it was replaced');
  t.match(await get('/plain'), /it was replaced$/, 'the next answer has what was written');
  await remove('plain');
  t.match(await get('/plain'), /^HTTP\/1\.1 404 /);

  await put('damaged', 'a small object');
  await ctx.store.write(() => {
    const last = '(SELECT max(object) FROM object_contents)';
    ctx.store.prepare(`UPDATE object_contents SET octets = x'00' WHERE object = ${last}`).run();
  });
  t.match(await get('/damaged'), /^HTTP\/1\.1 500 /);

  const rule = { allowed: { methods: ['GET'], origins: ['*'] } };
  await setRules(ctx, place, 'cors', [rule] as never);
  const isVaried = async (): Promise<boolean> =>
    /vary: Origin/.test(await get('/private', 'Origin: https://a.test\r\n'));
  await until(isVaried, 'rules of the bucket are followed');
});

t.test('rules of the zone, and a domain that is not public', async (t) => {
  const { put, get, ctx, place, zoneId } = await prepare(t);
  await put('plain', 'a small object');
  t.match(await get('/plain'), /^HTTP\/1\.1 200 /);
  await editZoneSetting(ctx, zoneId, 'always_use_https', 'on');
  await until(async () => /^HTTP\/1\.1 301 /.test(await get('/plain')), 'it is redirected');
  await editZoneSetting(ctx, zoneId, 'always_use_https', 'off');
  await until(async () => /^HTTP\/1\.1 200 /.test(await get('/plain')), 'it is not redirected any more');
  await editBucketDomain(ctx, place, HOST, { enabled: false });
  await until(async () => /^HTTP\/1\.1 (?!200)/.test(await get('/plain')), 'it is not public');
});
