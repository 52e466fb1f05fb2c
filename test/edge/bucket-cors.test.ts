/** CORS rules of a bucket at its custom domain: in front of the cache, and changed without a restart. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import t from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createBucket } from '../../src/bucket/buckets.js';
import { attachBucketDomain } from '../../src/bucket/domains.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { setRules } from '../../src/bucket/rules/rule-sets.js';
import { allAccounts } from '../../src/store/access/accounts.js';
import { allBuckets } from '../../src/store/objects/buckets.js';
import { until } from '../support/until.js';
import { startEdgeWorld } from './fixture.js';

const HOST = 'cdn.shop.test';

t.test('pages of other origins', async (t) => {
  const world = await startEdgeWorld(t);
  const { ctx, httpPort } = world;
  const account = toHex(allAccounts(ctx.store)[0]!.id);
  const place = { accountId: account, name: 'pictures', jurisdiction: 'default' as const };
  await createBucket(ctx, account, { name: 'pictures', jurisdiction: 'default' });
  const { seq } = allBuckets(ctx.store)[0]!;
  const objects = createLocalStore({ ...ctx, random: systemRandom, log: silentLogger() });
  await attachBucketDomain(ctx, place, { domain: HOST, zoneId: await world.zone('shop.test', 9) });
  await objects.put(seq, 'a.css', Readable.from([Buffer.from('a')]), { httpMetadata: {}, limit: 10 });
  const ask = (method: string, headers: Record<string, string> = {}, path = '/a.css') =>
    new Promise<{ status: number; headers: IncomingHttpHeaders }>((resolve, reject) => {
      const sent = httpRequest(
        { host: '127.0.0.1', port: httpPort, path, method, headers: { host: HOST, ...headers } },
        (response) => {
          response.resume();
          response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers }));
        },
      );
      sent.on('error', reject);
      sent.end();
    });
  const origins = ['https://a.test', 'https://b.test'];
  const [a, b] = origins as [string, string];
  const put = { origin: a, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'content-type' };
  const plain = await ask('GET', { origin: a });
  t.match(
    [plain.status, plain.headers['access-control-allow-origin'], plain.headers.vary],
    [200, undefined, undefined],
  );
  t.equal((await ask('OPTIONS', put)).status, 405, 'without rules');
  const allowed = { origins, methods: ['GET' as const, 'PUT' as const], headers: ['content-type'] };
  await setRules(ctx, place, 'cors', [{ allowed, exposeHeaders: ['ETag'], maxAgeSeconds: 60 }]);
  await until(async () => (await ask('GET', { origin: a })).headers.vary === 'Origin');
  for (const [origin, expected] of [
    [a, a],
    [b, b],
    ['https://evil.test', undefined],
    ['null', undefined],
  ] as const) {
    const { headers } = await ask('GET', { origin });
    t.match(headers, { 'access-control-allow-origin': expected, vary: 'Origin' }, origin);
  }
  t.match((await ask('GET', { origin: a }, '/none')).headers, { 'access-control-allow-origin': a }, 'refusals, too');
  t.match(await ask('OPTIONS', put), {
    status: 200,
    headers: {
      'access-control-allow-origin': a,
      'access-control-allow-headers': 'content-type',
      'access-control-max-age': '60',
    },
  });
  const refused = await ask('OPTIONS', { ...put, origin: 'https://evil.test' });
  t.match([refused.status, refused.headers['access-control-allow-origin']], [403, undefined]);
  t.equal((await ask('OPTIONS')).status, 405, 'no preflight');
  await setRules(ctx, place, 'cors', []);
  await until(async () => (await ask('GET', { origin: a })).headers['access-control-allow-origin'] === undefined);
});
