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

export interface Histogram {
  /** Counts a value under labels, which must stay as they are; callers bound how many different labels there are. */
  observe(value: number, labels?: Labels): void;
  samples(): MetricSample[];
}

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  readonly buckets: number[];
  sum: number;
}

const NO_LABELS: Labels = {};

/** `bounds`: the upper limits of the buckets, in ascending order. */
export function createHistogram(name: string, help: string, bounds: readonly number[]): Histogram {
  const series = new Map<string, Series>();
  /** By labels that are given again: printing them takes longer than counting. */
  const known = new WeakMap<Labels, Series>();
  /** Of no labels. */
  let only: Series | undefined;
  const find = (labels: Labels): Series => {
    const key = labels === NO_LABELS ? '' : JSON.stringify(labels);
    let one = series.get(key);
    if (!one) series.set(key, (one = { labels, buckets: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
    if (labels === NO_LABELS) only = one;
    known.set(labels, one);
    return one;
  };
  return {
    observe(value, labels = NO_LABELS) {
      const one = (labels === NO_LABELS ? only : known.get(labels)) ?? find(labels);
      let bucket = 0;
      while (bucket < bounds.length && !(value <= bounds[bucket]!)) bucket++;
      one.buckets[bucket]! += 1;
      one.sum += value;
    },
    samples: () => [...series.values()].flatMap((one) => linesOf({ name, help, type: 'histogram' }, bounds, one)),
  };
}

/** Each bucket includes those below it. */
function linesOf(
  about: Pick<MetricSample, 'name' | 'help' | 'type'>,
  bounds: readonly number[],
  { labels, buckets, sum }: { labels: Readonly<Record<string, string>>; buckets: readonly number[]; sum: number },
): MetricSample[] {
  let count = 0;
  const lines = buckets.map((value, i): MetricSample => {
    count += value;
    const le = i < bounds.length ? String(bounds[i]) : '+Inf';
    return { ...about, suffix: '_bucket', labels: { ...labels, le }, value: count };
  });
  return [
    ...lines,
    { ...about, suffix: '_sum', labels, value: sum },
    { ...about, suffix: '_count', labels, value: count },
  ];
}
