/** Use cases of notification policies (v4: alerting): which destinations get which alerts. */
import { toHex } from '../base/bytes.js';
import { makeId } from '../base/random.js';
import { parseId, requireAccount } from '../control/guard/access.js';
import { commit, type Draft } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { isKindPattern } from '../control/kernel/event.js';
import { type AccountRow, allAccounts } from '../store/access/accounts.js';
import { findMemberOf } from '../store/access/members.js';
import { findUserByEmail } from '../store/access/users.js';
import {
  type DestinationRow,
  destinationsOfAccount,
  insertDestination,
  removeDestination,
} from '../store/alerts/destinations.js';
import {
  type AlertPolicyRow,
  alertPoliciesOfAccount,
  findAlertPolicy,
  insertAlertPolicy,
  removeAlertPolicy,
  updateAlertPolicy,
} from '../store/alerts/policies.js';
import { findPoolById } from '../store/balancing/pools.js';
import { newestEvent } from '../store/log/events-query.js';
import { findZoneById } from '../store/zones/zones.js';
import { alertFailure, badAlert } from './errors.js';
import { ALERT_TYPES, FILTERS, type FilterName, type Filters, findAlertType } from './types.js';

/** Policies of one account. */
const MOST_POLICIES = 200;
const LONGEST_NAME = 255;
const LONGEST_DESCRIPTION = 1000;
const MOST_VALUES = 200;
const MOST_MECHANISMS = 50;

type Ids = readonly { readonly id: string }[] | null | undefined;

/** A policy as clients write it. Members that are absent from an edit keep their values. */
export interface PolicyInput {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  readonly alert_type?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly filters?: Readonly<Record<string, readonly string[]>> | null | undefined;
  readonly mechanisms?: { readonly email?: Ids; readonly webhooks?: Ids; readonly pagerduty?: Ids } | undefined;
}

export interface PolicyItem {
  readonly row: AlertPolicyRow;
  readonly filters: Filters;
  readonly destinations: readonly DestinationRow[];
}

/** What a policy needs to know about mail. */
export interface MailServices {
  readonly sendsMail: boolean;
}

export async function listPolicies(ctx: Context, accountId: string): Promise<PolicyItem[]> {
  const { seq } = requireAccount(ctx, accountId);
  return alertPoliciesOfAccount(ctx.store, seq).map((row) => itemOf(ctx, row));
}

export async function getPolicy(ctx: Context, accountId: string, id: string): Promise<PolicyItem> {
  return itemOf(ctx, requirePolicy(ctx, accountId, id));
}

export async function createPolicy(
  ctx: Context,
  services: MailServices,
  accountId: string,
  input: PolicyInput,
): Promise<PolicyItem> {
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const account = requireAccount(ctx, accountId);
    if (alertPoliciesOfAccount(store, account.seq).length >= MOST_POLICIES) {
      throw alertFailure('tooMany', { most: MOST_POLICIES, things: 'notification policies' });
    }
    const read = readInput(ctx, services, draft, account, input, undefined);
    insertAlertPolicy(store, { ...read, id, account: account.seq, created_at: draft.now, modified_at: draft.now });
    const row = findAlertPolicy(store, id)!;
    draft.event({ kind: 'alert_policy.create', account: account.seq, id, name: row.name, after: described(row) });
    return itemOf(ctx, row);
  });
  return value;
}

export async function replacePolicy(
  ctx: Context,
  services: MailServices,
  accountId: string,
  policyId: string,
  input: PolicyInput,
): Promise<PolicyItem> {
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const account = requireAccount(ctx, accountId);
    const before = requirePolicy(ctx, accountId, policyId);
    const read = readInput(ctx, services, draft, account, input, before);
    updateAlertPolicy(store, { ...before, ...read, modified_at: draft.now });
    removeUnusedMail(ctx, account.seq);
    const row = findAlertPolicy(store, before.id)!;
    const change = { before: described(before), after: described(row) };
    draft.event({ kind: 'alert_policy.edit', account: account.seq, id: row.id, name: row.name, ...change });
    return itemOf(ctx, row);
  });
  return value;
}

export async function deletePolicy(
  ctx: Context,
  accountId: string,
  policyId: string,
): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const row = requirePolicy(ctx, accountId, policyId);
    removeAlertPolicy(ctx.store, row.seq);
    removeUnusedMail(ctx, row.account);
    const { account, id, name } = row;
    draft.event({ kind: 'alert_policy.delete', account, id, name, before: described(row) });
    return { id: toHex(id) };
  });
  return value;
}

function requirePolicy(ctx: Context, accountId: string, policyId: string): AlertPolicyRow {
  const account = requireAccount(ctx, accountId);
  const id = parseId(policyId);
  const row = id && findAlertPolicy(ctx.store, id);
  if (row?.account !== account.seq) throw alertFailure('policyMissing', { id: policyId.slice(0, 64) });
  return row;
}

function itemOf({ store }: Context, row: AlertPolicyRow): PolicyItem {
  const named = JSON.parse(row.mechanisms) as readonly string[];
  const destinations = destinationsOfAccount(store, row.account).filter(({ id }) => named.includes(toHex(id)));
  return { row, filters: JSON.parse(row.filters) as Filters, destinations };
}

function described({ name, alert_type: type, enabled, filters, mechanisms }: AlertPolicyRow): object {
  const parsed = { filters: JSON.parse(filters), mechanisms: JSON.parse(mechanisms) };
  return { name, alert_type: type, enabled: enabled === 1, ...parsed };
}

type Values = Pick<
  AlertPolicyRow,
  'name' | 'description' | 'alert_type' | 'enabled' | 'filters' | 'mechanisms' | 'sees_installation'
>;

function readInput(
  ctx: Context,
  services: MailServices,
  draft: Draft,
  account: AccountRow,
  input: PolicyInput,
  before: AlertPolicyRow | undefined,
): Values {
  const { name = before?.name ?? '', description, alert_type: type = before?.alert_type ?? '' } = input;
  if (name.trim() === '' || name.length > LONGEST_NAME) {
    throw badAlert(`A name must have 1 to ${LONGEST_NAME} characters.`, '/name');
  }
  const about = description === undefined ? (before?.description ?? '') : (description ?? '');
  if (about.length > LONGEST_DESCRIPTION) {
    throw badAlert(`A description may have at most ${LONGEST_DESCRIPTION} characters.`, '/description');
  }
  const kept = JSON.parse(before?.filters ?? '{}') as Filters;
  // A pool that the policy already names may be gone; that does not stop other edits of the policy.
  const isKnown = (name: FilterName, value: string): boolean =>
    kept[name]?.includes(value) === true || isFilterValue(ctx, account, name, value);
  const filters =
    input.filters === undefined && before
      ? before.filters
      : JSON.stringify(readFilters(type, input.filters ?? {}, isKnown));
  if (before && input.filters === undefined && type !== before.alert_type) readFilters(type, kept, isKnown);
  return {
    ...{ name: name.trim(), description: about, alert_type: requireType(type), filters },
    enabled: (input.enabled ?? (before ? before.enabled === 1 : true)) ? 1 : 0,
    mechanisms:
      input.mechanisms === undefined && before
        ? before.mechanisms
        : JSON.stringify(readMechanisms(ctx, services, draft, account, input.mechanisms ?? {})),
    sees_installation: ctx.actor.superAdministrator && isOldest(ctx, account) ? 1 : 0,
  };
}

/** As in the audit log, administrators see events that belong to no account together with those of the oldest account. */
function isOldest({ store }: Context, { seq }: AccountRow): boolean {
  return allAccounts(store)[0]?.seq === seq;
}

function requireType(type: string): string {
  if (findAlertType(type)) return type;
  const known = ALERT_TYPES.map((one) => one.type).join(', ');
  throw badAlert(
    `alert_type ${JSON.stringify(type.slice(0, 64))} is not supported; the types are ${known}.`,
    '/alert_type',
  );
}

function readFilters(
  type: string,
  filters: Readonly<Record<string, readonly string[]>>,
  isKnown: (name: FilterName, value: string) => boolean,
): Filters {
  const known: readonly string[] = findAlertType(requireType(type))!.filters;
  for (const [name, values] of Object.entries(filters)) {
    if (!known.includes(name)) {
      const others = known.length === 0 ? 'has no filters' : `has the filters ${known.join(', ')}`;
      throw badAlert(`${type} ${others}, not ${name.slice(0, 64)}.`, `/filters/${name.slice(0, 64)}`);
    }
    if (values.length > MOST_VALUES)
      throw badAlert(`A filter may have at most ${MOST_VALUES} values.`, `/filters/${name}`);
    for (const [i, value] of values.entries()) {
      if (!isKnown(name as FilterName, value)) {
        const text = JSON.stringify(value.slice(0, 64));
        throw badAlert(`${text} is not a value of ${name}: ${FILTERS[name as FilterName]}.`, `/filters/${name}/${i}`);
      }
    }
  }
  return filters as Filters;
}

/** A zone or a pool of another account is as unknown as one that does not exist. */
function isFilterValue({ store }: Context, account: AccountRow, name: FilterName, value: string): boolean {
  if (name === 'event_type') return isKindPattern(value);
  if (name === 'new_health') return value === 'Healthy' || value === 'Unhealthy';
  if (name === 'enabled') return value === 'true' || value === 'false';
  const id = parseId(value);
  if (id === undefined) return false;
  return (name === 'zones' ? findZoneById(store, id) : findPoolById(store, id))?.account === account.seq;
}

/** Returns identifiers of destinations. A new mail address becomes a destination. */
function readMechanisms(
  ctx: Context,
  { sendsMail }: MailServices,
  draft: Draft,
  account: AccountRow,
  { email, webhooks, pagerduty }: NonNullable<PolicyInput['mechanisms']>,
): readonly string[] {
  const [mails, hooks] = [email ?? [], webhooks ?? []];
  if (pagerduty && pagerduty.length > 0) {
    throw badAlert('PagerDuty is not supported; use a webhook.', '/mechanisms/pagerduty');
  }
  if (mails.length + hooks.length === 0)
    throw badAlert('A policy must name a webhook or a mail address.', '/mechanisms');
  if (mails.length + hooks.length > MOST_MECHANISMS) {
    throw badAlert(`A policy may name at most ${MOST_MECHANISMS} webhooks and mail addresses.`, '/mechanisms');
  }
  const known = destinationsOfAccount(ctx.store, account.seq);
  const named = hooks.map(({ id }, i) => {
    const text = id.replaceAll('-', '').toLowerCase();
    if (known.some((row) => row.kind === 'webhook' && toHex(row.id) === text)) return text;
    throw alertFailure('webhookMissing', { id: id.slice(0, 64) }, { pointer: `/mechanisms/webhooks/${i}/id` });
  });
  if (mails.length > 0 && !sendsMail) throw alertFailure('noMail', {}, { pointer: '/mechanisms/email' });
  const addressed = mails.map(({ id }, i) => mailDestination(ctx, draft, account, id, i));
  return [...new Set([...named, ...addressed])];
}

/** Mail goes to members only, so that no tenant can make the operator's mail server write to strangers. */
function mailDestination(ctx: Context, draft: Draft, account: AccountRow, address: string, i: number): string {
  const user = findUserByEmail(ctx.store, address);
  const member = user && findMemberOf(ctx.store, user.seq, account.seq);
  if (!user || member?.status !== 'accepted') {
    const pointer = `/mechanisms/email/${i}/id`;
    throw alertFailure('notMember', { address: address.slice(0, 255) }, { pointer });
  }
  const existing = destinationsOfAccount(ctx.store, account.seq).find(
    (row) => row.kind === 'email' && row.address === user.email,
  );
  if (existing) return toHex(existing.id);
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  insertDestination(ctx.store, {
    ...{ id, account: account.seq, kind: 'email', name: user.email, address: user.email, secret: null, edition: 1 },
    ...{ position: newestEvent(ctx.store), last_success: null, last_failure: null, failures: 0, failing_since: null },
    ...{ retry_at: null, disabled_at: null, disabled_why: null, created_at: draft.now, modified_at: draft.now },
  });
  return toHex(id);
}

function removeUnusedMail({ store }: Context, account: number): void {
  const used = alertPoliciesOfAccount(store, account).map(({ mechanisms }) => mechanisms);
  for (const { seq, id, kind } of destinationsOfAccount(store, account)) {
    if (kind === 'email' && !used.some((text) => text.includes(toHex(id)))) removeDestination(store, seq);
  }
}
