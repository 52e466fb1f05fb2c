/** Load balancers at the edge: which origin gets a request, sessions, draining, and origins that die. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { createRecord } from '../../src/control/records/records.js';
import { createZone } from '../../src/control/zones/zones.js';
import { ownerKeyOf, parseName } from '../../src/dns/name.js';
import type { Whereabouts } from '../../src/edge/balance/balancing.js';
import { createBalanceCounts } from '../../src/edge/balance/counts.js';
import { createSharedSessions } from '../../src/edge/balance/shared-sessions.js';
import { recordTransitions } from '../../src/monitoring/record.js';
import { codeOf } from '../../src/steering/layout.js';
import {
  insertLoadBalancer,
  loadBalancersOfZone,
  updateLoadBalancer,
} from '../../src/store/balancing/load-balancers.js';
import { insertMonitor, monitorsOfAccount } from '../../src/store/balancing/monitors.js';
import { insertPool, poolsOfAccount, updatePool } from '../../src/store/balancing/pools.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { seededRandom } from '../support/seeded-random.js';
import { startEdgeWorld, startOrigin } from './fixture.js';

type Members = Record<string, unknown>;

interface Got {
  readonly status: number;
  readonly text: string;
  readonly cookie: string | undefined;
}

const HOST = 'lb.example.org';

async function startWorld(t: Test, whereabouts?: Whereabouts) {
  const world = await startEdgeWorld(t, { random: seededRandom(9), cacheOctets: 0, whereabouts });
  const { ctx, httpPort, heard } = world;
  const { store } = ctx;
  const seen: Record<string, IncomingMessage['headers'][]> = {};
  const origin = async (name: string) => {
    seen[name] = [];
    const { port, server } = await startOrigin(t, (message, response) => {
      seen[name]!.push(message.headers);
      response.end(name);
    });
    const kill = (): Promise<unknown> => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    };
    return { name, port, kill };
  };
  const zoneId = await world.zone('example.org', 1);
  const zone = findZoneByName(store, 'example.org')!;
  const ids = seededRandom(77);
  const now = (): number => ctx.clock.nowUs();
  const { account } = zone;
  await store.write(() => insertMonitor(store, ids.bytes(16), account, { settings: '{}', interval: 60 }, now()));
  const monitor = monitorsOfAccount(store, account)[0]!.seq;
  let changes = 0;
  const poolValues = (name: string, members: Members) => ({
    ...{ name, name_key: name, monitor, monitor_group: null, targets: 1 },
    settings: JSON.stringify({ name, monitor: 'x', ...members }),
  });
  const row = (name: string) => poolsOfAccount(store, account).find((pool) => pool.name === name)!;
  const valuesOf = (members: Members) => ({
    owner_key: ownerKeyOf(parseName(`${HOST}.`), parseName('example.org.')),
    ...{ name: HOST, enabled: 1, proxied: 1 },
    settings: JSON.stringify({ name: HOST, proxied: true, ...members }),
  });
  /** As the use cases do: a change of the zone. */
  const noted = async (): Promise<void> => {
    await createRecord(ctx, zoneId, { type: 'TXT', name: `note${++changes}`, content: '"x"' });
    await heard();
  };
  const known = new Map<string, string>();
  return {
    ...world,
    ...{ origin, seen, noted },
    async pool(name: string, members: Members): Promise<string> {
      await store.write(() => insertPool(store, ids.bytes(16), account, poolValues(name, members), now()));
      return Buffer.from(row(name).id).toString('hex');
    },
    async editPool(name: string, members: Members) {
      await store.write(() => updatePool(store, row(name).seq, poolValues(name, members), now()));
      await noted();
    },
    async balancer(members: Members) {
      const pools = poolsOfAccount(store, account).map(({ seq }) => seq);
      const before = loadBalancersOfZone(store, zone.seq)[0];
      await store.write(() =>
        before
          ? updateLoadBalancer(store, before.seq, valuesOf(members), pools, now())
          : insertLoadBalancer(
              store,
              { ...valuesOf(members), id: ids.bytes(16), zone: zone.seq, account },
              pools,
              now(),
            ),
      );
      await noted();
    },
    /** Sets the health of an origin. */
    async health(pool: string, states: Record<string, boolean>) {
      const transitions = Object.entries(states).map(([name, healthy]) => ({
        ...{ pool: row(pool).seq, origin: name, monitor, healthy, responseCode: undefined, rttMs: 1 },
        reason: healthy ? 'No failures' : 'TCP Timeout',
      }));
      await recordTransitions(ctx, { node: { region: '', node: '' }, living: undefined }, transitions);
      await heard();
    },
    get(
      headers: Record<string, string> = {},
      options: { path?: string; method?: string; agent?: Agent } = {},
    ): Promise<Got> {
      const { path = '/', method = 'GET', agent } = options;
      return new Promise((resolve, reject) => {
        const given = { host: '127.0.0.1', port: httpPort, path, method, ...(agent && { agent }) };
        request({ ...given, headers: { host: HOST, ...headers } }, (response) => {
          let text = '';
          response.on('data', (piece: Buffer) => (text += piece));
          response.on('end', () => {
            const cookie = response.headers['set-cookie']?.[0];
            resolve({ status: response.statusCode!, text, cookie });
          });
        })
          .on('error', reject)
          .end();
      });
    },
    known,
  };
}

const at = (name: string, port: number, more: Members = {}) => ({ name, address: '127.0.0.1', port, ...more });

t.test('health, weights, hosts of origins, and the last resort', async (t) => {
  const world = await startWorld(t);
  const { get, seen } = world;
  const [a, b, c] = [await world.origin('a'), await world.origin('b'), await world.origin('c')];
  const one = await world.pool('one', {
    origins: [
      at('a', a.port, { header: { Host: ['inside.example.org'] } }),
      at('b', b.port),
      at('off', 1, { enabled: false }),
    ],
  });
  const two = await world.pool('two', { origins: [at('c', c.port)] });
  await world.balancer({ default_pools: [one, two], fallback_pool: two });
  await world.health('one', { a: true, b: false });
  for (let i = 0; i < 5; i++) t.equal((await get()).text, 'a', 'the healthy one');
  t.equal(seen['a']![0]!.host, 'inside.example.org', 'an origin gets its own host');
  await world.health('one', { a: false });
  t.equal((await get()).text, 'c', 'the fallback pool, whose health does not matter');
  await world.health('one', { b: true });
  t.equal((await get()).text, 'b');
  t.equal(seen['b']![0]!.host, HOST);
  await world.health('one', { b: false });
  await world.editPool('two', { enabled: false, origins: [at('c', c.port)] });
  const none = await get();
  t.equal(none.status, 530);
  t.match(none.text, '1016');
  await world.balancer({
    default_pools: [one, two],
    fallback_pool: two,
    rules: [
      {
        // What only questions have is false of requests, and understood.
        condition:
          '(dns.rr.opt.client or http.request.uri.path contains "/old") and any(http.request.headers["x-a"][*] == "1")',
        fixed_response: { status_code: 301, location: 'https://example.net/', message_body: 'gone' },
      },
    ],
  });
  t.match(await get({ 'x-a': '1' }, { path: '/older' }), { status: 301, text: 'gone' });
  const counted = world.edge.samples().filter(({ name }) => /balanced/.test(name));
  t.strictSame(
    counted.map(({ labels, value }) => [labels['pool'], labels['way'], value]),
    [
      ['one', 'chosen', 6],
      ['two', 'fallback', 1],
      [undefined, undefined, 1],
    ],
    'requests by pool, and one without',
  );
  t.equal((await get({}, { path: '/older' })).status, 530);
});

t.test('a host of an origin is not sent any more when another account has proven that it is its own', async (t) => {
  const world = await startWorld(t);
  const { ctx, heard, seen, get } = world;
  const { port } = await world.origin('a');
  const pool = await world.pool('one', { origins: [at('a', port, { header: { Host: ['Inside.example.org:8080'] } })] });
  await world.balancer({ default_pools: [pool], fallback_pool: pool });
  const { id: accountId } = await createAccount(ctx, { name: 'Other' });
  await get();
  await createZone(ctx, { name: 'inside.example.org', account: accountId });
  await heard();
  await get();
  t.strictSame(
    seen['a']!.map(({ host }) => host),
    ['Inside.example.org:8080', HOST],
  );
});

t.test('WebSockets reach healthy origins, keep their sessions, and go elsewhere when one is gone', async (t) => {
  const world = await startWorld(t);
  const [a, b] = await Promise.all(
    ['a', 'b'].map(async (name) => {
      const origin = await startOrigin(t, (_, response) => response.end(name));
      origin.server.on('upgrade', (_, socket: Duplex) => {
        socket.on('error', () => {});
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
        socket.on('data', (octets: Buffer) => socket.write(`${name}${octets}`));
      });
      return { name, ...origin };
    }),
  );
  const pool = await world.pool('one', { origins: [at('a', a!.port), at('b', b!.port)] });
  await world.balancer({ default_pools: [pool], fallback_pool: pool, session_affinity: 'cookie' });
  await world.health('one', { a: true, b: false });
  /** What comes back behind the header. */
  const speak = async (cookie = ''): Promise<string> => {
    const upgrade =
      'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    const socket = connect(world.httpPort, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n${cookie}Connection: Upgrade\r\n${upgrade}\r\n`);
    let heard = '';
    for await (const octets of socket) {
      const before = heard;
      heard += octets;
      if (!before.includes('\r\n\r\n') && heard.includes('\r\n\r\n')) socket.write('hello');
      if (heard.includes('hello') || !heard.startsWith('HTTP/1.1 101')) break;
    }
    return heard.split('\r\n\r\n')[1] ?? heard;
  };
  for (let i = 0; i < 3; i++) t.equal(await speak(), 'ahello', 'the healthy one');
  const { cookie } = await world.get();
  await world.health('one', { b: true });
  for (let i = 0; i < 5; i++) t.equal(await speak(`Cookie: ${cookie!.split(';')[0]}\r\n`), 'ahello', 'the session');
  a!.server.closeAllConnections();
  // Upgraded connections may stay; it takes no others from now on.
  a!.server.close();
  for (let i = 0; i < 5; i++) {
    t.equal(
      await speak(`Cookie: ${cookie!.split(';')[0]}\r\n`),
      'bhello',
      'another, while nobody knows that it is dead',
    );
  }
});

t.test('what edits of pools leave behind is forgotten, and health is followed as before', async (t) => {
  const world = await startWorld(t);
  const [a, b] = [await world.origin('a'), await world.origin('b')];
  const one = await world.pool('one', { origins: [at('a', a.port), at('b', b.port)] });
  await world.balancer({ default_pools: [one], fallback_pool: one });
  await world.health('one', { a: true, b: false });
  t.equal((await world.get()).text, 'a');
  for (let round = 0; round < 2; round++) {
    const gone = Array.from({ length: 8500 }, (_, i) => at(`o${round}-${i}`, 1, { weight: 0 }));
    await world.editPool('one', { origins: [at('a', a.port), at('b', b.port), ...gone] });
    t.equal((await world.get()).text, 'a');
  }
  await world.editPool('one', { origins: [at('a', a.port), at('b', b.port)] });
  t.equal((await world.get()).text, 'a');
  await world.health('one', { a: false, b: true });
  t.equal((await world.get()).text, 'b');
});

t.test('the series of pools are bounded', async (t) => {
  const counts = createBalanceCounts();
  for (let i = 0; i < 300; i++) counts.count({ id: String(i), name: 'p' }, 'chosen');
  counts.count({ id: '7', name: 'p' }, 'session');
  const samples = counts.samples(() => true);
  t.equal(samples.length, 103);
  t.match(
    samples.find(({ labels }) => labels['pool'] === 'others'),
    { value: 200 },
  );
  t.equal(counts.samples((id) => id === '7').length, 4, 'those of pools that are gone end');
  counts.count({ id: 'new', name: 'new' }, 'chosen');
  t.ok(
    counts.samples(() => true).some(({ labels }) => labels['pool'] === 'new'),
    'and leave room for others',
  );
});

t.test('an origin dies while requests come: none of them fails, and sessions stay', async (t) => {
  const world = await startWorld(t);
  const origins = [await world.origin('a'), await world.origin('b'), await world.origin('c')];
  const pool = await world.pool('one', { origins: origins.map(({ name, port }) => at(name, port)) });
  await world.balancer({ default_pools: [pool], fallback_pool: pool, session_affinity: 'cookie' });
  await world.health('one', { a: true, b: true, c: true });
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.teardown(() => agent.destroy());
  const sessions = await Promise.all(
    Array.from({ length: 9 }, async () => {
      const { cookie, text } = await world.get({}, { agent });
      return { cookie: cookie!.split(';')[0]!, text };
    }),
  );
  t.ok(new Set(sessions.map(({ text }) => text)).size > 1);
  let [failed, strayed] = [0, 0];
  /** Each asks for sessions of its own. */
  const ask = async (first: number, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const session = sessions[(first + 3 * i) % sessions.length]!;
      const { status, text, cookie } = await world.get({ cookie: `x=1; ${session.cookie}; y=2` }, { agent });
      if (status !== 200) failed++;
      if (text !== session.text) {
        strayed++;
        // A new session, since its origin is gone.
        if (session.text !== 'b') failed++;
        Object.assign(session, { text, cookie: cookie?.split(';')[0] ?? session.cookie });
      } else if (cookie !== undefined) failed++;
    }
  };
  const asking = Promise.all([ask(0, 200), ask(1, 200), ask(2, 200)]);
  await new Promise((resolve) => setTimeout(resolve, 30));
  await origins[1]!.kill();
  await asking;
  t.equal(failed, 0);
  const before = strayed;
  for (const first of [0, 1, 2]) await ask(first, 30);
  t.equal(failed, 0);
  t.equal(strayed, before, 'those of a session that was moved stay with their new origin');
  t.notOk(
    Object.values(world.seen)
      .flat()
      .some((headers) => headers.cookie?.includes('__cflb')),
    'origins do not see it',
  );
  t.equal(world.seen['a']![1]?.cookie ?? 'x=1; y=2', 'x=1; y=2');
});

t.test('session cookies', async (t) => {
  const world = await startWorld(t);
  const { get } = world;
  const [a, b] = [await world.origin('a'), await world.origin('b')];
  const both = (of: Members = {}) => ({ origins: [at('a', a.port, of), at('b', b.port)] });
  const pool = await world.pool('one', both());
  const base = { default_pools: [pool], fallback_pool: pool };
  await world.balancer({ ...base, session_affinity: 'cookie', session_affinity_ttl: 1800 });
  await world.health('one', { a: true, b: true });
  const firstOf = async (name: string) => {
    for (;;) {
      const got = await get();
      if (got.text === name) return got.cookie!;
    }
  };
  const cookie = await firstOf('a');
  t.match(cookie, /^__cflb=[A-Za-z0-9_-]{43}; Max-Age=1800; Path=\/; HttpOnly; SameSite=Lax$/);
  const [pair] = cookie.split(';') as [string];
  const keep = (value = pair) => get({ cookie: value });
  for (let i = 0; i < 10; i++) t.match(await keep(), { text: 'a', cookie: undefined });
  const flipped = `${pair.slice(0, -4)}${pair.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
  t.match((await keep(flipped)).cookie, /^__cflb=/, 'one that was changed is none');
  t.match((await keep('__cflb=x')).cookie, /^__cflb=/);

  await world.editPool('one', both({ weight: 0 }));
  t.match(await keep(), { text: 'a', cookie: undefined }, 'without new traffic, sessions stay');
  await world.health('one', { a: false });
  const moved = await keep();
  t.equal(moved.text, 'b');
  t.match(moved.cookie, /^__cflb=/, 'a new session');
  const attributes = { zero_downtime_failover: 'temporary', samesite: 'None', secure: 'Auto', drain_duration: 60 };
  await world.balancer({ ...base, session_affinity: 'cookie', session_affinity_attributes: attributes });
  t.match(await keep(), { text: 'b', cookie: undefined }, 'for a moment only');
  await world.health('one', { a: true });
  await world.editPool('one', both({ enabled: false, disabled_at: Date.now() * 1000 }));
  t.match(await keep(), { text: 'a', cookie: undefined }, 'it is drained');
  await world.editPool('one', both({ enabled: false, disabled_at: (Date.now() - 61_000) * 1000 }));
  t.equal((await keep()).text, 'b', 'and its time is over');
  await world.editPool('one', both({ enabled: false, disabled_at: (Date.now() + 86_400_000) * 1000 }));
  t.equal((await keep()).text, 'b', 'a clock that was put back a day does not prolong it');
  const fresh = await get();
  t.match(fresh.cookie, /SameSite=None; Secure$/);
  await world.editPool('one', { origins: [at('b', b.port)] });
  t.equal((await keep()).text, 'b', 'an origin that is gone keeps no session');

  await world.editPool('one', both());
  await world.balancer({ ...base, session_affinity: 'ip_cookie' });
  const texts = new Set<string>();
  for (let i = 0; i < 10; i++) texts.add((await get()).text);
  t.equal(texts.size, 1, 'the same address comes to the same origin without a cookie');
});

t.test('sessions by fields of requests', async (t) => {
  const world = await startWorld(t);
  const { get } = world;
  const [a, b] = [await world.origin('a'), await world.origin('b')];
  const pool = await world.pool('one', { origins: [at('a', a.port), at('b', b.port)] });
  const base = { default_pools: [pool], fallback_pool: pool, session_affinity: 'header' };
  const textsOf = async (headers: (i: number) => Record<string, string>) => {
    const texts = new Set<string>();
    for (let i = 0; i < 12; i++) texts.add((await get(headers(i))).text);
    return texts.size;
  };
  await world.balancer({ ...base, session_affinity_attributes: { headers: ['X-User', 'cookie:uid'] } });
  await world.health('one', { a: true, b: true });
  t.equal(await textsOf(() => ({ 'x-user': 'kim' })), 1);
  t.equal(await textsOf(() => ({ cookie: 'b=2; uid=7' })), 1);
  t.equal(await textsOf((i) => ({ 'x-user': `user ${i}` })), 2, 'others have others');
  t.equal(await textsOf(() => ({})), 2, 'no session without a field');
  const strict = { headers: ['X-User', 'X-Org'], require_all_headers: true };
  await world.balancer({ ...base, session_affinity_attributes: strict });
  t.equal(await textsOf(() => ({ 'x-user': 'lee' })), 2);
  t.equal(await textsOf(() => ({ 'x-user': 'lee', 'x-org': 'o' })), 1);
  t.equal((await get({ 'x-user': 'lee', 'x-org': 'o' })).cookie, undefined);
});

t.test('rules decide about pools and sessions of the requests for which they hold', async (t) => {
  const world = await startWorld(t);
  const [a, b, c] = [await world.origin('a'), await world.origin('b'), await world.origin('c')];
  const pool = await world.pool('one', { origins: [at('a', a.port), at('b', b.port)] });
  const other = await world.pool('other', { origins: [at('c', c.port)] });
  await world.balancer({
    ...{ default_pools: [pool], fallback_pool: other, session_affinity: 'none', session_affinity_ttl: 0 },
    rules: [
      {
        condition: 'http.request.uri.path contains "/app"',
        overrides: { session_affinity: 'cookie', default_pools: null },
      },
      {
        ...{ condition: 'http.request.uri.path contains "/app/short"', priority: 1 },
        overrides: { session_affinity_ttl: 1800 },
      },
      { condition: 'http.request.uri.path eq "/other"', priority: 2, overrides: { pools: [other] } },
    ],
  });
  await world.health('one', { a: true, b: true });
  await world.health('other', { c: true });
  t.match(await world.get(), { text: /[ab]/, cookie: undefined });
  t.match(await world.get({}, { path: '/other' }), { text: 'c', cookie: undefined });
  const first = await world.get({}, { path: '/app' });
  t.match(first, { text: /[ab]/, cookie: /Max-Age=82800;/ }, 'null overrides nothing');
  const cookie = first.cookie!.split(';')[0]!;
  for (let i = 0; i < 10; i++) {
    t.match(await world.get({ cookie }, { path: '/app' }), { text: first.text, cookie: undefined });
  }
  t.match((await world.get({}, { path: '/app/short' })).cookie, /Max-Age=1800;/, 'one rule over the other');
});

t.test('nobody pushes out the sessions of other accounts', async (t) => {
  const sessions = createSharedSessions<number>(1000);
  for (let i = 0; i < 100; i++) sessions.set(1, `quiet ${i}`, i);
  for (let i = 0; i < 5000; i++) {
    sessions.set(2, `busy ${i}`, i);
    if (sessions.get(2, 'busy 0') !== 0) t.fail('what is used stays');
  }
  t.strictSame(
    [0, 99].map((i) => sessions.get(1, `quiet ${i}`)),
    [0, 99],
  );
  t.equal(sessions.get(2, 'busy 10'), undefined, 'the oldest went');
  t.equal(sessions.get(2, 'busy 4999'), 4999);
});

t.test('fewest requests under way, and the next pools', async (t) => {
  const world = await startWorld(t);
  const { get } = world;
  const [a, b] = [await world.origin('a'), await world.origin('b')];
  const held: (() => void)[] = [];
  const slow = await startOrigin(t, (_message, response) => void held.push(() => response.end('slow')));
  const one = await world.pool('one', {
    origins: [at('slow', slow.port), at('a', a.port)],
    origin_steering: { policy: 'least_outstanding_requests' },
  });
  const two = await world.pool('two', { origins: [at('b', b.port)] });
  const dead = await world.pool('dead', { origins: [at('gone', 1)] });
  const off = await world.pool('off', { enabled: false, origins: [at('x', 1)] });
  await world.balancer({ default_pools: [one], fallback_pool: two });
  await world.health('one', { slow: true, a: true });
  await world.health('two', { b: true });
  await world.health('dead', { gone: true });
  const first = get();
  while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  for (let i = 0; i < 5; i++) t.equal((await get()).text, 'a', 'the other one is busy');
  held[0]!();
  t.equal((await first).text, 'slow');
  await world.balancer({ default_pools: [dead, two], fallback_pool: off });
  t.equal((await get()).status, 521, 'another pool is tried only if that is wanted');
  await world.balancer({
    ...{ default_pools: [dead, two], fallback_pool: off },
    adaptive_routing: { failover_across_pools: true },
  });
  t.match(await get(), { status: 200, text: 'b' });
  t.match(await get({}, { method: 'DELETE' }), { status: 200, text: 'b' }, 'nothing of it had been sent');
});

t.test('where the client is, and where the node is', async (t) => {
  let country = 'DE';
  const world = await startWorld(t, {
    ...{ region: 'OC', location: 'SYD' },
    find: () => (country === '' ? undefined : { country: codeOf(country), region: codeOf('WEU'), x: 0, y: 0, z: 0 }),
  });
  const { get } = world;
  const [a, b, c] = [await world.origin('a'), await world.origin('b'), await world.origin('c')];
  const german = await world.pool('german', { origins: [at('a', a.port)] });
  const pacific = await world.pool('pacific', { origins: [at('b', b.port)] });
  const others = await world.pool('others', { origins: [at('c', c.port)] });
  for (const [pool, name] of [
    ['german', 'a'],
    ['pacific', 'b'],
    ['others', 'c'],
  ] as const) {
    await world.health(pool, { [name]: true });
  }
  const base = {
    ...{ default_pools: [others], fallback_pool: others, steering_policy: 'geo' },
    ...{ country_pools: { DE: [german] }, region_pools: { OC: [pacific] } },
  };
  await world.balancer({ ...base, location_strategy: { mode: 'resolver_ip', prefer_ecs: 'never' } });
  t.equal((await get()).text, 'a', 'the country of the client');
  country = 'FR';
  t.equal((await get()).text, 'c', 'its region has no pools');
  country = '';
  t.equal((await get()).text, 'b', 'the region of the node, when nothing is known of the client');
  country = 'DE';
  await world.balancer({ ...base, location_strategy: { mode: 'pop', prefer_ecs: 'never' } });
  t.equal((await get()).text, 'b');
  await world.balancer({ ...base, location_strategy: { mode: 'pop', prefer_ecs: 'geo' } });
  t.equal((await get()).text, 'a');
});
