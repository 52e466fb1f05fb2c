/** Rules of zones at the edge: redirects before the cache and the origin, rewrites, header fields, page rules. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import t from 'tap';
import { putEntrypoint } from '../../src/control/rulesets/rulesets.js';
import type { EdgeRequest, ServedRoute } from '../../src/edge/exchange/exchange.js';
import { withSettings } from '../../src/edge/proxy/answer.js';
import { applyRules, createEdgeRules } from '../../src/edge/rules/rules.js';
import type { RoutedZone } from '../../src/hostnames/routing/find-route.js';
import { PAGE_RULES } from '../../src/rulesets/phases.js';
import { insertRuleset, removeRuleset, rulesetAt, rulesetsOfZone } from '../../src/store/edge/rulesets.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { addHostname, startEdgeWorld, startOrigin } from './fixture.js';

type Test = Parameters<typeof startEdgeWorld>[0];

/** A zone whose origin answers with what it got: target and fields. */
async function begin(t: Test) {
  const world = await startEdgeWorld(t);
  const { ctx, heard } = world;
  const { port } = await startOrigin(t, (message, response) => {
    response.setHeader('x-origin', 'yes');
    response.setHeader('server', 'origin');
    if (message.url!.endsWith('.css')) response.setHeader('cache-control', 'max-age=600');
    response.end(JSON.stringify({ target: message.url, headers: message.headers }));
  });
  const id = await world.zone('example.org', port);
  const { seq, account } = findZoneByName(ctx.store, 'example.org')!;
  const phases = {
    redirect: 'http_request_dynamic_redirect',
    uri: 'http_request_transform',
    request: 'http_request_late_transform',
    response: 'http_response_headers_transform',
  } as const;
  const get = async (target: string, host = 'www.example.org', more = '') => {
    const text = await world.raw(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1];
    return { status: Number(head.slice(9, 12)), head, location: field('location'), field, body };
  };
  return {
    ...world,
    get,
    /** What the origin got. */
    async seen(target: string, more = ''): Promise<{ target: string; headers: Record<string, string> }> {
      const { body } = await get(target, 'www.example.org', more);
      return JSON.parse(/\{.*\}/s.exec(body)![0]);
    },
    async put(phase: keyof typeof phases, ...rules: readonly (readonly [expression: string, parameters: object])[]) {
      const action = phase === 'redirect' ? 'redirect' : 'rewrite';
      await putEntrypoint(ctx, id, phases[phase], {
        rules: rules.map(([expression, action_parameters]) => ({ action, expression, action_parameters })),
      });
      await heard();
    },
    async pages(...rules: readonly object[]) {
      await ctx.store.write(() => {
        for (const row of rulesetsOfZone(ctx.store, seq)) removeRuleset(ctx.store, row.seq);
        const text = JSON.stringify(rules);
        insertRuleset(ctx.store, {
          ...{ id: ctx.random.bytes(16), zone: seq, account, phase: PAGE_RULES, name: '', description: '', version: 1 },
          ...{ rules: text, octets: text.length, created_at: 1, modified_at: 1 },
        });
      });
      await heard();
    },
    page: (value: string, actions: readonly object[], priority = 1) => ({
      ...{ id: value, targets: [{ target: 'url', constraint: { operator: 'matches', value } }] },
      ...{ actions, priority, status: 'active', created_on: 1, modified_on: 1 },
    }),
    stored: () => rulesetAt(ctx.store, seq, phases.redirect),
  };
}

const to = (target_url: object, more: object = {}) => ({ from_value: { target_url, ...more } });

t.test('redirects, rewrites and header fields', async (t) => {
  const { put, get, seen, heard, ctx, ...world } = await begin(t);
  await put(
    'redirect',
    ['http.request.uri.path eq "/old"', to({ value: 'https://example.net/new' }, { preserve_query_string: true })],
    [
      'starts_with(http.request.uri.path, "/blog/")',
      to({ expression: 'concat("https://blog.example.org", http.request.uri.path)' }, { status_code: 308 }),
    ],
    [
      'http.request.full_uri wildcard "http://*.example.org/files/*"',
      to(
        {
          expression: `wildcard_replace(http.request.full_uri, "http://*.example.org/files/*", "https://files.example.org/\${1}/\${2}")`,
        },
        { status_code: 302 },
      ),
    ],
    ['http.request.uri.path eq "/nowhere"', to({ expression: 'http.request.headers["x-absent"][0]' })],
    [
      'starts_with(http.request.uri.path, "/to/")',
      to({ expression: 'url_decode(substring(http.request.uri.path, 4))' }),
    ],
    ['starts_with(http.request.uri.path, "//")', to({ expression: 'http.request.uri.path' })],
    ['starts_with(http.request.uri.path, "/.well-known/acme-challenge/")', to({ value: 'https://example.net/' })],
  );
  const moved = await get('/old?a=1&b=2');
  t.equal(moved.status, 301);
  t.equal(moved.location, 'https://example.net/new?a=1&b=2');
  t.equal(moved.field('cache-control'), 'max-age=3600');
  t.equal(moved.field('cf-ray') ?? '', '', 'as all redirects of the edge');
  t.match(await get('/blog/2024?x'), { status: 308, location: 'https://blog.example.org/blog/2024' });
  t.match(await get('/files/a/b.pdf'), { status: 302, location: 'https://files.example.org/www/a/b.pdf' });
  t.equal((await get('/nowhere')).status, 200, 'a target that has no value');
  t.match(await get('/to/https%3A%2F%2Fa%0d%0aset-cookie:%20b'), { location: 'https://a%0D%0Aset-cookie:%20b' });
  t.notMatch((await get('/to/https%3A%2F%2Fa%0d%0aset-cookie:%20b')).head, /^set-cookie/im);
  t.equal((await get('/to/javascript%3Aalert(1)')).status, 200, 'no redirect to anything but HTTP');
  t.equal((await get('//evil.example/x')).location, '/evil.example/x', 'it stays at the host');
  t.equal((await get('/.well-known/acme-challenge/x')).status, 200, 'challenges are never redirected');

  await put(
    'uri',
    ['http.request.uri.path eq "/a.css"', { uri: { path: { value: '/b.css' }, query: { value: 'v=2' } } }],
    [
      'starts_with(http.request.uri.path, "/u/")',
      { uri: { path: { expression: 'url_decode(http.request.uri.path)' } } },
    ],
    ['http.request.uri.path eq "/q"', { uri: { query: { value: '' } } }],
  );
  t.equal((await seen('/a.css?v=1')).target, '/b.css?v=2');
  t.match(await get('/b.css?v=2'), { status: 200, head: /cf-cache-status: HIT/i }, 'under the URL that the origin saw');
  t.equal((await seen('/u/a%20b%3Fc%23d%0d%0aGET%20/x')).target, '/u/a%20b%3Fc%23d%0D%0AGET%20/x');
  t.equal((await seen('/q?a')).target, '/q');

  await put(
    'request',
    [
      'true',
      {
        headers: {
          'X-Set': { operation: 'set', value: 'one' },
          'x-gone': { operation: 'remove' },
          'x-path': { operation: 'set', expression: 'http.request.uri' },
          'x-raw': { operation: 'set', expression: 'raw.http.request.uri' },
        },
      },
    ],
    ['true', { headers: { 'x-evil': { operation: 'set', expression: 'url_decode(http.request.uri.query)' } } }],
    ['true', { headers: { 'x-list': { operation: 'add', value: 'b' }, cookie: { operation: 'remove' } } }],
  );
  const { headers } = await seen(
    '/q?%0d%0aTransfer-Encoding:%20chunked',
    'X-Set: client\r\nX-Gone: 1\r\nX-List: a\r\nCookie: c\r\n',
  );
  t.match(headers, { 'x-set': 'one', 'x-path': '/q', 'x-list': 'a, b' });
  t.match(headers['x-raw'], /^\/q\?%0d/, 'what the client asked for');
  t.strictSame([headers['x-gone'], headers.cookie, headers['transfer-encoding']], [undefined, undefined, undefined]);
  const injected = await seen('/x?a%0d%0aTransfer-Encoding:%20chunked');
  t.strictSame([injected.headers['x-evil'], injected.headers['transfer-encoding']], [undefined, undefined]);
  t.equal((await seen('/x?fine')).headers['x-evil'], 'fine');

  await put(
    'response',
    [
      'http.response.code eq 200',
      {
        headers: {
          'x-added': { operation: 'add', value: 'a' },
          server: { operation: 'remove' },
          'x-type': { operation: 'set', expression: 'http.response.headers["x-origin"][0]' },
        },
      },
    ],
    ['http.response.code ge 300', { headers: { 'x-error': { operation: 'set', value: 'yes' } } }],
  );
  const answered = await get('/x');
  t.strictSame(
    [answered.field('x-added'), answered.field('server'), answered.field('x-type')],
    ['a', undefined, 'yes'],
  );
  t.equal((await get('/b.css?v=2')).field('x-added'), 'a', 'also from the cache');
  t.equal((await get('/old')).field('x-error'), 'yes', 'also of what the edge itself answers');

  const socket = await world.tls('www.example.org', { ALPNProtocols: ['h2'] });
  const session = connectHttp2('https://www.example.org', { createConnection: () => socket });
  const stream = session.request({ ':path': '/old?h2' });
  const [fields] = await once(stream, 'response');
  t.match(fields, { ':status': 301, location: 'https://example.net/new?h2', 'x-error': 'yes' });
  session.destroy();

  await addHostname(ctx, 'example.org', 'shop.customer.net', { origin: 'www.example.org' });
  await heard();
  t.match(await get('/old', 'shop.customer.net'), { status: 301 }, 'custom hostnames have the rules of their zone');
  const upgrade = await world.raw(
    'GET /old HTTP/1.1\r\nHost: www.example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  t.match(upgrade, /^HTTP\/1\.1 301 /, 'WebSockets, too');
  const refused = await world.raw(
    'GET /x HTTP/1.1\r\nHost: www.example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  t.match(refused, /^x-added: a\r$/m, 'a response to a WebSocket that the origin does not open');
  t.notMatch(refused, /^server:/im, 'what the rules take out');
  const costly = `${'url_decode('.repeat(20)}http.request.uri${', "r")'.repeat(20)} eq "x"`;
  await put('redirect', ...Array.from({ length: 40 }, () => [costly, to({ value: '/' })] as const));
  t.equal(
    (await get(`/${'%2525'.repeat(1200)}`)).status,
    500,
    'what takes too long is not answered as if there were no rules',
  );
  t.equal((await get('/short')).status, 200, 'and costs nobody else');
  await put('redirect');
  t.equal((await get('/old')).status, 200, 'a change is there at once');
});

t.test('page rules', async (t) => {
  const { get, pages, page } = await begin(t);
  const forward = (url: string, status_code = 301) => [{ id: 'forwarding_url', value: { url, status_code } }];
  await pages(
    page('www.example.org/a/*', forward('https://example.net/$1', 302)),
    page('http://*example.org/b/*/c', forward('https://$1example.net/$2')),
    page('*example.org/*', forward('https://example.net/all'), 3),
    page('www.example.org/never', [{ id: 'cache_level', value: 'bypass' }], 2),
  );
  t.match(await get('/a/x?y'), { status: 301, location: 'https://example.net/all' }, 'the highest priority decides');
  await pages(
    page('www.example.org/a/*', forward('https://example.net/$1', 302)),
    page('http://*example.org/b/*/c', forward('https://$1example.net/$2')),
    page('www.example.org/s', [{ id: 'always_use_https' }]),
    page('www.example.org/c.css', [{ id: 'cache_level', value: 'bypass' }]),
  );
  t.match(await get('/a/x?y'), { status: 302, location: 'https://example.net/x?y' });
  t.match(await get('/b/d/c'), { status: 301, location: 'https://www.example.net/d' });
  t.match(await get('/s'), { status: 301, location: /^https:\/\/www\.example\.org(:\d+)?\/s$/ });
  t.equal((await get('/S')).status, 200, 'paths have cases');
  t.match((await get('/c.css')).head, /cf-cache-status: (BYPASS|DYNAMIC)/i);
  t.match((await get('/d.css')).head, /cf-cache-status: MISS/i);
  t.match(await get('/.well-known/acme-challenge/x'), { status: 200 });
});

t.test('compiled rules are kept within their octets', async (t) => {
  const { ctx, pages, page } = await begin(t);
  const rule = page('*', [{ id: 'cache_level', value: 'bypass' }]);
  await pages(rule);
  const zone = findZoneByName(ctx.store, 'example.org')!;
  const rules = createEdgeRules({ ...ctx, mostOctets: 4096 });
  const ask = (seq: number, account = zone.account) => {
    const request = { host: 'example.org', target: '/', scheme: 'http' } as EdgeRequest;
    const ruled = rules.begin(request, { seq, account, name: 'example.org' } as RoutedZone);
    ruled?.redirect();
    return ruled?.settings;
  };
  const kept = ask(zone.seq);
  t.ok(kept && ask(zone.seq) === kept, 'they are compiled once');
  rules.forgetAll();
  t.equal(ask(zone.seq), kept, 'also if another zone has changed what is known of all');
  await pages(rule);
  t.equal(ask(zone.seq), kept);
  rules.forgetAll();
  t.not(ask(zone.seq), kept, 'but a change is seen');
  const changed = ask(zone.seq);
  for (let other = 1; other <= 4; other++) ask(zone.seq + other, zone.account + 1);
  t.equal(ask(zone.seq), changed, "those of another account take each other's place");
  for (let other = 1; other <= 4; other++) ask(zone.seq + other);
  t.not(ask(zone.seq), changed, 'those of other zones have taken their place');
});

t.test('accounts have a share of the work of rules in each second', async (t) => {
  const { ctx, put } = await begin(t);
  const costly = `${'url_decode('.repeat(20)}http.request.uri${', "r")'.repeat(20)} eq "x"`;
  await put('redirect', [costly, to({ value: '/' })]);
  const zone = findZoneByName(ctx.store, 'example.org')!;
  let nowUs = 5_000_000;
  const clock = Object.assign(Object.create(ctx.clock), { steadyUs: () => nowUs });
  const rules = createEdgeRules({ store: ctx.store, clock });
  const ask = (letters: number, account = zone.account) => {
    const request = { host: 'example.org', target: `/${'a'.repeat(letters)}`, scheme: 'http', headers: [] };
    const routed = { seq: zone.seq, name: 'example.org', account } as RoutedZone;
    return applyRules(rules.begin(request as unknown as EdgeRequest, routed)!);
  };
  let answered = 0;
  while (answered < 1000 && !('failure' in ask(1000))) answered++;
  t.ok(answered > 5 && answered < 100, `${answered} costly requests are answered`);
  t.ok('request' in ask(50), 'others of the account still are');
  t.ok('request' in ask(1000, zone.account + 1), 'nor does another account notice');
  nowUs += 1_000_000;
  t.ok('request' in ask(1000), 'the next second is another one');
});

t.test('few routes are kept with settings of page rules', async (t) => {
  const routeOf = (account = 1) =>
    ({ zone: { account }, settings: { cache_level: 'aggressive' } }) as unknown as ServedRoute;
  const [route, settings] = [routeOf(), { cache_level: 'bypass' }];
  const made = withSettings(route, settings);
  t.match(made, { settings });
  t.equal(withSettings(route, settings), made);
  for (let others = 0; others < 100; others++) withSettings(route, { cache_level: 'bypass' });
  const again = withSettings(route, settings);
  t.not(again, made, 'of many page rules');
  for (let others = 0; others < 6000; others++) withSettings(routeOf(), settings);
  const renewed = withSettings(route, settings);
  t.not(renewed, again, 'of many hosts');
  for (let others = 0; others < 6000; others++) withSettings(routeOf(2), settings);
  t.equal(withSettings(route, settings), renewed, 'of many hosts of another account, its own are dropped');
});
