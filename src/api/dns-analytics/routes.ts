/** `/zones/{zone_id}/dns_analytics/report` and `…/report/bytime`: what a zone was asked over a month (v4: DNS analytics). */
import { requireZone } from '../../control/guard/access.js';
import type { Statistics } from '../../statistics/recorder.js';
import { groupQueries } from '../../statistics/report.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { type Delta, deltaOf, intervalsOf, parseReportQuery } from './query.js';
import { askedView, metricOf, ordered, printSeconds, readReport, sumsOf } from './report.js';
import { report, reportByTime, reportQuery, timeQuery } from './schema.js';

export interface DnsAnalyticsOptions {
  /** Absent: nothing is counted here. */
  readonly statistics: Pick<Statistics, 'pendingOf'> | undefined;
  /** Present in clusters. */
  readonly readCluster: unknown;
}

/** Seconds until counts arrive: from the DNS process, and from other nodes. */
const OWN_LAG = 10;
const CLUSTER_LAG = 310;

export const dnsAnalyticsRoutes = routes<DnsAnalyticsOptions>(
  { tags: ['Activity'], area: 'dns' },
  (app, { statistics, readCluster }) => {
    const base = '/zones/:zone_id/dns_analytics/report';
    const lag = { min: {}, max: {}, data_lag: readCluster === undefined ? OWN_LAG : CLUSTER_LAG };
    const pendingOf = (zone: ZoneRow) => statistics?.pendingOf(zone.seq) ?? [];

    app.get(
      base,
      {
        summary: 'Count the questions for a zone by name, type, response code or source',
        params: zoneParams,
        querystring: reportQuery,
        answer: report,
      },
      async (ctx, request) => {
        const zone = requireZone(ctx, request.params.zone_id);
        const query = parseReportQuery(queryOf(request), ctx.clock.nowMs());
        return { ...readReport(ctx.store, zone.seq, pendingOf(zone), query), ...lag };
      },
    );

    app.get(
      `${base}/bytime`,
      {
        summary: 'Count the questions for a zone over time',
        params: zoneParams,
        querystring: timeQuery,
        answer: reportByTime,
      },
      async (ctx, request) => {
        const zone = requireZone(ctx, request.params.zone_id);
        const asked = queryOf(request);
        const query = parseReportQuery(asked, ctx.clock.nowMs());
        const delta = deltaOf(asked, query.span);
        const begins = intervalsOf(query, delta);
        const groups = groupQueries(ctx.store, zone.seq, pendingOf(zone), {
          ...query,
          intervalOf: (seconds) => begins.findLastIndex((begin) => begin <= seconds),
          intervals: begins.length,
        });
        const data = ordered(groups, query).map((group) => ({
          dimensions: [...group.values],
          metrics: query.metrics.map((metric) => group.counts.map((count) => metricOf(metric, count))),
        }));
        const ends = [...begins.slice(1), query.until];
        return {
          ...{ ...sumsOf(query, groups), ...lag },
          data,
          time_intervals: begins.map((begin, i) => [printSeconds(begin), printSeconds(ends[i]!)]),
          query: { ...askedView(query), time_delta: delta satisfies Delta },
        };
      },
    );
  },
);
