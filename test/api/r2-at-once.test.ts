/** Small objects that v4 answers and stores at once: as the framework does, and with the same checks at every request. */
import { createHash } from 'node:crypto';
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { revokeKey } from '../../src/control/access/keys.js';
import { ADMIN_HEADERS, install } from './installation.js';

/** Requests of a token in five minutes. */
const LIMIT = 20;

interface Got {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  readonly atOnce: boolean;
}

async function start(t: Test) {
  const world = await install(t, { rateLimit: LIMIT });
  const { app, call } = world;
  const account: string = (await call('GET', '/accounts')).json.result[0].id;
  const objects = `/accounts/${account}/r2/buckets/pictures/objects`;
  await call('POST', `/accounts/${account}/r2/buckets`, { name: 'pictures' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  // Node's server has not seen what is answered at once.
  let seen = 0;
  app.server.on('request', () => seen++);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const get = (path: string, headers: Record<string, string>, method = 'GET', own: Agent | false = false, body = '') =>
    new Promise<Got>((resolve, reject) => {
      const before = seen;
      const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: own }, (answer) => {
        let text = '';
        answer.on('data', (piece: Buffer) => (text += piece));
        answer.on('end', () => {
          resolve({ status: answer.statusCode!, text, headers: answer.headers, atOnce: seen === before });
        });
      });
      sent.on('error', reject).end(body);
    });
  const put = (key: string, text: string, headers: Record<string, string> = {}) =>
    call('PUT', `${objects}/${key}`, undefined, { text, headers: { ...ADMIN_HEADERS, ...headers } });
  /** A token that reads the objects of one bucket. */
  const readerOf = async (bucket: string, more: object = {}): Promise<{ authorization: string; id: string }> => {
    const name = 'Workers R2 Storage Bucket Item Read';
    const groups = (await call('GET', `/user/tokens/permission_groups?name=${encodeURIComponent(name)}`)).json.result;
    const resources = { [`com.cloudflare.edge.r2.bucket.${account}_default_${bucket}`]: '*' };
    const policies = [{ effect: 'allow', permission_groups: [{ id: groups[0].id }], resources }];
    const { json } = await call('POST', '/user/tokens', { name: bucket, policies, ...more });
    return { authorization: `Bearer ${json.result.value}`, id: json.result.id };
  };
  return { ...world, account, agent, get, put, readerOf, path: (key: string) => `/client/v4${objects}/${key}` };
}

/** What differs from one answer to the next. */
const VARYING = ['date', 'x-request-id', 'keep-alive', 'connection'];

function comparable({ status, text, headers }: Got) {
  const rest = Object.entries(headers).filter(([name]) => !VARYING.includes(name) && !/ratelimit/.test(name));
  return { status, text, headers: Object.fromEntries(rest) };
}

const world = start(t);

t.test('the same answers as from the framework', async (t) => {
  const { get, put, path, token, account } = await world;
  await put('a%20b', 'hello world', { 'content-type': 'text/plain', 'cache-control': 'max-age=5' });
  await put('c', 'x'.repeat(40_000));
  const own = await token();
  const { headers } = await get(path('a%20b'), own);
  const [etag, date] = [headers.etag!, headers['last-modified']!];
  const asked: readonly [more: Record<string, string>, atOnce: boolean][] = [
    [{}, true],
    [{ range: 'bytes=6-' }, true],
    [{ range: 'bytes=11-' }, false],
    [{ range: 'nonsense' }, true],
    [{ 'if-none-match': etag }, true],
    [{ 'if-match': '"other"' }, false],
    [{ 'if-modified-since': date }, true],
    [{ range: 'bytes=0-1', 'if-range': etag }, true],
    [{ 'cf-r2-jurisdiction': 'eu' }, false],
    [{ 'cf-r2-jurisdiction': 'mars' }, false],
    [{ cookie: 'a=b', origin: 'https://a.test', 'x-auth-key': 'x' }, true],
  ];
  for (const key of ['a%20b', 'c']) {
    for (const method of ['GET', 'HEAD']) {
      for (const [more, atOnce] of asked) {
        const what = `${method} ${key} ${JSON.stringify(more)}`;
        const first = await get(path(key), { ...own, ...more }, method);
        // Node's server reads a request that says its length.
        const other = await get(path(key), { ...own, ...more, 'content-length': '0' }, method);
        t.strictSame(comparable(first), comparable(other), what);
        if (method === 'GET' && key === 'a%20b') t.equal(first.atOnce, atOnce, what);
        t.equal(other.atOnce, false, what);
      }
    }
  }
  const { length } = (await get(path('a%20b'), own)).headers['x-request-id'] as string;
  t.equal(length, 32);
  for (const [target, credential] of [
    [path('a%20b'), {}],
    [path('a%20b'), { authorization: 'Bearer no' }],
    [path('a%20b'), { authorization: `Bearer ${'x'.repeat(40)}` }],
    [path('a%20b'), ADMIN_HEADERS],
    [path('missing'), own],
    [path('%FF'), own],
    [path('/'), own],
    [path('k'.repeat(1025)), own],
    [`${path('a%20b')}?x=1`, own],
    [path('a%20b').replace('pictures', 'others'), own],
    [path('a%20b').replace(account, '0'.repeat(32)), own],
    [path('a%20b').replace('/client', ''), own],
  ] as const) {
    const first = await get(target, credential);
    t.equal(first.atOnce, false, target);
    t.strictSame(comparable(first), comparable(await get(target, { ...credential, 'content-length': '0' })), target);
  }
});

t.test('a small PUT is stored as by the framework, refused as there, and counted once', async (t) => {
  const { get, path, token, account, call } = await world;
  const own = await token();
  const md5 = (text: string): string => createHash('md5').update(text).digest('base64');
  // Node's server reads a request with this field.
  const slowly = { 'keep-alive': 'x' };
  const asked: readonly [more: Record<string, string>, status: number, atOnce: boolean][] = [
    [{}, 200, true],
    [
      { 'content-type': 'text/css', 'cache-control': 'max-age=5', 'cf-r2-storage-class': 'InfrequentAccess' },
      200,
      true,
    ],
    [{ 'content-type': 'garbage' }, 200, true],
    [{ 'content-type': 'text/plain; charset="utf-8' }, 200, true],
    [{ 'content-type': '' }, 200, true],
    [{ 'content-md5': md5('hello') }, 200, true],
    [{ 'content-md5': md5('other') }, 400, true],
    [{ 'content-md5': 'x' }, 400, true],
    [{ 'x-checksum-sha256': createHash('sha256').update('hello').digest('hex') }, 200, true],
    [{ 'x-checksum-sha256': 'f'.repeat(64) }, 400, true],
    [{ 'if-none-match': '*' }, 412, true],
    [{ 'if-match': '"other"' }, 412, true],
    [{ 'content-disposition': 'x'.repeat(7000), expires: 'z'.repeat(1300) }, 400, false],
    [{ 'cf-r2-storage-class': 'Glacier' }, 400, false],
    [{ 'cf-r2-jurisdiction': 'eu' }, 404, false],
    [{ authorization: `Bearer ${'x'.repeat(40)}` }, 403, false],
  ];
  const anew = ({ text, ...rest }: ReturnType<typeof comparable>) => ({
    ...rest,
    text: text.replace(/"(uploaded|version)":"[^"]*"/g, '"$1":""'),
  });
  await get(path('k'), own, 'PUT', false, 'first');
  for (const [more, status, atOnce] of asked) {
    const what = JSON.stringify(more).slice(0, 80);
    const first = await get(path('k'), { ...own, ...more }, 'PUT', false, 'hello');
    const stored = await get(path('k'), own);
    const other = await get(path('k'), { ...own, ...more, ...slowly }, 'PUT', false, 'hello');
    t.strictSame(anew(comparable(first)), anew(comparable(other)), what);
    t.strictSame([first.status, first.atOnce, other.atOnce], [status, atOnce, false], what);
    const { 'last-modified': _, ...headers } = stored.headers;
    t.match(comparable(await get(path('k'), own)).headers, comparable({ ...stored, headers }).headers, what);
    t.equal(stored.text, status === 200 ? 'hello' : stored.text);
  }
  for (const target of [
    path('k').replace('pictures', 'others'),
    path('k').replace(account, '0'.repeat(32)),
    path('%FF'),
  ]) {
    const first = await get(target, own, 'PUT', false, 'hello');
    t.equal(first.atOnce, false, target);
    t.strictSame(
      comparable(first),
      comparable(await get(target, { ...own, ...slowly }, 'PUT', false, 'hello')),
      target,
    );
  }
  const groups = (await call('GET', '/user/tokens/permission_groups')).json.result as { id: string; name: string }[];
  const resources = { [`com.cloudflare.edge.r2.bucket.${account}_default_pictures`]: '*' };
  const credential = async (level: string): Promise<{ authorization: string }> => {
    const { id } = groups.find(({ name }) => name === `Workers R2 Storage Bucket Item ${level}`)!;
    const policies = [{ effect: 'allow', permission_groups: [{ id }], resources }];
    const { json } = await call('POST', '/user/tokens', { name: level, policies });
    return { authorization: `Bearer ${json.result.value}` };
  };
  const [writer, reader] = [await credential('Write'), await credential('Read')];
  // Its use is noted.
  await get(path('k'), writer);
  const remaining: unknown[] = [];
  for (const headers of [{}, { 'if-none-match': '*' }, { 'content-md5': md5('other') }, slowly]) {
    const answer = await get(path('k'), { ...writer, ...headers }, 'PUT', false, 'hello');
    remaining.push([answer.status, answer.headers['x-ratelimit-remaining']]);
  }
  t.strictSame(remaining, [
    [200, String(LIMIT - 2)],
    [412, String(LIMIT - 3)],
    [400, String(LIMIT - 4)],
    [200, String(LIMIT - 5)],
  ]);
  t.match(await get(path('k'), reader, 'PUT', false, 'hello'), { status: 403, atOnce: false });
  for (let left = LIMIT - 5; left > 0; left--) await get(path('k'), writer, 'PUT', false, 'hello');
  t.match(await get(path('k'), writer, 'PUT', false, 'too many'), { status: 429, atOnce: false });
  t.equal((await get(path('k'), own)).text, 'hello');
});

t.test('the same keys as from the framework', async (t) => {
  const { get, path, token, account } = await world;
  const own = await token();
  const escapes = [
    'a%2Fb',
    'a/b',
    'a//b',
    '/a',
    'a/',
    'a%00b',
    '..',
    'a/../b',
    'a/./b',
    '%2e%2e',
    'a;b',
    'a%3Fb',
    'a%23b',
  ];
  for (const [i, escaped] of [
    ...escapes,
    '%E2%82%AC',
    '+',
    'a%252Fb',
    "a'b",
    'a%0d%0ab',
    '%20',
    '*',
    'objects/x',
  ].entries()) {
    const text = `body ${i}`;
    const put = await get(path(escaped), { ...own, 'content-length': String(text.length) }, 'PUT', false, text);
    t.equal(put.status, 200, escaped);
    const first = await get(path(escaped), own);
    t.match(first, { status: 200, text, atOnce: true }, escaped);
    t.strictSame(comparable(first), comparable(await get(path(escaped), { ...own, 'content-length': '0' })), escaped);
  }
  for (const target of [
    path('a/b').replace('/objects', '//objects'),
    path('a/b').replace('/r2/', '/r2//'),
    path('a/b').replace('pictures', 'Pictures'),
    path('a/b').replace('pictures', '%70ictures'),
    path('a/b').replace(account, account.toUpperCase()),
    path('%c3%28'),
    path('//'),
    `${path('a/b')}#x`,
  ]) {
    const first = await get(target, own);
    t.equal(first.atOnce, false, target);
    t.strictSame(comparable(first), comparable(await get(target, { ...own, 'content-length': '0' })), target);
  }
});

t.test('permission to read is checked at every request, also on a connection that stays open', async (t) => {
  const { get, put, path, token, call, account, operator, agent, clock, readerOf } = await world;
  await put('a', 'first');
  const soon = new Date(clock.nowMs() + 60_000).toISOString().replace(/\.\d+/, '');
  const [right, wrong, ending] = [
    await readerOf('pictures'),
    await readerOf('others'),
    await readerOf('pictures', { expires_on: soon }),
  ];
  const ask = ({ authorization }: { authorization: string }) => get(path('a'), { authorization }, 'GET', agent);
  const first = { ...(await get(path('a'), { authorization: right.authorization })) };
  t.match(first, { status: 200, text: 'first', atOnce: false }, 'its first use is noted');
  for (let i = 0; i < 3; i++) t.match(await ask(right), { status: 200, text: 'first', atOnce: true });
  await get(path('a'), { authorization: wrong.authorization });
  t.match(await ask(wrong), { status: 403 }, 'another token on the same connection');
  const anew = (): void => agent.destroy();
  anew();
  await get(path('a'), { authorization: ending.authorization });
  t.match(await ask(ending), { status: 200, atOnce: true });
  await put('a', 'second');
  t.match(await ask(ending), { status: 200, text: 'second', atOnce: true }, 'the next answer has the new body');
  clock.advance(61_000);
  t.match(await ask(ending), { status: 403 }, 'it has expired');
  anew();
  t.match(await ask(right), { status: 200, atOnce: true });
  await call('DELETE', `/accounts/${account}/r2/buckets/pictures/objects/a`);
  t.match(await ask(right), { status: 404 });
  anew();
  await put('a', 'third');
  t.match(await ask(right), { status: 200, text: 'third', atOnce: true });
  await revokeKey(operator, right.id);
  t.match(await ask(right), { status: 403 }, 'it was revoked');
  await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const foreign = await token({ email: 'other@example.org' });
  for (let i = 0; i < 2; i++) t.match(await get(path('a'), foreign), { status: 403, atOnce: false }, 'another account');
});

t.test('both ways count the same requests', async (t) => {
  const { get, put, path, readerOf } = await world;
  await put('a', 'octets');
  const { authorization } = await readerOf('pictures');
  const ways: readonly [more: Record<string, string>, status: number, atOnce: boolean][] = [
    [{ 'content-length': '0' }, 200, false],
    [{}, 200, true],
    [{ range: 'bytes=6-' }, 416, false],
    [{ 'if-match': '"other"' }, 412, false],
    [{ range: 'bytes=0-1,4-5' }, 206, false],
  ];
  for (let left = LIMIT - 1; left >= 0; left--) {
    const [more, status, atOnce] = ways[(LIMIT - 1 - left) % ways.length]!;
    const answer = await get(path('a'), { authorization, ...more });
    t.match(answer, { status, atOnce }, JSON.stringify(more));
    t.match(answer.headers, { 'x-ratelimit-limit': String(LIMIT), 'x-ratelimit-remaining': String(left) });
  }
  const refused = await get(path('a'), { authorization });
  t.match(refused, { status: 429, atOnce: false, headers: { 'x-ratelimit-remaining': '0' } });
});
