/** `/events`: events as a stream (Server-Sent Events) or as a list. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EventFilter } from '../../control/access/visible-events.js';
import { requireAccount } from '../../control/guard/access.js';
import { isKindPattern } from '../../control/kernel/event.js';
import { success } from '../envelope.js';
import { failure } from '../errors.js';
import { filterValues, firstValue, type Query, textValue } from '../query.js';
import { callerOf, queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { eventAnswer, eventQuery } from './schema.js';
import type { EventStreams } from './streams.js';

interface Parts {
  readonly events: EventStreams;
}

const STREAM = 'text/event-stream';

export const eventRoutes: AddRoutes<Parts> = (app, { events }) => {
  app.get(
    '/events',
    { area: 'any', tags: ['Events'], summary: 'Follow events', querystring: eventQuery, response: eventAnswer },
    async (ctx, request, reply) => {
      const { actor, keyHash, session } = callerOf(request);
      const query = queryOf(request);
      const filter = filterOf(query);
      if (filter.account !== undefined) requireAccount(ctx, filter.account);
      const after = positionOf(request, query);
      if (wantsStream(request)) {
        const opening = { actor, keyHash, session, address: request.clientAddress, filter, after };
        return sendStream(reply, events.open(opening)) as never;
      }
      const { events: found, position } = await events.list(actor, { ...filter, after: after ?? 0 });
      const cursors = { after: String(position) };
      return { ...success([...found]), result_info: { count: found.length, cursors } };
    },
  );
};

function sendStream(reply: FastifyReply, stream: NodeJS.ReadableStream): FastifyReply {
  // The connection carries nothing else, so it closes with the stream, even when the server stops.
  return reply
    .header('connection', 'close')
    .type(STREAM)
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .send(stream);
}

/** Whether the client accepts the media type of streams, by name or with a wildcard for all. */
function wantsStream({ method, headers: { accept } }: FastifyRequest): boolean {
  return (
    method === 'GET' && accept !== undefined && (accept.includes(STREAM) || /(^|,)\s*\*\/\*\s*(,|;|$)/.test(accept))
  );
}

function filterOf(query: Query): EventFilter {
  const kinds = filterValues(query, 'kind');
  const zones = filterValues(query, 'zone').map((text) => text.replace(/\.$/, '').toLowerCase());
  const unknown = kinds.find((kind) => !isKindPattern(kind));
  if (unknown !== undefined)
    throw failure('badParameter', { name: 'kind', expected: 'kinds such as record.edit or record.*' });
  return { account: textValue(query, 'account'), zones, kinds };
}

/** Number of the last event that the client knows. */
function positionOf({ headers }: FastifyRequest, query: Query): number | undefined {
  const text = headers['last-event-id'] ?? firstValue(query, 'last_event_id');
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(String(text))) {
    throw failure('badParameter', { name: 'last_event_id', expected: 'the number of an event' });
  }
  return Number(text);
}
