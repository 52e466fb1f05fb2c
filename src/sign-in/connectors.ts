/**
 * E-mail domains that an account has proved to own (v4: SSO connectors): its super administrators may act for addresses of such a
 * domain. A TXT record is the proof, by the same rule as for zones.
 */
import { toHex } from '../base/bytes.js';
import { makeId } from '../base/random.js';
import { parseId, requireAccount } from '../control/guard/access.js';
import { commit } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { isHeadOf } from '../control/people/assignment.js';
import { peopleFailure } from '../control/people/errors.js';
import { ownDomainOf } from '../control/people/members.js';
import { parseNewZoneName } from '../control/rules/names.js';
import { isPublicSuffix } from '../control/rules/public-suffix.js';
import { lookForRecord } from '../control/zones/activation.js';
import type { AccountRow } from '../store/access/accounts.js';
import {
  type ConnectorRow,
  connectorsOfAccount,
  findConnector,
  insertConnector,
  removeConnector,
  updateConnector,
} from '../store/access/sso-connectors.js';

const LABEL = '_zoneplane-sso';
const MOST_CONNECTORS = 50;

const bad = (reason: string, pointer?: string): Error =>
  peopleFailure('badInput', { reason }, pointer ? { pointer } : {});

/** The TXT record that proves the domain. */
export function connectorRecord({ domain, code }: ConnectorRow): { readonly name: string; readonly content: string } {
  return { name: `${LABEL}.${domain}`, content: code };
}

export async function listConnectors(ctx: Context, accountId: string): Promise<readonly ConnectorRow[]> {
  return connectorsOfAccount(ctx.store, requireAccount(ctx, accountId).seq);
}

export async function getConnector(ctx: Context, accountId: string, id: string): Promise<ConnectorRow> {
  return requireConnector(ctx, requireAccount(ctx, accountId), id);
}

function requireConnector({ store }: Context, account: AccountRow, id: string): ConnectorRow {
  const octets = parseId(id);
  const row = octets && findConnector(store, octets);
  if (row?.account !== account.seq) throw peopleFailure('connectorMissing', { id: id.slice(0, 64) });
  return row;
}

/** Throws 400 if the text is not a domain, or the account has the domain already. */
export async function createConnector(ctx: Context, accountId: string, text: string): Promise<ConnectorRow> {
  const parsed = parseNewZoneName(text);
  if (!('name' in parsed)) throw bad(`This is not a domain: ${parsed.reason}.`, '/email_domain');
  const { name: domain } = parsed;
  if (!domain.includes('.') || isPublicSuffix(domain, true)) {
    throw bad(`Many owners have domains below ${domain}.`, '/email_domain');
  }
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const code = `zoneplane-sso=${toHex(makeId(ctx.clock.nowUs(), ctx.random))}`;
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const others = connectorsOfAccount(ctx.store, account.seq);
    if (others.length >= MOST_CONNECTORS) throw bad(`An account has at most ${MOST_CONNECTORS} connectors.`);
    if (others.some((one) => one.domain === domain)) throw bad(`The account has a connector for ${domain} already.`);
    const times = { created_at: draft.now, modified_at: draft.now };
    insertConnector(ctx.store, { id, account: account.seq, domain, code, enabled: 0, status: 'awaiting', ...times });
    draft.event({ kind: 'sso_connector.create', account: account.seq, id, name: domain, after: { domain } });
    return findConnector(ctx.store, id)!;
  });
  return value;
}

/** Throws 400 if the domain is not verified. */
export async function enableConnector(
  ctx: Context,
  accountId: string,
  id: string,
  enabled: boolean,
): Promise<ConnectorRow> {
  return change(ctx, accountId, id, (row) => {
    if (enabled && row.status !== 'verified') throw bad('The domain is not verified yet.', '/enabled');
    return { enabled: enabled ? 1 : 0 };
  });
}

/** Looks up the record that proves the domain. If the lookup fails, a verified domain stays verified. */
export async function verifyConnector(ctx: Context, accountId: string, id: string): Promise<ConnectorRow> {
  const account = requireAccount(ctx, accountId);
  const row = requireConnector(ctx, account, id);
  const found = await lookForRecord(ctx, { name: row.domain, account: account.seq }, connectorRecord(row));
  return change(ctx, accountId, id, ({ status, enabled }) => {
    if (found === 'txt') return { status: 'verified' };
    if (found === 'none') return { status: 'failed', enabled: 0 };
    return { status: status === 'verified' ? status : 'pending', enabled };
  });
}

/** Whether the actor is a super administrator of the account, and a lookup confirms that it owns the domain of the address. */
export async function answersForAddress(ctx: Context, accountId: string, email: string): Promise<boolean> {
  const account = requireAccount(ctx, accountId);
  const known = isHeadOf(ctx.actor, account) ? ownDomainOf(ctx, account.seq, email) : undefined;
  // The domain may have changed hands since.
  return known !== undefined && (await verifyConnector(ctx, accountId, toHex(known.id))).enabled === 1;
}

async function change(
  ctx: Context,
  accountId: string,
  id: string,
  work: (row: ConnectorRow) => Partial<Pick<ConnectorRow, 'enabled' | 'status'>>,
): Promise<ConnectorRow> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const before = requireConnector(ctx, account, id);
    const after = { ...before, ...work(before), modified_at: draft.now };
    updateConnector(ctx.store, after);
    const told = ({ enabled, status }: ConnectorRow) => ({ enabled: enabled === 1, status });
    const event = { account: account.seq, id: before.id, name: before.domain };
    draft.event({ kind: 'sso_connector.edit', ...event, before: told(before), after: told(after) });
    return after;
  });
  return value;
}

export async function deleteConnector(ctx: Context, accountId: string, id: string): Promise<string> {
  await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const { seq, id: octets, domain } = requireConnector(ctx, account, id);
    removeConnector(ctx.store, seq);
    draft.event({ kind: 'sso_connector.delete', account: account.seq, id: octets, name: domain, before: { domain } });
  });
  return id;
}
