/** Metrics of a door to objects: the bucket application, or the S3 API. */
import type { MetricSample } from '../base/metrics.js';

export interface BucketMetrics {
  /** Counts a request. The octets are those of bodies, as announced by the headers. */
  count(method: string, status: number, received: number, sent: number): void;
  samples(): MetricSample[];
}

const METHODS = new Set(['PUT', 'GET', 'DELETE']);
const S3_METHODS = new Set([...METHODS, 'HEAD', 'POST']);

export const createBucketMetrics = (): BucketMetrics => countDoor('bucket', 'the bucket application', METHODS);

export const createS3Metrics = (): BucketMetrics => countDoor('s3', 'the S3 API', S3_METHODS);

function countDoor(prefix: string, door: string, known: ReadonlySet<string>): BucketMetrics {
  const requests = new Map<string, { readonly method: string; readonly status: number; count: number }>();
  let octetsIn = 0;
  let octetsOut = 0;
  return {
    count(method, status, received, sent) {
      // Clients may invent methods, but not labels.
      const label = known.has(method) ? method : 'other';
      const entry = requests.get(`${label} ${status}`) ?? { method: label, status, count: 0 };
      entry.count++;
      requests.set(`${label} ${status}`, entry);
      octetsOut += sent;
      if (status < 300) octetsIn += received;
    },
    samples: () => [
      ...[...requests.values()].map(({ method, status, count }) =>
        sample(`${prefix}_requests_total`, `Requests to ${door}; refused ones have the status 403`, count, {
          method,
          status: String(status),
        }),
      ),
      sample(`${prefix}_received_bytes_total`, `Octets of objects stored through ${door}`, octetsIn),
      sample(`${prefix}_sent_bytes_total`, `Octets of response bodies of ${door}`, octetsOut),
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
