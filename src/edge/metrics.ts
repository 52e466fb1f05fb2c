/** The metrics of the edge. */
import { createHistogram, type MetricSample } from '../base/metrics.js';
import type { CacheResult } from './cache/cache-status.js';
import type { Outcome } from './listen/reply.js';
import type { RefusedHandshake } from './listen/tls-accept.js';

export interface EdgeMetrics {
  countRequest(version: string, outcome: Outcome): void;
  countHandshake(version: string): void;
  countRefusedHandshake(why: RefusedHandshake): void;
  countBadInput(status: number): void;
  countHandedOver(): void;
  countOriginLatency(ms: number): void;
  countCacheResult(result: CacheResult): void;
  samples(gauges: Readonly<Record<string, number>>): MetricSample[];
}

/** Upper bounds of the histogram's buckets, seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 100];

export function createEdgeMetrics(): EdgeMetrics {
  /** By version, then by status: to put both together takes longer than to count. */
  const requests = new Map<string, number[]>();
  const failures = new Map<string, number>();
  const handshakes = new Map<string, number>();
  const refused = new Map<string, number>();
  const badInput = new Map<string, number>();
  const cacheResults = new Map<string, Count>();
  const latency = createHistogram(
    'edge_origin_seconds',
    "From a request to the first octet of the origin's response",
    BOUNDS,
  );
  let octets = 0;
  let handedOver = 0;
  const add = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

  return {
    countRequest(version, { status, octets: sent, failure }) {
      let counts = requests.get(version);
      if (!counts) requests.set(version, (counts = []));
      counts[status] = (counts[status] ?? 0) + 1;
      octets += sent;
      if (failure) add(failures, `${failure.code} ${failure.code === 1016 ? (failure.cause ?? '') : ''}`);
    },
    countHandshake: (version) => add(handshakes, version),
    countRefusedHandshake: (why) => add(refused, why),
    countBadInput: (status) => add(badInput, String(status)),
    countHandedOver: () => void handedOver++,
    countOriginLatency: (ms) => latency.observe(ms / 1000),
    countCacheResult(result) {
      const known = cacheResults.get(result);
      if (known) known.value++;
      else cacheResults.set(result, { value: 1 });
    },
    samples: (gauges) => [
      ...labelled('edge_requests_total', 'Requests answered', ['http_version', 'status'], byBoth(requests)),
      ...labelled('edge_failures_total', "Answers that are the edge's own failures", ['code', 'cause'], failures),
      ...labelled(
        'edge_cache_results_total',
        'Requests by what the cache did with them',
        ['result'],
        valuesOf(cacheResults),
      ),
      ...labelled('edge_tls_handshakes_total', 'TLS handshakes by version', ['tls_version'], handshakes),
      ...labelled('edge_tls_refused_total', 'TLS handshakes refused', ['reason'], refused),
      ...labelled('edge_bad_input_total', 'Connections ended for what came over them', ['status'], badInput),
      {
        ...counter(
          'edge_handed_over_total',
          'Connections that a request which is not plain has moved to the slower parser',
        ),
        labels: {},
        value: handedOver,
      },
      { ...counter('edge_response_bytes_total', 'Octets of response bodies'), labels: {}, value: octets },
      ...latency.samples(),
      ...Object.entries(gauges).map(
        ([name, value]): MetricSample => ({ name, type: 'gauge', help: GAUGES[name] ?? name, labels: {}, value }),
      ),
    ],
  };
}

/** Changing it takes less time than putting another number into a map. */
interface Count {
  value: number;
}

function valuesOf(counts: ReadonlyMap<string, Count>): Map<string, number> {
  return new Map([...counts].map(([key, { value }]) => [key, value]));
}

function byBoth(requests: ReadonlyMap<string, readonly number[]>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [version, byStatus] of requests) {
    byStatus.forEach((count, status) => void counts.set(`${version} ${status}`, count));
  }
  return counts;
}

const GAUGES: Readonly<Record<string, string>> = {
  edge_connections: 'Open connections of clients',
  edge_connections_refused: 'Connections refused or ended because one client had too many',
  edge_streams_refused: 'Requests over HTTP/2 refused because one client, or all of one account, had too many open',
  edge_stalled_clients: 'Responses and WebSockets ended because too little of them was taken for a minute',
  edge_hosts: 'Hosts in the routing table',
  edge_behind: '1: something was committed that the edge has not read yet',
  edge_cache_bytes: 'Octets of stored responses',
  edge_cache_urls: 'URLs with stored responses',
  edge_resident_memory_bytes: 'Memory of the edge process',
};

function counter(name: string, help: string): Pick<MetricSample, 'name' | 'type' | 'help'> {
  return { name, type: 'counter', help };
}

function labelled(
  name: string,
  help: string,
  labels: readonly string[],
  counts: ReadonlyMap<string, number>,
): MetricSample[] {
  return [...counts].map(([key, value]) => {
    const parts = key.split(' ');
    return {
      ...counter(name, help),
      labels: Object.fromEntries(labels.map((label, i) => [label, parts[i] ?? ''])),
      value,
    };
  });
}
