/** What users do with their own memberships: list, accept or reject, leave. */
import { toHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { findAccount } from '../../store/access/accounts.js';
import { findInvitation, type InvitationRow, settleInvitation } from '../../store/access/invitations.js';
import {
  findMemberById,
  type MemberRow,
  membersOfUser,
  removeMember as removeMemberRow,
} from '../../store/access/members.js';
import { findUserByEmail, findUserById } from '../../store/access/users.js';
import { accountItem } from '../access/accounts.js';
import { actorOfAccountToken, actorOfPerson } from '../access/authentication.js';
import { grantsOfMember } from '../access/rights.js';
import { parseId } from '../guard/access.js';
import { type Actor, OPERATOR } from '../guard/actor.js';
import { decide } from '../guard/decision.js';
import { type Grant, grantsAllowSomewhere } from '../guard/roles.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { policyItems, requireGivableMember } from './assignment.js';
import { peopleFailure } from './errors.js';
import { invitationItem, requireInvitation, requireOpenInvitation } from './invitations.js';
import type { InvitationItem, MembershipItem } from './item.js';
import { acceptMembership, emailOf, endMembership, policiesOf, rolesOf } from './members.js';

export type Reply = 'accepted' | 'rejected';

/** The accounts of the credential's user, those that invite it included. */
export async function listMemberships(ctx: Context): Promise<readonly MembershipItem[]> {
  const id = parseId(ctx.actor.userId);
  const user = id && findUserById(ctx.store, id);
  return user ? membersOfUser(ctx.store, user.seq).map((row) => membershipItem(ctx, row)) : [];
}

export async function getMembership(ctx: Context, membershipId: string): Promise<MembershipItem> {
  return membershipItem(ctx, requireMembership(ctx, membershipId));
}

/**
 * Accepts or rejects an invitation, or a membership that its user was not asked about. To accept what is accepted changes nothing; to
 * reject it is to leave.
 */
export async function replyToMembership(ctx: Context, membershipId: string, reply: Reply): Promise<MembershipItem> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireMembership(ctx, membershipId);
    if (row.status === 'accepted') {
      if (reply === 'rejected') endMembership(ctx, draft, row, 'user');
      else if (row.agreed === 0) acceptMembership(ctx, draft, row);
      return membershipItem(ctx, row);
    }
    settle(ctx, draft, row, reply);
    return membershipItem(ctx, reply === 'accepted' ? requireMembership(ctx, membershipId) : row);
  });
  return value;
}

/** The same for who has the invitation before its eyes. */
export async function replyToInvitation(ctx: Context, inviteId: string, reply: Reply): Promise<InvitationItem> {
  const { value } = await commit(ctx, (draft) => {
    const { user, row } = requireInvitation(ctx, inviteId);
    if (row.status !== 'pending') throw peopleFailure('inviteSettled');
    const member = findMemberById(ctx.store, row.member);
    if (!member) throw peopleFailure('inviteOver');
    settle(ctx, draft, member, reply);
    return invitationItem(ctx, user, findInvitation(ctx.store, row.id)!);
  });
  return value;
}

function settle(ctx: Context, draft: Draft, row: MemberRow, reply: Reply): void {
  const open = requireOpenInvitation(ctx, row);
  if (reply === 'accepted') requireInviter(ctx, row, open);
  settleInvitation(ctx.store, open.seq, reply);
  if (reply === 'accepted') {
    acceptMembership(ctx, draft, row);
    return;
  }
  draft.event({ kind: 'member.reject', account: row.account, id: row.id, name: emailOf(ctx, row) });
  removeMemberRow(ctx.store, row.seq);
}

/** An invitation gives no more than whoever made it could give now. Throws 400/1001 otherwise. */
function requireInviter(ctx: Context, member: MemberRow, { invited_by: inviter }: InvitationRow): void {
  if (inviter === OPERATOR.email) return;
  const account = findAccount(ctx.store, member.account)!;
  const id = toHex(account.id);
  const token = parseId(inviter);
  const actor = token ? actorOfAccountToken(ctx, token) : actorOfUser(ctx, inviter);
  const isOfAccount = actor?.superAdministrator || actor?.accountIds.includes(id);
  if (!actor || !isOfAccount || !decide(actor, 'members', 'write', { account: id }).allowed) {
    throw peopleFailure('inviterGone');
  }
  try {
    requireGivableMember({ ...ctx, actor }, account, member);
  } catch (error) {
    throw error instanceof AppError ? peopleFailure('inviterGone') : error;
  }
}

function actorOfUser({ store }: Context, email: string): Actor | undefined {
  const user = findUserByEmail(store, email);
  return user?.suspended === 0 ? actorOfPerson(store, user) : undefined;
}

/** The user leaves the account. Throws 400/1004 for its last super administrator. */
export async function leaveAccount(ctx: Context, membershipId: string): Promise<string> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireMembership(ctx, membershipId);
    endMembership(ctx, draft, row, 'user');
    return toHex(row.id);
  });
  return value;
}

function requireMembership(ctx: Context, membershipId: string): MemberRow {
  const own = parseId(ctx.actor.userId);
  const user = own && findUserById(ctx.store, own);
  const id = parseId(membershipId);
  const row = id && findMemberById(ctx.store, id);
  if (!user || row?.user !== user.seq) throw peopleFailure('membershipMissing', { id: membershipId.slice(0, 64) });
  return row;
}

function membershipItem(ctx: Context, row: MemberRow): MembershipItem {
  const account = findAccount(ctx.store, row.account)!;
  const grants = grantsOfMember(ctx.store, row);
  return {
    id: toHex(row.id),
    account: accountItem(account),
    status: row.status,
    roles: row.policies === null ? rolesOf(row) : [],
    policies: row.policies === null ? undefined : policyItems(ctx.store, account, policiesOf(row)),
    zones: levelsOf(grants, 'zone'),
    records: levelsOf(grants, 'dns'),
  };
}

function levelsOf(grants: readonly Grant[], area: 'zone' | 'dns'): MembershipItem['zones'] {
  return { read: grantsAllowSomewhere(grants, area, 'read'), write: grantsAllowSomewhere(grants, area, 'write') };
}
