/** `/zones/{zone_id}/dns_analytics/report` and `…/report/bytime`: what a zone was asked over a month (v4: DNS analytics). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { requireZone } from '../../control/guard/access.js';
import type { Statistics } from '../../statistics/recorder.js';
import { groupQueries } from '../../statistics/report.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { success } from '../envelope.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { type Delta, deltaOf, intervalsOf, parseReportQuery } from './query.js';
import { askedView, metricOf, ordered, printSeconds, readReport, sumsOf } from './report.js';
import { report, reportByTime, reportQuery, timeQuery } from './schema.js';

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
  const lag = { min: {}, max: {}, data_lag: readCluster === undefined ? OWN_LAG : CLUSTER_LAG };
  const pendingOf = (zone: ZoneRow) => statistics?.pendingOf(zone.seq) ?? [];

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
      return success({ ...readReport(context.store, zone.seq, pendingOf(zone), query), ...lag });
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
      const groups = groupQueries(context.store, zone.seq, pendingOf(zone), {
        ...query,
        intervalOf: (seconds) => begins.findLastIndex((begin) => begin <= seconds),
        intervals: begins.length,
      });
      const data = ordered(groups, query).map((group) => ({
        dimensions: [...group.values],
        metrics: query.metrics.map((metric) => group.counts.map((count) => metricOf(metric, count))),
      }));
      const ends = [...begins.slice(1), query.until];
      return success({
        ...{ ...sumsOf(query, groups), ...lag },
        data,
        time_intervals: begins.map((begin, i) => [printSeconds(begin), printSeconds(ends[i]!)]),
        query: { ...askedView(query), time_delta: delta satisfies Delta },
      });
    },
  );
};
