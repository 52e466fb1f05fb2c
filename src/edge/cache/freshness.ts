/** The age of a response and its freshness lifetime (RFC 9111 §4.2). */
import { parseCacheDate } from '../../http/date.js';
import { fieldValue, type HeaderFields, listMembers } from '../../http/fields.js';
import { type Directives, MOST_SECONDS } from './directives.js';

/** When a request was sent to the origin and when its response arrived, milliseconds of the steady clock. */
export interface Exchange {
  readonly sentMs: number;
  readonly receivedMs: number;
  /** The same moment on the wall clock, to compare it with dates. */
  readonly receivedAtMs: number;
}

/** The fraction of the time since the last change that serves as lifetime if the response states none (RFC 9111 §4.2.2). */
const HEURISTIC_SHARE = 0.1;
const LONGEST_HEURISTIC_S = 86_400;

/** The value of `Date`, seconds since 1970; without a valid one, the time of reception. */
function dateOf(fields: HeaderFields, receivedAtMs: number): number {
  const date = fieldValue(fields, 'date');
  return (date === undefined ? undefined : parseCacheDate(date, receivedAtMs)) ?? Math.floor(receivedAtMs / 1000);
}

/** Age at the time of reception, in seconds (`corrected_initial_age`, RFC 9111 §4.2.3). */
export function initialAge(fields: HeaderFields, { sentMs, receivedMs, receivedAtMs }: Exchange): number {
  const apparent = Math.max(0, receivedAtMs / 1000 - dateOf(fields, receivedAtMs));
  // `Date` has whole seconds only.
  return Math.max(Math.floor(apparent), ageField(fields) + (receivedMs - sentMs) / 1000);
}

/** The first member of `Age`; zero if it is not a number (RFC 9111 §5.1). */
function ageField(fields: HeaderFields): number {
  const first = listMembers(fieldValue(fields, 'age') ?? '')[0] ?? '';
  return /^\d+$/.test(first) ? Math.min(Number(first), MOST_SECONDS) : 0;
}

/** The lifetime that a response states, in seconds; undefined if it states none. */
export function explicitLifetime(
  fields: HeaderFields,
  directives: Directives,
  { receivedAtMs }: Pick<Exchange, 'receivedAtMs'>,
): number | undefined {
  const said = directives.sharedMaxAgeS ?? directives.maxAgeS;
  if (said !== undefined || directives.isTargeted) return said;
  const expires = fieldValue(fields, 'expires');
  if (expires === undefined) return undefined;
  // A value that is not a date, such as 0, means a time in the past (RFC 9111 §5.3).
  const end = parseCacheDate(expires, receivedAtMs);
  return end === undefined ? 0 : Math.max(0, end - dateOf(fields, receivedAtMs));
}

/** A lifetime estimated from the last change; undefined if that is unknown. */
export function heuristicLifetime(fields: HeaderFields, { receivedAtMs }: Exchange): number | undefined {
  const text = fieldValue(fields, 'last-modified');
  const modified = text === undefined ? undefined : parseCacheDate(text, receivedAtMs);
  if (modified === undefined) return undefined;
  const unchanged = Math.max(0, dateOf(fields, receivedAtMs) - modified);
  return Math.min(unchanged * HEURISTIC_SHARE, LONGEST_HEURISTIC_S);
}
