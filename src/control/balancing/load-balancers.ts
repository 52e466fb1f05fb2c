/** Use cases of load balancers (v4: load balancing). */
import { DEFAULT_TTL } from '../../balancing/load-balancer.js';
import { type Members, memberOr, membersOf } from '../../balancing/members.js';
import { poolsReferredTo } from '../../balancing/references.js';
import { toHex } from '../../base/bytes.js';
import {
  findLoadBalancer,
  findLoadBalancerById,
  insertLoadBalancer,
  type LoadBalancerRow,
  type LoadBalancerValues,
  loadBalancerAt,
  loadBalancersOfZone,
  removeLoadBalancer,
  updateLoadBalancer,
} from '../../store/balancing/load-balancers.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { parseId, requireZone } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import { membersOfRow, momentAfter, newId, requirePoolOf } from './access.js';
import { requirePlace } from './balancer-place.js';
import { checkBalancer } from './balancer-rules.js';
import { patched, settable } from './check.js';
import { balancingFailure, invalid } from './errors.js';
import { type BalancingItem, itemOf } from './item.js';
import { requireFewBalancers, requireSmallBalancer } from './limits.js';
import { withTransferView } from './transfer-views.js';

export async function listLoadBalancers(ctx: Context, zoneId: string): Promise<BalancingItem[]> {
  const zone = requireZone(ctx, zoneId);
  return loadBalancersOfZone(ctx.store, zone.seq).map((row) => balancerItem(zone, row));
}

export async function getLoadBalancer(ctx: Context, zoneId: string, id: string): Promise<BalancingItem> {
  const zone = requireZone(ctx, zoneId);
  return balancerItem(zone, requireBalancer(ctx, zone, id));
}

export async function createLoadBalancer(ctx: Context, zoneId: string, input: Members): Promise<BalancingItem> {
  const id = newId(ctx);
  return (await commit(ctx, (draft) => draftLoadBalancer(ctx, draft, zoneId, id, input))).value;
}

/** The same inside a write. */
export function draftLoadBalancer(
  ctx: Context,
  draft: Draft,
  zoneId: string,
  id: Uint8Array,
  input: Members,
): BalancingItem {
  const { store } = ctx;
  const zone = requireZone(ctx, zoneId);
  requireRoomFor(ctx, zone.account, 'balancing');
  const { values, pools } = readBalancer(ctx, zone, settable(input), undefined);
  draft.noteBalancer(zone.seq, values.owner_key, true);
  insertLoadBalancer(store, { ...values, id, zone: zone.seq, account: zone.account }, pools, draft.now);
  return written(ctx, draft, zone, findLoadBalancerById(store, id)!, pools, undefined);
}

/** Replaces all members. */
export async function replaceLoadBalancer(
  ctx: Context,
  zoneId: string,
  id: string,
  input: Members,
): Promise<BalancingItem> {
  return change(ctx, zoneId, id, () => settable(input));
}

/** Replaces the members that are there; null brings back the default, but keeps pool sets (v4). */
export async function editLoadBalancer(
  ctx: Context,
  zoneId: string,
  id: string,
  input: Members,
): Promise<BalancingItem> {
  const { pool_sets: sets, ...others } = input;
  const edit = sets === null || sets === undefined ? others : input;
  return change(ctx, zoneId, id, (stored) => patched(stored, edit));
}

export async function deleteLoadBalancer(
  ctx: Context,
  zoneId: string,
  balancerId: string,
): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireBalancer(ctx, zone, balancerId);
    const before = balancerItem(zone, row).members;
    draft.noteBalancer(zone.seq, new Uint8Array(row.owner_key), true);
    removeLoadBalancer(ctx.store, row.seq);
    draft.event({ kind: 'load_balancer.delete', zone, id: row.id, name: row.name, before });
    return { id: toHex(row.id) };
  });
  return value;
}

/** The zone's load balancer with this identifier. Throws 404. */
export function requireBalancer({ store }: Context, zone: ZoneRow, balancerId: string): LoadBalancerRow {
  const id = parseId(balancerId);
  const row = id && findLoadBalancerById(store, id);
  if (row?.zone !== zone.seq) throw balancingFailure('balancerMissing');
  return row;
}

async function change(
  ctx: Context,
  zoneId: string,
  balancerId: string,
  read: (stored: Members) => Members,
): Promise<BalancingItem> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireBalancer(ctx, zone, balancerId);
    const { values, pools } = readBalancer(ctx, zone, read(membersOfRow(row)), row);
    const before = balancerItem(zone, row);
    draft.noteBalancer(zone.seq, new Uint8Array(row.owner_key), true);
    draft.noteBalancer(zone.seq, values.owner_key, true);
    updateLoadBalancer(ctx.store, row.seq, values, pools, momentAfter(draft.now, row));
    return written(ctx, draft, zone, findLoadBalancer(ctx.store, row.seq)!, pools, before);
  });
  return value;
}

/** The end of a write: its event, and the item with what its owner should know. */
function written(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  row: LoadBalancerRow,
  pools: readonly number[],
  before: BalancingItem | undefined,
): BalancingItem {
  for (const pool of pools) requireFewBalancers(ctx, pool, row.name);
  requireSmallBalancer(ctx, row);
  const item = balancerItem(findZone(ctx.store, zone.seq)!, row, noticesOf(membersOfRow(row)));
  const subject = { zone, id: row.id, name: row.name, after: item.members };
  if (before) draft.event({ kind: 'load_balancer.edit', ...subject, before: before.members });
  else draft.event({ kind: 'load_balancer.create', ...subject });
  return item;
}

interface ReadBalancer {
  readonly values: LoadBalancerValues;
  /** Store numbers of all pools that it refers to. */
  readonly pools: readonly number[];
}

function readBalancer(ctx: Context, zone: ZoneRow, input: Members, before: LoadBalancerRow | undefined): ReadBalancer {
  const { store } = ctx;
  const { name, ownerKey } = requirePlace(store, zone, memberOr(input, 'name', ''));
  const same = loadBalancerAt(store, zone.seq, ownerKey);
  if (same && same.seq !== before?.seq) throw invalid(`name ${name} has a load balancer already`, '/name');
  const members = withCodes({ ...input, name });
  checkBalancer(members);
  const pools = poolsReferredTo(members).map((id) => requirePoolOf(store, zone.account, id, '/default_pools'));
  const values = {
    owner_key: ownerKey,
    name,
    enabled: memberOr<boolean>(members, 'enabled', true) ? 1 : 0,
    proxied: memberOr<boolean>(members, 'proxied', false) ? 1 : 0,
    settings: JSON.stringify(withTransferView(store, members, pools)),
  };
  return { values, pools: pools.map(({ seq }) => seq) };
}

/** Codes of countries and places are written in any case. */
function withCodes(members: Members): Members {
  const upper = withUpperCodes(members);
  const rules = members.rules as readonly Members[] | undefined;
  if (!rules) return upper;
  return {
    ...upper,
    rules: rules.map((rule) =>
      rule.overrides ? { ...rule, overrides: withUpperCodes(membersOf(rule, 'overrides')) } : rule,
    ),
  };
}

function withUpperCodes(members: Members): Members {
  const maps = ['region_pools', 'country_pools', 'pop_pools'].flatMap((name) => {
    const map = members[name];
    if (map === undefined || map === null) return [];
    return [[name, Object.fromEntries(Object.entries(map).map(([code, pools]) => [code.toUpperCase(), pools]))]];
  });
  return { ...members, ...Object.fromEntries(maps) };
}

function noticesOf(members: Members): string[] {
  const affinity = memberOr(members, 'session_affinity', '');
  const isProxied = memberOr<boolean>(members, 'proxied', false);
  if (isProxied || affinity === '' || affinity === 'none') return [];
  return ['session_affinity has no effect, because the load balancer is not proxied.'];
}

const SHOWN = { description: '', enabled: true, proxied: false };

/** The TTL of a proxied name is not its owner's. */
function balancerItem({ name }: ZoneRow, row: LoadBalancerRow, notices: readonly string[] = []): BalancingItem {
  const { ttl, transfer_view: _, ...members } = membersOfRow(row);
  const shown = row.proxied === 1 ? {} : { ttl: ttl ?? DEFAULT_TTL };
  return itemOf(row, { ...SHOWN, ...members, ...shown, zone_name: name }, notices);
}
