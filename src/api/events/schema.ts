/** Shapes of events: one event, and a list of them. */
import { z } from 'zod';
import { failureEnvelope, message, time } from '../schema.js';

const named = z.object({ id: z.string(), name: z.string().nullable() });

const event = z
  .object({
    id: z.string().describe('Number of the event: later events have greater numbers'),
    at: time,
    kind: z.string().describe('Such as `record.edit`'),
    account: named.nullable().describe('Null: the event belongs to the installation'),
    zone: named.nullable(),
    subject: z.object({ id: z.string().nullable(), name: z.string().nullable() }),
    actor: z
      .object({ email: z.string(), kind: z.string() })
      .nullable()
      .describe('Null for a credential that may not read the audit log'),
    source: z.string(),
    before: z.unknown(),
    after: z.unknown(),
  })
  .meta({ id: 'Event' });

export const eventQuery = z.object({
  account: z.string().optional().describe('Identifier: only events of this account'),
  zone: z.string().optional().describe('Identifiers or names, separated by commas'),
  kind: z.string().optional().describe('Such as `record.edit` or `record.*`, separated by commas'),
  last_event_id: z.string().optional().describe('Only events after this one; the same as the header `Last-Event-ID`'),
});

export const eventAnswer = {
  200: z
    .object({
      result: z.array(event),
      success: z.literal(true),
      errors: z.array(message),
      messages: z.array(message),
      result_info: z.object({ count: z.int(), cursors: z.object({ after: z.string() }) }),
    })
    .describe('For clients that do not accept `text/event-stream`; others get a stream of such events'),
  '4xx': failureEnvelope,
  '5xx': failureEnvelope,
} as const;
