/** Identity providers of the installation: what super administrators say about them. */
import { toHex } from '../../base/bytes.js';
import { messageOf } from '../../base/errors.js';
import { makeId } from '../../base/random.js';
import { parseId } from '../../control/guard/access.js';
import { accountFailure } from '../../control/guard/account-failures.js';
import { findRole } from '../../control/guard/roles.js';
import { commit } from '../../control/kernel/commit.js';
import type { Context } from '../../control/kernel/context.js';
import { findAccountById } from '../../store/access/accounts.js';
import {
  allProviders,
  findProvider,
  insertProvider,
  type ProviderRow,
  removeProvider,
  updateProvider,
} from '../../store/access/oidc.js';
import type { Store } from '../../store/driver.js';
import { OIDC_SECRETS } from '../../store/sealed-columns.js';
import type { Vault } from '../../vault/vault.js';
import { signInFailure } from '../failures.js';
import type { ProviderClients } from './client.js';

/** Members of a group of the provider have this role in this account. */
export interface GroupRole {
  readonly group: string;
  readonly account: string;
  readonly role: string;
}

export interface ProviderInput {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly scopes?: string | undefined;
  readonly groupsClaim?: string | undefined;
  readonly groupMap?: readonly GroupRole[] | undefined;
  readonly domains?: readonly string[] | undefined;
  readonly creates?: 'never' | 'mapped' | 'always' | undefined;
  readonly updatesRoles?: boolean | undefined;
  readonly trustsEmail?: boolean | undefined;
  readonly trustsFactors?: boolean | undefined;
}

const MOST_PROVIDERS = 10;
const MOST_ENTRIES = 200;

const bad = (reason: string): Error => signInFailure('badInput', { reason });

function requireAdministrator({ actor }: Context): void {
  if (!actor.superAdministrator) throw accountFailure('notAllowed');
}

export async function listProviders(ctx: Context): Promise<readonly ProviderRow[]> {
  requireAdministrator(ctx);
  return allProviders(ctx.store);
}

/** Throws 404 when there is none. */
export function requireProvider(store: Store, id: string): ProviderRow {
  const octets = parseId(id);
  const row = octets && findProvider(store, octets);
  if (!row) throw signInFailure('unknownProvider');
  return row;
}

export async function getProvider(ctx: Context, id: string): Promise<ProviderRow> {
  requireAdministrator(ctx);
  return requireProvider(ctx.store, id);
}

/** `vault`: asked inside the write. */
export async function putProvider(
  ctx: Context,
  vault: () => Vault,
  input: ProviderInput,
  replaced?: string,
): Promise<ProviderRow> {
  requireAdministrator(ctx);
  const read = readInput(ctx.store, input);
  const { value } = await commit(ctx, (draft) => {
    const before = replaced === undefined ? undefined : requireProvider(ctx.store, replaced);
    const others = allProviders(ctx.store).filter(({ seq }) => seq !== before?.seq);
    if (others.length >= MOST_PROVIDERS) throw bad(`There are ${MOST_PROVIDERS} providers already.`);
    if (others.some(({ issuer }) => issuer === read.issuer)) throw bad('There is a provider with this issuer.');
    const id = before?.id ?? makeId(ctx.clock.nowUs(), ctx.random);
    const sealed =
      input.clientSecret === undefined
        ? (before?.client_secret ?? null)
        : vault().seal(OIDC_SECRETS, id, Buffer.from(input.clientSecret));
    const row = {
      ...read,
      id,
      client_secret: sealed,
      created_at: before?.created_at ?? draft.now,
      modified_at: draft.now,
    };
    if (before) updateProvider(ctx.store, { ...row, seq: before.seq });
    else insertProvider(ctx.store, row);
    const { name, issuer, creates } = row;
    const kind = before ? 'oidc_provider.edit' : 'oidc_provider.create';
    draft.event({ kind, id, name, after: { issuer, creates, domains: JSON.parse(row.domains) } });
    return findProvider(ctx.store, id)!;
  });
  return value;
}

export async function deleteProvider(ctx: Context, id: string): Promise<string> {
  requireAdministrator(ctx);
  await commit(ctx, (draft) => {
    const row = requireProvider(ctx.store, id);
    removeProvider(ctx.store, row);
    draft.event({ kind: 'oidc_provider.delete', id: row.id, name: row.name, before: { issuer: row.issuer } });
  });
  return id;
}

/** What a provider says of itself. Throws 503 with the reason when it cannot be asked, or is another one. */
export async function testProvider(
  ctx: Context,
  providers: ProviderClients,
  id: string,
): Promise<Readonly<Record<string, unknown>>> {
  const row = await getProvider(ctx, id);
  try {
    // As if it had just been changed: nothing that is remembered counts.
    return (await providers({ ...row, modified_at: ctx.clock.nowUs() })).endpoints;
  } catch (error) {
    throw signInFailure('providerAway', { reason: reasonOf(error) });
  }
}

/** The cause says why a connection failed. Nothing of what a provider has sent is in either. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  const causes = [error, ...(cause instanceof Error ? [cause] : [])].map(messageOf);
  return causes.join(': ').slice(0, 200);
}

type Read = Omit<ProviderRow, 'seq' | 'id' | 'client_secret' | 'created_at' | 'modified_at'>;

function readInput(store: Store, input: ProviderInput): Read {
  const { name, issuer, clientId, scopes = 'openid email profile', groupsClaim = 'groups' } = input;
  const { groupMap = [], domains = [], creates = 'never' } = input;
  if (name.trim() === '' || name.length > 60) throw bad('A provider’s name has 1 to 60 characters.');
  if (clientId === '' || clientId.length > 255) throw bad('A client identifier has 1 to 255 characters.');
  if (!scopes.split(' ').includes('openid') || scopes.length > 255) throw bad('The scopes must include openid.');
  if (groupsClaim === '' || groupsClaim.length > 100) throw bad('The claim of groups has 1 to 100 characters.');
  if (groupMap.length > MOST_ENTRIES || domains.length > MOST_ENTRIES) {
    throw bad(`There may be ${MOST_ENTRIES} groups and ${MOST_ENTRIES} domains.`);
  }
  for (const { account, role } of groupMap) {
    const octets = parseId(account);
    if (!octets || !findAccountById(store, octets)) throw bad(`No account has the identifier ${account.slice(0, 40)}.`);
    if (!findRole(role)) throw bad(`No role has the identifier ${role.slice(0, 40)}.`);
  }
  if (input.trustsEmail && domains.length === 0) {
    throw bad('Only for certain domains can the word of a provider about addresses count.');
  }
  return {
    ...{
      name: name.trim(),
      issuer: readIssuer(issuer),
      client_id: clientId,
      scopes,
      groups_claim: groupsClaim,
      creates,
    },
    group_map: JSON.stringify(groupMap.map(({ group, account, role }) => ({ group, account, role }))),
    domains: JSON.stringify(domains.map((domain) => domain.trim().toLowerCase())),
    updates_roles: input.updatesRoles ? 1 : 0,
    trusts_email: input.trustsEmail ? 1 : 0,
    trusts_factors: input.trustsFactors ? 1 : 0,
  };
}

/** Over http only on this machine: nobody on the way could be kept from lying. */
function readIssuer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOwn = url !== undefined && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  const isRight = url?.protocol === 'https:' || (url?.protocol === 'http:' && isOwn);
  if (!isRight || url.search + url.hash + url.username !== '' || text.length > 500) {
    throw bad('An issuer is an address such as https://login.example.com.');
  }
  return text;
}

export function providerId({ id }: ProviderRow): string {
  return toHex(id);
}
