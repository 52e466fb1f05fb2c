/**
 * Monitors, pools and load balancers over HTTP: what clients write comes back without loss, each rule refuses with its own words, and
 * nothing is learned of other accounts.
 */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { REGIONS } from '../../src/balancing/region-codes.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { changesAfter, lastChange, touchedOwners } from '../../src/store/log/changes.js';
import { findZoneById } from '../../src/store/zones/zones.js';
import { type Installation, install } from './installation.js';
import { sent } from './sdk-fetch.js';

const NOBODY = '0123456789abcdef0123456789abcdef';

interface World extends Installation {
  readonly account: string;
  readonly zone: string;
  readonly other: string;
  readonly pool: string;
  readonly monitor: string;
  readonly client: Cloudflare;
}

// One installation: each test leaves it as it needs it.
let world: World;

t.before(async () => {
  const installed = await install(t);
  const { call, operator, createZone } = installed;
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const { id: other } = await createAccount(operator, { name: 'other' });
  const zone = await createZone('balanced.test');
  const base = `/accounts/${account}/load_balancers`;
  const monitor = (await call('POST', `${base}/monitors`, { type: 'tcp', port: 25 })).json.result.id as string;
  const made = await call('POST', `${base}/pools`, { name: 'web', origins: [{ name: 'a', address: '198.51.100.1' }] });
  const token = await installed.token();
  const client = new Cloudflare({
    apiToken: token.authorization.slice(7),
    baseURL: 'http://api.test/client/v4',
    maxRetries: 0,
    fetch: (url, init) => sent(installed, String(url), init),
  });
  world = { ...installed, account, zone, other, monitor, pool: made.json.result.id, client };
});

t.test('lists that are whole have one page', async (t) => {
  const { call, account, zone, monitor, pool } = world;
  const base = `/accounts/${account}/load_balancers`;
  for (const [path, id] of [
    [`${base}/pools`, pool],
    [`${base}/monitors`, monitor],
    [`${base}/monitors/${monitor}/references`, undefined],
    [`/zones/${zone}/load_balancers`, undefined],
  ] as const) {
    const first = (await call('GET', `${path}?page=1`)).json;
    if (id !== undefined)
      t.match(first, { result: [{ id }], result_info: { page: 1, count: 1, total_count: 1 } }, path);
    const second = (await call('GET', `${path}?page=2&per_page=5`)).json;
    t.strictSame(second.result, [], `${path}: clients ask for pages until one is empty`);
    t.match(second.result_info, { count: 0, total_count: first.result_info.total_count }, path);
  }
});

const MONITOR = {
  type: 'https',
  description: 'web',
  method: 'HEAD',
  path: '/health?x=1',
  header: { Host: ['www.balanced.test'], 'X-App-ID': ['abc', 'def'] },
  port: 8443,
  expected_codes: '2xx,301-303',
  expected_body: 'alive',
  follow_redirects: true,
  allow_insecure: true,
  probe_zone: 'balanced.test',
  interval: 30,
  timeout: 4,
  retries: 3,
  consecutive_up: 2,
  consecutive_down: 3,
} as const;

const POOL = {
  description: 'all members',
  enabled: false,
  minimum_origins: 2,
  check_regions: ['WEU', 'ENAM'],
  health_sources: ['regional', 'global'],
  latitude: 55.5,
  longitude: -12.25,
  load_shedding: { default_percent: 10, default_policy: 'hash', session_percent: 5, session_policy: 'hash' },
  origin_steering: { policy: 'least_connections' },
  networks: ['cloudflare'],
  notification_email: 'a@example.com,b@example.com',
  notification_filter: { pool: { disable: true, healthy: false }, origin: { disable: false, healthy: null } },
  origins: [
    {
      name: 'b.2',
      address: '2001:db8::2',
      enabled: true,
      weight: 0.56,
      port: 8080,
      header: { Host: ['a.balanced.test'] },
    },
    { name: 'a-1', address: 'origin.example.org', enabled: true, weight: 0, flatten_cname: false },
  ],
} as const;

t.test('a monitor comes back from the SDK as it was sent, through every method', async (t) => {
  const { client, account } = world;
  const { monitors } = client.loadBalancers;
  const made = await monitors.create({ account_id: account });
  t.match(made, {
    ...{ type: 'http', description: '', method: 'GET', path: '/', header: {}, port: 0, expected_codes: '200' },
    ...{ expected_body: '', follow_redirects: false, allow_insecure: false, probe_zone: '', interval: 60, timeout: 5 },
    ...{ retries: 2, consecutive_up: 0, consecutive_down: 0 },
  });
  await monitors.update(made.id!, { account_id: account, ...(MONITOR as object) });
  t.match(await monitors.get(made.id!, { account_id: account }), MONITOR, 'PUT, then GET');
  await monitors.edit(made.id!, { account_id: account, port: null, path: '/other' });
  const edited = await monitors.get(made.id!, { account_id: account });
  t.match(edited, { ...MONITOR, port: null, path: '/other' }, 'PATCH, then GET');
  t.same((await all(monitors.list({ account_id: account }))).map(({ id }) => id).includes(made.id), true);
  t.same(await all(monitors.references.get(made.id!, { account_id: account })), []);
  t.same(await monitors.delete(made.id!, { account_id: account }), { id: made.id });
  await t.rejects(monitors.get(made.id!, { account_id: account }), /monitor not found/);
});

t.test('a pool comes back from the SDK as it was sent, through every method', async (t) => {
  const { client, account, monitor } = world;
  const { pools } = client.loadBalancers;
  const first = { account_id: account, name: 'sdk', origins: [{ name: 'only', address: '198.51.100.9' }] };
  const made = await pools.create(first);
  t.match(made, { description: '', enabled: true, minimum_origins: 1, check_regions: null, notification_email: '' });
  t.match(made.origins, [{ name: 'only', address: '198.51.100.9', enabled: true, weight: 1 }]);
  t.notOk('disabled_at' in made);
  await pools.update(made.id!, { account_id: account, name: 'sdk', monitor, ...POOL } as never);
  const got = await pools.get(made.id!, { account_id: account });
  t.match(got, { ...POOL, name: 'sdk', monitor }, 'PUT, then GET');
  t.equal(got.origins!.length, 2);
  t.match(got.disabled_at, /^2024-05-05T/, 'a disabled pool says since when');
  const nulls = { load_shedding: null, origin_steering: null, notification_filter: null, check_regions: null };
  await pools.edit(made.id!, { account_id: account, enabled: true, health_sources: null, ...nulls });
  const edited = await pools.get(made.id!, { account_id: account });
  t.match(edited, { ...POOL, ...nulls, health_sources: null, enabled: true }, 'null is not absent');
  t.notOk('disabled_at' in edited);
  t.same(
    (await all(pools.references.get(made.id!, { account_id: account }))).map((one) => one.resource_type),
    ['monitor'],
  );
  t.equal((await all(pools.list({ account_id: account, monitor }))).length, 1, 'pools of one monitor');
  await all(pools.bulkEdit({ account_id: account, notification_email: '' }));
  t.equal((await pools.get(made.id!, { account_id: account })).notification_email, '');
  t.same(await pools.delete(made.id!, { account_id: account }), { id: made.id });
});

t.test('a group of monitors comes back from the SDK as it was sent, and whole when it is deleted', async (t) => {
  const { client, account, monitor } = world;
  const { monitorGroups } = client.loadBalancers;
  const member = { monitor_id: monitor, enabled: true, monitoring_only: false, must_be_healthy: true };
  const made = await monitorGroups.create({ account_id: account, description: 'g', members: [member] });
  t.match(made.members, [{ ...member, created_at: /^2024/, updated_at: /^2024/ }]);
  const next = { ...member, must_be_healthy: false };
  await monitorGroups.update(made.id, { account_id: account, description: 'h', members: [next] });
  await monitorGroups.edit(made.id, { account_id: account, description: 'i', members: [next] });
  t.match(await monitorGroups.get(made.id, { account_id: account }), { description: 'i', members: [next] });
  t.equal((await all(monitorGroups.list({ account_id: account }))).length, 1);
  t.equal((await all(monitorGroups.references.get(made.id, { account_id: account }))).length, 1);
  const origins = [{ name: 'only', address: '198.51.100.8' }];
  const { id: pool } = await client.loadBalancers.pools.create({
    ...{ account_id: account, name: 'grouped', monitor_group: made.id, origins },
  });
  t.match(await client.loadBalancers.pools.get(pool!, { account_id: account }), { monitor_group: made.id });
  await client.loadBalancers.pools.delete(pool!, { account_id: account });
  await t.rejects(client.loadBalancers.monitors.delete(monitor, { account_id: account }), /Object referenced by other/);
  t.match(await monitorGroups.delete(made.id, { account_id: account }), { id: made.id, description: 'i' });
});

const balancer = (pool: string) => ({
  name: 'www.balanced.test',
  default_pools: [pool],
  fallback_pool: pool,
  description: 'all members',
  enabled: true,
  proxied: true,
  steering_policy: '',
  region_pools: { WEU: [pool] },
  country_pools: { GB: [pool], US: [pool] },
  pop_pools: { LAX: [pool] },
  random_steering: { default_weight: 0.3, pool_weights: { [pool]: 0.25 } },
  location_strategy: { mode: 'resolver_ip', prefer_ecs: 'always' },
  session_affinity: 'cookie',
  session_affinity_ttl: 5000,
  session_affinity_attributes: {
    ...{ drain_duration: 100, headers: ['x', 'cookie:a,b'], require_all_headers: true },
    ...{ samesite: 'Lax', secure: 'Always', zero_downtime_failover: 'sticky' },
  },
  adaptive_routing: { failover_across_pools: true },
  networks: ['cloudflare'],
  rules: [
    {
      ...{
        name: 'r',
        condition: 'http.request.uri.path contains "/x"',
        disabled: false,
        priority: 2,
        terminates: true,
      },
      overrides: {
        ...{ default_pools: [pool], fallback_pool: pool, ttl: 60, steering_policy: 'random' },
        ...{ region_pools: { OC: [pool] }, country_pools: { NZ: [pool] }, pop_pools: { SYD: [pool] } },
        random_steering: { default_weight: 0.5, pool_weights: { [pool]: 0.75 } },
        location_strategy: { mode: 'pop', prefer_ecs: 'never' },
        ...{ session_affinity: 'header', session_affinity_ttl: 60, adaptive_routing: { failover_across_pools: false } },
        session_affinity_attributes: {
          ...{ drain_duration: 5, headers: ['x'], require_all_headers: false },
          ...{ samesite: 'None', secure: 'Auto', zero_downtime_failover: 'temporary' },
        },
      },
    },
    {
      name: 'flat',
      condition: 'http.host eq "x"',
      overrides: { pools: [pool], pool_default_weight: 0.1, pool_weights: { [pool]: 0.2 } },
    },
    {
      name: 'fixed',
      condition: '',
      priority: 3,
      fixed_response: { status_code: 503, content_type: 'text/plain', location: 'x', message_body: 'Testing Hello' },
    },
  ],
  pool_sets: [
    {
      name: 'here',
      match: { topology: { countries: ['DE'], regions: ['WEU'], pops: ['LAX'] } },
      overrides: {
        ...{ pools: [pool], fallback_pool: pool, steering_policy: 'least_connections' },
        ...{ pool_default_weight: 0.1, pool_weights: { [pool]: 0.2 } },
      },
      disabled: false,
    },
    {
      ...{ name: 'all', match: { default: true }, disabled: true },
      fixed_response: { status_code: 200, content_type: 'text/plain', location: 'x', message_body: 'y' },
    },
  ],
});

t.test('a load balancer comes back from the SDK as it was sent, through every method', async (t) => {
  const { client, zone, pool, account } = world;
  const { loadBalancers } = client;
  const least = { zone_id: zone, name: 'least.balanced.test', default_pools: [pool], fallback_pool: pool };
  const made = await loadBalancers.create(least);
  t.match(made, { enabled: true, proxied: false, ttl: 30, zone_name: 'balanced.test' });
  for (const name of ['steering_policy', 'session_affinity', 'session_affinity_ttl', 'country_pools', 'rules']) {
    t.notOk(name in made, `${name} is absent`);
  }
  await loadBalancers.update(made.id!, { zone_id: zone, ...balancer(pool) } as never);
  t.match(await loadBalancers.get(made.id!, { zone_id: zone }), balancer(pool), 'PUT, then GET');
  const change = { proxied: false, country_pools: {}, session_affinity_ttl: 1800, pool_sets: null, ttl: 120 };
  await loadBalancers.edit(made.id!, { zone_id: zone, ...change } as never);
  const edited = await loadBalancers.get(made.id!, { zone_id: zone });
  t.match(edited, { ...balancer(pool), ...change, pool_sets: balancer(pool).pool_sets }, 'PATCH, then GET');
  t.same(edited.country_pools, {}, 'an empty map is not an absent one');
  await loadBalancers.edit(made.id!, { zone_id: zone, pool_sets: [] } as never);
  t.same((await loadBalancers.get(made.id!, { zone_id: zone })).pool_sets, [], 'an empty list removes all');
  t.equal((await all(loadBalancers.list({ zone_id: zone }))).length, 1);
  const [found] = await all(
    loadBalancers.searches.list({ account_id: account, query: 'www.bal', references: '*' }) as never,
  );
  t.match(found, { resources: [{ resource_type: 'load_balancer', references: [{ resource_id: pool }] }] });
  t.same(await loadBalancers.delete(made.id!, { zone_id: zone }), { id: made.id });
});

t.test('what Terraform sends does not drift', async (t) => {
  const { call, zone, pool } = world;
  const sent = {
    ...{ name: 'tf.balanced.test', default_pools: [pool], fallback_pool: pool, session_affinity_ttl: null, ttl: null },
    country_pools: {},
    session_affinity_attributes: {
      ...{ drain_duration: 0, secure: 'Auto', samesite: 'Auto', zero_downtime_failover: 'none' },
      ...{ require_all_headers: null, headers: null },
    },
  };
  const made = await call('POST', `/zones/${zone}/load_balancers`, sent);
  t.equal(made.status, 200, made.text);
  const { id, ...first } = made.json.result;
  const { result: read } = (await call('GET', `/zones/${zone}/load_balancers/${id}`)).json;
  t.same(read, { id, ...first }, 'a refresh shows what the creation showed');
  t.same(read.country_pools, {});
  t.notOk('session_affinity_ttl' in read);
  t.match(read.session_affinity_attributes, { drain_duration: 0, secure: 'Auto', samesite: 'Auto' });
  const again = await call('PUT', `/zones/${zone}/load_balancers/${id}`, sent);
  const { modified_on: _, ...same } = again.json.result;
  const { modified_on: __, ...before } = read;
  t.same(same, before);
  t.equal((await call('DELETE', `/zones/${zone}/load_balancers/${id}`)).status, 200);
});

t.test('each rule of monitors refuses with its own words', async (t) => {
  const { call, account } = world;
  for (const [body, message] of [
    [{ interval: 4 }, 'interval is not in range [5, 3600]'],
    [{ interval: 5.5, timeout: 1, retries: 0 }, 'interval is not a whole number'],
    [{ interval: '60' }, 'interval must be a number'],
    [{ timeout: 11 }, 'timeout is not in range [1, 10]'],
    [{ retries: 6 }, 'retries is not in range [0, 5]'],
    [{ interval: 10, timeout: 5, retries: 2 }, 'timeout × (retries + 1) is 15, which is more than the interval of 10'],
    [{ consecutive_up: 21 }, 'consecutive_up is not in range [0, 20]'],
    [{ type: 'tcp' }, 'port is required for type tcp'],
    [{ type: 'smtp', port: 0 }, 'port is required for type smtp'],
    [
      { type: 'icmp_ping' },
      'type icmp_ping is not available here: the server may not send ICMP messages (ping_group_range, CAP_NET_RAW)',
    ],
    [{ type: 'ftp' }, 'type must be one of http, https, tcp, udp_icmp, icmp_ping, smtp'],
    [{ port: 65_536 }, 'port is not in range [0, 65535]'],
    [{ method: 'POST' }, 'method is not one of GET, HEAD'],
    [{ path: 'health' }, 'path does not start with /'],
    [{ path: '/a b' }, 'path contains a space, a control character or other than ASCII'],
    [{ path: '/\r\nX: y' }, 'path contains a space, a control character or other than ASCII'],
    [{ path: `/${'a'.repeat(2048)}` }, 'path is longer than 2048 characters'],
    [{ expected_codes: '600' }, 'expected_codes is not a list of codes and ranges, such as 200,2xx,301-303'],
    [{ expected_codes: '303-301' }, 'expected_codes is not a list of codes and ranges, such as 200,2xx,301-303'],
    [{ header: { 'user-agent': ['x'] } }, 'header cannot set User-Agent'],
    [{ header: { 'X-A': ['b\r\nHost: evil'] } }, 'header X-A contains a control character'],
    [{ header: { 'X-A': ['b\0'] } }, 'header X-A contains a control character'],
    [{ header: { 'X\r\nA': ['b'] } }, 'header has a name that is not a token (RFC 9110)'],
    [{ header: { 'Transfer-Encoding': ['chunked'] } }, 'header cannot set Transfer-Encoding'],
    [{ header: { Host: ['a.test', 'b.test'] } }, 'header Host is not one host name'],
    [{ header: { 'X-A': ['1'], 'x-a': ['2'] } }, 'header has x-a twice'],
    [
      { header: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, ['1']])) },
      'header has more than 20 names',
    ],
    [{ expected_body: 'a'.repeat(10_241) }, 'expected_body is longer than 10240 octets'],
    [{ probe_zone: 'foreign.test' }, 'probe_zone is not a zone of the account'],
  ] as const) {
    const { status, json } = await call('POST', `/accounts/${account}/load_balancers/monitors`, body);
    t.equal(status, 400, message);
    t.match(json.errors, [{ code: 1002, message: `${message}: validation failed` }]);
  }
});

t.test('each rule of pools refuses with its own words', async (t) => {
  const { call, account, monitor } = world;
  const origin = { name: 'a', address: '198.51.100.1' };
  const many = Array.from({ length: 201 }, (_, i) => ({ name: `o${i}`, address: `198.51.100.1`, port: i + 1 }));
  for (const [body, message] of [
    [{ origins: [] }, 'the origin list length must be in range [1, 200]'],
    [{ origins: many }, 'the origin list length must be in range [1, 200]'],
    [{ name: 'a b' }, 'name is not 1 to 63 letters, digits, hyphens and underscores'],
    [{ name: 'WEB' }, 'name WEB is not unique in the account'],
    [{ origins: [origin, { ...origin, address: '198.51.100.2' }] }, 'origin name a is not unique'],
    [
      {
        origins: [
          { name: 'a', address: '2001:db8::1' },
          { name: 'b', address: '2001:DB8:0::1' },
        ],
      },
      'origin address 2001:DB8:0::1 with port 0 is not unique',
    ],
    [
      { origins: [{ name: 'a', address: 'not an address' }] },
      'origin address "not an address" is neither an address nor a host name',
    ],
    [{ origins: [{ name: 'a', address: '192.0.2.251' }] }, 'origin address 192.0.2.251 is an address of this service'],
    [
      { origins: [{ name: 'a', address: '::ffff:192.0.2.251' }] },
      'origin address ::ffff:192.0.2.251 is an address of this service',
    ],
    [{ origins: [{ ...origin, weight: 1.1 }] }, 'weight is not in range [0, 1]'],
    [{ origins: [{ ...origin, weight: 0.555 }] }, 'weight has a step smaller than 0.01'],
    [{ origins: [{ ...origin, port: 65_536 }] }, 'port is not in range [0, 65535]'],
    [
      { origins: [{ ...origin, header: { Host: ['www.foreign.test'] } }] },
      'origin header Host www.foreign.test is not in a zone of the account',
    ],
    [{ origins: [{ ...origin, virtual_network_id: 'x' }] }, 'virtual_network_id is not available here'],
    [{ monitor, monitor_group: NOBODY }, 'monitor and monitor_group are both set'],
    [{ check_regions: ['MOON'] }, 'check_regions has MOON'],
    [{ health_sources: ['local'] }, 'health_sources is not null or ["regional", "global"]'],
    [{ health_sources: ['regional', 'global'] }, 'health_sources needs at least one of check_regions'],
    [{ latitude: 1 }, 'latitude and longitude are not both set'],
    [{ latitude: 91, longitude: 0 }, 'latitude is not in range [-90, 90]'],
    [{ load_shedding: { default_percent: 101 } }, 'default_percent is not in range [0, 100]'],
    [{ notification_email: 'nobody' }, 'notification_email is not a list of at most 20 addresses'],
    [
      { origin_steering: { policy: 'best' } },
      'origin_steering.policy must be one of random, hash, least_outstanding_requests, least_connections',
    ],
  ] as const) {
    const { status, json } = await call('POST', `/accounts/${account}/load_balancers/pools`, {
      ...{ name: 'rules', origins: [origin] },
      ...body,
    });
    t.equal(status, 400, message);
    t.match(json.errors, [{ code: 1002, message: `${message}: validation failed` }]);
  }
});

/** Identifiers of pools that need not exist. */
const strangers = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => (from * 1000 + i + 1).toString(16).padStart(32, 'e'));

t.test('each rule of load balancers refuses with its own words', async (t) => {
  const { call, zone, pool } = world;
  const set = { overrides: { pools: [pool] } };
  for (const [body, message] of [
    [{ name: 'www.elsewhere.test.' }, 'name is not a name in the zone balanced.test'],
    [{ name: 'a.*.balanced.test' }, 'name is not a name in the zone balanced.test'],
    [{ name: 'a.cut.balanced.test' }, 'name is delegated to other name servers at cut.balanced.test'],
    [{ default_pools: [] }, 'default_pools is empty'],
    [{ default_pools: [pool, pool] }, 'default_pools has a pool twice'],
    [{ fallback_pool: '' }, 'fallback_pool is missing'],
    [{ ttl: 9 }, 'ttl is not 1 or in range [10, 86400]'],
    [
      { steering_policy: 'best' },
      'steering_policy must be one of off, geo, random, dynamic_latency, proximity, least_outstanding_requests, least_connections, ',
    ],
    [{ default_pools: strangers(101) }, 'default_pools has more than 100 pools'],
    [
      { region_pools: Object.fromEntries(REGIONS.map((code, i) => [code, strangers(100, i)])) },
      'the load balancer refers to more than 1000 pools',
    ],
    [{ pool_sets: [{ overrides: { pools: strangers(101) } }] }, 'pools of pool set 0 has more than 100 pools'],
    [{ region_pools: { MARS: [pool] } }, 'region_pools has the unknown code MARS'],
    [{ country_pools: { GBR: [pool] } }, 'country_pools has the unknown code GBR'],
    [{ pop_pools: { LA: [pool] } }, 'pop_pools has the unknown code LA'],
    [{ random_steering: { default_weight: 2 } }, 'default_weight is not in range [0, 1]'],
    [{ session_affinity: 'cookie', session_affinity_ttl: 60 }, 'session_affinity_ttl is not in range [1800, 604800]'],
    [{ session_affinity: 'header', session_affinity_ttl: 5000 }, 'session_affinity_ttl is not in range [30, 3600]'],
    [{ session_affinity: 'header' }, 'session_affinity header needs headers'],
    [
      { session_affinity_attributes: { samesite: 'None', secure: 'Never' } },
      'samesite None needs secure Auto or Always',
    ],
    [
      { session_affinity: 'header', session_affinity_attributes: { headers: ['x'], zero_downtime_failover: 'sticky' } },
      'zero_downtime_failover sticky is not possible with session_affinity header',
    ],
    [{ session_affinity_attributes: { headers: ['a', 'b', 'c', 'd', 'e', 'f'] } }, 'headers has more than 5 names'],
    [{ rules: [{ condition: 'http.host eq' }] }, /^condition of rule 0: .* at offset 12: validation failed$/],
    [
      { rules: [{ condition: 'nonsense eq "x"' }] },
      "condition of rule 0: the field 'nonsense' is not known at offset 0",
    ],
    [{ rules: Array.from({ length: 51 }, () => ({ name: 'r' })) }, 'rules has more than 50 rules'],
    [
      { rules: Array.from({ length: 3 }, () => ({ condition: `http.host eq "${'x'.repeat(3000)}"` })) },
      'the conditions of all rules have more than 8192 characters',
    ],
    [{ rules: [{ overrides: { ttl: 2 } }] }, 'ttl is not 1 or in range [10, 86400]'],
    [{ rules: [{ overrides: { pools: [] } }] }, 'pools of rule 0 is empty'],
    [{ rules: [{ overrides: { pools: [pool] }, fixed_response: {} }] }, 'rule 0 has both pools and a fixed_response'],
    [{ rules: [{ overrides: { pools: [pool], default_pools: [pool] } }] }, 'pools and default_pools are both set'],
    [
      { rules: [{ overrides: { pool_default_weight: 1, random_steering: { default_weight: 1 } } }] },
      'pool_default_weight and random_steering are both set',
    ],
    [{ rules: [{ fixed_response: { status_code: 99 } }] }, 'status_code is not in range [200, 599]'],
    [
      { pool_sets: Array.from({ length: 1001 }, () => set) },
      'POOL_SETS_TOO_LARGE: pool_sets has more than 1000 pool sets',
    ],
    [{ pool_sets: [{ name: 'x' }] }, 'POOL_SET_NO_INTENT: pool set 0 has neither overrides nor a fixed_response'],
    [
      { pool_sets: [{ ...set, match: {} }] },
      'POOL_SET_EMPTY_MATCH: match of pool set 0 has neither default nor topology',
    ],
    [
      { pool_sets: [{ ...set, match: { default: true, topology: { countries: ['DE'] } } }] },
      'POOL_SET_DEFAULT_WITH_MATCH: match of pool set 0 has both default and topology',
    ],
    [{ pool_sets: [{ ...set, match: { topology: {} } }] }, 'POOL_SET_EMPTY_TOPOLOGY: topology of pool set 0 is empty'],
    [
      { pool_sets: [{ ...set, match: { topology: { countries: Array.from({ length: 1001 }, () => 'DE') } } }] },
      'POOL_SET_TOPOLOGY_TOO_LARGE: countries of pool set 0 has more than 1000',
    ],
  ] as const) {
    await call('POST', `/zones/${zone}/dns_records`, { type: 'NS', name: 'cut', content: 'ns.example.org' });
    const { status, json } = await call('POST', `/zones/${zone}/load_balancers`, {
      ...{ name: 'rules.balanced.test', default_pools: [pool], fallback_pool: pool },
      ...body,
    });
    t.equal(status, 400, `${message}`);
    const wanted = typeof message === 'string' ? `${message}: validation failed` : message;
    t.match(json.errors, [{ code: 1002, message: wanted }]);
  }
});

t.test('a load balancer stays small, also when its pools grow', async (t) => {
  const { call, zone, account } = world;
  const pools = `/accounts/${account}/load_balancers/pools`;
  const origins = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ name: `o${i}`, address: `192.0.2.${i}` }));
  const ids: string[] = [];
  for (let i = 0; i < 6; i++) {
    const made = await call('POST', pools, { name: `many${i}`, origins: origins(i < 5 ? 199 : 5) });
    ids.push(made.json.result.id);
  }
  const path = `/zones/${zone}/load_balancers`;
  const body = { name: 'small.balanced.test', default_pools: ids, fallback_pool: ids[0] };
  const { id } = (await call('POST', path, body)).json.result;
  const crowded = 'the pools of the load balancer small.balanced.test have 1001 origins, more than 1000';
  const grown = await call('PATCH', `${pools}/${ids[0]}`, { origins: origins(200) });
  t.match(grown, { status: 400, json: { errors: [{ code: 1002, message: `${crowded}: validation failed` }] } });
  t.equal((await call('PATCH', `${pools}/${ids[0]}`, { origins: origins(1) })).status, 200);
  t.equal((await call('PATCH', `${pools}/${ids[5]}`, { origins: origins(6) })).status, 200);
  const back = await call('PATCH', `${pools}/${ids[0]}`, { origins: origins(199) });
  t.equal(back.json.errors[0].message, `${crowded}: validation failed`);
  const fixed_response = { message_body: 'x'.repeat(1000) };
  const sets = Array.from({ length: 260 }, (_, i) => ({ name: `${i}`, fixed_response }));
  const large = await call('PATCH', `${path}/${id}`, { pool_sets: sets });
  t.match(large, {
    status: 400,
    json: { errors: [{ message: /^the load balancer has 2\d+ octets, more than 262144: / }] },
  });
  await call('DELETE', `${path}/${id}`);
  for (const pool of ids) t.equal((await call('DELETE', `${pools}/${pool}`)).status, 200);
});

t.test('nothing of another account is used, or learned of', async (t) => {
  const { call, zone, account, other, operator, createZone, monitor, pool } = world;
  const there = `/accounts/${other}/load_balancers`;
  const origins = [{ name: 'a', address: '198.51.100.7' }];
  const theirs = (await call('POST', `${there}/pools`, { name: 'theirs', origins })).json.result.id as string;
  const theirMonitor = (await call('POST', `${there}/monitors`, {})).json.result.id as string;
  for (const id of [theirs, NOBODY]) {
    for (const use of [{ default_pools: [id] }, { fallback_pool: id }, { region_pools: { WEU: [id] } }]) {
      const body = { name: 'x.balanced.test', default_pools: [pool], fallback_pool: pool, ...use };
      const { status, json } = await call('POST', `/zones/${zone}/load_balancers`, body);
      t.match({ status, json }, { status: 404, json: { errors: [{ code: 1001, message: 'pool not found' }] } });
    }
    const read = await call('GET', `/accounts/${account}/load_balancers/pools/${id}`);
    t.match(read, { status: 404, json: { errors: [{ code: 1001, message: 'pool not found' }] } });
  }
  for (const id of [theirMonitor, NOBODY]) {
    const { status, json } = await call('PATCH', `/accounts/${account}/load_balancers/pools/${pool}`, { monitor: id });
    t.match({ status, json }, { status: 404, json: { errors: [{ code: 1001, message: 'monitor not found' }] } });
  }
  const beside = await createZone('beside.test');
  const body = { name: 'beside.test', default_pools: [pool], fallback_pool: pool };
  const { id } = (await call('POST', `/zones/${beside}/load_balancers`, body)).json.result;
  const misplaced = await call('GET', `/zones/${zone}/load_balancers/${id}`);
  t.match(misplaced, { status: 404, json: { errors: [{ code: 1001, message: 'load balancer not found' }] } });
  t.equal((await call('DELETE', `/zones/${beside}`)).status, 200, 'a zone goes with its load balancers');
  t.same((await call('GET', `/accounts/${account}/load_balancers/pools/${pool}/references`)).json.result, []);
  t.ok(operator && monitor);
});

t.test('what is used is not deleted, and the refusal names who uses it', async (t) => {
  const { call, zone, account, pool, monitor } = world;
  const base = `/accounts/${account}/load_balancers`;
  t.equal((await call('PATCH', `${base}/pools/${pool}`, { monitor })).status, 200);
  const body = { name: 'used.balanced.test', default_pools: [pool], fallback_pool: pool };
  const { id } = (await call('POST', `/zones/${zone}/load_balancers`, body)).json.result;
  const refused = await call('DELETE', `${base}/pools/${pool}`);
  t.match(refused, { status: 412, json: { errors: [{ code: 1005 }] } });
  t.equal(refused.json.errors[0].message, 'Object referenced by other objects: load_balancer used.balanced.test');
  const monitorRefused = await call('DELETE', `${base}/monitors/${monitor}`);
  t.equal(monitorRefused.json.errors[0].message, 'Object referenced by other objects: pool web');
  t.match((await call('GET', `${base}/pools/${pool}/references`)).json.result, [
    {
      reference_type: 'referrer',
      resource_id: id,
      resource_name: 'used.balanced.test',
      resource_type: 'load_balancer',
    },
    { reference_type: 'referral', resource_id: monitor, resource_type: 'monitor' },
  ]);
  await call('DELETE', `/zones/${zone}/load_balancers/${id}`);
  await call('PATCH', `${base}/pools/${pool}`, { monitor: '' });
});

t.test('a change of a pool makes followers read its load balancers again, and no serial moves', async (t) => {
  const { call, zone, account, pool, store } = world;
  const base = `/accounts/${account}/load_balancers`;
  const body = { name: 'marked.balanced.test', default_pools: [pool], fallback_pool: pool };
  const made = await call('POST', `/zones/${zone}/load_balancers`, body);
  const { id } = made.json.result;
  const row = () => findZoneById(store, Buffer.from(zone, 'hex'))!;
  const before = { serial: row().serial, version: row().version, change: lastChange(store) };
  const edit = { origins: [{ name: 'a', address: '198.51.100.1', weight: 0.5 }] };
  t.equal((await call('PATCH', `${base}/pools/${pool}`, edit)).status, 200);
  const [change, ...more] = changesAfter(store, before.change, 10);
  t.same(more, []);
  t.match(change, { zone: row().seq, kind: 'rrs', complete: 1, serial_from: before.serial, serial_to: before.serial });
  t.same(
    touchedOwners(store, change!.seq).map((key) => Buffer.from(key).toString('latin1')),
    ['marked\0'],
  );
  t.same([row().serial, row().version], [before.serial, before.version]);
  const same = await call('PATCH', `${base}/pools/${pool}`, edit);
  t.equal(same.status, 200);
  t.equal(lastChange(store), change!.seq, 'an edit that changes nothing marks nothing');
  const told = await call('PATCH', `${base}/pools/${pool}`, { description: 'w', notification_email: 'a@example.com' });
  t.match(told, { status: 200, json: { result: { description: 'w' } } });
  t.equal(lastChange(store), change!.seq, 'nor does one that makes no difference to load balancers');
  const dry = await call('PATCH', `${base}/pools/${pool}?dry_run=true`, { enabled: false });
  t.match(dry, { status: 200, json: { result: { enabled: false } } });
  t.equal((await call('GET', `${base}/pools/${pool}`)).json.result.enabled, true, 'a dry run keeps nothing');
  t.equal(lastChange(store), change!.seq);
  await call('DELETE', `/zones/${zone}/load_balancers/${id}`);
});

t.test('writes can depend on the state of what they change', async (t) => {
  const { call, account, zone, pool } = world;
  const path = `/accounts/${account}/load_balancers/pools/${pool}`;
  const read = await call('GET', path);
  const tag = String(read.headers.etag);
  const first = await call('PATCH', path, { description: 'one' }, { headers: { ...admin(), 'if-match': tag } });
  t.equal(first.status, 200);
  t.not(first.headers.etag, tag, 'each state has a tag of its own');
  const second = await call('PATCH', path, { description: 'two' }, { headers: { ...admin(), 'if-match': tag } });
  t.match(second, { status: 412, json: { errors: [{ code: 1116 }] } });
  t.equal((await call('GET', path)).json.result.description, 'one');
  const balancers = `/zones/${zone}/load_balancers`;
  const list = await call('GET', balancers);
  const body = { name: 'state.balanced.test', default_pools: [pool], fallback_pool: pool };
  const made = await call('POST', balancers, body, { headers: { ...admin(), 'if-match': String(list.headers.etag) } });
  t.equal(made.status, 200, made.text);
  const late = await call('DELETE', `${balancers}/${made.json.result.id}`, undefined, {
    headers: { ...admin(), 'if-match': String(list.headers.etag) },
  });
  t.equal(late.status, 412, 'the zone has moved on');
  await call('DELETE', `${balancers}/${made.json.result.id}`);
});

t.test('records that a load balancer hides say so, and others of the name do not', async (t) => {
  const { call, zone, pool } = world;
  const records = `/zones/${zone}/dns_records`;
  for (const [type, content] of [
    ['A', '192.0.2.7'],
    ['TXT', 'stays'],
  ]) {
    t.equal((await call('POST', records, { type, name: 'hidden', content })).status, 200);
  }
  const body = { name: 'hidden.balanced.test', default_pools: [pool], fallback_pool: pool };
  const { id } = (await call('POST', `/zones/${zone}/load_balancers`, body)).json.result;
  const shadowed = async () => {
    const { result } = (await call('GET', `${records}?name=hidden.balanced.test`)).json;
    return result.map((one: { type: string; meta: { shadowed_by_lb?: boolean } }) => [
      one.type,
      one.meta.shadowed_by_lb,
    ]);
  };
  t.same(await shadowed(), [
    ['A', true],
    ['TXT', undefined],
  ]);
  await call('PATCH', `/zones/${zone}/load_balancers/${id}`, { enabled: false });
  t.same(await shadowed(), [
    ['A', undefined],
    ['TXT', undefined],
  ]);
  await call('DELETE', `/zones/${zone}/load_balancers/${id}`);
});

t.test('notices tell what has no effect', async (t) => {
  const { call, account, zone, pool } = world;
  const made = await call('POST', `/accounts/${account}/load_balancers/pools`, {
    name: 'four',
    origins: [{ name: 'a', address: '198.51.100.3' }],
  });
  t.match(made.json.messages, [
    { message: 'No enabled origin of the pool has an address for AAAA questions: they get no data.' },
  ]);
  await call('DELETE', `/accounts/${account}/load_balancers/pools/${made.json.result.id}`);
  const body = { name: 'n.balanced.test', default_pools: [pool], fallback_pool: pool, session_affinity: 'cookie' };
  const balancer = await call('POST', `/zones/${zone}/load_balancers`, body);
  t.match(balancer.json.messages, [
    { message: 'session_affinity has no effect, because the load balancer is not proxied.' },
  ]);
  await call('DELETE', `/zones/${zone}/load_balancers/${balancer.json.result.id}`);
});

t.test('permissions: monitors and pools of the account, load balancers of the zone', async (t) => {
  const { call, token, account, zone, pool } = world;
  const pools = `/accounts/${account}/load_balancers/pools`;
  const balancers = `/zones/${zone}/load_balancers`;
  const members = { name: 'hides.balanced.test', default_pools: [pool], fallback_pool: pool };
  const { id } = (await call('POST', balancers, members)).json.result;
  const policy = (group: string, resource: string) => [
    {
      effect: 'allow' as const,
      permission_groups: [{ id: group }],
      resources: { [`com.cloudflare.api.account.${resource}`]: '*' },
    },
  ];
  for (const [group, resource, readsPools, writesPools, readsBalancers, writesBalancers] of [
    ['9d24387c6e8544e2bc4024a03991339f', account, 200, 403, 403, 403],
    ['d2a1802cc9a34e30852f8b33869b2f3c', account, 200, 400, 403, 403],
    ['e9a975f628014f1d85b723993116f7d5', `zone.${zone}`, 403, 403, 200, 403],
    ['6d7f2f5f5b1d4a0e9081fdc98d432fd1', `zone.${zone}`, 403, 403, 200, 400],
  ] as const) {
    const headers = await token({ policies: policy(group, resource) });
    t.equal((await call('GET', pools, undefined, { headers })).status, readsPools, `${group} reads pools`);
    t.equal((await call('POST', pools, {}, { headers })).status, writesPools, `${group} writes pools`);
    t.equal((await call('GET', balancers, undefined, { headers })).status, readsBalancers, `${group} reads balancers`);
    t.equal((await call('POST', balancers, {}, { headers })).status, writesBalancers, `${group} writes balancers`);
    const explained = await call('GET', `${balancers}/${id}/explain`, undefined, { headers });
    t.equal(explained.status, readsBalancers, `${group} explains balancers`);
    if (explained.status !== 200) continue;
    t.match(explained.json.result, { answer: [/198\.51\.100\.1/] });
    t.strictSame(explained.json.result.origins, [], `${group}: origins are the account's`);
    t.notMatch(explained.json.result.steps.join(' '), /Origin a/);
  }
  t.equal((await call('GET', `${balancers}/${id}/explain`)).json.result.origins.length, 1);
  await call('DELETE', `${balancers}/${id}`);
});

t.test('regions, load balancers of accounts, and the routes of older clients', async (t) => {
  const { call, account, client } = world;
  const base = `/accounts/${account}/load_balancers`;
  const list = (await call('GET', `${base}/regions`)).json.result;
  t.equal(list.regions.length, 13);
  const countries = list.regions.flatMap(
    (one: { countries: { country_code_a2: string; country_subdivisions?: unknown }[] }) =>
      one.countries.filter((country) => !country.country_subdivisions).map((country) => country.country_code_a2),
  );
  t.equal(new Set(countries).size, countries.length, 'each country is in one region');
  t.ok(countries.length > 230);
  const one = (await call('GET', `${base}/regions?country_code_a2=us&subdivision_code_a2=CA`)).json.result;
  t.match(one.regions, [
    {
      region_code: 'WNAM',
      countries: [{ country_code_a2: 'US', country_subdivisions: [{ subdivision_name: 'California' }] }],
    },
  ]);
  t.match(await client.loadBalancers.regions.get('WEU', { account_id: account }), {
    regions: [{ region_code: 'WEU' }],
  });
  t.ok(await client.loadBalancers.regions.list({ account_id: account }));
  t.equal((await call('GET', `${base}/regions/MARS`)).status, 404);
  t.match(await call('GET', base), { status: 200, json: { result: [] } });
  t.match(await call('POST', base, {}), {
    ...{ status: 403 },
    json: { errors: [{ code: 1002, message: 'account load balancers are not available here' }] },
  });
  const several = await call('GET', '/user/load_balancers/pools');
  t.match(several, { status: 400, json: { errors: [{ code: 1002 }] } });
});

t.test('what a balancer answers, now and before, to whom', async (t) => {
  const { call, zone, other, pool } = world;
  const path = `/zones/${zone}/load_balancers`;
  const members = { name: 'why.balanced.test', default_pools: [pool], fallback_pool: pool };
  const { id } = (await call('POST', path, members)).json.result;
  const explain = (query: string) => call('GET', `${path}/${id}/explain?${query}`);
  const found = await explain('client=192.0.2.53&client_subnet=203.0.113.0/24&type=a');
  t.match(found.json.result, {
    ...{ name: 'why.balanced.test', type: 'A', at: null, policy: 'off', place: { by: 'server' }, rcode: 'NOERROR' },
    ...{ origins: [{ name: 'a', address: '198.51.100.1', verdict: 'chosen' }], client_subnet: { used: false } },
    ...{ answer: [/198\.51\.100\.1/], pools: [{ id: pool, verdict: 'chosen' }] },
  });
  for (const [query, message] of [
    ['type=MX', /type is not A or AAAA/],
    ['client=192.0.2.0/24', /is not an address/],
    ['client_subnet=x', /is not a network/],
    ['at=noon', /at is not an RFC 3339 time/],
    ['at=2001-01-01T00:00:00Z', /known only since/],
  ] as const) {
    t.match(await explain(query), { status: 400, json: { errors: [{ message }] } }, query);
  }
  t.equal((await call('GET', `/zones/${other}/load_balancers/${id}/explain`)).status, 404);
  await call('DELETE', `${path}/${id}`);
});

t.test('an account that is alone: older clients, limits of probes', async (t) => {
  const { call } = await install(t);
  const made = await call('POST', '/user/load_balancers/monitors', { type: 'https' });
  t.equal(made.status, 200, made.text);
  t.match((await call('GET', '/user/load_balancers/monitors')).json.result, [
    { id: made.json.result.id, type: 'https' },
  ]);
  const origins = Array.from({ length: 200 }, (_, i) => ({ name: `o${i}`, address: `198.51.100.${i + 1}` }));
  const monitor = made.json.result.id;
  for (let i = 0; i < 5; i++) {
    t.equal((await call('POST', '/user/load_balancers/pools', { name: `p${i}`, origins, monitor })).status, 200);
  }
  const more = await call('POST', '/user/load_balancers/pools', { name: 'p5', origins: origins.slice(0, 1), monitor });
  t.match(more, { status: 400, json: { errors: [{ code: 1002 }] } });
  t.equal(more.json.errors[0].message, 'the account has 1001 monitored origins, more than 1000: validation failed');
  const faster = await call('PUT', `/user/load_balancers/monitors/${monitor}`, { interval: 5, timeout: 1, retries: 0 });
  t.equal(faster.status, 200, '1,000 targets each 5 seconds are 200 a second');
});

const admin = () => ({ 'x-auth-email': 'admin@localhost', 'x-auth-key': 'k0123456789abcdef0123456789abcdef0123' });

async function all<Item>(pages: PromiseLike<AsyncIterable<Item>>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of await pages) items.push(item);
  return items;
}
