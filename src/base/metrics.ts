/** Numbers for monitoring, in the text format Prometheus reads (version 0.0.4). */
import { type Gauge, Registry } from 'prom-client';

/** One line. */
export interface MetricSample {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence; it and the type are the same for all samples of a name. */
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Which line of a histogram this is. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/**
 * The samples as text, those of one name together, names with `prefix` in front. Samples that are no finite number are left out.
 *
 * The numbers are counted elsewhere, in shared memory and in other processes, so that the library only prints them.
 */
export async function printMetrics(samples: readonly MetricSample[], prefix = 'zoneplane_'): Promise<string> {
  const registry = new Registry();
  const finite = samples.filter(({ value }) => Number.isFinite(value));
  for (const [plain, family] of Map.groupBy(finite, (sample) => sample.name)) {
    const name = prefix + plain;
    const { help, type } = family[0]!;
    const values = family.map(({ suffix = '', ...rest }) => ({ ...rest, metricName: name + suffix }));
    const metric = { name, get: async () => ({ name, help, type, values }) };
    registry.registerMetric(metric as unknown as Gauge);
  }
  return registry.metrics();
}
