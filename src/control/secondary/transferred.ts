/**
 * What came from the primary becomes the zone, in one commit: records that stay keep their rows, and everybody who follows the
 * change log sees one difference.
 */

import { invariant } from '../../base/errors.js';
import { inSlices } from '../../base/slices.js';
import type { PlacedRR } from '../../dnssec/signed-zone.js';
import { hasExpired } from '../../serving/zone-state.js';
import { MOST_CHANGED_RRS } from '../../store/log/changes.js';
import { compareSets, giveRecords, recordOfSet, recordsThatMayBeOwn } from '../../store/records/compare.js';
import { dropRecordSet, useRecordSet } from '../../store/records/record-sets.js';
import type { RecordRow } from '../../store/records/records.js';
import { findIncoming } from '../../store/secondary/incoming.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { isStagedFor, type StagedPresigned } from '../dnssec/presigned/take.js';
import { soaOf } from '../imports/reader.js';
import { giveUp } from '../imports/stage.js';
import { commitAlone, type Draft, FEW_EDITS } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { commitPlanned } from '../kernel/planned-edits.js';
import { commitPrepared, OUTDATED, type Prepared } from '../kernel/prepared.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { mayReplace, planReplacement } from '../kernel/replacement.js';
import type { Replacement } from '../kernel/touched-zone.js';
import { planRemoval } from '../kernel/unused-records.js';
import { isOverride } from '../rules/of-primary.js';
import { stageSigned } from './presigned-copy.js';
import { edit, editEach, finish, mayEdit, Overtaken, unlessOvertaken, type Version, zoneToWrite } from './version.js';

/** Differences with more records replace the set of records. */
const MOST_EDITS = MOST_CHANGED_RRS;

/** The records of a whole version, which stand in a set of their own. */
export interface StagedVersion extends Version {
  readonly set: number;
  readonly records: number;
  /** The serial that was stored when the transfer began. */
  readonly over: number | null;
  /** All records of a version that its primary has signed. */
  readonly signed?: readonly PlacedRR[] | undefined;
}

/** What is to be done to a zone as it was. */
interface PlannedVersion extends Prepared {
  readonly zone: ZoneRow;
  /** Undefined: the zone gets the set. */
  readonly pairs: readonly Pair[] | undefined;
  /** The signatures of a version that its primary has signed. */
  readonly presigned?: StagedPresigned;
}

/**
 * Makes the zone what a staged set says. Few differences are applied to the records of the zone; with many it gets the set. In
 * both cases the set is used up afterwards. False as above, and when another version came meanwhile: another node has taken
 * over from one that stood still. Then the caller gives the set up.
 */
export async function applyVersion(ctx: Context, seq: number, staged: StagedVersion): Promise<boolean> {
  const few = staged.signed ? 'many' : await applyFew(ctx, seq, staged);
  if (few !== 'many') return few;
  const { value } = await commitPrepared(ctx, {
    plan: (outdated) => planVersion(ctx, seq, staged, outdated),
    make: (draft, plan) => switchTo(ctx, draft, seq, staged, plan),
    read: (isApplied) => isApplied,
  });
  return value;
}

async function planVersion(
  ctx: Context,
  seq: number,
  staged: StagedVersion,
  outdated: Prepared | undefined,
): Promise<PlannedVersion | undefined> {
  const zone = zoneToWrite(ctx, seq, staged);
  if (!zone) return undefined;
  const after = rowWith(zone, staged);
  if (!staged.signed) {
    const replacement = await planReplacement(ctx, zone, after, outdated?.replacement?.signatures);
    return { zone, pairs: undefined, replacement };
  }
  const pairs = await inSlices(ctx.clock, compare(ctx, zone, staged.set, FEW_EDITS));
  const presigned = await stageSigned(ctx, zone, after, staged.signed);
  // It will not be compared: nearly all signatures are others.
  const replacement: Replacement = { before: zone, difference: undefined, unsure: [], signatures: undefined };
  return { zone, pairs, replacement, presigned, giveUp: () => giveUp(ctx, presigned.set) };
}

/** The records that differ are very many. */
class TooMany extends Error {}

/** Edits the records that differ, unless they are very many. */
async function applyFew(ctx: Context, seq: number, staged: StagedVersion): Promise<boolean | 'many'> {
  const first = zoneToWrite(ctx, seq, staged);
  if (!first) return false;
  let known = { zone: first, pairs: await inSlices(ctx.clock, compare(ctx, first, staged.set, MOST_EDITS)) };
  const work = function* (edits: RecordEdits, zone: ZoneRow): Generator<undefined, void> {
    if (!isAsBefore(zone, known.zone)) known = { zone, pairs: yield* compare(ctx, zone, staged.set, MOST_EDITS) };
    const { pairs } = known;
    if (!pairs || !mayEdit(zone, pairs.length, staged)) throw new TooMany();
    yield* editEach(pairs, (pair) => editPair(ctx, edits, zone, pair));
  };
  const zoneOfVersion = (): ZoneRow => {
    const zone = zoneToWrite(ctx, seq, staged);
    if (!zone || findIncoming(ctx.store, seq)!.serial !== staged.over) throw new Overtaken();
    return zone;
  };
  const end = (draft: Draft, zone: ZoneRow, _: unknown, own: Context): void => {
    finish(own, draft, zone, staged);
    if (!dropRecordSet(own.store, staged.set)) planRemoval(own);
  };
  try {
    const size = known.pairs?.length ?? MOST_EDITS;
    const edit = { size, zone: zoneOfVersion, work, end, read: () => true };
    return (await unlessOvertaken(commitPlanned(ctx, edit))) !== undefined;
  } catch (error) {
    if (error instanceof TooMany) return 'many';
    throw error;
  }
}

function isAsBefore(zone: ZoneRow, before: ZoneRow): boolean {
  return zone.version === before.version && zone.record_set === before.record_set;
}

/** The row of a zone with a version. */
function rowWith(zone: ZoneRow, { soa, set, records, signed }: StagedVersion): ZoneRow {
  const { columns, serial } = soaOf(soa);
  const row = { ...zone, ...columns, record_set: set, record_count: records, expired: 0 };
  return signed ? { ...row, serial, signed: 1 } : row;
}

/** False when the zone is gone, or has got other primaries or another version. */
function switchTo(
  ctx: Context,
  draft: Draft,
  seq: number,
  staged: StagedVersion,
  plan: PlannedVersion | undefined,
): boolean | typeof OUTDATED {
  const zone = zoneToWrite(ctx, seq, staged);
  if (!zone || findIncoming(ctx.store, seq)!.serial !== staged.over) return false;
  // Somebody wrote meanwhile.
  if (plan && !isAsBefore(zone, plan.zone)) return OUTDATED;
  if (plan?.replacement && !mayReplace(ctx, rowWith(zone, staged), plan.replacement)) return OUTDATED;
  if (plan?.presigned && !isStagedFor(ctx, rowWith(zone, staged), plan.presigned)) return OUTDATED;
  if (plan?.pairs) for (const pair of plan.pairs) editPair(ctx, draft, zone, pair);
  else replaceSet(ctx, draft, zone, staged, plan?.replacement);
  finish(ctx, draft, zone, staged, plan?.presigned);
  if (plan?.pairs && !dropRecordSet(ctx.store, staged.set)) planRemoval(ctx);
  return true;
}

/** Store numbers of rows. */
interface Pair {
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/** What differs between the zone and the set; undefined when that is more than `most`. */
function* compare(
  { store }: Context,
  zone: ZoneRow,
  set: number,
  most: number,
): Generator<undefined, readonly Pair[] | undefined> {
  const pairs: Pair[] = [];
  for (const difference of compareSets(store, zone.record_set, set)) {
    yield;
    if (!difference) continue;
    const { before, after } = difference;
    if (before && isOverride(before)) continue;
    pairs.push({ before: before?.seq, after: after?.seq });
    if (pairs.length > most) return undefined;
  }
  return pairs;
}

function editPair(ctx: Context, edits: RecordEdits, zone: ZoneRow, { before, after }: Pair): void {
  const read = (seq: number | undefined): RecordRow | undefined =>
    seq === undefined ? undefined : recordOfSet(ctx.store, zone.seq, seq);
  edit(ctx, edits, zone, { before: read(before), after: read(after) });
}

function replaceSet(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  { set, records }: StagedVersion,
  replacement: Replacement | undefined,
): void {
  const { store } = ctx;
  const kept = recordsThatMayBeOwn(store, zone.record_set).filter(isOverride);
  const keptAt = kept.map(({ owner_key: ownerKey }) => ownerKey);
  draft.noteReplacement(zone.seq, replacement && { ...replacement, unsure: [...replacement.unsure, ...keptAt] });
  invariant(useRecordSet(store, set), 'the staged records are there');
  const more = giveRecords(
    store,
    zone.record_set,
    set,
    kept.map(({ seq }) => seq),
  );
  draft.setZone(zone.seq, { record_set: set, record_count: records + more });
  if (!dropRecordSet(store, zone.record_set)) planRemoval(ctx);
  draft.noteZone(zone.seq, 'zone-replaced');
}

/**
 * No primary was reached for too long: the zone is not answered any more (RFC 1035 §3.3.13). Another node may have reached one
 * while this one stood still; then nothing happens.
 */
export async function expireZone(ctx: Context, seq: number): Promise<void> {
  await commitAlone(ctx, (draft) => {
    const zone = zoneToWrite(ctx, seq);
    if (!zone || hasExpired(zone)) return;
    const expiresAt = findIncoming(ctx.store, seq)!.expires_at;
    if (expiresAt === null || expiresAt > ctx.clock.nowUs()) return;
    draft.setZone(seq, { expired: 1, serial: zone.serial });
    draft.noteZone(seq, 'zone-replaced');
    draft.event({ kind: 'zone.expire', zone });
  });
}

/** The copy may be served again: a primary still has the stored version. */
export async function reviveZone(ctx: Context, seq: number): Promise<void> {
  await commitAlone(ctx, (draft) => {
    const zone = zoneToWrite(ctx, seq);
    if (!zone || !hasExpired(zone) || findIncoming(ctx.store, seq)!.serial === null) return;
    draft.setZone(seq, { expired: 0 });
    draft.noteZone(seq, 'zone-replaced');
    draft.event({ kind: 'zone.revive', zone });
  });
}
