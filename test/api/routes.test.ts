/** Every route: who may call it, which methods it has, and what the OpenAPI document says of it. */
import t, { type Test } from 'tap';
import { ADMIN_HEADERS, ANONYMOUS, install } from './installation.js';

const PUBLIC = ['/ca.pem', '/livez', '/readyz', '/client/v4/ips', '/v4/ips'];
const SOME_ID = '0123456789abcdef0123456789abcdef';

function fill(url: string, id: string): string {
  return url
    .replace(/:phase/, 'http_request_dynamic_redirect')
    .replace(/:\w+/g, id)
    .replace('*', 'swagger-ui.css');
}

async function statusesWithout(t: Test, host: string): Promise<Map<string, { status: number; text: string }>> {
  const { app, routes } = await install(t, { host });
  const found = new Map<string, { status: number; text: string }>();
  for (const { method, url } of routes) {
    for (const id of [SOME_ID, 'xyz']) {
      const answer = await app.inject({ method: method as 'GET', url: fill(url, id) });
      found.set(`${method} ${url}`, { status: answer.statusCode, text: answer.body });
      if (answer.statusCode !== 400) break;
    }
  }
  return found;
}

const MISSING = `{"result":null,"success":false,"errors":[{"code":9106,"message":"Missing X-Auth-Key, X-Auth-Email or Authorization headers"}],"messages":[]}`;

t.test('no route but the public ones answers without a credential', async (t) => {
  const found = await statusesWithout(t, '0.0.0.0');
  t.ok(found.size > 150, 'all routes under both prefixes, with the methods they refuse');
  for (const [route, { status, text }] of found) {
    const [method, url] = route.split(' ') as [string, string];
    const open = PUBLIC.includes(url) && (method === 'GET' || method === 'HEAD');
    if (open) t.equal(status, 200, route);
    else t.strictSame([status, text], [400, method === 'HEAD' ? '' : MISSING], route);
  }
});

t.test('on loopback the documentation and the metrics are open too, nothing else', async (t) => {
  const found = await statusesWithout(t, '127.0.0.1');
  const open = [...found].filter(([, { status }]) => status !== 400).map(([route]) => route.split(' ')[1]);
  t.strictSame(
    [...new Set(open)].filter((url) => !url!.startsWith('/docs')).sort(),
    ['/', '/ca.pem', '/client/v4/ips', '/livez', '/metrics', '/openapi.json', '/readyz', '/v4/ips'].sort(),
  );
});

t.test('paths nobody knows, methods nobody serves', async (t) => {
  const { call } = await install(t, { host: '0.0.0.0' });
  for (const path of [
    '//',
    '//nope',
    '//client/v4',
    '//client/v4/nope',
    '//client/v4/zones/xyz/%zz',
    '//v4/zones/a/b/c',
  ]) {
    const anonymous = await call('GET', path, undefined, { headers: ANONYMOUS });
    t.strictSame([anonymous.status, anonymous.text], [400, MISSING], `${path} without a credential`);
  }
  for (const path of [
    '/nope',
    '/zones/xyz',
    '/zones/xyz/dns_records',
    '/zones/%zz',
    `/zones/${SOME_ID.toUpperCase()}`,
  ]) {
    const { status, text } = await call('GET', path);
    t.equal(status, 404);
    t.equal(
      text,
      `{"result":null,"success":false,"errors":[{"code":7003,"message":"Could not route to /client/v4${path}, perhaps your object identifier is invalid?"}],"messages":[]}`,
    );
  }
  for (const [method, path, allow] of [
    ['PUT', '/zones', 'GET, HEAD, POST'],
    ['DELETE', '/user', 'GET, HEAD'],
    ['PUT', `/zones/${SOME_ID}/dns_records/batch`, 'POST'],
    ['OPTIONS', '/accounts', 'GET, HEAD'],
    ['POST', '/ips', 'GET, HEAD'],
  ] as const) {
    const { status, text, headers } = await call(method, path, method === 'OPTIONS' ? undefined : {});
    t.equal(status, 405, `${method} ${path}`);
    t.equal(
      text,
      '{"result":null,"success":false,"errors":[{"code":10405,"message":"Method not allowed"}],"messages":[]}',
    );
    t.equal(headers.allow, allow);
  }
});

t.test('health, metrics and documentation', async (t) => {
  let ready = false;
  const { app, misfits } = await install(t, { ready: () => ready });
  t.strictSame((await app.inject('/livez')).json(), { alive: true });
  const loading = await app.inject('/readyz');
  t.strictSame([loading.statusCode, loading.json()], [503, { ready: false, reason: 'zones are loading' }]);
  ready = true;
  const loaded = await app.inject('/readyz');
  t.strictSame([loaded.statusCode, loaded.json()], [200, { ready: true }]);
  const metrics = await app.inject('/metrics');
  t.match(metrics.headers['content-type'], /^text\/plain; version=0\.0\.4/);
  t.equal(metrics.body, '# HELP zoneplane_up Whether it runs.\n');
  t.equal((await app.inject('/')).headers.location, '/docs');
  const page = await app.inject('/docs/');
  t.equal(page.statusCode, 200);
  t.notMatch(page.body, /(src|href)="https?:/, 'the page loads nothing from elsewhere');
  t.match(page.headers['content-security-policy'], /default-src 'none'; script-src 'self'/);
  for (const [, file] of page.body.matchAll(/(?:src|href)="\.?\/?([^"]+)"/g)) {
    t.equal((await app.inject(`/docs/${file!.replace(/^docs\//, '')}`)).statusCode, 200, `${file}`);
  }
  t.strictSame(misfits, []);
});

t.test('the OpenAPI document describes every route', async (t) => {
  const { app, routes } = await install(t);
  const document = (await app.inject({ url: '/openapi.json', headers: ADMIN_HEADERS })).json();
  const declared = new Set(
    routes
      .filter(({ url }) => url.startsWith('/client/v4/') || ['/ca.pem', '/livez', '/readyz', '/metrics'].includes(url))
      .filter(({ hidden }) => !hidden)
      .map(({ url }) => url.replace(/\/\*$/, '/:object_key').replace(/:(\w+)/g, '{$1}')),
  );
  t.strictSame(Object.keys(document.paths).sort(), [...declared].sort());
  const references = new Set<string>();
  JSON.stringify(document, (name, value) => {
    if (name === '$ref') references.add(value);
    return value;
  });
  t.ok(references.size > 20);
  for (const reference of references) {
    t.ok(document.components.schemas[reference.replace('#/components/schemas/', '')], reference);
  }
  for (const [path, operations] of Object.entries<Record<string, Record<string, unknown>>>(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const name = `${method} ${path}`;
      t.type(operation.summary, 'string', name);
      t.equal((operation.tags as string[]).length, 1, name);
      t.ok((operation.responses as Record<string, unknown>)['200'], name);
      if (path.startsWith('/client/')) t.ok((operation.responses as Record<string, unknown>)['4XX'], name);
      const open = ['/ca.pem', '/client/v4/ips', '/livez', '/readyz'].includes(path);
      t.strictSame(operation.security, open ? [] : undefined, name);
    }
  }
  t.strictSame(document.components.schemas.SRVData.required.sort(), ['port', 'priority', 'target', 'weight']);
});

t.test('explanations of answers', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'www', content: '192.0.2.1', ttl: 60 });
  const { status, json } = await call('GET', `/zones/${zone}/dns_records/explain?name=www&type=a`);
  t.match(
    [status, json.result],
    [
      200,
      {
        name: 'www.example.com',
        type: 'A',
        zone: { id: zone, name: 'example.com' },
        steps: [{ step: 'zone' }, { step: 'node', name: 'www.example.com', detail: 'owner with A' }],
        answer: { rcode: 'NOERROR', authoritative: true, answer: ['www.example.com. 60 IN A 192.0.2.1'] },
      },
    ],
  );
  t.match((await call('GET', `/zones/${zone}/dns_records/explain`)).json.result, { name: 'example.com', type: 'A' });
  t.match(await call('GET', `/zones/${zone}/dns_records/explain?type=WHAT`), {
    status: 400,
    json: { errors: [{ message: /no record type WHAT/ }] },
  });
  t.equal((await call('GET', `/zones/${'0'.repeat(32)}/dns_records/explain`)).status, 404);
  t.strictSame(misfits, []);
});
