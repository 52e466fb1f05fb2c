/** A node that cannot store what it finds: what counts there after a minute, and when it can again. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { keepOwnHealth } from '../../src/monitoring/own-health.js';
import type { Transition } from '../../src/monitoring/prober.js';
import { recordTransitions } from '../../src/monitoring/record.js';
import { createHealthSource } from '../../src/serving/health-source.js';
import { startMonitoringWorld } from './world.js';

t.test('what was agreed counts for a minute, and then what this node finds', async (t) => {
  const world = await startMonitoringWorld(t);
  const { base, store, clock } = world;
  const monitor = await world.monitor({ interval: 60, port: 80 });
  const origins = ['a', 'b', 'c'].map((name) => ({ name, address: '127.0.0.1' }));
  const pool = await world.pool('one', monitor, { origins });
  const other = await world.pool('two', monitor, { origins });
  const found = (origin: string, healthy: boolean, of = pool): Transition => ({
    ...{ pool: of, origin, monitor, healthy, reason: 'No failures', responseCode: undefined, rttMs: 5 },
  });
  const record = (node: string, ...transitions: Transition[]) =>
    recordTransitions(base, { node: { node, region: '' }, living: new Set(['n1', 'n2', 'n3']) }, transitions);
  // Two nodes find a and b healthy, this one finds that a is not.
  await record('n2', found('a', true), found('b', true), found('a', true, other));
  await record('n3', found('a', true), found('b', true));
  await record('n1', found('a', false), found('b', true));

  const source = createHealthSource(store);
  const healthy = () => [...source.ofPool(pool).healthy].sort().join('');
  const logged: string[] = [];
  const log = Object.assign(silentLogger(), { warn: (_: unknown, text: string) => void logged.push(text) });
  let [isAway, unwritten] = [false, [] as Transition[]];
  const keeper = keepOwnHealth({
    ...{ store, clock, log, node: 'n1', isAway: () => isAway, unwritten: () => unwritten },
  });
  t.teardown(() => keeper.close());
  clock.advance(120_000);
  t.equal(healthy(), 'ab', 'as agreed');
  isAway = true;
  unwritten = [found('b', false), found('c', true)];
  clock.advance(2500);
  const version = source.version();
  clock.advance(55_000);
  t.equal(healthy(), 'ab', 'for a minute as agreed');
  t.equal(source.version(), version);
  t.equal(keeper.isUsed(), false);
  clock.advance(10_000);
  t.not(source.version(), version, 'who follows looks again');
  t.match(source.after(source.last(), 10), { pools: [pool] }, 'only pools that are otherwise');
  t.equal(healthy(), 'c');
  t.equal(source.ofPool(other).healthy.size, 1, 'of which nothing was found here stays');
  t.equal(keeper.isUsed(), true);
  unwritten = [found('c', true)];
  clock.advance(2500);
  t.match(source.after(source.last(), 10), { pools: [pool] });
  t.equal(healthy(), 'bc');
  isAway = false;
  clock.advance(2500);
  t.match(source.after(source.last(), 10), { pools: [pool] });
  t.equal(healthy(), 'ab', 'what was agreed counts again');
  t.equal(keeper.isUsed(), false);
  t.match(logged, [/what this node finds/, /counts again/]);
  isAway = true;
  clock.advance(70_000);
  t.equal(keeper.isUsed(), true);
  keepOwnHealth({ ...{ store, clock, log, node: 'n1', isAway: () => false, unwritten: () => [] } }).close();
  source.after(source.last(), 10);
  t.equal(healthy(), 'ab', 'a new process begins with what was agreed');
  writeFileSync(join(dirname(store.path), 'own-health.json'), '[[1,["a');
  t.doesNotThrow(() => source.after(source.last(), 10), 'what a power failure has left');
  t.equal(healthy(), 'ab');
});
