/** Temporary credentials, made by hand as other libraries make them: what they may do, and forged ones. */
import { createHash, createHmac } from 'node:crypto';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import t from 'tap';
import { createBucket } from '../../src/bucket/buckets.js';
import { createTemporaryCredentials } from '../../src/bucket/credentials/temporary.js';
import { authenticateAccessKey, findAccessKey } from '../../src/control/access/authentication.js';
import { revokeKey } from '../../src/control/access/keys.js';
import { PERMISSION_GROUPS } from '../../src/control/guard/permissions.js';
import { startS3World } from '../support/s3-door.js';

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

t.test('what temporary credentials may do', async (t) => {
  const { send, credentials, url, port, ctx, makeKey } = await startS3World(t);
  const account = /<ID>([0-9a-f]{32})/.exec((await send('GET', '/')).text)![1]!;
  const now = Math.floor(Date.now() / 1000);
  const usual = {
    ...{ sub: account, iss: credentials.accessKeyId, aud: `127.0.0.1:${port}`, iat: now, exp: now + 600 },
    ...{ bucket: 'pictures', scope: 'object-read-write' },
  };
  const sign = (
    claims: object,
    secret = credentials.secretAccessKey,
    header: object = { alg: 'HS256', typ: 'JWT' },
  ) => {
    const content = `${encode(header)}.${encode(claims)}`;
    const jwt = `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
    return {
      accessKeyId: credentials.accessKeyId,
      secretAccessKey: createHash('sha256').update(jwt).digest('hex'),
      sessionToken: Buffer.from(`jwt/${jwt}`).toString('base64'),
    };
  };
  const as = (claims: object, ...more: [string?, object?]) => {
    const { sessionToken, ...own } = sign({ ...usual, ...claims }, ...more);
    return (method: string, path: string, body = '', headers = {}) =>
      send(method, path, { credentials: own, body, headers: { 'x-amz-security-token': sessionToken, ...headers } });
  };
  const writer = as({});
  t.equal((await writer('PUT', '/pictures/a/b', 'x')).status, 200);
  t.equal((await writer('GET', '/pictures/a/b')).text, 'x');
  t.equal((await writer('GET', '/other/a')).code, 'AccessDenied', 'another bucket');
  t.equal((await writer('PUT', '/other')).code, 'AccessDenied');
  t.equal((await writer('DELETE', '/pictures')).code, 'AccessDenied', 'not an administrator');
  t.match((await writer('GET', '/')).text, /<Buckets><Bucket><Name>pictures/);
  const reader = as({ scope: 'object-read-only' });
  t.equal((await reader('GET', '/pictures/a/b')).status, 200);
  t.equal((await reader('PUT', '/pictures/a/b', 'y')).code, 'AccessDenied');
  t.equal((await as({ scope: 'admin-read-write' })('DELETE', '/pictures')).code, 'BucketNotEmpty');
  const bound = as({ paths: { prefixPaths: ['a/'], objectPaths: ['one'] } });
  t.equal((await bound('PUT', '/pictures/one', 'x')).status, 200);
  t.equal((await bound('PUT', '/pictures/a/c', 'x')).status, 200);
  t.equal((await bound('PUT', '/pictures/two', 'x')).code, 'AccessDenied');
  t.equal((await bound('GET', '/pictures?list-type=2&prefix=a/')).status, 200);
  t.equal((await bound('GET', '/pictures?list-type=2')).code, 'AccessDenied', 'a list of all');
  const administrator = as({ scope: 'admin-read-write', paths: { prefixPaths: ['a/'] } });
  const expireAll = '<LifecycleConfiguration><Rule><Filter/><Status>Enabled</Status><Expiration><Days>1</Days>';
  const rules = `${expireAll}</Expiration></Rule></LifecycleConfiguration>`;
  t.equal((await administrator('PUT', '/pictures?lifecycle', rules)).code, 'AccessDenied', 'rules for all keys');
  t.equal((await administrator('DELETE', '/pictures')).code, 'AccessDenied');
  const copy = { 'x-amz-copy-source': '/pictures/two' };
  t.equal((await bound('PUT', '/pictures/a/copy', '', copy)).code, 'AccessDenied', 'from elsewhere');
  const body = '<Delete><Object><Key>a/c</Key></Object><Object><Key>two</Key></Object></Delete>';
  const md5 = { 'content-md5': createHash('md5').update(body).digest('base64') };
  t.equal((await writer('PUT', '/pictures/two', 'x')).status, 200);
  const deleted = await bound('POST', '/pictures?delete=', body, md5);
  t.equal(deleted.status, 200);
  t.match(
    deleted.text,
    /<Deleted><Key>a\/c<\/Key><\/Deleted><Error><Key>two<\/Key><Code>AccessDenied<\/Code>/,
    'each for itself',
  );
  t.equal((await writer('GET', '/pictures/a/c')).code, 'NoSuchKey');
  t.equal((await writer('GET', '/pictures/two')).text, 'x');
  t.equal((await reader('POST', '/pictures?delete=', body, md5)).code, 'AccessDenied', 'who may not write at all');
  const named = as({ actions: ['GetObject'] });
  t.equal((await named('GET', '/pictures/a/b')).status, 200);
  t.equal((await named('PUT', '/pictures/a/b', 'x')).code, 'AccessDenied');

  const codeOf = async (claims: object, ...more: [string?, object?]) =>
    (await as(claims, ...more)('GET', '/pictures/a/b')).code;
  t.equal(await codeOf({ exp: now - 1 }), 'ExpiredToken');
  t.equal(await codeOf({ iat: now + 3600, exp: now + 7200 }), 'InvalidToken', 'of the future');
  t.equal(await codeOf({ exp: now + 604_802 }), 'InvalidToken', 'longer than a week');
  t.equal(await codeOf({ aud: 'elsewhere.test' }), 'InvalidToken');
  t.equal(await codeOf({ iss: 'f'.repeat(32) }), 'InvalidToken');
  t.equal(await codeOf({ scope: 'everything' }), 'InvalidToken');
  t.equal(await codeOf({ colour: 'red' }), 'InvalidToken', 'a claim that nobody knows');
  t.equal(await codeOf({ sub: 'f'.repeat(32) }), 'AccessDenied', 'another account');
  t.equal(await codeOf({}, '0'.repeat(64)), 'InvalidToken', 'another secret');
  t.equal(await codeOf({}, undefined, { alg: 'none' }), 'InvalidToken');
  t.equal(await codeOf({}, undefined, { alg: 'RS256' }), 'InvalidToken');
  const { sessionToken } = sign(usual);
  const unsigned = (sent: { headers: Record<string, string> }): void =>
    void (sent.headers['x-amz-security-token'] = sessionToken);
  t.equal((await send('GET', '/pictures/a/b', { change: unsigned })).code, 'AccessDenied', 'not signed');

  const found = await authenticateAccessKey(ctx, findAccessKey(ctx, credentials.accessKeyId)!, '127.0.0.1');
  if (!found.ok) throw new Error('the token is not accepted');
  const own = { ...ctx, actor: found.actor };
  const order = { bucket: 'pictures', parentAccessKeyId: credentials.accessKeyId, ttlSeconds: 60 };
  const wanted = { ...order, permission: 'object-read-write' as const };
  const made = await createTemporaryCredentials(own, account, wanted, `127.0.0.1:${port}`);
  const create = (more: object, by = own) =>
    createTemporaryCredentials(by, account, { ...wanted, ...more }, '127.0.0.1').catch(
      ({ key }: { key: string }) => key,
    );
  t.equal(await create({ bucket: 'none' }), 'buckets.missing');
  t.equal(await create({ parentAccessKeyId: 'f'.repeat(32) }), 'accounts.keyMissing');
  t.equal(await create({ parentAccessKeyId: (await makeKey({ kind: 'key' })).accessKeyId }), 'accounts.keyMissing');
  const watching = await makeKey({ readOnly: true });
  const watcher = await authenticateAccessKey(ctx, findAccessKey(ctx, watching.accessKeyId)!, '127.0.0.1');
  if (!watcher.ok) throw new Error('the token is not accepted');
  const watch = { ...ctx, actor: watcher.actor };
  t.equal(await create({}, watch), 'accounts.readOnly', 'what may only read gets no more by another token of its user');
  t.match(await create({ permission: 'object-read-only' }, watch), { accessKeyId: credentials.accessKeyId });
  const policy = { effect: 'allow' as const, resources: { [`com.cloudflare.api.account.${account}`]: '*' } };
  const groups = { permission_groups: [{ id: 'b4992e1108244f5d8bfbd5744320c2e1' }] };
  const few = await makeKey({ policies: [{ ...policy, ...groups }] });
  const reading = await authenticateAccessKey(ctx, findAccessKey(ctx, few.accessKeyId)!, '127.0.0.1');
  if (!reading.ok) throw new Error('the token is not accepted');
  const less = { ...ctx, actor: reading.actor };
  t.equal(await create({}, less), 'accounts.outOfScope', 'a parent that may do more than the actor');
  t.match(await create({ parentAccessKeyId: few.accessKeyId }, less), { accessKeyId: few.accessKeyId });
  const item = PERMISSION_GROUPS.find(({ name }) => name === 'Workers R2 Storage Bucket Item Read')!;
  const resources = { [`com.cloudflare.edge.r2.bucket.${account}_default_pictures`]: '*' };
  const one = await makeKey({ policies: [{ effect: 'allow', permission_groups: [{ id: item.id }], resources }] });
  const limited = await authenticateAccessKey(ctx, findAccessKey(ctx, one.accessKeyId)!, '127.0.0.1');
  if (!limited.ok) throw new Error('the token is not accepted');
  const narrow = { ...ctx, actor: limited.actor };
  const parentAccessKeyId = one.accessKeyId;
  t.match(await create({ parentAccessKeyId }, narrow), { accessKeyId: one.accessKeyId }, 'also one that may only read');
  const strange = await create({ parentAccessKeyId, bucket: 'none' }, narrow);
  await createBucket(ctx, account, { name: 'other', jurisdiction: 'default' });
  t.equal(strange, 'accounts.outOfScope', 'what it may comes before what there is');
  t.equal(
    await create({ parentAccessKeyId, bucket: 'other' }, narrow),
    strange,
    'so nobody learns which buckets there are',
  );
  const client = new S3Client({
    ...{ endpoint: url, region: 'auto', forcePathStyle: true, maxAttempts: 1 },
    credentials: made,
  });
  t.teardown(() => client.destroy());
  await client.send(new PutObjectCommand({ Bucket: 'pictures', Key: 'sdk', Body: 'x' }));
  const suspend = (value: number) =>
    ctx.store.write(() => ctx.store.prepare(`UPDATE users SET suspended = ${value}`).run());
  await suspend(1);
  t.equal((await writer('GET', '/pictures/sdk')).status, 403, 'the user of its parent is suspended');
  await suspend(0);
  t.equal((await writer('GET', '/pictures/sdk')).status, 200);
  await revokeKey(ctx, credentials.accessKeyId);
  t.equal((await writer('GET', '/pictures/a/b')).code, 'InvalidAccessKeyId', 'its parent is revoked');
});
