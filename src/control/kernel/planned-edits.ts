/**
 * Large edits of one zone's records. They are planned outside of the write, in slices between which others get their turn; what
 * they need is prepared (staged-edits.ts), and the write makes them at once. If the zone has changed meanwhile, they are planned
 * anew.
 */

import { toHex } from '../../base/bytes.js';
import { finished, inSlices, nextSlice } from '../../base/slices.js';
import { ownerText } from '../../serving/difference.js';
import { findDnssecZone } from '../../store/dnssec/zones.js';
import { StoreBusy } from '../../store/failures.js';
import { findRecord, findSameRecord, type NewRecordRow, type RecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { NamesOfEdits } from '../rules/names-of-edits.js';
import { type Committed, commitAndRead, type Draft, FEW_EDITS, TooLargeAtOnce } from './commit.js';
import type { Context } from './context.js';
import { requireEditable } from './editable.js';
import { temporaryFailure } from './errors.js';
import type { EventEntry } from './event.js';
import { createOwnerTallies } from './owner-tally.js';
import { commitPrepared, OUTDATED, type Prepared } from './prepared.js';
import type { RecordChange, RecordEdits } from './record-edits.js';
import { mayReplace, planSignedEdits, planUnsignedEdits, type SignedPlan, signPlannedEdits } from './replacement.js';
import { giveUpEdits, prepareEdits, type ReadyEdits, tellStaged } from './staged-edits.js';
import type { Replacement } from './touched-zone.js';

/** Edits by the rules of a draft that nobody sees yet. */
interface Plan extends RecordEdits {
  changes(): RecordChange[];
  readonly entries: readonly EventEntry[];
}

type Key = Pick<RecordRow, 'owner_key' | 'type' | 'rdata_key'>;

/** `names`: counts the names of a zone that is denied by hashes. */
function openPlan(ctx: Context, zone: ZoneRow, names: NamesOfEdits | undefined): Plan {
  const { store } = ctx;
  const tallies = createOwnerTallies(store);
  const byId = new Map<string, { before: RecordRow | undefined; after: NewRecordRow | undefined }>();
  /** Planned records, and null for those that are gone. */
  const byKey = new Map<string, NewRecordRow | null>();
  const entries: EventEntry[] = [];
  let records = zone.record_count;
  const put = (before: RecordRow | undefined, after: NewRecordRow | undefined): void => {
    for (const row of [before, after]) if (row) requireEditable(ctx, zone, row);
    // A tally that is read later would miss what is planned.
    for (const row of [before, after]) if (row) tallies.at(zone.seq, row.owner_key);
    for (const row of [before, after]) if (row) names?.note(row.owner_key);
    // A new version of a primary is as large as it is.
    if (ctx.source !== 'transfer') names?.requireFew();
    const id = toHex((before ?? after)!.id);
    const known = byId.get(id);
    if (known) known.after = after;
    else byId.set(id, { before, after });
    if (before) {
      byKey.set(keyOf(before), null);
      tallies.note(before, -1);
    }
    if (after) {
      byKey.set(keyOf(after), after);
      tallies.note(after, 1);
    }
    records += (after ? 1 : 0) - (before ? 1 : 0);
  };
  return {
    now: ctx.clock.nowUs(),
    entries,
    recordCount: () => records,
    tallyAt: ({ seq }, ownerKey) => tallies.at(seq, ownerKey),
    find(_, id) {
      const planned = byId.get(toHex(id));
      return planned ? asStored(planned.after) : findRecord(store, zone.seq, id);
    },
    findSame(row) {
      const planned = byKey.get(keyOf(row));
      return planned === undefined ? findSameRecord(store, row) : asStored(planned ?? undefined);
    },
    insertRecord: (row) => put(undefined, row),
    updateRecord: (before, after) => put(before, after),
    removeRecord: (row) => put(row, undefined),
    event: (entry) => void entries.push(entry),
    // What was added and removed again leaves nothing.
    changes: () => [...byId.values()].filter(({ before, after }) => before !== undefined || after !== undefined),
  };
}

/** A planned row has no number yet. */
function asStored(row: NewRecordRow | undefined): RecordRow | undefined {
  return row && { seq: UNNUMBERED, ...row };
}

const UNNUMBERED = 0;

function keyOf({ owner_key: ownerKey, type, rdata_key: key }: Key): string {
  return `${type} ${ownerText(ownerKey)} ${ownerText(key)}`;
}

/**
 * Edits the records of a zone, and yields after each record. It may run more than once, on plans and in writes.
 */
export type EditWork<Value> = (edits: RecordEdits, zone: ZoneRow) => Generator<undefined, Value>;

/** What {@link commitEdits} commits. */
export interface LargeEdit<Value, Result> {
  /** About how many records are edited. */
  readonly size: number;
  /** The zone as it is now; throws when the actor may not edit it. */
  readonly zone: () => ZoneRow;
  readonly work: EditWork<Value>;
  /** Writes what changes besides records, in the same commit, through `own`. `zone`: as it is then. */
  readonly end?: (draft: Draft, zone: ZoneRow, value: Value, own: Context) => void;
  /** Reads the result after everything is written, serials included, through `own`; it may also write. */
  readonly read: (value: Value, own: Context) => Result;
}

/** Edits that were planned for a zone as it was. */
interface PlannedEdits<Value> extends Prepared {
  readonly zone: ZoneRow;
  readonly value: Value;
  /** Events of a plan that changes nothing; otherwise they are in `ready`. */
  readonly entries: readonly EventEntry[];
  /** Undefined when nothing changes. */
  readonly ready: ReadyEdits | undefined;
  /** What takes time in the write: records, or the names that they make. */
  readonly size: number;
}

/** Makes all edits of a zone in one commit. */
export async function commitEdits<Value, Result>(
  ctx: Context,
  edit: LargeEdit<Value, Result>,
): Promise<Committed<Result>> {
  // A secondary zone has few records of its own, and removing one may show one of its primary.
  return edit.zone().type === 'secondary' ? commitAndRead(ctx, atOnce(ctx, edit), edit.read) : commitPlanned(ctx, edit);
}

/** The same of edits that are those of a primary. */
export async function commitPlanned<Value, Result>(
  ctx: Context,
  edit: LargeEdit<Value, Result>,
): Promise<Committed<Result>> {
  const { size, zone, end, read } = edit;
  const loading = loadNames(ctx, zone());
  // Whoever waits for nothing keeps its place before those that come later.
  const names = loading && (await loading);
  if (size <= FEW_EDITS) {
    try {
      return await commitAndRead(ctx, atOnce(ctx, edit, names && { ...names, check: requireFewNames }), read);
    } catch (error) {
      if (!(error instanceof TooLargeAtOnce)) throw error;
    }
  }
  const make = atOnce(ctx, edit, names && { ...names, check: requireFewEmpty });
  return commitPrepared(ctx, {
    plan: (outdated) => planEdits(ctx, edit, outdated, names?.namesOfEdits()),
    make: (draft, plan: PlannedEdits<Value> | undefined) =>
      plan ? finished(makePlanned(ctx, draft, zone(), plan, end)) : make(draft),
    steps: (plan) => (isMany(plan) ? (draft, own) => makePlanned(own, draft, zone(), plan, end) : undefined),
    read,
  });
}

type Names = typeof import('../rules/names-of-edits.js');

/** Undefined for a zone in which a name without records costs nothing. */
function loadNames({ store }: Context, { seq }: ZoneRow): Promise<Names> | undefined {
  const row = findDnssecZone(store, seq);
  const isDeniedByHashes = row?.denial === 'nsec3' || row?.next_denial === 'nsec3';
  return isDeniedByHashes ? import('../rules/names-of-edits.js') : undefined;
}

type Check = (names: NamesOfEdits) => void;

/** With more names, it has to be planned. */
function requireFewNames(names: NamesOfEdits): void {
  if (names.count() > FEW_EDITS) throw new TooLargeAtOnce();
}

/** Its plans did not fit because others changed the zone all the time. */
function requireFewEmpty(names: NamesOfEdits): void {
  if (names.countEmpty() > FEW_EDITS) throw temporaryFailure(new StoreBusy())!;
}

/** `names`: looks at those of a zone that is denied by hashes. */
function atOnce<Value>(
  ctx: Context,
  { zone, work, end }: LargeEdit<Value, unknown>,
  names?: Pick<Names, 'namesOfEdits'> & { readonly check: Check },
): (draft: Draft) => Value {
  return (draft) => {
    const now = zone();
    const value = finished(work(names ? withNames(draft, names.namesOfEdits(), names.check) : draft, now));
    end?.(draft, now, value, ctx);
    return value;
  };
}

/** The edits of a write; `check` is called with the names so far before each edit. */
function withNames(edits: RecordEdits, names: NamesOfEdits, check: Check): RecordEdits {
  const note = ({ owner_key: ownerKey }: { readonly owner_key: Uint8Array }): void => names.note(ownerKey);
  return {
    ...edits,
    insertRecord(row) {
      note(row);
      check(names);
      edits.insertRecord(row);
    },
    updateRecord(before, after) {
      note(before);
      note(after);
      check(names);
      edits.updateRecord(before, after);
    },
    removeRecord(row) {
      note(row);
      check(names);
      edits.removeRecord(row);
    },
  };
}

async function planEdits<Value, Result>(
  ctx: Context,
  { zone: findZone, work }: LargeEdit<Value, Result>,
  outdated: Prepared | undefined,
  names: NamesOfEdits | undefined,
): Promise<PlannedEdits<Value>> {
  const zone = findZone();
  const plan = openPlan(ctx, zone, names);
  const value = await inSlices(ctx.clock, work(plan, zone));
  // Each step has a slice of its own: together, the ends of several would make a long turn.
  await nextSlice();
  const { entries } = plan;
  const changes = plan.changes();
  const size = Math.max(changes.length, names?.count() ?? 0);
  if (changes.length === 0) return { zone, value, entries, ready: undefined, size };
  const found =
    (await planUnsignedEdits(ctx, zone, changes)) ??
    (await planSignedEdits(ctx, zone, changes, outdated?.replacement?.signatures));
  const signing = found ? undefined : await signPlannedEdits(ctx, zone, changes, outdated?.signatures);
  await nextSlice();
  // Threads sign meanwhile.
  const preparing = prepareEdits(ctx, zone, { changes, entries }, found !== undefined || signing?.isKnown === true);
  const { ready, signed } = await bothOf(ctx, preparing, signing?.made);
  const replacement = await withPacked(ctx, found ?? signed?.replacement, ready);
  return {
    ...{ zone, value, entries: [], ready, size, replacement, signatures: signed?.signatures },
    giveUp: () => giveUpEdits(ctx, ready),
    ...(ready.staged && ready.staged.parts > 0 && { complete: () => tellStaged(ctx) }),
  };
}

async function bothOf(
  ctx: Context,
  preparing: Promise<ReadyEdits>,
  signing: Promise<SignedPlan> | undefined,
): Promise<{ readonly ready: ReadyEdits; readonly signed: SignedPlan | undefined }> {
  const [prepared, signed] = await Promise.allSettled([preparing, signing]);
  if (prepared.status === 'rejected') throw prepared.reason;
  if (signed.status === 'fulfilled') return { ready: prepared.value, signed: signed.value };
  await giveUpEdits(ctx, prepared.value);
  throw signed.reason;
}

/** With what the log takes of it. */
async function withPacked(
  { clock }: Context,
  replacement: Replacement | undefined,
  { owners }: ReadyEdits,
): Promise<Replacement | undefined> {
  if (!replacement?.difference) return replacement;
  const { packDifference } = await import('./packed-difference.js');
  const { difference, unsure } = replacement;
  const except = [APEX, ...unsure, ...owners.map(({ ownerKey }) => ownerKey)];
  return { ...replacement, packed: await inSlices(clock, packDifference(difference, except)) };
}

const APEX = new Uint8Array(0);

/** Making fewer edits takes some milliseconds, and the handle of a write in steps takes a few. */
const MOST_AT_ONCE = 500;

function isMany({ ready, size }: PlannedEdits<unknown>): boolean {
  return ready !== undefined && size > MOST_AT_ONCE;
}

/** `now`: the zone's row inside the write. */
function* makePlanned<Value>(
  ctx: Context,
  draft: Draft,
  now: ZoneRow,
  { zone, value, entries, ready, replacement }: PlannedEdits<Value>,
  end: LargeEdit<Value, unknown>['end'],
): Generator<undefined, Value | typeof OUTDATED> {
  if (!isSameState(now, zone) || (replacement && !mayReplace(ctx, now, replacement))) return OUTDATED;
  if (ready) yield* draft.applyReady(zone.seq, ready, replacement);
  for (const entry of entries) draft.event(entry);
  end?.(draft, now, value, ctx);
  return value;
}

function isSameState(a: ZoneRow, b: ZoneRow): boolean {
  return a.version === b.version && a.serial === b.serial && a.record_set === b.record_set && a.signed === b.signed;
}
