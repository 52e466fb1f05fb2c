/** `/zones/{zone_id}/dns_analytics/report` and `…/report/bytime`: what a zone was asked over a month (v4: DNS analytics). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { requireZone } from '../../control/guard/access.js';
import type { Context } from '../../control/kernel/context.js';
import { printInstant } from '../../control/rules/instant.js';
import type { Statistics } from '../../statistics/recorder.js';
import { type Group, groupQueries } from '../../statistics/report.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { success } from '../envelope.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { type Delta, deltaOf, intervalsOf, type Metric, parseReportQuery, type ReportQuery } from './query.js';
import { type DnsReport, report, reportByTime, reportQuery, timeQuery } from './schema.js';

export interface DnsAnalyticsOptions {
  readonly contextOf: ContextOf;
  /** Absent: nothing is counted here. */
  readonly statistics: Pick<Statistics, 'pendingOf'> | undefined;
  /** Present in clusters. */
  readonly readCluster: unknown;
}

const tags = ['Activity'];
/** Seconds until counts arrive: from the DNS process, and from other nodes. */
const OWN_LAG = 10;
const CLUSTER_LAG = 310;

export const dnsAnalyticsRoutes: FastifyPluginAsyncZod<DnsAnalyticsOptions> = async (app, options) => {
  const { contextOf, statistics, readCluster } = options;
  const base = '/zones/:zone_id/dns_analytics/report';
  const groupsOf = ({ store }: Context, zone: ZoneRow, query: ReportQuery, begins: readonly number[]): Group[] => {
    const intervalOf = (seconds: number): number => begins.findLastIndex((begin) => begin <= seconds);
    const pending = statistics?.pendingOf(zone.seq) ?? [];
    return groupQueries(store, zone.seq, pending, { ...query, intervalOf, intervals: begins.length });
  };
  const aboutOf = (query: ReportQuery, groups: readonly Group[]) => ({
    rows: Math.min(query.limit, groups.length),
    totals: Object.fromEntries(
      query.metrics.map((metric) => [metric, metricOf(metric, sumOf(groups.map(sumOfGroup)))]),
    ),
    ...{ min: {}, max: {}, data_lag: readCluster === undefined ? OWN_LAG : CLUSTER_LAG },
  });

  app.get(
    base,
    {
      config: { area: 'dns' },
      schema: {
        tags,
        summary: 'Count the questions for a zone by name, type, response code or source',
        params: zoneParams,
        querystring: reportQuery,
        response: answersOne(report),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const zone = requireZone(context, request.params.zone_id);
      const query = parseReportQuery(queryOf(request), context.clock.nowMs());
      const groups = groupsOf(context, zone, query, [query.since]);
      const data = ordered(groups, query).map((group) => ({
        dimensions: [...group.values],
        metrics: query.metrics.map((metric) => metricOf(metric, sumOfGroup(group))),
      }));
      return success({ ...aboutOf(query, groups), data, query: askedView(query) });
    },
  );

  app.get(
    `${base}/bytime`,
    {
      config: { area: 'dns' },
      schema: {
        tags,
        summary: 'Count the questions for a zone over time',
        params: zoneParams,
        querystring: timeQuery,
        response: answersOne(reportByTime),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const zone = requireZone(context, request.params.zone_id);
      const asked = queryOf(request);
      const query = parseReportQuery(asked, context.clock.nowMs());
      const delta = deltaOf(asked, query.span);
      const begins = intervalsOf(query, delta);
      const groups = groupsOf(context, zone, query, begins);
      const data = ordered(groups, query).map((group) => ({
        dimensions: [...group.values],
        metrics: query.metrics.map((metric) => group.counts.map((count) => metricOf(metric, count))),
      }));
      const ends = [...begins.slice(1), query.until];
      return success({
        ...aboutOf(query, groups),
        data,
        time_intervals: begins.map((begin, i) => [printSeconds(begin), printSeconds(ends[i]!)]),
        query: { ...askedView(query), time_delta: delta satisfies Delta },
      });
    },
  );
};

/** Every answer is made from the zone itself, never from a cache. */
function metricOf(metric: Metric, count: number): number {
  return metric === 'staleCount' ? 0 : count;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function sumOfGroup({ counts }: Group): number {
  return sumOf(counts);
}

/** The groups that are shown, in the order that was asked for; equal ones by their values. */
function ordered(groups: readonly Group[], { dimensions, order, limit }: ReportQuery): Group[] {
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

function askedView({ dimensions, metrics, since, until, limit, filters, sort }: ReportQuery): DnsReport['query'] {
  return {
    ...{ dimensions: [...dimensions], metrics: [...metrics], limit },
    ...{ since: printSeconds(since), until: printSeconds(until) },
    ...(filters !== undefined && { filters }),
    ...(sort.length > 0 && { sort: [...sort] }),
  };
}

function printSeconds(seconds: number): string {
  return printInstant(seconds * 1e6);
}
