/** Invitations: the account asks, the user of the address answers within seven days. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import { type AccountRow, findAccount } from '../../store/access/accounts.js';
import {
  countInvitationsSince,
  dropOldInvitations,
  findInvitation,
  type InvitationRow,
  insertInvitation,
  invitationsOfUser,
  openInvitationOf,
  withdrawInvitation,
} from '../../store/access/invitations.js';
import { findKeyById } from '../../store/access/keys.js';
import { findMemberById, type MemberRow } from '../../store/access/members.js';
import { findUser, findUserById, type UserRow } from '../../store/access/users.js';
import { accountItem } from '../access/accounts.js';
import { parseId } from '../guard/access.js';
import { findRole } from '../guard/roles.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { peopleFailure } from './errors.js';
import type { InvitationItem } from './item.js';

const DAY_US = 24 * 3_600_000_000;
const LIFETIME_US = 7 * DAY_US;
/** How long an answered invitation, one that was replaced, or one of somebody who has gone, is remembered. */
const KEPT_US = 30 * DAY_US;
const MOST_A_DAY = 200;

/** Replaces the open invitation of a pending member; inside a commit. */
export function invite(
  ctx: Context,
  draft: Draft,
  account: AccountRow,
  user: UserRow,
  { id: member }: MemberRow,
): void {
  if (countInvitationsSince(ctx.store, account.seq, draft.now - DAY_US) >= MOST_A_DAY) {
    throw peopleFailure('tooManyInvites', { most: MOST_A_DAY }, { retryAfterSeconds: 3600 });
  }
  dropOldInvitations(ctx.store, account.seq, draft.now - KEPT_US);
  withdrawInvitation(ctx.store, member, draft.now);
  insertInvitation(ctx.store, {
    id: makeId(ctx.clock.nowUs(), ctx.random),
    account: account.seq,
    user: user.seq,
    member,
    invited_by: inviterOf(ctx),
    invited_at: draft.now,
    expires_at: draft.now + LIFETIME_US,
    status: 'pending',
  });
}

/** A token that belongs to an account invites for the account: whoever created it may have left. */
function inviterOf({ store, actor }: Context): string {
  const id = parseId(actor.keyId ?? '');
  return id && findKeyById(store, id)?.account_owned === 1 ? toHex(id) : actor.email;
}

/** Invitations of the actor's user, answered ones included, the oldest first. */
export async function listInvitations(ctx: Context): Promise<readonly InvitationItem[]> {
  const id = parseId(ctx.actor.userId);
  const user = id && findUserById(ctx.store, id);
  return user ? invitationsOfUser(ctx.store, user.seq).map((row) => invitationItem(ctx, user, row)) : [];
}

export async function getInvitation(ctx: Context, inviteId: string): Promise<InvitationItem> {
  const { user, row } = requireInvitation(ctx, inviteId);
  return invitationItem(ctx, user, row);
}

/** Only the user of the address has the invitation; whoever else has its identifier learns nothing. */
export function requireInvitation(
  ctx: Context,
  inviteId: string,
): { readonly user: UserRow; readonly row: InvitationRow } {
  const own = parseId(ctx.actor.userId);
  const user = own && findUserById(ctx.store, own);
  const id = parseId(inviteId);
  const row = id && findInvitation(ctx.store, id);
  if (!user || row?.user !== user.seq) throw peopleFailure('inviteMissing', { id: inviteId.slice(0, 64) });
  return { user, row };
}

/** The open invitation of a pending member. Throws 400/1001 when it has expired. */
export function requireOpenInvitation({ store, clock }: Context, { id }: MemberRow): InvitationRow {
  const open = openInvitationOf(store, id);
  if (!open || open.expires_at <= clock.nowUs()) throw peopleFailure('inviteOver');
  return open;
}

export function invitationItem({ store, clock }: Context, { email }: UserRow, row: InvitationRow): InvitationItem {
  const { id, member: memberId, invited_by: inviter, invited_at: invitedAt, expires_at: expiresAt } = row;
  const member = findMemberById(store, memberId);
  const roles = member?.policies === null ? (JSON.parse(member.roles) as string[]) : [];
  const token = parseId(inviter);
  const creator = token && findUser(store, findKeyById(store, token)?.user ?? 0);
  const isOver = row.status === 'pending' && expiresAt <= clock.nowUs();
  return {
    id: toHex(id),
    memberId: toHex(memberId),
    email,
    account: accountItem(findAccount(store, row.account)!),
    roles: roles.map((role) => findRole(role)?.name ?? role),
    invitedBy: creator?.email ?? inviter,
    invitedAt,
    expiresAt,
    status: isOver ? 'expired' : row.status,
  };
}
