/** What receivers get: the body in the vendor's form, and header fields that show the sender and mark repetitions. */
import { createHmac } from 'node:crypto';
import { toHex } from '../base/bytes.js';
import type { AlertPolicyRow } from '../store/alerts/policies.js';
import type { NamedEventRow } from '../store/log/events-query.js';
import { phaseOf } from './types.js';

/** A state before or after an event is left out when it is longer than this. */
const LONGEST_STATE = 16_384;

/** One message to receivers. */
export interface Alert {
  /** Identifier by which receivers recognise repetitions. */
  readonly message: string;
  readonly event: NamedEventRow | undefined;
  readonly policy: AlertPolicyRow | undefined;
  readonly alertType: string;
  readonly text: string;
  readonly name: string;
  /** Identifier of the account. */
  readonly account: string;
  /** Seconds since 1970. */
  readonly ts: number;
  /** What is sent, in the form that the receiver understands. */
  readonly body: string;
}

/** Who gets an alert; identifiers. */
export interface Addressee {
  readonly id: string;
  readonly accountId: string;
  readonly form: MessageForm;
}

/** Every attempt to send an event to a destination has the same message identifier. */
export function alertOf(event: NamedEventRow, policy: AlertPolicyRow, { id, accountId, form }: Addressee): Alert {
  const alert = {
    ...{ message: `msg_${id}_${event.seq}`, event, policy, account: accountId },
    ...{ alertType: policy.alert_type, name: policy.name, text: textOf(event), ts: secondsOf(event.at_us) },
  };
  return { ...alert, body: bodyOf(alert, form) };
}

export function testAlert(id: string, name: string, account: string, nowUs: number, form: WebhookForm): Alert {
  const alert = {
    ...{ message: `msg_test_${id}`, event: undefined, policy: undefined, alertType: 'zoneplane_test', account, name },
    text: 'This is a test of Zoneplane. If you can read it, the destination works.',
    ts: secondsOf(nowUs),
  };
  return { ...alert, body: bodyOf(alert, form) };
}

function secondsOf(us: number): number {
  return Math.floor(us / 1_000_000);
}

/** One sentence for people about the event. */
function textOf({ kind, name, zone_name: zone, actor, actor_kind: by, after }: NamedEventRow): string {
  const state: unknown = after === null ? undefined : JSON.parse(after);
  const said = typeof state === 'object' && state !== null && 'text' in state ? String(state.text) : undefined;
  const inZone = zone !== null && zone !== name ? ` in ${zone}` : '';
  const who = by === 'operator' && said !== undefined ? '' : ` by ${actor}`;
  return `${kind}: ${name ?? ''}${inZone}${said === undefined ? who : `: ${said}`}`;
}

/** Webhooks get JSON. */
function bodyOf(alert: Omit<Alert, 'body'>, form: MessageForm): string {
  if (form === 'mail') return alert.text;
  if (form !== 'generic') return JSON.stringify(chatMessage(alert.text, form));
  const { event, policy, alertType, text, name, account, ts } = alert;
  const phase = event && phaseOf(event.kind);
  return JSON.stringify({
    name,
    text,
    data: event ? dataOf(event) : {},
    ts,
    account_id: account,
    ...(policy && { policy_id: toHex(policy.id), policy_name: policy.name }),
    alert_type: alertType,
    ...(event && { alert_correlation_id: event.request_id }),
    ...(phase && { alert_event: `ALERT_STATE_EVENT_${phase}` }),
  });
}

/**
 * A text contains names that others chose, such as those of tokens. In chats they must neither call everybody nor hide where a link
 * leads. Slack documents entities for that, Discord backslashes and `allowed_mentions`, Google Chat nothing.
 */
function chatMessage(text: string, form: Exclude<WebhookForm, 'generic'>): object {
  switch (form) {
    case 'discord':
      return { content: text.replace(/[\\[\]()<>*_~`|@#]/g, '\\$&').slice(0, 2000), allowed_mentions: { parse: [] } };
    case 'slack':
      return { text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') };
    case 'gchat':
      return { text: text.replaceAll('<', '‹').replaceAll('>', '›') };
  }
}

function dataOf(event: NamedEventRow): object {
  const { seq, at_us: at, kind, subject, name, zone, zone_name: zoneName, actor, actor_kind: by } = event;
  return {
    id: String(seq),
    kind,
    at: new Date(at / 1000).toISOString(),
    subject: { id: subject && toHex(subject), name },
    zone: zone && { id: toHex(zone), name: zoneName },
    actor: { email: actor, kind: by },
    source: event.source,
    before: stateOf(event.before),
    after: stateOf(event.after),
  };
}

function stateOf(text: string | null): unknown {
  if (text === null) return null;
  return text.length > LONGEST_STATE ? { omitted: 'too long; the audit log has it' } : JSON.parse(text);
}

/** The form that a receiver understands. It depends on the host of the URL, as at the vendor. */
export type WebhookForm = 'generic' | 'slack' | 'discord' | 'gchat';
export type MessageForm = WebhookForm | 'mail';

export function formOf(url: string): WebhookForm {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  if (host === 'hooks.slack.com') return 'slack';
  if (host === 'discord.com' || host === 'discordapp.com') return 'discord';
  return host === 'chat.googleapis.com' ? 'gchat' : 'generic';
}

export interface Signed {
  readonly message: string;
  /** Seconds since 1970. */
  readonly atS: number;
  readonly body: string;
  readonly secret: WebhookSecret | undefined;
}

export interface WebhookSecret {
  /** Exactly as the owner of the webhook wrote it. */
  readonly text: string;
  readonly key: Buffer;
}

/** The vendor's header field, and those of Standard Webhooks (https://www.standardwebhooks.com). */
export function fieldsOf({ message, atS, body, secret }: Signed): Record<string, string> {
  const fields = { 'webhook-id': message, 'webhook-timestamp': String(atS) };
  if (secret === undefined) return fields;
  const signature = createHmac('sha256', secret.key).update(`${message}.${atS}.${body}`).digest('base64');
  return { ...fields, 'cf-webhook-auth': secret.text, 'webhook-signature': `v1,${signature}` };
}

const PREFIX = 'whsec_';

/** After `whsec_` comes a key in base64; the octets of any other secret are the key. */
export function secretFrom(text: string): WebhookSecret {
  const key = text.startsWith(PREFIX) ? Buffer.from(text.slice(PREFIX.length), 'base64') : Buffer.from(text);
  return { text, key };
}
