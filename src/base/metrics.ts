/** Metrics in the text format that Prometheus reads (version 0.0.4). */
import { type Gauge, Registry } from 'prom-client';

/** One line of the output. */
export interface MetricSample {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence. All samples of a name have the same help text and type. */
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Which line of a histogram this is. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/**
 * Prints the samples as text, grouped by name, with `prefix` before each name. Samples whose value is not finite are
 * omitted.
 *
 * The numbers are counted in shared memory and other processes; the library only prints them.
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
