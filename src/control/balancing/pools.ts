/** Use cases of pools (v4: load balancing). */
import { isDeepStrictEqual } from 'node:util';
import { type Members, memberOr } from '../../balancing/members.js';
import { familiesOf, poolOf, type StoredOrigin } from '../../balancing/pool.js';
import { toHex } from '../../base/bytes.js';
import { isNameOfOthers } from '../../serving/name-owner.js';
import { monitorsOfGroup } from '../../store/balancing/monitor-groups.js';
import { forgetMonitorOf, forgetOrigin } from '../../store/balancing/origin-states.js';
import {
  findPool,
  findPoolById,
  findPoolByName,
  insertPool,
  type PoolRow,
  type PoolValues,
  poolsOfAccount,
  removePool,
  updatePool,
} from '../../store/balancing/pools.js';
import type { Store } from '../../store/driver.js';
import { zonesOfName } from '../../store/zones/zones.js';
import { requireAccount } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import { membersOfRow, momentAfter, newId, requireGroupOf, requireMonitorOf, requirePool } from './access.js';
import { hostOf, patched, settable } from './check.js';
import { commitAndReach, noteBalancersOfPools, type ReachedBalancers } from './dependents.js';
import { invalid } from './errors.js';
import { type BalancingItem, itemOf } from './item.js';
import { requireFewOriginsAround, requireProbeRoom } from './limits.js';
import { checkPool, NULLABLE_OF_POOL } from './pool-rules.js';
import { referrersOfPool, requireUnreferenced } from './references.js';

/** `monitor`: only those of this monitor. */
export async function listPools(ctx: Context, accountId: string, monitor?: string): Promise<BalancingItem[]> {
  const account = requireAccount(ctx, accountId);
  const rows = poolsOfAccount(ctx.store, account.seq);
  const seq = monitor === undefined ? undefined : requireMonitorOf(ctx.store, account.seq, monitor).seq;
  return rows.filter((row) => seq === undefined || row.monitor === seq).map((row) => poolItem(row));
}

export async function getPool(ctx: Context, accountId: string, id: string): Promise<BalancingItem> {
  return poolItem(requirePool(ctx, accountId, id));
}

export async function createPool(ctx: Context, accountId: string, input: Members): Promise<BalancingItem> {
  const id = newId(ctx);
  return (await commit(ctx, (draft) => draftPool(ctx, draft, accountId, id, input))).value;
}

/** The same inside a write. */
export function draftPool(
  ctx: Context,
  draft: Draft,
  accountId: string,
  id: Uint8Array,
  input: Members,
): BalancingItem {
  const account = requireAccount(ctx, accountId);
  requireRoomFor(ctx, account.seq, 'balancing');
  const values = readPool(ctx, draft, account.seq, settable(input, NULLABLE_OF_POOL), undefined);
  insertPool(ctx.store, id, account.seq, values, draft.now);
  requireProbeRoom(ctx, account.seq);
  const item = poolItem(findPoolById(ctx.store, id)!, noticesOf(ctx, values));
  draft.event({ kind: 'pool.create', account: account.seq, id, name: values.name, after: item.members });
  return item;
}

/** Replaces all members. */
export async function replacePool(ctx: Context, accountId: string, id: string, input: Members): Promise<BalancingItem> {
  return changeOne(ctx, accountId, id, () => settable(input, NULLABLE_OF_POOL));
}

/** Replaces the members that are there. */
export async function editPool(ctx: Context, accountId: string, id: string, input: Members): Promise<BalancingItem> {
  return changeOne(ctx, accountId, id, (stored) => patched(stored, input, NULLABLE_OF_POOL));
}

/** Pools that one write edits, so that others get their turn. */
const POOLS_AT_ONCE = 50;

/** The same with all pools of an account, some of them in each write. */
export async function editPools(ctx: Context, accountId: string, input: Members): Promise<BalancingItem[]> {
  const account = requireAccount(ctx, accountId).seq;
  const ids = poolsOfAccount(ctx.store, account).map(({ id }) => toHex(id));
  const items: BalancingItem[] = [];
  for (let at = 0; at < ids.length; at += POOLS_AT_ONCE) {
    const some = ids.slice(at, at + POOLS_AT_ONCE);
    const changed = await commitAndReach(ctx, account, (draft, reached) => {
      const rows = some.flatMap((id) => findPoolById(ctx.store, Buffer.from(id, 'hex')) ?? []);
      const read = (stored: Members): Members => patched(stored, input, NULLABLE_OF_POOL);
      return rows.map((row) => change(ctx, draft, row, read, reached));
    });
    items.push(...changed);
  }
  return items;
}

/** Throws 412 while a load balancer uses it. */
export async function deletePool(ctx: Context, accountId: string, poolId: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const row = requirePool(ctx, accountId, poolId);
    requireUnreferenced(referrersOfPool(ctx.store, row.seq));
    const { members } = poolItem(row);
    removePool(ctx.store, row.seq);
    draft.event({ kind: 'pool.delete', account: row.account, id: row.id, name: row.name, before: members });
    return { id: toHex(row.id) };
  });
  return value;
}

async function changeOne(
  ctx: Context,
  accountId: string,
  poolId: string,
  read: (stored: Members) => Members,
): Promise<BalancingItem> {
  const { account } = requirePool(ctx, accountId, poolId);
  return commitAndReach(ctx, account, (draft, reached) =>
    change(ctx, draft, requirePool(ctx, accountId, poolId), read, reached),
  );
}

function change(
  ctx: Context,
  draft: Draft,
  row: PoolRow,
  read: (stored: Members) => Members,
  reached: ReachedBalancers | undefined,
): BalancingItem {
  const { store } = ctx;
  const values = readPool(ctx, draft, row.account, read(membersOfRow(row)), row);
  const before = poolItem(row);
  if (values.settings === row.settings) return before;
  // There may be 1,000 of them, and a changed description makes no difference to them.
  const isSeen = !isDeepStrictEqual(poolOf(row), poolOf({ id: row.id, settings: values.settings }));
  if (isSeen) noteBalancersOfPools(ctx, draft, [row], 'settings', reached);
  updatePool(store, row.seq, values, momentAfter(draft.now, row));
  requireProbeRoom(ctx, row.account);
  const after = findPool(store, row.seq)!;
  const hasMore = originsOf(membersOfRow(after)).length > originsOf(membersOfRow(row)).length;
  if (hasMore) requireFewOriginsAround(ctx, row.seq);
  forgetStates(store, row, after);
  const item = poolItem(after, noticesOf(ctx, values));
  draft.event({
    ...{ kind: 'pool.edit', account: row.account, id: row.id, name: values.name },
    ...{ before: before.members, after: item.members },
  });
  return item;
}

/** What was found of origins says nothing any more once they are disabled, or others, or probed by another monitor. */
function forgetStates(store: Store, before: PoolRow, after: PoolRow): void {
  const now = new Map(originsOf(membersOfRow(after)).map((origin) => [origin.name, origin]));
  for (const origin of originsOf(membersOfRow(before))) {
    const same = now.get(origin.name);
    const isSame = same && same.address === origin.address && (same.port ?? 0) === (origin.port ?? 0);
    if (!isSame || same.enabled === false || after.targets === 0) forgetOrigin(store, before.seq, origin.name);
  }
  const monitors = monitorsOf(store, after);
  for (const monitor of monitorsOf(store, before)) {
    if (!monitors.includes(monitor)) forgetMonitorOf(store, before.seq, monitor);
  }
}

function monitorsOf(store: Store, { monitor, monitor_group: group }: PoolRow): number[] {
  if (monitor !== null) return [monitor];
  return group === null ? [] : monitorsOfGroup(store, group).map(({ seq }) => seq);
}

function originsOf(members: Members): readonly StoredOrigin[] {
  return memberOr<readonly StoredOrigin[]>(members, 'origins', []);
}

/** What is stored. Throws for what a pool cannot be. */
function readPool(
  ctx: Context,
  { now }: Pick<Draft, 'now'>,
  account: number,
  members: Members,
  before: PoolRow | undefined,
): PoolValues {
  const { store, settings } = ctx;
  const { limits, ownAddresses } = settings;
  checkPool(members, { originsPerPool: limits.balancing.originsPerPool, ownAddresses });
  const name = memberOr(members, 'name', '');
  const same = findPoolByName(store, account, name);
  if (same && same.seq !== before?.seq) throw invalid(`name ${name} is not unique in the account`, '/name');
  const origins = originsOf(members).map((origin, i) => {
    requireOwnHost(store, account, origin, `/origins/${i}/header/Host`);
    return origin;
  });
  const known = before && membersOfRow(before);
  const stored = {
    ...members,
    origins: origins.map((origin) => withDisabledAt(origin, originsOf(known ?? {}), now)),
    ...(members.enabled === false && { disabled_at: known?.disabled_at ?? now }),
  };
  const monitor = memberOr(members, 'monitor', '');
  const group = memberOr(members, 'monitor_group', '');
  const isProbed = members.enabled !== false;
  return {
    name,
    name_key: name.toLowerCase(),
    settings: JSON.stringify(stored),
    monitor: monitor === '' ? null : requireMonitorOf(store, account, monitor, '/monitor').seq,
    monitor_group: group === '' ? null : requireGroupOf(store, account, group, '/monitor_group').seq,
    targets: isProbed ? origins.filter(({ enabled }) => enabled !== false).length : 0,
  };
}

/** The origin with when it was disabled, if it is. */
function withDisabledAt(
  { disabled_at: _, ...origin }: StoredOrigin,
  known: readonly StoredOrigin[],
  now: number,
): StoredOrigin {
  if (origin.enabled !== false) return origin;
  const before = known.find(({ name }) => name === origin.name);
  return { ...origin, disabled_at: before?.disabled_at ?? now };
}

/** Throws 1002 unless the host lies in a zone of the account: nobody asks in the name of others. */
function requireOwnHost(store: Store, account: number, { header }: StoredOrigin, at: string): void {
  const host = header?.Host?.[0];
  const name = host === undefined ? undefined : hostOf(host);
  if (name === undefined) return;
  if (!isOfAccount(store, name, account)) {
    throw invalid(`origin header Host ${name} is not in a zone of the account`, at);
  }
}

/** Whether a host lies in a zone of the account, and is not known to be another one's. */
function isOfAccount(store: Store, host: string, account: number): boolean {
  const labels = host.split('.');
  const isOwn = (name: string): boolean =>
    zonesOfName(store, name).some((zone) => zone.account === account && zone.status !== 'moved');
  return labels.some((_, i) => isOwn(labels.slice(i).join('.'))) && !isNameOfOthers(store, { name: host, account });
}

/** What its owner should know. */
function noticesOf({ egress }: Context, { settings, monitor, monitor_group: group }: PoolValues): string[] {
  const pool = poolOf({ id: new Uint8Array(16), settings });
  const { ipv4, ipv6, hostNames } = familiesOf(pool);
  const lacking = hostNames ? [] : [...(ipv4 ? [] : ['A']), ...(ipv6 ? [] : ['AAAA'])];
  const isMonitored = monitor !== null || group !== null;
  const unreachable = pool.origins.flatMap(({ name, ip, enabled, address, port }) => {
    const reason = isMonitored && ip && enabled ? egress.refusal('origins', address, port || 443) : undefined;
    return reason === undefined ? [] : [`Origin ${name} will be unhealthy, because it is not probed: ${reason}.`];
  });
  return [
    ...lacking.map((type) => `No enabled origin of the pool has an address for ${type} questions: they get no data.`),
    ...unreachable.slice(0, 10),
  ];
}

const SHOWN = { description: '', enabled: true, minimum_origins: 1, check_regions: null, notification_email: '' };
const SHOWN_OF_ORIGIN = { enabled: true, weight: 1 };

function poolItem(row: PoolRow, notices: readonly string[] = []): BalancingItem {
  const members = membersOfRow(row);
  const origins = originsOf(members).map((origin) => ({ ...SHOWN_OF_ORIGIN, ...origin }));
  return itemOf(row, { ...SHOWN, ...members, origins }, notices);
}
