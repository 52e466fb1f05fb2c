/** API tokens over HTTP: their permissions, what they allow, and what they never reveal. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { listAccountAudit } from '../../src/control/access/audit.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { PERMISSION_GROUPS } from '../../src/control/guard/permissions.js';
import { listZones } from '../../src/control/zones/zones.js';
import { allAccounts } from '../../src/store/access/accounts.js';
import { loopIdOf } from '../../src/store/meta.js';
import { latestEvents } from '../support/rows.js';
import { type Installation, install } from './installation.js';

const groupId = (name: string): string => PERMISSION_GROUPS.find((entry) => entry.name === name)!.id;
const ZONE = 'com.cloudflare.api.account.zone.';
const ACCOUNT = 'com.cloudflare.api.account.';

interface PolicyInput {
  readonly groups: readonly string[];
  readonly on: Readonly<Record<string, unknown>>;
  readonly effect?: string;
  readonly records?: unknown;
}

const policy = ({ groups, on, effect = 'allow', records }: PolicyInput): object => ({
  effect,
  permission_groups: groups.map((name) => ({ id: groupId(name) })),
  resources: on,
  ...(records === undefined ? {} : { records }),
});

/** Makes a token by the API and returns the header that carries it, with its identifier. */
async function make({ call }: Installation, policies: readonly PolicyInput[], more: object = {}, headers = {}) {
  const body = { name: 'test', policies: policies.map(policy), ...more };
  const { status, json, text } = await call('POST', '/user/tokens', body, { headers });
  if (status !== 200) throw new Error(`no token: ${text}`);
  return {
    headers: { authorization: `Bearer ${json.result.value}` },
    id: json.result.id as string,
    token: json.result,
  };
}

t.test('created, listed, edited, rolled, deleted', async (t) => {
  const installation = await install(t);
  const { call, clock, createZone, store, misfits } = installation;
  const zone = await createZone('example.com');
  const groups = (await call('GET', '/user/tokens/permission_groups?name=DNS%20Write')).json;
  t.strictSame(groups.result, [
    { id: '4755a26eedb94da69e1066d98aa820be', name: 'DNS Write', scopes: ['com.cloudflare.api.account.zone'] },
  ]);
  const scoped = (await call('GET', '/user/tokens/permission_groups?scope=com.cloudflare.api.user')).json.result;
  t.strictSame(
    new Set(scoped.map(({ scopes }: { scopes: string[] }) => scopes[0])),
    new Set(['com.cloudflare.api.user']),
  );

  const given = { groups: ['DNS Write', 'Zone Read'], on: { [ZONE + zone]: '*' } };
  const times = { not_before: '2024-05-05T00:00:00Z', expires_on: '2024-06-05T00:00:00Z' };
  const { headers, id, token } = await make(installation, [given], { ...times, name: ' certbot ' });
  t.match(token, {
    name: 'certbot',
    status: 'active',
    issued_on: /^2024-05-05T12:00:00/,
    not_before: '2024-05-05T00:00:00.000000Z',
    expires_on: '2024-06-05T00:00:00.000000Z',
    policies: [{ effect: 'allow', permission_groups: [{ name: 'DNS Write' }, { name: 'Zone Read' }] }],
  });
  t.match(token.value, /^[A-Za-z0-9_-]{40}$/);
  t.notOk(JSON.stringify(latestEvents(store, 50)).includes(token.value), 'the secret is in no log');
  const listed = await call('GET', '/user/tokens?per_page=1');
  t.match(listed.json, { result: [{ id }], result_info: { count: 1, total_count: 1, per_page: 1 } });
  t.notOk(listed.text.includes(token.value), 'the secret is shown once');
  t.match((await call('GET', `/user/tokens/${id}`)).json.result, { id, name: 'certbot' });
  t.strictSame((await call('GET', '/user/tokens/verify', undefined, { headers })).json.result, {
    id,
    status: 'active',
    expires_on: '2024-06-05T00:00:00.000000Z',
    not_before: '2024-05-05T00:00:00.000000Z',
  });
  t.ok((await call('GET', `/user/tokens/${id}`)).json.result.last_used_on, 'its use is noted');

  const edit = { name: 'renamed', policies: [policy({ ...given, groups: ['DNS Read'] })], status: 'disabled' };
  t.match((await call('PUT', `/user/tokens/${id}`, edit)).json.result, { id, name: 'renamed', status: 'disabled' });
  t.match(await call('GET', '/zones', undefined, { headers }), { status: 403, json: { errors: [{ code: 9109 }] } });
  await call('PUT', `/user/tokens/${id}`, { ...edit, status: 'active' });
  t.match(await call('GET', '/zones', undefined, { headers }), { status: 200, json: { result: [{ id: zone }] } });
  const refused = await call(
    'POST',
    `/zones/${zone}/dns_records`,
    { type: 'A', name: 'a', content: '192.0.2.1' },
    { headers },
  );
  t.match(
    refused,
    { status: 403, json: { errors: [{ code: 10000, message: 'Authentication error' }] } },
    'reads only now',
  );

  const rolled = await call('PUT', `/user/tokens/${id}/value`, {});
  t.match(rolled.json.result, /^[A-Za-z0-9_-]{40}$/);
  t.equal((await call('GET', '/zones', undefined, { headers })).status, 403, 'the old secret is worth nothing');
  const renewed = { headers: { authorization: `Bearer ${rolled.json.result}` } };
  t.equal((await call('GET', '/zones', undefined, renewed)).status, 200);
  const ending = { ...edit, status: 'active', expires_on: '2024-05-06T00:00:00Z' };
  t.match(await call('PUT', `/user/tokens/${id}`, ending), { status: 200 });
  clock.advance(86_400_000);
  t.match(await call('GET', '/zones', undefined, renewed), { status: 403, json: { errors: [{ code: 9109 }] } });
  t.match(await call('GET', '/user/tokens/verify', undefined, renewed), {
    status: 401,
    json: { errors: [{ code: 1000 }] },
  });
  t.match((await call('GET', '/user/tokens')).json.result, [{ id, status: 'expired' }]);
  t.strictSame((await call('GET', '/user/tokens?include_expired=false')).json.result, []);
  t.strictSame((await call('DELETE', `/user/tokens/${id}`)).json.result, { id });
  t.match(await call('GET', `/user/tokens/${id}`), { status: 404 });
  t.match(await call('DELETE', `/user/tokens/${id}`), { status: 404 });
  t.strictSame((await call('GET', '/user/tokens')).json.result, []);
  t.strictSame(misfits, []);
});

t.test('allowed and refused requests', async (t) => {
  const installation = await install(t);
  const { call, createZone, operator, misfits } = installation;
  const mine = await createZone('example.com');
  const other = await createZone('example.net');
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const user = (await call('GET', '/user')).json.result.id as string;
  const foreign = await createAccount(operator, { name: 'Foreign' });
  const theirs = (await call('POST', '/zones', { name: 'example.org', account: { id: foreign.id } })).json.result.id;
  await call('PUT', `/accounts/${account}/r2/buckets/none/objects/k`, undefined, {});
  await call('POST', `/accounts/${account}/r2/buckets`, { name: 'assets' });
  await call('POST', `/accounts/${account}/r2/buckets`, { name: 'others' });

  /** Requests, each about one thing. */
  const requests = {
    zones: () => ['GET', '/zones'],
    zone: () => ['GET', `/zones/${mine}`],
    editZone: () => ['PATCH', `/zones/${mine}`, { paused: false }],
    newZone: () => ['POST', '/zones?dry_run=true', { name: 'new.example' }],
    foreignZone: () => ['POST', '/zones?dry_run=true', { name: 'new.example', account: { id: foreign.id } }],
    records: () => ['GET', `/zones/${mine}/dns_records`],
    newRecord: () => [
      'POST',
      `/zones/${mine}/dns_records?dry_run=true`,
      { type: 'A', name: 'a', content: '192.0.2.1' },
    ],
    export: () => ['GET', `/zones/${mine}/dns_records/export`],
    settings: () => ['GET', `/zones/${mine}/settings/http2`],
    setSettings: () => ['PATCH', `/zones/${mine}/settings/http2`, { value: 'on' }],
    purge: () => ['POST', `/zones/${mine}/purge_cache`, { purge_everything: true }],
    otherZone: () => ['GET', `/zones/${other}`],
    otherRecords: () => ['GET', `/zones/${other}/dns_records`],
    theirRecords: () => ['GET', `/zones/${theirs}/dns_records`],
    account: () => ['GET', `/accounts/${account}`],
    buckets: () => ['GET', `/accounts/${account}/r2/buckets`],
    objects: () => ['GET', `/accounts/${account}/r2/buckets/assets/objects`],
    otherObjects: () => ['GET', `/accounts/${account}/r2/buckets/others/objects`],
    user: () => ['GET', '/user'],
    memberships: () => ['GET', '/memberships'],
    tokens: () => ['GET', '/user/tokens'],
    accountTokens: () => ['GET', `/accounts/${account}/tokens`],
  } as const;
  type Name = keyof typeof requests;
  const all = { [`${ZONE}*`]: '*' };
  const rows: readonly (readonly [what: string, policies: readonly PolicyInput[], allowed: readonly Name[]])[] = [
    [
      'DNS Read on a zone',
      [{ groups: ['DNS Read'], on: { [ZONE + mine]: '*' } }],
      ['zones', 'zone', 'records', 'export'],
    ],
    [
      'DNS Write on a zone',
      [{ groups: ['DNS Write'], on: { [ZONE + mine]: '*' } }],
      ['zones', 'zone', 'records', 'newRecord', 'export'],
    ],
    [
      'DNS Read on all zones',
      [{ groups: ['DNS Read'], on: all }],
      ['zones', 'zone', 'records', 'export', 'otherZone', 'otherRecords', 'theirRecords'],
    ],
    [
      'Zone Write in an account',
      [{ groups: ['Zone Write'], on: { [ACCOUNT + account]: { [`${ZONE}*`]: '*' } } }],
      ['zones', 'zone', 'editZone', 'newZone', 'otherZone'],
    ],
    [
      'Zone Write on an account, all that is in it',
      [{ groups: ['Zone Write'], on: { [ACCOUNT + account]: '*' } }],
      ['zones', 'zone', 'editZone', 'newZone', 'otherZone'],
    ],
    [
      'Zone Write on one zone makes no others',
      [{ groups: ['Zone Write'], on: { [ZONE + mine]: '*' } }],
      ['zones', 'zone', 'editZone'],
    ],
    [
      'DNS Read in one account and on a zone of another',
      [
        { groups: ['DNS Read'], on: { [ACCOUNT + account]: '*' } },
        { groups: ['Zone Read'], on: { [ZONE + theirs]: '*' } },
      ],
      ['zones', 'zone', 'records', 'export', 'otherZone', 'otherRecords'],
    ],
    [
      'Zone Settings Write',
      [{ groups: ['Zone Settings Write'], on: { [ZONE + mine]: '*' } }],
      ['zones', 'zone', 'settings', 'setSettings'],
    ],
    ['Cache Purge', [{ groups: ['Cache Purge'], on: { [ZONE + mine]: '*' } }], ['zones', 'zone', 'purge']],
    [
      'denied for one zone',
      [
        { groups: ['DNS Read'], on: all },
        { groups: ['DNS Read'], on: { [ZONE + other]: '*', [ZONE + theirs]: '*' }, effect: 'deny' },
      ],
      ['zones', 'zone', 'records', 'export'],
    ],
    [
      'to write denied, to read not',
      [
        { groups: ['DNS Write'], on: { [ZONE + mine]: '*' } },
        { groups: ['DNS Write'], on: all, effect: 'deny' },
      ],
      ['zones', 'zone', 'records', 'export'],
    ],
    [
      'Account Settings Read',
      [{ groups: ['Account Settings Read'], on: { [ACCOUNT + account]: '*' } }],
      ['zones', 'account'],
    ],
    [
      'R2 Storage Read',
      [{ groups: ['Workers R2 Storage Read'], on: { [ACCOUNT + account]: '*' } }],
      ['zones', 'buckets', 'objects', 'otherObjects'],
    ],
    [
      'items of one bucket',
      [
        {
          groups: ['Workers R2 Storage Bucket Item Read'],
          on: { [`com.cloudflare.edge.r2.bucket.${account}_default_assets`]: '*' },
        },
      ],
      ['zones', 'objects'],
    ],
    [
      'user',
      [
        {
          groups: ['User Details Read', 'Memberships Read', 'API Tokens Read'],
          on: { [`com.cloudflare.api.user.${user}`]: '*' },
        },
      ],
      ['zones', 'user', 'memberships', 'tokens'],
    ],
    [
      'Account API Tokens Read',
      [{ groups: ['Account API Tokens Read'], on: { [ACCOUNT + account]: '*' } }],
      ['zones', 'accountTokens'],
    ],
  ];
  for (const [what, policies, allowed] of rows) {
    const { headers } = await make(installation, policies);
    const passed: Name[] = [];
    for (const [name, request] of Object.entries(requests)) {
      const [method, path, body] = request() as [method: 'GET', path: string, body?: object];
      const { status } = await call(method, path, body, { headers });
      if (status === 200) passed.push(name as Name);
      // A zone of another account is answered like one that does not exist.
      else if (status !== 403 && !(name === 'theirRecords' && status === 404))
        t.fail(`${what}: ${name} answered ${status}`);
    }
    t.strictSame(passed, allowed, what);
  }
  const names = async (policies: readonly PolicyInput[]) => {
    const { headers } = await make(installation, policies);
    const { json } = await call('GET', '/zones', undefined, { headers });
    return json.result.map(({ name }: { name: string }) => name);
  };
  const question = {
    query: 'r2StorageAdaptiveGroups',
    variables: { accountTag: account, filter: { bucketName: 'assets' } },
  };
  const sizes = async (policies: readonly PolicyInput[]) => {
    const { headers } = await make(installation, policies);
    return (await call('POST', '/graphql', question, { headers })).json.data;
  };
  t.ok(await sizes(rows[12]![1]), 'sizes of buckets for whom they concern');
  t.equal(await sizes(rows[0]![1]), null, 'and for nobody else');
  t.strictSame(await names(rows[0]![1]), ['example.com'], 'lists leave out what is not given');
  t.strictSame(await names(rows[2]![1]), ['example.com', 'example.net', 'example.org']);
  t.strictSame(await names(rows[3]![1]), ['example.com', 'example.net']);
  t.strictSame(await names(rows[6]![1]), ['example.com', 'example.net', 'example.org']);
  t.strictSame(await names(rows[9]![1]), ['example.com']);
  t.strictSame(await names(rows[11]![1]), []);
  t.strictSame(misfits, []);
});

t.test('restrictions to certain records', async (t) => {
  const installation = await install(t);
  const { call, createZone, misfits } = installation;
  const zone = await createZone('example.com');
  const path = `/zones/${zone}/dns_records`;
  const create = async (type: string, name: string, content: string): Promise<string> =>
    (await call('POST', path, { type, name, content })).json.result.id;
  const challenge = await create('TXT', '_acme-challenge.www', 'x');
  const address = await create('A', 'www', '192.0.2.1');
  const home = await create('A', 'home.dyn', '192.0.2.2');
  const { headers } = await make(installation, [
    { groups: ['DNS Write'], on: { [ZONE + zone]: '*' }, records: { names: ['_acme-challenge.*'], types: ['txt'] } },
    { groups: ['DNS Write'], on: { [ZONE + zone]: '*' }, records: { names: ['*.dyn.Example.com.'] } },
  ]);
  const as = { headers };
  const denied = { status: 403, json: { errors: [{ code: 10000 }] } };
  const listed = await call('GET', path, undefined, as);
  t.strictSame(listed.json.result.map(({ id }: { id: string }) => id).sort(), [challenge, home].sort());
  t.equal(listed.json.result_info.total_count, 2, 'the others are not even counted');
  t.match((await call('GET', `${path}?match=any&type=A&type=TXT`, undefined, as)).json.result_info, { total_count: 2 });
  t.match(await call('GET', `${path}/${home}`, undefined, as), { status: 200 });
  t.match(await call('GET', `${path}/${address}`, undefined, as), denied);
  const rows: readonly (readonly ['POST' | 'PATCH' | 'PUT' | 'DELETE', string, object | undefined, boolean])[] = [
    ['POST', path, { type: 'TXT', name: '_acme-challenge.a.b', content: 'y' }, true],
    ['POST', path, { type: 'A', name: '_acme-challenge.a.b', content: '192.0.2.3' }, false],
    ['POST', path, { type: 'TXT', name: 'www', content: 'y' }, false],
    ['POST', path, { type: 'AAAA', name: 'x.dyn', content: '2001:db8::1' }, true],
    ['POST', path, { type: 'A', name: 'dyn', content: '192.0.2.3' }, false],
    ['PATCH', `${path}/${home}`, { content: '192.0.2.9' }, true],
    ['PATCH', `${path}/${home}`, { name: 'www2' }, false],
    ['PATCH', `${path}/${address}`, { content: '192.0.2.9' }, false],
    ['PUT', `${path}/${challenge}`, { type: 'TXT', name: 'other', content: 'z' }, false],
    ['POST', `${path}/batch`, { posts: [{ type: 'A', name: 'q.dyn', content: '192.0.2.7' }] }, true],
    [
      'POST',
      `${path}/batch`,
      { deletes: [{ id: home }], posts: [{ type: 'A', name: 'www', content: '192.0.2.8' }] },
      false,
    ],
    ['DELETE', `${path}/${address}`, undefined, false],
    ['DELETE', `${path}/${challenge}`, undefined, true],
  ];
  for (const [method, target, body, allowed] of rows) {
    const answer = await call(method, target, body, as);
    t.match(answer, allowed ? { status: 200 } : denied, `${method} ${target} ${JSON.stringify(body)}`);
  }
  t.match(
    await call('GET', `${path}/${home}`),
    { json: { result: { content: '192.0.2.9' } } },
    'half a batch was not done',
  );
  for (const elsewhere of [
    `${path}/export`,
    `${path}/usage`,
    `/zones/${zone}/dns_settings`,
    `/zones/${zone}/history`,
  ]) {
    t.match(await call('GET', elsewhere, undefined, as), denied, elsewhere);
  }
  t.match(await call('GET', `/zones/${zone}`, undefined, as), { status: 200 });
  const stateFor = async (options: object): Promise<object | undefined> =>
    (await call('GET', '/zones?include_state=true', undefined, options)).json.result[0].state;
  t.equal(await stateFor(as), undefined, 'nothing about the whole zone, such as its number of records');
  const zoneReader = await make(installation, [{ groups: ['Zone Read'], on: { [ZONE + zone]: '*' } }]);
  t.equal(await stateFor({ headers: zoneReader.headers }), undefined, 'nor for who may not read its records');
  const reader = await make(installation, [{ groups: ['DNS Read'], on: { [ZONE + zone]: '*' } }]);
  t.match(await stateFor({ headers: reader.headers }), { dnssec: 'disabled', hold: false });
  t.strictSame(misfits, []);
});

t.test('where and from when a token may be used', async (t) => {
  const installation = await install(t);
  const { app, call, clock, createZone } = installation;
  const zone = await createZone('example.com');
  const given = [{ groups: ['DNS Read'], on: { [ZONE + zone]: '*' } }];
  const from = async (headers: object, remoteAddress: string) => {
    const answer = await app.inject({ url: '/client/v4/zones', headers: { ...headers }, remoteAddress });
    return { status: answer.statusCode, text: answer.body };
  };
  const condition = { request_ip: { in: ['192.0.2.0/24', '2001:db8::/32'], not_in: ['192.0.2.7'] } };
  const { headers, token } = await make(installation, given, { condition });
  t.strictSame(token.condition, condition);
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::5']) {
    t.equal((await from(headers, address)).status, 200, address);
  }
  for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '198.51.100.1', '::1']) {
    const { status, text } = await from(headers, address);
    const told = address.replace('::ffff:', '');
    t.equal(status, 403, address);
    t.ok(text.includes(`{"code":9109,"message":"Cannot use the access token from location: ${told}"}`), text);
  }
  const later = await make(installation, given, { not_before: new Date(clock.nowMs() + 60_000).toISOString() });
  t.equal((await call('GET', '/zones', undefined, later)).status, 403, 'not yet');
  clock.advance(60_001);
  t.equal((await call('GET', '/zones', undefined, later)).status, 200);
});

t.test('a condition of older clients, and a token created disabled', async (t) => {
  const installation = await install(t);
  const { app, call, createZone, misfits } = installation;
  const zone = await createZone('example.com');
  const given = [{ groups: ['Zone Read'], on: { [ZONE + zone]: '*' } }];
  const condition = { 'request.ip': { in: ['192.0.2.0/24'], not_in: ['192.0.2.9'] } };
  const { headers, id, token } = await make(installation, given, { condition });
  t.strictSame(token.condition, condition, 'the client finds again what it wrote');
  const from = async (remoteAddress: string) =>
    (await app.inject({ url: '/client/v4/zones', headers, remoteAddress })).statusCode;
  t.same([await from('192.0.2.1'), await from('192.0.2.9'), await from('127.0.0.1')], [200, 403, 403]);
  const { result } = (await call('GET', `/user/tokens/${id}`)).json;
  t.match(await call('PUT', `/user/tokens/${id}`, result), { status: 200 }, 'what was got can be put');
  t.same([await from('192.0.2.1'), await from('127.0.0.1')], [200, 403]);

  const disabled = await make(installation, given, { status: 'disabled' });
  t.equal(disabled.token.status, 'disabled');
  t.match(await call('GET', '/zones', undefined, disabled), { status: 403, json: { errors: [{ code: 9109 }] } });
  await call('PUT', `/user/tokens/${disabled.id}`, { ...disabled.token, status: 'active' });
  t.match(await call('GET', '/zones', undefined, disabled), { status: 200 });
  t.strictSame(misfits, []);
});

t.test('trusted proxies', async (t) => {
  const spoofed = { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' };
  for (const trusted of [[], ['10.0.0.0/8', '2001:db8:1::/48']]) {
    const installation = await install(t, { trustedProxies: trusted });
    const { app, createZone, store } = installation;
    const zone = await createZone('example.com');
    const given = [{ groups: ['DNS Write'], on: { [ZONE + zone]: '*' } }];
    const { headers } = await make(installation, given, { condition: { request_ip: { in: ['192.0.2.0/24'] } } });
    const from = async (remoteAddress: string, more: Record<string, string>) => {
      const answer = await app.inject({
        method: 'POST',
        url: `/client/v4/zones/${zone}/dns_records`,
        headers: { ...headers, ...more },
        payload: JSON.stringify({ type: 'TXT', name: `t${Math.random()}`, content: '"x"' }),
        remoteAddress,
      });
      return answer.statusCode;
    };
    t.equal(await from('198.51.100.1', spoofed), 403, 'nobody believes a stranger');
    if (trusted.length === 0) {
      t.equal(await from('10.0.0.1', spoofed), 403, 'without the setting nobody is believed');
      continue;
    }
    t.equal(await from('10.0.0.1', { 'x-forwarded-for': '192.0.2.1' }), 200);
    t.equal(latestEvents(store, 1)[0]!.address, '192.0.2.1');
    t.equal(await from('::ffff:10.0.0.1', { forwarded: 'for="192.0.2.1:4711";proto=https' }), 200);
    t.equal(await from('10.0.0.1', { 'x-forwarded-for': '192.0.2.1, 198.51.100.7' }), 403, 'what the client made up');
    t.equal(await from('10.0.0.1', { 'x-forwarded-for': '192.0.2.1, 2001:db8:1::7' }), 200, 'two proxies');
    t.equal(await from('10.0.0.1', { forwarded: 'for=192.0.2.1, for="[2001:db8:1::7]"' }), 200);
    t.equal(
      await from('10.0.0.1', { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.2' }),
      400,
      'contradiction',
    );
    for (const forwarded of ['for=unknown', 'for=_hidden', 'proto=https', '', 'for=192.0.2.1;for=192.0.2.1']) {
      t.equal(await from('10.0.0.1', { forwarded }), 400, forwarded);
    }
    t.equal(await from('10.0.0.1', {}), 403, 'the proxy itself');
  }
});

t.test('who comes through an edge of ours is not at the address of the edge', async (t) => {
  for (const trusted of [undefined, ['10.0.0.0/8']]) {
    const installation = await install(t, { ...(trusted && { trustedProxies: trusted }) });
    const { app, createZone, store } = installation;
    const zone = await createZone('example.com');
    const given = [{ groups: ['Zone Read'], on: { [ZONE + zone]: '*' } }];
    const local = { request_ip: { in: ['127.0.0.1', '10.0.0.0/8'] } };
    const { headers } = await make(installation, given, { condition: local });
    const from = async (remoteAddress: string, more: Record<string, string | string[]> = {}) =>
      (await app.inject({ url: '/client/v4/zones', headers: { ...headers, ...more } as never, remoteAddress }))
        .statusCode;
    const own = loopIdOf(store);
    t.equal(await from('127.0.0.1'), 200);
    for (const loop of [own, `other, ${own}`, `${own}; v=1`, `${own}, other`]) {
      t.equal(await from('127.0.0.1', { 'cdn-loop': loop }), 403, loop);
    }
    t.equal(await from('127.0.0.1', { 'cdn-loop': 'other', 'x-forwarded-for': '127.0.0.1' }), 200, 'another edge');
    t.equal(await from('127.0.0.1', { 'cdn-loop': own, 'x-forwarded-for': '127.0.0.1' }), 403);
    const client = { 'cdn-loop': own, 'x-forwarded-for': '127.0.0.1, 192.0.2.1' };
    t.equal(await from('10.0.0.1', client), 403, 'the client behind a proxy in front');
  }
});

t.test('no one can grant permissions of others', async (t) => {
  const installation = await install(t);
  const { call, createZone, operator, token } = installation;
  const mine = await createZone('example.com');
  const other = await createZone('example.net');
  const user = (await call('GET', '/user')).json.result.id as string;
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const foreign = await createAccount(operator, { name: 'Foreign' });
  const denied = { status: 403, json: { errors: [{ code: 10000 }] } };
  const give = (headers: Record<string, string>, policies: readonly PolicyInput[], path = '/user/tokens') =>
    call('POST', path, { name: 'x', policies: policies.map(policy) }, { headers });

  const tokens = { groups: ['API Tokens Write'], on: { [`com.cloudflare.api.user.${user}`]: '*' } };
  const maker = await make(installation, [tokens, { groups: ['DNS Write'], on: { [ZONE + mine]: '*' } }]);
  t.match(await give(maker.headers, [{ groups: ['DNS Read'], on: { [ZONE + mine]: '*' } }]), { status: 200 }, 'less');
  t.match(await give(maker.headers, [{ groups: ['Zone Write'], on: { [ZONE + mine]: '*' } }]), denied);
  t.match(await give(maker.headers, [{ groups: ['DNS Write'], on: { [ZONE + other]: '*' } }]), denied);
  t.match(await give(maker.headers, [{ groups: ['DNS Write'], on: { [`${ZONE}*`]: '*' } }]), denied);
  t.match(await give(maker.headers, [{ groups: ['DNS Write'], on: { [ACCOUNT + account]: '*' } }]), denied);
  const narrow = { groups: ['DNS Write'], on: { [ZONE + mine]: '*' }, records: { types: ['TXT'] } };
  t.match(await give(maker.headers, [narrow]), { status: 200 });
  const narrowMaker = await make(installation, [tokens, narrow]);
  t.match(await give(narrowMaker.headers, [{ groups: ['DNS Write'], on: { [ZONE + mine]: '*' } }]), denied, 'widening');
  const plain = await make(installation, [{ groups: ['DNS Write'], on: { [ZONE + mine]: '*' } }]);
  t.match(
    await give(plain.headers, [{ groups: ['DNS Read'], on: { [ZONE + mine]: '*' } }]),
    denied,
    'no right to make any',
  );
  t.match(await call('PUT', `/user/tokens/${plain.id}/value`, {}, { headers: plain.headers }), denied);
  const roll = (id: string, headers: Record<string, string>) =>
    call('PUT', `/user/tokens/${id}/value`, {}, { headers });
  t.match(await roll(plain.id, maker.headers), { status: 200 }, 'a secret of less');
  const more = await make(installation, [{ groups: ['DNS Write'], on: { [ZONE + other]: '*' } }]);
  t.match(await roll(more.id, maker.headers), denied, 'a secret of more would be a way around');
  await token();
  const everything = (await call('GET', '/user/tokens')).json.result.at(-1).id as string;
  t.match(await roll(everything, maker.headers), denied);
  t.match(await roll(maker.id, maker.headers), { status: 200 }, 'its own');
  const limited = await token({ zoneIds: [mine] });
  t.equal((await give(limited, [{ groups: ['DNS Read'], on: { [ZONE + mine]: '*' } }])).status, 403);

  const tenant = await token({ email: 'tenant@example.org', accountId: foreign.id, kind: 'token' });
  t.equal((await give(tenant, [{ groups: ['DNS Read'], on: { [ZONE + mine]: '*' } }])).status, 403, 'a tenant');
  const reading = [{ groups: ['DNS Read'], on: { [ZONE + mine]: '*' } }];
  t.equal((await give(tenant, reading, `/accounts/${account}/tokens`)).status, 403);

  const owned = await give(
    { 'x-auth-email': 'admin@localhost', 'x-auth-key': 'k0123456789abcdef0123456789abcdef0123' },
    [{ groups: ['DNS Read'], on: { [ACCOUNT + account]: '*' } }],
    `/accounts/${account}/tokens`,
  );
  t.match(owned, { status: 200 });
  const { id, value } = owned.json.result;
  t.match((await call('GET', `/accounts/${account}/tokens`)).json.result, [{ id }]);
  t.notOk((await call('GET', '/user/tokens')).text.includes(id), 'an account’s token is not its maker’s');
  t.match(await call('GET', `/accounts/${foreign.id}/tokens/${id}`), { status: 404 });
  const asOwned = { headers: { authorization: `Bearer ${value}` } };
  t.match((await call('GET', '/zones', undefined, asOwned)).json.result_info, { total_count: 2 });
  t.match((await call('GET', `/accounts/${account}/tokens/verify`, undefined, asOwned)).json.result, { id });
});

t.test('a token shows the accounts of its resources, and no others', async (t) => {
  const installation = await install(t);
  const { call, createZone, operator } = installation;
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const zone = await createZone('example.com');
  const foreign = await createAccount(operator, { name: 'Foreign' });
  const user = (await call('GET', '/user')).json.result.id as string;
  const shown = async (groups: readonly string[], on: Readonly<Record<string, unknown>>): Promise<string[]> => {
    const { headers } = await make(installation, [{ groups, on }]);
    const { json } = await call('GET', '/accounts', undefined, { headers });
    return (json.result as { id: string }[]).map(({ id }) => id);
  };
  const all = [account, foreign.id];
  t.same(await shown(['DNS Read'], { [ZONE + zone]: '*' }), [account]);
  t.same(await shown(['DNS Read'], { [ACCOUNT + foreign.id]: '*' }), [foreign.id]);
  t.same(
    await shown(['DNS Read'], { [ACCOUNT + foreign.id]: { [`${ZONE}*`]: '*' } }),
    [foreign.id],
    'all zones of one',
  );
  t.same(await shown(['DNS Read'], { [ACCOUNT + account]: { [ZONE + zone]: '*' } }), [account]);
  t.same(await shown(['DNS Read'], { [ACCOUNT + foreign.id]: { [ZONE + zone]: '*' } }), [], 'a zone of another');
  t.same(await shown(['DNS Read'], { [`${ACCOUNT}*`]: { [ZONE + zone]: '*' } }), [account], 'a zone of any');
  t.same(await shown(['DNS Read'], { [`${ACCOUNT}*`]: '*' }), all);
  t.same(await shown(['DNS Read'], { [`${ZONE}*`]: '*' }), all);
  t.same(await shown(['User Details Read'], { [`com.cloudflare.api.user.${user}`]: '*' }), []);
  const { headers } = await make(installation, [
    { groups: ['DNS Read'], on: { [ACCOUNT + foreign.id]: { [`${ZONE}*`]: '*' } } },
  ]);
  t.match(await call('GET', `/accounts/${account}/tokens/verify`, undefined, { headers }), { status: 403 });
});

const zonesNamed = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [ZONE + i.toString(16).padStart(32, '0'), '*']));
const manyZones = (count: number): object => policy({ groups: ['DNS Read'], on: zonesNamed(count) });
const inAccount = (count: number): object => ({ [`${ACCOUNT}*`]: zonesNamed(count) });
const manyNames = Array.from({ length: 100 }, (_, i) => `n${i}.example.com`);

t.test('invalid bodies are distinguished', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('example.com');
  const good = policy({ groups: ['DNS Read'], on: { [ZONE + zone]: '*' } });
  const rows: readonly (readonly [body: object, pointer: string])[] = [
    [{ policies: [good] }, '/name'],
    [{ name: 'x' }, '/policies'],
    [{ name: 'x', policies: [] }, '/policies'],
    [{ name: 'x', policies: [7] }, '/policies/0'],
    [{ name: 'x', policies: [{ ...good, effect: 'maybe' }] }, '/policies/0/effect'],
    [{ name: 'x', policies: [{ ...good, permission_groups: [] }] }, '/policies/0/permission_groups'],
    [
      { name: 'x', policies: [good, { ...good, permission_groups: [{ id: 'nope' }] }] },
      '/policies/1/permission_groups/0',
    ],
    [
      { name: 'x', policies: [{ ...good, permission_groups: Array(101).fill({ id: groupId('DNS Read') }) }] },
      '/policies/0/permission_groups',
    ],
    [{ name: 'x', policies: [{ ...good, resources: {} }] }, '/policies/0/resources'],
    [{ name: 'x', policies: [{ ...good, resources: { zone: '*' } }] }, '/policies/0/resources'],
    [{ name: 'x', policies: [{ ...good, resources: { [ZONE + zone]: 'some' } }] }, '/policies/0/resources'],
    [{ name: 'x', policies: [{ ...good, resources: { [`${ACCOUNT}*`]: { x: '*' } } }] }, '/policies/0/resources'],
    [
      { name: 'x', policies: [policy({ groups: ['Account Settings Read'], on: { [ZONE + zone]: '*' } })] },
      '/policies/0/resources',
    ],
    [{ name: 'x', policies: [{ ...good, records: {} }] }, '/policies/0/records'],
    [{ name: 'x', policies: [{ ...good, records: { names: ['a b'] } }] }, '/policies/0/records/names'],
    [{ name: 'x', policies: [{ ...good, records: { types: ['NOPE'] } }] }, '/policies/0/records/types'],
    [{ name: 'x', policies: [{ ...good, effect: 'deny', records: { types: ['A'] } }] }, '/policies/0/records'],
    [{ name: 'x', policies: [good], expires_on: 'tomorrow' }, '/expires_on'],
    [{ name: 'x', policies: [good], expires_on: '2020-01-01T00:00:00Z' }, '/expires_on'],
    [
      { name: 'x', policies: [good], expires_on: '2030-01-01T00:00:00Z', not_before: '2031-01-01T00:00:00Z' },
      '/not_before',
    ],
    [{ name: 'x', policies: [good], condition: { request_ip: { in: ['192.0.2.0/33'] } } }, '/condition/request_ip/in'],
    [{ name: 'x', policies: [good], condition: { 'request.ip': { in: ['x'] } } }, '/condition/request.ip/in'],
    [{ name: 'x', policies: [good], condition: { request_time: {} } }, '/condition/request_time'],
    [
      { name: 'x', policies: [good], condition: { request_ip: { notin: ['192.0.2.1'] } } },
      '/condition/request_ip/notin',
    ],
    [{ name: 'x', policies: [good], condition: { request_ip: {}, 'request.ip': {} } }, '/condition/request.ip'],
    [{ name: 'x', policies: [good], condition: 'nowhere' }, '/condition'],
    [{ name: 'x', policies: [{ ...good, when: 'never' }] }, '/policies/0/when'],
    [{ name: 'x', policies: [{ ...good, records: { types: ['A'], zones: [] } }] }, '/policies/0/records/zones'],
    [{ name: 'x', policies: [good], conditions: {} }, '/conditions'],
    [{ name: 'x', policies: [good], status: 'expired?' }, '/status'],
    [{ name: 'x', policies: [manyZones(600), { ...manyZones(1), resources: inAccount(401) }] }, '/policies'],
    [
      { name: 'x', policies: Array.from({ length: 11 }, () => ({ ...good, records: { names: manyNames } })) },
      '/policies',
    ],
  ];
  for (const [body, pointer] of rows) {
    const { status, json } = await call('POST', '/user/tokens', body);
    t.match(
      { status, errors: json.errors },
      { status: 400, errors: [{ code: 9207, source: { pointer } }] },
      JSON.stringify(body).slice(0, 200),
    );
  }
  const missing = await call('POST', '/user/tokens', {
    name: 'x',
    policies: [policy({ groups: ['DNS Read'], on: { [`${ZONE}${'0'.repeat(32)}`]: '*' } })],
  });
  t.equal(missing.status, 404);
});

t.test('more zones than a statement accepts values', async (t) => {
  const { base, createZone } = await install(t);
  const ids = [await createZone('example.com'), await createZone('example.net')];
  const actor = { ...OPERATOR, superAdministrator: false, kind: 'token' as const };
  const [account] = allAccounts(base.store);
  const accountIds = [Buffer.from(account!.id).toString('hex')];
  const unknown = Array.from({ length: 40_000 }, (_, i) => i.toString(16).padStart(32, '0'));
  const ctx = { ...base, requestId: 'test', source: 'api' as const };
  const many = { ...ctx, actor: { ...actor, accountIds, zoneIds: [...unknown, ids[1]!] } };
  const found = await listZones(many, {});
  t.strictSame(
    found.items.map(({ name }) => name),
    ['example.net'],
  );
  const entries = await listAccountAudit(many, accountIds[0]!, { filter: {} } as never);
  t.ok(entries.items.length > 0 && entries.items.every(({ zone }) => zone?.id !== ids[0]));
});

t.test('deleted tokens are not kept for ever', async (t) => {
  const installation = await install(t);
  const { call, store } = installation;
  const { id } = await make(installation, [{ groups: ['Zone Read'], on: { [`${ZONE}*`]: '*' } }]);
  await store.write(() =>
    store
      .prepare(
        `INSERT INTO api_keys (id, user, kind, name, hash, created_at, revoked_at)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1005)
         SELECT CAST(printf('%016d', i) AS BLOB), user, 'token', printf('gone %04d', i),
           CAST(printf('%032d', i) AS BLOB), 1, i FROM api_keys, n WHERE name = 'test'`,
      )
      .run(),
  );
  const { id: last } = await make(installation, [{ groups: ['Zone Read'], on: { [`${ZONE}*`]: '*' } }]);
  const revoked = () =>
    store.prepareTuples<[], [number, string]>(
      "SELECT count(*), min(name) FROM api_keys WHERE revoked_at IS NOT NULL AND name LIKE 'gone%'",
    );
  t.equal((await call('DELETE', `/user/tokens/${id}`)).status, 200);
  t.strictSame(revoked().get(), [999, 'gone 0007'], 'those that were deleted first are gone');
  t.equal((await call('DELETE', `/user/tokens/${last}`)).status, 200);
  t.strictSame(revoked().get()![0], 998);
  t.equal((await call('GET', `/user/tokens/${last}`)).status, 404);
});
