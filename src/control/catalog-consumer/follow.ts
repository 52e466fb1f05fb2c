/** Makes the members of a catalog zone secondary zones of its account, a part at a time, each inside a commit. */
import { toHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { findAccount } from '../../store/access/accounts.js';
import type { Store } from '../../store/driver.js';
import { recordsOfZone } from '../../store/records/records.js';
import {
  type ConsumedCatalogRow,
  type ConsumedMemberRow,
  consumedMembers,
  findConsumedCatalog,
  findConsumedMemberOfZone,
  noteConsumed,
  putConsumedMember,
  removeConsumedMember,
} from '../../store/secondary/consumed-catalogs.js';
import { findIncoming, insertIncoming, primariesOfZone, setPrimariesOfZone } from '../../store/secondary/incoming.js';
import { findZone, type ZoneRow, zonesOfName } from '../../store/zones/zones.js';
import { parseNewZoneName } from '../rules/names.js';
import { refreshSoon } from '../secondary/refresh-soon.js';
import type { Draft } from '../write/commit.js';
import type { Actor, Context, ContextBase } from '../write/context.js';
import { addZone } from '../zones/write.js';
import { dropZone } from '../zones/zones.js';
import { compareMembers, removalsToConfirm } from './compare.js';
import { type ListedMember, readCatalog } from './content.js';
import { planConsumption } from './plan.js';

/** Zones that one commit adds or removes. */
const MOST_AT_ONCE = 100;

export interface Followed {
  /** Whether there is more to do. */
  readonly isPartial: boolean;
  /** Whether members are no zones here for a reason that may go by. */
  readonly hasProblems: boolean;
}

const NOTHING: Followed = { isPartial: false, hasProblems: false };

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

/** Follows the version that is stored. A broken catalog changes nothing (RFC 9432 §5.1). */
export function followCatalog(ctx: Context, draft: Draft, catalog: ConsumedCatalogRow): Followed {
  const { store, log } = ctx;
  const zone = findZone(store, catalog.zone)!;
  const serial = findIncoming(store, zone.seq)?.serial ?? null;
  if (serial === null) return NOTHING;
  const content = readCatalog(zone.apex, recordsOfZone(store, zone.seq));
  if ('fault' in content) {
    if (content.fault !== catalog.fault)
      log.warn({ catalog: zone.name, serial, reason: content.fault }, 'a catalog zone is broken');
    noteConsumed(store, catalog.seq, { ...catalog, fault: content.fault });
    return NOTHING;
  }
  const known = consumedMembers(store, catalog.seq);
  const change = compareMembers(known, content.members);
  const held = catalog.confirmed === serial ? 0 : removalsToConfirm(change, known);
  if (held > 0 && held !== catalog.held) log.warn({ catalog: zone.name, serial, zones: held }, HELD);
  let left = MOST_AT_ONCE;
  for (const row of change.forgotten) removeConsumedMember(store, row);
  for (const { known: row, listed } of change.edited) edit(ctx, zone, row, listed);
  if (held === 0) {
    for (const row of change.gone) if (left-- > 0) drop(ctx, draft, row, undefined);
    for (const { known: row, listed } of change.reset) if (left-- > 0) drop(ctx, draft, row, listed);
  }
  const primaries = primariesOfZone(store, zone.seq).map(({ seq }) => seq);
  for (const member of change.missing) if (left > 0) left -= adopt(ctx, draft, { catalog, zone, primaries }, member);
  noteConsumed(store, catalog.seq, { serial, fault: null, held, followed_at: draft.now });
  const isPartial = left <= 0 || (held === 0 && change.reset.length > 0);
  if (isPartial) return { isPartial, hasProblems: true };
  for (const { zone: seq } of known) if (seq !== null) keepPrimaries(ctx, seq, primaries);
  return { isPartial, hasProblems: consumedMembers(store, catalog.seq).some(({ problem }) => problem !== null) };
}

const HELD = 'a catalog would remove many zones, which waits until a person confirms it';

/** Notes group and move. The other catalog may be waiting for the move. */
function edit({ store, clock }: Context, { account }: ZoneRow, row: ConsumedMemberRow, listed: ListedMember): void {
  const { group: grp, movesTo } = listed;
  putConsumedMember(store, { ...row, grp, moves_to: movesTo });
  const target = movesTo === null ? undefined : zonesOfName(store, movesTo).find((other) => other.account === account);
  if (target) planConsumption({ store, clock }, target.seq);
}

/** `listed`: the same zone under another identifier, which is made anew afterwards. */
function drop(ctx: Context, draft: Draft, row: ConsumedMemberRow, listed: ListedMember | undefined): void {
  const { store } = ctx;
  const zone = row.zone === null ? undefined : findZone(store, row.zone);
  // A zone that became a primary one here is not the catalog's any more.
  if (zone?.type === 'secondary') dropZone(ctx, draft, zone);
  if (!listed) removeConsumedMember(store, row);
  else putConsumedMember(store, { ...rowOf(row.catalog, listed), zone: null });
}

interface Place {
  readonly catalog: ConsumedCatalogRow;
  readonly zone: ZoneRow;
  /** Store numbers. */
  readonly primaries: readonly number[];
}

/** Makes a zone of the member, takes it over from another catalog, or notes why not. Returns the zones that it made or removed. */
function adopt(ctx: Context, draft: Draft, place: Place, member: ListedMember): number {
  const { store } = ctx;
  const { catalog, zone: catalogZone } = place;
  const [existing] = zonesOfName(store, member.name);
  const of = existing && findConsumedMemberOfZone(store, existing.seq);
  const other = of && findConsumedCatalog(store, of.catalog);
  const otherName = other?.account === catalog.account ? findZone(store, other.zone)!.name : undefined;
  // It went over to the catalog that this one names.
  if (otherName !== undefined && otherName === member.movesTo) return 0;
  const row = rowOf(catalog.seq, member);
  if (existing && of && otherName !== undefined && of.moves_to === catalogZone.name) {
    removeConsumedMember(store, of);
    const isSame = of.member_id === member.memberId;
    if (!isSame && existing.type === 'secondary') dropZone(ctx, draft, existing);
    putConsumedMember(store, { ...row, zone: isSame ? existing.seq : null });
    if (isSame) keepPrimaries(ctx, existing.seq, place.primaries);
    // The next part makes it anew.
    return isSame ? 1 : MOST_AT_ONCE;
  }
  const made = existing ? clash(otherName) : create(ctx, draft, place, member.name);
  putConsumedMember(store, typeof made === 'string' ? { ...row, problem: made } : { ...row, zone: made });
  return typeof made === 'string' ? 0 : 1;
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
    draft.audit({ action: 'zone.create', zone: zone.id, object: zone.id, after: { name, type: 'secondary' } });
    return zone.seq;
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return error.message;
    throw error;
  }
}

function rowOf(catalog: number, { name, memberId, group, movesTo }: ListedMember): ConsumedMemberRow {
  return { catalog, name, member_id: memberId, zone: null, grp: group, moves_to: movesTo, problem: null };
}

/** Members come from where their catalog comes from. */
function keepPrimaries(ctx: Context, zone: number, primaries: readonly number[]): void {
  const { store } = ctx;
  if (!findIncoming(store, zone) || isSame(store, zone, primaries)) return;
  setPrimariesOfZone(store, zone, primaries);
  refreshSoon(ctx, zone);
}

function isSame(store: Store, zone: number, primaries: readonly number[]): boolean {
  const own = primariesOfZone(store, zone).map(({ seq }) => seq);
  return own.length === primaries.length && own.every((seq, i) => seq === primaries[i]);
}
