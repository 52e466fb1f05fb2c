/** Holds and cache purges over HTTP: the accepted places of each parameter, and the refusals. */
import t from 'tap';
import { takePurgeToken } from '../../src/control/zones/purge-limit.js';
import type { Store } from '../../src/store/driver.js';
import { purgesAfter } from '../../src/store/edge/purges.js';
import { insertHostname } from '../../src/store/hostnames/hostnames.js';
import { findZoneByName, servedZones } from '../../src/store/zones/zones.js';
import { latestEvents } from '../support/rows.js';
import { install } from './installation.js';

t.test('hold: flags in query and body, release, edit after it', async (t) => {
  const { call, clock, createZone, misfits } = await install(t);
  const path = `/zones/${await createZone('example.com')}/hold`;
  const never = await call('PATCH', path, { hold_after: null });
  t.match(never, { status: 404, json: { errors: [{ code: 1003, message: 'No Zone Hold Found' }] } });
  t.match(await call('DELETE', path), { status: 404 });
  const inBody = await call('POST', path, { include_subdomains: true });
  t.match(inBody, { status: 200, json: { result: { hold: true, include_subdomains: true } } });
  t.match((await call('GET', path)).json.result, { hold: true, include_subdomains: true });
  t.match((await call('POST', `${path}?include_subdomains=false`)).json.result, { include_subdomains: false });
  const both = await call('POST', `${path}?include_subdomains=true`, { include_subdomains: false });
  t.match(both.json.result, { include_subdomains: true }, 'the query wins');
  t.match((await call('POST', path)).json.result, { hold: true, include_subdomains: false }, 'neither');
  for (const body of [{ include_subdomains: 'maybe' }, { include_subdomains: 1 }]) {
    const refused = await call('POST', path, body);
    t.match(refused, { status: 400, json: { errors: [{ code: 9207, source: { pointer: '/include_subdomains' } }] } });
  }
  const released = { hold: false, hold_after: null, include_subdomains: false };
  t.strictSame((await call('DELETE', path)).json.result, released);
  t.strictSame((await call('DELETE', path)).json.result, released, 'again');
  const at = new Date(clock.nowMs() + 3_600_000).toISOString().replace('Z', '000Z');
  t.strictSame((await call('PATCH', path, { hold_after: at })).json.result, { ...released, hold_after: at });
  clock.advance(3_600_000);
  t.match((await call('GET', path)).json.result, { hold: true, hold_after: at });
  t.match((await call('PATCH', path, { include_subdomains: true })).json.result, { hold: true, hold_after: at });
  t.strictSame(misfits, []);
});

/** A custom hostname of the only zone. */
function addHostname(store: Store, hostname: string): void {
  insertHostname(store, {
    id: hostname.padEnd(36, '-'),
    zone: servedZones(store)[0]!,
    hostname,
    txt_token: 'a',
    http_token: 'b',
    ssl: null,
    metadata: null,
    origin: null,
    origin_sni: null,
    next_check_ms: null,
    created_at: 1,
  });
}

t.test('purge_cache', async (t) => {
  const { call, store, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  const purge = (body: object) => call('POST', `/zones/${zone}/purge_cache`, body);
  const many = (count: number, item: (i: number) => unknown) => Array.from({ length: count }, (_, i) => item(i));
  const accepted: object[] = [
    { purge_everything: true },
    { files: ['https://www.example.com/a?b=c', 'http://EXAMPLE.com/'] },
    { files: ['https://example.com/x', { url: 'https://example.com/y', headers: { 'CF-Device-Type': 'mobile' } }] },
    { tags: ['a', 'B-2', 'x'.repeat(1024)] },
    { hosts: ['www.example.com', 'EXAMPLE.COM'] },
    { prefixes: ['www.example.com/blog/', 'example.com'] },
    { files: many(100, (i) => `https://example.com/${i}`) },
    { prefixes: [`example.com${'/a'.repeat(31)}`], tags: null },
    { hosts: ['shop.customer.test', 'Any.Wild.test'] },
    { hosts: ['MÜNCHEN.example.com.'] },
    { prefixes: ['MÜNCHEN.example.com/Ä'] },
  ];
  await store.write(() => {
    for (const hostname of ['shop.customer.test', '*.wild.test']) addHostname(store, hostname);
  });
  for (const body of accepted) {
    t.match(await purge(body), { status: 200, json: { result: { id: zone }, success: true, messages: [] } });
    const [entry] = latestEvents(store, 1);
    const [kind, items] = Object.entries(body)[0]!;
    t.match(entry, { kind: 'cache.purge', actor: 'admin@localhost' });
    t.strictSame(JSON.parse(entry!.after!), { [kind]: items }, 'is written down');
  }
  const stored = purgesAfter(store, 0, 100).map(({ kind, items }) => [kind, items]);
  t.equal(stored.length, accepted.length);
  t.strictSame(stored[0], ['purge_everything', []]);
  t.strictSame(stored[2], ['files', ['https://example.com/x', 'https://example.com/y']]);
  t.strictSame(stored[3], ['tags', ['a', 'b-2', 'x'.repeat(1024)]]);
  t.strictSame(stored[4], ['hosts', ['www.example.com', 'example.com']]);
  t.strictSame(stored.slice(-2), [
    ['hosts', ['xn--mnchen-3ya.example.com']],
    ['prefixes', ['xn--mnchen-3ya.example.com/Ä']],
  ]);
  const recorded = latestEvents(store, 100).length;
  const refused: (readonly [body: object, pointer: string | undefined])[] = [
    [{}, undefined],
    [{ purge_everything: true, hosts: ['example.com'] }, undefined],
    [{ files: ['https://example.com/'], tags: ['a'] }, undefined],
    [{ purge_everything: false }, '/purge_everything'],
    [{ purge_everything: 'true' }, '/purge_everything'],
    [{ files: [] }, '/files'],
    [{ files: 'https://example.com/' }, '/files'],
    [{ files: many(101, (i) => `https://example.com/${i}`) }, '/files'],
    [{ tags: many(101, String) }, '/tags'],
    [{ hosts: many(101, (i) => `h${i}.example.com`) }, '/hosts'],
    [{ prefixes: many(101, (i) => `example.com/${i}`) }, '/prefixes'],
    [{ files: ['https://example.com/', '/relative'] }, '/files/1'],
    [{ files: ['ftp://example.com/'] }, '/files/0'],
    [{ files: ['https://example.com.evil.test/'] }, '/files/0'],
    [{ files: [{ url: 'https://example.com/', headers: { Origin: 5 } }] }, '/files/0'],
    [{ files: [{ headers: {} }] }, '/files/0'],
    [{ tags: ['ok', ''] }, '/tags/1'],
    [{ tags: ['x'.repeat(1025)] }, '/tags/0'],
    [{ tags: ['tab\t'] }, '/tags/0'],
    [{ hosts: ['https://www.example.com'] }, '/hosts/0'],
    [{ hosts: ['www.example.com/path'] }, '/hosts/0'],
    [{ hosts: ['other.test'] }, '/hosts/0'],
    [{ hosts: ['*.example.com'] }, '/hosts/0'],
    [{ hosts: ['a.shop.customer.test'] }, '/hosts/0'],
    [{ hosts: ['a.b.wild.test'] }, '/hosts/0'],
    [{ hosts: [7] }, '/hosts/0'],
    [{ prefixes: ['https://www.example.com/a'] }, '/prefixes/0'],
    [{ prefixes: ['www.example.com/a?b'] }, '/prefixes/0'],
    [{ prefixes: ['www.example.com/a#b'] }, '/prefixes/0'],
    [{ prefixes: ['other.test/a'] }, '/prefixes/0'],
    [{ prefixes: [`example.com${'/a'.repeat(32)}`] }, '/prefixes/0'],
  ];
  for (const [body, pointer] of refused) {
    const { status, json } = await purge(body);
    t.match({ status, json }, { status: 400, json: { result: null, errors: [{ code: 1012 }] } }, JSON.stringify(body));
    t.equal(json.errors[0].source?.pointer, pointer, JSON.stringify(body).slice(0, 60));
  }
  t.equal(latestEvents(store, 100).length, recorded, 'nothing of a refused request is kept');
  t.equal(purgesAfter(store, 0, 100).length, accepted.length);
  t.strictSame(misfits, []);
});

t.test('purges beyond the limit of an account', async (t) => {
  const { call, clock, createZone, misfits, store } = await install(t);
  const zone = await createZone('example.com');
  const purge = (query = '') => call('POST', `/zones/${zone}/purge_cache${query}`, { hosts: ['example.com'] });
  const { account } = findZoneByName(store, 'example.com')!;
  for (let i = 1; i < 500; i++) takePurgeToken(store, clock, account);
  t.equal((await purge()).status, 200);
  const refused = await purge();
  t.match(refused, { status: 429, json: { result: null, errors: [{ code: 971 }] } });
  t.equal(refused.headers['retry-after'], '1');
  t.equal((await purge('?dry_run=true')).status, 200, 'a dry run purges nothing');
  clock.advance(1000);
  t.equal((await purge()).status, 200, 'after the time that Retry-After names');
  let more = 0;
  while ((await purge()).status === 200 && more < 100) more++;
  t.ok(more < 60, 'a second brings 50');
  t.strictSame(misfits, []);
});

t.test('several settings at once, all or none', async (t) => {
  const { call, createZone, store, misfits } = await install(t);
  const path = `/zones/${await createZone('example.com')}/settings`;
  const edit = (items: unknown) => call('PATCH', path, { items });
  const edited = await edit([
    { id: 'always_use_https', value: 'on' },
    { id: 'http2', value: 'off' },
    { id: 'browser_cache_ttl', value: 14_400 },
    { id: 'development_mode', value: 'off' },
  ]);
  t.equal(edited.status, 200);
  t.match(edited.json.result, [
    { id: 'always_use_https', value: 'on', editable: true },
    { id: 'http2', value: 'off' },
    { id: 'browser_cache_ttl', value: 14_400 },
    { id: 'development_mode', value: 'off', modified_on: null, time_remaining: 0 },
  ]);
  t.match((await call('GET', `${path}/http2`)).json.result, { value: 'off' });
  t.strictSame(
    latestEvents(store, 3).map(({ kind }) => kind),
    Array(3).fill('zone_settings.edit'),
    'each is recorded',
  );
  for (const [items, code, pointer] of [
    [
      [
        { id: 'websockets', value: 'off' },
        { id: 'ssl', value: 'maybe' },
      ],
      1007,
      '/items/1/value',
    ],
    [
      [
        { id: 'websockets', value: 'off' },
        { id: 'waf', value: 'on' },
      ],
      1015,
      '/items/1/value',
    ],
    [[{ id: 'x', value: 'on' }], 1003, undefined],
    [[], 9207, '/items'],
    ['all', 9207, '/items'],
  ] as const) {
    const { status, json } = await edit(items);
    t.strictSame([status, json.errors[0].code, json.errors[0].source?.pointer], [400, code, pointer]);
  }
  t.match(
    (await call('GET', `${path}/websockets`)).json.result,
    { value: 'on' },
    'nothing of a refused request is done',
  );
  t.strictSame(misfits, []);
});
