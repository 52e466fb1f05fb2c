/**
 * Writes zones inside a commit: adds one after checking the rules about names of other accounts, and changes settings.
 */

import { toHex } from '../../base/bytes.js';
import { type FailureOptions, invariant } from '../../base/errors.js';
import { makeId } from '../../base/random.js';
import { isProven, mayAnswer, zonesOfOthersAt } from '../../serving/name-owner.js';
import { chooseNameServers, provingNameServers } from '../../serving/name-servers.js';
import { isAnswered } from '../../serving/zone-state.js';
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
import { mayAddZones, requireWriter, requireZone } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { commitAndRead, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import type { EventKind } from '../kernel/event.js';
import { signSettings } from '../kernel/replacement.js';
import { isHeldFrom, type WantedName } from '../rules/hold.js';
import { isPublicSuffix } from '../rules/public-suffix.js';
import { requireRoomFor } from '../rules/quotas.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { firstProof, isSingleAccount, moveOthersAway, settleClaims, settleZone, withholdOthers } from './claims.js';
import { lookForProofSoon } from './proof-schedule.js';

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

/** The claim of a zone that is not stored yet: it comes after all others. */
const UNSTORED = {
  seq: Number.MAX_SAFE_INTEGER,
  status: 'pending',
  proven_by: null,
  proof_lost_at: null,
  vanity_name_servers: null,
} as const;

/** Adds a zone after checking the rules about names of other accounts; inside a commit. */
export function addZone(ctx: Context, draft: Draft, zone: NewZone): ZoneRow {
  const { name, apex, account, type } = zone;
  if (!mayAddZones(ctx.actor, toHex(findAccount(ctx.store, account)!.id))) {
    throw ctx.actor.policies ? accountFailure('outOfScope') : zoneFailure('foreign');
  }
  const own = zonesOfName(ctx.store, name).filter((other) => other.account === account);
  const left = own.find((other) => findRemovedZone(ctx.store, other.seq));
  if (left) throw zoneFailure('left', { name }, { pointer: '/name' });
  if (own.length > 0) throw zoneFailure('exists', { name }, { pointer: '/name' });
  refuseHeld(ctx, draft.now, zone, { pointer: '/name' });
  requireRoomFor(ctx, account, 'zones');
  refuseReserved(ctx, name);
  const claim = { ...UNSTORED, ...zone, name_servers: nameServersOf(ctx, zone) };
  const proof = firstProof(ctx, claim, draft.now);
  // With activation 'delegation', a zone is active when it is delegated, whoever made it.
  const active = proof !== null && ctx.settings.activation !== 'delegation';
  const seq = insertZone(ctx.store, {
    id: makeId(ctx.clock.nowUs(), ctx.random),
    account,
    name,
    apex,
    status: active ? 'active' : 'pending',
    served: 0,
    type,
    serial: zone.serial ?? Math.floor(ctx.clock.nowMs() / 1000) >>> 0,
    name_server_mode: zone.nameServerMode ?? 'service',
    verification_key: type === 'partial' ? verificationKey(ctx) : null,
    proven_by: proof,
    proven_at: proof === null ? null : draft.now,
    name_servers: claim.name_servers,
    created_at: draft.now,
    modified_at: draft.now,
    activated_at: active ? draft.now : null,
  });
  // There is nothing to serve before the first transfer.
  const expired = type === 'secondary' ? 1 : 0;
  const served = mayAnswer(ctx.store, { ...claim, seq, proven_by: proof }, ctx.settings.nameServers) ? 1 : 0;
  if (served === 1) withholdOthers(ctx, draft, { seq, name });
  updateZone(ctx.store, seq, { ...settingsOfNewZones(ctx.store, account), expired, served });
  draft.noteZone(seq, 'zone-added');
  const row = draft.zone(seq);
  invariant(row, 'a zone just added is there');
  if (proof !== null) moveOthersAway(ctx, draft, row);
  settleClaims(ctx, draft, row);
  if (!isProven(row) || row.status !== 'active') lookForProofSoon(ctx, row);
  return row;
}

/** The JSON list of the name servers that a new zone is given; null: all of the installation. */
function nameServersOf({ store, settings: { nameServers: pool } }: Context, { name, account }: NewZone): string | null {
  const taken = zonesOfOthersAt(store, { name, account }).map((other) => provingNameServers(other, pool));
  const chosen = chooseNameServers(findAccount(store, account)!.id, pool, taken);
  return chosen === undefined ? null : JSON.stringify(chosen);
}

/** Names that everybody relies on, and suffixes under which others register names, are for administrators. */
function refuseReserved({ actor, settings, store }: Context, name: string): void {
  if (actor.superAdministrator) return;
  if (isPublicSuffix(name, settings.privateSuffixes === 'refuse')) {
    throw zoneFailure('publicSuffix', { name }, { pointer: '/name' });
  }
  const isAbove = (host: string): boolean => host === name || host.endsWith(`.${name}`);
  const reserved = [...settings.nameServers, ...(settings.hostNames ?? [])];
  if (!isSingleAccount(store) && reserved.some(isAbove)) throw zoneFailure('reserved', { name }, { pointer: '/name' });
}

/** Throws when a hold at or above the name denies it to the account (v4: §4). `now`: microseconds since 1970. */
export function refuseHeld(ctx: Context, now: number, wanted: WantedName, options: FailureOptions = {}): void {
  const held = zonesAtOrAbove(ctx.store, wanted.name).some((zone) => isHeldFrom(zone, wanted, now));
  if (held) throw zoneFailure('held', { name: wanted.name }, options);
}

/** The served zone that answers for a name without a zone of its own: the one with the longest name above it. */
export function servedZoneAbove(store: Store, name: string): ZoneRow | undefined {
  return zonesAtOrAbove(store, name).find((zone) => zone.name !== name && isAnswered(zone));
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
  kind: EventKind,
  changeOf: (zone: ZoneRow, draft: Draft) => ZoneChange,
): Promise<ZoneRow> {
  const change = (draft: Draft): number => applyChange(ctx, draft, requireZone(ctx, zoneId), kind, changeOf);
  const read = (seq: number): ZoneRow => findZone(ctx.store, seq)!;
  return (await commitAndRead(ctx, change, read)).value;
}

/** The same for settings that decide what is answered: the signatures that a signed zone will need are made before. */
export async function changeAnswers(
  ctx: Context,
  zoneId: string,
  kind: EventKind,
  changeOf: (zone: ZoneRow) => ZoneChange,
): Promise<ZoneRow> {
  requireWriter(ctx.actor);
  const zone = requireZone(ctx, zoneId);
  const signatures = await signSettings(ctx, zone, changeOf(zone));
  return changeZone({ ...ctx, signatures }, zoneId, kind, changeOf);
}

/** The same inside a commit. `name`: what the event calls it. Returns the zone's store number. */
export function applyChange(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  kind: EventKind,
  changeOf: (zone: ZoneRow, draft: Draft) => ZoneChange,
  name = zone.name,
): number {
  const change = changeOf(zone, draft);
  const columns = Object.keys(change) as (keyof ZoneChange)[];
  if (columns.every((column) => zone[column] === change[column])) return zone.seq;
  draft.setZone(zone.seq, change);
  draft.noteZone(zone.seq, 'settings');
  settleZone(ctx, draft, zone.seq);
  if (change.type !== undefined) settleClaims(ctx, draft, zone);
  const before = Object.fromEntries(columns.map((column) => [column, zone[column]]));
  draft.event({ kind, zone, name, id: zone.id, before, after: change });
  return zone.seq;
}
