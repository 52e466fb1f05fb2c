/** Filters of the audit log out of query strings. */
import type { AuditFilter, Choice } from '../../control/access/audit.js';
import { failure } from '../errors.js';
import { filterValues, firstValue, type Query, textValue, timeValue } from '../query.js';
import { EVENT_FILTERS } from './schema.js';

/** Page sizes of the newer list. */
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
    const any = filterValues(query, name);
    const none = filterValues(query, `${name}.not`);
    if (any.length + none.length > 0) filter[member] = { any, none };
  }
  return { ...filter, ...timesOf(query) };
}

function timesOf(query: Query): AuditFilter {
  const since = timeValue(query, 'since');
  const before = timeValue(query, 'before');
  return { ...(since === undefined ? {} : { since }), ...(before === undefined ? {} : { before }) };
}

/** The number of requested entries and the start. Throws 400 for an invalid cursor. */
export function sliceOf(query: Query): { readonly limit: number; readonly cursor?: number } {
  const limit = Number(firstValue(query, 'limit') ?? SLICE.usual);
  const cursor = textValue(query, 'cursor');
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
    throw failure('badParameter', { name: 'cursor', expected: 'the cursor of the previous answer' });
  }
  return {
    limit: limit >= 1 ? Math.min(Math.trunc(limit), SLICE.most) : SLICE.usual,
    ...(cursor === undefined ? {} : { cursor: Number(cursor) }),
  };
}
