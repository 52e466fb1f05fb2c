/** Shapes of `…/activity` (ours). */
import { z } from 'zod';

export const activityQuery = z.object({
  period: z
    .enum(['15m', '24h'])
    .optional()
    .describe('The last quarter of an hour by the second (default), or the last day by the minute'),
});

export const queriesQuery = z.object({
  after: z.string().optional().describe('Number of the last sample that you have; default: the newest ones'),
  limit: z.string().optional().describe('The most samples, 1 to 500; default 100'),
  timeout: z.string().optional().describe('Seconds to wait for new samples when there are none, 0 to 25; default 0'),
  name: z.string().optional().describe('Only names that contain this text'),
  type: z.string().optional().describe('Only questions for this type'),
  rcode: z.string().optional().describe('Only answers with this response code'),
});

const micros = z.int().nullable().describe('Microseconds; null: no answer was sampled');

const topName = z.object({
  zone_id: z.string(),
  zone: z.string(),
  name: z.string(),
  type: z.string(),
  queries: z.int().describe('Estimated from samples'),
  missing: z.int().describe('Answers among them that the name does not exist'),
  average_micros: z.int(),
  max_micros: z.int(),
});

const counts = z.array(z.number());

export const activity = z
  .object({
    scope: z
      .enum(['server', 'zones', 'zone'])
      .describe('`server`: all questions; `zones`: those for the zones that you may read; `zone`: those for one zone'),
    period: z.enum(['15m', '24h']),
    step_seconds: z.int(),
    totals: z.object({
      queries: z.number(),
      octets: z.number().describe('Octets of answers'),
      unanswered: z.number(),
      truncated: z.number(),
      rcodes: z.record(z.string(), z.number()),
      sources: z
        .record(z.string(), z.number())
        .describe('Answers from zones, by where they come from; `signed` ones count twice'),
    }),
    latency_micros: z
      .object({ p50: micros, p90: micros, p99: micros })
      .describe('Time in which answers were made, without the network; from samples'),
    series: z
      .object({
        at: z.array(z.int()).describe('Beginnings of the steps, seconds since 1970'),
        queries: counts,
        nxdomain: counts,
        failed: counts.describe('Answers SERVFAIL or REFUSED'),
      })
      .describe('One entry for each step'),
    zones: z
      .array(z.object({ id: z.string(), name: z.string(), queries: z.number() }))
      .describe('The busiest zones; only zones that were busy enough to be counted have an entry'),
    names: z.array(topName).describe('Names asked for most in the last ten to twenty minutes'),
    slow: z.array(topName).describe('Names whose answers took longest on average in the same time'),
  })
  .meta({ id: 'Activity' });

export const sampledQuery = z
  .object({
    number: z.string().describe('Give the last one as `after`'),
    at: z.string().meta({ format: 'date-time' }),
    client: z.string().describe('Its address or its network, as `query-log-clients` says; empty: not told'),
    protocol: z.enum(['udp', 'tcp', 'tls', 'https']),
    name: z.string(),
    type: z.string(),
    rcode: z.string().describe('Empty: no answer was sent'),
    flags: z.array(z.string()),
    size: z.int().describe('Octets of the answer'),
    zone_id: z.string().describe('Empty: no zone answered'),
    zone: z.string(),
    source: z.enum(['plain', 'flattened', 'proxied', 'https']),
    micros: z.int().describe('Time in which the answer was made'),
    weight: z.int().describe('How many questions this sample stands for'),
  })
  .meta({ id: 'SampledQuery' });

export type Activity = z.output<typeof activity>;
export type SampledQuery = z.output<typeof sampledQuery>;
