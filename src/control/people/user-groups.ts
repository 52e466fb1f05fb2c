/** User groups: members who share policies. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { AccountRow } from '../../store/access/accounts.js';
import {
  addMemberOfUserGroup,
  findUserGroup,
  insertUserGroup,
  membersOfUserGroup,
  removeMemberOfUserGroup,
  removeUserGroup as removeUserGroupRow,
  type UserGroupRow,
  updateUserGroup,
  userGroupsOf,
} from '../../store/access/groups.js';
import { findMember, type MemberRow } from '../../store/access/members.js';
import { grantsOfPolicies } from '../access/rights.js';
import { parseId, requireAccount } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { keepingAdministrator, policyItems, readPolicies, requireGivableGrants } from './assignment.js';
import { peopleFailure } from './errors.js';
import type { GroupMemberItem, PolicyInput, UserGroupItem } from './item.js';
import { emailOf, policiesOf, requireMember } from './members.js';
import { readGroupName } from './resource-groups.js';

export interface UserGroupInput {
  readonly name?: string | undefined;
  readonly policies?: readonly PolicyInput[] | undefined;
}

const MOST_GROUPS = 100;

export async function listUserGroups(ctx: Context, accountId: string): Promise<readonly UserGroupItem[]> {
  const account = requireAccount(ctx, accountId);
  return userGroupsOf(ctx.store, account.seq).map((row) => groupItem(ctx, account, row));
}

export async function getUserGroup(ctx: Context, accountId: string, groupId: string): Promise<UserGroupItem> {
  const account = requireAccount(ctx, accountId);
  return groupItem(ctx, account, requireUserGroup(ctx, account, groupId));
}

export async function createUserGroup(ctx: Context, accountId: string, input: UserGroupInput): Promise<UserGroupItem> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    if (userGroupsOf(ctx.store, account.seq).length >= MOST_GROUPS) {
      throw peopleFailure('badInput', { reason: `An account has at most ${MOST_GROUPS} groups.` });
    }
    const name = readGroupName(input.name ?? '');
    const policies = readPolicies(ctx, account, input.policies ?? [], []);
    requireGivableGrants(ctx, account, grantsOfPolicies(ctx.store, account.seq, policies));
    const id = makeId(ctx.clock.nowUs(), ctx.random);
    const times = { created_at: draft.now, modified_at: draft.now };
    insertUserGroup(ctx.store, { id, account: account.seq, name, policies: JSON.stringify(policies), ...times });
    draft.event({ kind: 'user_group.create', account: account.seq, id, name, after: { name, policies } });
    return groupItem(ctx, account, findUserGroup(ctx.store, id)!);
  });
  return value;
}

/** Absent members stay. */
export async function replaceUserGroup(
  ctx: Context,
  accountId: string,
  groupId: string,
  input: UserGroupInput,
): Promise<UserGroupItem> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const row = requireUserGroup(ctx, account, groupId);
    const before = policiesOf(row);
    const name = input.name === undefined ? row.name : readGroupName(input.name);
    const policies = input.policies ? readPolicies(ctx, account, input.policies, before) : before;
    for (const some of [before, policies]) {
      requireGivableGrants(ctx, account, grantsOfPolicies(ctx.store, account.seq, some));
    }
    const after = { ...row, name, policies: JSON.stringify(policies), modified_at: draft.now };
    keepingAdministrator(ctx.store, account.seq, () => updateUserGroup(ctx.store, after));
    const audited = { before: { name: row.name, policies: before }, after: { name, policies } };
    draft.event({ kind: 'user_group.edit', account: account.seq, id: row.id, name, ...audited });
    return groupItem(ctx, account, after);
  });
  return value;
}

export async function removeUserGroup(ctx: Context, accountId: string, groupId: string): Promise<{ id: string }> {
  await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const row = requireUserGroup(ctx, account, groupId);
    requireGivableGroup(ctx, account, row);
    keepingAdministrator(ctx.store, account.seq, () => removeUserGroupRow(ctx.store, row.seq));
    const { id, name } = row;
    draft.event({
      kind: 'user_group.delete',
      account: account.seq,
      id,
      name,
      before: { name, policies: policiesOf(row) },
    });
  });
  return { id: groupId };
}

/** In the order in which they became members of the account. */
export async function listGroupMembers(
  ctx: Context,
  accountId: string,
  groupId: string,
): Promise<readonly GroupMemberItem[]> {
  const account = requireAccount(ctx, accountId);
  return membersIn(ctx, requireUserGroup(ctx, account, groupId));
}

export async function getGroupMember(
  ctx: Context,
  accountId: string,
  groupId: string,
  memberId: string,
): Promise<GroupMemberItem> {
  const found = (await listGroupMembers(ctx, accountId, groupId)).find(({ id }) => id === memberId);
  if (!found) throw peopleFailure('memberMissing', { id: memberId.slice(0, 64) });
  return found;
}

/** Adds members of the account; `only`: those who are not named leave. */
export async function setGroupMembers(
  ctx: Context,
  accountId: string,
  groupId: string,
  memberIds: readonly string[],
  only: boolean,
): Promise<readonly GroupMemberItem[]> {
  return changeMembers(ctx, accountId, groupId, (account, row, draft) => {
    const rows = memberIds.map((id) => requireMember(ctx, account, id));
    const kept = new Set(rows.map(({ seq }) => seq));
    for (const { seq } of rows) addMemberOfUserGroup(ctx.store, row.seq, seq, draft.now);
    if (!only) return;
    for (const [seq] of membersOfUserGroup(ctx.store, row.seq)) {
      if (!kept.has(seq)) removeMemberOfUserGroup(ctx.store, row.seq, seq);
    }
  });
}

/** Returns who has left. */
export async function removeGroupMember(
  ctx: Context,
  accountId: string,
  groupId: string,
  memberId: string,
): Promise<GroupMemberItem> {
  const member = await getGroupMember(ctx, accountId, groupId, memberId);
  await changeMembers(ctx, accountId, groupId, (account, row) => {
    removeMemberOfUserGroup(ctx.store, row.seq, requireMember(ctx, account, memberId).seq);
  });
  return member;
}

async function changeMembers(
  ctx: Context,
  accountId: string,
  groupId: string,
  change: (account: AccountRow, row: UserGroupRow, draft: Draft) => void,
): Promise<readonly GroupMemberItem[]> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const row = requireUserGroup(ctx, account, groupId);
    requireGivableGroup(ctx, account, row);
    const before = { members: membersIn(ctx, row).map(({ email }) => email) };
    keepingAdministrator(ctx.store, account.seq, () => change(account, row, draft));
    const members = membersIn(ctx, row);
    const after = { members: members.map(({ email }) => email) };
    const { id, name } = row;
    draft.event({ kind: 'user_group.edit', account: account.seq, id, name, before, after });
    return members;
  });
  return value;
}

/** Who joins the group gets what it gives, and who leaves loses it. */
function requireGivableGroup(ctx: Context, account: AccountRow, row: UserGroupRow): void {
  requireGivableGrants(ctx, account, grantsOfPolicies(ctx.store, account.seq, policiesOf(row)));
}

function membersIn(ctx: Context, { seq }: UserGroupRow): GroupMemberItem[] {
  return membersOfUserGroup(ctx.store, seq).map(([membership, since]) => {
    const row: MemberRow = findMember(ctx.store, membership)!;
    return { id: toHex(row.id), email: emailOf(ctx, row), status: row.status, since };
  });
}

function requireUserGroup(ctx: Context, account: AccountRow, groupId: string): UserGroupRow {
  const id = parseId(groupId);
  const row = id && findUserGroup(ctx.store, id);
  if (row?.account !== account.seq) throw peopleFailure('groupMissing', { id: groupId.slice(0, 64) });
  return row;
}

function groupItem(ctx: Context, account: AccountRow, row: UserGroupRow): UserGroupItem {
  return {
    id: toHex(row.id),
    name: row.name,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
    policies: policyItems(ctx.store, account, policiesOf(row)),
  };
}
