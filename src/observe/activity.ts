/**
 * What the admin process knows about the questions of the last day, from the reports of DNS processes. All in memory and
 * bounded: series of the busiest zones, the names asked for most, the newest samples, and who waits for the next ones.
 */
import type { Clock } from '../base/clock.js';
import { addCounts, noCounts } from './counts.js';
import type { ActivityReport, OwnedQuery, WeightedQuery } from './report.js';
import { createSeries, PLACES, type Series, tookPlace } from './series.js';
import { createTopNames, type TopNames } from './top-names.js';

/** A sample with its number. Numbers grow, also over restarts. */
export interface NumberedQuery extends OwnedQuery {
  readonly number: number;
}

export interface Activity {
  add(report: ActivityReport): void;
  readonly server: Series;
  /** The zones with series, by their store numbers, the busiest first. */
  zones(): { readonly owner: number; readonly name: string; readonly series: Series }[];
  readonly names: TopNames;
  /** Samples with numbers above `after` that `isWanted`, the oldest first, no more than `limit` of them: the newest. */
  recent(after: number, limit: number, isWanted: (query: NumberedQuery) => boolean): NumberedQuery[];
  /** The number of the newest sample. */
  lastNumber(): number;
  /**
   * Resolves when new samples came, when the time is over, or when `abort` fires. False at once when too many wait
   * already.
   */
  waitForMore(limitMs: number, abort: AbortSignal): Promise<boolean>;
  /** Lets nobody wait any more: the process stops. */
  endWaiting(): void;
}

const MOST_ZONES = 64;
const MOST_RECENT = 3000;
const MOST_WAITING = 200;
/** Milliseconds after which what zones were asked counts half, when one has to go. */
const HALF_LIFE_MS = 60_000;

interface KnownZone {
  readonly name: string;
  readonly series: Series;
  score: number;
}

/** `ownerOf`: the store number of the zone that is served under a name now; undefined: none is. */
export function createActivity(clock: Clock, ownerOf: (name: string) => number | undefined): Activity {
  const server = createSeries();
  const zones = new Map<number, KnownZone>();
  const names = createTopNames();
  const recent: NumberedQuery[] = [];
  const waiting = new Set<() => void>();
  let lastNumber = clock.nowMs() * 1000;
  let halvedMs = clock.nowMs();
  let isEnding = false;

  const halveScores = (nowMs: number): void => {
    if (nowMs - halvedMs < HALF_LIFE_MS) return;
    halvedMs = nowMs;
    for (const zone of zones.values()) zone.score /= 2;
  };
  const remember = (query: WeightedQuery): void => {
    lastNumber += 1;
    const owned = { ...query, owner: query.zone === '' ? 0 : (ownerOf(query.zone) ?? 0) };
    recent.push({ ...owned, number: lastNumber });
    names.add(owned);
  };

  return {
    server,
    names,
    add(report) {
      const at = Math.floor(report.atMs / 1000);
      const took = Map.groupBy(report.samples, ({ zone }) => zone);
      server.add(at, placesOf(report.total, report.samples));
      for (const { zone, counts } of report.zones) {
        const owner = ownerOf(zone);
        const known = owner === undefined ? undefined : (zones.get(owner) ?? admit(zones, owner, zone, counts[0]!));
        if (!known) continue;
        known.score += counts[0]!;
        known.series.add(at, placesOf(counts, took.get(zone) ?? []));
      }
      halveScores(report.atMs);
      for (const query of report.samples) remember(query);
      if (recent.length > MOST_RECENT * 1.5) recent.splice(0, recent.length - MOST_RECENT);
      if (report.samples.length > 0) for (const wake of [...waiting]) wake();
    },
    zones: () =>
      [...zones]
        .sort(([, a], [, b]) => b.score - a.score)
        .map(([owner, { name, series }]) => ({ owner, name, series })),
    recent: (after, limit, isWanted) => recent.filter((query) => query.number > after && isWanted(query)).slice(-limit),
    lastNumber: () => lastNumber,
    waitForMore(limitMs, abort) {
      if (isEnding || waiting.size >= MOST_WAITING || abort.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const end = (): void => {
          waiting.delete(end);
          cancel();
          abort.removeEventListener('abort', end);
          resolve(true);
        };
        const cancel = clock.after(limitMs, end);
        abort.addEventListener('abort', end);
        waiting.add(end);
      });
    },
    endWaiting() {
      isEnding = true;
      for (const end of [...waiting]) end();
    },
  };
}

/** Gives a zone a series; undefined when others are asked more. */
function admit(zones: Map<number, KnownZone>, owner: number, name: string, queries: number): KnownZone | undefined {
  if (zones.size >= MOST_ZONES) {
    const [quietest, { score }] = [...zones].reduce((least, zone) => (zone[1].score < least[1].score ? zone : least));
    if (score >= queries) return undefined;
    zones.delete(quietest);
  }
  const zone = { name, series: createSeries(), score: 0 };
  zones.set(owner, zone);
  return zone;
}

function placesOf(counts: readonly number[], samples: readonly WeightedQuery[]): number[] {
  const places = new Array<number>(PLACES).fill(0);
  const sums = noCounts();
  addCounts(sums, counts);
  for (const [place, count] of sums.entries()) places[place] = count;
  for (const { tookUs, weight } of samples) places[tookPlace(tookUs)]! += weight;
  return places;
}
