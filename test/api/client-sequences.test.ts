/**
 * What programs in Kubernetes and web servers ask, request by request, from their sources: ExternalDNS' Cloudflare provider
 * (kubernetes-sigs/external-dns 2bf1bf8a, 2026-08-22), and libdns for Caddy (libdns/cloudflare 57f633a, 2025-10-21).
 */
import t from 'tap';
import { install } from './installation.js';

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
