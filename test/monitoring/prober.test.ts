/** What is probed when, and what is told and stored of it. */
import t from 'tap';
import { poolOf } from '../../src/balancing/pool.js';
import { recordTransitions } from '../../src/monitoring/record.js';
import { createSchedule, nextDue } from '../../src/monitoring/schedule.js';
import { healthOfPool } from '../../src/serving/pool-health.js';
import { healthEventsOfAccount } from '../../src/store/balancing/health-events.js';
import { originStatesOfPool } from '../../src/store/balancing/origin-states.js';
import { findPool } from '../../src/store/balancing/pools.js';
import { egressTo } from '../support/egress.js';
import { latestEvents } from '../support/rows.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { startMonitoringWorld, startOrigin } from './world.js';

t.test('an origin fails, comes back, and a restart changes nothing', async (t) => {
  const world = await startMonitoringWorld(t);
  const { store, clock, pass } = world;
  const origin = await startOrigin(t);
  const monitor = await world.monitor({ interval: 60, consecutive_down: 2, consecutive_up: 2, port: origin.port });
  const pool = await world.pool('one', monitor, { origins: [{ name: 'a', address: '127.0.0.1' }] });
  const stored = () => originStatesOfPool(store, pool).map(({ healthy, failure_reason: why }) => [healthy, why]);
  const stateNow = () => {
    const row = findPool(store, pool)!;
    return healthOfPool(store, row, poolOf(row))?.state;
  };
  t.equal(stateNow(), 'unknown');
  const prober = world.startProber();
  await pass(1000, origin);
  await prober.idle();
  t.strictSame(stored(), [[1, 'No failures']], 'the first result decides, within a second');
  t.equal(stateNow(), 'healthy');
  origin.status = 500;
  await pass(70_000, origin);
  t.equal(prober.told.length, 1, 'one failure is not enough');
  await pass(70_000, origin);
  await prober.idle();
  t.strictSame(stored(), [[0, 'Response code mismatch error']]);
  t.equal(stateNow(), 'critical');
  const events = healthEventsOfAccount(store, 1, { since: 0, until: clock.nowUs() + 1 }, 10);
  t.strictSame(
    events.map((event) => [event.pool_name, event.pool_healthy, event.pool_changed, JSON.parse(event.origins)]),
    [
      ['one', 0, 1, [told(false, 'Response code mismatch error')]],
      ['one', 1, 1, [told(true, 'No failures')]],
    ],
  );
  const [event] = latestEvents(store, 1);
  t.match(event, { kind: 'pool.health', name: 'one', account: 1, source: 'service' });
  prober.close();

  const again = world.startProber(12);
  await pass(61_000, origin);
  t.strictSame(again.told, [], 'what is stored is what it knows');
  t.strictSame(stored(), [[0, 'Response code mismatch error']]);
  origin.status = 200;
  clock.putBack(86_400_000);
  await pass(70_000, origin);
  await pass(70_000, origin);
  await again.idle();
  t.strictSame(stored(), [[1, 'No failures']], 'also after the clock was put back');
  t.match(
    again.samples().find(({ name, labels }) => name === 'probe_targets' && labels['state'] === 'healthy'),
    {
      value: 1,
    },
  );
});

const told = (healthy: boolean, failure_reason: string) => ({
  ...{ name: 'a', address: '127.0.0.1', ip: '127.0.0.1', enabled: true, healthy, changed: true },
  failure_reason,
});

t.test('pools share probes', async (t) => {
  const world = await startMonitoringWorld(t);
  const { store, pass } = world;
  const origin = await startOrigin(t);
  const monitor = await world.monitor({ interval: 60, port: origin.port });
  const members = (name: string) => ({ origins: [{ name, address: '127.0.0.1' }] });
  const pools = [await world.pool('one', monitor, members('a')), await world.pool('two', monitor, members('b'))];
  const prober = world.startProber();
  await pass(1000, origin);
  await prober.idle();
  t.equal(origin.asked, 1);
  t.strictSame(
    pools.map((pool) => originStatesOfPool(store, pool).length),
    [1, 1],
  );
  const third = await world.pool('three', monitor, members('c'));
  prober.look();
  await pass(30);
  await prober.idle();
  t.equal(origin.asked, 1);
  t.match(originStatesOfPool(store, third), [{ origin: 'c', healthy: 1 }], 'one more pool knows at once');
  t.match(prober.lastOf(third), [{ origin: 'c', healthy: true, reason: 'No failures', responseCode: 200 }]);

  // Another path is another question, but what is known stays.
  origin.status = 404;
  await world.editMonitor(monitor, { interval: 60, port: origin.port, path: '/health', consecutive_down: 3 });
  prober.look();
  await pass(1000, origin);
  t.equal(origin.asked, 2, 'asked within a second');
  t.strictSame(
    pools.map((pool) => originStatesOfPool(store, pool)[0]?.healthy),
    [1, 1],
  );
  await world.editPool(third, 'three', monitor, { enabled: false, origins: [] });
  for (const seq of pools) await world.editPool(seq, `pool ${seq}`, null, members('a'));
  prober.look();
  world.clock.advance(200_000);
  t.equal(origin.asked, 2, 'and no more when no pool is left');
});

t.test('what is told of what is gone is dropped, and 100,000 transitions leave no more than is kept', async (t) => {
  const world = await startMonitoringWorld(t);
  const { store, base, clock } = world;
  const monitor = await world.monitor({ interval: 60, port: 80 });
  const pool = await world.pool('one', monitor, { origins: [{ name: 'a', address: '127.0.0.1' }] });
  const options = { node: { region: '', node: '' }, living: undefined };
  const one = { pool, origin: 'a', monitor, healthy: true, reason: 'No failures', responseCode: 200, rttMs: 3 };
  const record = (...transitions: (typeof one)[]) => recordTransitions(base, options, transitions);
  const before = store.position().number;
  t.strictSame(await record({ ...one, pool: 99 }), []);
  t.strictSame(await record({ ...one, origin: 'b' }), []);
  t.strictSame(await record({ ...one, monitor: 99 }), []);
  t.equal(store.position().number, before, 'nothing is written');
  t.equal((await record(one)).length, 1);
  t.equal((await record(one)).length, 0, 'it is not a change');
  const events = () => healthEventsOfAccount(store, 1, { since: 0, until: clock.nowUs() + 1 }, 100);
  const many = Array.from({ length: 100_000 }, (_, i) => ({ ...one, healthy: i % 2 === 0 }));
  await record(...many);
  t.equal(originStatesOfPool(store, pool).length, 1);
  t.equal(events().length, 2, 'transitions of one write are one event');
});

t.test('endless edits do not keep probes waiting', async (t) => {
  const world = await startMonitoringWorld(t);
  const { clock, reader } = world;
  // A plan takes a second.
  let tookUs = 0;
  const slow: typeof reader = Object.create(reader, {
    snapshot: {
      value: <Result>(read: () => Result) => {
        tookUs += 1_000_000;
        return reader.snapshot(read);
      },
    },
  });
  const late: typeof clock = Object.create(clock, { steadyUs: { value: () => clock.steadyUs() + tookUs } });
  const prober = world.startProber(11, { clock: late, store: slow });
  const targets = (): number =>
    prober
      .samples()
      .filter(({ name }) => name === 'probe_targets')
      .reduce((sum, { value }) => sum + value, 0);
  const monitor = await world.monitor({ interval: 60, port: 80 });
  let pools = 0;
  const edit = () => world.pool(`p${++pools}`, monitor, { origins: [{ name: 'a', address: `127.0.0.${pools}` }] });
  clock.advance(6000);
  await edit();
  prober.look();
  t.equal(targets(), 1);
  for (let i = 0; i < 4; i++) {
    await edit();
    prober.look();
    clock.advance(1000);
  }
  t.equal(targets(), 1, 'it rests five times as long as it planned');
  clock.advance(1001);
  prober.look();
  t.equal(targets(), 5, 'and misses nothing');
});

t.test('origins that were new together are not probed together again', async (t) => {
  const world = await startMonitoringWorld(t);
  const monitor = await world.monitor({ interval: 60, port: 80 });
  const origins = Array.from({ length: 100 }, (_, i) => ({ name: `o${i}`, address: `127.0.0.${i + 1}` }));
  await world.pool('one', monitor, { origins });
  // Every probe fails at once: none of these addresses may be asked.
  const prober = world.startProber(11, { egress: egressTo(world.clock, []) });
  const made = async (seconds: number): Promise<number> => {
    for (let second = 0; second < seconds; second++) {
      world.clock.advance(1000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return prober.samples().find(({ name }) => name === 'probe_failures_total')?.value ?? 0;
  };
  t.equal(await made(1), 100, 'what is new is probed within a second');
  const half = (await made(30)) - 100;
  t.ok(half > 30 && half < 70, `${half} of 100 in half an interval`);
});

t.test('probes are spread over their interval', async (t) => {
  const clock = new TestClock();
  const random = seededRandom(3);
  const due = new Map<number, number>();
  const bins: number[] = new Array(180).fill(0);
  const startMs = clock.nowMs();
  const schedule = createSchedule<number>(clock, (item) => {
    bins[Math.floor((clock.nowMs() - startMs) / 1000)]! += 1;
    const next = nextDue(due.get(item)!, 60_000, clock.nowMs(), random);
    due.set(item, next);
    schedule.set(item, next);
  });
  t.teardown(() => schedule.close());
  const nowMs = clock.steadyUs() / 1000;
  // All at once, as after a long pause: what was once together does not stay together.
  for (let item = 0; item < 300; item++) {
    due.set(item, nowMs + item);
    schedule.set(item, nowMs + item);
  }
  schedule.set(0, nowMs + 50);
  schedule.remove(1);
  t.equal(schedule.size, 299);
  clock.advance(179_000);
  const total = bins.reduce((sum, count) => sum + count, 0);
  t.ok(total >= 299 * 3 && total < 299 * 3.7, String(total));
  t.ok(Math.max(...bins.slice(50, 120)) < 299 / 4, 'spread over 12 seconds after one round');
  const late = nextDue(nowMs - 600_000, 60_000, nowMs, random);
  t.ok(late > nowMs && late <= nowMs + 60_000, 'what is late is not made up for');
});
