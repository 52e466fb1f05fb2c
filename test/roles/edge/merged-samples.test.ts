/** The metrics of several edge processes. */
import t from 'tap';
import type { MetricSample } from '../../../src/base/metrics.js';
import { createMergedSamples } from '../../../src/roles/edge/merged-samples.js';

function sample(name: string, value: number, type: MetricSample['type'], labels = {}): MetricSample {
  return { name, type, help: '', labels, value };
}

const said = (requests: number, connections: number, behind: number): MetricSample[] => [
  sample('edge_requests_total', requests, 'counter', { http_version: '1.1', status: '200' }),
  sample('edge_requests_total', 1, 'counter', { http_version: '2.0', status: '200' }),
  sample('edge_connections', connections, 'gauge'),
  sample('edge_behind', behind, 'gauge'),
  { ...sample('edge_origin_seconds', requests, 'histogram', { le: '1' }), suffix: '_bucket' },
];

const lines = (samples: readonly MetricSample[]): Record<string, number> =>
  Object.fromEntries(
    samples.map(({ name, suffix = '', labels, value }) => [[name + suffix, ...Object.values(labels)].join(' '), value]),
  );

t.test('sums, and the figures of each', async (t) => {
  const merged = createMergedSamples();
  merged.set(1, said(10, 3, 0));
  merged.set(2, said(20, 4, 1));
  t.same(lines(merged.samples()), {
    'edge_requests_total 1.1 200': 30,
    'edge_requests_total 2.0 200': 2,
    edge_connections: 7,
    edge_behind: 1,
    'edge_origin_seconds_bucket 1': 30,
    edge_processes: 2,
    'edge_process_requests_total 1': 11,
    'edge_process_connections 1': 3,
    'edge_process_requests_total 2': 21,
    'edge_process_connections 2': 4,
  });
});

t.test('no sum shrinks when a process ends', async (t) => {
  const merged = createMergedSamples();
  merged.set(1, said(10, 3, 0));
  merged.set(2, said(20, 4, 0));
  merged.end(2);
  const without = lines(merged.samples());
  t.match(without, { 'edge_requests_total 1.1 200': 30, edge_connections: 3, edge_processes: 1 });
  t.match(without, { 'edge_process_requests_total 2': 21 });
  merged.set(2, said(5, 1, 0));
  merged.end(2);
  merged.set(2, said(2, 1, 0));
  t.match(lines(merged.samples()), { 'edge_requests_total 1.1 200': 37, 'edge_process_requests_total 2': 30 });
});
