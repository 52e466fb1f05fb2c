/** Small objects that are answered at once: the same answers as in the usual way, and the same checks at every request. */
import { PutObjectCommand } from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { setRules } from '../../src/bucket/rules/rule-sets.js';
import { authenticateAccessKey, findAccessKey } from '../../src/control/access/authentication.js';
import { revokeKey } from '../../src/control/access/keys.js';
import { rollToken } from '../../src/control/access/tokens.js';
import type { DoorOptions } from '../../src/s3/request.js';
import { presign } from '../../src/s3/signature/presign.js';
import { type Credentials, type S3Answer, sendRaw, startS3World } from '../support/s3-door.js';

const Bucket = 'pictures';

/** With a count of the answers that were made at once. */
async function start(t: Test, options: Partial<DoorOptions> = {}) {
  const world = await startS3World(t, options);
  let count = 0;
  const { findSmall, open } = world.objects;
  Object.assign(world.objects, {
    findSmall: (...place: Parameters<typeof findSmall>) => {
      count++;
      return findSmall(...place);
    },
    open: (...place: Parameters<typeof open>) => {
      count--;
      return open(...place);
    },
  });
  const put = new PutObjectCommand({
    ...{ Bucket, Key: 'a/b c', Body: 'hello world', ContentType: 'text/plain' },
    ...{ Metadata: { colour: 'röt' }, ContentDisposition: 'inline' },
  });
  await world.client.send(put);
  /** Answers, and whether they were made at once: those that are not count as much less. */
  const counted = async (work: () => Promise<S3Answer>): Promise<S3Answer & { readonly atOnce: boolean }> => {
    count = 0;
    const answer = await work();
    return { ...answer, atOnce: count > 0 };
  };
  return { ...world, counted };
}

const comparable = ({ status, text, headers }: S3Answer) => {
  const { date: _date, 'x-amz-request-id': _id, 'keep-alive': _time, ...rest } = headers;
  return { status, text: text.replace(/<RequestId>[^<]*/, ''), headers: rest };
};

t.test('the same answers as in the usual way', async (t) => {
  const { send, counted } = await start(t);
  const path = '/pictures/a/b%20c';
  const { headers } = await send('GET', path);
  const [etag, date] = [headers.etag!, headers['last-modified']!];
  const asked: readonly [headers: Record<string, string>, atOnce: boolean][] = [
    [{}, true],
    [{ range: 'bytes=6-' }, true],
    [{ range: 'bytes=0-0,2-2' }, true],
    [{ range: 'bytes=11-' }, false],
    [{ range: 'nonsense' }, true],
    [{ 'if-none-match': etag }, true],
    [{ 'if-none-match': '"other"' }, true],
    [{ 'if-match': '"other"' }, false],
    [{ 'if-modified-since': date }, true],
    [{ 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }, false],
    [{ range: 'bytes=0-1', 'if-range': etag }, true],
    [{ 'x-amz-checksum-mode': 'ENABLED' }, false],
    [{ origin: 'https://a.test' }, false],
    [{ 'x-amz-expected-bucket-owner': '0'.repeat(32) }, false],
    [{ 'x-amz-tagging': 'a=b' }, false],
  ];
  for (const method of ['GET', 'HEAD']) {
    for (const [more, atOnce] of asked) {
      const what = `${method} ${JSON.stringify(more)}`;
      const first = await counted(() => send(method, path, { headers: more }));
      // Node's server reads a request that says its length.
      const other = await counted(() => send(method, path, { headers: { ...more, 'content-length': '0' } }));
      t.strictSame(comparable(first), comparable(other), what);
      if (method === 'GET') t.equal(first.atOnce, atOnce, what);
      t.equal(other.atOnce, false, what);
    }
  }
  for (const search of ['partNumber=1', 'response-content-type=text/html', 'attributes', 'acl', 'versionId=1']) {
    t.equal((await counted(() => send('GET', `${path}?${search}`))).atOnce, false, search);
  }
  t.equal((await counted(() => send('GET', `${path}?x-id=GetObject`))).atOnce, true);
  t.equal((await send('GET', path, { change: (sent) => void (sent.path += 'd') })).code, 'SignatureDoesNotMatch');
  t.equal((await send('GET', path, { payload: '0'.repeat(64) })).code, 'XAmzContentSHA256Mismatch');
});

t.test('a link', async (t) => {
  const { credentials, url, port, counted } = await start(t);
  const link = (expires: number, nowMs = Date.now()): string => {
    const endpoint = new URL(url);
    const signed = presign({ ...credentials, method: 'GET', endpoint, bucket: Bucket, key: 'a/b c', expires, nowMs });
    return signed.slice(url.length);
  };
  const get = (path: string) =>
    sendRaw(port, { method: 'GET', path, headers: { host: `127.0.0.1:${port}` }, body: Buffer.alloc(0) });
  await get(link(60));
  t.match(await counted(() => get(link(60))), { atOnce: true, status: 200, text: 'hello world' });
  t.match(await counted(() => get(link(60, Date.now() - 120_000))), { atOnce: false, code: 'ExpiredRequest' });
  t.match(await counted(() => get(`${link(60)}&more=1`)), { atOnce: false, code: 'SignatureDoesNotMatch' });
});

/** Its time can be moved. */
class MovedClock extends SystemClock {
  aheadMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.aheadMs;
  }
}

t.test('a link that was right is looked at again when it comes again', async (t) => {
  const clock = new MovedClock();
  const { ctx, makeKey, url, port, counted } = await start(t, { clock });
  const linkOf = (own: Credentials): string => {
    const place = { endpoint: new URL(url), bucket: Bucket, key: 'a/b c', expires: 60, nowMs: Date.now() };
    return presign({ ...own, ...place, method: 'GET' }).slice(url.length);
  };
  const host = `127.0.0.1:${port}`;
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    counted(() => sendRaw(port, { method, path, headers: { host, ...headers }, body: Buffer.alloc(0) }));
  const credentials = await makeKey({});
  const link = linkOf(credentials);
  await get(link);
  for (let i = 0; i < 2; i++) t.match(await get(link), { atOnce: true, status: 200, text: 'hello world' });
  t.match(await get(link, { 'user-agent': 'another' }), { atOnce: true, status: 200 });
  t.match(await get(link, { host: `localhost:${port}` }), { code: 'SignatureDoesNotMatch' });
  t.match(
    await get(link, { 'x-amz-date': '20261126T000000Z' }),
    { code: 'AccessDenied' },
    'a field that is not signed',
  );
  t.match(await get(link, { authorization: 'AWS4-HMAC-SHA256 a' }), { code: 'InvalidArgument' });
  t.match(await get(link, {}, 'HEAD'), { status: 403 });
  clock.aheadMs = 61_000;
  t.match(await get(link), { code: 'ExpiredRequest' });
  clock.aheadMs = 0;
  t.match(await get(link), { atOnce: true, status: 200 });
  const before = findAccessKey(ctx, credentials.accessKeyId)!;
  const found = await authenticateAccessKey(ctx, before, '127.0.0.1');
  if (found.ok) await rollToken({ ...ctx, actor: found.actor }, { user: true }, credentials.accessKeyId);
  t.match(await get(link), { code: 'SignatureDoesNotMatch' });
  t.match(await get(link), { code: 'SignatureDoesNotMatch' });
  t.match(
    await authenticateAccessKey(ctx, before, '127.0.0.1'),
    { ok: false },
    'what was read before the secret changed',
  );
  const revoked = await makeKey({});
  const other = linkOf(revoked);
  await get(other);
  t.match(await get(other), { atOnce: true, status: 200 });
  const active = findAccessKey(ctx, revoked.accessKeyId)!;
  await revokeKey(ctx, revoked.accessKeyId);
  t.match(await authenticateAccessKey(ctx, active, '127.0.0.1'), { ok: false }, 'what was read before it was revoked');
  t.match(await get(other), { code: 'InvalidAccessKeyId' });
});

t.test('what changes between two requests counts at the second', async (t) => {
  const { ctx, send, counted, makeKey, client } = await start(t);
  const path = '/pictures/a/b%20c';
  const credentials = await makeKey({});
  const get = () => counted(() => send('GET', path, { credentials }));
  await get();
  t.match(await get(), { atOnce: true, status: 200 });
  await client.send(new PutObjectCommand({ Bucket, Key: 'a/b c', Body: 'anew' }));
  t.match(await get(), { atOnce: true, text: 'anew' });
  const place = { accountId: undefined as never, name: Bucket, jurisdiction: 'default' } as const;
  const allowed = { methods: ['GET'], origins: ['https://a.test'] } as const;
  await setRules(ctx, place, 'cors', [{ allowed }]);
  t.match(await get(), { atOnce: false, status: 200, headers: { vary: /Origin/ } }, 'the bucket has rules');
  await setRules(ctx, place, 'cors', []);
  t.match(await get(), { atOnce: true });
  await revokeKey(ctx, credentials.accessKeyId);
  t.match(await get(), { atOnce: false, status: 403, code: 'InvalidAccessKeyId' });
});
