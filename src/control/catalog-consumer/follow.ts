/** Makes the members of a catalog zone secondary zones of its account, a part at a time, each inside a commit. */
import { toHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { beginShared } from '../../base/slices.js';
import { findAccount } from '../../store/access/accounts.js';
import {
  type ConsumedCatalogRow,
  type ConsumedMemberRow,
  findConsumedCatalog,
  findConsumedMember,
  findConsumedMemberOfZone,
  noteConsumed,
  putConsumedMember,
  removeConsumedMember,
} from '../../store/secondary/consumed-catalogs.js';
import { findIncoming, insertIncoming, setPrimariesOfZone } from '../../store/secondary/incoming.js';
import { findRemovedZone, type RemovedZoneRow } from '../../store/secondary/removed-zones.js';
import { findZone, type ZoneRow, zonesOfName } from '../../store/zones/zones.js';
import type { Actor } from '../guard/actor.js';
import type { Draft } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { parseNewZoneName } from '../rules/names.js';
import { planConsumption } from '../schedule/consumption.js';
import { refreshSoon } from '../schedule/refresh.js';
import { addZone } from '../zones/write.js';
import { dropZone } from '../zones/zones.js';
import type { Step } from './compare.js';
import type { ListedMember } from './content.js';
import { bringBack, keepUnserved } from './removed.js';
import { type CatalogVersion, hasPrimaries } from './version.js';

/** Members that one commit changes at most. */
const MOST_AT_ONCE = 100;

/** How far a version is followed. */
export interface Progress {
  /** Steps that are done. */
  readonly done: number;
  /** Whether something else is stored than was read, so that the rest has to be compared anew. */
  readonly isStale: boolean;
}

/** Those who follow a catalog may do what their account may, and not what an administrator may. */
export function contextOf(base: ContextBase, { account, zone }: ConsumedCatalogRow): Context {
  const { store, random } = base;
  const actor: Actor = {
    userId: '',
    email: `catalog ${findZone(store, zone)?.name ?? ''}`,
    kind: 'operator',
    superAdministrator: false,
    accountIds: [toHex(findAccount(store, account)!.id)],
    readOnly: false,
  };
  return { ...base, actor, requestId: random.uuid(), source: 'service' };
}

/** Takes the next steps of a version; inside a commit of its own. A broken catalog changes nothing (RFC 9432 §5.1). */
export function followPart(
  ctx: Context,
  draft: Draft,
  catalog: ConsumedCatalogRow,
  version: CatalogVersion,
  from: Progress,
): Progress {
  const { store, clock, log } = ctx;
  const { zone, serial, fault, held, steps } = version;
  if (findZone(store, zone.seq)!.version !== zone.version || catalog.confirmed !== version.confirmed) {
    return { ...from, isStale: true };
  }
  if (fault !== undefined) {
    if (fault !== catalog.fault) log.warn({ catalog: zone.name, serial, reason: fault }, 'a catalog zone is broken');
    noteConsumed(store, catalog.seq, { ...catalog, fault });
    return from;
  }
  if (held > 0 && held !== catalog.held) log.warn({ catalog: zone.name, serial, zones: held }, HELD);
  noteConsumed(store, catalog.seq, { serial, fault: null, held, followed_at: draft.now });
  let { done, isStale } = from;
  const isOver = beginShared(clock);
  const last = Math.min(steps.length, done + MOST_AT_ONCE);
  while (done < last) {
    if (!take(ctx, draft, { catalog, ...version }, steps[done++]!)) isStale = true;
    if (isOver()) break;
  }
  return { done, isStale };
}

const HELD = 'a catalog would remove many zones, which waits until a person confirms it';

interface Place extends Pick<CatalogVersion, 'zone' | 'primaries'> {
  readonly catalog: ConsumedCatalogRow;
}

/** False when the member has to be looked at again. */
function take(ctx: Context, draft: Draft, place: Place, step: Step): boolean {
  const { store } = ctx;
  if (step.kind === 'primaries') return keepPrimaries(ctx, step.zone, place.primaries);
  const row = findConsumedMember(store, place.catalog.seq, step.kind === 'adopt' ? step.listed.name : step.known.name);
  if (step.kind === 'adopt') return (row?.zone ?? null) === null && adopt(ctx, draft, place, step.listed);
  if (row?.zone !== step.known.zone || row.member_id !== step.known.member_id) return false;
  if (step.kind === 'forget') removeConsumedMember(store, row);
  else if (step.kind === 'edit') edit(ctx, place.zone, row, step.listed);
  else if (step.kind === 'remove') remove(ctx, draft, place.catalog, row);
  else return reset(ctx, draft, row, step.listed);
  return true;
}

/** Notes group and move. The other catalog may be waiting for the move. */
function edit({ store, clock }: Context, { account }: ZoneRow, row: ConsumedMemberRow, listed: ListedMember): void {
  const { group: grp, movesTo } = listed;
  putConsumedMember(store, { ...row, grp, moves_to: movesTo });
  const target = movesTo === null ? undefined : zonesOfName(store, movesTo).find((other) => other.account === account);
  if (target) planConsumption({ store, clock }, target.seq);
}

/** A zone that became a primary one here is not the catalog's any more. */
function remove(ctx: Context, draft: Draft, catalog: ConsumedCatalogRow, row: ConsumedMemberRow): void {
  const zone = findZone(ctx.store, row.zone!);
  if (zone?.type === 'secondary') keepUnserved(ctx, draft, zone, { catalog, memberId: row.member_id });
  removeConsumedMember(ctx.store, row);
}

/**
 * The same name under another identifier: what is known of the zone is dropped (RFC 9432 §5.4), and it is made anew afterwards.
 */
function reset(ctx: Context, draft: Draft, row: ConsumedMemberRow, listed: ListedMember): false {
  const zone = findZone(ctx.store, row.zone!);
  if (zone?.type === 'secondary') dropZone(ctx, draft, zone);
  putConsumedMember(ctx.store, { ...rowOf(row.catalog, listed), zone: null });
  return false;
}

/** Makes a zone of the member, takes it over from another catalog, brings it back, or notes why not. False: look again. */
function adopt(ctx: Context, draft: Draft, place: Place, member: ListedMember): boolean {
  const { store } = ctx;
  const { catalog, zone: catalogZone } = place;
  const same = zonesOfName(store, member.name);
  const left = leftZone(ctx, catalog, same);
  if (left) return adoptLeft(ctx, draft, place, member, left);
  const [existing] = same;
  const of = existing && findConsumedMemberOfZone(store, existing.seq);
  const other = of && findConsumedCatalog(store, of.catalog);
  const otherName = other?.account === catalog.account ? findZone(store, other.zone)!.name : undefined;
  // It went over to the catalog that this one names.
  if (otherName !== undefined && otherName === member.movesTo) return true;
  const row = rowOf(catalog.seq, member);
  if (existing && of && otherName !== undefined && of.moves_to === catalogZone.name) {
    removeConsumedMember(store, of);
    const isSame = of.member_id === member.memberId;
    if (!isSame && existing.type === 'secondary') dropZone(ctx, draft, existing);
    putConsumedMember(store, { ...row, zone: isSame ? existing.seq : null });
    if (isSame) keepPrimaries(ctx, existing.seq, place.primaries);
    // Otherwise it is made anew.
    return isSame;
  }
  const made = existing ? clash(otherName) : create(ctx, draft, place, member.name);
  putConsumedMember(store, typeof made === 'string' ? { ...row, problem: made } : { ...row, zone: made });
  return true;
}

interface LeftZone {
  readonly zone: ZoneRow;
  readonly removed: RemovedZoneRow;
}

/** The zone of the account that left a catalog, among those of one name. */
function leftZone(
  { store }: Context,
  { account }: ConsumedCatalogRow,
  zones: readonly ZoneRow[],
): LeftZone | undefined {
  const zone = zones.find((one) => one.account === account);
  const removed = zone && findRemovedZone(store, zone.seq);
  return zone && removed && { zone, removed };
}

/**
 * The catalog lists a zone again: under its identifier it is what it was, under another one, or in another catalog, it begins
 * anew.
 */
function adoptLeft(
  ctx: Context,
  draft: Draft,
  place: Place,
  member: ListedMember,
  { zone, removed }: LeftZone,
): boolean {
  const { catalog, primaries } = place;
  const isSame = removed.catalog === catalog.seq && removed.member_id === member.memberId;
  if (!isSame) {
    dropZone(ctx, draft, zone);
    return false;
  }
  bringBack(ctx, draft, zone, removed);
  keepPrimaries(ctx, zone.seq, primaries);
  putConsumedMember(ctx.store, { ...rowOf(catalog.seq, member), zone: zone.seq });
  return true;
}

/** Zones of other accounts are not told from own ones. */
function clash(otherCatalog: string | undefined): string {
  return otherCatalog === undefined
    ? 'there is a zone of this name already, which is not from a catalog'
    : `it is a zone of the catalog ${otherCatalog}, which does not say that it goes over`;
}

/** Returns the store number of the zone, or why there is none. */
function create(
  ctx: Context,
  draft: Draft,
  { zone: catalogZone, primaries, catalog }: Place,
  name: string,
): number | string {
  const parsed = parseNewZoneName(name);
  if ('reason' in parsed) return parsed.reason;
  const { store } = ctx;
  try {
    const zone = addZone(ctx, draft, {
      ...parsed,
      account: catalog.account,
      type: 'secondary',
      nameServerMode: 'records',
    });
    const { refresh } = findIncoming(store, catalogZone.seq)!;
    insertIncoming(store, zone.seq, zone.name, refresh, draft.now);
    setPrimariesOfZone(store, zone.seq, primaries);
    refreshSoon(ctx, zone.seq);
    draft.event({ kind: 'zone.create', zone, after: { name, type: 'secondary' } });
    return zone.seq;
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return error.message;
    throw error;
  }
}

function rowOf(catalog: number, { name, memberId, group, movesTo }: ListedMember): ConsumedMemberRow {
  return { catalog, name, member_id: memberId, zone: null, grp: group, moves_to: movesTo, problem: null };
}

/** Members come from where their catalog comes from. `zone`: store number. */
function keepPrimaries(ctx: Context, zone: number, primaries: readonly number[]): true {
  const { store } = ctx;
  if (!findIncoming(store, zone) || hasPrimaries(store, zone, primaries)) return true;
  setPrimariesOfZone(store, zone, primaries);
  refreshSoon(ctx, zone);
  return true;
}
