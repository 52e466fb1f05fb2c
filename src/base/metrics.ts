/** Numbers for monitoring, in the text format Prometheus reads (version 0.0.4). */

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

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The samples as text, those of one name together, names with `prefix` in front. Samples that are no finite number are left out. */
export function printMetrics(samples: readonly MetricSample[], prefix = 'zoneplane_'): string {
  const families = new Map<string, MetricSample[]>();
  for (const sample of samples) {
    if (!Number.isFinite(sample.value)) continue;
    const family = families.get(sample.name);
    if (family) family.push(sample);
    else families.set(sample.name, [sample]);
  }
  let text = '';
  for (const [name, family] of families) {
    text += `# HELP ${prefix}${name} ${escapeHelp(family[0]!.help)}\n`;
    text += `# TYPE ${prefix}${name} ${family[0]!.type}\n`;
    for (const { labels, value, suffix = '' } of family) {
      text += `${prefix}${name}${suffix}${printLabels(labels)} ${value}\n`;
    }
  }
  return text;
}

function printLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
