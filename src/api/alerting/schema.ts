/** Shapes of alerts (v4: alerting): webhooks, notification policies, types of alerts, and deliveries. */
import { z } from 'zod';
import { accountParams } from '../accounts/schema.js';
import { listOf } from '../body-schema.js';
import { identifier, pageQuery, time } from '../schema.js';

const text = z.string({ error: 'a text' });
const flag = z.boolean({ error: 'true or false' });

export const webhookParams = accountParams.extend({ webhook_id: identifier('webhook') });
export const policyParams = accountParams.extend({ policy_id: identifier('notification policy') });

export const webhook = z
  .object({
    id: z.string(),
    name: z.string(),
    url: z.string(),
    type: z.enum(['generic', 'slack', 'discord', 'gchat']).describe('Follows from the host of the URL'),
    created_at: time,
    last_success: time.nullable(),
    last_failure: time.nullable(),
    enabled: z.boolean().describe('Ours: false when it is switched off'),
    disabled_reason: z.string().nullable().describe('Ours: why it is switched off'),
    failures: z.int().describe('Ours: failed attempts since the last success'),
    next_attempt: time.nullable().describe('Ours: time of the next attempt while it fails'),
    has_secret: z.boolean().describe('Ours: whether it has a secret'),
  })
  .meta({ id: 'Webhook' });

export type WebhookShape = z.output<typeof webhook>;

export const webhookBody = z
  .object({
    name: text,
    url: text.describe('Each message is sent to it by POST'),
    secret: text
      .nullish()
      .describe('Sent in `cf-webhook-auth`; also signs messages (Standard Webhooks). Absent: unchanged; null: none'),
    enabled: flag.optional().describe('Ours; `true` also switches on a webhook that was switched off after failures'),
  })
  .meta({ id: 'WebhookBody', examples: [{ name: 'chat', url: 'https://hooks.example.com/dns', secret: 's3cret' }] });

export const delivery = z
  .object({
    id: z.string().describe('`Webhook-Id` of the message'),
    at: time,
    alert_type: z.string(),
    event_id: z.string().nullable().describe('Number of the event; null: a test'),
    attempt: z.int(),
    delivered: z.boolean(),
    status: z.int().nullable().describe('Status code of the answer; null: there was none'),
    reason: z.string().nullable().describe('Why it failed'),
    answer: z.string().nullable().describe('The beginning of the answer'),
    duration_ms: z.int(),
    body: z.string().describe('The beginning of the message'),
  })
  .meta({ id: 'WebhookDelivery' });

export type DeliveryShape = z.output<typeof delivery>;

const ids = listOf(z.object({ id: text }), 0, 50, 'identifiers').nullish();
const shownIds = z.array(z.object({ id: z.string() }));

export const alertPolicy = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    alert_type: z.string(),
    enabled: z.boolean(),
    filters: z.record(z.string(), z.array(z.string())),
    mechanisms: z.object({ email: shownIds, pagerduty: shownIds, webhooks: shownIds }),
    created: time,
    modified: time,
  })
  .meta({ id: 'NotificationPolicy' });

export type AlertPolicyShape = z.output<typeof alertPolicy>;

export const alertPolicyBody = z
  .object({
    name: text.optional(),
    description: text.nullish(),
    alert_type: text.optional().describe('One of `GET …/alerting/v3/available_alerts`'),
    enabled: flag.optional(),
    filters: z
      .record(z.string(), listOf(text, 0, 200, 'texts'), { error: 'lists of texts by the names of filters' })
      .nullish(),
    mechanisms: z
      .object({ email: ids, webhooks: ids, pagerduty: ids }, { error: 'lists of identifiers by mechanism' })
      .optional(),
    alert_interval: z.null({ error: 'absent: an alert is sent for each event' }).optional(),
  })
  .meta({
    id: 'NotificationPolicyBody',
    examples: [
      {
        ...{ name: 'records', alert_type: 'zoneplane_record', enabled: true },
        mechanisms: { webhooks: [{ id: '023e105f4ecef8ad9ca31a8372d0c353' }] },
      },
    ],
  });

export const availableAlerts = z
  .record(
    z.string(),
    z.array(
      z.object({
        type: z.string(),
        display_name: z.string(),
        description: z.string(),
        filter_options: z.array(
          z.object({ Key: z.string(), Description: z.string(), ComparisonOperator: z.string(), Optional: z.boolean() }),
        ),
      }),
    ),
  )
  .meta({ id: 'AvailableAlerts' });

export type AvailableAlertsShape = z.output<typeof availableAlerts>;

export const eligible = z.record(
  z.string(),
  z.array(z.object({ type: z.string(), eligible: z.boolean(), ready: z.boolean() })),
);

export const historyQuery = z.object({
  ...pageQuery,
  since: z.string().optional().describe('RFC 3339: sent at or after this time'),
  before: z.string().optional().describe('RFC 3339: sent before this time'),
});

export const historyItem = z
  .object({
    id: z.string(),
    alert_body: z.string(),
    alert_type: z.string(),
    description: z.string(),
    mechanism: z.string().describe('A mail address, or the identifier of a webhook'),
    mechanism_type: z.enum(['email', 'webhook']),
    name: z.string(),
    policy_id: z.string(),
    sent: time,
  })
  .meta({ id: 'NotificationHistory' });

export type HistoryShape = z.output<typeof historyItem>;
