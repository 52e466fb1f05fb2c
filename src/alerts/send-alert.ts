/** Sends a single message to a webhook: a test, or an alert. */
import { toHex } from '../base/bytes.js';
import { requireAccount, requireWriter } from '../control/guard/access.js';
import type { Context } from '../control/kernel/context.js';
import { keptTurns } from '../control/kernel/kept-turns.js';
import type { DestinationRow } from '../store/alerts/destinations.js';
import { WEBHOOK_SECRETS } from '../store/sealed-columns.js';
import type { Vault } from '../vault/vault.js';
import { alertFailure } from './errors.js';
import { type Alert, fieldsOf, formOf, secretFrom, testAlert, type WebhookSecret } from './message.js';
import { type Delivered, recordTest } from './record.js';
import type { Attempt, Sender } from './send.js';
import { type AlertServices, requireWebhook } from './webhooks.js';

export interface TestServices extends AlertServices {
  readonly sender: Sender;
}

const LIMITS = { all: { places: 16, waiting: 100 }, each: [{ places: 2, waiting: 10 }], waitMs: 15_000 };

export const turnsOfTests = keptTurns(LIMITS);

export async function testWebhook(
  ctx: Context,
  { vault, sender }: TestServices,
  accountId: string,
  webhookId: string,
): Promise<Delivered> {
  requireWriter(ctx.actor);
  const row = requireWebhook(ctx, accountId, webhookId);
  const account = requireAccount(ctx, accountId);
  const leave = await turnsOfTests(ctx).enter([toHex(account.id)]);
  if (typeof leave === 'string') throw alertFailure('testsWait', {}, { retryAfterSeconds: 15 });
  try {
    const atUs = ctx.clock.nowUs();
    const alert = testAlert(ctx.random.uuid(), row.name, toHex(account.id), atUs, formOf(row.address));
    const attempt = await sendAlert(sender, row, alert, { secret: openSecret(vault, row), atUs });
    const one: Delivered = {
      ...{ policy: null, alertType: alert.alertType, event: null, message: alert.message, atUs, attempt: 1 },
      ...{ delivered: attempt.delivered, status: attempt.status ?? null, reason: attempt.reason ?? null },
      ...{ answer: attempt.answer ?? null, durationMs: attempt.durationMs, body: alert.body },
    };
    await recordTest(ctx, row.seq, one);
    return one;
  } finally {
    leave();
  }
}

/** The secret of a webhook; undefined when it has none. Throws when it cannot be opened. */
export function openSecret(vault: Pick<Vault, 'open'>, { id, secret }: DestinationRow): WebhookSecret | undefined {
  return secret === null ? undefined : secretFrom(Buffer.from(vault.open(WEBHOOK_SECRETS, id, secret)).toString());
}

export interface Signing {
  readonly secret: WebhookSecret | undefined;
  readonly atUs: number;
}

/** Sends one alert to a webhook, signed with its secret. */
export function sendAlert(
  sender: Sender,
  { account, address: url }: DestinationRow,
  { message, body }: Alert,
  { secret, atUs }: Signing,
  signal?: AbortSignal,
): Promise<Attempt> {
  const fields = fieldsOf({ message, body, secret, atS: Math.floor(atUs / 1_000_000) });
  return sender.send({ url, fields, body, account }, signal);
}
