/** Nodes of a cluster agree: what each finds is stored, and what the majority of those that live says is what counts. */
import t from 'tap';
import { poolOf } from '../../src/balancing/pool.js';
import { recordAgreement, recordTransitions } from '../../src/monitoring/record.js';
import { createHealthSource } from '../../src/serving/health-source.js';
import { healthOfPool } from '../../src/serving/pool-health.js';
import {
  appendHealthEvent,
  appendPoolNews,
  healthEventsAfter,
  healthEventsOfAccount,
} from '../../src/store/balancing/health-events.js';
import { originStatesOfPool } from '../../src/store/balancing/origin-states.js';
import { findPool } from '../../src/store/balancing/pools.js';
import { latestEvents } from '../support/rows.js';
import { startMonitoringWorld } from './world.js';

let world: Awaited<ReturnType<typeof startMonitoringWorld>>;

t.before(async () => {
  world = await startMonitoringWorld(t);
});

t.test('three nodes in two regions', async (t) => {
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
      ['', 'ENAM', 0],
      ['n3', 'ENAM', 0],
      ['', 'WEU', 0],
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

t.test('the health and the round trips of a region, and who is told', async (t) => {
  const { base, store, clock } = world;
  const monitor = await world.monitor({ interval: 60, port: 80 });
  const sources = { check_regions: ['WEU', 'ENAM'], health_sources: ['regional', 'global'] };
  const members = { origins: [{ name: 'a', address: '127.0.0.1' }], ...sources };
  const pool = await world.pool('regional', monitor, members);
  const living = new Set(['n1', 'n2']);
  const find = (node: string, region: string, healthy: boolean, rttMs: number) => {
    const reason = healthy ? ('No failures' as const) : ('TCP Timeout' as const);
    const found = { pool, origin: 'a', monitor, healthy, reason, responseCode: undefined, rttMs };
    return recordTransitions(base, { node: { node, region }, living }, [found]);
  };
  const isUpIn = (region: string) => createHealthSource(store, region).ofPool(pool).healthy.has('a');
  const timeIn = (region: string) => createHealthSource(store, region).ofPool(pool).roundTripUs;
  const transitions = () => healthEventsOfAccount(store, 1, { since: 0, until: clock.nowUs() + 1 }, 100);
  await find('n1', 'WEU', true, 10);
  await find('n2', 'ENAM', true, 90);
  t.strictSame([timeIn('WEU'), timeIn('ENAM'), timeIn('OC'), timeIn('')], [10_000, 90_000, 50_000, 50_000]);
  const source = createHealthSource(store, 'ENAM');
  const seen = source.last();
  const before = transitions().length;
  await find('n2', 'ENAM', false, 90);
  t.strictSame([isUpIn('WEU'), isUpIn('ENAM'), isUpIn('OC')], [true, false, true], 'the regions are tied');
  t.strictSame(source.after(seen, 10).pools, [pool], 'whoever follows learns of it');
  t.equal(transitions().length, before, 'what is agreed is as it was');
  const last = source.last();
  await find('n1', 'WEU', true, 40);
  t.strictSame(source.after(last, 10).pools, [pool], 'of other round trips too');
  t.equal(timeIn('WEU'), 40_000);
  const rows = healthEventsAfter(store, 0, 1000).length;
  for (let i = 1; i <= 20; i++) await find('n1', 'WEU', true, 40 + i);
  t.equal(healthEventsAfter(store, 0, 1000).length, rows, 'these leave one row of a pool');
  await recordAgreement(base, new Set(['n1']));
  t.strictSame([isUpIn('WEU'), isUpIn('ENAM')], [true, true], 'a region without nodes has what all agree on');
  await recordAgreement(base, living);
  t.strictSame([isUpIn('WEU'), isUpIn('ENAM')], [true, false]);
  await world.editPool(pool, 'regional', monitor, { ...members, health_sources: null });
  t.strictSame([isUpIn('WEU'), isUpIn('ENAM')], [true, true], 'unless it is asked for, what all agree on');
});

t.test('owners are told of what they want to be told of', async (t) => {
  const { base, store, clock } = world;
  const monitor = await world.monitor({ interval: 60, port: 80 });
  const origins = ['a', 'b'].map((name, i) => ({ name, address: `127.0.0.${i + 1}` }));
  const pool = await world.pool('filtered', monitor, { origins });
  const find = (origin: string, healthy: boolean) => {
    const reason = healthy ? ('No failures' as const) : ('TCP Timeout' as const);
    const found = { pool, origin, monitor, healthy, reason, responseCode: undefined, rttMs: 1 };
    return recordTransitions(base, { node: { node: '', region: '' }, living: undefined }, [found]);
  };
  /** What is reported when each origin fails and comes back: the state of the pool, and origins. */
  const toldWith = async (filter: object | null) => {
    await world.editPool(pool, 'filtered', monitor, { origins, notification_filter: filter });
    const before = latestEvents(store, 1)[0]?.seq ?? 0;
    for (const healthy of [false, true]) for (const { name } of origins) await find(name, healthy);
    return latestEvents(store, 10)
      .filter(({ seq, kind }) => seq > before && kind === 'pool.health')
      .map(({ after }) => JSON.parse(after!) as { state: string; origins: { name: string; healthy: boolean }[] })
      .map(({ state, origins }) => `${state} ${origins.map(({ name, healthy }) => `${name}${healthy ? '+' : '-'}`)}`)
      .reverse();
  };
  for (const { name } of origins) await find(name, true);
  const all = ['degraded a-', 'critical b-', 'degraded a+', 'healthy b+'];
  t.strictSame(await toldWith(null), all);
  t.strictSame(await toldWith({ pool: { disable: false, healthy: null }, origin: {} }), all);
  t.strictSame(await toldWith({ origin: { healthy: false } }), ['degraded a-', 'critical b-', 'degraded ']);
  t.strictSame(await toldWith({ origin: { disable: true } }), ['critical ', 'degraded ']);
  t.strictSame(await toldWith({ origin: { disable: true }, pool: { healthy: false } }), ['critical ']);
  t.strictSame(await toldWith({ origin: { disable: true }, pool: { disable: true } }), []);
  const seen = healthEventsOfAccount(store, 1, { since: 0, until: clock.nowUs() + 1 }, 100);
  t.equal(seen.filter(({ pool_name }) => pool_name === 'filtered').length, 26, 'all of it is in the list of events');
});

t.test(
  'a row that is not a transition replaces the one before, without looking through all rows of a pool',
  async (t) => {
    const { store, clock } = world;
    const pool = new Uint8Array(16).fill(7);
    const row = {
      ...{ at_us: clock.nowUs(), account: 1, pool, pool_name: 'often', pool_healthy: 1, minimum_origins: 1 },
    };
    const news = () =>
      healthEventsAfter(store, 0, 1000).filter((one) => one.pool[0] === 7 && one.origins === '[]').length;
    await store.write(() => {
      for (let i = 0; i < 3; i++) appendPoolNews(store, row);
    });
    t.equal(news(), 1);
    await store.write(() => {
      for (let i = 0; i < 100; i++) appendHealthEvent(store, { ...row, pool_changed: 1, origins: '[]' });
    });
    const before = news();
    await store.write(() => appendPoolNews(store, row));
    t.equal(news(), before + 1, 'behind a hundred transitions, it stays');
  },
);
