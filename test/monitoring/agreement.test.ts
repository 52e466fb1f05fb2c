/** Nodes of a cluster agree: what each finds is stored, and what the majority of those that live says is what counts. */
import t from 'tap';
import { poolOf } from '../../src/balancing/pool.js';
import { recordAgreement, recordTransitions } from '../../src/monitoring/record.js';
import { healthOfPool } from '../../src/serving/pool-health.js';
import { healthEventsOfAccount } from '../../src/store/balancing/health-events.js';
import { originStatesOfPool } from '../../src/store/balancing/origin-states.js';
import { findPool } from '../../src/store/balancing/pools.js';
import { startMonitoringWorld } from './world.js';

t.test('three nodes in two regions', async (t) => {
  const world = await startMonitoringWorld(t);
  const { base, store, clock } = world;
  const monitor = await world.monitor({ interval: 60, port: 80 });
  const pool = await world.pool('one', monitor, { origins: [{ name: 'a', address: '127.0.0.1' }] });
  const all = new Set(['n1', 'n2', 'n3']);
  const regions: Record<string, string> = { n1: 'WEU', n2: 'WEU', n3: 'ENAM' };
  const find = (node: string, healthy: boolean, living: ReadonlySet<string> = all) => {
    const reason = healthy ? 'No failures' : 'TCP Timeout';
    const found = { pool, origin: 'a', monitor, healthy, reason, responseCode: undefined, rttMs: 10 };
    return recordTransitions(base, { node: { node, region: regions[node]! }, living }, [found]);
  };
  const agreed = () => {
    const row = findPool(store, pool)!;
    return healthOfPool(store, row, poolOf(row))?.origins.get('a');
  };
  const events = () => healthEventsOfAccount(store, 1, { since: 0, until: clock.nowUs() + 1 }, 100).length;
  await find('n1', true);
  t.equal(agreed(), 'healthy', 'one that says something is the majority');
  await find('n2', true);
  await find('n3', true);
  t.equal(events(), 1, 'that others say the same is not an event');
  await find('n1', false);
  t.equal(agreed(), 'healthy', 'half of a region changes nothing');
  t.equal(events(), 1);
  await find('n3', false);
  t.equal(agreed(), 'healthy', 'nor does one of two regions');
  await find('n2', false);
  t.equal(agreed(), 'unhealthy');
  t.equal(events(), 2);
  t.match(
    originStatesOfPool(store, pool).map(({ node, region, healthy }) => [node, region, healthy]),
    [
      ['', '', 0],
      ['n3', 'ENAM', 0],
      ['n1', 'WEU', 0],
      ['n2', 'WEU', 0],
    ],
  );
  await find('n3', true);
  t.equal(agreed(), 'unhealthy');
  const changes = await recordAgreement(base, new Set(['n3']));
  t.match(changes, [{ poolName: 'one', state: 'healthy', origins: [{ name: 'a', healthy: true }] }]);
  t.equal(agreed(), 'healthy', 'of those that are gone nobody hears any more');
  const before = store.position().number;
  t.strictSame(await recordAgreement(base, new Set(['n3'])), []);
  t.equal(store.position().number, before, 'nothing is written when nothing changes');
  await recordAgreement(base, all);
  t.equal(agreed(), 'healthy', 'a tie of the regions changes nothing when they are back');
  t.strictSame(await recordAgreement(base, new Set()), [], 'without anybody, what was agreed stays');
  t.equal(agreed(), 'healthy');
  await recordAgreement(base, new Set(['n2']));
  t.equal(agreed(), 'unhealthy');
  regions['n1'] = 'SAS';
  await find('n1', true, new Set(['n1']));
  t.equal(agreed(), 'healthy', 'a node that has moved has one vote, the newest');
});
