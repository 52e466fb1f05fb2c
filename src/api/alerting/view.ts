/** Alerts as v4 clients read them. */
import { type HistoryItem, mechanismOf } from '../../alerts/history.js';
import { formOf } from '../../alerts/message.js';
import type { PolicyItem } from '../../alerts/policies.js';
import type { Delivered } from '../../alerts/record.js';
import { toHex } from '../../base/bytes.js';
import type { DeliveryRow } from '../../store/alerts/deliveries.js';
import type { DestinationRow } from '../../store/alerts/destinations.js';
import { printOptionalTime, printTime } from '../times.js';
import type { AlertPolicyShape, DeliveryShape, HistoryShape, WebhookShape } from './schema.js';

export function webhookView(row: DestinationRow): WebhookShape {
  return {
    id: toHex(row.id),
    name: row.name,
    url: row.address,
    type: formOf(row.address),
    created_at: printTime(row.created_at),
    last_success: printOptionalTime(row.last_success),
    last_failure: printOptionalTime(row.last_failure),
    enabled: row.disabled_at === null,
    disabled_reason: row.disabled_why,
    failures: row.failures,
    next_attempt: printOptionalTime(row.retry_at),
    has_secret: row.secret !== null,
  };
}

export function deliveryView(row: DeliveryRow): DeliveryShape {
  return {
    ...{ id: row.message, at: printTime(row.at_us), alert_type: row.alert_type, attempt: row.attempt },
    ...{ event_id: row.event === null ? null : String(row.event), delivered: row.delivered === 1 },
    ...{ status: row.status, reason: row.reason, answer: row.answer, duration_ms: row.duration_ms, body: row.body },
  };
}

export function testView(one: Delivered): DeliveryShape {
  return {
    ...{ id: one.message, at: printTime(one.atUs), alert_type: one.alertType, attempt: one.attempt, event_id: null },
    ...{ delivered: one.delivered, status: one.status, reason: one.reason, answer: one.answer },
    ...{ duration_ms: one.durationMs, body: one.body },
  };
}

export function policyView({ row, filters, destinations }: PolicyItem): AlertPolicyShape {
  const ofKind = (kind: DestinationRow['kind']): { id: string }[] =>
    destinations.filter((one) => one.kind === kind).map((one) => ({ id: mechanismOf(one) }));
  return {
    id: toHex(row.id),
    name: row.name,
    description: row.description,
    alert_type: row.alert_type,
    enabled: row.enabled === 1,
    filters: Object.fromEntries(Object.entries(filters).map(([name, values]) => [name, [...values]])),
    mechanisms: { email: ofKind('email'), pagerduty: [], webhooks: ofKind('webhook') },
    created: printTime(row.created_at),
    modified: printTime(row.modified_at),
  };
}

export function historyView({ row, destination, policy }: HistoryItem): HistoryShape {
  return {
    id: toHex(row.id),
    alert_body: row.body,
    alert_type: row.alert_type,
    description: policy?.description ?? '',
    mechanism: mechanismOf(destination),
    mechanism_type: destination.kind,
    name: policy?.name ?? '',
    policy_id: row.policy ? toHex(row.policy) : '',
    sent: printTime(row.at_us),
  };
}
