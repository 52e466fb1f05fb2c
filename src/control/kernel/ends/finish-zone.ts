/**
 * The end of a write, for one zone: its serial, the change log with the difference for resolvers, the journal for undoing the
 * edits, and what takes part (participant.ts). Edits that resolvers do not see (a comment, the origin of a proxied name) do not
 * change the serial.
 */
import { toHex } from '../../../base/bytes.js';
import { Type } from '../../../dns/codes.js';
import { nextSerial } from '../../../dns/serial.js';
import type { Difference } from '../../../serving/difference.js';
import {
  type ChangedRR,
  type ChangeKind,
  MOST_CHANGED_OCTETS,
  MOST_CHANGED_RRS,
  MOST_CHANGED_SIGNED_RRS,
  type NewChange,
  NO_DATA,
  NO_TYPE,
  packedOctets,
  packRRs,
  type SoaRR,
} from '../../../store/log/changes.js';
import { findZone, updateZone, type ZoneRow } from '../../../store/zones/zones.js';
import type { Context } from '../context.js';
import { logChange, logEdit } from '../log-rows.js';
import type { Addition, ZoneEnd } from '../participant.js';
import {
  differenceOf,
  type FoundDifference,
  ownersAfter,
  servedAfter,
  soaDifference,
  type TouchedZone,
} from '../touched-zone.js';
import type { ZoneOutcome } from '../zone-outcome.js';

/**
 * Step by step. `now`: microseconds since 1970. `isCounted`: the zone's row has the count and the version already, and the caller logs
 * the edits (shared-ends.ts).
 */
export function* finishZone(
  ctx: Context,
  now: number,
  touched: TouchedZone,
  isCounted: boolean = false,
): Generator<undefined, ZoneOutcome> {
  const { store, settings, participants } = ctx;
  const { before, derived } = touched;
  const row = findZone(store, before.seq);
  if (!row) return finishRemoved(ctx, now, before);
  const zone = servedAfter(store, touched, row, settings);
  const end: ZoneEnd = { touched, row, zone, owners: ownersAfter(store, touched, zone) };

  for (const { derive } of participants) derive?.(ctx, end);
  const additions = participants.flatMap(({ add }) => add?.(ctx, end) ?? []);
  yield;
  const ofOwners = additions.find((addition) => addition.difference)?.difference;
  const difference = differenceOf(store, touched, zone, row, end.owners, ofOwners);
  const found = kindOf(touched, difference);
  const kind = additions.reduce((known, addition) => (addition.kind ? addition.kind(difference) : known), found);

  const isEdit = !derived && !isCounted;
  const serial = nextSerialOf(touched, row, kind);
  // Clients hold the version of what they edit, so answers that changed with a target do not change it.
  const version = isEdit ? row.version + 1 : row.version;
  updateZone(store, row.seq, { record_count: row.record_count + touched.records, version, serial });
  const added = additions.flatMap(({ finish }) => finish?.(kind && serial) ?? []);
  const rrs = difference ? [...difference.removed, ...difference.added, ...added] : [];
  const marks = touched.balanced.map(balancedMark);

  const serials = { serialFrom: kind === 'zone-added' ? undefined : before.serial, serial };
  const soas = kind === undefined || kind === 'zone-added' ? {} : soaDifference(touched.serving, zone, serial);
  const isFew = difference !== undefined && rrs.length + marks.length <= mostLogged(additions);
  const listed = isFew ? listedRRs(difference, [...added, ...marks]) : undefined;
  const logged = { complete: listed !== undefined, rrs: listed ?? [] };
  const isFollowed = kind !== undefined || marks.length > 0;
  const log = { zone: row.seq, kind: kind ?? ('rrs' as const), ...serials, ...soas, ...logged };
  yield;
  const change = isFollowed ? logChange(ctx, now, log) : undefined;
  yield;
  if (isEdit) logEdit(ctx, now, touched, row, { version, change, ...serials });
  for (const { after } of participants) after?.(ctx, end, kind);

  const known = {
    rrs: [...soaChange(0, soas.soaFrom), ...soaChange(1, soas.soaTo), ...rrs],
    complete: difference !== undefined,
  };
  return { zone: row.seq, id: toHex(row.id), apex: row.apex, kind, change, ...serials, version, ...known };
}

/** An unknown difference counts as a difference. */
function kindOf({ kind }: TouchedZone, difference: Difference | undefined): ChangeKind | undefined {
  const isSame = difference && difference.removed.length + difference.added.length === 0;
  return kind ?? (isSame ? undefined : 'rrs');
}

/** Undefined when they have too many octets. */
function listedRRs(
  { removed, added, packed }: FoundDifference,
  more: readonly ChangedRR[],
): NewChange['rrs'] | undefined {
  const rrs = packed ? { parts: [...packed.removed, ...packed.added, packRRs(more)] } : [...removed, ...added, ...more];
  return octetsOf(rrs) <= MOST_CHANGED_OCTETS ? rrs : undefined;
}

function octetsOf(rrs: NewChange['rrs']): number {
  return 'parts' in rrs ? rrs.parts.reduce((sum, { length }) => sum + length, 0) : packedOctets(rrs);
}

/** Records with signatures are more. */
function mostLogged(additions: readonly Addition[]): number {
  return additions.some(({ finish }) => finish) ? MOST_CHANGED_SIGNED_RRS : MOST_CHANGED_RRS;
}

function nextSerialOf({ before }: TouchedZone, { serial }: ZoneRow, kind: ChangeKind | undefined): number {
  // A zone keeps the serial that it was given in this write: a new or replaced one, and one that has a primary.
  const isGiven = kind === 'zone-added' || kind === 'zone-replaced' || serial !== before.serial;
  const moves = kind !== undefined && !isGiven;
  return moves ? nextSerial(serial) : serial;
}

/** Not a record: it makes followers read the owner. */
function balancedMark(ownerKey: Uint8Array): ChangedRR {
  return { op: 1, owner_key: ownerKey, type: NO_TYPE, ttl: 0, rdata: NO_DATA };
}

function soaChange(op: 0 | 1, soa: SoaRR | undefined): ChangedRR[] {
  return soa ? [{ op, owner_key: new Uint8Array(0), type: Type.soa, ...soa }] : [];
}

function finishRemoved(ctx: Context, now: number, before: ZoneRow): ZoneOutcome {
  const { seq: zone, id, apex, serial: serialFrom } = before;
  for (const { removed } of ctx.participants) removed?.(ctx, before);
  const kind = 'zone-removed';
  const change = logChange(ctx, now, {
    zone,
    kind,
    serialFrom: undefined,
    serial: undefined,
    complete: false,
    rrs: [],
  });
  const gone = { version: undefined, serial: undefined, rrs: [], complete: false };
  return { zone, id: toHex(id), apex, kind, change, serialFrom, ...gone };
}
