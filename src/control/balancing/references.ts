/** Who refers to monitors, groups and pools, and to what these refer. */
import { toHex } from '../../base/bytes.js';
import { type LoadBalancerRow, loadBalancersOfPool } from '../../store/balancing/load-balancers.js';
import {
  findMonitorGroup,
  groupsOfMonitor,
  type MonitorGroupRow,
  monitorsOfGroup,
} from '../../store/balancing/monitor-groups.js';
import { findMonitor, type MonitorRow } from '../../store/balancing/monitors.js';
import { type PoolRow, poolsOfBalancer, poolsOfMonitor, poolsOfMonitorGroup } from '../../store/balancing/pools.js';
import type { Store } from '../../store/driver.js';
import type { Context } from '../kernel/context.js';
import { membersOfRow, requireGroup, requireMonitor, requirePool } from './access.js';
import { balancingFailure } from './errors.js';

/** `referrer`: it refers to the object that was asked about. `referral`: the object refers to it. */
export interface Reference {
  readonly reference_type: 'referral' | 'referrer';
  readonly resource_id: string;
  readonly resource_name: string;
  readonly resource_type: 'load_balancer' | 'monitor' | 'monitor_group' | 'pool';
}

const MOST_NAMED = 5;

/** Throws 412 while something refers to an object. */
export function requireUnreferenced(referrers: readonly Reference[]): void {
  if (referrers.length === 0) return;
  const named = referrers.slice(0, MOST_NAMED).map((one) => `${one.resource_type} ${one.resource_name}`);
  const more = referrers.length > MOST_NAMED ? [`${referrers.length - MOST_NAMED} more`] : [];
  throw balancingFailure('referenced', { names: [...named, ...more].join(', ') });
}

export async function referencesOfMonitor(ctx: Context, accountId: string, id: string): Promise<readonly Reference[]> {
  return referrersOfMonitor(ctx.store, requireMonitor(ctx, accountId, id).seq);
}

export async function referencesOfGroup(ctx: Context, accountId: string, id: string): Promise<readonly Reference[]> {
  return aroundGroup(ctx.store, requireGroup(ctx, accountId, id));
}

export async function referencesOfPool(ctx: Context, accountId: string, id: string): Promise<readonly Reference[]> {
  return aroundPool(ctx.store, requirePool(ctx, accountId, id));
}

/** `monitor`: store number, here and below. */
export function referrersOfMonitor(store: Store, monitor: number): Reference[] {
  return [
    ...poolsOfMonitor(store, monitor).map((row) => ofPool('referrer', row)),
    ...groupsOfMonitor(store, monitor).map((row) => ofGroup('referrer', row)),
  ];
}

export function referrersOfGroup(store: Store, group: number): Reference[] {
  return poolsOfMonitorGroup(store, group).map((row) => ofPool('referrer', row));
}

export function referrersOfPool(store: Store, pool: number): Reference[] {
  return loadBalancersOfPool(store, pool).map((row) => ofBalancer('referrer', row));
}

function aroundGroup(store: Store, row: MonitorGroupRow): Reference[] {
  const referrals = monitorsOfGroup(store, row.seq).map((monitor) => ofMonitor('referral', monitor));
  return [...referrersOfGroup(store, row.seq), ...referrals];
}

export function aroundPool(store: Store, row: PoolRow): Reference[] {
  const monitor = row.monitor === null ? undefined : findMonitor(store, row.monitor);
  const group = row.monitor_group === null ? undefined : findMonitorGroup(store, row.monitor_group);
  return [
    ...referrersOfPool(store, row.seq),
    ...(monitor ? [ofMonitor('referral', monitor)] : []),
    ...(group ? [ofGroup('referral', group)] : []),
  ];
}

export function aroundBalancer(store: Store, row: LoadBalancerRow): Reference[] {
  return poolsOfBalancer(store, row.seq).map((pool) => ofPool('referral', pool));
}

type Direction = Reference['reference_type'];

function ofPool(reference_type: Direction, { id, name }: PoolRow): Reference {
  return { reference_type, resource_id: toHex(id), resource_name: name, resource_type: 'pool' };
}

function ofBalancer(reference_type: Direction, { id, name }: LoadBalancerRow): Reference {
  return { reference_type, resource_id: toHex(id), resource_name: name, resource_type: 'load_balancer' };
}

function ofMonitor(reference_type: Direction, row: MonitorRow): Reference {
  return { reference_type, resource_id: toHex(row.id), resource_name: described(row), resource_type: 'monitor' };
}

function ofGroup(reference_type: Direction, row: MonitorGroupRow): Reference {
  return { reference_type, resource_id: toHex(row.id), resource_name: described(row), resource_type: 'monitor_group' };
}

/** Its description; monitors and groups have no names. */
export function described(row: MonitorRow | MonitorGroupRow): string {
  const { description } = membersOfRow(row);
  return typeof description === 'string' ? description : '';
}
