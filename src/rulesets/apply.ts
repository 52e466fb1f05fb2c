/**
 * Applies the rules of a zone to a request and its response: the one way for the edge and for whoever tries them. Each function throws
 * TooMuchWork (expressions/work.ts) where the rules take too long for this request.
 */
import { spend, TooMuchWork, withinWork } from '../expressions/work.js';
import { isHeaderValue } from './header-names.js';
import type { HeaderChange } from './parameters.js';
import type { Subject } from './subject.js';
import { LONGEST_URL, safePath, safeQuery } from './urls.js';
import type { CompiledRule, ZoneRules } from './zone-rules.js';

/** Units of work for each text of a list. */
const COPYING = 32;
/** Units of work for each character of a value. */
const CHECKING = 8;
/** Octets of all fields that rules may leave: a client that reads slowly holds them all. */
const MOST_OCTETS = 64 * 1024;

export interface Redirect {
  readonly status: number;
  readonly location: string;
  readonly rule: CompiledRule['rule'];
}

/** Told of each rule that does something. */
export type OnApplied = (rule: CompiledRule['rule']) => void;

/** Where the first rule that matches leads. One whose target is not a URL is ignored. */
export function redirectBy(rules: ZoneRules, subject: Subject): Redirect | undefined {
  return withinWork(subject, () => firstRedirect(rules, subject));
}

function firstRedirect({ redirects }: ZoneRules, subject: Subject): Redirect | undefined {
  for (const { rule, holds, action } of redirects) {
    if (action.kind !== 'redirect' || !holds(subject)) continue;
    const location = action.location(subject);
    if (location !== undefined) return { status: action.status, location, rule };
  }
  return undefined;
}

/** Path and query for the origin, which are those of the request if no rule matches; every rule sees what the client asked for. */
export function rewrittenTarget(rules: ZoneRules, subject: Subject, onApplied?: OnApplied): string {
  return withinWork(subject, () => newTarget(rules, subject, onApplied));
}

function newTarget({ rewrites }: ZoneRules, subject: Subject, onApplied?: OnApplied): string {
  let path: string | undefined;
  let query: string | undefined;
  for (const { rule, holds, action } of rewrites) {
    if (action.kind !== 'uri' || !holds(subject)) continue;
    const [newPath, newQuery] = [action.path?.(subject), action.query?.(subject)];
    const safe = newPath === undefined ? undefined : safePath(newPath);
    if (safe !== undefined) path = safe;
    if (newQuery !== undefined) query = safeQuery(newQuery);
    if (safe !== undefined || newQuery !== undefined) onApplied?.(rule);
  }
  if (path === undefined && query === undefined) return subject.target;
  const rest = query ?? subject.query;
  const target = `${path ?? subject.path}${rest === '' ? '' : `?${rest}`}`;
  return target.length > LONGEST_URL ? subject.target : target;
}

/** The fields after all rules that match, or the list itself; each rule sees the fields as they were. */
export function changedHeaders(
  rules: readonly CompiledRule[],
  subject: Subject,
  headers: readonly string[],
  onApplied?: OnApplied,
): readonly string[] {
  return withinWork(subject, () => newHeaders(rules, subject, headers, onApplied));
}

function newHeaders(
  rules: readonly CompiledRule[],
  subject: Subject,
  headers: readonly string[],
  onApplied?: OnApplied,
): readonly string[] {
  let changed: string[] | undefined;
  for (const { rule, holds, action } of rules) {
    if (action.kind !== 'headers' || !holds(subject)) continue;
    changed ??= [...headers];
    for (const change of action.changes) changed = withChange(changed, change, subject);
    onApplied?.(rule);
  }
  if (!changed) return headers;
  const octets = changed.reduce((sum, { length }) => sum + length, 0);
  if (octets > MOST_OCTETS) throw new TooMuchWork('the rules make too many fields');
  return changed;
}

/** A value that could end its line is left out, and with it the change. */
function withChange(headers: string[], { name, operation, of }: HeaderChange, subject: Subject): string[] {
  spend(headers.length * COPYING);
  const value = operation === 'remove' ? undefined : of(subject)?.trim();
  if (value !== undefined) spend(value.length * CHECKING);
  if (value !== undefined && !isHeaderValue(value)) return headers;
  const isEmpty = value === undefined || value === '';
  if (operation === 'add') return isEmpty ? headers : [...headers, name, value];
  const others = without(headers, name);
  return isEmpty ? others : [...others, name, value];
}

function without(headers: readonly string[], name: string): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() !== name) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}
