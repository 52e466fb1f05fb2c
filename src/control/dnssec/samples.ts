/** Metrics of signed zones. */
import type { MetricSample } from '../../base/metrics.js';
import { earliestExpiry } from '../../store/dnssec/signatures.js';
import { allDnssecZones } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';

export function dnssecSamples(store: Store): MetricSample[] {
  const zones = allDnssecZones(store);
  const states = Map.groupBy(zones, ({ state }) => state);
  const samples = [...states].map(
    ([state, rows]): MetricSample => ({
      name: 'dnssec_zones',
      type: 'gauge',
      help: 'Signed zones, by the state of their delegation',
      labels: { state },
      value: rows.length,
    }),
  );
  const ends = zones.flatMap(({ zone }) => earliestExpiry(store, zone) ?? []);
  if (ends.length === 0) return samples;
  return [
    ...samples,
    {
      name: 'dnssec_first_signature_expiry_timestamp_seconds',
      type: 'gauge',
      help: 'When the first signature of any zone ends, in seconds since 1970',
      labels: {},
      value: ends.reduce((a, b) => Math.min(a, b)),
    },
  ];
}
