/** Filters of the audit log out of query strings. */
import type { AuditFilter, Choice } from '../../control/access/audit.js';
import { parseInstant } from '../../control/rules/instant.js';
import { failure } from '../errors.js';
import { firstValue, listValues, type Query, textValue } from '../query.js';
import { EVENT_FILTERS } from './schema.js';

/** Values of one filter that are looked at. */
const MOST_VALUES = 100;
/** Entries the newer list gives at once. */
const SLICE = { usual: 100, most: 1000 } as const;

/** Filters of the older list (npm `cloudflare`: `auditLogs.list`). */
export function pageFilter(query: Query): AuditFilter {
  const one = (member: keyof AuditFilter, name: string): AuditFilter => {
    const value = textValue(query, name);
    return value === undefined ? {} : { [member]: { any: [value], none: [] } };
  };
  return {
    ...one('id', 'id'),
    ...one('action', 'action.type'),
    ...one('actorEmail', 'actor.email'),
    ...one('address', 'actor.ip'),
    ...one('zoneName', 'zone.name'),
    ...timesOf(query),
  };
}

/** Filters of the newer list (npm `cloudflare`: `accounts.logs.audit.list`). */
export function sliceFilter(query: Query): AuditFilter {
  const filter: Record<string, Choice> = {};
  for (const [name, member] of Object.entries(EVENT_FILTERS)) {
    const any = listValues(query, name).slice(0, MOST_VALUES);
    const none = listValues(query, `${name}.not`).slice(0, MOST_VALUES);
    if (any.length + none.length > 0) filter[member] = { any, none };
  }
  return { ...filter, ...timesOf(query) };
}

function timesOf(query: Query): AuditFilter {
  const since = timeValue(query, 'since');
  const before = timeValue(query, 'before');
  return { ...(since === undefined ? {} : { since }), ...(before === undefined ? {} : { before }) };
}

/** A date is its first instant. */
function timeValue(query: Query, name: string): number | undefined {
  const text = textValue(query, name);
  if (text === undefined) return undefined;
  const instant = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (instant === undefined) throw failure('badParameter', { name, expected: 'a date or an RFC 3339 time' });
  return instant;
}

/** Entries asked for, and where to begin. Throws 400 for a cursor that no list gave. */
export function sliceOf(query: Query): { readonly limit: number; readonly cursor?: number } {
  const limit = Number(firstValue(query, 'limit') ?? SLICE.usual);
  const cursor = textValue(query, 'cursor');
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
    throw failure('badParameter', { name: 'cursor', expected: 'what the answer before gave' });
  }
  return {
    limit: limit >= 1 ? Math.min(Math.trunc(limit), SLICE.most) : SLICE.usual,
    ...(cursor === undefined ? {} : { cursor: Number(cursor) }),
  };
}
