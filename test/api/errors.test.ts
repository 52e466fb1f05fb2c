/** The error catalogue (api-contract §15): status, code, text and shape of every refusal that clients can cause. */
import { Writable } from 'node:stream';
import fc from 'fast-check';
import fastify, { type FastifyBaseLogger } from 'fastify';
import t from 'tap';
import { MalformedIdentifier, sendError } from '../../src/api/errors.js';
import { AppError } from '../../src/base/errors.js';
import { createLogger, silentLogger } from '../../src/base/log.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { createKey, revokeKey } from '../../src/control/access/keys.js';
import { TYPES } from '../../src/dns/rr/registry.js';
import type { DataMember } from '../../src/dns/rr/type.js';
import { StoreBusy, StoreFull } from '../../src/store/driver.js';
import { runSql } from '../support/write-now.js';
import { ADMIN_HEADERS, ANONYMOUS, EMAIL, install, KEY } from './installation.js';

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 300);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_120);
const NOWHERE = '00000000000000000000000000000000';

function refused(...errors: readonly (readonly [code: number, message: string])[]): string {
  const items = errors.map(([code, message]) => JSON.stringify({ code, message }));
  return `{"result":null,"success":false,"errors":[${items.join(',')}],"messages":[]}`;
}

t.test('credentials', async (t) => {
  const { call, token, operator, clock, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  const malformed = (...chain: readonly (readonly [number, string])[]): string =>
    `{"result":null,"success":false,"errors":[{"code":6003,"message":"Invalid request headers","error_chain":[${chain
      .map(([code, message]) => JSON.stringify({ code, message }))
      .join(',')}]}],"messages":[]}`;
  const missing = refused([9106, 'Missing X-Auth-Key, X-Auth-Email or Authorization headers']);
  const badBearer = malformed([6111, 'Invalid format for Authorization header']);
  const badEmail = [6102, 'Invalid format for X-Auth-Email header'] as const;
  const badKey = [6103, 'Invalid format for X-Auth-Key header'] as const;
  const unknownKey = refused([9103, 'Unknown X-Auth-Key or X-Auth-Email']);
  const unknownToken = refused([9109, 'Invalid access token']);
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const pair = (email: string, key: string) => ({ 'x-auth-email': email, 'x-auth-key': key });
  const apiToken = (await token()).authorization.slice('Bearer '.length);

  const rows: readonly (readonly [Record<string, string>, number, string])[] = [
    [ANONYMOUS, 400, missing],
    [{ 'x-auth-email': EMAIL }, 400, missing],
    [{ 'x-auth-key': KEY }, 400, missing],
    [bearer('short'), 400, badBearer],
    [bearer('x'.repeat(201)), 400, badBearer],
    [bearer('has a blank in it, really'), 400, badBearer],
    [{ authorization: `Basic ${Buffer.from('a:b').toString('base64')}` }, 400, badBearer],
    [{ authorization: '' }, 400, badBearer],
    [pair('nobody', KEY), 400, malformed(badEmail)],
    [pair(EMAIL, 'short'), 400, malformed(badKey)],
    [pair('', ''), 400, malformed(badEmail, badKey)],
    [pair(EMAIL, 'z'.repeat(37)), 403, unknownKey],
    [pair('other@localhost', KEY), 403, unknownKey],
    [pair(EMAIL, apiToken), 400, malformed(badKey)],
    [bearer('A'.repeat(40)), 403, unknownToken],
    [{ ...bearer('A'.repeat(40)), ...ADMIN_HEADERS }, 403, unknownToken],
  ];
  for (const [headers, status, text] of rows) {
    const answer = await call('GET', '/zones', undefined, { headers });
    t.strictSame([answer.status, answer.text], [status, text], JSON.stringify(headers));
    t.notMatch(answer.text, /k0123|AAAA/, 'no secret comes back');
  }
  for (const headers of [
    bearer(KEY),
    bearer(apiToken),
    pair(EMAIL.toUpperCase(), KEY),
    { authorization: `bearer  ${KEY}` },
  ]) {
    t.equal((await call('GET', '/zones', undefined, { headers })).status, 200, JSON.stringify(headers));
  }

  await t.test('token checks', async (t) => {
    const key = await createKey(operator, {
      kind: 'token',
      name: 'brief',
      email: EMAIL,
      expiresAt: (clock.nowMs() + 60_000) * 1000,
    });
    const headers = bearer(key.secret);
    const verify = '/user/tokens/verify';
    t.equal(
      (await call('GET', verify, undefined, { headers })).text,
      `{"result":{"id":"${key.key.id}","status":"active","expires_on":"2024-05-05T12:01:00.123000Z"},"success":true,"errors":[],"messages":[{"code":10000,"message":"This API Token is valid and active","type":null}]}`,
    );
    const account = (await call('GET', '/accounts')).json.result[0].id;
    t.equal(
      (await call('GET', `/accounts/${account}/tokens/verify`, undefined, { headers })).json.result.id,
      key.key.id,
    );
    const unknown = await call('GET', verify, undefined, { headers: bearer('B'.repeat(40)) });
    t.strictSame([unknown.status, unknown.text], [401, refused([1000, 'Invalid API Token'])]);
    t.equal((await call('GET', verify)).text, refused([9109, 'Unauthorized to access requested resource']));
    clock.advance(60_000);
    t.strictSame((await call('GET', '/zones', undefined, { headers })).text, unknownToken, 'expired');
    t.equal((await call('GET', verify, undefined, { headers })).status, 401);
    const revoked = await createKey(operator, { kind: 'key', name: 'gone', email: EMAIL });
    await revokeKey(operator, revoked.key.id);
    t.equal((await call('GET', '/zones', undefined, { headers: pair(EMAIL, revoked.secret) })).text, unknownKey);
    t.equal((await call('GET', '/zones', undefined, { headers: bearer(revoked.secret) })).text, unknownToken);
  });

  await t.test('scope', async (t) => {
    const other = await createAccount(operator, { name: 'Other', members: ['other@localhost'] });
    const foreign = await token({ email: 'other@localhost' });
    t.strictSame((await call('GET', '/zones', undefined, { headers: foreign })).json.result, [], 'lists stay silent');
    for (const path of ['', '/dns_records', '/settings', '/custom_hostnames', '/dns_records/export']) {
      const direct = await call('GET', `/zones/${zone}${path}`, undefined, { headers: foreign });
      t.strictSame([direct.status, direct.text], [404, refused([1001, 'Invalid zone identifier'])]);
      const absent = await call('GET', `/zones/${'0'.repeat(32)}${path}`, undefined, { headers: foreign });
      t.equal(absent.text, direct.text, 'nobody can ask which identifiers exist');
    }
    const one = { headers: await token({ zoneIds: [zone] }) };
    const others = [(await call('POST', '/zones', { name: 'beside.test' })).json.result.id, '0'.repeat(32)];
    for (const id of others) {
      const beside = await call('GET', `/zones/${id}`, undefined, one);
      t.strictSame([beside.status, beside.text], [403, refused([10000, 'Authentication error'])]);
    }
    const own = await call('POST', '/zones', { name: 'own.test' }, { headers: foreign });
    t.equal(own.json.result.account.id, other.id);
    t.strictSame(
      (await call('GET', '/accounts', undefined, { headers: foreign })).json.result.map(({ id }: { id: string }) => id),
      [other.id],
    );
    const adminAccount = (await call('GET', '/accounts?name=other&direction=desc')).json.result;
    t.equal(adminAccount[0].id, other.id, 'an administrator sees all accounts');
    const first = (await call('GET', '/accounts')).json.result[0].id;
    t.equal((await call('GET', `/accounts/${first}`, undefined, { headers: foreign })).json.errors[0].code, 9109);
    t.equal((await call('GET', `/accounts/${NOWHERE}`)).json.errors[0].code, 7003);

    const limited = await token({ zoneIds: [zone] });
    t.strictSame(
      (await call('GET', '/zones', undefined, { headers: limited })).json.result.map(({ id }: { id: string }) => id),
      [zone],
    );
    t.equal(
      (await call('GET', `/zones/${own.json.result.id}`, undefined, { headers: limited })).json.errors[0].code,
      10000,
    );
    const reader = await token({ readOnly: true });
    const { result } = (await call('GET', `/zones/${zone}`, undefined, { headers: reader })).json;
    t.strictSame(result.permissions, ['#dns_records:read', '#zone:read']);
    for (const [method, path, body] of [
      ['POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'x', content: '192.0.2.1' }],
      ['DELETE', `/zones/${zone}`, undefined],
      ['PATCH', `/zones/${zone}`, { paused: true }],
      ['PATCH', `/zones/${zone}/dns_settings`, { ns_ttl: 300 }],
      ['POST', '/zones', { name: 'more.test' }],
    ] as const) {
      const answer = await call(method, path, body, { headers: reader });
      t.strictSame([answer.status, answer.json.errors[0].code], [403, 10000], `${method} ${path}`);
    }
  });

  await t.test('users and memberships', async (t) => {
    const { json, text } = await call('GET', '/user');
    t.match(text, /^\{"result":\{"id":"[0-9a-f]{32}","email":"admin@localhost","first_name":null,/);
    t.equal(json.result.two_factor_authentication_enabled, false);
    const memberships = await call('GET', '/memberships?order=account.name&direction=desc&status=accepted&per_page=1');
    t.match(memberships.json, {
      result: [{ status: 'accepted', permissions: { dns_records: { read: true } } }],
      result_info: { per_page: 1, count: 1 },
    });
    t.strictSame((await call('GET', '/memberships?status=pending')).json.result, []);
    t.strictSame((await call('GET', '/memberships?account.name=nobody')).json.result, []);
    t.equal((await call('GET', '/memberships?status=unheard')).json.errors[0].code, 9207);
  });
  t.strictSame(misfits, []);
});

t.test('zones', async (t) => {
  const { call, createZone, misfits } = await install(t);
  await createZone('example.com');
  const post = (name: unknown, more = {}) => call('POST', '/zones', { name, ...more });
  t.match(
    (await post('EXAMPLE.com.')).text,
    /^\{"result":null,"success":false,"errors":\[\{"code":1061,"message":"example\.com already exists"/,
  );
  for (const name of ['', 'a..b', 'x'.repeat(64), 'under score.test', '192.0.2.1', '*.wild.test', 'ex!ample.test']) {
    const { status, json } = await post(name);
    t.strictSame([status, json.errors[0].code], [400, 1002], `zone ${JSON.stringify(name)}`);
  }
  for (const name of [undefined, null, 5, {}, []]) t.equal((await post(name)).status, 400, JSON.stringify(name));
  t.equal((await post('type.test', { type: 'strange' })).status, 400);
  t.equal((await post('account.test', { account: { id: NOWHERE } })).json.success, false);
  const missing = await call('GET', `/zones/${NOWHERE}`);
  t.strictSame([missing.status, missing.text], [404, refused([1001, 'Invalid zone identifier'])]);
  for (const method of ['PATCH', 'DELETE', 'GET'] as const) {
    t.equal((await call(method, `/zones/${NOWHERE}`, method === 'PATCH' ? {} : undefined)).json.errors[0].code, 1001);
  }
  for (const query of ['status=unheard', 'type=odd', 'order=age', 'direction=up', 'match=some']) {
    const { status, json } = await call('GET', `/zones?${query}`);
    t.strictSame([status, json.errors[0].code], [400, 9207], query);
  }
  t.strictSame(misfits, []);
});

t.test('records', async (t) => {
  const { call, createZone, misfits } = await install(t, { limits: { recordsPerZone: 30, batchOperations: 3 } });
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const post = (body: object) => call('POST', records, body);
  const a = (name: string, more = {}) => ({ type: 'A', name, content: '192.0.2.1', ...more });
  for (const body of [
    a('a'),
    a('ns', { type: 'NS', content: 'ns.other.test' }),
    a('c', { type: 'CNAME', content: 'x.test' }),
  ]) {
    t.equal((await post(body)).status, 200);
  }

  const duplicate = refused([81058, 'An identical record already exists.'], [81057, 'The record already exists.']);
  t.equal((await post(a('A'))).text, duplicate);
  t.equal((await post(a('a', { ttl: 300, proxied: true }))).text, duplicate);
  const rows: readonly (readonly [object, number, RegExp])[] = [
    [a('bad name'), 9000, /^DNS name is invalid\.$/],
    [a('a..b'), 9000, /^DNS name is invalid\.$/],
    [a('x'.repeat(64)), 9000, /^DNS name is invalid\.$/],
    [a('other.test.'), 9000, /^DNS name is invalid\.$/],
    [
      a('p', { content: '10.0.0.1', proxied: true }),
      9003,
      /^Target 10\.0\.0\.1 is not allowed for a proxied record\. .*allow-networks does not name its network for origins\.$/,
    ],
    [a('own', { content: '192.0.2.251' }), 9003, /^Target 192\.0\.2\.251 is not allowed/],
    [a('t', { type: 'TXT', content: 'x', proxied: true }), 9004, /^This record type cannot be proxied\.$/],
    [a('bad', { content: '192.0.2.256' }), 9005, /^Content for A record must be a valid IPv4 address\.$/],
    [a('bad', { content: '192.0.2.01' }), 9005, /IPv4/],
    [a('bad', { content: '2001:db8::1' }), 9005, /IPv4/],
    [a('bad', { type: 'AAAA' }), 9006, /^Content for AAAA record must be a valid IPv6 address\.$/],
    [a('bad', { type: 'CNAME', content: 'a b' }), 9007, /^Content for CNAME record is invalid\.$/],
    [a('bad', { type: 'CNAME', content: '192.0.2.1' }), 9007, /CNAME/],
    [a('bad', { type: 'NS', content: '192.0.2.1' }), 9007, /NS/],
    [a('bad', { type: 'MX', content: '', priority: 1 }), 9009, /^Content for MX record must be a hostname/],
    [a('low', { ttl: 59 }), 9021, /^TTL must be between 60 and 86400 seconds, or 1 for Automatic\.$/],
    [a('high', { ttl: 86401 }), 9021, /^TTL must be between/],
    [a('text', { ttl: 'long' }), 9208, /ttl must be a number/],
    [a('loop', { type: 'CNAME', content: 'loop.example.com' }), 9039, /^CNAME content cannot reference itself\.$/],
    [a('c', { type: 'CNAME', content: 'y.test' }), 81053, /already exists/],
    [a('a', { type: 'CNAME', content: 'y.test' }), 81053, /already exists/],
    [a('c'), 81054, /^A CNAME record with that host already exists\./],
    [a('ns'), 81056, /^NS records with that host already exist\.$/],
    [a('ns', { type: 'CNAME', content: 'y.test' }), 81056, /NS records/],
    [a('a', { type: 'NS', content: 'ns.test' }), 81055, /already exists/],
    [
      a('tags', { tags: Array.from({ length: 21 }, (_, i) => `t${i}:x`) }),
      9300,
      /^DNS record has 21 tags, exceeding the quota of 20\.$/,
    ],
    [
      a('note', { comment: 'ü'.repeat(101) }),
      9313,
      /^DNS record comment exceeds the maximum length of 100 characters\.$/,
    ],
    [a('txt', { type: 'TXT', content: '"a" b"' }), 9051, /./],
    [
      { type: 'SRV', name: '_x._tcp', data: { priority: 1, port: 2, target: 'a.test' } },
      9101,
      /^weight is a required data field\.$/,
    ],
    [a('soa', { type: 'SOA' }), 9207, /./],
    [a('odd', { type: 'ODD' }), 9207, /./],
    [a('odd', { type: 7 }), 9207, /^Request body is invalid\.$/],
    [{ name: 'x', content: 'y' }, 9207, /./],
    [{ type: 'A', content: '192.0.2.1' }, 9207, /./],
    [a('x', { content: undefined }), 9005, /./],
    [a('x', { proxied: 'yes' }), 9207, /./],
    [a('x', { tags: 'a:b' }), 9207, /./],
    [a('x', { data: 5, type: 'SRV' }), 9207, /./],
  ];
  const before = (await call('GET', `${records}/usage`)).json.result.record_usage;
  for (const [body, code, message] of rows) {
    const { status, json } = await post(body);
    t.match([status, json.result, json.errors[0]], [400, null, { code, message }], JSON.stringify(body).slice(0, 100));
  }
  t.equal((await call('GET', `${records}/usage`)).json.result.record_usage, before, 'refusals store nothing');

  const missing = refused([81044, 'Record does not exist.']);
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', a('x')],
    ['PATCH', { ttl: 60 }],
    ['DELETE', undefined],
  ] as const) {
    const answer = await call(method, `${records}/${NOWHERE}`, body);
    t.strictSame([answer.status, answer.text], [404, missing], method);
  }
  const batch = await call('POST', `${records}/batch`, { deletes: [{ id: NOWHERE }] });
  const inBatch = missing.replace('exist."', 'exist.","source":{"pointer":"/deletes/0"}');
  t.strictSame([batch.status, batch.text], [404, inBatch]);
  t.equal((await call('POST', `${records}/batch`, { posts: ['b', 'c', 'd', 'e'].map((name) => a(name)) })).status, 400);
  t.equal((await call('POST', `${records}/batch`, { posts: 5 })).json.errors[0].code, 9207);
  for (const query of ['order=age', 'proxied=maybe', 'tag_match=some', 'direction=x']) {
    t.equal((await call('GET', `${records}?${query}`)).json.errors[0].code, 9207, query);
  }
  for (let i = before; i < 30; i++) t.equal((await post(a(`q${i}`))).status, 200);
  t.equal((await post(a('full'))).text, refused([81045, 'Record quota exceeded.']));
  const odd = await call('GET', `${records}?type=A,ODD`);
  t.strictSame([odd.status, odd.json.errors[0].code], [400, 9207], 'a filter for a type that there is not');
  t.strictSame(misfits, []);
});

t.test('bodies', async (t) => {
  const { call, misfits } = await install(t);
  for (const [text, detail] of [
    ['{"name":', 'not JSON'],
    ['[]', 'not a JSON object'],
    ['"text"', 'not a JSON object'],
    ['null', 'not a JSON object'],
    ['', 'not a JSON object'],
    [' \r\n ', 'not a JSON object'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'not UTF-8'],
    ['['.repeat(500_000), 'nested more than 32 levels deep'],
    [`${'['.repeat(32)}1${']'.repeat(32)}`, 'not a JSON object'],
    [`[${'1,'.repeat(10_000)}1]`, 'a list or an object in it has more than 10000 items'],
    [`{${Array.from({ length: 10_001 }, (_, i) => `"${i}":1`)}}`, 'more than 10000 items'],
    [`{"a":[${Array(30).fill(`[${'1,'.repeat(9000)}1]`)}]}`, 'more than 200000 values'],
    [`{"a":"${'\\"['.repeat(50_000)}","\\\\":[[}`, 'not JSON'],
    ['{"name":"x\\ud800.test"}', 'surrogate'],
    ['{"a":[{"\\udc00":1}]}', 'surrogate'],
  ] as const) {
    const { status, json } = await call('POST', '/zones', undefined, { text });
    t.strictSame([status, json.errors[0].code, json.errors[0].message], [400, 9207, 'Request body is invalid.']);
    t.match(json.errors[0].error_chain[0].message, detail);
  }
  const large = await call('POST', '/zones', undefined, { text: ' '.repeat((1 << 20) + 1) });
  t.strictSame([large.status, large.json.errors[0].code], [400, 9207]);
  t.match(large.json.errors[0].message, /1048576 octets/);
  const bom = await call('POST', '/zones', undefined, { text: '\ufeff{"name":"bom.test"}' });
  t.equal(bom.status, 200);
  t.equal(
    (await call('POST', '/zones', undefined, { text: '{"name":"b\\u00fcch\\u0065r.test","x":"\\ud83d\\ude00"}' }))
      .status,
    200,
  );
  const odd = await call('POST', '/zones', undefined, {
    text: '{"name":"proto.test","__proto__":{"name":"evil.test"},"constructor":1}',
  });
  t.equal(odd.json.result.name, 'proto.test');
  t.strictSame(misfits, []);
});

t.test('an unexpected failure is logged with its stack and reveals nothing to the client', async (t) => {
  const lines: string[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  });
  const { call, store } = await install(t, { log: createLogger({ level: 'warn', pretty: false, destination }) });
  runSql(store, 'ALTER TABLE zones RENAME TO lost');
  const { status, text, headers } = await call('GET', '/zones');
  t.strictSame([status, text], [500, refused([1500, 'Internal server error.'])]);
  const line = JSON.parse(lines.find((entry) => entry.includes('unexpectedly'))!);
  t.equal(line.requestId, headers['x-request-id']);
  t.match(line.err.stack, /zones/);
  t.notMatch(lines.join(), KEY);
  runSql(store, 'ALTER TABLE lost RENAME TO zones');
});

t.test('any record is accepted or refused with a reason', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const member = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom('@', '.', '*', 'example.com', '192.0.2.1', '::1', '"', '\\', '1 2 3', '\\# 1 00', '\ud800', '\0'),
    fc.double(),
    fc.integer(),
    fc.constantFrom(null, true, [], {}, ['a'], { a: 1 }),
  );
  const mostly = (arbitrary: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 15, arbitrary }, { weight: 1, arbitrary: member });
  const text = fc.constantFrom(
    'a',
    'b.example.net',
    'abcd',
    '192.0.2.1',
    '2001:db8::1',
    '"x y"',
    'AAAA',
    'N',
    'a.',
    '',
    'a=b',
  );
  const value = ({ type, minimum = 0, maximum = 255, values }: DataMember): fc.Arbitrary<unknown> =>
    values
      ? fc.constantFrom(...values)
      : type === 'string'
        ? text
        : fc.integer({ min: minimum, max: Math.trunc(maximum) });
  const types = TYPES.filter(({ creatable }) => creatable);
  const body = fc.constantFrom(...types).chain(({ mnemonic, data }) =>
    fc.record(
      {
        type: mostly(fc.constant(mnemonic)),
        name: mostly(fc.constantFrom('a', 'b', '_c._tcp', '*.d')),
        content: fc.oneof(text, member),
        ...(data.length === 0
          ? {}
          : { data: mostly(fc.record(Object.fromEntries(data.map((one) => [one.name, mostly(value(one))])))) }),
        ttl: mostly(fc.constantFrom(1, 60, 300, '300', 3600.0)),
        priority: mostly(fc.integer({ min: 0, max: 65535 })),
        proxied: mostly(fc.boolean()),
        comment: mostly(fc.constantFrom(null, '', 'note', 'ünï')),
        tags: mostly(fc.constantFrom([], ['a:b'], ['x'], null)),
        settings: mostly(fc.constantFrom({}, null, { flatten_cname: true }, { ipv4_only: false })),
      },
      { requiredKeys: ['type', 'name'] },
    ),
  );
  const taken = new Set<string>();
  await fc.assert(
    fc.asyncProperty(body, async (input) => {
      const { status, json } = await call('POST', records, input);
      if (status !== 200) return status === 400 && json.errors.length > 0 && json.errors[0].code !== 1500;
      const { id, type } = json.result;
      taken.add(type);
      const again = await call('GET', `${records}/${id}`);
      const removed = await call('DELETE', `${records}/${id}`);
      return again.text.includes(JSON.stringify(json.result)) && removed.status === 200;
    }),
    { numRuns: RUNS, seed: SEED },
  );
  t.ok(taken.size >= 10, `both happen: ${[...taken]}`);
  t.strictSame(misfits, []);
});

t.test('statuses and headers that clients depend on', async (t) => {
  const app = fastify({ loggerInstance: silentLogger() as unknown as FastifyBaseLogger });
  t.teardown(() => app.close());
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  const thrown: Readonly<Record<string, () => unknown>> = {
    conflict: () => new AppError('test.conflict', 409, 1406, 'Duplicate.', { pointer: '/name' }),
    part: () =>
      new AppError('test.later', 429, 971, 'Wait.', { pointer: '/a', retryAfterSeconds: 7 }).within('/posts/1'),
    busy: () => new StoreBusy(),
    full: () => new StoreFull(),
    unauthorised: () => new AppError('test.token', 401, 1000, 'Invalid API Token'),
    identifier: () => new MalformedIdentifier(),
    bug: () => new TypeError('undefined is not a function'),
    text: () => 'just a text',
  };
  for (const [name, make] of Object.entries(thrown)) {
    app.get(`/${name}`, async () => {
      throw make();
    });
  }
  const answer = async (name: string) => {
    const { statusCode, headers, body } = await app.inject(`/${name}`);
    return [statusCode, headers['x-should-retry'], headers['retry-after'], headers['www-authenticate'], body];
  };
  const none = undefined;
  const conflict =
    '{"result":null,"success":false,"errors":[{"code":1406,"message":"Duplicate.","source":{"pointer":"/name"}}],"messages":[]}';
  t.strictSame(await answer('conflict'), [409, 'false', none, none, conflict]);
  const [status, , retryAfter, , body] = await answer('part');
  t.strictSame([status, retryAfter], [429, '7'], 'a part of a larger request has the headers of its refusal');
  t.match(body, '"pointer":"/posts/1/a"');
  t.strictSame((await answer('busy')).slice(0, 4), [503, none, '1', none]);
  t.strictSame((await answer('full')).slice(0, 4), [507, none, none, none]);
  t.strictSame((await answer('unauthorised')).slice(0, 4), [401, none, none, 'Bearer']);
  t.match((await answer('identifier'))[4], /Could not route to \/identifier, perhaps/);
  for (const name of ['bug', 'text']) {
    t.strictSame(await answer(name), [500, none, none, none, refused([1500, 'Internal server error.'])]);
  }
});

t.test('too many requests', async (t) => {
  const { app, call, token, operator, clock } = await install(t, { rateLimit: 3 });
  await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const tokenOf = () => token({ email: 'other@example.org' });
  const headers = await tokenOf();
  for (const left of [2, 1, 0]) {
    const answer = await call('GET', '/user', undefined, { headers });
    t.equal(answer.status, 200);
    t.match(answer.headers, {
      'x-ratelimit-limit': '3',
      'x-ratelimit-remaining': String(left),
      'x-ratelimit-reset': /GMT$/,
      ratelimit: new RegExp(`^"default";r=${left};t=\\d+$`),
      'ratelimit-policy': '"default";q=3;w=300',
    });
  }
  const refused = await call('GET', '/user', undefined, { headers });
  t.match(refused, { status: 429, json: { success: false, errors: [{ code: 971 }] } });
  t.match(refused.headers, { 'retry-after': /^\d+$/, 'x-ratelimit-remaining': '0' });
  t.equal((await call('GET', '/user')).status, 200, 'the operator has no limit');
  t.notMatch((await call('GET', '/user')).headers, { ratelimit: /./ });
  const others = await Promise.all([tokenOf(), tokenOf(), tokenOf(), tokenOf()]);
  const statuses: number[] = [];
  for (const one of others) {
    for (let i = 0; i < 3; i++) statuses.push((await call('GET', '/user', undefined, { headers: one })).status);
  }
  t.equal(
    statuses.filter((status) => status === 200).length,
    12 - 4,
    'many tokens of one account have the limit of four',
  );
  const last = await call('GET', '/user', undefined, { headers: await tokenOf() });
  t.match([last.status, last.headers['ratelimit-policy']], [429, '"default";q=12;w=300']);
  t.equal((await call('GET', '//livez')).status, 200, 'what is public is not counted');
  const guess = (remoteAddress: string) =>
    app.inject({ url: '/client/v4/user', headers: { authorization: `Bearer ${'x'.repeat(40)}` }, remoteAddress });
  for (let i = 0; i < 3; i++) t.equal((await guess('192.0.2.1')).statusCode, 403);
  t.equal((await guess('192.0.2.1')).statusCode, 429, 'who guesses is counted by the address');
  t.equal((await guess('192.0.2.2')).statusCode, 403);
  clock.putBack(86_400_000);
  t.equal((await guess('192.0.2.1')).statusCode, 429);
  clock.advance(301_000);
  t.equal((await guess('192.0.2.1')).statusCode, 403, 'a clock that is put back by a day makes no limit longer');
});
