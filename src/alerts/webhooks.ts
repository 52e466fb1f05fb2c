/** Use cases of webhooks (v4: alerting, destinations). */
import { toHex } from '../base/bytes.js';
import { makeId } from '../base/random.js';
import { parseId, requireAccount } from '../control/guard/access.js';
import { commit } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { type DeliveryRow, deliveriesOf } from '../store/alerts/deliveries.js';
import {
  type DestinationRow,
  destinationsOfAccount,
  editDestination,
  findDestination,
  findDestinationById,
  insertDestination,
  removeDestination,
} from '../store/alerts/destinations.js';
import { alertPoliciesOfAccount } from '../store/alerts/policies.js';
import { newestEvent } from '../store/log/events-query.js';
import { WEBHOOK_SECRETS } from '../store/sealed-columns.js';
import type { Vault } from '../vault/vault.js';
import { alertFailure, badAlert } from './errors.js';

/** Webhooks of one account. */
const MOST_WEBHOOKS = 100;
const LONGEST_NAME = 255;
const LONGEST_URL = 2048;
const LONGEST_SECRET = 255;

export interface WebhookInput {
  readonly name: string;
  readonly url: string;
  /** Absent: unchanged. Null or empty: none. */
  readonly secret?: string | null | undefined;
  /** Absent: unchanged; true for a new webhook. True also switches on a webhook that was switched off after failures. */
  readonly enabled?: boolean | undefined;
}

export interface AlertServices {
  readonly vault: Vault;
}

export async function listWebhooks(ctx: Context, accountId: string): Promise<DestinationRow[]> {
  const { seq } = requireAccount(ctx, accountId);
  return destinationsOfAccount(ctx.store, seq).filter(({ kind }) => kind === 'webhook');
}

export async function getWebhook(ctx: Context, accountId: string, id: string): Promise<DestinationRow> {
  return requireWebhook(ctx, accountId, id);
}

export async function createWebhook(
  ctx: Context,
  { vault }: AlertServices,
  accountId: string,
  input: WebhookInput,
): Promise<DestinationRow> {
  const { name, address, secret } = readInput(ctx, input);
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const account = requireAccount(ctx, accountId);
    const others = destinationsOfAccount(store, account.seq).filter(({ kind }) => kind === 'webhook');
    if (others.length >= MOST_WEBHOOKS) throw alertFailure('tooMany', { most: MOST_WEBHOOKS, things: 'webhooks' });
    insertDestination(store, {
      ...{ id, account: account.seq, kind: 'webhook', name, address, edition: 1, position: newestEvent(store) },
      secret: secret ? vault.seal(WEBHOOK_SECRETS, id, Buffer.from(secret)) : null,
      ...{ last_success: null, last_failure: null, failures: 0, failing_since: null, retry_at: null },
      ...disabledBy(input.enabled === false, draft.now),
      ...{ created_at: draft.now, modified_at: draft.now },
    });
    draft.event({ kind: 'webhook.create', account: account.seq, id, name, after: described(name, address, secret) });
    return findDestinationById(store, id)!;
  });
  return value;
}

export async function replaceWebhook(
  ctx: Context,
  { vault }: AlertServices,
  accountId: string,
  webhookId: string,
  input: WebhookInput,
): Promise<DestinationRow> {
  const { name, address, secret } = readInput(ctx, input);
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const row = requireWebhook(ctx, accountId, webhookId);
    if (address !== row.address) requireMayMove(ctx, row);
    const wasOff = row.disabled_at !== null;
    const isOff = input.enabled === undefined ? row.disabled_why === SWITCHED_OFF : !input.enabled;
    const sealed = secret ? vault.seal(WEBHOOK_SECRETS, row.id, Buffer.from(secret)) : null;
    editDestination(store, row.seq, {
      ...{ name, address, edition: row.edition + 1, modified_at: draft.now },
      ...(secret !== undefined && { secret: sealed }),
      // Events that happened while it was off are not delivered later.
      ...(wasOff && !isOff && { position: newestEvent(store) }),
      ...{ failures: 0, failing_since: null, retry_at: null },
      ...disabledBy(isOff, row.disabled_at ?? draft.now),
    });
    const before = described(row.name, row.address, row.secret, wasOff);
    const after = described(name, address, secret === undefined ? row.secret : secret, isOff);
    draft.event({ kind: 'webhook.edit', account: row.account, id: row.id, name, before, after });
    return findDestination(store, row.seq)!;
  });
  return value;
}

/** Only an administrator may decide where events of the installation are sent. */
function requireMayMove({ store, actor }: Context, { account, id }: DestinationRow): void {
  const policies = actor.superAdministrator ? [] : alertPoliciesOfAccount(store, account);
  const isOfInstallation = policies.some(
    ({ sees_installation: sees, mechanisms }) => sees === 1 && mechanisms.includes(toHex(id)),
  );
  if (isOfInstallation) throw alertFailure('installation');
}

/** Throws 400 while a policy uses it. */
export async function deleteWebhook(
  ctx: Context,
  accountId: string,
  webhookId: string,
): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireWebhook(ctx, accountId, webhookId);
    const user = alertPoliciesOfAccount(ctx.store, row.account).find(({ mechanisms }) =>
      mechanisms.includes(toHex(row.id)),
    );
    if (user) throw alertFailure('inUse', { policy: user.name });
    removeDestination(ctx.store, row.seq);
    const before = described(row.name, row.address, row.secret);
    draft.event({ kind: 'webhook.delete', account: row.account, id: row.id, name: row.name, before });
    return { id: toHex(row.id) };
  });
  return value;
}

/** Attempts to deliver to the webhook, the newest first. */
export async function listDeliveries(ctx: Context, accountId: string, webhookId: string): Promise<DeliveryRow[]> {
  return deliveriesOf(ctx.store, requireWebhook(ctx, accountId, webhookId).seq, ctx.actor.superAdministrator);
}

/** The account's webhook with this identifier. Throws 404. */
export function requireWebhook(ctx: Context, accountId: string, webhookId: string): DestinationRow {
  const account = requireAccount(ctx, accountId);
  const id = parseId(webhookId);
  const row = id && findDestinationById(ctx.store, id);
  if (row?.account !== account.seq || row.kind !== 'webhook') {
    throw alertFailure('webhookMissing', { id: webhookId.slice(0, 64) });
  }
  return row;
}

export const SWITCHED_OFF = 'its owner switched it off';

function disabledBy(isOff: boolean, now: number) {
  return { disabled_at: isOff ? now : null, disabled_why: isOff ? SWITCHED_OFF : null };
}

/** State for events. It omits the URL, which often contains a secret of the receiver. */
function described(name: string, address: string, secret: unknown, isOff = false): object {
  return { name, host: new URL(address).host, hasSecret: Boolean(secret), enabled: !isOff };
}

interface ReadInput {
  readonly name: string;
  readonly address: string;
  readonly secret: string | null | undefined;
}

function readInput(ctx: Context, { name, url, secret }: WebhookInput): ReadInput {
  if (name.trim() === '' || name.length > LONGEST_NAME) {
    throw badAlert(`A name must have 1 to ${LONGEST_NAME} characters.`, '/name');
  }
  return { name: name.trim(), address: readUrl(ctx, url), secret: secret === undefined ? secret : readSecret(secret) };
}

function readUrl({ egress }: Context, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || text.length > LONGEST_URL) {
    throw badAlert('url must be an http or https URL such as https://hooks.example.com/dns.', '/url');
  }
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw badAlert('url must have neither a user nor a fragment.', '/url');
  }
  const literal = literalOf(url);
  const refusal = literal === undefined ? undefined : egress.refusal('webhooks', literal, portOf(url));
  if (refusal !== undefined) throw badAlert(`Messages cannot be sent to this address: ${refusal}.`, '/url');
  return url.href;
}

/** The IP address in a URL; undefined when the host is a name. */
export function literalOf({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '');
  return /^[\d.]+$/.test(host) || host.includes(':') ? host : undefined;
}

export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** Null: none. A secret must fit into a header field. */
function readSecret(secret: string | null): string | null {
  if (secret === null || secret === '') return null;
  if (secret.length > LONGEST_SECRET || !/^[\x21-\x7e]+$/.test(secret)) {
    throw badAlert(`secret must be at most ${LONGEST_SECRET} ASCII characters without spaces.`, '/secret');
  }
  if (secret.startsWith('whsec_') && !/^whsec_(?:[A-Za-z0-9+/]{4}){2,}(?:[A-Za-z0-9+/]{2,3}={0,2})?$/.test(secret)) {
    throw badAlert('In a secret that begins with whsec_, a key in base64 must follow.', '/secret');
  }
  return secret;
}
