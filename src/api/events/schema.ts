/** Shapes of what happens: one event, and a list of them. */
import { z } from 'zod';
import { failureEnvelope, message, time } from '../schema.js';

const named = z.object({ id: z.string(), name: z.string().nullable() });

const event = z
  .object({
    id: z.string().describe('Its number: later events have greater ones'),
    at: time,
    kind: z.string().describe('Such as `record.edit`'),
    account: named.nullable().describe('Null: it is of the installation'),
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
  last_event_id: z.string().optional().describe('What comes after this event; as the header `Last-Event-ID`'),
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
    .describe('For clients that do not accept `text/event-stream`. For others, a stream of such events'),
  '4xx': failureEnvelope,
  '5xx': failureEnvelope,
} as const;
