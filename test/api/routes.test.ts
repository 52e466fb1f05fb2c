/** Every route: who may call it, its methods, and its description in the OpenAPI document. */
import t, { type Test } from 'tap';
import type { z } from 'zod';
import { PAGES } from '../../src/api/dashboard/pages.js';
import { createLogger } from '../../src/base/log.js';
import { ADMIN_HEADERS, ANONYMOUS, install } from './installation.js';

const PUBLIC = ['/ca.pem', '/livez', '/readyz', '/client/v4/ips', '/client/v4/user/sign_in'];
/** Leads to an identity provider, or to the page that says why not. */
const SSO = ['', '/callback'].map((end) => `/client/v4/user/sign_in/oidc/:provider_id${end}`);
/** Identity providers end sessions there; this one is not known. */
const LOGOUT = '/client/v4/user/sign_in/oidc/:provider_id/logout';
/** Whoever signs in has no credential yet. */
const SIGNS_IN =
  /^(POST \/client\/v4\/user\/(sign_in(\/link|\/:challenge|\/passkey(\/options)?)?|password_reset)|PUT \/client\/v4\/user\/password_reset\/:code)$/;
/** The dashboard, which holds no data. */
const DASHBOARD = ['/', ...PAGES.flatMap((page) => [`/${page}`, `/${page}/*`])];
const ASSET = '/assets/:file';
/** The documents, and no page of the name that is tried. */
const GUIDE = '/docs/guide';
const GUIDE_PAGE = '/docs/guide/*';
/** Open as well; only what an order waits for is found there. */
const CHALLENGES = ['/.well-known/acme-challenge/:token', '/.well-known/pki-validation/:token'];
/** Refuses in the words of its protocol. */
const ROUTERS = '/nic/update';
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
      const answer = await app.inject({
        method: method as 'GET',
        url: fill(url, id),
        remoteAddress: host === '0.0.0.0' ? '192.0.2.9' : '127.0.0.1',
      });
      found.set(`${method} ${url}`, { status: answer.statusCode, text: answer.body });
      if (answer.statusCode !== 400) break;
    }
  }
  return found;
}

const MISSING = `{"result":null,"success":false,"errors":[{"code":9106,"message":"Missing X-Auth-Key, X-Auth-Email or Authorization headers"}],"messages":[]}`;

/** Nothing comes with 204. */
const SUCCESSES = ['200', '204'];

t.test('only public routes answer without a credential', async (t) => {
  const found = await statusesWithout(t, '0.0.0.0');
  t.ok(found.size > 150, 'all routes, with the methods they refuse');
  for (const [route, { status, text }] of found) {
    const [method, url] = route.split(' ') as [string, string];
    const open = [...PUBLIC, ...DASHBOARD, GUIDE].includes(url) && (method === 'GET' || method === 'HEAD');
    const challenge = [...CHALLENGES, ASSET, GUIDE_PAGE].includes(url) && (method === 'GET' || method === 'HEAD');
    if (SSO.includes(url) && (method === 'GET' || method === 'HEAD')) t.equal(status, 302, route);
    else if (url === LOGOUT && method === 'POST') t.equal(status, 404, route);
    else if (SIGNS_IN.test(route)) t.strictSame([status, text === MISSING], [400, false], route);
    else if (url === ROUTERS && method === 'GET') t.strictSame([status, text], [401, 'badauth'], route);
    else if (open) t.equal(status, 200, route);
    else if (challenge) t.equal(status, 404, route);
    else t.strictSame([status, text], [400, method === 'HEAD' ? '' : MISSING], route);
  }
});

t.test('on loopback only the documentation, and for this machine the metrics, are also open', async (t) => {
  const found = await statusesWithout(t, '127.0.0.1');
  const open = [...found].filter(([, { status }]) => status !== 400).map(([route]) => route.split(' ')[1]);
  t.strictSame(
    [...new Set(open)].filter((url) => !url!.startsWith('/docs')).sort(),
    [
      ...CHALLENGES,
      ...[
        ...DASHBOARD,
        ASSET,
        '/ca.pem',
        '/client/v4/ips',
        '/livez',
        '/metrics',
        ROUTERS,
        '/openapi.json',
        '/readyz',
        '/client/v4/user/sign_in',
        ...SSO,
        LOGOUT,
      ],
    ].sort(),
  );
});

t.test('unknown paths and methods', async (t) => {
  const { call } = await install(t, { host: '0.0.0.0' });
  for (const path of [
    '//nope',
    '//assets',
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
    ['DELETE', '/user', 'GET, HEAD, PATCH'],
    ['PUT', `/zones/${SOME_ID}/dns_records/batch`, 'POST'],
    ['OPTIONS', '/accounts', 'GET, HEAD, POST'],
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

t.test('metrics need a credential unless they are public or requested by this machine', async (t) => {
  const statusOf = async (
    options: Parameters<typeof install>[1],
    remoteAddress: string,
    headers: Record<string, string> = {},
  ): Promise<number> => {
    const { app } = await install(t, options);
    return (await app.inject({ url: '/metrics', remoteAddress, headers })).statusCode;
  };
  t.equal(await statusOf({ host: '0.0.0.0' }, '192.0.2.9'), 400);
  t.equal(await statusOf({ host: '0.0.0.0' }, '192.0.2.9', ADMIN_HEADERS), 200);
  t.equal(await statusOf({ host: '0.0.0.0', metricsPublic: true }, '192.0.2.9'), 200);
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    t.equal(await statusOf({ host: '0.0.0.0' }, address), 200, address);
  }
  for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via', 'x-forwarded-proto', 'cdn-loop']) {
    t.equal(await statusOf({ host: '127.0.0.1' }, '127.0.0.1', { [header]: 'for=192.0.2.9' }), 400, header);
  }
});

t.test('documentation needs a credential through an edge', async (t) => {
  const { app } = await install(t);
  for (const url of ['/docs/', '/openapi.json']) {
    const headers = { 'cdn-loop': 'zoneplane-1' };
    t.equal((await app.inject({ url, remoteAddress: '127.0.0.1' })).statusCode, 200, url);
    t.equal((await app.inject({ url, remoteAddress: '127.0.0.1', headers })).statusCode, 400, url);
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
  t.equal((await app.inject('/')).headers['content-type'], 'text/html; charset=utf-8');
  const page = await app.inject('/docs/');
  t.match(page.body, /<title>Zoneplane admin API<\/title>/);
  t.match(page.body, /<link rel="icon"[^>]* href="[^"]*icon\.svg"/);
  t.equal(page.statusCode, 200);
  t.notMatch(page.body, /(src|href)="https?:/, 'the page loads nothing from elsewhere');
  t.match(page.headers['content-security-policy'], /default-src 'none'; script-src 'self'/);
  for (const [, file] of page.body.matchAll(/(?:src|href)="\.?\/?([^"]+)"/g)) {
    t.equal((await app.inject(`/docs/${file!.replace(/^docs\//, '')}`)).statusCode, 200, `${file}`);
  }
  t.strictSame(misfits, []);
});

t.test('the OpenAPI document says which answers are not JSON', async (t) => {
  const { app } = await install(t);
  const { paths } = (await app.inject({ url: '/openapi.json', headers: ADMIN_HEADERS })).json();
  const typesOf = (path: string, status = '200'): string[] =>
    Object.keys(paths[`/client/v4${path}`]?.get.responses[status].content ?? paths[path].get.responses[status].content);
  t.same(typesOf('/zones/{zone_id}/dns_records/export'), ['text/plain']);
  t.same(typesOf('/zones/{zone_id}/dns_records/export', '4XX'), ['application/json']);
  for (const status of ['200', '206']) {
    const object = '/accounts/{account_id}/r2/buckets/{bucket_name}/objects/{object_key}';
    t.same(typesOf(object, status), ['application/octet-stream']);
  }
  t.same(typesOf('/ca.pem'), ['application/x-pem-file']);
  t.same(typesOf('/metrics'), ['text/plain']);
});

t.test('the OpenAPI document describes every route', async (t) => {
  const { app, routes } = await install(t);
  const document = (await app.inject({ url: '/openapi.json', headers: ADMIN_HEADERS })).json();
  const declared = new Set(
    routes
      .filter(
        ({ url }) =>
          url.startsWith('/client/v4/') || [...CHALLENGES, '/ca.pem', '/livez', '/readyz', '/metrics'].includes(url),
      )
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
  t.notMatch(JSON.stringify(document), /9007199254740991/, 'bounds that say nothing are left out');
  const schemas = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
  t.strictSame(
    schemas.filter((name) => !references.has(name)),
    [],
    'schemas that nothing leads to are left out',
  );
  t.notMatch(JSON.stringify(document), /"anyOf":\[[^,]*\]/, 'there are no choices of one');
  const tags = new Map<string, string>(
    document.tags.map(({ name, description }: { name: string; description: string }) => [name, description]),
  );
  t.strictSame(document.servers, [{ url: '/', description: 'Where this document came from' }]);
  const identifiers = new Set<string>();
  for (const reference of references) {
    t.ok(document.components.schemas[reference.replace('#/components/schemas/', '')], reference);
  }
  for (const [path, operations] of Object.entries<Record<string, Record<string, unknown>>>(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const name = `${method} ${path}`;
      t.type(operation.summary, 'string', name);
      t.match(operation.operationId, /^[a-z]+[A-Za-z0-9]*$/, name);
      identifiers.add(operation.operationId as string);
      t.match(operation.description, / (credential|permission|machine)\b.*\.$/, `${name}: ${operation.description}`);
      t.equal((operation.tags as string[]).length, 1, name);
      t.ok(tags.get((operation.tags as string[])[0]!), `${name}: its tag is described`);
      t.ok(
        SUCCESSES.some((status) => status in (operation.responses as object)),
        name,
      );
      t.ok(
        Object.keys(operation.responses as object).some((status) => status.startsWith('4')),
        name,
      );
      if (path.startsWith('/client/')) t.ok((operation.responses as Record<string, unknown>)['4XX'], name);
      const open =
        ['/ca.pem', '/client/v4/ips', '/livez', '/readyz'].includes(path) || path.startsWith('/.well-known/');
      t.strictSame(operation.security, open ? [] : undefined, name);
    }
  }
  t.equal(
    identifiers.size,
    Object.values(document.paths).flatMap((operations) => Object.keys(operations as object)).length,
    'identifiers are unique',
  );
  const creation = document.paths['/client/v4/zones/{zone_id}/dns_records'].post;
  t.strictSame(
    creation.parameters.map(({ name, in: place }: { name: string; in: string }) => `${place} ${name}`).sort(),
    ['header If-Match', 'header If-None-Match', 'path zone_id', 'query dry_run', 'query wait', 'query wait_limit'],
  );
  t.strictSame(document.components.schemas.SRVData.required.sort(), ['port', 'priority', 'target', 'weight']);
});

t.test('every operation has examples, and they fit its schemas', async (t) => {
  const schemas = new Map<string, { body?: z.ZodType; response?: Record<string, z.ZodType> }>();
  const { app, routes } = await install(t);
  for (const { method, url, schema } of routes) {
    schemas.set(
      `${method.toLowerCase()} ${url.replace(/\/\*$/, '/{object_key}').replace(/:(\w+)/g, '{$1}')}`,
      schema ?? {},
    );
  }
  const document = (await app.inject('/openapi.json')).json();
  for (const [path, operations] of Object.entries<Record<string, Documented>>(document.paths)) {
    for (const [method, { requestBody, responses }] of Object.entries(operations)) {
      const name = `${method} ${path}`;
      const declared = schemas.get(name)!;
      const sent = requestBody && Object.entries(requestBody.content);
      for (const [type, { example }] of sent ?? []) {
        t.not(example, undefined, name);
        if (type === 'application/json')
          t.ok(declared.body!.safeParse(example).success, `${name}: ${JSON.stringify(example)}`);
      }
      for (const [type, { example }] of Object.entries(responses['200']?.content ?? {})) {
        t.not(example, undefined, name);
        const schema = declared.response?.['200'];
        if (type !== 'application/json' || !schema?.safeParse) continue;
        const result = schema.safeParse(example);
        t.ok(result.success, `${name}: ${result.error?.message.slice(0, 300)}`);
      }
    }
  }
});

interface Documented {
  readonly requestBody?: { readonly content: Record<string, { readonly example?: unknown }> };
  readonly responses: Record<string, { readonly content?: Record<string, { readonly example?: unknown }> }>;
}

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
  t.match(json.result, {
    client_subnet: null,
    packets: { query: { size: 44 }, response: { parts: [{ part: 'header' }] } },
  });
  const near = `/zones/${zone}/dns_records/explain?name=www&client_subnet=`;
  t.match((await call('GET', `${near}192.0.2.7/24`)).json.result, {
    client_subnet: { asked: '192.0.2.0/24', used: false },
  });
  t.match(await call('GET', `${near}somewhere`), { status: 400 });
  t.match((await call('GET', `/zones/${zone}/dns_records/explain`)).json.result, { name: 'example.com', type: 'A' });
  t.equal(json.result.edge, null, 'the edge knows nothing of a name that is not proxied');
  const settings = { origin_port: 3000 };
  const proxied = { type: 'A', name: 'p', content: '192.0.2.1', proxied: true, settings };
  await call('POST', `/zones/${zone}/dns_records`, proxied);
  t.match((await call('GET', `/zones/${zone}/dns_records/explain?name=p`)).json.result.edge, {
    by: 'record',
    cause: null,
    origins: ['192.0.2.1 port 3000'],
    detail: /^the edge asks 192\.0\.2\.1 port 3000 \(ssl full\) because of the proxied records/,
  });
  t.match(await call('GET', `/zones/${zone}/dns_records/explain?type=WHAT`), {
    status: 400,
    json: { errors: [{ message: /no record type WHAT/ }] },
  });
  t.equal((await call('GET', `/zones/${'0'.repeat(32)}/dns_records/explain`)).status, 404);
  t.strictSame(misfits, []);
});

t.test('successful writes are logged with their author and zone', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLogger({ level: 'info', pretty: false, destination });
  const { call, createZone } = await install(t, { log });
  const zone = await createZone('example.com');
  lines.length = 0;
  const made = await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  await call('GET', `/zones/${zone}/dns_records`);
  await call('POST', `/zones/${zone}/dns_records`, { type: 'A' });
  const writes = lines.filter(({ msg }) => msg === 'write');
  t.match(writes, [{ method: 'POST', status: 200, zone, actor: /@/, requestId: made.headers['x-request-id'] }]);
  t.equal(
    lines.some(({ msg }) => msg === 'request'),
    false,
    'reads and refusals are debug lines',
  );
});
