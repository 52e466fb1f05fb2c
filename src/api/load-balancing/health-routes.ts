/** The health of pools, previews of monitors, and what became of health (v4: load balancing). */

import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Members } from '../../balancing/members.js';
import { toHex } from '../../base/bytes.js';
import { nextSlice } from '../../base/slices.js';
import { membersOfRow, newId, requireMonitor, requirePool } from '../../control/balancing/access.js';
import { patched } from '../../control/balancing/check.js';
import { balancingFailure } from '../../control/balancing/errors.js';
import { checkMonitor, NULLABLE_OF_MONITOR } from '../../control/balancing/monitor-rules.js';
import { requireOnlyAccount } from '../../control/balancing/only-account.js';
import { parseId, requireAccount, requireWriter } from '../../control/guard/access.js';
import type { Context } from '../../control/kernel/context.js';
import { parseInstant } from '../../control/rules/instant.js';
import type { PoolProbing } from '../../monitoring/pool-probing.js';
import { reportOfPool } from '../../monitoring/pool-report.js';
import {
  type HealthEventFilter,
  type HealthEventRow,
  healthEventsOfAccount,
  KEPT_US,
} from '../../store/balancing/health-events.js';
import { groupsOfMonitor } from '../../store/balancing/monitor-groups.js';
import { findMonitor } from '../../store/balancing/monitors.js';
import { type PoolRow, poolsOfMonitor, poolsOfMonitorGroup } from '../../store/balancing/pools.js';
import { success } from '../envelope.js';
import { onePage } from '../paging.js';
import { flagValue, type Query, textValue } from '../query.js';
import { queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { answersOne, identifier } from '../schema.js';
import { printTime } from '../times.js';
import { monitorBody, monitorParams, poolParams } from './schema.js';
import { type BalancingScope, OF_ACCOUNT, OF_USER } from './scope.js';

export interface HealthRouteOptions {
  /** Absent: nothing probes here. */
  readonly probing: PoolProbing | undefined;
}

const reading = { objectState: 'read' } as const;

const originReport = z.object({
  healthy: z.boolean(),
  failure_reason: z.string(),
  response_code: z.int(),
  rtt: z.string().meta({ examples: ['12.1ms'] }),
});
const poolReport = z.object({
  pool_id: z.string(),
  pop_health: z.record(
    z.string(),
    z.object({ healthy: z.boolean(), origins: z.array(z.record(z.string(), originReport)) }),
  ),
});
const preview = z.object({ pools: z.record(z.string(), z.string()), preview_id: z.string() });
const event = z.object({
  id: z.int(),
  timestamp: z.string(),
  pool: z.object({
    ...{ id: z.string(), name: z.string(), healthy: z.boolean(), changed: z.boolean(), minimum_origins: z.int() },
  }),
  origins: z.array(z.unknown()),
});

export const balancingHealthRoutes = routes<HealthRouteOptions>(
  { tags: ['Load balancing'], area: 'loadBalancing' },
  (app, options) => {
    for (const scope of [OF_ACCOUNT, OF_USER]) {
      addHealth(app, options, scope);
      addPreviews(app, options, scope);
    }
    app.get(
      '/user/load_balancing_analytics/events',
      { summary: 'List changes of the health of pools and origins', querystring: eventQuery, list: event },
      async (ctx, request) => {
        const { seq } = requireAccount(ctx, requireOnlyAccount(ctx, 'read'));
        const query = queryOf(request);
        const nowUs = ctx.clock.nowUs();
        const pool = textValue(query, 'pool_id');
        const filter = {
          since: timeOf(query, 'since') ?? nowUs - KEPT_US,
          until: timeOf(query, 'until') ?? nowUs + 1,
          ...(pool !== undefined && { pool: parseId(pool) ?? new Uint8Array(0) }),
        };
        return onePage(await findEvents(ctx, seq, filter, matcherOf(query)), query);
      },
    );
  },
);

function idOf({ params }: FastifyRequest, name: string): string {
  return (params as Record<string, string>)[name]!;
}

function addHealth(app: Routes, { probing }: HealthRouteOptions, scope: BalancingScope): void {
  const { base, accountOf } = scope;
  const params = scope.params.extend(poolParams.shape);
  app.get(
    `${base}/pools/:pool_id/health`,
    { ...reading, summary: 'Get the health of a pool', params, answer: poolReport },
    async (ctx, request) => {
      const row = requirePool(ctx, accountOf(ctx, request), idOf(request, 'pool_id'));
      const last = (await probing?.lastOf(row.seq)) ?? [];
      return reportOfPool(ctx.store, row, last, probing?.node ?? '');
    },
  );
}

function addPreviews(app: Routes, { probing: probes }: HealthRouteOptions, scope: BalancingScope): void {
  const { base, params, accountOf } = scope;
  const begin = (ctx: Context, account: number, pools: readonly PoolRow[], stored: Members, body: Members) => {
    requireWriter(ctx.actor);
    const members = patched(stored, body, NULLABLE_OF_MONITOR);
    checkMonitor(members, ctx.settings.limits.balancing);
    const begun = probes?.previews.begin(toHex(newId(ctx)), account, pools, members);
    if (!begun) throw balancingFailure('quota', { reason: 'previews of the last ten minutes' });
    return success({ pools: begun.pools, preview_id: begun.previewId });
  };
  app.post(
    `${base}/monitors/:monitor_id/preview`,
    {
      summary: 'Probe once with a monitor',
      params: params.extend(monitorParams.shape),
      body: monitorBody,
      response: answersOne(preview),
    },
    async (ctx, request) => {
      const row = requireMonitor(ctx, accountOf(ctx, request), idOf(request, 'monitor_id'));
      const groups = groupsOfMonitor(ctx.store, row.seq).flatMap(({ seq }) => poolsOfMonitorGroup(ctx.store, seq));
      const pools = [...poolsOfMonitor(ctx.store, row.seq), ...groups];
      return begin(ctx, row.account, pools, membersOfRow(row), request.body as Members);
    },
  );
  app.post(
    `${base}/pools/:pool_id/preview`,
    {
      summary: 'Probe a pool once',
      params: params.extend(poolParams.shape),
      body: monitorBody,
      response: answersOne(preview),
    },
    async (ctx, request) => {
      const row = requirePool(ctx, accountOf(ctx, request), idOf(request, 'pool_id'));
      const monitor = row.monitor === null ? undefined : findMonitor(ctx.store, row.monitor);
      return begin(ctx, row.account, [row], monitor ? membersOfRow(monitor) : {}, request.body as Members);
    },
  );
  const previewParams = params.extend({ preview_id: identifier('preview') });
  app.get(
    `${base}/preview/:preview_id`,
    {
      ...reading,
      summary: 'Get the results of a preview',
      params: previewParams,
      answer: z.record(z.string(), poolReport),
    },
    async (ctx, request) => {
      const { seq } = requireAccount(ctx, accountOf(ctx, request));
      const found = probes?.previews.find(idOf(request, 'preview_id'), seq);
      if (!found) throw balancingFailure('previewMissing');
      return found;
    },
  );
}

/** The most events in one answer. */
const MOST_EVENTS = 1000;
/** Events that are read in one turn. */
const EVENTS_A_SLICE = 100;

const eventQuery = z.object({
  since: z.string().optional().describe('An RFC 3339 time; default: 30 days ago'),
  until: z.string().optional().describe('An RFC 3339 time; default: now'),
  pool_id: z.string().optional(),
  pool_name: z.string().optional(),
  pool_healthy: z.string().optional(),
  origin_name: z.string().optional(),
  origin_healthy: z.string().optional(),
});

type EventView = ReturnType<typeof eventView>;

/** The newest that match, however many others have happened since. */
async function findEvents(
  { store }: Context,
  account: number,
  filter: HealthEventFilter,
  matches: (event: EventView) => boolean,
): Promise<EventView[]> {
  const found: EventView[] = [];
  for (let before: number | undefined; ; await nextSlice()) {
    const rows = healthEventsOfAccount(store, account, { ...filter, before }, EVENTS_A_SLICE);
    found.push(...rows.map(eventView).filter(matches));
    if (rows.length < EVENTS_A_SLICE || found.length >= MOST_EVENTS) return found.slice(0, MOST_EVENTS);
    before = rows.at(-1)!.seq;
  }
}

/** Microseconds since 1970. Throws 1002 for a text that is not a time. */
function timeOf(query: Query, name: string): number | undefined {
  const text = textValue(query, name);
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  if (instant === undefined) throw balancingFailure('invalid', { reason: `${name} is not an RFC 3339 time` });
  return instant;
}

interface EventOrigin {
  readonly name: string;
  readonly healthy: boolean;
}

function eventView(row: HealthEventRow) {
  return {
    id: row.seq,
    timestamp: printTime(row.at_us),
    pool: {
      ...{ id: toHex(row.pool), name: row.pool_name, healthy: row.pool_healthy === 1 },
      ...{ changed: row.pool_changed === 1, minimum_origins: row.minimum_origins },
    },
    origins: JSON.parse(row.origins) as EventOrigin[],
  };
}

function matcherOf(query: Query): (event: EventView) => boolean {
  const [poolName, originName] = [textValue(query, 'pool_name'), textValue(query, 'origin_name')];
  const [poolHealthy, originHealthy] = [flagValue(query, 'pool_healthy'), flagValue(query, 'origin_healthy')];
  return ({ pool, origins }) =>
    (poolName === undefined || pool.name === poolName) &&
    (poolHealthy === undefined || pool.healthy === poolHealthy) &&
    ((originName === undefined && originHealthy === undefined) ||
      origins.some(
        ({ name, healthy }) =>
          (originName === undefined || name === originName) &&
          (originHealthy === undefined || healthy === originHealthy),
      ));
}
