/** `/activity` and `/zones/{zone_id}/activity`: what is asked, and the newest questions as they come (ours). */

import type { FastifyRequest } from 'fastify';
import { steadyMs } from '../../base/clock.js';
import { requireZone } from '../../control/guard/access.js';
import { onlyZone, type VisibleZones, visibleZones } from '../../control/guard/visible.js';
import type { Context } from '../../control/kernel/context.js';
import type { Activity, NumberedQuery } from '../../observe/activity.js';
import { successPage } from '../envelope.js';
import { resultInfo } from '../paging.js';
import { choiceValue, numberValue, type Query, textValue } from '../query.js';
import { queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { activityQuery, activity as activitySchema, queriesQuery, sampledQuery } from './schema.js';
import { activityView, sampledQueryView } from './view.js';

export interface ActivityOptions {
  readonly activity: Activity;
}

const MOST_SAMPLES = 500;
const USUAL_SAMPLES = 100;
const LONGEST_WAIT_SECONDS = 25;

export const activityRoutes = routes<ActivityOptions>({ tags: ['Activity'] }, (app, { activity }) => {
  // Requests that wait must not delay a stop.
  app.scope.addHook('preClose', async () => activity.endWaiting());

  app.get(
    '/activity',
    { area: 'any', summary: 'Count the questions for your zones', querystring: activityQuery, answer: activitySchema },
    async (ctx, request) => {
      const visible = visibleZones(ctx);
      const scope = visible.all ? 'server' : 'zones';
      const asked = { period: periodOf(queryOf(request)), nowMs: ctx.clock.nowMs() };
      return activityView(activity, scope, visible, asked);
    },
  );

  app.get(
    '/zones/:zone_id/activity',
    {
      area: 'dns',
      summary: 'Count the questions for a zone',
      params: zoneParams,
      querystring: activityQuery,
      answer: activitySchema,
    },
    async (ctx, request) => {
      const zone = requireZone(ctx, request.params.zone_id);
      const asked = { period: periodOf(queryOf(request)), nowMs: ctx.clock.nowMs() };
      return activityView(activity, 'zone', onlyZone(zone), asked);
    },
  );

  app.get(
    '/activity/queries',
    { area: 'any', summary: 'List the newest questions for your zones', querystring: queriesQuery, list: sampledQuery },
    async (ctx, request) => listQueries(activity, ctx, request),
  );

  app.get(
    '/zones/:zone_id/activity/queries',
    {
      area: 'dns',
      summary: 'List the newest questions for a zone',
      params: zoneParams,
      querystring: queriesQuery,
      list: sampledQuery,
    },
    async (ctx, request) => {
      const zone = requireZone(ctx, request.params.zone_id);
      return listQueries(activity, ctx, request, onlyZone(zone));
    },
  );
});

function periodOf(query: Query): '15m' | '24h' {
  return choiceValue(query, 'period', ['15m', '24h'] as const) ?? '15m';
}

/** Answers at once when there is something to tell, else when something that is wanted comes or the time is over. */
async function listQueries(
  activity: Activity,
  context: Context,
  request: FastifyRequest,
  visible: VisibleZones = visibleZones(context),
) {
  const { clock } = context;
  const query = queryOf(request);
  const after = numberValue(query, 'after', 0, Number.MAX_SAFE_INTEGER) ?? 0;
  const limit = numberValue(query, 'limit', 1, MOST_SAMPLES) ?? USUAL_SAMPLES;
  const waitMs = (numberValue(query, 'timeout', 0, LONGEST_WAIT_SECONDS) ?? 0) * 1000;
  const isWanted = wanted(query, visible);
  const find = () => activity.recent(after, limit, isWanted);
  const gone = new AbortController();
  request.raw.once('close', () => gone.abort());
  let found = find();
  const endMs = steadyMs(clock) + waitMs;
  for (let leftMs = waitMs; found.length === 0 && leftMs > 0; leftMs = endMs - steadyMs(clock)) {
    if (!(await activity.waitForMore(leftMs, gone.signal)) || gone.signal.aborted) break;
    found = find();
  }
  const items = found.map((sample) => sampledQueryView(sample, visible));
  return successPage(items, resultInfo({ page: 1, perPage: limit }, items.length, items.length));
}

function wanted(query: Query, visible: VisibleZones): (sample: NumberedQuery) => boolean {
  const name = textValue(query, 'name')?.toLowerCase();
  const type = textValue(query, 'type')?.toUpperCase();
  const rcode = textValue(query, 'rcode')?.toUpperCase();
  return (sample) =>
    (name === undefined || sample.name.includes(name)) &&
    (type === undefined || sample.type === type) &&
    (rcode === undefined || sample.rcode === rcode) &&
    (visible.all || (sample.owner !== 0 && visible.idOf(sample.owner) !== undefined));
}
