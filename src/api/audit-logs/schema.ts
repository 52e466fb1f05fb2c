/** Shapes of the audit log: the older list by pages, and the newer one by cursors. */
import { z } from 'zod';
import { direction, failureEnvelope, message, pageQuery, time } from '../schema.js';

export const auditLog = z
  .object({
    id: z.string(),
    action: z.object({ type: z.string().describe('Such as `record.create`'), result: z.literal(true) }),
    actor: z.object({
      id: z.string().nullable(),
      email: z.string(),
      ip: z.string().nullable(),
      type: z.enum(['user', 'admin']),
    }),
    interface: z.string(),
    metadata: z.object({
      request_id: z.string(),
      credential: z.string(),
      credential_id: z.string().optional().describe('The key, token or TSIG key with which it was done'),
      credential_name: z.string().optional(),
      system_user: z.string().optional().describe('The user of the machine who typed the command'),
      zone_id: z.string().optional(),
      zone_name: z.string().optional(),
    }),
    newValue: z.string().describe('JSON text; empty when there is none'),
    newValueJson: z.unknown().optional(),
    oldValue: z.string(),
    oldValueJson: z.unknown().optional(),
    owner: z.object({ id: z.string().nullable() }),
    resource: z.object({
      id: z.string().nullable(),
      type: z.string(),
      name: z.string().optional().describe('What was touched, such as `www.example.com A`'),
    }),
    when: time,
  })
  .meta({ id: 'AuditLog' });

export type AuditLog = z.output<typeof auditLog>;

const text = z.string().optional();

export const auditLogQuery = z.object({
  id: text,
  'action.type': text,
  'actor.email': text,
  'actor.ip': text,
  'zone.name': text,
  since: text.describe('A date, or an RFC 3339 time: entries from then on'),
  before: text.describe('A date, or an RFC 3339 time: entries from before it'),
  direction,
  ...pageQuery,
});

export const auditEvent = z
  .object({
    id: z.string(),
    account: z.object({ id: z.string(), name: z.string() }).optional(),
    action: z.object({
      description: z.string(),
      result: z.literal('success'),
      time,
      type: z.enum(['create', 'update', 'delete']),
    }),
    actor: z.object({
      id: z.string().optional(),
      context: z.enum(['api_key', 'api_token', 'dash']).optional(),
      email: z.string(),
      ip_address: z.string().optional(),
      token_id: z.string().optional(),
      token_name: z.string().optional(),
      system_user: z.string().optional().describe('The user of the machine who typed the command'),
      type: z.enum(['user', 'system']),
    }),
    raw: z.object({ cf_ray_id: z.string() }),
    resource: z.object({
      id: z.string().optional(),
      name: z.string().optional(),
      product: z.string(),
      type: z.string(),
      scope: z.enum(['accounts', 'zones']),
      request: z.unknown().optional().describe('The object after the change'),
      response: z.unknown().optional().describe('The object before the change'),
    }),
    zone: z.object({ id: z.string(), name: z.string().optional() }).optional(),
  })
  .meta({ id: 'AuditEvent' });

export type AuditEvent = z.output<typeof auditEvent>;

/** Each of these may also be sent with the suffix `.not`. */
export const EVENT_FILTERS = {
  id: 'id',
  audit_log_id: 'id',
  /** Ours: complete actions, such as `record.create`. */
  action: 'action',
  action_type: 'verb',
  actor_email: 'actorEmail',
  actor_id: 'actorId',
  actor_ip_address: 'address',
  raw_cf_ray_id: 'requestId',
  resource_id: 'objectId',
  resource_product: 'resource',
  resource_type: 'resource',
  zone_id: 'zoneId',
  zone_name: 'zoneName',
} as const;

const eventFilters = Object.keys(EVENT_FILTERS).flatMap((name) => [
  [name, text],
  [`${name}.not`, text],
]);

const eventQuery = {
  ...(Object.fromEntries(eventFilters) as Record<string, typeof text>),
  since: text.describe('A date, or an RFC 3339 time'),
  before: text.describe('A date, or an RFC 3339 time'),
  direction,
};

export const auditEventQuery = z.object({
  ...eventQuery,
  limit: text.describe('Entries per answer; default 100, at most 1000'),
  cursor: text,
});

export const EXPORT_FORMATS = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export const auditExportQuery = z.object({
  ...eventQuery,
  format: z.enum(EXPORT_FORMATS).optional().describe('JSON lines, unless CSV is asked for'),
});

export const auditEventAnswer = {
  200: z.object({
    result: z.array(auditEvent),
    success: z.literal(true),
    errors: z.array(message),
    messages: z.array(message),
    result_info: z.object({ count: z.int(), cursors: z.object({ after: z.string().optional() }) }),
  }),
  '4xx': failureEnvelope,
  '5xx': failureEnvelope,
} as const;
