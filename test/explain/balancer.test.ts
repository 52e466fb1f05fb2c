/** What is said about the choice of a load balancer. */
import t from 'tap';
import { fromHex, toHex } from '../../src/base/bytes.js';
import { createLoadBalancer, editLoadBalancer } from '../../src/control/balancing/load-balancers.js';
import { createMonitor } from '../../src/control/balancing/monitors.js';
import { createPool, editPool } from '../../src/control/balancing/pools.js';
import { type BalancerQuestion, explainBalancer } from '../../src/explain/balancer.js';
import { recordTransitions } from '../../src/monitoring/record.js';
import { findAccount } from '../../src/store/access/accounts.js';
import { findLoadBalancerById } from '../../src/store/balancing/load-balancers.js';
import { findPoolById } from '../../src/store/balancing/pools.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { APEX, startBalancedZone } from '../support/balanced-zone.js';
import type { TestClock } from '../support/test-clock.js';
import { runSql } from '../support/write-now.js';

t.test('each step, and why', async (t) => {
  const world = await startBalancedZone(t);
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(world.idOf) as [string, string, string, string];
  for (const [letter, address] of [
    ['a', '192.0.2.1'],
    ['b', '192.0.2.2'],
    ['c', '192.0.2.3'],
    ['d', '192.0.2.4'],
  ] as const) {
    await world.pool(letter, [{ name: 'o', address }], letter === 'b' ? { enabled: false } : {});
  }
  await world.balancer('www', { default_pools: [a, b, c], fallback_pool: d, ttl: 60 });
  const explain = (question: Partial<BalancerQuestion> = {}) => {
    const id = Buffer.alloc(16);
    id.write('www');
    const row = findLoadBalancerById(world.ctx.store, id)!;
    return explainBalancer(world.ctx, row, { type: 'A', ...question }, { region: '', pop: '', places: undefined });
  };
  await world.health('c', 'o', true);
  const found = explain();
  t.strictSame(found.steps, [
    'The pools to choose from, in order: a, b, c.',
    'Pool a: critical.',
    'Pool b: disabled.',
    'Pool c is chosen: it is the first of them that takes traffic.',
    'Origin o, 192.0.2.3: the only one.',
  ]);
  t.strictSame(found.origins, [{ name: 'o', address: '192.0.2.3', weight: 1, verdict: 'chosen' }]);
  t.strictSame(
    found.pools.map(({ name, verdict }) => `${name}: ${verdict}`),
    [...['a: critical', 'b: disabled', 'c: chosen', 'd: not considered']],
  );
  t.match(found, { name: `www.${APEX}`, policy: 'off', rcode: 'NOERROR', answer: [/192\.0\.2\.3/] });
  await world.health('c', 'o', false);
  t.match(explain(), {
    steps: [
      /./,
      /./,
      /./,
      /./,
      /fallback pool d is used, whatever its health/,
      /o, 192\.0\.2\.4: the only one, although not/,
    ],
    answer: [/192\.0\.2\.4/],
  });
  t.match(explain({ type: 'AAAA' }).steps.at(-1), /no data/);
  t.strictSame(explain({ type: 'AAAA' }).answer, []);

  await world.balancer('www', {
    ...{
      default_pools: [a],
      fallback_pool: d,
      steering_policy: 'geo',
      country_pools: { FR: [c] },
      region_pools: { OC: [d] },
    },
    location_strategy: { prefer_ecs: 'geo' },
  });
  await world.health('c', 'o', true);
  const french = explain({ subnet: '198.51.100.0/24', country: 'FR' });
  t.match(french, {
    ...{ policy: 'geo', place: { country: 'FR', region: 'WEU', by: 'client_subnet' }, answer: [/192\.0\.2\.3/] },
    ...{ clientSubnet: { asked: '198.51.100.0/24', used: true } },
    steps: [/in FR, WEU, according to its client subnet/, /are those of the country FR, in order: c/, /./, /./],
  });
  t.match(explain({ region: 'OC', pop: 'SYD' }), { place: { pop: 'SYD', region: 'OC' }, answer: [/192\.0\.2\.4/] });
  t.throws(() => explain({ subnet: 'nobody' }), { message: /is not a network/ });
  t.throws(() => explain({ client: '192.0.2.0/24' }), { message: /is not an address/ });
  t.throws(() => explain({ country: 'FR' }), { message: /needs an address or a client subnet/ });

  await world.balancer('www', {
    default_pools: [a],
    fallback_pool: d,
    rules: [{ name: 'r', condition: '', fixed_response: {} }],
  });
  t.match(explain(), { steps: [/./, 'Rule r holds.', /fixed response/], answer: [] });
  await world.balancer('www', { default_pools: [a], fallback_pool: d, proxied: true });
  t.match(explain(), { steps: [/proxied/], answer: [/198\.51\.100\.250/] });
  await world.balancer('www', { default_pools: [a], fallback_pool: d, enabled: false });
  t.match(explain(), { steps: [/disabled/], answer: [] });
});

t.test('who asks from where, and among which origins', async (t) => {
  const world = await startBalancedZone(t);
  const origins = [1, 2, 3].map((last) => ({
    name: `o${last}`,
    address: `192.0.2.${last}`,
    weight: last === 3 ? 0 : 1,
  }));
  await world.pool('a', [
    ...origins,
    { name: 'six', address: '2001:db8::1' },
    { name: 'off', address: '192.0.2.9', enabled: false },
  ]);
  await world.pool('b', [{ name: 'p', address: '192.0.2.77' }], { latitude: 50, longitude: 8 }, false);
  const [a, b] = [world.idOf('a'), world.idOf('b')];
  const location = { location_strategy: { mode: 'resolver_ip' }, steering_policy: 'geo', country_pools: { DE: [b] } };
  await world.balancer('www', { default_pools: [a], fallback_pool: a, ...location });
  for (const { name } of [...origins, { name: 'six' }]) await world.health('a', name, name !== 'o2');
  const id = Buffer.alloc(16);
  id.write('www');
  const networks = '198.51.100.0/24 DE\n';
  const here = { region: 'WNAM', pop: 'SFO', places: { version: 1, networks } };
  const explain = (question: Partial<BalancerQuestion> = {}) =>
    explainBalancer(world.ctx, findLoadBalancerById(world.ctx.store, id)!, { type: 'A', ...question }, here);
  const found = explain({ client: '203.0.113.5' });
  t.match(found, { place: { region: 'WNAM', pop: 'SFO', by: 'server' }, clientSubnet: null, at: null });
  t.match(found.steps, [
    /taken to be where this server is: SFO, WNAM/,
    /are the default pools, in order: a/,
    /./,
    /o1, 192\.0\.2\.1: the only one/,
  ]);
  t.strictSame(
    found.origins.map(({ name, verdict }) => `${name} ${verdict}`),
    ['o1 chosen', 'o2 unhealthy', 'o3 no weight', 'six another family', 'off disabled'],
  );
  t.match(explain({ client: '198.51.100.5' }), { place: { country: 'DE', by: 'address' }, answer: [/192\.0\.2\.77/] });
  await world.balancer('www', { default_pools: [a, b], fallback_pool: a, ...location, steering_policy: 'proximity' });
  t.match(
    explain({ client: '198.51.100.5' }).steps.at(-2),
    /the location of the asker is not known, so it is the first/,
  );
});

t.test('at a moment that is over', async (t) => {
  const world = await startBalancedZone(t);
  const { ctx } = world;
  const account = toHex(findAccount(ctx.store, findZoneByName(ctx.store, APEX)!.account)!.id);
  const monitor = await createMonitor(ctx, account, { type: 'tcp', port: 80 });
  const origins = ['x', 'y'].map((name, i) => ({ name, address: `192.0.2.${i + 1}` }));
  const pool = await createPool(ctx, account, { name: 'p', origins, monitor: monitor.id });
  const tick = (): number => {
    (ctx.clock as TestClock).advance(60_000);
    return ctx.clock.nowUs();
  };
  const become = (origin: string, healthy: boolean) => {
    const transition = { origin, healthy, reason: 'TCP Timeout', responseCode: undefined, rttMs: 1 };
    const { seq, monitor: probed } = findPoolById(ctx.store, fromHex(pool.id)!)!;
    const node = { node: '', region: '' };
    return recordTransitions(ctx, { node, living: undefined }, [{ ...transition, pool: seq, monitor: probed! }]);
  };
  const [never, before] = [tick(), tick()];
  await tick();
  const members = { name: `w.${APEX}`, default_pools: [pool.id], fallback_pool: pool.id };
  const { id } = await createLoadBalancer(ctx, world.zoneId, members);
  await become('x', true);
  await become('y', false);
  const first = tick();
  tick();
  await become('x', false);
  await become('y', true);
  const second = tick();
  tick();
  await editPool(ctx, account, pool.id, { origins: [{ name: 'z', address: '192.0.2.3' }] });
  await editLoadBalancer(ctx, world.zoneId, id, { enabled: false });
  const third = tick();
  const row = findLoadBalancerById(ctx.store, fromHex(id)!)!;
  const at = (atUs: number) =>
    explainBalancer(ctx, row, { type: 'A', atUs }, { region: '', pop: '', places: undefined });
  t.match(at(first), {
    at: /Z$/,
    origins: [
      { name: 'x', verdict: 'chosen' },
      { name: 'y', verdict: 'unhealthy' },
    ],
  });
  t.match(at(second), {
    origins: [
      { name: 'x', verdict: 'unhealthy' },
      { name: 'y', verdict: 'chosen' },
    ],
    answer: [/192\.0\.2\.2/],
  });
  t.match(at(third), { steps: [/disabled/], answer: [] });
  for (const [moment, reason] of [
    [before, /was created at/],
    [never - 40 * 86_400_000_000, /health is known only since/],
    [ctx.clock.nowUs() + 60_000_000, /in the future/],
  ] as const) {
    t.throws(() => at(moment), { message: reason });
  }
  runSql(
    ctx.store,
    `INSERT INTO events (at_us, kind, account, actor, actor_kind, source, request_id)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
     SELECT ${ctx.clock.nowUs()}, 'record.create', ${row.account}, 'somebody', 'user', 'api', 'r' FROM n`,
  );
  t.match(at(ctx.clock.nowUs()), { steps: [/disabled/] });
  t.throws(() => at(second), { message: /more than 100000 changes/ }, 'nobody else would have a turn');
});
