/** Who somebody at a provider is here, and what they may do by their groups. */

import { AppError } from '../../base/errors.js';
import { makeId } from '../../base/random.js';
import { findOrAddUser } from '../../control/access/accounts.js';
import { parseId } from '../../control/guard/access.js';
import { OPERATOR } from '../../control/guard/actor.js';
import type { Draft } from '../../control/kernel/commit.js';
import type { Context } from '../../control/kernel/context.js';
import { keepingAdministrator } from '../../control/people/assignment.js';
import { requireRoomFor } from '../../control/rules/quotas.js';
import { findAccountById } from '../../store/access/accounts.js';
import { dropOpenInvitation } from '../../store/access/invitations.js';
import { findMemberOf, insertMember, updateMember } from '../../store/access/members.js';
import { findIdentity, linkIdentity, type ProviderRow } from '../../store/access/oidc.js';
import { findUser, findUserByEmail, type UserRow } from '../../store/access/users.js';
import { signInFailure } from '../failures.js';
import { isUnclaimed } from '../unclaimed.js';
import type { Claimed } from './claims.js';
import type { GroupRole } from './providers.js';

/**
 * The user of somebody at a provider, inside a write; made if the provider may. `linkTo`: a person who has proved who they are, and is to
 * be this user from now on. Throws 403.
 */
export function userOf(ctx: Context, draft: Draft, provider: ProviderRow, claimed: Claimed, linkTo?: UserRow): UserRow {
  const { store } = ctx;
  const { issuer } = provider;
  const known = findIdentity(store, issuer, claimed.subject);
  if (known !== undefined) {
    if (linkTo && linkTo.seq !== known) throw signInFailure('linkedElsewhere');
    const user = findUser(store, known);
    if (!user || user.suspended === 1) throw signInFailure('notAllowed');
    if (provider.updates_roles === 1) applyGroups(ctx, draft, provider, claimed, user);
    return user;
  }
  const user = linkTo ?? makeUser(ctx, draft, provider, claimed);
  linkIdentity(store, issuer, claimed.subject, user.seq, draft.now);
  draft.event({ kind: 'sso.link', id: user.id, name: user.email, after: { issuer } });
  if (!linkTo || provider.updates_roles === 1) applyGroups(ctx, draft, provider, claimed, user);
  return user;
}

function makeUser(ctx: Context, draft: Draft, provider: ProviderRow, claimed: Claimed): UserRow {
  const { email } = claimed;
  if (email === undefined)
    throw signInFailure('badStatement', { reason: 'it has no proved e-mail address that may be used here' });
  const named = findUserByEmail(ctx.store, email);
  // An invited user may sign in this way, too.
  if (named && isUnclaimed(ctx.store, named)) return named;
  // Somebody at the provider may have written this address: only its user can say that they are the same.
  if (named) throw signInFailure('needsLink');
  const isMapped = rolesByAccount(provider, claimed).size > 0;
  if (provider.creates === 'never' || (provider.creates === 'mapped' && !isMapped)) throw signInFailure('notAllowed');
  return findOrAddUser(ctx, draft, email, false);
}

/** Roles that the person's groups have, by account; only of accounts that are named at all when `all`. */
function rolesByAccount(provider: ProviderRow, { groups }: Claimed): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { group, account, role } of JSON.parse(provider.group_map) as GroupRole[]) {
    if (!groups?.includes(group)) continue;
    found.set(account, [...new Set([...(found.get(account) ?? []), role])]);
  }
  return found;
}

/** A provider that does not say the groups changes nothing. */
function applyGroups(ctx: Context, draft: Draft, provider: ProviderRow, claimed: Claimed, user: UserRow): void {
  if (claimed.groups === undefined) return;
  const wanted = rolesByAccount(provider, claimed);
  const named = new Set((JSON.parse(provider.group_map) as GroupRole[]).map(({ account }) => account));
  for (const account of named) applyRoles(ctx, draft, user, account, wanted.get(account) ?? []);
}

function applyRoles(ctx: Context, draft: Draft, user: UserRow, accountId: string, wanted: readonly string[]): void {
  const { store } = ctx;
  const account = findAccountById(store, parseId(accountId)!);
  if (!account) return;
  const roles = JSON.stringify(wanted);
  const member = findMemberOf(store, user.seq, account.seq);
  const event = {
    account: account.seq,
    name: user.email,
    after: { user: user.email, account: account.name, roles: wanted },
  };
  if (!member) {
    if (wanted.length === 0) return;
    requireRoomFor(ctx, account.seq, 'members');
    const id = makeId(ctx.clock.nowUs(), ctx.random);
    const times = { created_at: draft.now, accepted_at: draft.now };
    insertMember(store, {
      id,
      user: user.seq,
      account: account.seq,
      status: 'accepted',
      roles,
      policies: null,
      agreed: 1,
      ...times,
    });
    draft.event({ kind: 'membership.create', id, ...event });
    return;
  }
  // Without mapped groups, the invitation stays open for its user to answer.
  if (member.status === 'pending' && wanted.length === 0) return;
  if (member.status === 'accepted' && member.policies === null && member.roles === roles) return;
  try {
    keepingAdministrator(store, account.seq, () => {
      updateMember(store, {
        ...member,
        status: 'accepted',
        roles,
        policies: null,
        accepted_at: member.accepted_at ?? draft.now,
        agreed: 1,
      });
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // The account would be without anybody who can look after it.
    updateMember(store, member);
    return;
  }
  dropOpenInvitation(store, member.id);
  draft.event({ kind: 'member.edit', id: member.id, ...event, before: { roles: JSON.parse(member.roles) } });
}

/** Of the write that makes a user: nobody is signed in yet. */
export const NOBODY = { ...OPERATOR, email: 'single sign-on', superAdministrator: false };
