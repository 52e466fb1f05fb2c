/** Metrics of what is observed. The number of zones with series of their own is bounded. */
import type { MetricSample } from '../base/metrics.js';
import { addCounts, COUNT_NAMES, type Counts, noCounts } from './counts.js';
import { createPoolMetrics, type FindPool } from './pool-counts.js';
import type { Losses } from './reader.js';
import type { ActivityReport } from './report.js';

/** Zones that are remembered, and those whose series are printed. */
const MOST_ZONES = 1000;
const MOST_PRINTED = 100;
const SOURCES = ['plain', 'flattened', 'proxied', 'https', 'signed'] as const;
const RCODES = ['noerror', 'nxdomain', 'servfail', 'refused', 'other'] as const;

export interface ActivityMetrics {
  add(report: ActivityReport, losses: Losses): void;
  samples(): MetricSample[];
}

/** `findPool`: the pool of a store number. */
export function createActivityMetrics(findPool: FindPool): ActivityMetrics {
  const total = noCounts();
  const zones = new Map<string, Counts>();
  const pools = createPoolMetrics(findPool);
  let losses: Losses = { samples: 0, dnstapFrames: 0, queryLogLines: 0 };
  return {
    add(report, lost) {
      losses = lost;
      addCounts(total, report.total);
      pools.add(report.pools ?? []);
      for (const { zone, counts } of report.zones) {
        const known = zones.get(zone);
        if (known) addCounts(known, counts);
        else zones.set(zone, [...counts]);
      }
      if (zones.size > MOST_ZONES) forgetQuietest(zones);
    },
    samples: () => [
      ...sourceSamples(total),
      ...balancedSamples(total),
      ...pools.samples(),
      ...busiest(zones).flatMap(zoneSamples),
      ...lossSamples(losses),
    ],
  };
}

function forgetQuietest(zones: Map<string, Counts>): void {
  const order = [...zones].sort(([, a], [, b]) => b[0]! - a[0]!);
  for (const [zone] of order.slice((MOST_ZONES * 3) / 4)) zones.delete(zone);
}

function busiest(zones: ReadonlyMap<string, Counts>): [string, Counts][] {
  return [...zones].sort(([, a], [, b]) => b[0]! - a[0]!).slice(0, MOST_PRINTED);
}

function countOf(counts: Counts, name: (typeof COUNT_NAMES)[number]): number {
  return counts[COUNT_NAMES.indexOf(name)]!;
}

function sourceSamples(total: Counts): MetricSample[] {
  const help = 'Answers from zones, by where they come from; signed ones count twice';
  return SOURCES.map((source) => {
    return { name: 'dns_answers_total', type: 'counter', help, labels: { source }, value: countOf(total, source) };
  });
}

/** What load balancers chose, also of pools that have no series of their own. */
const BALANCED = { balanced: 'pool', fallback: 'fallback pool', unbalanced: 'none' } as const;

function balancedSamples(total: Counts): MetricSample[] {
  const about = {
    name: 'dns_balanced_answers_total',
    type: 'counter',
    help: 'Answers of load balancers, by what they chose',
  };
  return Object.entries(BALANCED).map(([count, chosen]) => {
    return { ...about, type: 'counter', labels: { chosen }, value: countOf(total, count as keyof typeof BALANCED) };
  });
}

function zoneSamples([zone, counts]: [string, Counts]): MetricSample[] {
  const about = { type: 'counter' } as const;
  const most = `for the ${MOST_PRINTED} busiest zones`;
  const queries = `Questions, ${most}`;
  const octets = `Octets of answers, ${most}`;
  const responses = `Answers by response code, ${most}`;
  return [
    { ...about, name: 'dns_zone_queries_total', help: queries, labels: { zone }, value: countOf(counts, 'queries') },
    {
      ...about,
      name: 'dns_zone_response_bytes_total',
      help: octets,
      labels: { zone },
      value: countOf(counts, 'octets'),
    },
    ...RCODES.filter((rcode) => countOf(counts, rcode) > 0).map((rcode) => {
      const labels = { zone, rcode: rcode.toUpperCase() };
      return { ...about, name: 'dns_zone_responses_total', help: responses, labels, value: countOf(counts, rcode) };
    }),
  ];
}

function lossSamples({ samples, dnstapFrames, queryLogLines }: Losses): MetricSample[] {
  const lost: readonly (readonly [name: string, help: string, value: number])[] = [
    ['dns_samples_dropped_total', 'Observed answers that were not copied because their ring was full', samples],
    ['dnstap_frames_dropped_total', 'Frames of dnstap that nobody took', dnstapFrames],
    ['query_log_lines_dropped_total', 'Lines of the query log that could not be written', queryLogLines],
  ];
  return lost.map(([name, help, value]) => ({ name, type: 'counter', help, labels: {}, value }));
}
