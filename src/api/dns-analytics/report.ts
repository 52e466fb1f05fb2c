/** A report of what a zone was asked, as the API and the command line show it. */
import { printInstant } from '../../control/rules/instant.js';
import type { Pending } from '../../statistics/detail.js';
import { type Group, groupQueries } from '../../statistics/report.js';
import type { Store } from '../../store/driver.js';
import type { Metric, ReportQuery } from './query.js';
import type { DnsReport } from './schema.js';

/** A report without the delay of its counts, which depends on the node. */
export type ReadReport = Pick<DnsReport, 'rows' | 'totals' | 'data' | 'query'>;

/** `zone`: store number; `pending`: what is not stored yet. */
export function readReport(store: Store, zone: number, pending: readonly Pending[], query: ReportQuery): ReadReport {
  const groups = groupQueries(store, zone, pending, { ...query, intervalOf: () => 0, intervals: 1 });
  const data = ordered(groups, query).map((group) => ({
    dimensions: [...group.values],
    metrics: query.metrics.map((metric) => metricOf(metric, sumOfGroup(group))),
  }));
  return { ...sumsOf(query, groups), data, query: askedView(query) };
}

export function sumsOf({ limit, metrics }: ReportQuery, groups: readonly Group[]): Pick<ReadReport, 'rows' | 'totals'> {
  const all = sumOf(groups.map(sumOfGroup));
  return {
    rows: Math.min(limit, groups.length),
    totals: Object.fromEntries(metrics.map((metric) => [metric, metricOf(metric, all)])),
  };
}

/** Every answer is made from the zone itself, never from a cache. */
export function metricOf(metric: Metric, count: number): number {
  return metric === 'staleCount' ? 0 : count;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function sumOfGroup({ counts }: Group): number {
  return sumOf(counts);
}

/** The groups that are shown, in the order that was asked for; equal ones by their values. */
export function ordered(groups: readonly Group[], { dimensions, order, limit }: ReportQuery): Group[] {
  // Made once for each group, not for each comparison: there may be thousands.
  const rows = groups.map((group) => ({ group, sum: sumOfGroup(group), text: JSON.stringify(group.values) }));
  rows.sort((a, b) => {
    for (const { of, descending } of order) {
      const place = (dimensions as readonly string[]).indexOf(of);
      const difference =
        place < 0
          ? metricOf(of as Metric, a.sum) - metricOf(of as Metric, b.sum)
          : compareTexts(a.group.values[place]!, b.group.values[place]!);
      if (difference !== 0) return descending ? -difference : difference;
    }
    return compareTexts(a.text, b.text);
  });
  return rows.slice(0, limit).map(({ group }) => group);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function askedView({
  dimensions,
  metrics,
  since,
  until,
  limit,
  filters,
  sort,
}: ReportQuery): DnsReport['query'] {
  return {
    ...{ dimensions: [...dimensions], metrics: [...metrics], limit },
    ...{ since: printSeconds(since), until: printSeconds(until) },
    ...(filters !== undefined && { filters }),
    ...(sort.length > 0 && { sort: [...sort] }),
  };
}

export function printSeconds(seconds: number): string {
  return printInstant(seconds * 1e6);
}
