/** The rules of a bucket at the S3 door: CORS and its preflights, lifecycle, locks. */
import {
  CopyObjectCommand,
  DeleteBucketCorsCommand,
  DeleteBucketLifecycleCommand,
  DeleteObjectsCommand,
  GetBucketCorsCommand,
  GetBucketLifecycleConfigurationCommand,
  PutBucketCorsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import t from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { createBucket } from '../../src/bucket/buckets.js';
import { setRules } from '../../src/bucket/rules/rule-sets.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { presign } from '../../src/s3/signature/presign.js';
import { allAccounts } from '../../src/store/access/accounts.js';
import { sendRaw, startS3World } from '../support/s3-door.js';

const Bucket = 'pictures';
const { client, clientFor, credentials, ctx, makeKey, objects, port, send, url } = await startS3World(t);
const place = { accountId: toHex(allAccounts(ctx.store)[0]!.id), name: Bucket, jurisdiction: 'default' as const };
const codeOf = async (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'done',
    (error: { name: string }) => error.name,
  );
const host = `127.0.0.1:${port}`;
const preflight = (path: string, headers: Record<string, string>, at = host) =>
  sendRaw(port, { method: 'OPTIONS', path, headers: { host: at, ...headers }, body: Buffer.alloc(0) });
const asks = (origin: string, method: string, names?: string): Record<string, string> => ({
  origin,
  'access-control-request-method': method,
  ...(names !== undefined && { 'access-control-request-headers': names }),
});

t.test('CORS rules', async (t) => {
  t.equal(await codeOf(client.send(new GetBucketCorsCommand({ Bucket }))), 'NoSuchCORSConfiguration');
  const CORSRules = [
    {
      ...{ ID: 'site', AllowedOrigins: ['https://*.example.com'], AllowedMethods: ['GET', 'PUT'] },
      ...{ AllowedHeaders: ['content-type', 'x-amz-*'], ExposeHeaders: ['ETag'], MaxAgeSeconds: 600 },
    },
    { AllowedOrigins: ['*'], AllowedMethods: ['HEAD'] },
  ];
  await client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules } }));
  t.same((await client.send(new GetBucketCorsCommand({ Bucket }))).CORSRules, CORSRules);
  const put = async (rule: string) =>
    (await send('PUT', '/pictures?cors', { body: `<CORSConfiguration>${rule}</CORSConfiguration>` })).code;
  const origin = '<AllowedOrigin>https://a.test</AllowedOrigin>';
  t.equal(await put(''), 'MalformedXML');
  t.equal(await put(`<CORSRule>${origin}<AllowedMethod>OPTIONS</AllowedMethod></CORSRule>`), 'InvalidRequest');
  t.equal(await put(`<CORSRule>${origin}</CORSRule>`), 'InvalidArgument', 'no method');
  const get = '<AllowedMethod>GET</AllowedMethod>';
  t.equal(await put(`<CORSRule>${get}<AllowedOrigin>https://a.test/x</AllowedOrigin></CORSRule>`), 'InvalidArgument');
  t.equal(await put(`<CORSRule>${get}<AllowedOrigin>*.*</AllowedOrigin></CORSRule>`), 'InvalidArgument');
  t.equal(await put(`<CORSRule>${origin}${get}<AllowCredentials>true</AllowCredentials></CORSRule>`), 'NotImplemented');
  t.equal(await put(`<CORSRule>${origin}${get}</CORSRule>`.repeat(101)), 'InvalidArgument', 'too many');
  t.equal((await client.send(new GetBucketCorsCommand({ Bucket }))).CORSRules!.length, 2, 'nothing has changed');
});

t.test('requests of pages of other origins', async (t) => {
  await client.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x' }));
  const get = (origin: string | undefined, path = '/pictures/k') =>
    send('GET', path, { headers: origin === undefined ? {} : { origin } });
  const good = 'https://www.example.com';
  t.match((await get(good)).headers, {
    'access-control-allow-origin': good,
    'access-control-expose-headers': 'ETag',
    'access-control-allow-credentials': undefined,
    vary: 'Origin',
  });
  for (const origin of ['https://evil.test', 'null', 'https://www.example.com.evil.test', undefined]) {
    const { headers, status } = await get(origin);
    t.match([status, headers.vary, headers['access-control-allow-origin']], [200, 'Origin', undefined], String(origin));
  }
  const missing = await get(good, '/pictures/none');
  t.match([missing.code, missing.headers], ['NoSuchKey', { 'access-control-allow-origin': good }], 'refusals, too');
  const unsigned = { method: 'GET', path: '/pictures/k', headers: { host, origin: good }, body: Buffer.alloc(0) };
  const refused = await sendRaw(port, unsigned);
  t.match([refused.code, refused.headers], ['AccessDenied', { 'access-control-allow-origin': good }]);
  const link = presign({
    ...{ method: 'GET', endpoint: new URL(url), bucket: Bucket, key: 'k', expires: 60, nowMs: Date.now() },
    ...credentials,
  });
  const byLink = await fetch(link, { headers: { origin: good } });
  t.same([byLink.status, byLink.headers.get('access-control-allow-origin')], [200, good], 'by a link');
  t.match((await preflight(new URL(link).pathname + new URL(link).search, asks(good, 'GET'))).status, 200);
  const long = await preflight('/pictures/k', asks('x'.repeat(1 << 20), 'GET')).catch(() => undefined);
  t.notMatch(long?.headers ?? {}, { 'access-control-allow-origin': /./ }, 'an origin of 1 MiB');
});

t.test('preflights', async (t) => {
  const good = asks('https://www.example.com', 'PUT', 'Content-Type, x-amz-date');
  t.match(await preflight('/pictures/any/key', good), {
    status: 200,
    headers: {
      'access-control-allow-origin': 'https://www.example.com',
      'access-control-allow-methods': 'GET, PUT',
      'access-control-allow-headers': 'content-type, x-amz-date',
      'access-control-max-age': '600',
      vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    },
  });
  t.equal((await preflight('/any/key', good, 'pictures.s3.test')).status, 200, 'a host');
  t.equal((await preflight('/any/key', good, `pictures.${place.accountId}.s3.test`)).status, 200);
  t.equal((await preflight('/any/key', good, `pictures.${'0'.repeat(32)}.s3.test`)).status, 403, 'another account');
  const refused: [string, Record<string, string>, string][] = [
    ['/pictures/k', asks('https://evil.test', 'PUT'), 'AccessForbidden'],
    ['/pictures/k', asks('https://www.example.com', 'DELETE'), 'AccessForbidden'],
    ['/pictures/k', asks('https://www.example.com', 'PUT', 'authorization'), 'AccessForbidden'],
    ['/none/k', asks('https://www.example.com', 'PUT'), 'AccessForbidden'],
    ['/', asks('https://www.example.com', 'GET'), 'AccessForbidden'],
    ['/pictures/k', { 'access-control-request-method': 'GET' }, 'BadRequest'],
    ['/pictures/k', { origin: 'https://www.example.com' }, 'BadRequest'],
  ];
  for (const [path, headers, code] of refused) {
    const answer = await preflight(path, headers);
    t.match([answer.code, answer.headers['access-control-allow-origin']], [code, undefined], `${path} ${code}`);
  }
  t.test('a bucket of the same name in another account forbids nothing', async (t) => {
    const account = await createAccount(ctx, { name: 'Other' });
    await createBucket(ctx, account.id, { name: 'early', jurisdiction: 'default' });
    const other = { ...place, accountId: account.id, name: 'early' };
    const rule = (origins: string[]) => ({ allowed: { origins, methods: ['GET' as const] } });
    await setRules(ctx, other, 'cors', [rule(['https://other.test'])]);
    await createBucket(ctx, place.accountId, { name: 'early', jurisdiction: 'default' });
    await setRules(ctx, { ...place, name: 'early' }, 'cors', [rule(['https://own.test'])]);
    t.equal((await preflight('/early/k', asks('https://own.test', 'GET'))).status, 200);
    const { headers } = await send('GET', '/early?list-type=2', { headers: { origin: 'https://other.test' } });
    t.equal(headers['access-control-allow-origin'], undefined, 'and allows nothing once the account is known');
  });
  await client.send(new DeleteBucketCorsCommand({ Bucket }));
  t.equal((await preflight('/pictures/k', good)).code, 'AccessForbidden');
  t.equal(
    (await send('GET', '/pictures/k', { headers: { origin: 'https://www.example.com' } })).headers.vary,
    undefined,
  );
});

t.test('lifecycle rules', async (t) => {
  t.equal(
    await codeOf(client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))),
    'NoSuchLifecycleConfiguration',
  );
  const Rules = [
    { ID: 'old', Filter: { Prefix: 'logs/' }, Status: 'Enabled' as const, Expiration: { Days: 30 } },
    {
      ID: 'by date',
      Filter: { Prefix: 'tmp/' },
      Status: 'Disabled' as const,
      Expiration: { Date: new Date('2030-01-01') },
    },
    { ID: 'as it was', Prefix: 'a/', Status: 'Enabled' as const, Expiration: { Days: 90 } },
    {
      ...{ ID: 'uploads', Filter: { Prefix: '' }, Status: 'Enabled' as const },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: 3 },
      Transitions: [{ Days: 10, StorageClass: 'STANDARD_IA' as const }],
    },
  ];
  const put = (rules: unknown[]) =>
    client.send(
      new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules: rules as typeof Rules } }),
    );
  await put(Rules);
  t.strictSame((await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules, Rules);
  await client.send(new PutObjectCommand({ Bucket, Key: 'logs/1', Body: 'x' }));
  const { headers } = await send('HEAD', '/pictures/logs/1');
  const [, date, rule] = /^expiry-date="(.+)", rule-id="(.+)"$/.exec(String(headers['x-amz-expiration'])) ?? [];
  const days = (Date.parse(date!) - Date.now()) / 86_400_000;
  t.ok(days > 29.9 && days < 30.1);
  t.equal(rule, 'old');
  t.match((await send('PUT', '/pictures/logs/2')).headers, { 'x-amz-expiration': /rule-id="old"/ });
  t.equal((await send('HEAD', '/pictures/k')).headers['x-amz-expiration'], undefined);
  const valid = { ID: 'a', Status: 'Enabled', Filter: { Prefix: '' } };
  const bad: [unknown, string][] = [
    [{ ...valid, Expiration: { Days: 0 } }, 'InvalidArgument'],
    [{ ...valid, Expiration: { Date: new Date('2030-01-01T01:00:00Z') } }, 'InvalidArgument'],
    [{ ...valid, Expiration: { ExpiredObjectDeleteMarker: true } }, 'NotImplemented'],
    [{ ...valid, Expiration: { Days: 1 }, Status: 'enabled' }, 'MalformedXML'],
    [{ ...valid, Expiration: { Days: 1 }, ID: 'x'.repeat(256) }, 'InvalidArgument'],
    [{ ...valid }, 'InvalidArgument'],
    [{ ...valid, NoncurrentVersionExpiration: { NoncurrentDays: 1 } }, 'NotImplemented'],
    [{ ...valid, Expiration: { Days: 1 }, Filter: { ObjectSizeGreaterThan: 5 } }, 'NotImplemented'],
    [{ ...valid, Expiration: { Days: 1 }, Filter: { Tag: { Key: 'a', Value: 'b' } } }, 'NotImplemented'],
    [{ ...valid, Transitions: [{ Days: 1, StorageClass: 'GLACIER' }] }, 'InvalidStorageClass'],
  ];
  for (const [wrong, code] of bad) t.equal(await codeOf(put([wrong])), code, JSON.stringify(wrong).slice(0, 80));
  const one = { ...valid, Expiration: { Days: 1 } };
  t.equal(await codeOf(put([one, one])), 'InvalidArgument', 'an ID twice');
  t.equal(await codeOf(put(Array.from({ length: 1001 }, (_, i) => ({ ...one, ID: `r${i}` })))), 'InvalidArgument');
  t.equal((await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules!.length, 4);
  const reader = await makeKey({ readOnly: true });
  t.equal(await codeOf(clientFor(reader).send(new DeleteBucketLifecycleCommand({ Bucket }))), 'AccessDenied');
  await client.send(new DeleteBucketLifecycleCommand({ Bucket }));
  t.equal(
    await codeOf(client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))),
    'NoSuchLifecycleConfiguration',
  );
});

t.test('locked objects', async (t) => {
  for (const key of ['held/1', 'held/2', 'free'])
    await client.send(new PutObjectCommand({ Bucket, Key: key, Body: key }));
  const begun = await send('POST', '/pictures/held/1?uploads');
  const upload = /<UploadId>(.+)<\/UploadId>/.exec(begun.text)![1]!;
  const part = await send('PUT', `/pictures/held/1?partNumber=1&uploadId=${upload}`, { body: 'part' });
  const rule = { id: 'held', enabled: true, prefix: 'held/', condition: { type: 'Indefinite' as const } };
  await setRules(ctx, place, 'lock', [rule]);
  const locked = 'ObjectLockedByBucketPolicy';
  t.equal((await send('DELETE', '/pictures/held/1')).code, locked);
  t.equal((await send('DELETE', '/pictures/held/1')).status, 403);
  t.equal((await send('PUT', '/pictures/held/1', { body: 'other' })).code, locked);
  t.equal(
    await codeOf(client.send(new CopyObjectCommand({ Bucket, Key: 'held/1', CopySource: '/pictures/free' }))),
    locked,
  );
  const document = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${part.headers.etag}</ETag></Part></CompleteMultipartUpload>`;
  t.equal((await send('POST', `/pictures/held/1?uploadId=${upload}`, { body: document })).code, locked);
  const Objects = [{ Key: 'held/1' }, { Key: 'free' }, { Key: 'held/2' }, { Key: 'none' }];
  const { Deleted, Errors } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
  t.same(
    Deleted!.map(({ Key }) => Key),
    ['free', 'none'],
  );
  t.match(Errors, [
    { Key: 'held/1', Code: locked },
    { Key: 'held/2', Code: locked },
  ]);
  t.equal((await send('GET', '/pictures/held/1')).text, 'held/1');
  t.equal((await send('PUT', '/pictures/held/new', { body: 'x' })).status, 200, 'a new one may come');
  t.equal((await send('DELETE', '/pictures')).code, 'BucketNotEmpty');
  await t.rejects(objects.delete(1, ['held/1', 'none']), { key: 'objects.locked' } as never, 'other doors refuse all');
  await setRules(ctx, place, 'lock', [{ ...rule, enabled: false }]);
  t.equal((await send('POST', `/pictures/held/1?uploadId=${upload}`, { body: document })).status, 200);
  t.equal((await send('DELETE', '/pictures/held/1')).status, 204);
});

t.test('what is not implemented is refused by its name', async (t) => {
  const names = [
    'object-lock',
    'policy',
    'tagging',
    'website',
    'replication',
    'notification',
    'logging',
    'inventory',
    'analytics',
  ];
  names.push('requestPayment', 'accelerate', 'publicAccessBlock', 'versions', 'policyStatus', 'ownershipControls');
  for (const name of names) {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await send(method, `/pictures?${name}`);
      t.same([answer.status, answer.text.includes(name)], [501, true], `${method} ${name}`);
    }
  }
  for (const name of ['tagging', 'retention', 'legal-hold', 'torrent', 'restore', 'select']) {
    t.equal((await send('PUT', `/pictures/free?${name}`, { body: '<x/>' })).status, 501, name);
  }
  t.equal((await send('PUT', '/pictures?versioning', { body: '<VersioningConfiguration/>' })).status, 501);
  for (const name of ['x-amz-object-lock-mode', 'x-amz-object-lock-legal-hold', 'x-amz-tagging']) {
    const answer = await send('PUT', '/pictures/free', { headers: { [name]: 'GOVERNANCE' }, body: 'x' });
    t.same([answer.status, answer.text.includes(name)], [501, true], name);
  }
});
