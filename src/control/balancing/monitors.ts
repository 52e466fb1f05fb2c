/** Use cases of monitors (v4: load balancing). */
import type { Members } from '../../balancing/members.js';
import { MONITOR_DEFAULTS, monitorOfMembers, usualMethod } from '../../balancing/monitor.js';
import { toHex } from '../../base/bytes.js';
import {
  findMonitor,
  findMonitorById,
  insertMonitor,
  type MonitorRow,
  monitorsOfAccount,
  removeMonitor,
  updateMonitor,
} from '../../store/balancing/monitors.js';
import { zonesOfName } from '../../store/zones/zones.js';
import { requireAccount } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import { membersOfRow, momentAfter, newId, requireMonitor } from './access.js';
import { patched, settable } from './check.js';
import { invalid } from './errors.js';
import { type BalancingItem, itemOf } from './item.js';
import { requireProbeRoom } from './limits.js';
import { checkMonitor, NULLABLE_OF_MONITOR } from './monitor-rules.js';
import { referrersOfMonitor, requireUnreferenced } from './references.js';

export async function listMonitors(ctx: Context, accountId: string): Promise<BalancingItem[]> {
  return monitorsOfAccount(ctx.store, requireAccount(ctx, accountId).seq).map((row) => monitorItem(row));
}

export async function getMonitor(ctx: Context, accountId: string, id: string): Promise<BalancingItem> {
  return monitorItem(requireMonitor(ctx, accountId, id));
}

export async function createMonitor(ctx: Context, accountId: string, input: Members): Promise<BalancingItem> {
  const id = newId(ctx);
  return (await commit(ctx, (draft) => draftMonitor(ctx, draft, accountId, id, input))).value;
}

/** The same inside a write. */
export function draftMonitor(
  ctx: Context,
  draft: Draft,
  accountId: string,
  id: Uint8Array,
  input: Members,
): BalancingItem {
  const { store } = ctx;
  const members = settable(input, NULLABLE_OF_MONITOR);
  checkMonitor(members, ctx.settings.limits.balancing);
  const account = requireAccount(ctx, accountId);
  requireRoomFor(ctx, account.seq, 'balancing');
  requireProbeZone(ctx, account.seq, members);
  insertMonitor(store, id, account.seq, columnsOf(members), draft.now);
  const item = monitorItem(findMonitorById(store, id)!);
  draft.event({ kind: 'monitor.create', account: account.seq, id, name: nameOf(id, members), after: item.members });
  return item;
}

/** Replaces all members. */
export async function replaceMonitor(
  ctx: Context,
  accountId: string,
  id: string,
  input: Members,
): Promise<BalancingItem> {
  return change(ctx, accountId, id, () => settable(input, NULLABLE_OF_MONITOR));
}

/** Replaces the members that are there. */
export async function editMonitor(ctx: Context, accountId: string, id: string, input: Members): Promise<BalancingItem> {
  return change(ctx, accountId, id, (stored) => patched(stored, input, NULLABLE_OF_MONITOR));
}

/** Throws 412 while a pool or a group uses it. */
export async function deleteMonitor(
  ctx: Context,
  accountId: string,
  monitorId: string,
): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireMonitor(ctx, accountId, monitorId);
    requireUnreferenced(referrersOfMonitor(ctx.store, row.seq));
    const { members } = monitorItem(row);
    removeMonitor(ctx.store, row.seq);
    draft.event({
      ...{ kind: 'monitor.delete', account: row.account, id: row.id },
      ...{ name: nameOf(row.id, members), before: members },
    });
    return { id: toHex(row.id) };
  });
  return value;
}

async function change(
  ctx: Context,
  accountId: string,
  monitorId: string,
  read: (stored: Members) => Members,
): Promise<BalancingItem> {
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const row = requireMonitor(ctx, accountId, monitorId);
    const members = read(membersOfRow(row));
    checkMonitor(members, ctx.settings.limits.balancing);
    requireProbeZone(ctx, row.account, members);
    const before = monitorItem(row);
    updateMonitor(store, row.seq, columnsOf(members), momentAfter(draft.now, row));
    requireProbeRoom(ctx, row.account);
    const item = monitorItem(findMonitor(store, row.seq)!);
    draft.event({
      ...{ kind: 'monitor.edit', account: row.account, id: row.id, name: nameOf(row.id, members) },
      ...{ before: before.members, after: item.members },
    });
    return item;
  });
  return value;
}

function columnsOf(members: Members): { readonly settings: string; readonly interval: number } {
  return { settings: JSON.stringify(members), interval: monitorOfMembers('', members).interval };
}

function requireProbeZone({ store }: Context, account: number, { probe_zone: name }: Members): void {
  if (typeof name !== 'string' || name === '') return;
  const wanted = name.toLowerCase().replace(/\.$/, '');
  if (!zonesOfName(store, wanted).some((zone) => zone.account === account)) {
    throw invalid('probe_zone is not a zone of the account', '/probe_zone');
  }
}

/** What people call it: monitors have no names. */
export function nameOf(id: Uint8Array, { description }: Members): string {
  return typeof description === 'string' && description !== '' ? description : toHex(id);
}

/** With all defaults, since clients compare all members. */
function monitorItem(row: MonitorRow): BalancingItem {
  const stored = membersOfRow(row);
  const method = usualMethod(monitorOfMembers('', stored).type);
  return itemOf(row, { ...MONITOR_DEFAULTS, method, ...stored });
}
