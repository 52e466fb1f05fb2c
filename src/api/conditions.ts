/** Conditional requests on zones: the headers of RFC 9110 §13.1, parsed once, and answers with an entity tag. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fromHex } from '../base/bytes.js';
import { matchesWeakly, type Precondition, type TagList, zoneTag } from '../control/guard/precondition.js';
import type { Store } from '../store/driver.js';
import { findZoneById } from '../store/zones/zones.js';
import { failure } from './errors.js';
import type { Query } from './query.js';

const LIST = /^[ \t,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[ \t]*(?:,[ \t,]*|$))+$/;
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * The tags of a header; undefined when it is missing. Throws 400 for an invalid one, because ignoring it could destroy
 * data.
 */
function readTags(request: FastifyRequest, header: 'if-match' | 'if-none-match'): TagList | undefined {
  const text = request.headers[header]?.trim();
  if (text === undefined || text === '') return undefined;
  if (text === '*') return '*';
  if (!LIST.test(text)) throw failure('badCondition', { header });
  return text.match(TAG) ?? [];
}

/** The precondition of a request on its zone. On reads, If-None-Match decides only the form of the answer. */
export function preconditionOf(request: FastifyRequest): Precondition | undefined {
  const { zoneState, objectState } = request.routeOptions.config;
  const access = zoneState ?? objectState;
  if (access === undefined) return undefined;
  const ifMatch = readTags(request, 'if-match');
  const ifNoneMatch = access === 'write' ? readTags(request, 'if-none-match') : undefined;
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined;
  return { ...(ifMatch === undefined ? {} : { ifMatch }), ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }) };
}

/**
 * Called before a read: notes the tag of the state to be read. A newer state in the answer does no harm; an older one
 * would.
 */
export function noteTag(store: Store, request: FastifyRequest): void {
  if (request.routeOptions.config.zoneState !== 'read') return;
  // The tag does not belong to a past state.
  if ((request.query as Query)['as_of'] !== undefined) return;
  const { zone_id: zoneId } = request.params as { readonly zone_id?: string };
  const id = zoneId === undefined ? undefined : fromHex(zoneId);
  const zone = id && findZoneById(store, id);
  if (zone) request.zoneTag = zoneTag(zone);
}

/**
 * Called after the read: adds the tag, or answers "not modified" to a client that already has this state. Returns the
 * body to send.
 */
export function addTag(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (request.zoneTag === '' || reply.statusCode !== 200) return payload;
  reply.header('etag', request.zoneTag);
  const known = readTags(request, 'if-none-match');
  if (known === undefined || !matchesWeakly(known, request.zoneTag)) return payload;
  reply.code(304);
  reply.removeHeader('content-type');
  return '';
}
