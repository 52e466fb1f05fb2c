/** What is said about the choice of a load balancer. */
import t from 'tap';
import { type BalancerQuestion, explainBalancer } from '../../src/explain/balancer.js';
import { findLoadBalancerById } from '../../src/store/balancing/load-balancers.js';
import { APEX, startBalancedZone } from '../support/balanced-zone.js';

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
    return explainBalancer(world.ctx, findLoadBalancerById(world.ctx.store, id)!, { type: 'A', ...question });
  };
  await world.health('c', 'o', true);
  const found = explain();
  t.strictSame(found.steps, [
    'The pools to choose from, in order: a, b, c.',
    'Pool a: critical.',
    'Pool b: disabled.',
    'Pool c is chosen.',
  ]);
  t.strictSame(
    found.pools.map(({ name, verdict }) => `${name}: ${verdict}`),
    [...['a: critical', 'b: disabled', 'c: chosen', 'd: not considered']],
  );
  t.match(found, { name: `www.${APEX}`, policy: 'off', rcode: 'NOERROR', answer: [/192\.0\.2\.3/] });
  await world.health('c', 'o', false);
  t.match(explain(), { steps: [/./, /./, /./, /./, /fallback pool d, whatever its health/], answer: [/192\.0\.2\.4/] });
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
  const french = explain({ client: '198.51.100.0/24', country: 'FR' });
  t.match(french, { policy: 'geo', place: { country: 'FR', region: 'WEU' }, answer: [/192\.0\.2\.3/] });
  t.match(explain({ region: 'OC', pop: 'SYD' }), { place: { pop: 'SYD', region: 'OC' }, answer: [/192\.0\.2\.4/] });
  t.throws(() => explain({ client: 'nobody' }), { message: /is no network/ });

  await world.balancer('www', {
    default_pools: [a],
    fallback_pool: d,
    rules: [{ name: 'r', condition: '', fixed_response: {} }],
  });
  t.match(explain(), { steps: ['Rule 0 holds.', /fixed response/], answer: [] });
  await world.balancer('www', { default_pools: [a], fallback_pool: d, proxied: true });
  t.match(explain(), { steps: [/proxied/], answer: [/198\.51\.100\.250/] });
  await world.balancer('www', { default_pools: [a], fallback_pool: d, enabled: false });
  t.match(explain(), { steps: [/disabled/], answer: [] });
});
