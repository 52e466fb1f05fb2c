/** Invalid shapes of bodies: the code, the member and the text, for every route with a body. */
import t from 'tap';
import { install } from './installation.js';

interface Refused {
  readonly code?: number;
  /** In the chain of 9207; in the message of every other code. */
  readonly says: string;
  readonly at?: string;
}

type Case = readonly [method: 'POST' | 'PUT' | 'PATCH', path: string, body: unknown, refused: Refused];

const A = { type: 'A', name: 'a', content: '192.0.2.1' };
const TOKEN = {
  name: 'x',
  policies: [
    { effect: 'allow', permission_groups: [{ id: 'x' }], resources: { 'com.cloudflare.api.account.zone.*': '*' } },
  ],
};
const policy = (more: object) => ({ ...TOKEN, policies: [{ ...TOKEN.policies[0], ...more }] });

const RECORDS: readonly Case[] = [
  ['POST', '/dns_records', 'text', { says: 'it is not a JSON object' }],
  ['POST', '/dns_records', [], { says: 'it is not a JSON object' }],
  ['POST', '/dns_records', {}, { says: 'type is missing', at: '/type' }],
  ['POST', '/dns_records', { ...A, type: 7 }, { says: 'type must be a string', at: '/type' }],
  ['POST', '/dns_records', { ...A, name: 7 }, { says: 'name must be a string', at: '/name' }],
  ['POST', '/dns_records', { ...A, name: null }, { says: 'name is missing', at: '/name' }],
  ['POST', '/dns_records', { ...A, content: 7 }, { says: 'content must be a string', at: '/content' }],
  ['POST', '/dns_records', { ...A, data: 'x' }, { says: 'data must be an object', at: '/data' }],
  ['POST', '/dns_records', { ...A, data: [] }, { says: 'data must be an object', at: '/data' }],
  [
    'POST',
    '/dns_records',
    { ...A, ttl: 'x' },
    { code: 9208, says: 'Failed to parse. ttl must be a number', at: '/ttl' },
  ],
  [
    'POST',
    '/dns_records',
    { ...A, ttl: [60] },
    { code: 9208, says: 'Failed to parse. ttl must be a number', at: '/ttl' },
  ],
  ['POST', '/dns_records', { ...A, proxied: 'yes' }, { says: 'proxied must be true or false', at: '/proxied' }],
  ['POST', '/dns_records', { ...A, priority: {} }, { says: 'priority must be a number', at: '/priority' }],
  ['POST', '/dns_records', { ...A, comment: 7 }, { says: 'comment must be a string', at: '/comment' }],
  ['POST', '/dns_records', { ...A, tags: 'a:b' }, { says: 'tags must be a list', at: '/tags' }],
  ['POST', '/dns_records', { ...A, tags: ['a:b', 7] }, { says: 'tags[1] must be a string', at: '/tags/1' }],
  ['POST', '/dns_records', { ...A, settings: 7 }, { says: 'settings must be an object', at: '/settings' }],
  [
    'POST',
    '/dns_records',
    { ...A, settings: { ipv4_only: 1 } },
    { says: 'settings.ipv4_only must be true or false', at: '/settings/ipv4_only' },
  ],
  ['POST', '/dns_records/batch', { posts: 5 }, { says: 'posts must be a list', at: '/posts' }],
  ['POST', '/dns_records/batch', { posts: [A, 5] }, { says: 'posts[1] must be an object', at: '/posts/1' }],
  [
    'POST',
    '/dns_records/batch',
    { posts: [A, { ...A, proxied: 7 }, 5] },
    { says: 'posts[1].proxied must be true or false', at: '/posts/1/proxied' },
  ],
  [
    'POST',
    '/dns_records/batch',
    { posts: [{ ...A, ttl: 'x' }] },
    { code: 9208, says: 'Failed to parse. ttl must be a number', at: '/posts/0/ttl' },
  ],
  ['POST', '/dns_records/batch', { deletes: [{}] }, { says: 'deletes[0].id is missing', at: '/deletes/0/id' }],
  ['POST', '/dns_records/batch', { patches: [{ ttl: 60 }] }, { says: 'patches[0].id is missing', at: '/patches/0/id' }],
  ['POST', '/dns_records/scan/review', { accepts: 1 }, { says: 'accepts must be a list', at: '/accepts' }],
  ['POST', '/dns_records/scan/review', { rejects: ['x'] }, { says: 'rejects[0] must be an object', at: '/rejects/0' }],
];

const OF_ZONE: readonly Case[] = [
  ['PATCH', '', { paused: 'yes' }, { code: 1006, says: 'paused must be true or false.', at: '/paused' }],
  ['PATCH', '', { type: 'strange' }, { says: 'type must be full or partial', at: '/type' }],
  [
    'PATCH',
    '',
    { vanity_name_servers: 'ns1.example.com' },
    { code: 1006, says: 'vanity_name_servers must be a list of 0 to 10 host names.', at: '/vanity_name_servers' },
  ],
  [
    'PATCH',
    '/dns_settings',
    { ns_ttl: 29 },
    { says: 'ns_ttl must be a number of seconds from 30 to 86400', at: '/ns_ttl' },
  ],
  [
    'PATCH',
    '/dns_settings',
    { ns_ttl: '60' },
    { says: 'ns_ttl must be a number of seconds from 30 to 86400', at: '/ns_ttl' },
  ],
  [
    'PATCH',
    '/dns_settings',
    { multi_provider: 1 },
    { says: 'multi_provider must be true or false', at: '/multi_provider' },
  ],
  [
    'PATCH',
    '/dns_settings',
    { zone_mode: 'other' },
    { says: 'zone_mode must be one of standard, cdn_only, dns_only', at: '/zone_mode' },
  ],
  ['PATCH', '/dns_settings', { soa: 7 }, { says: 'soa must be an object', at: '/soa' }],
  ['PATCH', '/dns_settings', { soa: { mname: 7 } }, { says: 'soa.mname must be a host name', at: '/soa/mname' }],
  [
    'PATCH',
    '/dns_settings',
    { soa: { refresh: 86_401 } },
    { says: 'soa.refresh must be a number of seconds from 600 to 86400', at: '/soa/refresh' },
  ],
  [
    'PATCH',
    '/dns_settings',
    { soa: { expire: 86_399 } },
    { says: 'soa.expire must be a number of seconds from 86400 to 2419200', at: '/soa/expire' },
  ],
  [
    'PATCH',
    '/dns_settings',
    { nameservers: { type: 'custom.zone' } },
    { says: 'nameservers.type must be cloudflare.standard', at: '/nameservers/type' },
  ],
  [
    'PATCH',
    '/dns_settings',
    { nameservers: { type: 'cloudflare.standard', ns_set: 2 } },
    { says: 'nameservers.ns_set must be absent: there is one set of name servers', at: '/nameservers/ns_set' },
  ],
  [
    'POST',
    '/hold',
    { include_subdomains: 'maybe' },
    { says: 'include_subdomains must be true or false', at: '/include_subdomains' },
  ],
  ['PATCH', '/hold', { hold_after: 7 }, { says: 'hold_after must be an RFC 3339 time', at: '/hold_after' }],
  ['PATCH', '/hold', { hold_after: 'soon' }, { says: 'hold_after must be an RFC 3339 time', at: '/hold_after' }],
  [
    'PATCH',
    '/settings/http2',
    { value: 'maybe' },
    { code: 1007, says: 'Invalid value for zone setting http2', at: '/value' },
  ],
  ['PATCH', '/settings/no_such', { value: 'full' }, { code: 1003, says: 'Undefined zone setting: no_such' }],
  ['POST', '/purge_cache', 7, { says: 'it is not a JSON object' }],
  [
    'POST',
    '/purge_cache',
    { purge_everything: false },
    { code: 1012, says: 'Invalid purge request: purge_everything must be true.', at: '/purge_everything' },
  ],
  [
    'POST',
    '/purge_cache',
    { tags: [] },
    { code: 1012, says: 'Invalid purge request: tags must be a list of 1 to 100 items.', at: '/tags' },
  ],
  [
    'POST',
    '/purge_cache',
    { hosts: Array.from({ length: 101 }, () => 'www.example.com') },
    { code: 1012, says: 'Invalid purge request: hosts must be a list of 1 to 100 items.', at: '/hosts' },
  ],
  [
    'POST',
    '/purge_cache',
    { hosts: [5] },
    { code: 1012, says: 'Invalid purge request: hosts[0] must be a string.', at: '/hosts/0' },
  ],
  [
    'POST',
    '/purge_cache',
    { files: [{ url: 'https://example.com/', headers: { 'a b': 'c' } }] },
    {
      code: 1012,
      says: 'Invalid purge request: files[0] must be a URL, or an object with a url and an object of headers.',
      at: '/files/0',
    },
  ],
  [
    'POST',
    '/custom_hostnames',
    [],
    { code: 1400, says: 'The request body is not a valid JSON object: it is not an object.' },
  ],
  [
    'POST',
    '/custom_hostnames',
    {},
    { code: 1407, says: 'Invalid custom hostname: expected a host name.', at: '/hostname' },
  ],
  [
    'POST',
    '/custom_hostnames',
    { hostname: 'a.customer.net', ssl: { wildcard: 'yes' } },
    { code: 1434, says: 'Invalid ssl.wildcard: expected true or false.', at: '/ssl/wildcard' },
  ],
  [
    'POST',
    '/custom_hostnames',
    { hostname: 'a.customer.net', ssl: { settings: { http2: 'yes' } } },
    { code: 1422, says: 'Invalid ssl.settings.http2: expected on or off.', at: '/ssl/settings/http2' },
  ],
  [
    'POST',
    '/custom_hostnames',
    { hostname: 'a.customer.net', ssl: { method: 'email' } },
    {
      code: 1432,
      says: 'Invalid ssl.method: expected http or txt: authorities no longer validate by email.',
      at: '/ssl/method',
    },
  ],
  [
    'POST',
    '/custom_hostnames',
    { hostname: 'a.customer.net', ssl: { custom_cert_bundle: [{ custom_certificate: 7 }] } },
    {
      code: 1426,
      says: 'The custom certificate cannot be used: It must be a text.',
      at: '/ssl/custom_cert_bundle/0/custom_certificate',
    },
  ],
  [
    'POST',
    '/custom_hostnames',
    { hostname: 'a.customer.net', custom_metadata: { a: 1 } },
    { code: 1401, says: 'Custom metadata is invalid: custom_metadata.a must be a string.', at: '/custom_metadata/a' },
  ],
  [
    'PUT',
    '/custom_hostnames/fallback_origin',
    {},
    { code: 1415, says: 'Invalid custom origin server: expected a host name.', at: '/origin' },
  ],
];

const OTHERS: readonly Case[] = [
  ['POST', '/zones', null, { says: 'it is not a JSON object' }],
  ['POST', '/zones', {}, { says: 'name is missing', at: '/name' }],
  ['POST', '/zones', { name: 7 }, { says: 'name must be a string', at: '/name' }],
  ['POST', '/zones', { name: 'x.test', type: 'strange' }, { says: 'type must be full or partial', at: '/type' }],
  [
    'POST',
    '/zones',
    { name: 'x.test', type: 'internal' },
    { code: 1002, says: 'Zones of type internal are not supported.', at: '/type' },
  ],
  [
    'POST',
    '/zones',
    { name: 'x.test', account: { id: 7 } },
    { says: 'account must be an object with the identifier as id', at: '/account' },
  ],
  ['POST', '/user/tokens', { policies: [] }, { says: 'name is missing', at: '/name' }],
  [
    'POST',
    '/user/tokens',
    { name: 'x', policies: [] },
    { says: 'policies must be a list of 1 to 50 policies', at: '/policies' },
  ],
  [
    'POST',
    '/user/tokens',
    policy({ effect: 'maybe' }),
    { says: 'policies[0].effect must be allow or deny', at: '/policies/0/effect' },
  ],
  [
    'POST',
    '/user/tokens',
    policy({ until: 1 }),
    {
      says: 'policies[0].until is unknown: expected id, effect, permission_groups, resources, records',
      at: '/policies/0/until',
    },
  ],
  [
    'POST',
    '/user/tokens',
    policy({ records: { name: ['a'] } }),
    { says: 'policies[0].records.name is unknown: expected names, types', at: '/policies/0/records/name' },
  ],
  [
    'POST',
    '/user/tokens',
    { ...TOKEN, condition: { ip: { in: ['192.0.2.0/24'] } } },
    { says: 'condition.ip is unknown: expected request_ip, request.ip', at: '/condition/ip' },
  ],
  ['POST', '/user/tokens', { ...TOKEN, expires_on: 5 }, { says: 'expires_on must be a string', at: '/expires_on' }],
  ['POST', '/user/tokens', { ...TOKEN, status: 'on' }, { says: 'status must be active or disabled', at: '/status' }],
];

t.test('an invalid shape is refused with its code, the member and the expected value', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const zone = `/zones/${await createZone('example.com')}`;
  const account = (await call('GET', '/accounts')).json.result[0].id;
  const buckets: Case[] = [
    ['POST', `/accounts/${account}/r2/buckets`, {}, { code: 10005, says: 'The specified bucket name is not valid.' }],
    [
      'POST',
      `/accounts/${account}/r2/buckets`,
      { name: 7 },
      { code: 10005, says: 'The specified bucket name is not valid.' },
    ],
    [
      'POST',
      `/accounts/${account}/r2/buckets`,
      { name: 'pictures', storageClass: 'Cold' },
      {
        says: 'storageClass is invalid: expected one of Standard, InfrequentAccess.',
        at: '/storageClass',
      },
    ],
  ];
  const ofZone = [...RECORDS, ...OF_ZONE].map(([method, path, ...rest]): Case => [method, `${zone}${path}`, ...rest]);
  for (const [method, path, body, { code = 9207, says, at }] of [...ofZone, ...OTHERS, ...buckets]) {
    const { status, json, text } = await call(method, path, body);
    const [error] = json.errors;
    const title = `${method} ${path} ${JSON.stringify(body).slice(0, 80)}`;
    const told = error.error_chain?.[0].message ?? error.message;
    t.strictSame([status, error.code, told, error.source?.pointer], [400, code, says, at], `${title}: ${text}`);
  }
  t.strictSame(misfits, []);
});

t.test("empty values are ignored, and clients' forms are accepted", async (t) => {
  const { call, createZone } = await install(t);
  const zone = `/zones/${await createZone('example.com')}`;
  const account = (await call('GET', '/accounts')).json.result[0].id;
  const nothing = {
    data: null,
    content: null,
    tags: null,
    priority: null,
    settings: {},
    extra: {},
    meta: 5,
    locked: 'x',
  };
  for (const [method, path, body] of [
    ['POST', `${zone}/dns_records`, { ...nothing, ...A, ttl: '300.0', created_on: '0001-01-01T00:00:00Z' }],
    ['POST', `${zone}/dns_records`, { type: 'MX', name: '@', content: 'mail.example.com', priority: '10' }],
    ['POST', `${zone}/hold`, undefined],
    ['POST', `${zone}/hold`, { include_subdomains: 'true' }],
    ['PATCH', `${zone}/hold`, { include_subdomains: null, hold_after: '' }],
    ['PATCH', zone, { paused: null, plan: { id: 'x' } }],
    [
      'PATCH',
      `${zone}/dns_settings`,
      { nameservers: { type: 'cloudflare.standard', ns_set: null }, soa: { rname: null } },
    ],
    ['POST', '/zones', { name: 'second.test', account: { id: '' }, jump_start: 'yes', organization: {} }],
    ['POST', '/zones', { name: 'third.test', account }],
    ['POST', `/accounts/${account}/r2/buckets`, { name: 'pictures', locationHint: 'WEUR', storageClass: '' }],
  ] as const) {
    const { status, text } = await call(method, path, body);
    t.equal(status, 200, `${method} ${path} ${JSON.stringify(body)}: ${text}`);
  }
});

t.test('refusals of a batch point into the batch', async (t) => {
  const { call, createZone } = await install(t);
  const zone = `/zones/${await createZone('example.com')}`;
  const { id } = (await call('POST', `${zone}/dns_records`, A)).json.result;
  const nowhere = '0'.repeat(32);
  for (const [body, code, pointer] of [
    [
      {
        posts: [
          { ...A, name: 'b' },
          { ...A, name: 'c', content: 'x' },
        ],
      },
      9005,
      '/posts/1/content',
    ],
    [{ posts: [A] }, 81058, '/posts/0'],
    [{ deletes: [{ id }, { id: nowhere }] }, 81044, '/deletes/1'],
    [{ patches: [{ id, ttl: 5 }] }, 9021, '/patches/0/ttl'],
    [{ puts: [{ id, ...A, comment: 'x'.repeat(101) }] }, 9313, '/puts/0/comment'],
  ] as const) {
    const { status, json } = await call('POST', `${zone}/dns_records/batch`, body);
    t.match([status, json.errors[0].code, json.errors[0].source?.pointer], [code === 81044 ? 404 : 400, code, pointer]);
  }
  const found = await call('POST', `${zone}/dns_records/scan/review`, { accepts: [{ ...A, name: 'd', content: 'x' }] });
  t.equal(found.json.errors[0].source.pointer, '/accepts/0/content');
});

t.test('a body that is not JSON is refused, also where nothing in it is used', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('mine.test');
  const wants = [
    ['PUT', `/zones/${zone}/activation_check`],
    ['POST', `/zones/${zone}/dns_records/scan/trigger`],
    ['POST', '/user/sessions'],
  ] as const;
  for (const [method, path] of wants) {
    for (const text of ['{"a":', 'garbage', '\xff\xfe']) {
      const { status, json } = await call(method, path, undefined, { text });
      t.match([status, json.errors?.[0]?.code], [400, 9207], `${method} ${path} ${text}`);
    }
    t.notMatch((await call(method, path, {})).text, /JSON/, `${path} with an empty object`);
  }
});
