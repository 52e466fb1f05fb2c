/** Use cases of groups of monitors (v4: load balancing). */
import type { Members } from '../../balancing/members.js';
import { memberOr } from '../../balancing/members.js';
import type { StoredGroupMember } from '../../balancing/monitor.js';
import {
  findMonitorGroup,
  findMonitorGroupById,
  insertMonitorGroup,
  type MonitorGroupRow,
  monitorGroupsOfAccount,
  monitorsOfGroup,
  removeMonitorGroup,
  updateMonitorGroup,
} from '../../store/balancing/monitor-groups.js';
import { forgetMonitorOf } from '../../store/balancing/origin-states.js';
import { poolsOfMonitorGroup } from '../../store/balancing/pools.js';
import { requireAccount } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import { membersOfRow, momentAfter, newId, requireGroup, requireMonitorOf } from './access.js';
import { patched, requireText, settable } from './check.js';
import { commitAndReach, noteBalancersOfPools } from './dependents.js';
import { invalid } from './errors.js';
import { type BalancingItem, itemOf } from './item.js';
import { requireProbeRoom } from './limits.js';
import { nameOf } from './monitors.js';
import { referrersOfGroup, requireUnreferenced } from './references.js';

const MOST_MEMBERS = 20;

export async function listMonitorGroups(ctx: Context, accountId: string): Promise<BalancingItem[]> {
  return monitorGroupsOfAccount(ctx.store, requireAccount(ctx, accountId).seq).map(groupItem);
}

export async function getMonitorGroup(ctx: Context, accountId: string, id: string): Promise<BalancingItem> {
  return groupItem(requireGroup(ctx, accountId, id));
}

export async function createMonitorGroup(ctx: Context, accountId: string, input: Members): Promise<BalancingItem> {
  const id = newId(ctx);
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    requireRoomFor(ctx, account.seq, 'balancing');
    insertMonitorGroup(ctx.store, id, account.seq, readGroup(ctx, draft, account.seq, settable(input), []), draft.now);
    const row = findMonitorGroupById(ctx.store, id)!;
    const item = groupItem(row);
    const name = nameOf(id, item.members);
    draft.event({ kind: 'monitor_group.create', account: account.seq, id, name, after: item.members });
    return item;
  });
  return value;
}

/** Replaces all members. */
export async function replaceMonitorGroup(
  ctx: Context,
  accountId: string,
  id: string,
  input: Members,
): Promise<BalancingItem> {
  return change(ctx, accountId, id, () => settable(input));
}

export async function editMonitorGroup(
  ctx: Context,
  accountId: string,
  id: string,
  input: Members,
): Promise<BalancingItem> {
  return change(ctx, accountId, id, (stored) => patched(stored, input));
}

/** Returns the group as it was (v4). Throws 412 while a pool uses it. */
export async function deleteMonitorGroup(ctx: Context, accountId: string, groupId: string): Promise<BalancingItem> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireGroup(ctx, accountId, groupId);
    requireUnreferenced(referrersOfGroup(ctx.store, row.seq));
    const item = groupItem(row);
    removeMonitorGroup(ctx.store, row.seq);
    const name = nameOf(row.id, item.members);
    draft.event({ kind: 'monitor_group.delete', account: row.account, id: row.id, name, before: item.members });
    return item;
  });
  return value;
}

async function change(
  ctx: Context,
  accountId: string,
  groupId: string,
  read: (stored: Members) => Members,
): Promise<BalancingItem> {
  const { account } = requireGroup(ctx, accountId, groupId);
  return commitAndReach(ctx, account, (draft, reached) => {
    const { store } = ctx;
    const row = requireGroup(ctx, accountId, groupId);
    const stored = membersOfRow(row);
    const known = memberOr<readonly StoredGroupMember[]>(stored, 'members', []);
    const after = readGroup(ctx, draft, row.account, read(stored), known);
    const pools = poolsOfMonitorGroup(store, row.seq);
    if (pools.length > 0) noteBalancersOfPools(ctx, draft, pools, 'monitors', reached);
    const before = groupItem(row);
    const gone = monitorsOfGroup(store, row.seq).filter(({ seq }) => !after.monitors.includes(seq));
    for (const monitor of gone) for (const pool of pools) forgetMonitorOf(store, pool.seq, monitor.seq);
    updateMonitorGroup(store, row.seq, after, momentAfter(draft.now, row));
    requireProbeRoom(ctx, row.account);
    const item = groupItem(findMonitorGroup(store, row.seq)!);
    draft.event({
      ...{ kind: 'monitor_group.edit', account: row.account, id: row.id, name: nameOf(row.id, item.members) },
      ...{ before: before.members, after: item.members },
    });
    return item;
  });
}

/** What is stored. `known`: the members that it had: they keep when they were added. */
function readGroup(
  { store }: Context,
  { now }: Pick<Draft, 'now'>,
  account: number,
  group: Members,
  known: readonly StoredGroupMember[],
): { readonly settings: string; readonly monitors: readonly number[] } {
  requireText(group, 'description', 1000);
  const members = memberOr<readonly StoredGroupMember[]>(group, 'members', []);
  if (members.length < 1 || members.length > MOST_MEMBERS) {
    throw invalid(`the member list length must be in range [1, ${MOST_MEMBERS}]`, '/members');
  }
  const ids = members.map((member) => member.monitor_id);
  if (new Set(ids).size < ids.length) throw invalid('members has a monitor twice', '/members');
  const monitors = ids.map((id, i) => requireMonitorOf(store, account, id, `/members/${i}/monitor_id`).seq);
  const stored = members.map(({ monitor_id, enabled, monitoring_only, must_be_healthy }): StoredGroupMember => {
    const before = known.find((one) => one.monitor_id === monitor_id);
    const member = { monitor_id, enabled, monitoring_only, must_be_healthy };
    const isSame =
      before?.enabled === enabled &&
      before.monitoring_only === monitoring_only &&
      before.must_be_healthy === must_be_healthy;
    return { ...member, created_at: before?.created_at ?? now, updated_at: isSame ? before.updated_at : now };
  });
  return { settings: JSON.stringify({ ...group, members: stored }), monitors };
}

function groupItem(row: MonitorGroupRow): BalancingItem {
  return itemOf(row, { description: '', ...membersOfRow(row) });
}
