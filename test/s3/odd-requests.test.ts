/** Requests that no client of good will sends: documents that grow, keys that are none, lengths that lie, forged tokens, races. */
import { createHash, createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import t from 'tap';
import { authenticateAccessKey, findAccessKey } from '../../src/control/access/authentication.js';
import { rollToken } from '../../src/control/access/tokens.js';
import type { Authorization } from '../../src/s3/signature/authorization.js';
import { requireTimely } from '../../src/s3/signature/verify.js';
import { startS3World } from '../support/s3-door.js';
import { until } from '../support/until.js';

const Bucket = 'pictures';
const world = await startS3World(t);
const { send, client, credentials, port } = world;

const post = (body: string | Buffer, path = '/pictures?delete=') => {
  const md5 = createHash('md5').update(body).digest('base64');
  return send('POST', path, { body, headers: { 'content-md5': md5 } });
};
const keysOf = async (): Promise<string[]> => {
  const { text } = await send('GET', '/pictures?encoding-type=url');
  return [...text.matchAll(/<Key>([^<]*)/g)].map(([, key]) => decodeURIComponent(key!));
};

t.test('documents that are made to be large, deep, or another one', async (t) => {
  await client.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'kept' }));
  await client.send(new PutObjectCommand({ Bucket, Key: '\ufffd', Body: 'kept' }));
  const object = '<Object><Key>a</Key></Object>';
  const laughs = Array.from({ length: 9 }, (_, i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(10)}">`).join('');
  const documents: Record<string, string | Buffer> = {
    'entities of entities': `<!DOCTYPE d [<!ENTITY e0 "ha">${laughs}]><Delete><Object><Key>&e9;</Key></Object></Delete>`,
    'an entity of a file': `<!DOCTYPE d [<!ENTITY f SYSTEM "file:///etc/passwd">]><Delete><Object><Key>&f;</Key></Object></Delete>`,
    'an entity that nobody declared': '<Delete><Object><Key>&f;</Key></Object></Delete>',
    'many elements': `<Delete>${object}${'<a/>'.repeat(100_000)}</Delete>`,
    'many of them open': '<a>'.repeat(600_000),
    'many angles': `<Delete>${'<'.repeat(2_000_000)}`,
    'many attributes': `<Delete><Object ${Array.from({ length: 100_000 }, (_, i) => `a${i}="b"`).join(' ')}><Key>a</Key></Object></Delete>`,
    'a long text': `<Delete><Object><Key>a</Key>${' '.repeat(2_000_000)}</Object></Delete>`,
    'a long text beside': `<Delete>${object}${' '.repeat(2_000_000)}</Delete>`,
    'deep ones': `<Delete>${object}${'<a>'.repeat(20)}${'</a>'.repeat(20)}</Delete>`,
    'two roots': `<Delete>${object}</Delete><Delete>${object}</Delete>`,
    'half of a character': '<Delete><Object><Key>&#xd800;</Key></Object></Delete>',
    'octets that are not UTF-8': Buffer.concat([
      Buffer.from('<Delete><Object><Key>'),
      Buffer.from([0xff]),
      Buffer.from('</Key></Object></Delete>'),
    ]),
    'another encoding': Buffer.from(`<?xml version="1.0" encoding="UTF-16"?><Delete>${object}</Delete>`, 'utf16le'),
  };
  for (const [name, document] of Object.entries(documents)) {
    const { status, code } = await post(document);
    t.same([status, code], [400, 'MalformedXML'], name);
  }
  t.strictSame(await keysOf(), ['a', '\ufffd'], 'nothing was deleted');
  const inside = `<Delete><!-- ${object} --><Object><Key><![CDATA[<no>]]></Key></Object></Delete>`;
  t.match((await post(inside)).text, '<Deleted><Key>&lt;no&gt;</Key></Deleted>', 'comments and sections of text');
  await post('<Delete><Object><Key>a</Key></Object><Object><Key>\ufffd</Key></Object></Delete>');
});

t.test('odd keys, through every operation', async (t) => {
  const keys = [
    '..',
    '/a',
    'a//b',
    'a/./b',
    'nul\0',
    ' both  ',
    'a+b',
    'a b',
    '%2F',
    '%25',
    'q?',
    'h#i',
    '\r\n',
    'ü'.repeat(512),
  ];
  const encode = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
  const inXml = (text: string): string => text.replace(/[&<>\0-\x20]/g, (found) => `&#${found.charCodeAt(0)};`);
  const place = (key: string): string => `/pictures/${encode(key)}`;
  const order = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const statusesOf = async (work: (key: string) => Promise<{ status: number }>): Promise<number[]> => [
    ...new Set((await Promise.all(keys.map(work))).map(({ status }) => status)),
  ];
  t.strictSame(await statusesOf((key) => send('PUT', place(key), { body: key })), [200]);
  t.strictSame(await keysOf(), order, 'listed');
  for (const key of keys) {
    const found = await send('GET', `/pictures?list-type=2&max-keys=1&encoding-type=url&prefix=${encode(key)}`);
    t.match(found.text, `<Key>${encode(key).replaceAll('%2F', '/')}</Key>`, 'by its beginning');
  }
  const other = (key: string): string => `${key.slice(1)}c`;
  const copy = (key: string) => ({ headers: { 'x-amz-copy-source': place(key) } });
  t.strictSame(await statusesOf((key) => send('PUT', place(other(key)), copy(key))), [200], 'copied');
  for (const key of keys) t.equal((await send('GET', place(other(key)))).text, key);
  for (const key of ['../ +%2F', 'nul\0']) {
    const begun = await send('POST', `${place(key)}?uploads=`);
    const id = /<UploadId>([^<]+)/.exec(begun.text)![1]!;
    const { headers } = await send('PUT', `${place(key)}?partNumber=1&uploadId=${id}`, { body: 'in parts' });
    const part = `<Part><PartNumber>1</PartNumber><ETag>${headers.etag}</ETag></Part>`;
    const body = `<CompleteMultipartUpload>${part}</CompleteMultipartUpload>`;
    t.equal((await send('POST', `${place(key)}?uploadId=${id}`, { body })).status, 200, 'in parts');
    t.equal((await send('GET', place(key))).text, 'in parts');
  }
  const objects = (await keysOf()).map((each) => `<Object><Key>${inXml(each)}</Key></Object>`);
  t.equal((await post(`<Delete>${objects.join('')}</Delete>`)).code, 'MalformedXML', 'XML has no name for NUL');
  t.equal((await post(`<Delete>${objects.filter((each) => !each.includes('&#0;')).join('')}</Delete>`)).status, 200);
  t.strictSame(await keysOf(), ['nul\0', 'ul\0c']);
  for (const key of await keysOf()) await send('DELETE', place(key));
  for (const none of ['%ed%a0%80', '%c0%af', '%ff', '%f5%80%80%80', 'a%', '%u0041']) {
    t.equal((await send('PUT', `/pictures/${none}`, { body: 'x' })).code, 'InvalidURI', none);
  }
  t.equal((await send('PUT', `/pictures/${encode(`${'ü'.repeat(512)}x`)}`, { body: 'x' })).code, 'KeyTooLongError');
  t.strictSame(await keysOf(), [], 'none of them made an object');
});

t.test('lengths that lie', async (t) => {
  await send('PUT', '/pictures/kept', { body: 'kept' });
  const put = async (headers: Record<string, string>, body = 'some octets', payload?: string) => {
    const sent = { body, ...(payload !== undefined && { payload }) };
    const change = (made: { headers: Record<string, string> }): void => void Object.assign(made.headers, headers);
    const { status, code } = await send('PUT', '/pictures/kept', { ...sent, change }).catch(
      (error: NodeJS.ErrnoException) => ({ status: 0, code: error.code }),
    );
    return `${status} ${code}`;
  };
  t.equal(await put({ 'content-length': '3' }), '400 XAmzContentSHA256Mismatch', 'shorter than the body');
  t.equal(await put({ 'content-length': String(6 * 1024 ** 4) }), '400 EntityTooLarge');
  t.equal(await put({ 'content-length': '99999999999999999999999' }), '400 BadRequest');
  t.equal(await put({ 'content-length': '-1' }), '400 BadRequest');
  t.equal(await put({ 'content-length': '1e3' }), '400 BadRequest');
  t.equal(await put({ 'content-length': '11', 'transfer-encoding': 'chunked' }), '400 BadRequest');
  const stream = (length: string, body = 'b\r\nsome octets\r\n0\r\nx-amz-checksum-crc32:2R85NQ==\r\n\r\n') =>
    send('PUT', '/pictures/kept', {
      headers: { 'x-amz-decoded-content-length': length, 'x-amz-trailer': 'x-amz-checksum-crc32' },
      ...{ body, payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' },
    }).then(({ code }) => code);
  for (const length of ['10', '12', '0']) t.equal(await stream(length), 'IncompleteBody', length);
  for (const length of ['-1', '1e3', ' ', '0xb', '9'.repeat(16)])
    t.equal(await stream(length), 'InvalidArgument', length);
  t.equal(await stream('11', 'b\r\nsome octets\r\n'), 'IncompleteBody', 'no last chunk');
  t.equal((await send('GET', '/pictures/kept')).text, 'kept', 'nothing was stored');
  t.equal(await stream('11'), undefined);
  await send('DELETE', '/pictures/kept');
});

t.test('documents that are announced and do not come take half of the room for them', async (t) => {
  const announced = await new Promise<string>((resolve) => {
    const sign = {
      headers: { 'content-md5': `${'A'.repeat(22)}==` },
      change: ({ headers }: { headers: Record<string, string> }) => {
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
        resolve(['POST /pictures?delete= HTTP/1.1', ...lines, `content-length: ${2 << 20}`, '', ''].join('\r\n'));
        throw new Error('not sent by this one');
      },
    };
    send('POST', '/pictures?delete=', sign).catch(() => {});
  });
  const sockets = Array.from({ length: 17 }, () => connect(port, '127.0.0.1').setEncoding('latin1'));
  t.teardown(() => sockets.map((socket) => socket.destroy()));
  const first = await new Promise<string>((resolve) => {
    for (const socket of sockets) socket.once('data', resolve).write(announced);
  });
  t.match(first, /^HTTP\/1.1 503 [\s\S]*retry-after: 5/i, 'the seventeenth');
  const large = `<Delete>${' '.repeat(100_000)}</Delete>`;
  t.equal((await post(large)).code, 'SlowDown');
  t.equal((await post('<Delete><Object><Key>a</Key></Object></Delete>')).status, 200, 'small ones need no room');
  for (const socket of sockets) socket.destroy();
  await until(async () => (await post(large)).code === 'MalformedXML', 'room after all have gone');
});

t.test('expectations', async (t) => {
  t.equal((await send('PUT', '/pictures/expected', { body: 'a', headers: { expect: '' } })).status, 200, 'none');
  t.equal((await send('PUT', '/pictures/expected', { body: 'b', headers: { expect: '200-ok' } })).status, 417);
  t.equal((await send('GET', '/pictures/expected')).text, 'a');
  await send('DELETE', '/pictures/expected');
});

t.test('clocks that are apart', async (t) => {
  const codeOf = (atMs: number, nowMs: number, expires?: number): string | undefined => {
    try {
      requireTimely({ atMs, expires } as Authorization, nowMs);
      return undefined;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const minutes = (count: number): number => count * 60_000;
  for (const apart of [-15, 15]) t.equal(codeOf(minutes(100), minutes(100 + apart)), undefined, `${apart} minutes`);
  t.equal(codeOf(minutes(100), minutes(115) + 1), 'RequestTimeTooSkewed');
  t.equal(codeOf(minutes(100), minutes(85) - 1), 'RequestTimeTooSkewed');
  t.equal(codeOf(minutes(100), minutes(101), 60), undefined, 'a link, to its last moment');
  t.equal(codeOf(minutes(100), minutes(101) + 1, 60), 'ExpiredRequest');
  t.equal(codeOf(minutes(100), minutes(85), 60), undefined, 'signed by a clock that is ahead');
  t.equal(codeOf(minutes(100), minutes(85) - 1, 60), 'AccessDenied');
});

t.test('session tokens that nobody with the secret has made', async (t) => {
  const account = /<ID>([0-9a-f]{32})/.exec((await send('GET', '/')).text)![1]!;
  const now = Math.floor(Date.now() / 1000);
  const usual = {
    ...{ sub: account, iss: credentials.accessKeyId, aud: '127.0.0.1', iat: now, exp: now + 600 },
    ...{ bucket: Bucket, scope: 'object-read-write' },
  };
  const encode = (text: string): string => Buffer.from(text).toString('base64url');
  const jwtOf = (header: string, claims: string, secret = credentials.secretAccessKey, kind = 'sha256'): string => {
    const content = `${encode(header)}.${encode(claims)}`;
    return `${content}.${createHmac(kind, secret).update(content).digest('base64url')}`;
  };
  const header = '{"alg":"HS256","typ":"JWT"}';
  const claims = JSON.stringify(usual);
  const ask = async (jwt: string, prefix = 'jwt/'): Promise<string | number> => {
    const secretAccessKey = createHash('sha256').update(jwt).digest('hex');
    const own = { accessKeyId: credentials.accessKeyId, secretAccessKey };
    const headers = { 'x-amz-security-token': Buffer.from(prefix + jwt).toString('base64') };
    const { status, code } = await send('GET', '/pictures?max-keys=0', { credentials: own, headers });
    return code ?? status;
  };
  const good = jwtOf(header, claims);
  t.equal(await ask(good), 200);
  const content = good.slice(0, good.lastIndexOf('.'));
  const forged: Record<string, string> = {
    'no signature': `${content}.`,
    'no algorithm': `${encode('{"alg":"none"}')}.${encode(claims)}.`,
    'an algorithm in other letters': jwtOf('{"alg":"hs256"}', claims),
    'another hash': jwtOf('{"alg":"HS512"}', claims, credentials.secretAccessKey, 'sha512'),
    'another hash by the usual name': jwtOf(header, claims, credentials.secretAccessKey, 'sha512'),
    'an empty secret': jwtOf(header, claims, ''),
    'the identifier as secret': jwtOf(header, claims, credentials.accessKeyId),
    'four parts': `${good}.${encode('{}')}`,
    'two parts': content,
    'other claims': `${encode(header)}.${encode(JSON.stringify({ ...usual, exp: now + 1200 }))}.${good.split('.')[2]}`,
    'a list of claims': jwtOf(header, '[]'),
    'no claims': jwtOf(header, 'null'),
    'claims that are not JSON': jwtOf(header, '{'),
    'times as texts': jwtOf(header, JSON.stringify({ ...usual, exp: String(now + 600) })),
    'a time without end': jwtOf(header, JSON.stringify({ ...usual, exp: 1e308 })),
    'ends before it begins': jwtOf(header, JSON.stringify({ ...usual, iat: now + 600, exp: now + 500 })),
    'a list of buckets': jwtOf(header, JSON.stringify({ ...usual, bucket: [Bucket] })),
    'paths that are none': jwtOf(header, JSON.stringify({ ...usual, paths: { prefixPaths: 'a' } })),
    large: jwtOf(header, JSON.stringify({ ...usual, jti: 'x'.repeat(9000) })),
  };
  for (const [name, jwt] of Object.entries(forged)) t.equal(await ask(jwt), 'InvalidToken', name);
  t.equal(await ask(good, ''), 'InvalidToken', 'without the mark');
});

t.test('a parent that is rolled while temporary credentials are used', async (t) => {
  const own = await world.makeKey({});
  const found = await authenticateAccessKey(world.ctx, findAccessKey(world.ctx, own.accessKeyId)!, '127.0.0.1');
  if (!found.ok) throw new Error('the token is not accepted');
  const account = /<ID>([0-9a-f]{32})/.exec((await send('GET', '/')).text)![1]!;
  const { createTemporaryCredentials } = await import('../../src/bucket/credentials/temporary.js');
  const ctx = { ...world.ctx, actor: found.actor };
  const order = { bucket: Bucket, permission: 'object-read-write' as const, ttlSeconds: 600 };
  const make = () =>
    createTemporaryCredentials(ctx, account, { ...order, parentAccessKeyId: own.accessKeyId }, `127.0.0.1:${port}`);
  const before = await make();
  const use = ({ sessionToken, ...keys }: typeof before, key: string) =>
    send('PUT', `/pictures/${key}`, {
      credentials: keys,
      body: 'x',
      headers: { 'x-amz-security-token': sessionToken },
    });
  const raced = await Promise.all([
    ...Array.from({ length: 8 }, (_, i) => use(before, `raced/${i}`)),
    make(),
    rollToken(ctx, { user: true }, own.accessKeyId),
    ...Array.from({ length: 8 }, (_, i) => use(before, `raced/${8 + i}`)),
  ]);
  for (const answer of raced) {
    if (typeof answer === 'object' && 'status' in answer) {
      t.ok([200, 400, 403].includes(answer.status), `${answer.status} ${answer.code}`);
    }
  }
  const stored = raced.filter((answer) => typeof answer === 'object' && 'status' in answer && answer.status === 200);
  t.equal((await keysOf()).length, stored.length, 'what was acknowledged is there, and nothing else');
  t.equal((await use(before, 'late')).code, 'InvalidToken', 'the old ones are over');
  t.equal((await use(raced[8] as typeof before, 'late')).code, 'InvalidToken', 'and those of the moment before');
});
