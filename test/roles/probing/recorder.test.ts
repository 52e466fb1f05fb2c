/** What is found about origins is stored in turns by account. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import type { Transition } from '../../../src/monitoring/prober.js';
import { createRecorder } from '../../../src/roles/probing/recorder.js';
import { createWaitingTransitions } from '../../../src/roles/probing/waiting-transitions.js';
import { findAccountById } from '../../../src/store/access/accounts.js';
import { healthEventsAfter } from '../../../src/store/balancing/health-events.js';
import { insertMonitor, monitorsOfAccount } from '../../../src/store/balancing/monitors.js';
import { originStatesOfPool } from '../../../src/store/balancing/origin-states.js';
import { insertPool, poolsOfAccount } from '../../../src/store/balancing/pools.js';
import { startMonitoringWorld } from '../../monitoring/world.js';
import { until } from '../../support/until.js';

const POOLS = 12;
const ORIGINS = 100;

t.test('an account whose origins come and go does not delay another', async (t) => {
  const world = await startMonitoringWorld(t);
  const { base, store, clock, operator } = world;
  const { id } = await createAccount(operator, { name: 'quiet' });
  const quiet = findAccountById(store, Buffer.from(id, 'hex'))!.seq;
  const origins = Array.from({ length: ORIGINS }, (_, i) => ({ name: `o${i}`, address: `127.0.1.${i}` }));
  const monitor = await world.monitor({ interval: 60, port: 80 });
  const pools: number[] = [];
  for (let i = 0; i < POOLS; i++) pools.push(await world.pool(`p${i}`, monitor, { origins }));
  await store.write(() => {
    insertMonitor(store, Buffer.alloc(16, 1), quiet, { settings: '{}', interval: 60 }, 1);
    const own = { name: 'own', name_key: 'own', monitor: monitorsOfAccount(store, quiet)[0]!.seq, monitor_group: null };
    const settings = JSON.stringify({ name: 'own', monitor: 'x', origins });
    insertPool(store, Buffer.alloc(16, 2), quiet, { ...own, settings, targets: 1 }, 1);
  });
  const own = poolsOfAccount(store, quiet)[0]!;
  const transition = (pool: number, origin: string, healthy = false): Transition => ({
    ...{ pool, origin, monitor: pool === own.seq ? own.monitor! : monitor, healthy, responseCode: undefined, rttMs: 1 },
    reason: healthy ? 'No failures' : 'TCP Timeout',
  });
  const recorder = createRecorder({ base, node: { region: '', node: '' } });
  t.teardown(() => recorder.close());
  recorder.take(pools.flatMap((pool) => origins.map(({ name }) => transition(pool, name))));
  recorder.take([transition(own.seq, 'o0'), transition(own.seq, 'o1')]);
  // For each origin, the last result counts.
  recorder.take([transition(pools.at(-1)!, 'o7', true)]);
  t.equal(recorder.unwritten().length, POOLS * ORIGINS + 2);
  await until(() => {
    clock.advance(10);
    return recorder.unwritten().length === 0;
  }, 'everything is stored');
  const order = healthEventsAfter(store, 0, 1000).map(({ account }) => account);
  t.equal(order.length, POOLS + 1);
  t.ok(order.indexOf(quiet) <= 4, `after ${order.indexOf(quiet)} pools of the other`);
  const states = originStatesOfPool(store, pools.at(-1)!);
  t.strictSame(
    states.filter(({ healthy }) => healthy === 1).map(({ origin }) => origin),
    ['o7'],
  );
});

t.test('what could not be stored comes first again, below what is newer', async (t) => {
  const waiting = createWaitingTransitions((pool) => pool);
  const of = (pool: number, origin: string, rttMs: number): Transition => ({
    ...{ pool, origin, monitor: 1, healthy: true, reason: 'No failures', responseCode: undefined, rttMs },
  });
  for (const one of [of(1, 'a', 1), of(1, 'b', 2), of(2, 'a', 3)]) waiting.add(one);
  const taken = waiting.take(10);
  t.equal(waiting.size, 0);
  for (const one of [of(3, 'a', 4), of(1, 'b', 5)]) waiting.add(one);
  waiting.putBack(taken);
  t.equal(waiting.list().length, 4);
  const next = () =>
    waiting.take(1).map(({ pool, transitions }) => [pool, [...transitions.values()].map(({ rttMs }) => rttMs)]);
  t.strictSame([next(), next(), next()].flat(), [
    [2, [3]],
    [3, [4]],
    [1, [1, 5]],
  ]);
  t.equal(waiting.size, 0);
});
