/**
 * Buckets and objects over the admin API: every answer and refusal in the clients' form, and separation of tenants (v4:
 * §13, §15.5).
 */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { createBucket } from '../../src/bucket/buckets.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { revokeKey } from '../../src/control/access/keys.js';
import { until } from '../support/until.js';
import {
  ADMIN_HEADERS,
  type Answer,
  type CallOptions,
  EMAIL,
  type Installation,
  install,
  KEY,
} from './installation.js';

interface Room extends Installation {
  readonly account: string;
  /** Path of the account's buckets. */
  readonly buckets: string;
}

async function prepare(t: Test): Promise<Room> {
  const installation = await install(t);
  const account = (await installation.call('GET', '/accounts')).json.result[0].id as string;
  return { ...installation, account, buckets: `/accounts/${account}/r2/buckets` };
}

function refusal(code: number, message: string): string {
  return JSON.stringify({ result: null, success: false, errors: [{ code, message }], messages: [] });
}

const NO_BUCKET = refusal(10006, 'The specified bucket does not exist.');
const NO_KEY = refusal(10007, 'The specified key does not exist.');
const BAD_NAME = refusal(10005, 'The specified bucket name is not valid.');
const BAD_KEY = refusal(10020, 'The specified object name is not valid.');

function shape({ status, text }: Answer): [number, string] {
  return [status, masked(text)];
}

/** The test's clock counts microseconds by itself. */
function masked(text: string): string {
  return text.replaceAll(/\.123\d{3}Z/g, '.123000Z');
}

t.test('buckets: create, get, edit, delete', async (t) => {
  const { call, buckets, misfits, clock } = await prepare(t);
  const made = await call('POST', buckets, { name: 'my-bucket' });
  t.strictSame(shape(made), [
    200,
    '{"result":{"name":"my-bucket","creation_date":"2024-05-05T12:00:00.123000Z","location":"ENAM","storage_class":"Standard","jurisdiction":"default"},"success":true,"errors":[],"messages":[]}',
  ]);
  t.equal((await call('GET', `${buckets}/my-bucket`)).text, made.text);
  t.equal((await call('GET', `${buckets}/my-bucket/`)).text, made.text, 'a slash at the end is tolerated');

  // As wrangler sends it.
  const plain = await call('POST', buckets, undefined, {
    text: '{"name":"rare","storageClass":"InfrequentAccess","locationHint":"weur"}',
    headers: { 'content-type': 'text/plain;charset=UTF-8' },
  });
  t.match(plain.json.result, { name: 'rare', location: 'WEUR', storage_class: 'InfrequentAccess' });

  clock.advance(1000);
  const edited = await call('PATCH', `${buckets}/rare`, undefined, { headers: { 'cf-r2-storage-class': 'Standard' } });
  t.match(edited.json.result, { name: 'rare', storage_class: 'Standard', location: 'WEUR' });
  t.match((await call('GET', `${buckets}/rare`)).json.result, { storage_class: 'Standard' });

  const again = await call('POST', buckets, { name: 'my-bucket' });
  t.strictSame(shape(again), [409, refusal(10004, 'The bucket you tried to create already exists, and you own it.')]);
  t.equal(again.headers['x-should-retry'], 'false');
  const deleted = await call('DELETE', `${buckets}/my-bucket`);
  t.strictSame(shape(deleted), [200, '{"result":{},"success":true,"errors":[],"messages":[]}']);
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const headers = { 'cf-r2-storage-class': 'Standard' };
    t.strictSame(shape(await call(method, `${buckets}/my-bucket`, undefined, { headers })), [404, NO_BUCKET], method);
  }
  t.equal((await call('POST', buckets, { name: 'my-bucket' })).status, 200, 'the name is free again');
  t.strictSame(misfits, []);
});

t.test('buckets: refusals', async (t) => {
  const { call, buckets, misfits } = await prepare(t);
  for (const name of [
    undefined,
    null,
    7,
    '',
    'ab',
    'a'.repeat(64),
    '-abc',
    'abc-',
    'Abc',
    'a_c',
    'a.c',
    'a/c',
    'bücher',
    ['abc'],
    'abc\n',
  ]) {
    t.strictSame(shape(await call('POST', buckets, { name })), [400, BAD_NAME], JSON.stringify(name));
  }
  for (const name of ['abc', `a${'-'.repeat(61)}z`, '000']) {
    t.equal((await call('POST', buckets, { name })).status, 200, name);
  }
  for (const name of ['ABC', 'a', 'a%2Fb']) {
    t.strictSame(shape(await call('GET', `${buckets}/${name}`)), [400, BAD_NAME], name);
  }
  for (const [input, pointer] of [
    [{ locationHint: 'mars' }, '/locationHint'],
    [{ locationHint: 7 }, '/locationHint'],
    [{ storageClass: 'Glacier' }, '/storageClass'],
  ] as const) {
    const { status, json } = await call('POST', buckets, { name: 'fine', ...input });
    t.match([status, json.errors[0]], [400, { code: 9207, source: { pointer } }]);
  }
  t.equal((await call('POST', buckets, { name: 'tolerant', locationHint: null, storageClass: null })).status, 200);
  t.equal((await call('POST', buckets, { name: 'other-case', locationHint: 'WEUR' })).json.result.location, 'WEUR');
  for (const text of ['', '[]', '"x"', '{']) {
    const { status, json } = await call('POST', buckets, undefined, { text });
    t.match([status, json.errors[0].code], [400, 9207], text);
  }
  for (const [headers, message] of [
    [{ 'cf-r2-jurisdiction': 'mars', 'cf-r2-storage-class': 'Standard' }, /cf-r2-jurisdiction/],
    [{ 'cf-r2-storage-class': 'Glacier' }, /cf-r2-storage-class/],
    [{}, /cf-r2-storage-class/],
  ] as const) {
    const { status, json } = await call('PATCH', `${buckets}/abc`, undefined, { headers });
    t.match([status, json.errors[0]], [400, { code: 9207, message }]);
  }
  const put = await call('PUT', `${buckets}/abc`);
  t.strictSame(
    [put.status, put.json.errors, put.headers.allow],
    [405, [{ code: 10405, message: 'Method not allowed' }], 'GET, HEAD, PATCH, DELETE'],
  );
  t.strictSame(shape(await call('GET', `${buckets}/abc/nowhere`)), [
    404,
    refusal(10015, 'No route of a bucket has this path.'),
  ]);
  t.strictSame(misfits, []);
});

t.test('buckets: lists', async (t) => {
  const { call, buckets, misfits } = await prepare(t);
  t.strictSame(shape(await call('GET', buckets)), [
    200,
    '{"result":{"buckets":[]},"success":true,"errors":[],"messages":[],"result_info":{"per_page":20}}',
  ]);
  const all = Array.from({ length: 25 }, (_, i) => `bucket-${String.fromCharCode(97 + i)}`);
  for (const name of [...all].reverse()) await call('POST', buckets, { name });
  const names = async (query: string): Promise<[string[], string | undefined]> => {
    const { json } = await call('GET', `${buckets}?${query}`);
    return [json.result.buckets.map(({ name }: { name: string }) => name), json.result_info.cursor];
  };
  const [first, cursor] = await names('');
  t.strictSame(first, all.slice(0, 20));
  t.strictSame(await names(`cursor=${cursor}`), [all.slice(20), undefined], 'no cursor on the last page');
  t.strictSame(await names('per_page=1000'), [all, undefined]);
  t.strictSame(await names('per_page=25'), [all, undefined], 'a full last page is the last');
  t.strictSame((await names('per_page=3&direction=desc'))[0], all.slice(-3).reverse());
  const down = await names('per_page=24&direction=desc');
  t.strictSame(await names(`per_page=24&direction=desc&cursor=${down[1]}`), [['bucket-a'], undefined]);
  t.strictSame((await names('start_after=bucket-w'))[0], ['bucket-x', 'bucket-y']);
  t.strictSame((await names('start_after=bucket-b&direction=desc'))[0], ['bucket-a']);
  t.strictSame((await names('name_contains=t-c'))[0], ['bucket-c']);
  t.strictSame((await names('name_contains=%25'))[0], [], 'a filter is not a pattern');
  t.strictSame((await names('order=name&name_contains='))[0].length, 20);
  for (const query of ['order=size', 'direction=up', 'cursor=%00']) {
    const { status, json } = await call('GET', `${buckets}?${query}`);
    t.match([status, json.errors[0].code], [400, 9207], query);
  }
  t.strictSame(misfits, []);
});

t.test('jurisdictions are separate namespaces', async (t) => {
  const { call, buckets, misfits } = await prepare(t);
  const eu = { headers: { 'cf-r2-jurisdiction': 'eu' } };
  t.equal((await call('POST', buckets, { name: 'twin' })).status, 200);
  t.match((await call('POST', buckets, { name: 'twin' }, eu)).json.result, { name: 'twin', jurisdiction: 'eu' });
  t.strictSame((await call('GET', buckets)).json.result.buckets.length, 1);
  await call('PUT', `${buckets}/twin/objects/k`, undefined, { ...eu, text: 'eu' });
  t.strictSame(shape(await call('GET', `${buckets}/twin/objects/k`)), [404, NO_KEY]);
  t.equal((await call('GET', `${buckets}/twin/objects/k`, undefined, eu)).text, 'eu');
  t.equal((await call('DELETE', `${buckets}/twin`)).status, 200);
  t.match((await call('GET', `${buckets}/twin`, undefined, eu)).json.result, { jurisdiction: 'eu' });
  t.strictSame(misfits, []);
});

t.test('objects: put, get, delete', async (t) => {
  const { call, buckets, misfits } = await prepare(t);
  await call('POST', buckets, { name: 'things' });
  const path = `${buckets}/things/objects/dir/a.txt`;
  const put = await call('PUT', path, undefined, {
    text: 'hello\n',
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'content-language': 'de',
      'content-disposition': 'attachment; filename="a.txt"',
      'content-encoding': 'identity',
      'cache-control': 'max-age=60',
      expires: 'Sun, 05 May 2024 13:00:00 GMT',
    },
  });
  const { version } = put.json.result;
  t.match(version, /^[0-9a-f-]{32,36}$/);
  t.strictSame(shape(put), [
    200,
    `{"result":{"key":"dir/a.txt","etag":"b1946ac92492d2347c6235b4d2611184","size":"6","uploaded":"2024-05-05T12:00:00.123000Z","version":"${version}","storage_class":"Standard"},"success":true,"errors":[],"messages":[]}`,
  ]);

  const got = await call('GET', path);
  t.strictSame(shape(got), [200, 'hello\n']);
  t.match(got.headers, {
    'content-type': 'text/plain; charset=utf-8',
    'content-language': 'de',
    'content-disposition': 'attachment; filename="a.txt"',
    'content-encoding': 'identity',
    'cache-control': 'max-age=60',
    expires: 'Sun, 05 May 2024 13:00:00 GMT',
    'content-length': '6',
    etag: '"b1946ac92492d2347c6235b4d2611184"',
    'last-modified': 'Sun, 05 May 2024 12:00:00 GMT',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
  });
  const head = await call('HEAD', path);
  t.strictSame([head.status, head.text, head.headers['content-length']], [200, '', '6']);
  t.equal(head.headers.etag, got.headers.etag);

  const listed = await call('GET', `${buckets}/things/objects`);
  t.equal(
    masked(listed.text),
    '{"result":[{"key":"dir/a.txt","etag":"b1946ac92492d2347c6235b4d2611184","size":6,"last_modified":"2024-05-05T12:00:00.123000Z",' +
      '"http_metadata":{"contentType":"text/plain; charset=utf-8","contentLanguage":"de","contentDisposition":"attachment; filename=\\"a.txt\\"","contentEncoding":"identity","cacheControl":"max-age=60","cacheExpiry":"2024-05-05T13:00:00.000000Z"},' +
      '"custom_metadata":{},"storage_class":"Standard","ssec":false}],"success":true,"errors":[],"messages":[],' +
      '"result_info":{"count":1,"is_truncated":false,"per_page":1000,"delimited":[]}}',
  );

  t.strictSame(shape(await call('DELETE', `${buckets}/things`)), [
    409,
    refusal(10008, `The bucket you tried to delete is not empty (account ${buckets.split('/')[2]})`),
  ]);
  const deleted = await call('DELETE', path);
  t.strictSame(shape(deleted), [200, '{"result":{"key":"dir/a.txt"},"success":true,"errors":[],"messages":[]}']);
  t.strictSame(shape(await call('GET', path)), [404, NO_KEY]);
  t.equal((await call('DELETE', path)).status, 200, 'deleting what is not there is done already');
  t.equal((await call('DELETE', `${buckets}/things`)).status, 200);
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    t.strictSame(shape(await call(method, path, undefined, { text: 'x' })), [404, NO_BUCKET], method);
  }
  t.strictSame(shape(await call('GET', `${buckets}/things/objects`)), [404, NO_BUCKET]);
  t.strictSame(misfits, []);
});

t.test('objects: replaced completely, of any size and class', async (t) => {
  const { call, buckets, misfits } = await prepare(t);
  await call('POST', buckets, { name: 'things', storageClass: 'InfrequentAccess' });
  const path = `${buckets}/things/objects/k`;
  const empty = await call('PUT', path);
  t.match(empty.json.result, {
    size: '0',
    etag: 'd41d8cd98f00b204e9800998ecf8427e',
    storage_class: 'InfrequentAccess',
  });
  const nothing = await call('GET', path);
  t.strictSame(
    [nothing.status, nothing.text, nothing.headers['content-length'], nothing.headers['content-type']],
    [200, '', '0', 'application/octet-stream'],
  );
  const large = Buffer.alloc(3 << 20, 'zoneplane');
  const put = await call('PUT', path, undefined, {
    text: large,
    headers: { 'content-type': 'application/json', 'cf-r2-storage-class': 'Standard' },
  });
  t.match(put.json.result, { size: String(large.length), storage_class: 'Standard' });
  const got = await call('GET', path, undefined, { headers: { range: 'bytes=9-17' } });
  t.strictSame(
    [got.status, got.text, got.headers['content-range'], got.headers['content-type']],
    [206, 'zoneplane', `bytes 9-17/${large.length}`, 'application/json'],
  );
  t.equal((await call('GET', path)).text.length, large.length);
  const usage = await call('GET', `/accounts/${buckets.split('/')[2]}/r2/metrics`);
  t.match(usage.json.result, {
    standard: { published: { objects: 1, payloadSize: large.length }, uploaded: { objects: 0 } },
    infrequentAccess: { published: { objects: 0, payloadSize: 0 } },
  });
  t.strictSame(misfits, []);
});

t.test('objects: conditions', async (t) => {
  const { call, buckets, misfits } = await prepare(t);
  await call('POST', buckets, { name: 'things' });
  const path = `${buckets}/things/objects/k`;
  const etag = '"b1946ac92492d2347c6235b4d2611184"';
  const put = (headers: Record<string, string>, text = 'hello\n'): Promise<Answer> =>
    call('PUT', path, undefined, { text, headers });
  const failed = refusal(10031, 'At least one of the preconditions you specified did not hold.');
  t.strictSame(shape(await put({ 'if-match': etag })), [412, failed], 'nothing is there to match');
  t.equal((await put({ 'if-none-match': '*' })).status, 200);
  t.strictSame(shape(await put({ 'if-none-match': '*' }, 'other')), [412, failed]);
  t.equal((await put({ 'if-match': etag })).status, 200);

  for (const headers of [{ 'if-none-match': etag }, { 'if-modified-since': 'Sun, 05 May 2024 12:00:00 GMT' }]) {
    const answer = await call('GET', path, undefined, { headers });
    t.strictSame([answer.status, answer.text, answer.headers.etag], [304, '', etag]);
  }
  for (const headers of [{ 'if-none-match': '"x"' }, { 'if-modified-since': 'Sat, 04 May 2024 12:00:00 GMT' }]) {
    t.equal((await call('GET', path, undefined, { headers })).text, 'hello\n');
  }
  t.strictSame(shape(await call('GET', path, undefined, { headers: { 'if-match': '"x"' } })), [412, failed]);
  const beyond = await call('GET', path, undefined, { headers: { range: 'bytes=6-' } });
  t.strictSame(shape(beyond), [416, refusal(10039, 'The requested range cannot be satisfied.')]);
  t.equal(beyond.headers['content-range'], 'bytes */6');

  const wrong = refusal(10037, 'The checksum you specified is not that of the body.');
  t.strictSame(shape(await put({ 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }, 'new')), [400, wrong]);
  t.equal((await call('GET', path)).text, 'hello\n', 'what is refused leaves nothing');
  t.equal((await put({ 'content-md5': 'sZRqySSS0jR8YjW00mERhA==' })).status, 200);
  t.strictSame(misfits, []);
});

t.test('objects: keys of every kind', async (t) => {
  const { call, app, buckets, misfits } = await prepare(t);
  await call('POST', buckets, { name: 'keys' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const objects = `${buckets}/keys/objects`;
  // Raw, for what other clients would fold before sending it.
  const send = (method: string, escaped: string, text = ''): Promise<[number, string]> =>
    sendRaw(app.server.address() as AddressInfo, method, `/client/v4${objects}/${escaped}`, text);
  const KEYS: readonly (readonly [sent: string, key: string])[] = [
    ['a/b/c', 'a/b/c'],
    ['d%2Fe%2Ff', 'd/e/f'],
    ['sp%20ace+plus', 'sp ace+plus'],
    ['%C3%BC%E2%82%AC%F0%9F%98%80', 'ü€😀'],
    ['dir/', 'dir/'],
    ['/lead', '/lead'],
    ['%2Fescaped', '/escaped'],
    ['a//b///c//', 'a//b///c//'],
    ['..', '..'],
    ['../../../etc/passwd', '../../../etc/passwd'],
    ['%2e%2e%2f%2e%2e%2fx', '../../x'],
    ['..%5c..%5cx', '..\\..\\x'],
    ['.', '.'],
    ['100%25', '100%'],
    ['%2541', '%41'],
    ['q%3Fx%23y', 'q?x#y'],
    ['objects/objects', 'objects/objects'],
    ['%22%3C%3E%26%27', `"<>&'`],
    ['%0A%09%7F', '\n\t\x7f'],
    ['*', '*'],
    [':id', ':id'],
    ['k'.repeat(1024), 'k'.repeat(1024)],
    ['%C3%BC'.repeat(512), 'ü'.repeat(512)],
  ];
  for (const [sent, key] of KEYS) {
    const [status, text] = await send('PUT', sent, `content of ${key}`);
    t.equal(status, 200, `${sent}: ${text}`);
    t.equal(JSON.parse(text).result.key, key);
    t.strictSame(await send('GET', sent), [200, `content of ${key}`]);
    t.strictSame(await send('GET', encodeURIComponent(key)), [200, `content of ${key}`], 'escaped as the SDK does it');
  }
  const { json } = await call('GET', objects);
  const expected = KEYS.map(([, key]) => Buffer.from(key)).sort(Buffer.compare);
  t.strictSame(
    json.result.map(({ key }: { key: string }) => key),
    expected.map(String),
    'listed in the order of their octets',
  );
  t.equal((await send('GET', 'a/b/c?x=1'))[0], 200, 'a query is not part of the key');

  for (const bad of ['k'.repeat(1025), `${'%C3%BC'.repeat(512)}k`, '%FF', '%C3', 'a%']) {
    for (const method of ['PUT', 'GET', 'DELETE']) {
      t.strictSame(await send(method, bad, 'x'), [400, BAD_KEY], `${method} ${bad.slice(0, 12)}`);
    }
  }
  t.strictSame(await send('PUT', '', 'x'), [400, BAD_KEY], 'no key at all');
  t.equal((await send('GET', ''))[0], 200, 'without a key the list is asked for');

  for (const [sent] of KEYS) t.equal((await send('DELETE', sent))[0], 200);
  t.strictSame((await call('GET', objects)).json.result, []);
  t.strictSame(misfits, []);
});

function sendRaw(to: AddressInfo, method: string, path: string, text: string): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const headers = { ...ADMIN_HEADERS, 'content-length': Buffer.byteLength(text) };
    const sent = httpRequest({ host: to.address, port: to.port, method, path, headers }, (response) => {
      let received = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (received += piece));
      response.on('end', () => resolve([response.statusCode!, received]));
    });
    sent.on('error', reject).end(text);
  });
}

t.test('objects: lists', async (t) => {
  const { call, buckets, misfits } = await prepare(t);
  await call('POST', buckets, { name: 'tree' });
  const keys = ['a', 'b/1', 'b/2', 'b/c/3', 'b/c/4', 'd', 'e/', 'e/5', '\u{ffff}', '\u{10000}'];
  for (const key of keys) {
    await call('PUT', `${buckets}/tree/objects/${encodeURIComponent(key)}`, undefined, { text: key });
  }
  const list = async (query: string): Promise<{ keys: string[]; info: Record<string, unknown> }> => {
    const { json } = await call('GET', `${buckets}/tree/objects?${query}`);
    return { keys: json.result.map(({ key }: { key: string }) => key), info: json.result_info };
  };
  t.strictSame((await list('')).keys, keys, 'in the order of their octets, not of UTF-16');
  t.strictSame((await list('prefix=b/')).keys, ['b/1', 'b/2', 'b/c/3', 'b/c/4']);
  t.strictSame((await list('start_after=b/c/3')).keys, keys.slice(4));
  t.strictSame(await list('delimiter=/'), {
    keys: ['a', 'd', '\u{ffff}', '\u{10000}'],
    info: { count: 4, is_truncated: false, per_page: 1000, delimited: ['b/', 'e/'] },
  });
  t.match(await list('prefix=b/&delimiter=/'), { keys: ['b/1', 'b/2'], info: { delimited: ['b/c/'] } });
  t.match(await list('prefix=e/&delimiter=/'), { keys: ['e/', 'e/5'], info: { delimited: [] } });
  t.match(await list('prefix=%25'), { keys: [] }, 'a prefix is not a pattern');
  for (const perPage of [1, 2, 3]) {
    for (const filter of ['', '&delimiter=/', '&prefix=b/&delimiter=/']) {
      const whole = await list(filter);
      const found: string[] = [];
      const groups: string[] = [];
      let cursor = '';
      for (let pages = 0; pages < 20; pages++) {
        const { keys: page, info } = await list(`per_page=${perPage}${filter}${cursor}`);
        found.push(...page);
        groups.push(...(info['delimited'] as string[]));
        t.ok(page.length + (info['delimited'] as string[]).length <= perPage, 'groups count');
        t.equal(info['is_truncated'], info['cursor'] !== undefined);
        if (info['cursor'] === undefined) break;
        cursor = `&cursor=${encodeURIComponent(String(info['cursor']))}`;
      }
      t.strictSame([found, groups], [whole.keys, whole.info['delimited']], `${perPage} a page${filter}`);
    }
  }
  const many = await call('DELETE', `${buckets}/tree/objects`, ['a', 'b/1', 'never']);
  t.strictSame(many.json.result, [{ key: 'a' }, { key: 'b/1' }, { key: 'never' }]);
  t.strictSame((await list('')).keys, keys.slice(2));
  for (const body of [{}, [7], [''], Array.from({ length: 1001 }, String)]) {
    t.equal((await call('DELETE', `${buckets}/tree/objects`, body)).status, 400);
  }
  t.strictSame((await list('')).keys, keys.slice(2), 'a refused list deletes nothing');
  t.strictSame(misfits, []);
});

t.test('tenants see only their own', async (t) => {
  const { call, operator, token, buckets, account, misfits } = await prepare(t);
  const other = await createAccount(operator, { name: 'Other', members: ['other@example.net'] });
  const theirs = await token({ email: 'other@example.net', accountId: other.id });
  const zoneId = (await call('POST', '/zones', { name: 'example.com' })).json.result.id;
  const zoned = await token({ zoneIds: [zoneId] });
  const reader = await token({ readOnly: true });
  await call('POST', buckets, { name: 'mine' });
  await call('PUT', `${buckets}/mine/objects/k`, undefined, { text: 'secret' });
  const ATTEMPTS: readonly (readonly ['GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE', string, CallOptions?])[] = [
    ['GET', buckets],
    ['POST', buckets, { text: '{"name":"theirs"}' }],
    ['GET', `${buckets}/mine`],
    ['PATCH', `${buckets}/mine`, { headers: { 'cf-r2-storage-class': 'Standard' } }],
    ['DELETE', `${buckets}/mine`],
    ['GET', `${buckets}/mine/objects`],
    ['GET', `${buckets}/mine/objects/k`],
    ['PUT', `${buckets}/mine/objects/k`, { text: 'x' }],
    ['DELETE', `${buckets}/mine/objects/k`],
    ['DELETE', `${buckets}/mine/objects`, { text: '["k"]' }],
    ['GET', `${buckets}/mine/lifecycle`],
    ['PUT', `${buckets}/mine/cors`, { text: '{"rules":[]}' }],
    ['DELETE', `${buckets}/mine/cors`],
    ['PUT', `${buckets}/mine/lifecycle`, { text: '{"rules":[]}' }],
    ['PUT', `${buckets}/mine/lock`, { text: '{"rules":[]}' }],
    ['GET', `/accounts/${account}/r2/metrics`],
  ];
  for (const [method, path, options = {}] of ATTEMPTS) {
    const as = async (headers: Record<string, string>): Promise<[number, number]> => {
      const answer = await call(method, path, undefined, { ...options, headers: { ...options.headers, ...headers } });
      return [answer.status, answer.json?.errors[0]?.code];
    };
    t.strictSame(await as(theirs), [403, 9109], `${method} ${path} by another tenant`);
    t.strictSame(await as(zoned), [403, 10000], `${method} ${path} with a token for zones`);
    if (method === 'GET') t.equal((await as(reader))[0], 200, `${method} ${path} by a reader`);
    else t.strictSame(await as(reader), [403, 10000], `${method} ${path} by a reader`);
  }
  t.equal((await call('GET', `${buckets}/mine/objects/k`)).text, 'secret', 'nothing was changed');
  const mine = `/accounts/${other.id}/r2/buckets`;
  t.equal((await call('POST', mine, { name: 'mine' }, { headers: theirs })).status, 200, 'a name is taken by account');
  t.strictSame(shape(await call('GET', `${mine}/mine/objects/k`, undefined, { headers: theirs })), [404, NO_KEY]);
  t.equal((await call('GET', '/accounts/nope/r2/buckets')).status, 404);
  t.match((await call('GET', `/accounts/${'0'.repeat(32)}/r2/buckets`)).json.errors[0], { code: 7003 });
  t.strictSame(misfits, []);
});

t.test('settings that buckets do not have', async (t) => {
  const { call, buckets, misfits } = await prepare(t);
  await call('POST', buckets, { name: 'plain' });
  for (const [path, result] of [
    ['domains/custom', { domains: [] }],
    ['sippy', { enabled: false }],
  ] as const) {
    t.strictSame((await call('GET', `${buckets}/plain/${path}`)).json.result, result);
    t.equal((await call('PUT', `${buckets}/plain/${path}`, {})).status, 405, 'and cannot be given');
    t.strictSame(shape(await call('GET', `${buckets}/none/${path}`)), [404, NO_BUCKET]);
  }
  t.strictSame(misfits, []);
});

t.test('an upload that is too large or interrupted', async (t) => {
  const { call, app, buckets, misfits } = await prepare(t);
  await call('POST', buckets, { name: 'things' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const path = `/client/v4${buckets}/things/objects/k`;
  const headers = { 'x-auth-email': EMAIL, 'x-auth-key': KEY };
  const status = await new Promise<[number, string]>((resolve, reject) => {
    const length = 300 * 2 ** 20 + 1;
    const sent = httpRequest(
      { host: '127.0.0.1', port, method: 'PUT', path, headers: { ...headers, 'content-length': length } },
      (response) => {
        let text = '';
        response.on('data', (piece: Buffer) => (text += piece));
        response.on('end', () => {
          resolve([response.statusCode!, text]);
          sent.destroy();
        });
      },
    );
    sent.on('error', reject).flushHeaders();
  });
  t.strictSame(
    status,
    [413, refusal(100100, 'The object is too large: at most 314572800 octets are accepted.')],
    'said before the body is sent',
  );
  await new Promise<void>((resolve) => {
    const sent = httpRequest({
      host: '127.0.0.1',
      port,
      method: 'PUT',
      path,
      headers: { ...headers, 'content-length': 99 },
    });
    sent.on('error', () => resolve());
    sent.write('half', () => setImmediate(() => sent.destroy(new Error('gone'))));
  });
  t.strictSame(shape(await call('GET', `${buckets}/things/objects/k`)), [404, NO_KEY], 'half an object is none');
  t.equal((await call('DELETE', `${buckets}/things`)).status, 200);
  t.strictSame(misfits, []);
});

t.test('a token that is revoked while an upload comes ends it', async (t) => {
  const { call, app, buckets, misfits, clock, operator, token } = await prepare(t);
  await call('POST', buckets, { name: 'things' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const headers = { ...(await token()), 'content-length': 1_000_000 };
  const begun = once(app.server, 'request');
  const path = `/client/v4${buckets}/things/objects/k`;
  const sent = httpRequest({ host: '127.0.0.1', port, method: 'PUT', path, headers });
  const answered = once(sent, 'response');
  sent.write('begin');
  const [received] = (await begun) as [IncomingMessage];
  await until(() => received.listenerCount('data') > 0, 'the body to be read');
  const { result } = (await call('GET', '/user/tokens')).json;
  for (const { id } of result) await revokeKey(operator, id);
  let status: number | undefined;
  answered.then(([response]) => (status = response.statusCode));
  await until(() => {
    clock.advance(1000);
    sent.write('x');
    return status !== undefined;
  }, 'a refusal before the end of the body');
  t.ok(status === 401 || status === 403, `${status}`);
  sent.destroy();
  t.equal((await call('GET', `${buckets}/things/objects/k`)).status, 404);
  t.strictSame(misfits, []);
});

t.test('the write of an upload asks what its token may do then', async (t) => {
  const { call, app, buckets, misfits, clock, operator, token } = await prepare(t);
  await call('POST', buckets, { name: 'things' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  /** `during`: after the token was admitted, and before the last octets. The clock stands still, so nobody looks while they come. */
  const upload = async (key: string, input: object, during: () => unknown): Promise<number> => {
    const own = await token(input);
    // Its use is noted.
    await call('GET', `${buckets}/things/objects/none`, undefined, { headers: own });
    // A smaller one is judged when it is there as a whole.
    const rest = 'x'.repeat(20_000);
    const headers = { ...own, 'content-length': 2 + rest.length };
    const begun = once(app.server, 'request');
    const path = `/client/v4${buckets}/things/objects/${key}`;
    const sent = httpRequest({ host: '127.0.0.1', port, method: 'PUT', path, headers });
    const answered = once(sent, 'response');
    sent.write('be');
    const [received] = (await begun) as [IncomingMessage];
    await until(() => received.listenerCount('data') > 0, 'the body to be read');
    await during();
    sent.end(rest);
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    return response.statusCode!;
  };
  const revoke = async (): Promise<void> => {
    const { result } = (await call('GET', '/user/tokens')).json;
    for (const { id } of result) await revokeKey(operator, id);
  };
  t.equal(await upload('kept', {}, () => {}), 200);
  const change = (): Promise<unknown> => createBucket(operator, undefined, { name: 'new', jurisdiction: 'default' });
  t.equal(await upload('kept', {}, change), 200, 'after another commit');
  t.equal(await upload('revoked', {}, revoke), 403);
  const expiresAt = (clock.nowMs() + 300) * 1000;
  t.equal(await upload('expired', { expiresAt }, () => clock.advance(400)), 403);
  for (const key of ['revoked', 'expired'])
    t.equal((await call('GET', `${buckets}/things/objects/${key}`)).status, 404);
  t.strictSame(misfits, []);
});

t.test('custom domains', async (t) => {
  const { call, buckets, account, createZone, misfits, operator } = await prepare(t);
  const zoneId = await createZone('shop.test');
  const records = `/zones/${zoneId}/dns_records`;
  await call('POST', buckets, { name: 'pictures' });
  await call('POST', buckets, { name: 'others' });
  const domains = `${buckets}/pictures/domains/custom`;
  const one = `${domains}/cdn.shop.test`;
  t.strictSame((await call('GET', domains)).json.result, { domains: [] });

  await t.test('attach, list, get, edit', async (t) => {
    const made = await call('POST', domains, { domain: 'CDN.shop.test.', zoneId, enabled: true, minTLS: '1.0' });
    const attached = { domain: 'cdn.shop.test', enabled: true, minTLS: '1.0', zoneId };
    t.strictSame([made.status, made.json.result], [200, attached]);
    const shown = { ...attached, zoneName: 'shop.test', status: { ownership: 'active', ssl: 'initializing' } };
    t.strictSame((await call('GET', one)).json.result, shown);
    t.strictSame((await call('GET', domains)).json.result, { domains: [shown] });
    const edited = await call('PUT', one, { domain: 'cdn.shop.test', minTLS: '1.2', ciphers: ['AES128-SHA'] });
    const expected = { domain: 'cdn.shop.test', enabled: true, minTLS: '1.2', ciphers: ['AES128-SHA'] };
    t.strictSame(edited.json.result, expected);
    t.match((await call('PUT', one, { enabled: false })).json.result, { ...expected, enabled: false });
    t.strictSame(
      (await call('PUT', one, { enabled: null, minTLS: null, ciphers: null })).json.result,
      { domain: 'cdn.shop.test', enabled: true },
      'null is the default',
    );
  });

  await t.test('the record', async (t) => {
    const [record] = (await call('GET', records)).json.result;
    t.match(record, {
      ...{ type: 'AAAA', name: 'cdn.shop.test', content: '100::', proxied: true, proxiable: true },
      meta: { read_only: true, r2_bucket: 'pictures' },
    });
    for (const [method, path, body] of [
      ['DELETE', `${records}/${record.id}`, undefined],
      ['PATCH', `${records}/${record.id}`, { proxied: false }],
      ['PATCH', `${records}/${record.id}`, { name: 'away' }],
      ['POST', records, { type: 'A', name: 'cdn', content: '192.0.2.1' }],
      ['POST', `${records}/batch`, { deletes: [{ id: record.id }] }],
    ] as const) {
      const { status, json } = await call(method, path, body);
      t.match([status, json.errors[0]], [400, { code: 81059, message: /cdn\.shop\.test lead to the bucket pictures/ }]);
    }
    t.equal((await call('POST', records, { type: 'TXT', name: 'cdn', content: 'x' })).status, 200);
    const away = await call('POST', records, { type: 'A', name: 'away', content: '192.0.2.1' });
    t.equal((await call('PATCH', `${records}/${away.json.result.id}`, { name: 'cdn' })).json.errors[0].code, 81059);
  });

  await t.test('refusals', async (t) => {
    const rows: [body: object, status: number, code: number, path?: string][] = [
      [{ domain: 'cdn.shop.test', zoneId }, 409, 10061],
      [{ domain: 'cdn.shop.test', zoneId }, 409, 10061, `${buckets}/others/domains/custom`],
      [{ domain: 'cdn.other.test', zoneId }, 400, 10062],
      [{ domain: 'shop.test.', zoneId: '0'.repeat(32) }, 404, 1001],
      [{ domain: '*.shop.test', zoneId }, 400, 10062],
      [{ domain: '', zoneId }, 400, 10062],
      [{ domain: 'away.shop.test', zoneId }, 400, 81053],
      [{ domain: 'b.shop.test', zoneId, minTLS: '1.4' }, 400, 9207],
      [{ domain: 'b.shop.test', zoneId, ciphers: ['x y'] }, 400, 9207],
      [{ domain: 'b.shop.test', zoneId, ciphers: ['UNKNOWN-SHA'] }, 400, 9207],
      [{ domain: 'b.shop.test' }, 400, 9207],
      [{ domain: 'b.shop.test', zoneId }, 404, 10006, `${buckets}/nobody/domains/custom`],
    ];
    for (const [body, status, code, path = domains] of rows) {
      const answer = await call('POST', path, body);
      t.match([answer.status, answer.json.errors[0].code], [status, code], JSON.stringify(body));
    }
    t.match((await call('GET', `${domains}/b.shop.test`)).json.errors, [{ code: 10060 }]);
    t.match((await call('PUT', `${buckets}/others/domains/custom/cdn.shop.test`, {})).json.errors, [{ code: 10060 }]);
    const foreign = await createAccount(operator, { name: 'Other' });
    const theirs = (await call('POST', '/zones', { name: 'theirs.test', account: { id: foreign.id } })).json.result.id;
    t.match((await call('POST', domains, { domain: 'cdn.theirs.test', zoneId: theirs })).json.errors, [
      { code: 10063 },
    ]);
  });

  await t.test('a token for buckets alone makes no records', async (t) => {
    const groups = (await call('GET', '/user/tokens/permission_groups?name=Workers%20R2%20Storage%20Write')).json
      .result;
    const policy = { effect: 'allow', permission_groups: [{ id: groups[0].id }] };
    const resources = { [`com.cloudflare.api.account.${account}`]: '*' };
    const made = await call('POST', '/user/tokens', { name: 'r2', policies: [{ ...policy, resources }] });
    const headers = { authorization: `Bearer ${made.json.result.value}` };
    const body = { domain: 'b.shop.test', zoneId };
    t.equal((await call('POST', domains, body, { headers })).status, 403);
    t.equal((await call('GET', domains, undefined, { headers })).status, 200);
  });

  await t.test('detach, and the end of a bucket', async (t) => {
    t.strictSame((await call('DELETE', one)).json.result, { domain: 'cdn.shop.test' });
    t.equal((await call('DELETE', one)).json.errors[0].code, 10060);
    const names = async () =>
      (await call('GET', `${records}?type=AAAA`)).json.result.map((row: { name: string }) => row.name).sort();
    t.strictSame(await names(), []);
    await call('POST', domains, { domain: 'cdn.shop.test', zoneId });
    await call('POST', domains, { domain: 'shop.test', zoneId });
    t.strictSame(await names(), ['cdn.shop.test', 'shop.test']);
    t.equal((await call('DELETE', `${buckets}/pictures`)).status, 200);
    t.strictSame(await names(), []);
    await call('POST', `${buckets}/others/domains/custom`, { domain: 'cdn.shop.test', zoneId });
    t.equal((await call('DELETE', `/zones/${zoneId}`)).status, 200);
    t.strictSame((await call('GET', `${buckets}/others/domains/custom`)).json.result, { domains: [] });
  });

  await t.test('a managed domain there is none', async (t) => {
    const managed = `${buckets}/others/domains/managed`;
    const { result } = (await call('GET', managed)).json;
    t.match(result, { bucketId: /^[0-9a-f]{32}$/, domain: '', enabled: false });
    t.strictSame((await call('PUT', managed, { enabled: false })).json.result, result);
    t.equal((await call('PUT', managed, { enabled: true })).json.errors[0].code, 10064);
    t.equal((await call('PUT', managed, {})).json.errors[0].code, 9207);
  });
  t.strictSame(misfits, []);
});

t.test('what the bucket application does with a bucket', async (t) => {
  const { call, buckets, misfits, operator, token } = await prepare(t);
  for (const name of ['first', 'second']) await call('POST', buckets, { name });
  const of = async (name: string, options: CallOptions = {}) =>
    (await call('GET', `${buckets}/${name}/application`, undefined, options)).json.result;
  const unserved = { bindings: [], served: false, url: null, allow_list: [] };
  const served = { served: true, url: 'http://127.0.0.1:8787', allow_list: ['logo.svg'] };
  t.strictSame(await of('first'), unserved);
  const bind = (name: string, binding: unknown, options: CallOptions = {}) =>
    call('PUT', `${buckets}/${name}/application`, { binding }, options);
  t.strictSame((await bind('first', 'MY_BUCKET')).json.result, { bindings: ['MY_BUCKET'], ...served });
  t.strictSame((await bind('second', 'OTHER')).json.result, { bindings: ['OTHER'], ...served });
  t.strictSame(await of('first'), { ...unserved, bindings: ['MY_BUCKET'] }, 'the one that was bound last is served');
  for (const bad of ['', 'not a name', 'AUTH_KEY_SECRET', 7, undefined])
    t.equal((await bind('first', bad)).status, 400, String(bad));
  t.equal((await bind('missing', 'MY_BUCKET')).status, 404);
  t.equal((await call('GET', `${buckets}/missing/application`)).status, 404);
  const tenant = await createAccount(operator, { name: 'Tenant' });
  const theirs = { headers: await token({ email: 'tenant@example.org', accountId: tenant.id }) };
  const own = `/accounts/${tenant.id}/r2/buckets`;
  await call('POST', own, { name: 'second' }, theirs);
  t.strictSame(
    (await call('GET', `${own}/second/application`, undefined, theirs)).json.result,
    unserved,
    'another second',
  );
  t.equal(
    (await call('PUT', `${own}/second/application`, { binding: 'OTHER' }, theirs)).status,
    403,
    'administrators bind',
  );
  t.equal((await call('GET', `${buckets}/second/application`, undefined, theirs)).status, 403);
  t.strictSame(await of('second'), { bindings: ['OTHER'], ...served }, 'nothing was changed');
  t.strictSame(misfits, []);
});
