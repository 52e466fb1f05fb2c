/** Requests that read for long are answered by threads: the same answers as from the main thread, and not too many at once. */

import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fastify from 'fastify';
import t from 'tap';
import { PREFIX } from '../../src/api/connection.js';
import { createReaders, type Readers } from '../../src/api/reading/readers.js';
import { READ_ROUTES } from '../../src/api/reading/routes.js';
import { type Caller, makeContextOf, type RouteScope } from '../../src/api/request.js';
import { routesOf } from '../../src/api/routing/route.js';
import { buildApi } from '../../src/api/server.js';
import { fromHex } from '../../src/base/bytes.js';
import { silentLogger } from '../../src/base/log.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { parseName } from '../../src/dns/name.js';
import { insertPool } from '../../src/store/balancing/pools.js';
import { findZoneById, insertZone } from '../../src/store/zones/zones.js';
import { signInServices } from '../support/sign-in.js';
import { TestClock } from '../support/test-clock.js';
import { ADMIN_HEADERS, install } from './installation.js';

async function installBoth(t: Parameters<typeof install>[0]) {
  const installation = await install(t);
  const { base, hostnames, store } = installation;
  const data = { dataDir: dirname(store.path), settings: base.settings, logLevel: 'silent' };
  // However busy the machine is, nobody waits too long.
  const readers = createReaders(data, new TestClock(), silentLogger());
  let reads = 0;
  const counting: Readers = {
    ...readers,
    read(account, order, signal) {
      reads++;
      return readers.read(account, order, signal);
    },
    export(account, actor, zoneId) {
      reads++;
      return readers.export(account, actor, zoneId);
    },
  };
  const app = buildApi({
    ...{
      base,
      hostnames,
      signIn: signInServices(base, hostnames),
      readers: counting,
      objects: createLocalStore(base),
      host: '127.0.0.1',
      version: '0.0.0-test',
    },
    readiness: () => ({ ready: true }),
    metrics: async () => '',
  });
  await app.ready();
  t.after(async () => {
    await app.close();
    await readers.close();
  });
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const url = `/client/v4${path}`;
    return app.inject({
      method: 'GET',
      url,
      headers: headers['authorization'] ? headers : { ...ADMIN_HEADERS, ...headers },
    });
  };
  return { ...installation, readers, get, reads: () => reads };
}

t.test('threads answer as the main thread does', async (t) => {
  const { call, get, reads, createZone, token } = await installBoth(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  for (let i = 0; i < 5; i++)
    await call('POST', records, {
      type: 'A',
      name: `r${i}`,
      content: `192.0.2.${i}`,
      comment: `Ä ${i}`,
      tags: [`n:${i}`],
    });
  await call('POST', records, { type: 'NS', name: 'sub', content: 'ns.sub.example.com' });
  const account = (await call('GET', '/accounts')).json.result[0].id;
  const buckets = `/accounts/${account}/r2/buckets`;
  await call('POST', buckets, { name: 'tree' });
  await call('PUT', `${buckets}/tree/objects/a%2Fb`, undefined, { text: 'x' });
  const paths = [
    ...[
      'search=%C3%84',
      'tag=n:3',
      'per_page=5000',
      'as_of=version:3',
      'order=content&per_page=200',
      'as_of=version:999',
    ],
    ...['include_shadow_metadata=true', 'search=x&direction=sideways', 'name[contains]=r1', 'type=NONSENSE&search=a'],
  ].map((query) => `${records}?${query}`);
  const others = [
    ...[`${records}/explain?name=r1`, `${records}/${'0'.repeat(32)}?as_of=version:2`, `/zones/${zone}/history`],
    ...[`/zones/${zone}/history/version:2`, '/accounts', '/memberships', '/user/tokens', '/user/audit_logs'],
    ...[`/accounts/${account}/audit_logs?per_page=3`, `/accounts/${account}/dns_records/usage`, buckets],
    ...[`${buckets}/tree/objects?delimiter=/`, `${buckets}/none/objects`, `/zones/${zone}/custom_hostnames`],
    `/zones/${zone}/rulesets/try?url=http://example.com/`,
    ...[`/zones/${'f'.repeat(32)}/history`, `/accounts/${account}/r2/metrics`],
  ];
  for (const path of [...paths, ...others, `${records}/export`]) {
    const before = reads();
    const [here, there] = [await call('GET', path), await get(path)];
    // The time of an export is in it.
    t.equal(there.body.replace(/Exported:.*/, ''), here.text.replace(/Exported:.*/, ''), path);
    t.equal(there.statusCode, here.status, path);
    for (const name of [
      'content-type',
      'etag',
      'cache-control',
      'x-content-type-options',
      'x-should-retry',
      'content-length',
    ])
      if (!path.endsWith('export')) t.equal(there.headers[name], here.headers[name], `${name} of ${path}`);
    t.equal(reads(), before + 1, `${path} is read apart`);
  }
  const { etag } = (await get(`${records}?search=r`)).headers;
  const unchanged = await get(`${records}?search=r`, { 'if-none-match': String(etag) });
  t.strictSame([unchanged.statusCode, unchanged.body], [304, '']);

  const narrow = await token();
  t.equal((await get(`${records}?search=r`, narrow)).json().result.length, 5);
  t.equal((await get(`${records}?search=r`, { authorization: `Bearer ${'x'.repeat(40)}` })).statusCode, 403);
  const before = reads();
  t.equal((await get(records)).json().result.length, 6);
  t.equal((await get(`${records}?name=r1.example.com&type=A`)).json().result.length, 1);
  t.equal(reads(), before, 'what takes no time is read where it arrives');
  t.equal((await get(`${records}?search=r`, { 'cf-r2-jurisdiction': 'eu' })).statusCode, 200);
});

t.test('a page of long texts is left to a thread', async (t) => {
  const { call, get, reads, createZone } = await installBoth(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const posts = Array.from({ length: 100 }, (_, i) => ({ type: 'TXT', name: `t${i}`, content: 'x'.repeat(2000) }));
  t.equal((await call('POST', `${records}/batch`, { posts })).status, 200);
  const [here, there] = [await call('GET', records), await get(records)];
  t.equal(there.body, here.text);
  t.equal(reads(), 1);
});

t.test('of many zones, a page near an end is read where it arrives, and others in a thread', async (t) => {
  const { get, reads, createZone, store } = await installBoth(t);
  const { created_at: at, ...zone } = findZoneById(store, fromHex(await createZone('example.com'))!)!;
  await store.write(() => {
    for (let i = 0; i < 5000; i++) {
      const name = `z${i}.example.com`;
      const own = { id: Buffer.from(String(i).padStart(16, '0')), name, apex: parseName(`${name}.`), served: 0 };
      insertZone(store, { ...zone, ...own, created_at: at });
    }
  });
  for (const query of ['', '?page=100', '?per_page=50&direction=desc&page=39', '?page=251', '?name=z7.example.com'])
    t.equal((await get(`/zones${query}`)).statusCode, 200);
  t.equal(reads(), 0);
  for (const query of ['?page=125', '?name=contains:z77', '?order=status', '?status=active'])
    t.ok((await get(`/zones${query}`)).json().result.length > 0);
  t.equal(reads(), 4);
});

t.test('a list of pools is read in a thread', async (t) => {
  const { call, get, reads, store } = await installBoth(t);
  const [{ id }] = (await call('GET', '/accounts')).json.result;
  await store.write(() => {
    for (let i = 0; i < 61; i++) {
      const values = { name: `p${i}`, name_key: `p${i}`, settings: JSON.stringify({ name: `p${i}`, origins: [] }) };
      insertPool(
        store,
        new Uint8Array(16).fill(i),
        1,
        { ...values, monitor: null, monitor_group: null, targets: 0 },
        0,
      );
    }
  });
  const pools = `/accounts/${id}/load_balancers/pools`;
  const [here, there] = [await call('GET', pools), await get(pools)];
  t.equal(here.json.result.length, 61);
  t.equal(there.body, here.text);
  t.equal(reads(), 1);
});

t.test('too many at once are refused', async (t) => {
  const { get, createZone, readers } = await installBoth(t);
  const zone = await createZone('example.com');
  const all = await Promise.all(Array.from({ length: 203 }, () => get(`/zones/${zone}/dns_records?search=r`)));
  const refused = all.filter(({ statusCode }) => statusCode === 429);
  t.equal(all.filter(({ statusCode }) => statusCode === 200).length, 202, 'two are read, 200 wait');
  t.equal(refused.length, 1);
  t.match(refused[0]!.json().errors, [
    { code: 971, message: /^Too many long lists, searches and exports of this account/ },
  ]);
  t.equal(refused[0]!.headers['retry-after'], '5');
  const held = readers.samples().find(({ name }) => name === 'turns_held');
  t.match(held, { labels: { kind: 'reads' }, value: 0 });
});

t.test('exports of others leave threads to short reads', async (t) => {
  const { createZone, readers } = await installBoth(t);
  const zone = await createZone('example.com');
  const fd = openSync('/dev/null', 'w');
  const exports = ['a', 'a', 'b', 'b'].map((userId) => readers.export(userId, OPERATOR, zone)(fd));
  t.teardown(() => closeSync(fd));
  const begun = exports.map((pieces) => pieces.next());
  await Promise.all(begun.slice(0, 2));
  t.ok(await readers.examine({ ...OPERATOR, userId: 'c' }), 'while two are open');
  const held = readers.samples().find(({ name, labels }) => name === 'turns_held' && labels?.['kind'] === 'exports');
  t.equal(held?.value, 2);
  await Promise.all(exports.map((pieces) => pieces.return(undefined)));
});

t.test('one thread more than are at work is ready, and the last one stays', async (t) => {
  const { base, store } = await install(t);
  const data = { dataDir: dirname(store.path), settings: base.settings, logLevel: 'silent' };
  const clock = new TestClock();
  const [kept, usual] = [true, false].map((keepsSpares) => createReaders(data, clock, silentLogger(), keepsSpares));
  t.after(async () => void (await Promise.all([kept!.close(), usual!.close()])));
  const threads = () =>
    [kept!, usual!].map((one) => one.samples().find(({ name }) => name === 'reading_threads')?.value);
  t.strictSame(threads(), [0, 0]);
  await Promise.all([kept!, usual!].flatMap((one) => ['a', 'b'].map((userId) => one.examine({ ...OPERATOR, userId }))));
  t.strictSame(threads(), [3, 2]);
  clock.advance(60_000);
  t.strictSame(threads(), [1, 0]);
  clock.advance(60_000);
  t.strictSame(threads(), [1, 0]);
});

t.test('whoever reads nothing gets a thread while others have them all', async (t) => {
  const { createZone, readers } = await installBoth(t);
  const zone = await createZone('example.com');
  const order = (userId: string) => ({
    url: `/client/v4/zones/${zone}/dns_records?search=r`,
    headers: {},
    caller: { actor: { ...OPERATOR, userId } } as unknown as Caller,
  });
  const { signal } = new AbortController();
  const held = () =>
    readers.samples().find(({ name, labels }) => name === 'turns_held' && labels?.['kind'] === 'reads')?.value;
  const reads = ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c'].map((userId) => readers.read(userId, order(userId), signal));
  // Places are given one by one, each in a turn of the event loop at the latest.
  await nextTurn();
  t.equal(held(), 5, 'two of four each, and one of those who would have to wait');
  t.match(await Promise.all(reads), Array(8).fill({ status: 200 }));
});

t.test('threads have every route that they may have to answer', async (t) => {
  const { base, routes } = await install(t);
  const app = fastify();
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  const known = new Set<string>();
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) known.add(`${name} ${url}`);
  });
  app.register(
    async (scope) => {
      const routes = routesOf(scope as RouteScope, makeContextOf(base));
      for (const add of READ_ROUTES) await add(routes, {});
    },
    { prefix: PREFIX },
  );
  await app.ready();
  const needed = routes.filter(({ readsLong }) => readsLong).map(({ method, url }) => `${method} ${url}`);
  t.ok(needed.length > 20, `${needed.length} routes`);
  t.strictSame(
    needed.filter((route) => !known.has(route)),
    [],
  );
  t.strictSame(
    needed.filter((route) => !/^(GET|HEAD) /.test(route)),
    [],
    'threads only read',
  );
});
