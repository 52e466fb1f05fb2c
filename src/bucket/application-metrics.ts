/** Metrics of the bucket application. */
import type { MetricSample } from '../base/metrics.js';

export interface BucketMetrics {
  /** Counts a request. The octets are those of bodies, as announced by the headers. */
  count(method: string, status: number, received: number, sent: number): void;
  samples(): MetricSample[];
}

const METHODS = new Set(['PUT', 'GET', 'DELETE']);

export function createBucketMetrics(): BucketMetrics {
  const requests = new Map<string, { readonly method: string; readonly status: number; count: number }>();
  let octetsIn = 0;
  let octetsOut = 0;
  return {
    count(method, status, received, sent) {
      // Clients may invent methods, but not labels.
      const label = METHODS.has(method) ? method : 'other';
      const entry = requests.get(`${label} ${status}`) ?? { method: label, status, count: 0 };
      entry.count++;
      requests.set(`${label} ${status}`, entry);
      octetsOut += sent;
      if (status < 300) octetsIn += received;
    },
    samples: () => [
      ...[...requests.values()].map(({ method, status, count }) =>
        sample('bucket_requests_total', 'Requests to the bucket application; refused ones have the status 403', count, {
          method,
          status: String(status),
        }),
      ),
      sample('bucket_received_bytes_total', 'Octets of objects stored through the bucket application', octetsIn),
      sample('bucket_sent_bytes_total', 'Octets of response bodies of the bucket application', octetsOut),
    ],
  };
}

function sample(
  name: string,
  help: string,
  value: number,
  labels: Readonly<Record<string, string>> = {},
): MetricSample {
  return { name, type: 'counter', help, labels, value };
}
