/**
 * Large edits of one zone's records. They are planned outside of the write, in slices between which others get their turn; what
 * they need is prepared (staged-edits.ts), and the write makes them at once. If the zone has changed meanwhile, they are planned
 * anew.
 */
import { toHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { finished, inSlices, nextSlice } from '../../base/slices.js';
import { ownerText } from '../../serving/difference.js';
import { findRecord, findSameRecord, type NewRecordRow, type RecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireWriter } from '../guard/access.js';
import type { AuditEntry } from './audit-entry.js';
import { type Committed, commitAndRead, type Draft, orUnavailable } from './commit.js';
import type { Context } from './context.js';
import { createOwnerTallies } from './owner-tally.js';
import { type RecordEdits, requireEditable } from './record-edits.js';
import { giveUpSignatures, mayReplace, planSignedEdits } from './replacement.js';
import { createStock } from './signature-stock.js';
import { giveUpEdits, prepareEdits, type RecordChange } from './staged-edits.js';
import type { StagedSignatures } from './touched-zone.js';

/** Edits of fewer records are made in the write itself, which takes some milliseconds. */
export const FEW_EDITS = 200;
/** A zone that changes all the time is edited in one long write in the end. */
const MOST_PLANS = 4;

/** Edits by the rules of a draft that nobody sees yet. */
interface Plan extends RecordEdits {
  changes(): RecordChange[];
  readonly entries: readonly AuditEntry[];
}

type Key = Pick<RecordRow, 'owner_key' | 'type' | 'rdata_key'>;

function openPlan(ctx: Context, zone: ZoneRow): Plan {
  const { store } = ctx;
  const tallies = createOwnerTallies(store);
  const byId = new Map<string, { before: RecordRow | undefined; after: NewRecordRow | undefined }>();
  /** Planned records, and null for those that are gone. */
  const byKey = new Map<string, NewRecordRow | null>();
  const entries: AuditEntry[] = [];
  let records = zone.record_count;
  const put = (before: RecordRow | undefined, after: NewRecordRow | undefined): void => {
    for (const row of [before, after]) if (row) requireEditable(ctx, zone, row);
    // A tally that is read later would miss what is planned.
    for (const row of [before, after]) if (row) tallies.at(zone.seq, row.owner_key);
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
    audit: (entry) => void entries.push(entry),
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
  /** Reads the result after everything is written, serials included. */
  readonly read: (value: Value) => Result;
}

/** Makes all edits of a zone in one commit. */
export async function commitEdits<Value, Result>(
  context: Context,
  edit: LargeEdit<Value, Result>,
): Promise<Committed<Result>> {
  // Signatures for one plan fit the next one too.
  const ctx = context.zoneKeys ? { ...context, stock: context.stock ?? createStock() } : context;
  // A secondary zone has few records of its own, and removing one may show one of its primary.
  const atOnce = edit.size <= FEW_EDITS || edit.zone().type === 'secondary';
  let outdated: StagedSignatures | undefined;
  for (let plans = 0; !atOnce && plans < MOST_PLANS; plans++) {
    const attempt = await orUnavailable(ctx, commitPlan(ctx, edit, outdated));
    if ('committed' in attempt) return attempt.committed;
    outdated = attempt.outdated;
  }
  if (outdated) await giveUpSignatures(ctx, outdated);
  return commitAndRead(ctx, (draft) => finished(edit.work(draft, edit.zone())), edit.read);
}

type Attempt<Result> =
  | { readonly committed: Committed<Result> }
  /** The zone has changed meanwhile. Most of these signatures fit it still. */
  | { readonly outdated: StagedSignatures | undefined };

/** `outdated`: the signatures of the attempt before. */
async function commitPlan<Value, Result>(
  ctx: Context,
  { zone: findZone, work, read }: LargeEdit<Value, Result>,
  outdated: StagedSignatures | undefined,
): Promise<Attempt<Result>> {
  requireWriter(ctx.actor);
  const zone = findZone();
  const plan = openPlan(ctx, zone);
  const value = await inSlices(ctx.clock, work(plan, zone));
  const changes = plan.changes();
  const replacement = await planSignedEdits(ctx, zone, changes, outdated);
  const ready = await prepareEdits(ctx, zone, changes, replacement !== undefined);
  await nextSlice();
  let isLeft = false;
  let isStale = false;
  try {
    const apply = (draft: Draft): boolean => {
      const now = findZone();
      if (!isSameState(now, zone) || (replacement && !mayReplace(ctx, now, replacement))) return false;
      if (changes.length > 0) draft.applyReady(zone.seq, ready, replacement);
      // Nobody would read those of a dry run.
      if (!ctx.dryRun) for (const entry of plan.entries) draft.audit(entry);
      return true;
    };
    const committed = await commitAndRead(ctx, apply, (applied) => (applied ? { result: read(value) } : undefined));
    isStale = committed.value === undefined;
    if (!committed.value) return { outdated: replacement?.signatures };
    isLeft = changes.length > 0 && !ctx.dryRun;
    return { committed: { ...committed, value: committed.value.result } };
  } catch (error) {
    // A store that takes no writes would only keep the client waiting; what is staged is removed as that of a crash is.
    isLeft = error instanceof AppError && error.status === 503;
    throw error;
  } finally {
    if (!isLeft) await giveUpEdits(ctx, ready);
    if (!isLeft && !isStale && replacement?.signatures) await giveUpSignatures(ctx, replacement.signatures);
  }
}

function isSameState(a: ZoneRow, b: ZoneRow): boolean {
  return a.version === b.version && a.serial === b.serial && a.record_set === b.record_set && a.signed === b.signed;
}
