/**
 * Writes zones inside a commit: adds one after checking the rules about names of other accounts, and changes settings.
 */
import { toHex } from '../../base/bytes.js';
import { type FailureOptions, invariant } from '../../base/errors.js';
import { makeId } from '../../base/random.js';
import { findAccount } from '../../store/access/accounts.js';
import { settingsOfNewZones } from '../../store/access/dns-settings.js';
import type { Store } from '../../store/driver.js';
import { findRemovedZone } from '../../store/secondary/removed-zones.js';
import {
  findZone,
  insertZone,
  updateZone,
  type ZoneChange,
  type ZoneRow,
  type ZoneType,
  zonesOfName,
} from '../../store/zones/zones.js';
import { mayAddZones, requireZone } from '../access/access.js';
import { accountFailure } from '../access/errors.js';
import { isHeldFrom, type WantedName } from '../rules/hold.js';
import { isPublicSuffix } from '../rules/public-suffix.js';
import { commitAndRead, type Draft } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { zoneFailure } from './errors.js';

export interface NewZone {
  /** Lower-case ASCII, without the final dot. */
  readonly name: string;
  readonly apex: Uint8Array;
  /** Store number. */
  readonly account: number;
  readonly type: ZoneType;
  readonly serial?: number;
  readonly nameServerMode?: 'service' | 'records';
}

/** Adds a zone after checking the rules about names of other accounts; inside a commit. */
export function addZone(ctx: Context, draft: Draft, zone: NewZone): ZoneRow {
  const { name, apex, account, type } = zone;
  if (!mayAddZones(ctx.actor, toHex(findAccount(ctx.store, account)!.id))) {
    throw ctx.actor.policies ? accountFailure('outOfScope') : zoneFailure('foreign');
  }
  const sameName = zonesOfName(ctx.store, name);
  const exists = sameName.some((other) => other.account === account);
  const trusted = ctx.settings.activation === 'trust';
  const left = sameName.find((other) => other.account === account && findRemovedZone(ctx.store, other.seq));
  if (left) throw zoneFailure('left', { name }, { pointer: '/name' });
  // Without proof of delegation, the first account that adds a name keeps it (ours).
  if (exists || (trusted && sameName.length > 0)) throw zoneFailure('exists', { name }, { pointer: '/name' });
  refuseHeld(ctx, draft.now, zone, { pointer: '/name' });
  const { superAdministrator } = ctx.actor;
  if (!superAdministrator && isPublicSuffix(name, ctx.settings.privateSuffixes === 'refuse')) {
    throw zoneFailure('publicSuffix', { name }, { pointer: '/name' });
  }
  const contested = !superAdministrator && isBelowForeign(ctx.store, zone);
  const active = trusted && !contested;
  const served = isServedType(type) && !contested && sameName.every((other) => other.served === 0) ? 1 : 0;
  const seq = insertZone(ctx.store, {
    id: makeId(ctx.clock.nowUs(), ctx.random),
    account,
    name,
    apex,
    status: active ? 'active' : 'pending',
    served,
    type,
    serial: zone.serial ?? Math.floor(ctx.clock.nowMs() / 1000) >>> 0,
    name_server_mode: zone.nameServerMode ?? 'service',
    verification_key: type === 'partial' ? verificationKey(ctx) : null,
    proven: superAdministrator ? 1 : 0,
    created_at: draft.now,
    modified_at: draft.now,
    activated_at: active ? draft.now : null,
  });
  // There is nothing to serve before the first transfer.
  const expired = type === 'secondary' ? 1 : 0;
  updateZone(ctx.store, seq, { ...settingsOfNewZones(ctx.store, account), expired });
  draft.noteZone(seq, 'zone-added');
  const row = draft.zone(seq);
  invariant(row, 'a zone just added is there');
  return row;
}

/** Throws when a hold at or above the name denies it to the account (v4: §4). `now`: microseconds since 1970. */
export function refuseHeld(ctx: Context, now: number, wanted: WantedName, options: FailureOptions = {}): void {
  const held = zonesAtOrAbove(ctx.store, wanted.name).some((zone) => isHeldFrom(zone, wanted, now));
  if (held) throw zoneFailure('held', { name: wanted.name }, options);
}

/**
 * Whether another account's zone above the name is served. A zone at the name would take over some of its answers, so
 * it is served only when the name is proven to belong to its account.
 */
export function isBelowForeign(store: Store, { name, account }: WantedName): boolean {
  const above = servedZoneAbove(store, name);
  return above !== undefined && above.account !== account;
}

/** The served zone that answers for a name without a zone of its own: the one with the longest name above it. */
export function servedZoneAbove(store: Store, name: string): ZoneRow | undefined {
  return zonesAtOrAbove(store, name).find((zone) => zone.name !== name && zone.served === 1);
}

/** The zones of all accounts at and above a name. */
export function zonesAtOrAbove(store: Store, name: string): ZoneRow[] {
  const zones: ZoneRow[] = [];
  for (let ancestor = name; ancestor !== ''; ancestor = parentOf(ancestor)) {
    zones.push(...zonesOfName(store, ancestor));
  }
  return zones;
}

function parentOf(name: string): string {
  const dot = name.indexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}

/** The value that the owner of a partial zone publishes in DNS as proof (v4: §3.2). */
function verificationKey(ctx: Context): string {
  const digits = (): string => String(100_000_000 + (Buffer.from(ctx.random.bytes(4)).readUInt32BE() % 900_000_000));
  return `${digits()}-${digits()}`;
}

/** Changes settings of a zone and returns its new row; writes nothing when nothing changes. */
export async function changeZone(
  ctx: Context,
  zoneId: string,
  action: string,
  changeOf: (zone: ZoneRow, draft: Draft) => ZoneChange,
): Promise<ZoneRow> {
  const change = (draft: Draft): number => applyChange(ctx, draft, requireZone(ctx, zoneId), action, changeOf);
  const read = (seq: number): ZoneRow => findZone(ctx.store, seq)!;
  return (await commitAndRead(ctx, change, read)).value;
}

/** The same inside a commit. Returns the zone's store number. */
export function applyChange(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  action: string,
  changeOf: (zone: ZoneRow, draft: Draft) => ZoneChange,
): number {
  const change = changeOf(zone, draft);
  const columns = Object.keys(change) as (keyof ZoneChange)[];
  if (columns.every((column) => zone[column] === change[column])) return zone.seq;
  const served = servedAfter(ctx, { ...zone, ...change });
  draft.setZone(zone.seq, { ...change, served });
  draft.noteZone(zone.seq, served === zone.served ? 'settings' : 'zone-replaced');
  const before = Object.fromEntries(columns.map((column) => [column, zone[column]]));
  draft.audit({ action, zone: zone.id, object: zone.id, before, after: change });
  return zone.seq;
}

/** Serves a zone as it must be after a change of what decides that; inside a commit. */
export function serveAsRuled(ctx: Context, draft: Draft, zone: ZoneRow): void {
  const served = servedAfter(ctx, zone);
  if (served === zone.served) return;
  draft.setZone(zone.seq, { served });
  draft.noteZone(zone.seq, 'zone-replaced');
}

/** Whether this service answers for zones of this type. */
function isServedType(type: ZoneType): boolean {
  return type === 'full' || type === 'secondary';
}

/**
 * A full or secondary zone is served unless it is moved, not proven yet, has left the catalog that it came from, or
 * another account's zone with its name is served.
 */
function servedAfter(ctx: Context, zone: ZoneRow): number {
  if (!isServedType(zone.type) || zone.status === 'moved' || findRemovedZone(ctx.store, zone.seq)) return 0;
  if (zone.status !== 'active' && zone.served === 0 && isBelowForeign(ctx.store, zone)) return 0;
  const others = zonesOfName(ctx.store, zone.name);
  return others.some((other) => other.seq !== zone.seq && other.served === 1) ? 0 : 1;
}
