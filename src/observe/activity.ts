/**
 * What the admin process knows about the questions of the last day, from the reports of DNS processes. All in memory and
 * bounded: series of the busiest zones, the names asked for most, the newest samples, and who waits for the next ones.
 */
import type { Clock } from '../base/clock.js';
import { addCounts, noCounts } from './counts.js';
import type { ActivityReport, WeightedQuery } from './report.js';
import { createSeries, PLACES, type Series, tookPlace } from './series.js';
import { createTopNames, type TopNames } from './top-names.js';

/** A sample with its number. Numbers grow, also over restarts. */
export interface NumberedQuery extends WeightedQuery {
  readonly number: number;
}

export interface Activity {
  add(report: ActivityReport): void;
  readonly server: Series;
  /** The series of a zone; undefined when it was not among the busiest ones. */
  zone(name: string): Series | undefined;
  /** Names of the zones with series, the busiest first. */
  zones(): string[];
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
  readonly series: Series;
  score: number;
}

export function createActivity(clock: Clock): Activity {
  const server = createSeries();
  const zones = new Map<string, KnownZone>();
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
    recent.push({ ...query, number: lastNumber });
    names.add(query);
  };

  return {
    server,
    names,
    add(report) {
      const at = Math.floor(report.atMs / 1000);
      const took = Map.groupBy(report.samples, ({ zone }) => zone);
      server.add(at, placesOf(report.total, report.samples));
      for (const { zone, counts } of report.zones) {
        const known = zones.get(zone) ?? admit(zones, zone, counts[0]!);
        if (!known) continue;
        known.score += counts[0]!;
        known.series.add(at, placesOf(counts, took.get(zone) ?? []));
      }
      halveScores(report.atMs);
      for (const query of report.samples) remember(query);
      if (recent.length > MOST_RECENT * 1.5) recent.splice(0, recent.length - MOST_RECENT);
      if (report.samples.length > 0) for (const wake of [...waiting]) wake();
    },
    zone: (name) => zones.get(name)?.series,
    zones: () => [...zones].sort(([, a], [, b]) => b.score - a.score).map(([name]) => name),
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
function admit(zones: Map<string, KnownZone>, name: string, queries: number): KnownZone | undefined {
  if (zones.size >= MOST_ZONES) {
    const [quietest, { score }] = [...zones].reduce((least, zone) => (zone[1].score < least[1].score ? zone : least));
    if (score >= queries) return undefined;
    zones.delete(quietest);
  }
  const zone = { series: createSeries(), score: 0 };
  zones.set(name, zone);
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
