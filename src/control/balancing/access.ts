/** Monitors, groups and pools that a request names. Those of other accounts are answered as if there were none. */
import { type Members, parseMembers } from '../../balancing/members.js';
import type { StoredSettings } from '../../balancing/monitor.js';
import type { AppError } from '../../base/errors.js';
import { makeId } from '../../base/random.js';
import { findMonitorGroupById, type MonitorGroupRow } from '../../store/balancing/monitor-groups.js';
import { findMonitorById, type MonitorRow } from '../../store/balancing/monitors.js';
import { findPoolById, type PoolRow } from '../../store/balancing/pools.js';
import type { Store } from '../../store/driver.js';
import { parseId, requireAccount } from '../guard/access.js';
import { isMet } from '../guard/precondition.js';
import type { Context } from '../kernel/context.js';
import { balancingFailure } from './errors.js';
import { tagOf } from './item.js';

type Key = 'monitorMissing' | 'groupMissing' | 'poolMissing';

function ofAccount<Row extends { readonly account: number }>(
  find: (store: Store, id: Uint8Array) => Row | undefined,
  key: Key,
): (store: Store, account: number, id: string, pointer?: string) => Row {
  return (store, account, text, pointer) => {
    const id = parseId(text);
    const row = id && find(store, id);
    if (row?.account !== account) throw balancingFailure(key, {}, pointer === undefined ? {} : { pointer });
    return row;
  };
}

/** Of the account (store number). Each throws 404; `pointer`: to the member that names it. */
export const requireMonitorOf = ofAccount<MonitorRow>(findMonitorById, 'monitorMissing');
export const requireGroupOf = ofAccount<MonitorGroupRow>(findMonitorGroupById, 'groupMissing');
export const requirePoolOf = ofAccount<PoolRow>(findPoolById, 'poolMissing');

/** The one that a request is about, if it is in the state that the request requires. */
export function requireMonitor(ctx: Context, accountId: string, id: string): MonitorRow {
  return inState(ctx, requireMonitorOf(ctx.store, requireAccount(ctx, accountId).seq, id));
}

export function requireGroup(ctx: Context, accountId: string, id: string): MonitorGroupRow {
  return inState(ctx, requireGroupOf(ctx.store, requireAccount(ctx, accountId).seq, id));
}

export function requirePool(ctx: Context, accountId: string, id: string): PoolRow {
  return inState(ctx, requirePoolOf(ctx.store, requireAccount(ctx, accountId).seq, id));
}

function inState<Row extends { readonly modified_at: number }>({ precondition }: Context, row: Row): Row {
  const tag = tagOf(row);
  if (precondition && !isMet(precondition, tag)) throw stale(tag);
  return row;
}

function stale(tag: string): AppError {
  return balancingFailure('stale', { tag });
}

/** The moment of a change: later than the last one, so that every state has its own entity tag. */
export function momentAfter(now: number, { modified_at: modifiedAt }: { readonly modified_at: number }): number {
  return Math.max(now, modifiedAt + 1);
}

export function newId({ clock, random }: Context): Uint8Array {
  return makeId(clock.nowUs(), random);
}

export function membersOfRow({ settings }: Pick<StoredSettings, 'settings'>): Members {
  return parseMembers(settings);
}
