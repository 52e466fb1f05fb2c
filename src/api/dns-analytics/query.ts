/** The query of a report: what is counted, by what, and of which time. Throws 400 for what is not understood. */
import {
  COMMON_DIMENSIONS,
  DIMENSIONS,
  type Dimension,
  NAME_DIMENSIONS,
  NETWORK_DIMENSION,
  type Values,
  wholeSpans,
} from '../../statistics/report.js';
import { DAY, HOUR, KEPT } from '../../store/zones/queries.js';
import { failure } from '../errors.js';
import { listValues, numberValue, type Query, textValue, timeValue } from '../query.js';
import { parseFilters } from './filters.js';

export const METRICS = ['queryCount', 'uncachedCount', 'staleCount'] as const;
export type Metric = (typeof METRICS)[number];

/** What the vendor has, and is not counted here. */
const NOT_KEPT: Readonly<Record<string, string>> = {
  coloName: 'nodes count together',
  origin: 'no other server is asked',
  querySizeBucket: 'sizes are not kept',
  responseSizeBucket: 'sizes are not kept',
  responseTimeAvg: 'response times are not kept; …/activity has those of the last day',
  responseTimeMedian: 'response times are not kept; …/activity has those of the last day',
  responseTime90th: 'response times are not kept; …/activity has those of the last day',
  responseTime99th: 'response times are not kept; …/activity has those of the last day',
};

const USUAL_SECONDS = DAY;
const USUAL_LIMIT = 100;
const MOST_ROWS = 1000;
/** Hours are read where they are all kept. */
const HOURS_KEPT = KEPT[HOUR]! - HOUR;
const DAYS_KEPT = KEPT[DAY]! - DAY;

export interface Order {
  readonly of: Dimension | Metric;
  readonly descending: boolean;
}

export interface ReportQuery {
  readonly dimensions: readonly Dimension[];
  readonly metrics: readonly Metric[];
  readonly filters: string | undefined;
  readonly isWanted: (values: Values) => boolean;
  readonly kind: 'names' | 'networks';
  readonly span: number;
  /** Seconds since 1970, whole spans. */
  readonly since: number;
  readonly until: number;
  readonly sort: readonly string[];
  readonly order: readonly Order[];
  readonly limit: number;
}

export function parseReportQuery(query: Query, nowMs: number): ReportQuery {
  const dimensions = named(query, 'dimensions', DIMENSIONS);
  const asked = named(query, 'metrics', METRICS);
  const metrics: readonly Metric[] = asked.length > 0 ? asked : ['queryCount'];
  const filters = textValue(query, 'filters');
  const filter = parseFilters(filters);
  const used = new Set<Dimension>([...dimensions, ...filter.dimensions]);
  const ofNames = NAME_DIMENSIONS.filter((dimension) => used.has(dimension));
  if (used.has(NETWORK_DIMENSION) && ofNames.length > 0) {
    throw wrong(
      'dimensions',
      `${NETWORK_DIMENSION} only with ${COMMON_DIMENSIONS.join(' or ')}: it is counted separately`,
    );
  }
  const sort = listValues(query, 'sort');
  const order = sort.map((text) => orderOf(text, dimensions, metrics));
  // Each is compared for each pair of rows.
  if (new Set(order.map(({ of }) => of)).size < order.length) throw wrong('sort', 'each of them once');
  return {
    ...{ dimensions, metrics, filters, isWanted: filter.isWanted },
    kind: used.has(NETWORK_DIMENSION) ? 'networks' : 'names',
    ...rangeOf(query, Math.floor(nowMs / 1000)),
    ...{ sort, order: order.length > 0 ? order : usualOrder(metrics) },
    limit: numberValue(query, 'limit', 1, MOST_ROWS) ?? USUAL_LIMIT,
  };
}

/** A list without repetitions. */
function named<Choice extends string>(query: Query, parameter: string, choices: readonly Choice[]): Choice[] {
  const found = listValues(query, parameter).map((text) => {
    const choice = choices.find((one) => one === text);
    if (choice) return choice;
    const reason = Object.hasOwn(NOT_KEPT, text) ? ` (${text}: ${NOT_KEPT[text]})` : '';
    throw wrong(parameter, `a list of ${choices.join(', ')}${reason}`);
  });
  if (new Set(found).size < found.length) throw wrong(parameter, 'each of them once');
  return found;
}

function rangeOf(query: Query, now: number): Pick<ReportQuery, 'span' | 'since' | 'until'> {
  // With the hour that begins now.
  const until = secondOf(query, 'until') ?? now + 1;
  const since = secondOf(query, 'since') ?? until - USUAL_SECONDS;
  if (since >= until) throw wrong('since', 'a time before until');
  if (since < now - DAYS_KEPT) throw wrong('since', `a time in the last ${DAYS_KEPT / DAY} days`);
  if (until > now + DAY) throw wrong('until', 'a time that is not in the future');
  const span = since >= now - HOURS_KEPT ? HOUR : DAY;
  const [first, last] = wholeSpans(since, until, span);
  return { span, since: first, until: last };
}

/** Seconds since 1970. */
function secondOf(query: Query, name: string): number | undefined {
  const us = timeValue(query, name);
  return us === undefined ? undefined : Math.floor(us / 1e6);
}

function orderOf(text: string, dimensions: readonly Dimension[], metrics: readonly Metric[]): Order {
  const name = text.replace(/^[-+]/, '');
  const of = [...dimensions, ...metrics].find((one) => one === name);
  if (of === undefined) throw wrong('sort', 'dimensions and metrics of this report, each after + or -');
  return { of, descending: text.startsWith('-') };
}

function usualOrder([first]: readonly Metric[]): Order[] {
  return [{ of: first!, descending: true }];
}

const DELTAS = ['auto', 'hour', 'day', 'week', 'month', 'quarter', 'year', 'all'] as const;
export type Delta = (typeof DELTAS)[number];

/** The unit of the intervals. A unit that is finer than the counts kept of that time is refused. */
export function deltaOf(query: Query, span: number): Delta {
  const text = textValue(query, 'time_delta') ?? 'auto';
  const delta = DELTAS.find((one) => one === text.toLowerCase());
  if (delta === undefined) throw wrong('time_delta', `one of ${DELTAS.join(', ')}; nothing finer than hours is kept`);
  if (delta === 'hour' && span !== HOUR) {
    throw wrong('time_delta', `day or longer before the last ${HOURS_KEPT / HOUR} hours`);
  }
  return delta === 'auto' ? (span === HOUR ? 'hour' : 'day') : delta;
}

/** Beginnings of the intervals from `since` to `until`, in UTC; the first and the last may be shorter than the others. */
export function intervalsOf({ since, until }: Pick<ReportQuery, 'since' | 'until'>, delta: Delta): number[] {
  const begins: number[] = [];
  for (let at = since; at < until; at = nextOf(at, delta, until)) begins.push(at);
  return begins;
}

function nextOf(at: number, delta: Delta, until: number): number {
  const time = new Date(at * 1000);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  switch (delta) {
    case 'hour':
      return at + HOUR;
    case 'day':
      return (Math.floor(at / DAY) + 1) * DAY;
    case 'week':
      // Weeks begin on Mondays; 1970 began on a Thursday.
      return (Math.floor((at / DAY + 3) / 7) + 1) * 7 * DAY - 3 * DAY;
    case 'month':
      return Date.UTC(year, month + 1) / 1000;
    case 'quarter':
      return Date.UTC(year, month - (month % 3) + 3) / 1000;
    case 'year':
      return Date.UTC(year + 1, 0) / 1000;
    default:
      return until;
  }
}

function wrong(name: string, expected: string): Error {
  return failure('badParameter', { name, expected });
}
