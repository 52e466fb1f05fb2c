/** Conditional requests on zones: the headers of RFC 9110 §13.1, read once, and answers that carry an entity tag. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fromHex } from '../base/bytes.js';
import { matchesWeakly, type Precondition, type TagList, zoneTag } from '../control/write/precondition.js';
import type { Store } from '../store/driver.js';
import { findZoneById } from '../store/zones/zones.js';
import { failure } from './errors.js';
import type { Query } from './query.js';

const LIST = /^[ \t,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[ \t]*(?:,[ \t,]*|$))+$/;
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** The tags of a header; undefined when it is missing. Throws 400 for one that cannot be read: ignoring it could destroy. */
function readTags(request: FastifyRequest, header: 'if-match' | 'if-none-match'): TagList | undefined {
  const text = request.headers[header]?.trim();
  if (text === undefined || text === '') return undefined;
  if (text === '*') return '*';
  if (!LIST.test(text)) throw failure('badCondition', { header });
  return text.match(TAG) ?? [];
}

/** What a request demands of its zone. On reads If-None-Match decides about the form of the answer only. */
export function preconditionOf(request: FastifyRequest): Precondition | undefined {
  const { zoneState } = request.routeOptions.config;
  if (zoneState === undefined) return undefined;
  const ifMatch = readTags(request, 'if-match');
  const ifNoneMatch = zoneState === 'write' ? readTags(request, 'if-none-match') : undefined;
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined;
  return { ...(ifMatch === undefined ? {} : { ifMatch }), ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }) };
}

/** Before a read: the tag of the state that is about to be read. A newer state in the answer does no harm, an older would. */
export function noteTag(store: Store, request: FastifyRequest): void {
  if (request.routeOptions.config.zoneState !== 'read') return;
  // A past state is not the one the tag stands for.
  if ((request.query as Query)['as_of'] !== undefined) return;
  const { zone_id: zoneId } = request.params as { readonly zone_id?: string };
  const id = zoneId === undefined ? undefined : fromHex(zoneId);
  const zone = id && findZoneById(store, id);
  if (zone) request.zoneTag = zoneTag(zone);
}

/** After it: the tag, or just "not modified" for a client that has this state already. Returns the body to send. */
export function addTag(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (request.zoneTag === '' || reply.statusCode !== 200) return payload;
  reply.header('etag', request.zoneTag);
  const known = readTags(request, 'if-none-match');
  if (known === undefined || !matchesWeakly(known, request.zoneTag)) return payload;
  reply.code(304);
  reply.removeHeader('content-type');
  return '';
}
