/**
 * What came from the primary becomes the zone, in one commit: records that stay keep their rows, and everybody who follows the
 * change log sees one difference.
 */

import { invariant } from '../../base/errors.js';
import { makeId } from '../../base/random.js';
import { finished, inSlices } from '../../base/slices.js';
import { nextSerial, serialIsAfter } from '../../dns/serial.js';
import type { PlacedRR } from '../../dnssec/signed-zone.js';
import { hasExpired } from '../../serving/zone-state.js';
import { MOST_CHANGED_RRS } from '../../store/log/changes.js';
import { compareSets, giveRecords, recordOfSet, recordsThatMayBeOwn } from '../../store/records/compare.js';
import type { ImportedRow } from '../../store/records/packed-rows.js';
import { dropRecordSet, useRecordSet } from '../../store/records/record-sets.js';
import { findSameRecord, type RecordRow } from '../../store/records/records.js';
import { findIncoming, type IncomingChange, noteIncoming } from '../../store/secondary/incoming.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { type ImportedSoa, soaOf } from '../imports/reader.js';
import { commitAlone, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { signPlanned } from '../kernel/planned-edits.js';
import { commitPrepared, OUTDATED, type Prepared } from '../kernel/prepared.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { mayReplace, planReplacement } from '../kernel/replacement.js';
import type { Replacement } from '../kernel/touched-zone.js';
import { planRemoval } from '../kernel/unused-records.js';
import { isOverride } from '../rules/of-primary.js';
import { planConsumption } from '../schedule/consumption.js';
import { applySigned } from './presigned-copy.js';

/** A version of a zone at its primary. */
export interface Version {
  /** The SOA: its rdata, and its TTL in seconds. */
  readonly soa: { readonly rdata: Uint8Array; readonly ttl: number };
  /** What is noted about the transfer in the same commit. */
  readonly noted: IncomingChange;
}

/** One step between two versions. */
export interface Difference {
  readonly removed: readonly ImportedRow[];
  readonly added: readonly ImportedRow[];
}

/** What was read does not belong to what is stored: a difference removes what is not there, or adds what is. */
export class DoesNotFit extends Error {}

/** Differences with more records replace the set of records. */
const MOST_EDITS = MOST_CHANGED_RRS;

/**
 * Applies differences, one after the other, as one change. Throws {@link DoesNotFit}, and then nothing has changed. Resolves to
 * false when the zone has no primaries any more.
 */
export async function applyDifferences(
  ctx: Context,
  seq: number,
  from: number,
  differences: readonly Difference[],
  version: Version,
): Promise<boolean> {
  const zoneOfVersion = (): ZoneRow | undefined => {
    const zone = zoneToWrite(ctx, seq);
    if (zone && findIncoming(ctx.store, seq)!.serial !== from)
      throw new DoesNotFit('the stored version is another one');
    return zone;
  };
  const size = differences.reduce((sum, { removed, added }) => sum + removed.length + added.length, 0);
  const { value } = await commitPrepared(ctx, {
    async plan(outdated) {
      const zone = zoneOfVersion();
      if (!zone) return undefined;
      const work = function* (edits: RecordEdits): Generator<undefined, void> {
        yield* editEach(yield* condense(ctx, zone, differences), (one) => edit(ctx, edits, zone, one));
      };
      return { signatures: await signPlanned(ctx, zone, size, work, outdated?.signatures) };
    },
    make(draft) {
      const zone = zoneOfVersion();
      if (!zone) return false;
      for (const one of finished(condense(ctx, zone, differences))) edit(ctx, draft, zone, one);
      finish(ctx, draft, zone, version);
      return true;
    },
    read: (isApplied) => isApplied,
  });
  return value;
}

interface Edit {
  readonly before: RecordRow | undefined;
  readonly after: ImportedRow | undefined;
}

/**
 * Each record once, with what it was and what it becomes; checked step by step (RFC 1995 §4). `hidden`: the same record was
 * made here, and stays whatever the primary does with its own.
 */
function* condense(
  ctx: Context,
  { seq: zone }: ZoneRow,
  differences: readonly Difference[],
): Generator<undefined, Edit[]> {
  const edits = new Map<string, { before: RecordRow | undefined; after: ImportedRow | undefined } | 'hidden'>();
  const find = (row: ImportedRow) => {
    const key = `${row.type} ${text(row.owner_key)} ${text(row.rdata_key)}`;
    let known = edits.get(key);
    if (!known) {
      const stored = findSameRecord(ctx.store, { ...row, zone });
      known = stored && isOverride(stored) ? 'hidden' : { before: stored, after: stored };
      edits.set(key, known);
    }
    return known;
  };
  for (const { removed, added } of differences) {
    for (const row of removed) {
      yield;
      const known = find(row);
      if (known === 'hidden') continue;
      if (!known.after) throw new DoesNotFit(`it removes a record of ${row.name} that is not there`);
      known.after = undefined;
    }
    for (const row of added) {
      yield;
      const known = find(row);
      if (known === 'hidden') continue;
      if (known.after) throw new DoesNotFit(`it adds a record of ${row.name} that is there`);
      known.after = row;
    }
  }
  return [...edits.values()].filter((known) => known !== 'hidden');
}

function* editEach<Item>(items: Iterable<Item>, apply: (item: Item) => void): Generator<undefined, void> {
  for (const item of items) {
    apply(item);
    yield;
  }
}

function text(octets: Uint8Array): string {
  return Buffer.from(octets).toString('latin1');
}

function edit(ctx: Context, edits: RecordEdits, zone: ZoneRow, { before, after }: Edit): void {
  if (before && !after) edits.removeRecord(before);
  if (!after || after === before) return;
  const { owner_key, name, type, content, rdata, rdata_key, ttl } = after;
  const data = { owner_key, name, type, content, rdata, rdata_key, ttl, zone: zone.seq, modified_at: edits.now };
  const own = { proxied: 0, settings: null, comment: null, tags: null, private_routing: null };
  const row = { ...data, ...own, created_at: edits.now, comment_modified_at: null, tags_modified_at: null };
  if (before) edits.updateRecord(before, { ...before, ...data });
  // A record that was made here hides the same one of the primary.
  else if (!findSameRecord(ctx.store, row)) {
    edits.insertRecord({ ...row, id: makeId(ctx.clock.nowUs(), ctx.random) });
  }
}

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
}

/**
 * Makes the zone what a staged set says. Few differences are applied to the records of the zone; with many it gets the set. In
 * both cases the set is used up afterwards. False as above, and when another version came meanwhile: another node has taken
 * over from one that stood still. Then the caller gives the set up.
 */
export async function applyVersion(ctx: Context, seq: number, staged: StagedVersion): Promise<boolean> {
  const { value } = await commitPrepared(ctx, {
    async plan(outdated): Promise<PlannedVersion | undefined> {
      const zone = zoneToWrite(ctx, seq);
      if (!zone) return undefined;
      const pairs = await inSlices(ctx.clock, compare(ctx, zone, staged.set));
      if (pairs) {
        const work = (edits: RecordEdits): Generator<undefined, void> =>
          editEach(pairs, (pair) => editPair(ctx, edits, zone, pair));
        return { zone, pairs, signatures: await signPlanned(ctx, zone, pairs.length, work, outdated?.signatures) };
      }
      if (staged.signed) return { zone, pairs };
      return {
        zone,
        pairs,
        replacement: await planReplacement(ctx, zone, rowWith(zone, staged), outdated?.replacement?.signatures),
      };
    },
    make: (draft, plan) => switchTo(ctx, draft, seq, staged, plan),
    read: (isApplied) => isApplied,
  });
  return value;
}

/** The row of a zone with a version. */
function rowWith(zone: ZoneRow, { soa, set, records }: StagedVersion): ZoneRow {
  return { ...zone, ...soaOf(soa).columns, record_set: set, record_count: records, expired: 0 };
}

/** False when the zone is gone, or has got another version. */
function switchTo(
  ctx: Context,
  draft: Draft,
  seq: number,
  staged: StagedVersion,
  plan: PlannedVersion | undefined,
): boolean | typeof OUTDATED {
  const zone = zoneToWrite(ctx, seq);
  if (!zone || findIncoming(ctx.store, seq)!.serial !== staged.over) return false;
  // Somebody wrote meanwhile.
  if (plan && (zone.version !== plan.zone.version || zone.record_set !== plan.zone.record_set)) return OUTDATED;
  if (plan?.replacement && !mayReplace(ctx, rowWith(zone, staged), plan.replacement)) return OUTDATED;
  if (plan?.pairs) for (const pair of plan.pairs) editPair(ctx, draft, zone, pair);
  else replaceSet(ctx, draft, zone, staged, plan?.replacement);
  finish(ctx, draft, zone, staged);
  if (plan?.pairs && !dropRecordSet(ctx.store, staged.set)) planRemoval(ctx);
  return true;
}

/** Store numbers of rows. */
interface Pair {
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/** What differs between the zone and the set; undefined when that is more than {@link MOST_EDITS}. */
function* compare({ store }: Context, zone: ZoneRow, set: number): Generator<undefined, readonly Pair[] | undefined> {
  const pairs: Pair[] = [];
  for (const difference of compareSets(store, zone.record_set, set)) {
    yield;
    if (!difference) continue;
    const { before, after } = difference;
    if (before && isOverride(before)) continue;
    pairs.push({ before: before?.seq, after: after?.seq });
    if (pairs.length > MOST_EDITS) return undefined;
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

/** SOA, serial, signatures, and what is noted. */
function finish(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  { soa, noted, signed }: Version & Pick<StagedVersion, 'signed'>,
): void {
  const { columns, serial }: ImportedSoa = soaOf(soa);
  // What is changed here (signatures, proxied names) has serials of its own, which only go up.
  const isNewer = signed !== undefined || hasExpired(zone) || serialIsAfter(serial, zone.serial);
  const next = isNewer ? serial : nextSerial(zone.serial);
  draft.setZone(zone.seq, { ...columns, serial: next, expired: 0 });
  draft.noteZone(zone.seq, hasExpired(zone) || signed ? 'zone-replaced' : 'settings');
  applySigned(ctx, draft, zone.seq, signed);
  noteIncoming(ctx.store, zone.seq, noted);
  planConsumption(ctx, zone.seq);
  draft.event({ kind: 'zone.transfer', zone, after: { serial } });
}

/** The zone, if it still has primaries. */
function zoneToWrite({ store }: Context, seq: number): ZoneRow | undefined {
  const zone = findZone(store, seq);
  return zone?.type === 'secondary' && findIncoming(store, seq) ? zone : undefined;
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
