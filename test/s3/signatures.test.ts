/** Signatures of requests, made by libraries that are not ours, and everything that can be wrong with them. */
import { createHash } from 'node:crypto';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { AwsClient } from 'aws4fetch';
import t from 'tap';
import { authenticateAccessKey, findAccessKey } from '../../src/control/access/authentication.js';
import { revokeKey } from '../../src/control/access/keys.js';
import { secretAccessKeyOf } from '../../src/control/access/secret-access-keys.js';
import { rollToken } from '../../src/control/access/tokens.js';
import { type S3World, sendRaw, startS3World } from '../support/s3-door.js';

type Change = NonNullable<NonNullable<Parameters<S3World['send']>[2]>['change']>;

t.test('one changed octet anywhere in what is signed', async (t) => {
  const { send } = await startS3World(t);
  const headers = { 'x-amz-meta-colour': 'red  and blue', 'content-type': 'text/plain' };
  const path = '/pictures/a%20b?x-id=PutObject';
  const sent = { headers, body: 'some octets' };
  t.equal((await send('PUT', path, sent)).status, 200);
  const flip = (text: string, at: number): string => {
    const other = text[at] === 'b' ? 'c' : 'b';
    return text.slice(0, at) + other + text.slice(at + 1);
  };
  const changes: Record<string, Change> = {
    'the method': (sent) => void (sent.method = 'DELETE'),
    'the key': (sent) => void (sent.path = sent.path.replace('a%20b', 'a%20c')),
    'the bucket': (sent) => void (sent.path = sent.path.replace('pictures', 'picturez')),
    'a parameter': (sent) => void (sent.path = sent.path.replace('PutObject', 'PutObjecu')),
    'another parameter': (sent) => void (sent.path += '&acl'),
    metadata: (sent) => void (sent.headers['x-amz-meta-colour'] = 'red and bluf'),
    'the type': (sent) => void (sent.headers['content-type'] = 'text/html'),
    'the date': (sent) =>
      void (sent.headers['x-amz-date'] = sent.headers['x-amz-date']!.replace(
        /\dZ$/,
        (end) => `${(Number(end[0]) + 1) % 10}Z`,
      )),
    'the signature': (sent) =>
      void (sent.headers['authorization'] = flip(
        sent.headers['authorization']!,
        sent.headers['authorization']!.length - 3,
      )),
    'the digest': (sent) =>
      void (sent.headers['x-amz-content-sha256'] = flip(sent.headers['x-amz-content-sha256']!, 5)),
    'an extra header': (sent) => void (sent.headers['x-amz-acl'] = 'private'),
    'the region': (sent) =>
      void (sent.headers['authorization'] = sent.headers['authorization']!.replace('/auto/', '/auta/')),
  };
  for (const [name, change] of Object.entries(changes)) {
    const { status, code } = await send('PUT', path, { ...sent, change });
    t.ok(status === 403 && /^(SignatureDoesNotMatch|AccessDenied)$/.test(code ?? ''), `${name}: ${status} ${code}`);
  }
  const body = await send('PUT', '/pictures/new', { ...sent, change: (sent) => void sent.body.write('S') });
  t.equal(body.code, 'XAmzContentSHA256Mismatch', 'the body');
  t.equal((await send('GET', '/pictures/new')).code, 'NoSuchKey', 'and nothing was stored');
  const early = (sent: Parameters<Change>[0]): void => void (sent.headers['x-amz-meta-colour'] = 'red and blue');
  t.equal((await send('PUT', path, { ...sent, change: early })).status, 200, 'runs of blanks are one');
});

t.test('clocks, keys and mechanisms', async (t) => {
  const { send, port, credentials, ctx, makeKey, logged } = await startS3World(t);
  const at = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);
  t.equal((await send('GET', '/', { at: at(-16) })).code, 'RequestTimeTooSkewed');
  t.equal((await send('GET', '/', { at: at(16) })).code, 'RequestTimeTooSkewed');
  t.equal((await send('GET', '/', { at: at(-14) })).status, 200);
  t.equal((await send('GET', '/', { at: at(14) })).status, 200);
  const other = { ...credentials, secretAccessKey: '0'.repeat(64) };
  t.equal((await send('GET', '/', { credentials: other })).code, 'SignatureDoesNotMatch');
  const unknown = { ...credentials, accessKeyId: 'f'.repeat(32) };
  t.equal((await send('GET', '/', { credentials: unknown })).code, 'InvalidAccessKeyId');
  const key = await makeKey({ kind: 'key' });
  t.equal((await send('GET', '/', { credentials: key })).code, 'InvalidAccessKeyId', 'a key is not a token');
  const raw = (headers: Record<string, string>, path = '/') =>
    sendRaw(port, { method: 'GET', path, headers: { host: `127.0.0.1:${port}`, ...headers }, body: Buffer.alloc(0) });
  t.equal((await raw({})).code, 'AccessDenied', 'nobody');
  t.equal((await raw({ authorization: `AWS ${credentials.accessKeyId}:abc=` })).code, 'InvalidRequest', 'version 2');
  t.equal((await raw({}, '/?AWSAccessKeyId=a&Signature=b&Expires=1')).code, 'InvalidRequest');
  t.equal((await raw({ authorization: '' })).code, 'AccessDenied', 'an empty field is none');
  t.equal((await raw({ authorization: 'AWS4-HMAC-SHA256 nonsense' })).code, 'AuthorizationHeaderMalformed');
  const old = await makeKey({});
  await revokeKey(ctx, old.accessKeyId);
  t.equal((await send('GET', '/', { credentials: old })).code, 'InvalidAccessKeyId', 'revoked');
  const zoned = await makeKey({ zoneIds: [] });
  t.match((await send('GET', '/', { credentials: zoned })).text, /Roll the token/, 'a token for zones has no secret');
  t.notMatch(logged(), new RegExp(credentials.secretAccessKey), 'no secret is logged');
  t.notMatch(logged(), /Signature=[0-9a-f]/, 'and no signature');
});

t.test('a rolled token signs with the new value', async (t) => {
  const { send, ctx, makeKey } = await startS3World(t);
  const before = await makeKey({});
  t.equal((await send('GET', '/', { credentials: before })).status, 200);
  const found = await authenticateAccessKey(ctx, findAccessKey(ctx, before.accessKeyId)!, '127.0.0.1');
  t.ok(found.ok);
  if (!found.ok) return;
  const value = await rollToken({ ...ctx, actor: found.actor }, { user: true }, before.accessKeyId);
  t.equal((await send('GET', '/', { credentials: before })).code, 'SignatureDoesNotMatch');
  const after = { ...before, secretAccessKey: secretAccessKeyOf(value) };
  t.equal((await send('GET', '/', { credentials: after })).status, 200);
});

t.test('links', async (t) => {
  const { credentials, url, send, client } = await startS3World(t);
  await client.send(new PutObjectCommand({ Bucket: 'pictures', Key: 'ö ?+&.txt', Body: 'linked' }));
  const aws = new AwsClient({ ...credentials, service: 's3', region: 'auto' });
  const link = async (method: string, path: string, seconds = 60, datetime?: string): Promise<string> => {
    const signed = await aws.sign(`${url}${path}${path.includes('?') ? '&' : '?'}X-Amz-Expires=${seconds}`, {
      method,
      aws: { signQuery: true, ...(datetime !== undefined && { datetime }) },
    });
    return signed.url;
  };
  const key = encodeURIComponent('ö ?+&.txt');
  const got = await fetch(await link('GET', `/pictures/${key}?response-content-type=text/html`));
  t.same([got.status, await got.text(), got.headers.get('content-type')], [200, 'linked', 'text/html']);
  t.equal(got.headers.get('x-content-type-options'), 'nosniff');
  const put = await fetch(await link('PUT', '/pictures/uploaded'), { method: 'PUT', body: 'by link' });
  t.equal(put.status, 200);
  t.equal((await send('GET', '/pictures/uploaded')).text, 'by link');
  const codeOf = async (address: string, init?: RequestInit): Promise<string | undefined> =>
    /<Code>(\w+)/.exec(await (await fetch(address, init)).text())?.[1];
  t.equal(await codeOf(await link('GET', `/pictures/${key}`), { method: 'DELETE' }), 'SignatureDoesNotMatch');
  t.equal(await codeOf(`${await link('GET', `/pictures/${key}`)}&response-content-type=x`), 'SignatureDoesNotMatch');
  t.equal(await codeOf(await link('GET', `/pictures/${key}`), { headers: { 'x-amz-acl': 'private' } }), 'AccessDenied');
  const ago = (seconds: number): string =>
    new Date(Date.now() - seconds * 1000).toISOString().replace(/[-:]|\.\d+/g, '');
  t.equal(await codeOf(await link('GET', `/pictures/${key}`, 60, ago(61))), 'ExpiredRequest');
  t.equal(await codeOf(await link('GET', `/pictures/${key}`, 60, ago(-3600))), 'AccessDenied', 'not valid yet');
  t.equal(await codeOf(await link('GET', `/pictures/${key}`, 604_801)), 'AuthorizationQueryParametersError');
});

t.test('a library signs in headers with other spellings', async (t) => {
  const { credentials, url, send } = await startS3World(t);
  const aws = new AwsClient({ ...credentials, service: 's3', region: 'us-east-1' });
  for (const key of ['a b', "it's (new)!*", 'ü/ö', 'a+b', 'a%2Fb', '~tilde']) {
    const put = await aws.fetch(`${url}/pictures/${encodeURIComponent(key).replaceAll('%2F', '/')}`, {
      method: 'PUT',
      body: key,
    });
    t.equal(put.status, 200, key);
    const strict = encodeURIComponent(key).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
    t.equal((await send('GET', `/pictures/${strict.replaceAll('%2F', '/')}`)).text, key);
  }
});

t.test('streams: unsigned ones with a checksum behind them, as the SDK sends them', async (t) => {
  const { client, send } = await startS3World(t);
  const octets = Buffer.alloc(200_000, 'zoneplane');
  for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const) {
    if (ChecksumAlgorithm === 'CRC64NVME') continue;
    const input = { Bucket: 'pictures', Key: ChecksumAlgorithm, Body: octets, ChecksumAlgorithm };
    const { ETag } = await client.send(new PutObjectCommand(input));
    t.equal(ETag, `"${createHash('md5').update(octets).digest('hex')}"`, ChecksumAlgorithm);
    const got = await client.send(new GetObjectCommand({ Bucket: 'pictures', Key: ChecksumAlgorithm }));
    t.ok(Buffer.from(await got.Body!.transformToByteArray()).equals(octets));
  }
  const put = (headers: Record<string, string>, payload?: string, body = 'abc') =>
    send('PUT', '/pictures/checked', { headers, body, ...(payload !== undefined && { payload }) });
  t.equal((await put({ 'x-amz-checksum-crc32': 'NSRBwg==' })).status, 200);
  t.equal((await put({ 'x-amz-checksum-crc32': 'NSRBwQ==' })).code, 'BadDigest');
  t.equal((await put({ 'x-amz-checksum-crc64nvme': 'BeXKuz/B+us=' })).status, 200);
  t.equal((await put({ 'x-amz-checksum-crc32': 'short' })).code, 'InvalidRequest');
  t.equal((await put({ 'content-md5': 'kAFQmDzST7DWlj99KOF/cg==' })).status, 200);
  t.equal((await put({ 'content-md5': 'kAFQmDzST7DWlj99KOF/cQ==' })).code, 'BadDigest');
  t.equal((await put({ 'content-md5': 'nonsense' })).code, 'InvalidDigest');
  const two = { 'x-amz-checksum-crc32': 'NSRBwg==', 'x-amz-checksum-sha1': 'qZk+NkcGgWq6PiVxeFDCbJzQ2J0=' };
  t.equal((await put(two)).code, 'InvalidRequest', 'two checksums');
  const unsigned = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
  const trailer = { 'x-amz-trailer': 'x-amz-checksum-crc32', 'x-amz-decoded-content-length': '3' };
  const body = (value: string) => `3\r\nabc\r\n0\r\nx-amz-checksum-crc32:${value}\r\n\r\n`;
  t.equal((await put(trailer, unsigned, body('NSRBwg=='))).status, 200);
  t.equal((await put(trailer, unsigned, body('NSRBwQ=='))).code, 'BadDigest');
  t.equal((await put(trailer, unsigned, '3\r\nabc\r\n0\r\n\r\n')).code, 'MalformedTrailerError', 'it is missing');
  const both = { ...trailer, 'x-amz-checksum-crc32': 'NSRBwg==' };
  t.equal((await put(both, unsigned, body('NSRBwg=='))).code, 'InvalidRequest', 'in the head, too');
  const lies = { ...trailer, 'x-amz-decoded-content-length': '4' };
  t.equal((await put(lies, unsigned, body('NSRBwg=='))).code, 'IncompleteBody');
  const long = { ...trailer, 'x-amz-decoded-content-length': '2' };
  t.equal((await put(long, unsigned, body('NSRBwg=='))).code, 'IncompleteBody');
  const none = { 'x-amz-trailer': 'x-amz-checksum-crc32' };
  t.equal((await put(none, unsigned, body('NSRBwg=='))).code, 'MissingContentLength');
  t.equal((await put({}, 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD')).code, 'NotImplemented');
  t.equal((await put({}, 'UNSIGNED-PAYLOAD')).status, 200, 'over loopback');
  t.equal((await put({}, 'nonsense')).code, 'InvalidRequest');
  t.equal((await send('GET', '/pictures/checked')).text, 'abc');
});
