/** Operations of the S3 API by the SDK and by hand: objects, conditions, copies, lists, deletions, and what is not implemented. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { createBucket, deleteBucket } from '../../src/bucket/buckets.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { revokeKey } from '../../src/control/access/keys.js';
import { sendRaw, startS3World } from '../support/s3-door.js';
import { until } from '../support/until.js';

const Bucket = 'pictures';
const codeOf = async (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'done',
    (error: { name: string }) => error.name,
  );

t.test('objects, their metadata and parts of them', async (t) => {
  const { client, send } = await startS3World(t);
  const Key = 'a//b/../c/';
  const put = new PutObjectCommand({
    ...{ Bucket, Key, Body: 'hello world', ContentType: 'text/plain', CacheControl: 'no-cache' },
    ...{ ContentEncoding: 'identity', Metadata: { colour: 'red', 'two-words': 'a b' }, StorageClass: 'STANDARD_IA' },
  });
  const { ETag } = await client.send(put);
  const got = await client.send(new GetObjectCommand({ Bucket, Key }));
  t.equal(await got.Body!.transformToString(), 'hello world');
  t.match(got, { ETag, ContentType: 'text/plain', CacheControl: 'no-cache', ContentLength: 11, AcceptRanges: 'bytes' });
  t.match(got, { Metadata: { colour: 'red', 'two-words': 'a b' }, ContentEncoding: 'identity' });
  t.equal(got.StorageClass, 'STANDARD_IA');
  const head = await client.send(new HeadObjectCommand({ Bucket, Key }));
  t.match(head, { ETag, ContentLength: 11, Metadata: { colour: 'red' } });
  const part = await client.send(new GetObjectCommand({ Bucket, Key, Range: 'bytes=6-' }));
  t.same([await part.Body!.transformToString(), part.ContentRange], ['world', 'bytes 6-10/11']);
  t.equal(await codeOf(client.send(new GetObjectCommand({ Bucket, Key, Range: 'bytes=11-' }))), 'InvalidRange');
  const several = await send('GET', '/pictures/a//b/../c/', { headers: { range: 'bytes=0-0,2-2' } });
  t.same([several.status, several.text], [200, 'hello world'], 'several ranges are the whole');
  t.equal(
    await codeOf(client.send(new GetObjectCommand({ Bucket, Key: 'a/b/c/' }))),
    'NoSuchKey',
    'paths stay as they are',
  );
  t.equal(await codeOf(client.send(new HeadObjectCommand({ Bucket, Key: 'none' }))), 'NotFound');
  const attributes = { Bucket, Key, ObjectAttributes: ['ETag' as const, 'ObjectSize' as const] };
  t.match(await client.send(new GetObjectAttributesCommand(attributes)), { ETag: ETag!.slice(1, -1), ObjectSize: 11 });
  const empty = await client.send(new PutObjectCommand({ Bucket, Key: 'empty', Body: '' }));
  t.equal(empty.ETag, '"d41d8cd98f00b204e9800998ecf8427e"');
  const none = await client.send(new GetObjectCommand({ Bucket, Key: 'empty' }));
  t.equal(await none.Body!.transformToString(), '');
  const words = { 'x-amz-meta-who': '=?UTF-8?B?SsO8cmdlbg==?=', 'x-amz-meta-plain': 'x' };
  t.equal((await send('PUT', '/pictures/words', { headers: words })).status, 200);
  const { headers } = await send('HEAD', '/pictures/words');
  t.match(headers, { 'x-amz-meta-who': '=?UTF-8?B?SsO8cmdlbg==?=', 'x-amz-meta-plain': 'x' });
  const large = { 'x-amz-meta-a': 'x'.repeat(8193) };
  t.equal((await send('PUT', '/pictures/words', { headers: large })).code, 'MetadataTooLarge');
});

t.test('keys of all kinds', async (t) => {
  const { send } = await startS3World(t);
  const keys = [
    '/',
    '//',
    '.',
    '..',
    'a/./b',
    '../../etc/passwd',
    '%2F',
    '%',
    'a b+c&d=e?f#g',
    'ü\u0301',
    '😀',
    '\u0001\n',
    'x'.repeat(1024),
  ];
  for (const key of keys) {
    const path = `/pictures/${encodeURIComponent(key)}`;
    t.equal((await send('PUT', path, { body: key })).status, 200, JSON.stringify(key).slice(0, 30));
    t.equal((await send('GET', path)).text, key);
  }
  t.equal((await send('PUT', `/pictures/${'x'.repeat(1025)}`)).code, 'KeyTooLongError');
  t.equal((await send('PUT', `/pictures/${encodeURIComponent('ü'.repeat(513))}`)).code, 'KeyTooLongError');
  t.equal((await send('PUT', '/pictures/%ff')).code, 'InvalidURI', 'no UTF-8');
  t.equal((await send('PUT', '/pictures/%zz')).code, 'InvalidURI');
  const list = await send('GET', '/pictures?list-type=2&encoding-type=url');
  const listed = [...list.text.matchAll(/<Key>([^<]*)</g)].map(([, key]) => decodeURIComponent(key!));
  const order = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.same(listed, order, 'in the order of their octets');
  t.match((await send('GET', '/pictures?list-type=2')).text, /<Key>&#x1;&#xa;<\/Key>/);
});

t.test('conditions', async (t) => {
  const { client, send } = await startS3World(t);
  const { ETag } = await client.send(new PutObjectCommand({ Bucket, Key: 'k', Body: '1' }));
  const get = (headers: Record<string, string>) => send('GET', '/pictures/k', { headers }).then(({ status }) => status);
  t.equal(await get({ 'if-match': ETag! }), 200);
  t.equal(await get({ 'if-match': '"other"' }), 412);
  t.equal(await get({ 'if-none-match': ETag! }), 304);
  t.equal(await get({ 'if-modified-since': new Date(Date.now() + 5000).toUTCString() }), 304);
  t.equal(await get({ 'if-unmodified-since': new Date(0).toUTCString() }), 412);
  const put = (headers: Record<string, string>, key = 'k') =>
    send('PUT', `/pictures/${key}`, { headers, body: '2' }).then(({ status }) => status);
  t.equal(await put({ 'if-none-match': '*' }), 412);
  t.equal(await put({ 'if-match': '"other"' }), 412);
  t.equal(await put({ 'if-match': ETag! }), 200);
  t.equal(await put({ 'if-match': ETag! }, 'none'), 412, 'what is not there has no tag');
  const winners = await Promise.all(Array.from({ length: 64 }, () => put({ 'if-none-match': '*' }, 'raced')));
  t.equal(winners.filter((status) => status === 200).length, 1, 'exactly one of 64 writers wins');
  t.equal(winners.filter((status) => status === 412).length, 63);
  const remove = (headers: Record<string, string>) =>
    send('DELETE', '/pictures/k', { headers }).then((answer) => answer.status);
  t.equal(await remove({ 'if-match': ETag! }), 412);
  t.equal(await remove({ 'if-match': '*' }), 204);
  t.equal(await remove({}), 204, 'again');
});

t.test('copies', async (t) => {
  const { client, send } = await startS3World(t);
  const Metadata = { colour: 'red' };
  await client.send(
    new PutObjectCommand({ Bucket, Key: 'ä +.txt', Body: 'copied', Metadata, ContentType: 'text/plain' }),
  );
  const source = `/pictures/${encodeURIComponent('ä +.txt')}`;
  const { CopyObjectResult } = await client.send(new CopyObjectCommand({ Bucket, Key: 'to', CopySource: source }));
  const got = await client.send(new GetObjectCommand({ Bucket, Key: 'to' }));
  t.match(got, { ETag: CopyObjectResult!.ETag, Metadata, ContentType: 'text/plain' });
  t.equal(await got.Body!.transformToString(), 'copied');
  const copy = (headers: Record<string, string>, to = 'to', from = source) =>
    send('PUT', `/pictures/${to}`, { headers: { 'x-amz-copy-source': from, ...headers } });
  t.equal((await copy({ 'x-amz-metadata-directive': 'REPLACE', 'x-amz-meta-a': 'b' })).status, 200);
  t.match((await send('HEAD', '/pictures/to')).headers, { 'x-amz-meta-a': 'b', 'x-amz-meta-colour': undefined });
  t.equal((await copy({}, 'to', '/pictures/to')).code, 'InvalidRequest', 'onto itself');
  t.equal((await copy({ 'x-amz-metadata-directive': 'REPLACE' }, 'to', 'pictures/to')).status, 200);
  t.equal((await copy({ 'x-amz-copy-source-if-match': '"other"' })).code, 'PreconditionFailed');
  for (const prefix of ['cf-copy-destination-', '']) {
    t.equal((await copy({ [`${prefix}if-none-match`]: '*' })).code, 'PreconditionFailed', prefix);
    t.equal((await copy({ [`${prefix}if-match`]: '"other"' })).code, 'PreconditionFailed', prefix);
  }
  t.equal((await copy({}, 'to', '/pictures/none')).code, 'NoSuchKey');
  t.equal((await copy({}, 'to', '/nowhere/none')).code, 'NoSuchBucket');
  t.equal((await copy({}, 'to', `${source}?versionId=1`)).code, 'NotImplemented');
  t.equal((await copy({}, 'to', 'nothing')).code, 'InvalidArgument');
});

t.test('lists, page by page', async (t) => {
  const { client, send, ctx, objects } = await startS3World(t);
  await createBucket(ctx, undefined, { name: 'many', jurisdiction: 'default' });
  const names = Array.from({ length: 25 }, (_, i) => `dir${i % 5}/file${String(i).padStart(2, '0')}`).concat(
    'top',
    'zoo',
  );
  for (const Key of names) await client.send(new PutObjectCommand({ Bucket: 'many', Key, Body: Key }));
  const pages: string[][] = [];
  for (let ContinuationToken: string | undefined, more = true; more && pages.length < 20; ) {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: 'many', MaxKeys: 3, Delimiter: '/', ContinuationToken }),
    );
    const found = [
      ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix!),
      ...(page.Contents ?? []).map(({ Key }) => Key!),
    ];
    t.equal(page.KeyCount, found.length);
    pages.push(found);
    more = page.IsTruncated!;
    ContinuationToken = page.NextContinuationToken;
    t.equal(ContinuationToken !== undefined, more);
  }
  t.same(pages.flat(), ['dir0/', 'dir1/', 'dir2/', 'dir3/', 'dir4/', 'top', 'zoo']);
  const old: string[] = [];
  for (let Marker = '', more = true, i = 0; more && i < 20; i++) {
    const page = await client.send(new ListObjectsCommand({ Bucket: 'many', MaxKeys: 2, Delimiter: '/', Marker }));
    old.push(
      ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix!),
      ...(page.Contents ?? []).map(({ Key }) => Key!),
    );
    more = page.IsTruncated!;
    if (more) Marker = page.NextMarker!;
  }
  t.same(old, ['dir0/', 'dir1/', 'dir2/', 'dir3/', 'dir4/', 'top', 'zoo'], 'version 1 repeats no group');
  const all = await client.send(new ListObjectsCommand({ Bucket: 'many', Prefix: 'dir1/', Marker: 'dir1/file06' }));
  t.same(
    all.Contents!.map(({ Key }) => Key),
    ['dir1/file11', 'dir1/file16', 'dir1/file21'],
  );
  t.ok(all.Contents![0]!.Owner!.ID);
  const none = await send('GET', '/many?list-type=2&max-keys=0');
  t.match(none.text, /<KeyCount>0<\/KeyCount><IsTruncated>false/);
  const first = await send('GET', '/many?list-type=2&max-keys=1');
  const token = encodeURIComponent(/<NextContinuationToken>([^<]+)/.exec(first.text)![1]!);
  t.equal((await send('GET', `/many?list-type=2&continuation-token=${token}`)).status, 200);
  t.equal((await send('GET', `/many?list-type=2&prefix=dir&continuation-token=${token}`)).code, 'InvalidArgument');
  t.equal(
    (await send('GET', '/many?list-type=2&continuation-token=')).status,
    200,
    'an empty token is that of the first page',
  );
  t.equal((await send('GET', '/many?list-type=2&continuation-token=nonsense')).code, 'InvalidArgument');
  t.equal((await send('GET', '/many?list-type=2&max-keys=-1')).code, 'InvalidArgument');
  t.equal((await send('GET', '/many?encoding-type=zip')).code, 'InvalidArgument');
  const { Buckets, Owner } = await client.send(new ListBucketsCommand({}));
  t.same(
    Buckets!.map(({ Name }) => Name),
    ['many', 'pictures'],
  );
  t.match(Owner!.ID, /^[0-9a-f]{32}$/);
  const few = await send('GET', '/?max-keys=1');
  t.equal(few.headers['cf-is-truncated'], 'true');
  const next = await send('GET', `/?continuation-token=${few.headers['cf-next-continuation-token']}`);
  t.match(next.text, /<Name>pictures</);
  t.ok(objects.openCount() === 0);
});

t.test('deletions of many', async (t) => {
  const { client, send } = await startS3World(t);
  for (const Key of ['a', 'b<&>"', 'c']) await client.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
  const Objects = [
    { Key: 'a' },
    { Key: 'b<&>"' },
    { Key: 'none' },
    { Key: 'y'.repeat(1025) },
    { Key: 'c', VersionId: '1' },
  ];
  const result = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
  t.same(
    result.Deleted!.map(({ Key }) => Key),
    ['a', 'b<&>"', 'none'],
  );
  t.same(
    result.Errors!.map(({ Code }) => Code),
    ['KeyTooLongError', 'NotImplemented'],
  );
  t.same(
    (await client.send(new ListObjectsV2Command({ Bucket }))).Contents!.map(({ Key }) => Key),
    ['c'],
  );
  const quiet = await client.send(
    new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'c' }], Quiet: true } }),
  );
  t.equal(quiet.Deleted, undefined);
  const post = (body: string, headers: Record<string, string> = { 'x-amz-checksum-crc32': crc(body) }) =>
    send('POST', '/pictures?delete=', { body, headers });
  const plain = '<Delete><Object><Key>a</Key></Object></Delete>';
  t.equal((await post(plain)).status, 200);
  t.equal((await post(plain, {})).code, 'InvalidRequest', 'without a checksum');
  t.equal((await post(`<!DOCTYPE x [<!ENTITY e "1">]>${plain}`)).code, 'MalformedXML', 'a document type');
  t.equal((await post(`${'<a>'.repeat(5000)}${'</a>'.repeat(5000)}`)).code, 'MalformedXML', 'deep');
  t.equal((await post('<Delete></Delete>')).code, 'MalformedXML', 'nothing');
  t.equal((await post('<Delete><Object>')).code, 'MalformedXML', 'not whole');
  t.equal((await post('<Other/>')).code, 'MalformedXML');
  t.equal((await post('')).code, 'MalformedXML');
  const many = `<Delete>${'<Object><Key>a</Key></Object>'.repeat(1001)}</Delete>`;
  t.equal((await post(many)).code, 'MalformedXML', 'more than 1000');
  const named =
    '<s3:Delete xmlns:s3="http://s3.amazonaws.com/doc/2006-03-01/"><s3:Object><s3:Other>x</s3:Other><s3:Key>a&amp;&#98;</s3:Key></s3:Object></s3:Delete>';
  t.match((await post(named)).text, /<Deleted><Key>a&amp;b</, 'with a prefix, and elements that are unknown');
  t.equal((await post('x'.repeat(3 << 20))).code, 'MalformedXML', 'large');
});

/** CRC-32 in base64. */
function crc(text: string): string {
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(crc32(text));
  return octets.toString('base64');
}

t.test('buckets, and what is not implemented', async (t) => {
  const { client, send, port } = await startS3World(t);
  await client.send(new CreateBucketCommand({ Bucket: 'new-one' }));
  t.equal(await codeOf(client.send(new CreateBucketCommand({ Bucket: 'new-one' }))), 'BucketAlreadyOwnedByYou');
  t.equal(await codeOf(client.send(new CreateBucketCommand({ Bucket: 'No' }))), 'InvalidBucketName');
  t.equal((await client.send(new GetBucketLocationCommand({ Bucket }))).LocationConstraint, 'auto');
  await client.send(new PutObjectCommand({ Bucket, Key: 'kept', Body: 'kept' }));
  t.equal(await codeOf(client.send(new DeleteBucketCommand({ Bucket }))), 'BucketNotEmpty');
  await client.send(new DeleteBucketCommand({ Bucket: 'new-one' }));
  t.equal(await codeOf(client.send(new DeleteBucketCommand({ Bucket: 'new-one' }))), 'NoSuchBucket');
  for (const sub of ['tagging', 'retention', 'legal-hold', 'versionId=1', 'restore', 'torrent', 'select', 'policy']) {
    const [name, value = ''] = sub.split('=');
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
      const { status, code } = await send(method, `/pictures/kept?${name}=${value}`, {
        body: method === 'PUT' ? 'x' : '',
      });
      if (`${method} ${sub}` === 'GET tagging') continue;
      t.same([status, code], [501, 'NotImplemented'], `${method} ${sub}`);
    }
  }
  for (const sub of [
    'policy',
    'website',
    'replication',
    'notification',
    'versions',
    'object-lock',
    'publicAccessBlock',
  ]) {
    for (const method of ['GET', 'PUT', 'DELETE']) t.equal((await send(method, `/pictures?${sub}=`)).status, 501, sub);
  }
  t.match((await send('GET', '/pictures/kept?tagging=')).text, /<Tagging [^>]+><TagSet><\/TagSet><\/Tagging>/);
  t.equal((await send('GET', '/pictures/none?tagging=')).code, 'NoSuchKey');
  t.equal((await send('PUT', '/pictures/kept?partNumber=1', { body: 'x' })).code, 'NotImplemented');
  t.equal((await send('POST', '/pictures', { body: 'x' })).code, 'NotImplemented', 'a form');
  t.equal((await send('PATCH', '/pictures/kept')).status, 405);
  for (const header of [
    'x-amz-tagging',
    'x-amz-server-side-encryption-customer-algorithm',
    'x-amz-grant-read',
    'x-amz-object-lock-mode',
  ]) {
    t.equal((await send('PUT', '/pictures/kept', { headers: { [header]: 'a' } })).status, 501, header);
  }
  t.equal((await send('PUT', '/pictures/kept', { headers: { 'x-amz-acl': 'public-read' } })).status, 501);
  t.equal(
    (await send('PUT', '/pictures/kept', { headers: { 'x-amz-expected-bucket-owner': '1' } })).code,
    'AccessDenied',
  );
  t.equal((await send('GET', '/pictures/kept')).text, 'kept', 'none of them has done anything');
  t.match(
    (await send('GET', '/pictures?versioning=')).text,
    /<VersioningConfiguration [^>]*><\/VersioningConfiguration>/,
  );
  t.match((await send('GET', '/pictures?acl=')).text, /FULL_CONTROL/);
  t.equal((await send('PUT', '/pictures?acl=', { headers: { 'x-amz-acl': 'private' } })).status, 200);
  t.equal((await send('HEAD', '/nowhere')).status, 404);
  t.equal((await send('HEAD', '/nowhere')).text, '');
  const host = { host: 'pictures.s3.test' };
  const styled = await send('GET', '/kept', { headers: host });
  t.equal(styled.text, 'kept', 'the bucket as a host');
  const twice = await sendRaw(port, {
    method: 'GET',
    path: 'http://a/',
    headers: { host: 'a' },
    body: Buffer.alloc(0),
  });
  t.equal(twice.code, 'InvalidURI');
});

t.test('who may do what', async (t) => {
  const { send, ctx, makeKey } = await startS3World(t);
  const account = await createAccount(ctx, { name: 'Neighbour' });
  await createBucket(ctx, account.id, { name: 'foreign', jurisdiction: 'default' });
  await createBucket(ctx, undefined, { name: 'other', jurisdiction: 'default' });
  t.equal((await send('GET', '/foreign')).code, 'NoSuchBucket', 'foreign is as missing');
  t.equal((await send('GET', '/missing')).code, 'NoSuchBucket');
  const reader = await makeKey({ readOnly: true });
  t.equal((await send('GET', '/pictures', { credentials: reader })).status, 200);
  t.equal((await send('PUT', '/pictures/a', { credentials: reader })).code, 'AccessDenied');
  t.equal((await send('DELETE', '/pictures/a', { credentials: reader })).code, 'AccessDenied');
  const home = /<ID>([0-9a-f]{32})/.exec((await send('GET', '/')).text)![1]!;
  const item = await makeKey({
    policies: [
      {
        effect: 'allow',
        permission_groups: [{ id: '2efd5506f9c8494dacb1fa10a3e7d5b6' }],
        resources: { [`com.cloudflare.edge.r2.bucket.${home}_default_pictures`]: '*' },
      },
    ],
  });
  const as = { credentials: item };
  t.equal((await send('PUT', '/pictures/a', { ...as, body: 'x' })).status, 200);
  t.equal((await send('GET', '/pictures/a', as)).text, 'x');
  t.equal((await send('GET', '/other', as)).code, 'AccessDenied');
  t.equal((await send('GET', '/nowhere', as)).code, 'AccessDenied', 'as another bucket of the account');
  t.equal((await send('DELETE', '/pictures', as)).code, 'AccessDenied');
  t.same(
    [...(await send('GET', '/', as)).text.matchAll(/<Name>([^<]+)/g)].map(([, name]) => name),
    ['pictures'],
  );
  const copy = { headers: { 'x-amz-copy-source': '/other/x' } };
  t.equal((await send('PUT', '/pictures/b', { ...as, ...copy })).code, 'AccessDenied', 'from where it may not read');
});

t.test('what is committed between the check of a request and its write counts', async (t) => {
  const { ctx, objects, makeKey, send } = await startS3World(t);
  const { put } = objects;
  let between = async (_id: string): Promise<unknown> => undefined;
  let id = '';
  Object.assign(objects, {
    put: async (...place: Parameters<typeof put>) => {
      await between(id);
      return put(...place);
    },
  });
  const outcomeOf = async (during: typeof between): Promise<string | number> => {
    between = async () => undefined;
    const credentials = await makeKey({});
    id = credentials.accessKeyId;
    // Its use is noted.
    await send('GET', '/', { credentials });
    between = during;
    const { status, code } = await send('PUT', `/${Bucket}/between`, { credentials, body: 'x' });
    return code ?? status;
  };
  t.equal(await outcomeOf(async () => undefined), 200);
  t.equal(await outcomeOf(() => createBucket(ctx, undefined, { name: 'another', jurisdiction: 'default' })), 200);
  t.match(await outcomeOf((key) => revokeKey(ctx, key)), /InvalidAccessKeyId|AccessDenied/);
});

/** Time stands still between two pieces of a body, so that nobody looks at the token while it comes. */
class StillClock extends SystemClock {
  override steadyUs(): number {
    return 0;
  }
}

t.test('a bucket is not made with a token that was revoked meanwhile', async (t) => {
  const { ctx, makeKey, send, port } = await startS3World(t, { clock: new StillClock() });
  const body = '<CreateBucketConfiguration><LocationConstraint>auto</LocationConstraint></CreateBucketConfiguration>';
  /** `during`: when the server has asked for the body, and so has admitted the caller. */
  const make = async (name: string, during: (accessKeyId: string) => Promise<unknown>): Promise<number> => {
    const credentials = await makeKey({});
    let headers: Record<string, string> = {};
    const change = (signed: { path: string; headers: Record<string, string> }): void => {
      headers = { ...signed.headers, 'content-length': String(body.length), expect: '100-continue' };
      signed.path += 'x';
    };
    await send('PUT', `/${name}`, { credentials, body, change });
    const request = httpRequest({ host: '127.0.0.1', port, method: 'PUT', path: `/${name}`, headers, agent: false });
    const answered = once(request, 'response') as Promise<[IncomingMessage]>;
    request.flushHeaders();
    await once(request, 'continue');
    await during(credentials.accessKeyId);
    request.end(body);
    const [response] = await answered;
    response.resume();
    return response.statusCode!;
  };
  t.equal(await make('kept', async () => {}), 200);
  t.equal(await make('revoked', (id) => revokeKey(ctx, id)), 403);
  t.equal((await send('HEAD', '/revoked')).status, 404);
});

t.test('while a body comes', async (t) => {
  const world = await startS3World(t);
  const { ctx, objects, makeKey, clientFor, send, port } = world;
  const { put } = objects;
  let admitted = Promise.withResolvers<void>();
  Object.assign(objects, {
    put: (...place: Parameters<typeof put>) => {
      admitted.resolve();
      return put(...place);
    },
  });
  const upload = async (key: string, during: (accessKeyId: string) => Promise<unknown>): Promise<string> => {
    const credentials = await makeKey({});
    const client = clientFor(credentials);
    admitted = Promise.withResolvers();
    async function* slow(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(100_000, 1);
      // The client asks for more before it has sent that.
      await admitted.promise;
      await during(credentials.accessKeyId);
      yield Buffer.alloc(100_000, 2);
    }
    const Body = Readable.from(slow());
    return codeOf(client.send(new PutObjectCommand({ Bucket, Key: key, Body, ContentLength: 200_000 })));
  };
  t.equal(await upload('kept', async () => {}), 'done');
  t.match(
    await upload('revoked', (id) => revokeKey(ctx, id)),
    /InvalidAccessKeyId|AccessDenied/,
    'its token is revoked',
  );
  t.equal((await send('GET', '/pictures/revoked')).code, 'NoSuchKey');
  await send('DELETE', '/pictures/kept');
  const again = async (): Promise<void> => {
    await deleteBucket(ctx, undefined, Bucket, 'default');
    await createBucket(ctx, undefined, { name: Bucket, jurisdiction: 'default' });
  };
  t.equal(await upload('gone', again), 'NoSuchBucket', 'its bucket is another one of the same name');
  t.equal((await send('GET', '/pictures/gone')).code, 'NoSuchKey');
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    `PUT /pictures/x HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n`,
  );
  let answer = '';
  socket.on('data', (piece) => (answer += piece));
  await until(() => answer.includes('</Error>'));
  t.match(answer, /^HTTP\/1.1 403 /, 'nobody is asked for a body that is not wanted');
  socket.destroy();
});
