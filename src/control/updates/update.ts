/** Use case: a dynamic update (RFC 2136): prerequisites, checks, permissions and changes in one commit, all or nothing. */

import { toHex } from '../../base/bytes.js';
import { finished, inSlices } from '../../base/slices.js';
import { Class, Type } from '../../dns/codes.js';
import type { ReadRecord } from '../../dns/message.js';
import { isAtOrBelow, isWildcard, lowerName, nameEquals, ownerKeyOf } from '../../dns/name.js';
import { serialIsAfter } from '../../dns/serial.js';
import { servingZone } from '../../serving/zone.js';
import { isAnswered } from '../../serving/zone-state.js';
import { tallyOfOwner } from '../../store/records/records.js';
import { noteApplied, type SignedUpdate, wasApplied } from '../../store/secondary/applied-updates.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { permitted, requireZone, targetOfZone } from '../guard/access.js';
import type { Draft } from '../kernel/commit.js';
import { FEW_EDITS } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { commitEdits } from '../kernel/planned-edits.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { applyDifference, type Counts } from './apply.js';
import { requireKnownType, requireMayAdd, requireMayRemove, requireNotOfSigner, requireUsable } from './checks.js';
import { updateFailure } from './errors.js';
import { addTo, createUpdatedOwners, removeOne, removeSet, type UpdatedOwner, type UpdatedOwners } from './owners.js';
import { requireInZone, requirePrerequisites } from './prerequisites.js';

export interface UpdateRequest {
  readonly prerequisites: readonly ReadRecord[];
  readonly updates: readonly ReadRecord[];
  readonly signed: SignedUpdate;
}

export interface UpdateResult extends Counts {
  /** Whether this message was applied before. */
  readonly repeated: boolean;
  /** Of the zone, afterwards; undefined when nothing changed for resolvers. */
  readonly serial: number | undefined;
}

/**
 * Applies an update to the zone with this identifier. Throws the refusals of errors.ts, and those of the rules that hold
 * for every write. An update that changes nothing leaves the serial as it is.
 */
export async function applyUpdate(ctx: Context, zoneId: string, request: UpdateRequest): Promise<UpdateResult> {
  const asked = requireUpdatable(ctx, zoneId);
  const own: Context = { ...ctx, actor: permitted(ctx.actor, 'dns', 'write', targetOfZone(ctx.store, asked)) };
  const { value, zones } = await commitEdits(own, {
    size: await sizeOf(own, asked, request),
    zone: () => requireUpdatable(own, zoneId),
    work: (edits, zone) => perform(own, edits, zone, request),
    end(draft, zone, { serial }) {
      if (serial !== zone.serial) setSerial(draft, zone, serial);
    },
    read({ counts, repeated }, { store, clock }) {
      if (counts !== NOTHING) noteApplied(store, request.signed, Math.floor(clock.nowUs() / 1e6));
      return { ...counts, repeated };
    },
  });
  const change = zones.find(({ kind }) => kind !== undefined);
  return { ...value, serial: change?.serial };
}

/** Records that are read in the time in which one is edited. */
const READ_IN_AN_EDIT = 8;
/** Instructions and prerequisites at whose names is looked at once: many small updates would wait for each other's slices. */
const FEW_NAMES = 8;

/** How much work it is, as a number of edits: instructions and prerequisites, or what stands at their names. */
async function sizeOf(
  { store, clock }: Context,
  { seq, apex }: ZoneRow,
  { updates, prerequisites }: UpdateRequest,
): Promise<number> {
  const all = [...updates, ...prerequisites];
  if (all.length > FEW_EDITS) return all.length;
  const count = function* (): Generator<undefined, number> {
    let records = 0;
    const owners = new Map(all.map(({ owner }) => [toHex(lowerName(owner)), owner]));
    for (const owner of owners.values()) {
      // What is outside of the zone is refused later.
      if (!isAtOrBelow(owner, apex)) continue;
      for (const [, tally] of tallyOfOwner(store, seq, ownerKeyOf(owner, apex))) records += tally.records;
      yield;
    }
    return records;
  };
  const records = all.length <= FEW_NAMES ? finished(count()) : await inSlices(clock, count());
  return Math.max(all.length, records / READ_IN_AN_EDIT);
}

interface Performed {
  readonly counts: Counts;
  /** The serial that the update asks for. */
  readonly serial: number;
  readonly repeated: boolean;
}

function* perform(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  { updates, prerequisites, signed }: UpdateRequest,
): Generator<undefined, Performed> {
  if (wasApplied(ctx.store, signed)) return { counts: NOTHING, serial: zone.serial, repeated: true };
  yield* requirePrerequisites(ctx.store, servingZone(ctx.store, zone, ctx.settings), prerequisites);
  for (const record of updates) scan(record, zone);
  return { ...(yield* instruct(ctx, edits, zone, updates)), repeated: false };
}

const NOTHING: Counts = { added: 0, removed: 0, changed: 0 };

/** Secondary zones are changed at their primaries, and updates are not forwarded. */
function requireUpdatable(ctx: Context, zoneId: string): ZoneRow {
  const zone = requireZone(ctx, zoneId);
  if (!isAnswered(zone)) throw updateFailure('notAuthoritative', { reason: `${zone.name} is not served` });
  if (zone.type === 'secondary') {
    throw updateFailure('notAuthoritative', { reason: `${zone.name} is a secondary zone` });
  }
  return zone;
}

/** RFC 2136 §3.4.1.3, and what no key may change. */
function scan(record: ReadRecord, zone: ZoneRow): void {
  requireWellFormed(record, zone);
  requireNotOfSigner(record);
}

function requireWellFormed(record: ReadRecord, { apex }: ZoneRow): void {
  requireInZone(record, apex);
  requireKnownType(record);
  if (record.class === Class.in) return;
  const isWhole = record.class === Class.any;
  if (!isWhole && record.class !== Class.none) {
    throw updateFailure('malformed', { reason: `an instruction has the class ${record.class}` });
  }
  if (record.ttl !== 0) throw updateFailure('malformed', { reason: 'a deletion has a TTL' });
  if (isWhole && record.rdata.length > 0) throw updateFailure('malformed', { reason: 'a deletion of all has data' });
}

/** The numbers are {@link NOTHING} itself when nothing is left to do. */
function* instruct(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  updates: readonly ReadRecord[],
): Generator<undefined, Pick<Performed, 'counts' | 'serial'>> {
  const owners = createUpdatedOwners(ctx.store, zone);
  let { serial } = zone;
  for (const record of updates) {
    if (record.class === Class.in && record.type === Type.soa) serial = takeSerial(ctx, zone, record, serial);
    else if (record.class === Class.in) add(ctx, zone, owners, record);
    else remove(ctx, zone, owners, record);
    yield;
  }
  const counts = yield* applyDifference(ctx, edits, zone, owners);
  if (serial !== zone.serial) return { counts: { ...counts, changed: counts.changed + 1 }, serial };
  return { counts: counts.added + counts.removed + counts.changed === 0 ? NOTHING : counts, serial };
}

function add(ctx: Context, zone: ZoneRow, owners: UpdatedOwners, record: ReadRecord): void {
  const at = owners.at(record.owner);
  requireUsable(record);
  requireMayAdd(ctx, zone, at, record.type);
  // Nobody can validate what they delegate (RFC 4592 §4.2). BIND ignores them, too.
  if (record.type === Type.ns && isWildcard(record.owner)) return;
  addTo(at, record);
}

function remove(ctx: Context, zone: ZoneRow, owners: UpdatedOwners, record: ReadRecord): void {
  const at = owners.at(record.owner);
  const { type } = record;
  const types = type === Type.any ? at.storedTypes : new Set([type]);
  requireMayRemove(ctx, zone, at, types);
  // Of the apex, SOA and name servers stay (RFC 2136 §3.4.2.3, §3.4.2.4).
  const staysWhole = (one: number): boolean => one === Type.soa || (at.isApex && one === Type.ns);
  if (record.class === Class.none) {
    if (type !== Type.soa && !isLastNameServer(zone, at, record)) removeOne(at, record);
  } else if (type === Type.any) {
    for (const one of [...at.sets.keys()]) if (!staysWhole(one)) removeSet(at, one);
  } else if (!staysWhole(type)) removeSet(at, type);
}

/** The name servers of the service are served beside the stored ones. */
function isLastNameServer({ name_server_mode: mode }: ZoneRow, at: UpdatedOwner, { type }: ReadRecord): boolean {
  const left = at.sets.get(Type.ns)?.entries.size ?? 0;
  return type === Type.ns && at.isApex && mode === 'records' && left <= 1;
}

/** Of an SOA, the serial is taken if it is greater (RFC 2136 §3.4.2.2); the rest are settings of the zone. */
function takeSerial(ctx: Context, zone: ZoneRow, record: ReadRecord, current: number): number {
  requireUsable(record);
  // Only the apex has one; elsewhere it is ignored.
  if (!nameEquals(record.owner, zone.apex)) return current;
  const { rdata } = record;
  const serial = new DataView(rdata.buffer, rdata.byteOffset + rdata.length - 20).getUint32(0);
  if (!serialIsAfter(serial, current)) return current;
  requireMayAdd(ctx, zone, undefined, Type.soa);
  return serial;
}

/** The commit keeps a serial that it is given. */
function setSerial(draft: Draft, zone: ZoneRow, serial: number): void {
  draft.setZone(zone.seq, { serial });
  draft.noteZone(zone.seq, 'settings');
  draft.event({ kind: 'zone.edit', zone, before: { serial: zone.serial }, after: { serial } });
}
