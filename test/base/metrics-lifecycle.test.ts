/** Metrics as text, and stopping parts in reverse order with a time limit. */
import t from 'tap';
import { createLifecycle, withLimit } from '../../src/base/lifecycle.js';
import { createLogger, silentLogger } from '../../src/base/log.js';
import { createHistogram, type MetricSample, printMetrics } from '../../src/base/metrics.js';
import { TestClock } from '../support/test-clock.js';

t.test('a histogram', async (t) => {
  const histogram = createHistogram('wait_seconds', 'Waiting', [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value, { method: 'GET' });
  histogram.observe(1, { method: 'PUT' });
  const text = await printMetrics(histogram.samples());
  t.match(text, '# TYPE zoneplane_wait_seconds histogram');
  t.strictSame(
    text.split('\n').filter((line) => line.includes('GET')),
    [
      'zoneplane_wait_seconds_bucket{method="GET",le="0.1"} 2',
      'zoneplane_wait_seconds_bucket{method="GET",le="1"} 3',
      'zoneplane_wait_seconds_bucket{method="GET",le="+Inf"} 4',
      'zoneplane_wait_seconds_sum{method="GET"} 7.65',
      'zoneplane_wait_seconds_count{method="GET"} 4',
    ],
  );
  t.match(text, 'zoneplane_wait_seconds_bucket{method="PUT",le="1"} 1');
});

t.test('samples of a name are grouped under one HELP and TYPE', async (t) => {
  const sample = (name: string, value: number, labels = {}): MetricSample => ({
    name,
    type: name.endsWith('_total') ? 'counter' : 'gauge',
    help: `About\n${name}`,
    labels,
    value,
  });
  const text = await printMetrics([
    sample('queries_total', 1, { transport: 'udp' }),
    sample('zones', 3),
    sample('queries_total', 2, { transport: 'a"b\\c\nd' }),
    sample('broken', Number.NaN),
  ]);
  t.equal(
    text,
    [
      '# HELP zoneplane_queries_total About\\nqueries_total',
      '# TYPE zoneplane_queries_total counter',
      'zoneplane_queries_total{transport="udp"} 1',
      'zoneplane_queries_total{transport="a\\"b\\\\c\\nd"} 2',
      '',
      '# HELP zoneplane_zones About\\nzones',
      '# TYPE zoneplane_zones gauge',
      'zoneplane_zones 3',
      '',
    ].join('\n'),
  );
});

t.test('the latest is stopped first, one after the other, and a failure does not stop the rest', async (t) => {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', pretty: false, destination: { write: (line) => void lines.push(line) } });
  const lifecycle = createLifecycle(new TestClock(), log);
  const order: string[] = [];
  t.equal(
    lifecycle.own('store', 'the store', () => void order.push('store')),
    'the store',
    'hands through what was started',
  );
  lifecycle.own('publisher', 1, () => {
    order.push('publisher');
    throw new Error('stuck');
  });
  lifecycle.own('listener', 1, async () => {
    await Promise.resolve();
    order.push('listener');
  });
  t.equal(await lifecycle.stop(1000), false, 'one part failed');
  t.same(order, ['listener', 'publisher', 'store']);
  t.match(lines.join(), /could not stop publisher/);
  await lifecycle.stop(1000);
  t.equal(order.length, 3, 'stopped once');
});

t.test('a part that hangs is given up after the limit', async (t) => {
  const clock = new TestClock();
  const lifecycle = createLifecycle(clock, silentLogger());
  lifecycle.own('listener', 1, () => new Promise(() => {}));
  const stopped = lifecycle.stop(500);
  clock.advance(500);
  t.equal(await stopped, false);
  t.equal(await withLimit(clock, 10, Promise.resolve('done')), 'done');
  await t.rejects(withLimit(clock, 10, Promise.reject(new Error('no'))), { message: 'no' });
});
