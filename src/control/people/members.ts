/** Members of an account: who may do what in it. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { AccountRow } from '../../store/access/accounts.js';
import { hasSecondFactor } from '../../store/access/factors.js';
import { dropOpenInvitation, openInvitationOf, withdrawInvitation } from '../../store/access/invitations.js';
import { hasCurrentKeys } from '../../store/access/keys.js';
import { plainAddress } from '../../store/access/mail-address.js';
import {
  countMembers,
  findMember,
  findMemberById,
  findMemberOf,
  insertMember,
  lastUseOfUser,
  type MemberRow,
  membersOfAccount,
  membersOfUser,
  removeMember as removeMemberRow,
  type StoredPolicy,
  updateMember as updateMemberRow,
} from '../../store/access/members.js';
import { type ConnectorRow, connectorsOfAccount } from '../../store/access/sso-connectors.js';
import { findUser, findUserByEmail, type UserRow } from '../../store/access/users.js';
import { findOrAddUser } from '../access/accounts.js';
import { parseId, requireAccount } from '../guard/access.js';
import { decide, isRestricted } from '../guard/decision.js';
import { findRole, SUPER_ADMINISTRATOR } from '../guard/roles.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, Page, PageQuery } from '../kernel/context.js';
import { parseNewZoneName } from '../rules/names.js';
import { MOST_MEMBERS, requireRoomFor } from '../rules/quotas.js';
import {
  type AssignmentInput,
  keepingAdministrator,
  policyItems,
  readAssignment,
  requireGivableAssignment,
  requireGivableMember,
} from './assignment.js';
import { peopleFailure } from './errors.js';
import { invite } from './invitations.js';
import type { Assignment, MemberItem } from './item.js';

export interface MemberQuery extends PageQuery {
  readonly order?: 'user.first_name' | 'user.last_name' | 'user.email' | 'status';
  readonly status?: 'accepted' | 'pending' | 'rejected';
}

export interface MemberInput extends AssignmentInput {
  readonly email: string;
  readonly status?: 'accepted' | 'pending' | null | undefined;
}

export async function listMembers(ctx: Context, accountId: string, query: MemberQuery): Promise<Page<MemberItem>> {
  const account = requireAccount(ctx, accountId);
  const { page = 1, perPage = 20, order, direction, status } = query;
  const items = membersOfAccount(ctx.store, account.seq)
    .filter((row) => status === undefined || row.status === status)
    .map((row) => memberItem(ctx, account, row));
  if (order) items.sort((a, b) => compare(sortText(a, order), sortText(b, order)) || compare(a.id, b.id));
  if (direction === 'desc') items.reverse();
  return { items: items.slice((page - 1) * perPage, page * perPage), page, perPage, totalCount: items.length };
}

function sortText({ user, email, status }: MemberItem, order: NonNullable<MemberQuery['order']>): string {
  if (order === 'status') return status;
  if (order === 'user.email') return email.toLowerCase();
  return ((order === 'user.first_name' ? user?.firstName : user?.lastName) ?? '').toLowerCase();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export async function getMember(ctx: Context, accountId: string, memberId: string): Promise<MemberItem> {
  const account = requireAccount(ctx, accountId);
  return memberItem(ctx, account, requireMember(ctx, account, memberId));
}

/**
 * Invites somebody, or renews an expired invitation. A member is accepted at once only if the actor may accept for the user. Throws
 * 400/1003 for a member, 403/10000 for rights that the actor does not have itself.
 */
export async function addMember(ctx: Context, accountId: string, input: MemberInput): Promise<MemberItem> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const email = plainAddress(input.email);
    if (email === undefined) {
      throw peopleFailure('badInput', { reason: 'This is not an e-mail address.' }, { pointer: '/email' });
    }
    const assignment = readAssignment(ctx, account, input);
    requireGivableAssignment(ctx, account, assignment);
    const known = findUserByEmail(ctx.store, email);
    const before = known && findMemberOf(ctx.store, known.seq, account.seq);
    if (before && !isInviteOver(ctx, before)) throw peopleFailure('memberExists');
    if (before) requireGivableMember(ctx, account, before);
    const accepted = input.status === 'accepted' && mayAccept(ctx, account, email);
    const status = accepted ? 'accepted' : 'pending';
    const user = before ? known : findOrAddUser(ctx, draft, email, false, account);
    const row = before
      ? changed(ctx, before, assignment, status, draft.now)
      : added(ctx, draft, account, user, assignment, status);
    if (!accepted) invite(ctx, draft, account, user, row);
    const item = memberItem(ctx, account, row);
    const kind = accepted ? 'member.add' : 'member.invite';
    draft.event({ kind, account: account.seq, id: row.id, name: user.email, after: described(row) });
    return item;
  });
  return value;
}

/** Whether a pending member's invitation can be renewed. */
function isInviteOver(ctx: Context, { id, status }: MemberRow): boolean {
  const open = status === 'pending' ? openInvitationOf(ctx.store, id) : undefined;
  return status === 'pending' && (open === undefined || open.expires_at <= ctx.clock.nowUs());
}

type Status = MemberRow['status'];

/**
 * Whether the actor may accept for the user of an address: the operator, and a super administrator of the account for its own domains.
 * For other addresses, whether somebody works here already makes no difference, which would tell.
 */
function mayAccept(ctx: Context, account: AccountRow, email: string): boolean {
  if (ctx.actor.superAdministrator) return true;
  requireGivableAssignment(ctx, account, { roles: [SUPER_ADMINISTRATOR], policies: null });
  return ownDomainOf(ctx, account.seq, email) !== undefined;
}

/** The enabled connector with which the account has proved the domain of an address. */
export function ownDomainOf(
  { store }: Pick<Context, 'store'>,
  account: number,
  email: string,
): ConnectorRow | undefined {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  const parsed = parseNewZoneName(domain);
  const isOwn = (row: ConnectorRow): boolean =>
    row.status === 'verified' && row.enabled === 1 && 'name' in parsed && row.domain === parsed.name;
  return connectorsOfAccount(store, account).find(isOwn);
}

/** Whether somebody works with this user already: an invitation alone makes nobody. */
export function isSomebody({ store }: Pick<Context, 'store'>, { seq, super_administrator: isSuper }: UserRow): boolean {
  const works = membersOfUser(store, seq).some(({ status }) => status === 'accepted');
  return isSuper === 1 || works || hasCurrentKeys(store, seq);
}

function added(
  ctx: Context,
  draft: Draft,
  account: AccountRow,
  user: UserRow,
  assignment: Assignment,
  status: Status,
): MemberRow {
  if (countMembers(ctx.store, account.seq) >= MOST_MEMBERS) {
    throw peopleFailure('badInput', { reason: `An account has at most ${MOST_MEMBERS} members.` });
  }
  requireRoomFor(ctx, account.seq, 'members');
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  insertMember(ctx.store, {
    id,
    user: user.seq,
    account: account.seq,
    created_at: draft.now,
    status,
    agreed: 1,
    ...stored(assignment),
    accepted_at: status === 'accepted' ? draft.now : null,
  });
  return findMemberById(ctx.store, id)!;
}

function changed(ctx: Context, row: MemberRow, assignment: Assignment, status: Status, now: number): MemberRow {
  const acceptedAt = status === 'accepted' && row.status === 'pending' ? now : row.accepted_at;
  const after: MemberRow = { ...row, ...stored(assignment), status, accepted_at: acceptedAt };
  if (after.status === 'accepted') dropOpenInvitation(ctx.store, row.id);
  updateMemberRow(ctx.store, after);
  return after;
}

function stored({ roles, policies }: Assignment): Pick<MemberRow, 'roles' | 'policies'> {
  return { roles: JSON.stringify(roles), policies: policies && JSON.stringify(policies) };
}

/** Replaces roles or policies; the status stays as it is. Throws 400/1004 for the last super administrator. */
export async function changeMember(
  ctx: Context,
  accountId: string,
  memberId: string,
  input: AssignmentInput,
): Promise<MemberItem> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const row = requireMember(ctx, account, memberId);
    const assignment = readAssignment(ctx, account, input, policiesOf(row));
    requireGivableMember(ctx, account, row);
    requireGivableAssignment(ctx, account, assignment);
    const after = keepingAdministrator(ctx.store, account.seq, () =>
      changed(ctx, row, assignment, row.status, draft.now),
    );
    if (after.roles !== row.roles || after.policies !== row.policies) {
      const audited = { before: described(row), after: described(after) };
      draft.event({ kind: 'member.edit', account: account.seq, id: row.id, name: emailOf(ctx, row), ...audited });
    }
    return memberItem(ctx, account, after);
  });
  return value;
}

/** Renews the invitation of a pending member for another seven days. Throws 400/1001 for one who has accepted. */
export async function renewInvitation(ctx: Context, accountId: string, memberId: string): Promise<MemberItem> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const row = requireMember(ctx, account, memberId);
    requireGivableMember(ctx, account, row);
    if (row.status !== 'pending') throw peopleFailure('inviteSettled');
    const user = findUser(ctx.store, row.user)!;
    invite(ctx, draft, account, user, row);
    draft.event({ kind: 'member.invite', account: account.seq, id: row.id, name: user.email, after: described(row) });
    return memberItem(ctx, account, row);
  });
  return value;
}

/** Ends a membership, or withdraws an invitation. What the user may do in the account ends with it. */
export async function removeMember(ctx: Context, accountId: string, memberId: string): Promise<string> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const row = requireMember(ctx, account, memberId);
    requireGivableMember(ctx, account, row);
    endMembership(ctx, draft, row);
    return toHex(row.id);
  });
  return value;
}

/**
 * Inside a commit; also for users who leave. An account without another super administrator keeps them, but nobody who was added
 * without being asked.
 */
export function endMembership(ctx: Context, draft: Draft, row: MemberRow, by: 'account' | 'user' = 'account'): void {
  const event = { account: row.account, id: row.id, name: emailOf(ctx, row), before: described(row) };
  const remove = (): void => removeMemberRow(ctx.store, row.seq);
  if (by === 'user' && row.agreed === 0) remove();
  else keepingAdministrator(ctx.store, row.account, remove);
  withdrawInvitation(ctx.store, row.id, draft.now);
  draft.event({ kind: 'member.remove', ...event });
}

/** The user of an open invitation answers it; inside a commit. */
export function acceptMembership(ctx: Context, draft: Draft, row: MemberRow): MemberRow {
  const after: MemberRow = { ...row, status: 'accepted', accepted_at: draft.now, agreed: 1 };
  updateMemberRow(ctx.store, after);
  const event = { account: row.account, id: row.id, name: emailOf(ctx, row), after: described(after) };
  draft.event({ kind: 'member.accept', ...event });
  return findMember(ctx.store, row.seq)!;
}

/** For the audit log: names, which people read, and policies as they are stored. */
function described(row: Pick<MemberRow, 'roles' | 'policies' | 'status'>): object {
  const { status } = row;
  if (row.policies !== null) return { status, policies: policiesOf(row) };
  return { status, roles: rolesOf(row).map((id) => findRole(id)?.name ?? id) };
}

export function rolesOf({ roles }: Pick<MemberRow, 'roles'>): string[] {
  return JSON.parse(roles) as string[];
}

export function policiesOf({ policies }: Pick<MemberRow, 'policies'>): StoredPolicy[] {
  return policies === null ? [] : (JSON.parse(policies) as StoredPolicy[]);
}

export function emailOf({ store }: Context, { user }: Pick<MemberRow, 'user'>): string {
  return findUser(store, user)!.email;
}

/** Throws 404/1003 when the account has no such member. */
export function requireMember(ctx: Context, account: AccountRow, memberId: string): MemberRow {
  const id = parseId(memberId);
  const row = id && findMemberById(ctx.store, id);
  if (row?.account !== account.seq) throw peopleFailure('memberMissing', { id: memberId.slice(0, 64) });
  return row;
}

function memberItem(ctx: Context, account: AccountRow, row: MemberRow): MemberItem {
  const { id, email, first_name: firstName, last_name: lastName } = findUser(ctx.store, row.user)!;
  // An account that added a user of others in an earlier version learns no more than by an invitation.
  const isKnown = row.status === 'accepted' && row.agreed === 1;
  const open = isKnown ? undefined : openInvitationOf(ctx.store, row.id);
  return {
    id: toHex(row.id),
    email,
    status: row.status,
    roles: row.policies === null ? rolesOf(row) : [],
    policies: policyItems(ctx.store, account, policiesOf(row)),
    user: isKnown ? { id: toHex(id), firstName, lastName } : null,
    twoFactor: isKnown && seesFactors(ctx, account) ? hasSecondFactor(ctx.store, row.user) : undefined,
    lastUsedAt: isKnown ? lastUseOfUser(ctx.store, row.user) : null,
    createdAt: row.created_at,
    invite: open
      ? { id: toHex(open.id), expiresAt: open.expires_at, isOver: open.expires_at <= ctx.clock.nowUs() }
      : null,
  };
}

/** Who has no second factor is the easiest to attack: only who manages members learns it. */
function seesFactors({ actor }: Context, account: AccountRow): boolean {
  if (actor.readOnly) return false;
  return !isRestricted(actor) || decide(actor, 'members', 'write', { account: toHex(account.id) }).allowed;
}
