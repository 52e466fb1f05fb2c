/**
 * The webhook protocol of ExternalDNS, as provider/webhook/webhook.go of its sources speaks it (commit 2bf1bf8a): the same requests in the
 * same order, with the same headers. Then what its Cloudflare provider asks (the same commit, of 2026-08-22), and libdns for Caddy
 * (libdns/cloudflare 57f633a, of 2025-10-21).
 */
import t from 'tap';
import { applyEndpoints } from '../../src/control/records/endpoints.js';
import { countTurns } from '../support/turns.js';
import { install } from './installation.js';

const TYPE = 'application/external.dns.webhook+json;version=1';

t.test('negotiation, records, adjustment and changes, as ExternalDNS asks', async (t) => {
  const { app, createZone, token, call } = await install(t);
  const zone = await createZone('example.com');
  const deeper = await createZone('k8s.example.com');
  await createZone('other.example');
  const bearer = (await token({ zoneIds: [zone, deeper] })).authorization!;
  const secret = bearer.replace(/^Bearer /, '');
  const authorization = `Basic ${Buffer.from(`external-dns:${secret}`).toString('base64')}`;
  const ask = async (method: 'GET' | 'POST', path: string, body?: unknown, headers: object = { authorization }) => {
    const response = await app.inject({
      method,
      url: `/client/v4/external_dns${path}`,
      headers: { ...headers, ...(body === undefined ? { accept: TYPE } : { 'content-type': TYPE }) },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const isOurs = response.headers['content-type'] === TYPE;
    return { status: response.statusCode, isOurs, text: response.body, json: isOurs ? response.json() : undefined };
  };
  t.strictSame(await ask('GET', ''), {
    status: 200,
    isOurs: true,
    text: '{"include":["example.com","k8s.example.com"]}',
    json: { include: ['example.com', 'k8s.example.com'] },
  });
  t.match(await ask('GET', '/'), { status: 200, isOurs: true });
  t.match(await ask('GET', '/healthz'), { status: 200, text: 'ok' });
  t.match(await ask('GET', '/records', undefined, {}), { status: 400 }, 'nobody without a token');
  t.match(await ask('GET', '/records', undefined, { authorization: 'Basic eDp5' }), { status: 400 });
  t.match(await ask('GET', '/records', undefined, { authorization: bearer }), { status: 200, json: [] });
  const elsewhere = await app.inject({ url: '/client/v4/zones', headers: { authorization } });
  t.equal(elsewhere.statusCode, 400, 'a password is a token here only');

  const wanted = [
    {
      dnsName: 'app.example.com',
      targets: ['192.0.2.1', '192.0.2.2'],
      recordType: 'A',
      recordTTL: 300,
      labels: { owner: 'x' },
    },
    { dnsName: 'a-app.example.com', targets: ['"heritage=external-dns,external-dns/owner=x"'], recordType: 'TXT' },
    { dnsName: 'www.k8s.example.com', targets: ['app.example.com'], recordType: 'CNAME' },
    { dnsName: '_sip._tcp.example.com', targets: ['10 20 5060 app.example.com'], recordType: 'SRV' },
    { dnsName: 'example.com', targets: ['10 mail.example.com'], recordType: 'MX' },
  ];
  const adjusted = await ask('POST', '/adjustendpoints', wanted);
  t.match(adjusted, { status: 200, isOurs: true });
  t.match(adjusted.json[0].providerSpecific, [{ name: 'webhook/proxied', value: 'false' }]);
  t.equal(adjusted.json.length, wanted.length);
  t.match(await ask('POST', '/adjustendpoints', []), { text: '[]' });
  for (const time of ['once', 'and again, since it was not confirmed']) {
    t.match(await ask('POST', '/records', { create: adjusted.json }), { status: 204, text: '' }, time);
  }
  const plain = (list: { dnsName: string; labels?: object }[]) =>
    list.map(({ labels: _, ...rest }) => rest).toSorted((a, b) => a.dnsName.localeCompare(b.dnsName));
  const listed = await ask('GET', '/records');
  t.strictSame(
    plain(listed.json).map((endpoint) => ({ providerSpecific: [], ...endpoint })),
    plain(adjusted.json),
    'what was made is listed as it was wanted',
  );
  const inZone = (await call('GET', `/zones/${deeper}/dns_records`)).json.result;
  t.match(inZone, [{ name: 'www.k8s.example.com', content: 'app.example.com' }], 'the deepest zone has it');

  const [app1] = adjusted.json;
  const moved = { ...app1, targets: ['192.0.2.2', '192.0.2.3'], recordTTL: 600 };
  const change = { updateOld: [app1], updateNew: [moved], delete: [adjusted.json[4]] };
  t.match(await ask('POST', '/records', change), { status: 204 });
  const after = (await ask('GET', '/records')).json as { dnsName: string; targets: string[]; recordTTL?: number }[];
  t.match(
    after.find(({ dnsName }) => dnsName === 'app.example.com'),
    { targets: ['192.0.2.2', '192.0.2.3'], recordTTL: 600 },
  );
  t.notOk(after.some(({ dnsName }) => dnsName === 'example.com'));
  for (const [bad, reason] of [
    [{ dnsName: 'x.other.example', targets: ['192.0.2.1'], recordType: 'A' }, /in no zone/],
    [
      { dnsName: 'x.example.com', targets: ['192.0.2.1'], recordType: 'A', setIdentifier: 'blue' },
      /has a set identifier/,
    ],
    [{ dnsName: 'x.example.com', targets: ['x'], recordType: 'NAPTR' }, /only A, AAAA/],
    [{ dnsName: 'x.example.com', targets: ['nonsense'], recordType: 'A' }, /./],
  ] as const) {
    const refused = await ask('POST', '/records', { create: [{ ...app1, dnsName: 'y.example.com' }, bad] });
    t.match(refused, { status: 400, text: reason });
  }
  t.notOk(
    ((await ask('GET', '/records')).json as { dnsName: string }[]).some(({ dnsName }) => dnsName === 'y.example.com'),
    'nothing is half-done in a zone',
  );
});

t.test('a token for reading lists, and changes nothing', async (t) => {
  const { app, createZone, token } = await install(t);
  const zone = await createZone('example.com');
  const { authorization } = await token({ zoneIds: [zone], readOnly: true });
  const ask = (method: 'GET' | 'POST', path: string, payload?: object) =>
    app.inject({
      method,
      url: `/client/v4/external_dns${path}`,
      headers: { authorization: authorization! },
      ...(payload && { payload }),
    });
  t.equal((await ask('GET', '/records')).statusCode, 200);
  const create = [{ dnsName: 'a.example.com', targets: ['192.0.2.1'], recordType: 'A' }];
  t.equal((await ask('POST', '/records', { create })).statusCode, 403);
});

t.test('others have their turns while very many names are looked up', async (t) => {
  const { createZone, operator } = await install(t);
  await createZone('example.com');
  const gone = Array.from({ length: 400 }, (_, i) => {
    return { dnsName: `n${i}.example.com`, targets: ['192.0.2.1'], recordType: 'A' };
  });
  t.ok((await countTurns(() => applyEndpoints(operator, { delete: gone }))) >= 15);
});

t.test('the Cloudflare provider of ExternalDNS', async (t) => {
  const { call: callAs, createZone, token, misfits } = await install(t);
  const zone = await createZone('example.com');
  await createZone('other.example');
  const headers = await token({ zoneIds: [zone] });
  const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) =>
    callAs(method, path, body, { headers });
  /** Pages as cloudflare-go asks for them: the next one, until one is empty. */
  const pages = async (path: string): Promise<Record<string, unknown>[]> => {
    const all: Record<string, unknown>[] = [];
    for (let page = 1; page < 10; page++) {
      const { status, json } = await call(
        'GET',
        page === 1 ? path : `${path}${path.includes('?') ? '&' : '?'}page=${page}`,
      );
      t.equal(status, 200);
      if (json.result.length === 0) return all;
      all.push(...json.result);
    }
    throw new Error('the pages have no end');
  };
  t.match(await pages('/zones'), [{ id: zone, name: 'example.com', plan: { is_subscribed: false } }], 'its zone only');
  t.match((await call('GET', `/zones/${zone}`)).json.result, { name: 'example.com' }, 'of --zone-id-filter');
  t.strictSame(await pages(`/zones/${zone}/dns_records?per_page=100`), []);

  // The encoder of the SDK writes what a record has, zero or not.
  const common = { proxied: false, comment: '', tags: [] };
  const post = (name: string, type: string, content: string) => ({
    ...common,
    name,
    type,
    content,
    ttl: 1,
    priority: 0,
  });
  const owner = '"heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/app"';
  const made = await call('POST', `/zones/${zone}/dns_records/batch`, {
    posts: [
      post('app.example.com', 'A', '192.0.2.1'),
      post('app.example.com', 'A', '192.0.2.2'),
      post('a-app.example.com', 'TXT', owner),
      post('www.example.com', 'CNAME', 'app.example.com'),
      { ...common, name: 'example.com', type: 'MX', content: 'mail.example.com', ttl: 300, priority: 10 },
      {
        ...common,
        name: '_sip._tcp.example.com',
        type: 'SRV',
        ttl: 300,
        data: { priority: 10, weight: 20, port: 5060, target: 'app.example.com' },
      },
    ],
  });
  t.match(made, { status: 200, json: { success: true } }, made.text);
  const records = await pages(`/zones/${zone}/dns_records?per_page=2`);
  t.equal(records.length, 6, 'all pages');
  const idOf = (name: string, content: string) =>
    records.find((record) => record['name'] === name && record['content'] === content)!['id'];
  t.ok(idOf('a-app.example.com', owner), 'the owner stands as it was written');
  t.match(
    records.find(({ type }) => type === 'SRV'),
    { content: /5060 app\.example\.com/, data: { priority: 10, weight: 20, port: 5060 } },
  );
  const changed = await call('POST', `/zones/${zone}/dns_records/batch`, {
    deletes: [{ id: idOf('app.example.com', '192.0.2.2') }],
    puts: [
      {
        ...common,
        id: idOf('app.example.com', '192.0.2.1'),
        name: 'app.example.com',
        type: 'A',
        content: '192.0.2.9',
        ttl: 120,
      },
    ],
    posts: [post('new.example.com', 'AAAA', '2001:db8::1')],
  });
  t.match(
    changed,
    { status: 200, json: { result: { deletes: [{}], puts: [{ content: '192.0.2.9', ttl: 120 }], posts: [{}] } } },
    changed.text,
  );
  // A batch that is refused changes nothing, and is tried record by record.
  const twice = await call('POST', `/zones/${zone}/dns_records/batch`, {
    posts: [post('fine.example.com', 'A', '192.0.2.5'), post('new.example.com', 'AAAA', '2001:db8::1')],
  });
  t.match(twice, { status: 400, json: { success: false } });
  t.match((await call('POST', `/zones/${zone}/dns_records`, post('fine.example.com', 'A', '192.0.2.5'))).json.result, {
    proxied: false,
    ttl: 1,
  });
  const put = await call(
    'PUT',
    `/zones/${zone}/dns_records/${idOf('www.example.com', 'app.example.com')}`,
    post('www.example.com', 'CNAME', 'new.example.com'),
  );
  t.match(put.json.result, { content: 'new.example.com' });
  t.match(await call('DELETE', `/zones/${zone}/dns_records/${idOf('a-app.example.com', owner)}`), { status: 200 });
  // It asks for custom hostnames only with --cloudflare-custom-hostnames.
  t.strictSame(misfits, []);
});

t.test('libdns for Caddy', async (t) => {
  const { call: callAs, createZone, token, misfits } = await install(t);
  const zone = await createZone('example.com');
  const headers = await token({ zoneIds: [zone] });
  const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
    callAs(method, path, body, { headers });
  t.match((await call('GET', '/zones?name=example.com')).json.result, [{ id: zone }]);
  // Its structure has members that are never left out.
  const never = { created_on: '0001-01-01T00:00:00Z', modified_on: '0001-01-01T00:00:00Z' };
  const record = (members: object, data: object = {}) => ({ ...members, ...never, data: { tag: '', ...data } });
  const challenge = record({ type: 'TXT', name: '_acme-challenge', content: '"token-1"', ttl: 120 });
  const made = await call('POST', `/zones/${zone}/dns_records`, challenge);
  t.match(
    made,
    { status: 200, json: { result: { name: '_acme-challenge.example.com', content: '"token-1"' } } },
    made.text,
  );
  const found = await call(
    'GET',
    `/zones/${zone}/dns_records?content.contains=token-1&name=_acme-challenge.example.com&type=TXT`,
  );
  t.match(found.json.result, [{ id: made.json.result.id }]);
  t.match(await call('DELETE', `/zones/${zone}/dns_records/${made.json.result.id}`), { status: 200 });

  // The addresses of dynamic_dns: looked for, made, and replaced.
  const look = (content: string) => call('GET', `/zones/${zone}/dns_records?${content}name=home.example.com&type=A`);
  t.strictSame((await look('')).json.result, []);
  const home = await call(
    'POST',
    `/zones/${zone}/dns_records`,
    record({ type: 'A', name: 'home', content: '192.0.2.1', ttl: 300 }),
  );
  t.match(home.json.result, { name: 'home.example.com' }, home.text);
  const { id } = home.json.result;
  const patched = await call(
    'PATCH',
    `/zones/${zone}/dns_records/${id}`,
    record({ id, zone_id: zone, type: 'A', name: 'home', content: '192.0.2.7', ttl: 300 }),
  );
  t.match(patched, { status: 200, json: { result: { name: 'home.example.com', content: '192.0.2.7' } } }, patched.text);
  t.match((await look('content.exact=192.0.2.7&')).json.result, [{ id }]);
  const caa = await call(
    'POST',
    `/zones/${zone}/dns_records`,
    record(
      { type: 'CAA', name: '@', content: '0 issue "ca.test"', ttl: 300 },
      { flags: 0, tag: 'issue', value: 'ca.test' },
    ),
  );
  t.match(caa.json.result, { content: '0 issue "ca.test"' }, caa.text);
  t.match((await call('GET', `/zones/${zone}/dns_records?page=1&per_page=100`)).json, {
    result: [{}, {}],
    result_info: { total_pages: 1 },
  });
  t.match((await call('GET', '/zones')).json.result, [{ name: 'example.com' }]);
  t.strictSame(misfits, []);
});
