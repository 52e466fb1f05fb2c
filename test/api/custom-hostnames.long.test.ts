/** Custom hostnames over HTTP: every refusal with its number, what is answered, lists, and the limit on certificates. */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Cloudflare from 'cloudflare';
import t from 'tap';
import { setAllowance } from '../../src/hostnames/allowance.js';
import { issuedFor } from '../../src/store/certs/issued.js';
import { findRequest } from '../../src/store/certs/requests.js';
import { CERTIFICATE_KEYS } from '../../src/store/sealed-columns.js';
import { latestEvents } from '../support/rows.js';
import { runSql } from '../support/write-now.js';
import { type Installation, install } from './installation.js';

const OPENSSL = '/usr/bin/openssl';
const withoutOpenssl = !existsSync(OPENSSL) && process.env['CI'] !== 'true' ? `not installed: ${OPENSSL}` : false;

const ZONE = 'saas.net';

async function startSaas(installation: Installation): Promise<string> {
  const zone = `/zones/${await installation.createZone(ZONE)}`;
  for (const name of ['fallback', 'other']) {
    const record = { type: 'A', name, content: '192.0.2.10', ttl: 1, proxied: true };
    t.equal((await installation.call('POST', `${zone}/dns_records`, record)).status, 200);
  }
  return `${zone}/custom_hostnames`;
}

interface Row {
  readonly status: number;
  readonly code: number;
  readonly why: string;
  readonly body?: object;
  readonly text?: string;
}

const ssl = (members: object): object => ({ hostname: 'shop.customer.net', ssl: members });
const settings = (members: object): object => ssl({ method: 'txt', type: 'dv', settings: members });

/** v4: §15.4, in the order of the numbers. */
const REFUSED: readonly Row[] = [
  { status: 400, code: 1400, why: 'no JSON', text: '{"hostname":' },
  { status: 400, code: 1400, why: 'no object', text: '[]' },
  { status: 400, code: 1400, why: 'no body', text: '' },
  {
    status: 400,
    code: 1401,
    why: 'metadata that is not an object',
    body: { hostname: 'a.customer.net', custom_metadata: 'x' },
  },
  {
    status: 400,
    code: 1401,
    why: 'metadata of numbers',
    body: { hostname: 'a.customer.net', custom_metadata: { a: 1 } },
  },
  { status: 409, code: 1406, why: 'a duplicate', body: { hostname: 'taken.customer.net' } },
  { status: 409, code: 1406, why: 'a duplicate in upper case', body: { hostname: 'TAKEN.customer.net.' } },
  ...['192.0.2.1', '::1', 'https://a.customer.net/', 'a..customer.net', 'a_b.customer.net', '-a.customer.net'].map(
    (hostname) => ({ status: 400, code: 1407, why: hostname, body: { hostname } }),
  ),
  { status: 400, code: 1407, why: '256 octets', body: { hostname: `${'a.'.repeat(120)}customer.net.long` } },
  { status: 400, code: 1407, why: 'a label of 64', body: { hostname: `${'a'.repeat(64)}.customer.net` } },
  { status: 400, code: 1407, why: 'none', body: {} },
  { status: 400, code: 1407, why: 'a wildcard inside', body: { hostname: 'a.*.customer.net' } },
  { status: 400, code: 1408, why: 'Unicode', body: { hostname: 'bücher.customer.net' } },
  { status: 400, code: 1408, why: 'an emoji', body: { hostname: '😀.customer.net' } },
  { status: 400, code: 1410, why: 'a suffix', body: { hostname: 'co.uk' } },
  { status: 400, code: 1410, why: 'a wildcard below a suffix', body: { hostname: '*.com' } },
  {
    status: 400,
    code: 1412,
    why: 'wildcard metadata',
    body: { hostname: '*.customer.net', custom_metadata: { a: 'b' } },
  },
  ...(
    [
      [1415, 'not a host'],
      [1416, `${'a'.repeat(250)}.${ZONE}`],
      [1417, '192.0.2.1'],
      [1420, `*.${ZONE}`],
      [1421, `missing.${ZONE}`],
      [1421, 'origin.elsewhere.net'],
    ] as const
  ).map(([code, origin]) => ({
    status: 400,
    code,
    why: `origin ${origin.slice(0, 30)}`,
    body: { hostname: 'a.customer.net', custom_origin_server: origin },
  })),
  {
    status: 400,
    code: 1418,
    why: 'SNI',
    body: { hostname: 'a.customer.net', custom_origin_server: `other.${ZONE}`, custom_origin_sni: 'a b' },
  },
  { status: 400, code: 1419, why: 'SNI alone', body: { hostname: 'a.customer.net', custom_origin_sni: 'a.b.net' } },
  { status: 400, code: 1422, why: 'http2', body: settings({ http2: 'yes' }) },
  { status: 400, code: 1423, why: 'tls_1_2_only', body: settings({ tls_1_2_only: true }) },
  { status: 400, code: 1424, why: 'tls_1_3', body: settings({ tls_1_3: 1 }) },
  { status: 400, code: 1425, why: 'min_tls_version', body: settings({ min_tls_version: '1.4' }) },
  { status: 400, code: 1426, why: 'certificate', body: ssl({ custom_certificate: 'x', custom_key: 'y' }) },
  { status: 400, code: 1427, why: 'key alone', body: ssl({ custom_key: 'y' }) },
  { status: 400, code: 1429, why: 'certificate alone', body: ssl({ custom_certificate: 'x' }) },
  { status: 400, code: 1430, why: 'CSR that is not an identifier', body: ssl({ custom_csr_id: 1 }) },
  { status: 404, code: 1431, why: 'CSR', body: ssl({ custom_csr_id: '7b163417-1d2b-4c84-a38a-2fb7a0cd7752' }) },
  { status: 400, code: 1432, why: 'method', body: ssl({ method: 'dns' }) },
  { status: 400, code: 1432, why: 'email', body: ssl({ method: 'email' }) },
  { status: 400, code: 1432, why: 'a wildcard by http', body: ssl({ method: 'http', wildcard: true }) },
  { status: 400, code: 1433, why: 'type', body: ssl({ type: 'ev' }) },
  { status: 400, code: 1434, why: 'authority', body: ssl({ certificate_authority: 'mine' }) },
  { status: 400, code: 1434, why: 'ssl', body: { hostname: 'a.customer.net', ssl: 'yes' } },
  { status: 400, code: 1434, why: 'wildcard', body: ssl({ wildcard: 'yes' }) },
  { status: 400, code: 1442, why: 'ciphers', body: settings({ ciphers: ['no cipher'] }) },
  { status: 400, code: 1442, why: 'an unknown suite', body: settings({ ciphers: ['ECDHE-ECDSA-AES128-GCM-SHA265'] }) },
  { status: 400, code: 1442, why: 'a group of suites', body: settings({ ciphers: ['ENULL'] }) },
  {
    status: 400,
    code: 1443,
    why: 'ciphers with 1.3',
    body: settings({ ciphers: ['AES128-GCM-SHA256'], min_tls_version: '1.3' }),
  },
  {
    status: 400,
    code: 1448,
    why: 'a wildcard of a wildcard',
    body: { hostname: '*.customer.net', ssl: { method: 'txt', type: 'dv', wildcard: true } },
  },
  { status: 400, code: 1449, why: 'bundle_method', body: ssl({ bundle_method: 'best' }) },
];

t.test('every refusal of a creation', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, misfits } = installation;
  t.equal((await call('POST', list, { hostname: 'taken.customer.net' })).status, 200);
  for (const { status, code, why, body, text } of REFUSED) {
    const answer = await call('POST', list, body, text === undefined ? {} : { text });
    t.match(answer, { status, json: { success: false, errors: [{ code }] } }, `${code} ${why}`);
  }
  const duplicate = await call('POST', list, { hostname: 'taken.customer.net' });
  t.equal(duplicate.json.errors[0].message, 'Duplicate custom hostname found.');
  t.equal(duplicate.headers['x-should-retry'], 'false');
  t.equal((await call('GET', list)).json.result_info.total_count, 1, 'none of them left anything behind');
  t.strictSame(misfits, []);
});

t.test('refusals of the other routes', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call } = installation;
  const { id } = (await call('POST', list, { hostname: 'app.customer.net' })).json.result;
  const unknown = '7b163417-1d2b-4c84-a38a-2fb7a0cd7752';
  const refused: readonly (readonly [string, 'GET' | 'PATCH' | 'DELETE', object | undefined, number, number])[] = [
    [`${list}/nothing`, 'GET', undefined, 400, 1435],
    [`${list}/${unknown}`, 'GET', undefined, 404, 1436],
    [`${list}/${unknown}`, 'PATCH', {}, 404, 1436],
    [`${list}/${unknown}`, 'DELETE', undefined, 404, 1436],
    [`${list}?hostname.contain=`, 'GET', undefined, 400, 1437],
    [`${list}?hostname.contain=a/b`, 'GET', undefined, 400, 1437],
    [`${list}?id=${id}&hostname=app.customer.net`, 'GET', undefined, 400, 1438],
    [`${list}?hostname.exact=a&hostname.startsWith=a`, 'GET', undefined, 400, 1438],
    [`${list}/${id}`, 'PATCH', { hostname: 'other.customer.net' }, 409, 1439],
    [`${list}/${id}`, 'PATCH', { ssl: { certificate_authority: '' } }, 400, 1440],
    [`${list}/${id}`, 'PATCH', { ssl: { method: 'txt' } }, 400, 1440],
    [`${list}/fallback_origin`, 'GET', undefined, 404, 1551],
  ];
  for (const [path, method, body, status, code] of refused) {
    const answer = await call(method, path, body);
    t.match(answer, { status, json: { errors: [{ code }] } }, `${method} ${path.slice(list.length)} ${code}`);
  }
  const text = (await call('GET', `${list}/${unknown}`)).json.errors[0].message;
  t.equal(text, 'The custom hostname was not found.');
});

t.test('what the vendor refuses without a plan or a brand is allowed here', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, misfits } = installation;
  const long = `${'a'.repeat(60)}.customer.net`.padStart(74, 'b');
  for (const [code, body] of [
    ['1404, 1448: wildcards', { hostname: '*.customer.net', ssl: { method: 'txt', type: 'dv' } }],
    ['1413: metadata', { hostname: 'm.customer.net', custom_metadata: { plan: 'big' } }],
    ['1414: a custom origin', { hostname: 'o.customer.net', custom_origin_server: `other.${ZONE}` }],
    ['1469: a long name, not branded', { hostname: long, ssl: { type: 'dv', cloudflare_branding: false } }],
  ] as const) {
    t.match(await call('POST', list, body), { status: 200, json: { result: { hostname: body.hostname } } }, code);
  }
  t.strictSame(misfits, []);
});

t.test('names of the Internet only, where a public authority issues', async (t) => {
  const installation = await install(t, { publicNames: true });
  const list = await startSaas(installation);
  for (const [hostname, code] of [
    ['app.customer.test', 1409],
    ['app.localhost', 1409],
    ['app.example.com', 1411],
  ] as const) {
    t.match(
      await installation.call('POST', list, { hostname }),
      { status: 400, json: { errors: [{ code }] } },
      hostname,
    );
  }
});

t.test('the quota of an account', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call } = installation;
  t.match((await call('GET', `${list}/quota`)).json.result, { allocated: 50_000, used: 0, exceeded: 0 });
  const account = (await call('GET', '/accounts')).json.result[0].id;
  await setAllowance(installation.operator, account, { hostnames: 1 });
  t.equal((await call('POST', list, { hostname: 'one.customer.net' })).status, 200);
  const second = await call('POST', list, { hostname: 'two.customer.net' });
  t.match(second, { status: 403, json: { errors: [{ code: 1405 }] } });
  t.strictSame((await call('GET', `${list}/quota`)).json.result, { allocated: 1, used: 1, exceeded: 0, hard_cap: 1 });
});

t.test('created, with what the customer must do; edited; deleted', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, misfits, store } = installation;
  const made = await call('POST', list, {
    hostname: 'App.Customer.NET',
    ssl: { method: 'txt', type: 'dv', wildcard: true, settings: { min_tls_version: '1.2' } },
    custom_origin_server: `other.${ZONE}`,
    custom_origin_sni: ':request_host_header:',
  });
  t.equal(made.status, 200);
  const { result } = made.json;
  t.match(result, {
    id: /^[0-9a-f-]{36}$/,
    hostname: 'app.customer.net',
    status: 'pending',
    next_check_at: /^2024-05-05T12:/,
    ownership_verification: { type: 'txt', name: '_cf-custom-hostname.app.customer.net', value: /^[0-9a-f-]{36}$/ },
    ownership_verification_http: {
      http_url: `http://app.customer.net/.well-known/cf-custom-hostname-challenge/${result.id}`,
    },
    verification_errors: ['could not resolve app.customer.net: timeout.'],
    ssl: { hosts: ['app.customer.net', '*.app.customer.net'], wildcard: true, settings: { min_tls_version: '1.2' } },
    custom_origin_server: `other.${ZONE}`,
  });
  t.equal(Object.keys(result)[0], 'id');
  const path = `${list}/${result.id}`;
  t.strictSame((await call('GET', path)).json.result.id, result.id);
  const edited = await call('PATCH', path, {
    hostname: 'app.customer.net',
    custom_metadata: null,
    custom_origin_server: '',
  });
  t.equal(edited.status, 200);
  t.notOk('custom_origin_server' in edited.json.result, 'an empty text clears it');
  const plain = await call('POST', list, { hostname: 'plain.customer.net', custom_metadata: { plan: 'big' } });
  t.match(plain.json.result, { ssl: null, custom_metadata: { plan: 'big' } });
  t.match(latestEvents(store, 1), [{ kind: 'custom_hostname.create' }]);
  const gone = await call('DELETE', path);
  t.strictSame(gone.json, { id: result.id, result: { id: result.id }, success: true, errors: [], messages: [] });
  t.equal((await call('GET', path)).status, 404);
  t.match(latestEvents(store, 1), [{ kind: 'custom_hostname.delete' }]);
  t.strictSame(misfits, []);
});

t.test('dry, conditional, and for tokens with the permission only', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, token } = installation;
  const body = { hostname: 'app.customer.net', ssl: { method: 'txt', type: 'dv' } };
  t.match(await call('POST', `${list}?dry_run=true`, body), { status: 200, json: { result: { status: 'pending' } } });
  t.equal((await call('GET', list)).json.result_info.total_count, 0);
  t.equal((await call('POST', list, body, { headers: { 'if-match': '"0-0"' } })).status, 412);
  const zoneId = list.split('/')[2]!;
  const policies = (group: string) => [
    {
      effect: 'allow',
      resources: { [`com.cloudflare.api.account.zone.${zoneId}`]: '*' },
      permission_groups: [{ id: group }],
    },
  ];
  const make = async (group: string) => {
    const made = await call('POST', '/user/tokens', { name: 'x', policies: policies(group) });
    return { authorization: `Bearer ${made.json.result.value}` };
  };
  const dns = await make('4755a26eedb94da69e1066d98aa820be');
  const reading = await make('7b7216b327b04b8fbc8f524e1f9b7531');
  const writing = await make('c03055bc037c4ea9afb9a9f104b7b721');
  t.equal((await call('GET', list, undefined, { headers: dns })).status, 403);
  t.equal((await call('GET', list, undefined, { headers: reading })).status, 200);
  t.equal((await call('POST', list, body, { headers: reading })).status, 403);
  t.equal((await call('POST', list, body, { headers: writing })).status, 200);
  const readOnly = await token({ readOnly: true });
  t.equal((await call('POST', list, { hostname: 'b.customer.net' }, { headers: readOnly })).status, 403);
});

t.test('lists: filters, order, pages', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, misfits } = installation;
  const bodies = [
    { hostname: 'a.customer.net' },
    { hostname: 'b.customer.net', ssl: { method: 'txt', type: 'dv', certificate_authority: 'ssl_com' } },
    {
      hostname: 'c.buyer.net',
      ssl: { method: 'txt', type: 'dv', wildcard: true },
      custom_origin_server: `other.${ZONE}`,
    },
  ];
  const ids: string[] = [];
  for (const body of bodies) ids.push((await call('POST', list, body)).json.result.id);
  const found = async (query: string): Promise<string[]> => {
    const answer = await call('GET', `${list}?${query}`);
    t.equal(answer.status, 200, query);
    return answer.json.result.map(({ hostname }: { hostname: string }) => hostname[0]);
  };
  const rows: readonly (readonly [string, string])[] = [
    ['', 'abc'],
    ['direction=desc', 'cba'],
    ['hostname=B.customer.net', 'b'],
    ['hostname=customer.net', ''],
    ['hostname.exact=a.customer.net', 'a'],
    ['hostname[contain]=customer', 'ab'],
    ['hostname.startsWith=c.', 'c'],
    [`id=${ids[1]}`, 'b'],
    ['ssl=0', 'a'],
    ['ssl=1', 'bc'],
    ['wildcard=true', 'c'],
    ['wildcard=false', 'ab'],
    [`custom_origin_server=other.${ZONE}`, 'c'],
    ['certificate_authority=ssl_com', 'b'],
    ['hostname_status=pending', 'abc'],
    ['hostname_status=active', ''],
    ['ssl_status=active', ''],
    ['order=ssl', 'abc'],
    ['order=ssl&direction=desc', 'bca'],
    ['per_page=2', 'ab'],
    ['per_page=2&page=2', 'c'],
    ['per_page=1&page=2&order=ssl&direction=desc', 'c'],
  ];
  for (const [query, hosts] of rows) t.equal((await found(query)).join(''), hosts, query);
  const page = await call('GET', `${list}?per_page=2&page=2`);
  t.strictSame(page.json.result_info, { page: 2, per_page: 2, count: 1, total_count: 3, total_pages: 2 });
  t.equal((await call('GET', `${list}?order=age`)).status, 400);
  t.strictSame(misfits, []);
});

t.test('15 certificates a minute, then none for 30 seconds', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, clock, operator } = installation;
  const create = (i: number) => call('POST', list, { hostname: `h${i}.customer.net` });
  t.equal((await call('POST', list, { hostname: 'no name' })).status, 400, 'a refusal does not count');
  t.equal((await call('POST', `${list}?dry_run=true`, { hostname: 'x.customer.net' })).status, 200, 'nor a dry run');
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => create(i)));
  const made = answers.filter(({ status }) => status === 200);
  t.equal(made.length, 15);
  t.equal((await call('GET', list)).json.result_info.total_count, 15);
  const refused = await create(100);
  t.match(refused, {
    status: 429,
    headers: {
      'retry-after': '30',
      'x-ratelimit-limit': '15',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': new Date(clock.nowMs() + 30_000).toUTCString(),
    },
  });
  t.strictSame(refused.json, {
    result: null,
    success: false,
    errors: [
      {
        code: 971,
        message:
          'Please wait and consider throttling your request speed. You may issue up to 15 certificates per minute; no new certificates for 30 seconds.',
      },
    ],
    messages: [],
  });
  t.equal((await call('POST', list, { hostname: 'no name' })).status, 429, 'nobody looks at the body');
  const edited = await call('PATCH', `${list}/${made[0]!.json.result.id}`, {});
  t.equal(edited.status, 200, 'edits are not limited');
  clock.advance(29_000);
  t.match(await create(101), { status: 429, headers: { 'retry-after': '1' } }, 'refusals do not prolong it');
  clock.advance(1000);
  for (let i = 200; i < 215; i++) t.equal((await create(i)).status, 200, `it begins anew: ${i - 199}`);
  t.equal((await create(215)).status, 429);
  clock.advance(30_000);
  const account = (await call('GET', '/accounts')).json.result[0].id;
  await setAllowance(operator, account, { issuanceCount: 20 });
  const more = await Promise.all(Array.from({ length: 25 }, (_, i) => create(300 + i)));
  t.equal(more.filter(({ status }) => status === 200).length, 20, 'an account may be allowed more');
});

t.test('a clock that is set back by an hour prolongs no lockout', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, clock } = installation;
  const create = (name: string, i: number) => call('POST', list, { hostname: `${name}${i}.customer.net` });
  for (let i = 0; i < 15; i++) t.equal((await create('a', i)).status, 200);
  t.equal((await create('a', 15)).status, 429);
  clock.putBack(3_600_000);
  for (let i = 0; i < 15; i++) t.equal((await create('b', i)).status, 200, `none of the future counts: ${i}`);
  t.match(await create('b', 15), { status: 429, headers: { 'retry-after': '30' } });
});

t.test('the window slides', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, clock } = installation;
  const create = (i: number) => call('POST', list, { hostname: `h${i}.customer.net` });
  for (let i = 0; i < 10; i++) await create(i);
  clock.advance(40_000);
  for (let i = 10; i < 15; i++) await create(i);
  clock.advance(20_001);
  for (let i = 15; i < 25; i++) t.equal((await create(i)).status, 200);
  t.equal((await create(25)).status, 429);
});

t.test('the fallback origin follows the records of the zone', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, misfits } = installation;
  const path = `${list}/fallback_origin`;
  const records = `${list.replace('/custom_hostnames', '')}/dns_records`;
  t.match(await call('PUT', path, { origin: 'a b' }), { status: 400, json: { errors: [{ code: 1415 }] } });
  const waiting = await call('PUT', path, { origin: `new.${ZONE}` });
  t.match(waiting.json.result, {
    status: 'initializing',
    errors: ['DNS records are not setup correctly. Origin should be a proxied A/AAAA/CNAME dns record'],
  });
  const record = { type: 'CNAME', name: 'new', content: 'origin.elsewhere.net', proxied: false };
  const { id } = (await call('POST', records, record)).json.result;
  t.match((await call('GET', path)).json.result, { status: 'initializing' }, 'not proxied');
  await call('PATCH', `${records}/${id}`, { proxied: true });
  t.match((await call('GET', path)).json.result, { origin: `new.${ZONE}`, status: 'active', errors: [] });
  await call('DELETE', `${records}/${id}`);
  t.match((await call('GET', path)).json.result, { status: 'initializing' });
  t.match((await call('DELETE', path)).json.result, { status: 'pending_deletion' });
  t.equal((await call('GET', path)).status, 404);
  t.strictSame(misfits, []);
});

t.test('a certificate of the customer', { skip: withoutOpenssl }, async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-brought-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const [key, certificate] = [join(directory, 'key'), join(directory, 'certificate')];
  const subject = ['-subj', '/CN=app', '-addext', 'subjectAltName=DNS:brought.customer.net'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync(OPENSSL, ['req', '-x509', ...curve, ...subject, '-days', '30', '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  });
  const pair = { custom_certificate: readFileSync(certificate, 'utf8'), custom_key: readFileSync(key, 'utf8') };
  const { call, clock } = installation;
  clock.advance(Date.now() + 60_000 - clock.nowMs());
  const made = await call('POST', list, {
    hostname: 'brought.customer.net',
    ssl: { method: 'txt', type: 'dv', ...pair },
  });
  t.match(made, {
    status: 200,
    json: { result: { ssl: { status: 'holding_deployment', certificates: [{ signature: /SHA256/ }] } } },
  });
  t.notMatch(made.text, /PRIVATE KEY/);
  const [serving] = made.json.result.ssl.certificates;
  const same = { ssl: { method: 'txt', type: 'dv', settings: { http2: 'off' } } };
  const kept = await call('PATCH', `${list}/${made.json.result.id}`, same);
  t.strictSame(kept.json.result.ssl.certificates, [serving], 'an edit of something else keeps it');
  const uncovered = await call('POST', list, { hostname: 'other.customer.net', ssl: pair });
  t.match(uncovered, { status: 400, json: { errors: [{ code: 1446 }] } });
  const make = (...args: string[]) => {
    const files = ['-keyout', key, '-out', certificate];
    const options = ['-subj', '/CN=rough', '-days', '30', ...files, ...args];
    execFileSync(OPENSSL, ['req', '-x509', ...curve, ...options], { stdio: 'ignore' });
    return { custom_certificate: readFileSync(certificate, 'utf8'), custom_key: readFileSync(key, 'utf8') };
  };
  const names = ['-addext', 'subjectAltName=DNS:rough.customer.net'];
  for (const [code, why, changed] of [
    [1444, 'an authority', make()],
    [1447, 'SHA-1', make(...names, '-sha1')],
    [1428, 'the key of another', { ...make(...names), custom_key: pair.custom_key }],
  ] as const) {
    const answer = await call('POST', list, { hostname: 'rough.customer.net', ssl: changed });
    t.match(answer, { status: 400, json: { errors: [{ code }] } }, why);
  }
  const broken = { ...pair, custom_key: 'nothing' };
  const badKey = await call('POST', list, { hostname: 'brought2.customer.net', ssl: broken });
  t.match(badKey, { status: 400, json: { errors: [{ code: 1428 }] } });
});

t.test("one certificate of a bundle, with the vendor's client", { skip: withoutOpenssl }, async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-bundle-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const make = (type: 'rsa' | 'ec', host = 'brought.customer.net') => {
    const [key, certificate] = [join(directory, 'key'), join(directory, 'certificate')];
    const kind = type === 'rsa' ? ['rsa:2048'] : ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    const names = ['-subj', '/CN=app', '-addext', `subjectAltName=DNS:${host}`];
    const args = ['req', '-x509', '-newkey', ...kind, '-nodes', ...names, '-days', '30'];
    execFileSync(OPENSSL, [...args, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    return { custom_certificate: readFileSync(certificate, 'utf8'), custom_key: readFileSync(key, 'utf8') };
  };
  const { app, call, clock, misfits, store } = installation;
  clock.advance(Date.now() + 60_000 - clock.nowMs());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const apiToken = (await installation.token()).authorization.slice('Bearer '.length);
  const client = new Cloudflare({ baseURL: `http://127.0.0.1:${port}/client/v4`, maxRetries: 0, apiToken });
  const { certificates } = client.customHostnames.certificatePack;
  const ssl = { method: 'txt', type: 'dv', custom_cert_bundle: [make('rsa'), make('ec')] };
  const made = (await call('POST', list, { hostname: 'brought.customer.net', ssl })).json.result;
  const [rsa, ecdsa] = made.ssl.certificates;
  const params = {
    zone_id: list.split('/')[2]!,
    custom_hostname_id: made.id as string,
    certificate_pack_id: made.ssl.id as string,
  };
  const shown = async () => (await call('GET', `${list}/${made.id}`)).json.result.ssl.certificates;

  const replaced = await certificates.update(ecdsa.id, { ...params, ...make('ec') });
  t.match(replaced, { id: made.id, hostname: 'brought.customer.net', ssl: { id: made.ssl.id } });
  const [first, second] = await shown();
  t.strictSame(first, rsa, 'the other stays, and its place');
  t.equal(second.id, ecdsa.id);
  t.not(second.fingerprint_sha256, ecdsa.fingerprint_sha256);
  t.match(latestEvents(store, 1), [{ kind: 'custom_hostname.edit' }]);

  const path = `${list}/${made.id}/certificate_pack/${made.ssl.id}/certificates`;
  const unknown = '7b163417-1d2b-4c84-a38a-2fb7a0cd7752';
  const plain = (await call('POST', list, { hostname: 'a.customer.net', ssl: { method: 'txt', type: 'dv' } })).json;
  const { id: plainId, ssl: plainSsl } = plain.result;
  const refused: readonly (readonly [string, string, 'PUT' | 'DELETE', object | undefined, number, number])[] = [
    ['another kind of key', `${path}/${rsa.id}`, 'PUT', make('ec'), 400, 1426],
    ['another host', `${path}/${rsa.id}`, 'PUT', make('rsa', 'b.customer.net'), 400, 1446],
    ['no key', `${path}/${rsa.id}`, 'PUT', { custom_certificate: 'x' }, 400, 1429],
    ['nothing', `${path}/${rsa.id}`, 'PUT', {}, 400, 1427],
    [
      'the key of another',
      `${path}/${rsa.id}`,
      'PUT',
      { ...make('rsa'), custom_key: make('rsa').custom_key },
      400,
      1428,
    ],
    ['an unknown certificate', `${path}/${unknown}`, 'PUT', make('rsa'), 404, 1001],
    ['an unknown certificate', `${path}/${unknown}`, 'DELETE', undefined, 404, 1001],
    ['an unknown pack', `${path.replace(made.ssl.id, unknown)}/${rsa.id}`, 'DELETE', undefined, 404, 1001],
    ['an unknown hostname', `${path.replace(made.id, unknown)}/${rsa.id}`, 'DELETE', undefined, 404, 1436],
    [
      'one that is issued here',
      `${list}/${plainId}/certificate_pack/${plainSsl.id}/certificates/${unknown}`,
      'DELETE',
      undefined,
      400,
      1426,
    ],
  ];
  for (const [why, at, method, body, status, code] of refused) {
    t.match(await call(method, at, body), { status, json: { errors: [{ code }] } }, `${method}, ${why}`);
  }
  t.equal((await call('PUT', `${path}/${rsa.id}?dry_run=true`, make('rsa'))).status, 200);
  t.strictSame(await shown(), [first, second], 'nothing of that changed anything');

  t.match(await certificates.delete(rsa.id, params), { id: made.id });
  t.strictSame(await shown(), [second]);
  t.match(
    await call('DELETE', `${path}/${second.id}`),
    { status: 400, json: { errors: [{ code: 1427 }] } },
    'the last',
  );
  const { seq } = findRequest(store, 'hostname', made.id)!;
  for (const { chain, private_key, id } of issuedFor(store, seq)) {
    const key = createPrivateKey({
      key: Buffer.from(
        installation.hostnames.certificates.vault.open(CERTIFICATE_KEYS, id, new Uint8Array(private_key)),
      ),
      format: 'der',
      type: 'pkcs8',
    });
    t.ok(new X509Certificate(chain).checkPrivateKey(key), 'the sealed key belongs to the certificate');
  }
  t.strictSame(misfits, []);
});

t.test('unique targets are a setting of the zone, and shown', async (t) => {
  const installation = await install(t);
  const list = await startSaas(installation);
  const { call, misfits } = installation;
  const setting = `${list.replace('/custom_hostnames', '')}/settings/unique_targets`;
  t.match((await call('GET', setting)).json.result, { id: 'unique_targets', value: 'off', editable: true });
  const { id } = (await call('POST', list, { hostname: 'app.customer.net' })).json.result;
  const shown = async () => (await call('GET', `${list}/${id}`)).json.result.ownership_verification_cname;
  t.equal(await shown(), undefined);
  t.match((await call('PATCH', setting, { value: 'on' })).json.result, { value: 'on' });
  t.match(await shown(), { cname: 'app.customer.net', cname_target: /^[0-9a-f]{16}\.saas\.net$/ });
  t.equal((await call('PATCH', setting, { value: 'maybe' })).status, 400);
  t.strictSame(misfits, []);
});

t.test('neighbours', async (t) => {
  const installation = await install(t);
  const zone = (await startSaas(installation)).replace('/custom_hostnames', '');
  const { call } = installation;
  t.strictSame((await call('GET', `${zone}/custom_certificates`)).json.result, []);
  t.strictSame((await call('GET', `${zone}/ssl/certificate_packs`)).json.result, []);
  t.match((await call('GET', `${zone}/dcv_delegation/uuid`)).json.result, { uuid: /^[0-9a-f]{16}$/ });
  t.equal((await call('GET', `${zone}/ssl/universal/settings`)).status, 200);
});

t.test('an unexpected failure has the number 1500, and nothing was made', async (t) => {
  const installation = await install(t);
  const { call, store } = installation;
  const hostnames = await startSaas(installation);
  const made = await call('POST', hostnames, { hostname: 'kept.customer.net' });
  runSql(store, 'ALTER TABLE custom_hostnames RENAME TO lost');
  for (const [method, path, body] of [
    ['GET', hostnames, undefined],
    ['POST', hostnames, { hostname: 'new.customer.net' }],
    ['PATCH', `${hostnames}/${made.json.result.id}`, { custom_metadata: { a: 'b' } }],
    ['DELETE', `${hostnames}/${made.json.result.id}`, undefined],
  ] as const) {
    const { status, json } = await call(method, path, body);
    t.equal(status, 500, method);
    t.strictSame(json.errors, [{ code: 1500, message: 'Internal server error.' }], method);
  }
  runSql(store, 'ALTER TABLE lost RENAME TO custom_hostnames');
  const { json } = await call('GET', hostnames);
  t.strictSame(
    json.result.map(({ hostname }: { hostname: string }) => hostname),
    ['kept.customer.net'],
  );
});
