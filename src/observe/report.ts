/** What a DNS process reports about the questions of one second. */
import { COUNTS, type Counts } from './counts.js';
import type { PoolGain } from './pool-counts.js';
import type { SampledQuery } from './query.js';
import type { ZoneTally } from './tally.js';

export interface ActivityReport {
  /** The end of the second, milliseconds since 1970. */
  readonly atMs: number;
  readonly total: Counts;
  /** Apexes in lower case without their final dots; no more than {@link MOST_REPORTED_ZONES}, the busiest ones. */
  readonly zones: readonly { readonly zone: string; readonly counts: Counts }[];
  readonly samples: readonly WeightedQuery[];
  /** Answers by pool: for the metrics of this process, and told to no other. */
  readonly pools?: readonly PoolGain[] | undefined;
  /** What zones were asked, by name and network, since the last report that contained it. */
  readonly tallies?: readonly ZoneTally[] | undefined;
}

/** A sample that stands for `weight` questions. */
export interface WeightedQuery extends SampledQuery {
  readonly weight: number;
}

/** A sample with the store number of the zone that answered; 0: none did. A later zone of the same name has another. */
export interface OwnedQuery extends WeightedQuery {
  readonly owner: number;
}

export const MOST_REPORTED_ZONES = 200;
/** Samples in a report. */
export const MOST_SAMPLES = 400;

/** A report as one line. */
export function printReport({ pools: _, ...report }: ActivityReport): string {
  return JSON.stringify(report);
}

/** The longest line that is read, in characters. */
const LONGEST_REPORT = 1_000_000;

/** Reads a line of another process of this service; undefined when it is none. */
export function parseReport(line: string): ActivityReport | undefined {
  if (line.length > LONGEST_REPORT) return undefined;
  try {
    const report = JSON.parse(line) as ActivityReport;
    const isSound =
      typeof report.atMs === 'number' &&
      isCounts(report.total) &&
      Array.isArray(report.samples) &&
      Array.isArray(report.zones) &&
      report.zones.every(({ zone, counts }) => typeof zone === 'string' && isCounts(counts)) &&
      (report.tallies === undefined || Array.isArray(report.tallies));
    return isSound ? report : undefined;
  } catch {
    return undefined;
  }
}

function isCounts(value: unknown): boolean {
  return Array.isArray(value) && value.length === COUNTS && value.every((count) => typeof count === 'number');
}
