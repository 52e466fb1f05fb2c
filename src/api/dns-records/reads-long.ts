/** Which reads of records may take so long that others would wait. */
import type { FastifyRequest } from 'fastify';
import { fromHex } from '../../base/bytes.js';
import type { Store } from '../../store/driver.js';
import { SORTED_BY_TEXT } from '../../store/records/query.js';
import { findZoneById } from '../../store/zones/zones.js';
import { pageOf, RECORD_PAGES } from '../paging.js';
import { isPresent, type Query, textValue } from '../query.js';
import { queryOf } from '../request.js';

/** Parameters that lead to few records by an index. */
const SHORT: ReadonlySet<string> = new Set([
  'name',
  'name.exact',
  'type',
  'page',
  'per_page',
  'order',
  'direction',
  'match',
]);
/** Records that are read or compared in a millisecond or two, unless they are long. */
const FEW_RECORDS = 500;
const MOST_ON_PAGE = 100;
/** Records before a page, which an index counts off. */
const MOST_SKIPPED = 10_000;

export function listsLong(request: FastifyRequest, store: Store): boolean {
  const query = queryOf(request);
  if (Object.keys(query).some((name) => !SHORT.has(name))) return true;
  const { page, perPage } = pageOf(query, RECORD_PAGES);
  if (perPage > MOST_ON_PAGE) return true;
  const { zone_id: zoneId } = request.params as { readonly zone_id: string };
  const id = fromHex(zoneId);
  const records = (id && findZoneById(store, id)?.record_count) ?? 0;
  if (records <= FEW_RECORDS) return false;
  if (hasName(query)) return false;
  // Larger zones have an order that an index provides.
  const isIndexed = records > SORTED_BY_TEXT && !isPresent(query, 'order') && !isPresent(query, 'type');
  return !isIndexed || page * perPage > MOST_SKIPPED;
}

function hasName(query: Query): boolean {
  return (
    (textValue(query, 'name') ?? textValue(query, 'name.exact')) !== undefined && textValue(query, 'match') !== 'any'
  );
}

/** A past state of a zone is made first; below a delegation, many records may have to be counted. */
export function getsLong(request: FastifyRequest): boolean {
  const query = queryOf(request);
  return isPresent(query, 'as_of') || isPresent(query, 'include_shadow_metadata');
}
