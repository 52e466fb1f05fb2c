/** Shapes of `/zones/{zone_id}/dns_analytics/report` and `…/bytime`. */
import { z } from 'zod';

const text = (about: string) => z.string().optional().describe(about);

export const reportQuery = z.object({
  dimensions: text(
    'Names separated by commas: `queryName`, `queryType`, `responseCode`, `tcp`, `ipVersion`, `protocol` (ours), `responseCached`, `dayOfWeek`; or `sourceNetwork` (ours), which is counted separately from the first six',
  ),
  metrics: text('`queryCount` (default), `uncachedCount`, `staleCount`'),
  filters: text('Conditions on dimensions, such as `queryType==AAAA;responseCode!=NOERROR`'),
  since: text('Default: a day before `until`. Whole hours are counted, or whole days before the last four'),
  until: text('Default: now'),
  sort: text(
    'Dimensions and metrics, each after `-` (descending) or `+`; default: the first metric, the largest first',
  ),
  limit: text('The most rows, 1 to 1000; default 100'),
});

export const timeQuery = reportQuery.extend({
  time_delta: text('`auto` (default), `hour`, `day`, `week`, `month`, `quarter`, `year` or `all`'),
});

const asked = z.object({
  dimensions: z.array(z.string()),
  metrics: z.array(z.string()),
  since: z.string(),
  until: z.string(),
  limit: z.int(),
  filters: z.string().optional(),
  sort: z.array(z.string()).optional(),
});

const counts = z.record(z.string(), z.number());
const about = {
  rows: z.int(),
  totals: counts,
  min: z.object({}),
  max: z.object({}),
  data_lag: z.int().describe('Seconds of which counts may be missing'),
};
const dimensions = z.array(z.string()).describe('Empty: not known, or too rare to be counted separately');

export const report = z
  .object({ ...about, query: asked, data: z.array(z.object({ dimensions, metrics: z.array(z.number()) })) })
  .meta({ id: 'DnsAnalyticsReport' });

export const reportByTime = z
  .object({
    ...about,
    query: asked.extend({ time_delta: z.string() }),
    time_intervals: z.array(z.array(z.string())),
    data: z.array(
      z.object({
        dimensions,
        metrics: z.array(z.array(z.number())).describe('For each metric, a value for each interval'),
      }),
    ),
  })
  .meta({ id: 'DnsAnalyticsReportByTime' });

export type DnsReport = z.output<typeof report>;
export type DnsReportByTime = z.output<typeof reportByTime>;
