/** Activity as the API shows it. */

import type { VisibleZones } from '../../control/guard/visible.js';
import { domainToUnicode } from '../../dns/idna.js';
import type { Activity as KnownActivity, NumberedQuery } from '../../observe/activity.js';
import { COUNT_NAMES } from '../../observe/counts.js';
import {
  type Period,
  PLACES,
  percentile,
  type Series,
  type Step,
  stepCount,
  stepSeconds,
} from '../../observe/series.js';
import type { TopName } from '../../observe/top-names.js';
import type { Activity, SampledQuery } from './schema.js';

/** Zones and names in an answer. */
const MOST_LISTED = 20;

export function activityView(
  activity: KnownActivity,
  scope: Activity['scope'],
  visible: VisibleZones,
  { period, nowMs }: { readonly period: Period; readonly nowMs: number },
): Activity {
  const now = Math.floor(nowMs / 1000);
  const zones = activity.zones().flatMap(({ owner, name, series }) => {
    const id = visible.idOf(owner);
    if (id === undefined) return [];
    const steps = series.steps(period, now);
    return [{ id, name, steps, queries: countOf(sumOf(steps), 'queries') }];
  });
  const steps = scope === 'server' ? activity.server.steps(period, now) : addedSteps(zones.map((zone) => zone.steps));
  const sums = sumOf(steps);
  const names = activity.names.names((owner) => owner !== 0 && visible.idOf(owner) !== undefined);
  return {
    scope,
    period,
    step_seconds: stepSeconds(period),
    totals: totalsView(sums),
    latency_micros: { p50: percentile(sums, 0.5), p90: percentile(sums, 0.9), p99: percentile(sums, 0.99) },
    series: seriesView(steps, period, now),
    zones: zones
      .sort((a, b) => b.queries - a.queries)
      .slice(0, MOST_LISTED)
      .map(({ id, name, queries }) => ({ id, name: domainToUnicode(name), queries })),
    names: names
      .sort((a, b) => b.queries - a.queries)
      .slice(0, MOST_LISTED)
      .map((name) => nameView(name, visible)),
    slow: names
      .sort((a, b) => b.averageMicros - a.averageMicros)
      .slice(0, MOST_LISTED)
      .map((name) => nameView(name, visible)),
  };
}

/** The steps of several series, added. */
function addedSteps(all: readonly ReturnType<Series['steps']>[]): Step[] {
  const sums = new Map<number, Float32Array>();
  for (const { at, places } of all.flat()) {
    const sum = sums.get(at);
    if (!sum) sums.set(at, places);
    else for (let place = 0; place < PLACES; place++) sum[place]! += places[place]!;
  }
  return [...sums].map(([at, places]) => ({ at, places })).sort((a, b) => a.at - b.at);
}

function sumOf(steps: readonly Step[]): number[] {
  const sums = new Array<number>(PLACES).fill(0);
  for (const { places } of steps) for (let place = 0; place < PLACES; place++) sums[place]! += places[place]!;
  return sums;
}

function countOf(places: ArrayLike<number>, name: (typeof COUNT_NAMES)[number]): number {
  return places[COUNT_NAMES.indexOf(name)]!;
}

function totalsView(sums: ArrayLike<number>): Activity['totals'] {
  const pick = (names: readonly (typeof COUNT_NAMES)[number][]): Record<string, number> =>
    Object.fromEntries(names.map((name) => [name, countOf(sums, name)]));
  return {
    queries: countOf(sums, 'queries'),
    octets: countOf(sums, 'octets'),
    unanswered: countOf(sums, 'unanswered'),
    truncated: countOf(sums, 'truncated'),
    rcodes: pick(['noerror', 'nxdomain', 'servfail', 'refused', 'other']),
    sources: pick(['plain', 'flattened', 'proxied', 'https', 'signed']),
  };
}

/** One entry for every step, also for those without questions. The last whole step is the last. */
function seriesView(steps: readonly Step[], period: Period, now: number): Activity['series'] {
  const seconds = stepSeconds(period);
  const last = Math.floor(now / seconds) * seconds;
  const known = new Map(steps.map(({ at, places }) => [at, places]));
  const at = Array.from({ length: stepCount(period) }, (_, i) => last - (stepCount(period) - 1 - i) * seconds);
  const counted = (...names: (typeof COUNT_NAMES)[number][]): number[] =>
    at.map((time) => {
      const places = known.get(time);
      return places ? names.reduce((sum, name) => sum + countOf(places, name), 0) : 0;
    });
  return { at, queries: counted('queries'), nxdomain: counted('nxdomain'), failed: counted('servfail', 'refused') };
}

function nameView(top: TopName, visible: VisibleZones): Activity['names'][number] {
  const { owner, zone, name, type, queries, missing, averageMicros, maxMicros } = top;
  const zoneId = visible.idOf(owner)!;
  return { zone_id: zoneId, zone, name, type, queries, missing, average_micros: averageMicros, max_micros: maxMicros };
}

export function sampledQueryView(query: NumberedQuery, visible: VisibleZones): SampledQuery {
  const { number, atMs, tookUs, owner, zone, flags, ...rest } = query;
  return {
    number: String(number),
    at: new Date(atMs).toISOString(),
    ...rest,
    flags: [...flags],
    zone_id: visible.idOf(owner) ?? '',
    zone,
    micros: tookUs,
  };
}
