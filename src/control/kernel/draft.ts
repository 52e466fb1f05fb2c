/**
 * A write in progress. The use case edits records through the draft, which remembers what every touched owner serves
 * before its first edit (touched-zone.ts). At the end the change log gets the difference from what is served then
 * (finish-zone.ts).
 */
import { invariant } from '../../base/errors.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { PlannedEvent } from '../../store/log/events.js';
import { isLinked } from '../../store/records/indexed-settings.js';
import {
  findRecord,
  findSameRecord,
  insertRecord,
  type NewRecordRow,
  removeRecord,
  updateRecord,
} from '../../store/records/records.js';
import { findZone, updateZone, type ZoneChange, type ZoneRow } from '../../store/zones/zones.js';
import type { Actor } from '../guard/actor.js';
import type { Context } from './context.js';
import { requireEditable } from './editable.js';
import { finishZone } from './ends/finish-zone.js';
import type { SharedEnds } from './ends/shared-ends.js';
import type { EventEntry } from './event.js';
import { logEvents } from './outbox.js';
import { createOwnerTallies, type OwnerTallies } from './owner-tally.js';
import type { ZoneEdits } from './participant.js';
import type { RecordChange, RecordEdits } from './record-edits.js';
import { type ReadyEdits, takeReady } from './staged-edits.js';
import {
  noteBalancer,
  noteDelegated,
  noteOwner,
  noteReplacement,
  noteSettings,
  noteSigning,
  noteUnedited,
  noteWhole,
  type Replacement,
  type SigningScope,
  type TouchedZone,
  touchInstallation,
  touchZone,
} from './touched-zone.js';
import type { ZoneOutcome } from './zone-outcome.js';

/** A write in progress. Valid only while the function passed to {@link commit} runs. */
export interface Draft extends RecordEdits {
  /** The zone's row at this point of the transaction; undefined when it is deleted. */
  zone(seq: number): ZoneRow | undefined;
  /**
   * Makes edits of a zone that were prepared (staged-edits.ts), step by step. `replacement`: what they change, if it was found out
   * before the write; its signatures are not stored in a dry run, where nobody would read them.
   */
  applyReady(seq: number, ready: ReadyEdits, replacement?: Replacement): Generator<undefined, void>;
  /** Notes a change of a whole zone; the use case itself writes the rows. */
  noteZone(seq: number, kind: 'zone-added' | 'zone-removed' | 'zone-replaced' | 'settings'): void;
  /**
   * Notes that all records of the zone will be replaced without the draft; their previous rows are not kept. `replacement`:
   * what this changes, if it was found out before the write.
   */
  noteReplacement(seq: number, replacement?: Replacement): void;
  setZone(seq: number, change: ZoneChange): void;
  /** Notes that the result for the target of a flattened name will change. This is not an edit. */
  noteTarget(seq: number, ownerKey: Uint8Array): void;
  /** Sets the names that the zone's certificates cover; its HTTPS records follow. This is not an edit. */
  setCertifiedNames(seq: number, names: readonly string[]): void;
  /**
   * Notes that what a load balancer answers will change, before it, its pools or their monitors do: followers read its owner again,
   * even if no record changes and the serial stays. `isEdit`: of the load balancer itself.
   */
  noteBalancer(seq: number, ownerKey: Uint8Array, isEdit: boolean): void;
  /**
   * Notes that signatures will change, before they or the keys do: of these owners, of the whole zone, or from none to all.
   * This is not an edit.
   */
  noteSigning(seq: number, what: SigningScope): void;
  /** Notes that the zone was served under other settings of the installation; undefined: unknown settings. */
  noteInstallation(seq: number, before: ServingSettings | undefined): void;
}

export interface OpenDraft extends Draft {
  /** Writes serials, change log, journal and outbox, step by step: the end of the transaction. Outcomes of shared ends follow. */
  finish(): Generator<undefined, ZoneOutcome[]>;
}

/** The state remembered for a zone since its first edit. */
type Touch = (seq: number) => TouchedZone;

function touchOwnerIn(touch: Touch, ctx: Context, row: NewRecordRow): TouchedZone {
  const { zone, owner_key: ownerKey } = row;
  const touched = edited(touch(zone));
  requireEditable(ctx, touched.before, row);
  noteOwner(ctx.store, touched, ownerKey).edited = true;
  return touched;
}

function edited(touched: TouchedZone): TouchedZone {
  touched.derived = false;
  return touched;
}

/** The draft of one commit. `shared`: the ends of the zones that it edits may be those of other writes, too. */
export function openDraft(ctx: Context, shared?: SharedEnds): OpenDraft {
  const { store, settings } = ctx;
  const now = ctx.clock.nowUs();
  const zones = new Map<number, TouchedZone>();
  const entries: EventEntry[] = [];
  const planned: PlannedEvent[] = [];
  const tallies = createOwnerTallies(store);

  const touch: Touch = (seq) => touchIn(zones, ctx, seq, shared);
  const touchForEdit = (seq: number): TouchedZone => edited(touch(seq));

  const draft: OpenDraft = {
    now,
    zone: (seq) => findZone(store, seq),
    recordCount: ({ seq, record_count: stored }) => stored + (zones.get(seq)?.records ?? 0),
    tallyAt: ({ seq }, ownerKey) => tallies.at(seq, ownerKey),
    find: ({ seq }, id) => findRecord(store, seq, id),
    findSame: (row) => findSameRecord(store, row),
    *applyReady(seq, ready, replacement) {
      const touched = touchForEdit(seq);
      if (replacement) noteReplacement(store, touched, replacement);
      yield* takeReady(ctx, touched, ready);
      if (replacement?.planned && !ctx.dryRun) yield* replacement.planned.storeIn(store);
      for (const event of ready.events) planned.push(event);
      for (const change of ready.changes) noteEdit(touched, change);
    },
    ...rowEdits(ctx, touch, tallies),
    noteZone(seq, kind) {
      const touched = touchForEdit(seq);
      touched.delegated = undefined;
      // A change of the whole zone includes its settings.
      if (touched.kind === undefined || touched.kind === 'settings') touched.kind = kind;
    },
    noteReplacement(seq, replacement) {
      const touched = touchForEdit(seq);
      touched.undoable = false;
      touched.delegated = undefined;
      if (replacement) noteReplacement(store, touched, replacement);
      else noteWhole(store, touched);
    },
    setZone(seq, change) {
      const touched = touchForEdit(seq);
      touched.delegated = undefined;
      noteSettings(store, touched, { ...findZone(store, seq)!, ...change }, settings);
      updateZone(store, seq, { ...change, modified_at: now });
    },
    noteTarget(seq, ownerKey) {
      if (findZone(store, seq)) noteUnedited(store, touch(seq), ownerKey);
    },
    noteBalancer: (seq, ownerKey, isEdit) => noteBalancer(store, (isEdit ? touchForEdit : touch)(seq), ownerKey),
    setCertifiedNames: (seq, names) => certify(touch, ctx, seq, JSON.stringify(names)),
    noteSigning: (seq, scope) => noteSigning(store, touch(seq), scope),
    noteInstallation(seq, before) {
      const row = findZone(store, seq);
      if (row) zones.set(seq, { ...touchInstallation(store, row, before, settings), delegated: undefined });
    },
    event: (entry) => void entries.push(entry),
    *finish() {
      const ofAll = (): RowEdits => rowEdits({ ...ctx, actor: withoutScopes(ctx.actor) }, touch, tallies);
      settleEdits(ctx, zones, draft, ofAll);
      if (shared) return shared.add({ ctx, now, zones: [...zones.values()], entries, planned });
      const outcomes: ZoneOutcome[] = [];
      for (const touched of [...zones.values()]) outcomes.push(yield* finishZone(ctx, now, touched));
      yield;
      logEvents(ctx, now, entries, outcomes, planned);
      return outcomes;
    },
  };
  return draft;
}

type RowEdits = Pick<Draft, 'insertRecord' | 'updateRecord' | 'removeRecord'>;

/** Makes the edits that follow from those of a draft. `ofAll`: makes edits of records that the actor may not edit, too. */
function settleEdits(ctx: Context, zones: ReadonlyMap<number, TouchedZone>, draft: Draft, ofAll: () => RowEdits): void {
  const hasLinked = [...zones.values()].some(({ linked }) => linked.length > 0);
  const edits: ZoneEdits = hasLinked ? { ...draft, ...ofAll() } : draft;
  for (const [seq, { linked, delegated }] of [...zones])
    for (const { settle } of ctx.participants) settle?.(ctx, edits, seq, { linked: [...linked], delegated });
}

/** The edits of single rows. */
function rowEdits(ctx: Context, touch: Touch, tallies: OwnerTallies): RowEdits {
  const { store } = ctx;
  const touchOwner = (row: NewRecordRow): TouchedZone => touchOwnerIn(touch, ctx, row);
  return {
    insertRecord(row) {
      const touched = touchOwner(row);
      touched.records++;
      touched.edited.push({ id: row.id, was: null });
      if (row.proxied === 1) touched.proxied = true;
      noteEdit(touched, { before: undefined, after: row });
      insertRecord(store, row);
      tallies.note(row, 1);
    },
    updateRecord(before, after) {
      touchOwner(before);
      const touched = touchOwner(after);
      touched.edited.push({ id: before.id, was: before });
      if (after.proxied === 1) touched.proxied = true;
      noteEdit(touched, { before, after });
      updateRecord(store, before, after);
      tallies.replace(before, after);
    },
    removeRecord(row) {
      const touched = touchOwner(row);
      touched.records--;
      touched.edited.push({ id: row.id, was: row });
      noteEdit(touched, { before: row, after: undefined });
      removeRecord(store, row.seq);
      tallies.note(row, -1);
    },
  };
}

function noteEdit(touched: TouchedZone, change: RecordChange): void {
  const { before, after } = change;
  if ((before && isLinked(before)) || (after && isLinked(after))) touched.linked.push(change);
  noteDelegated(touched, change);
}

/** For edits that follow from the actor's edit: whoever may edit one record need not be allowed to edit its linked records. */
function withoutScopes({ recordScopes: _, ...actor }: Actor): Actor {
  return actor;
}

function touchIn(
  zones: Map<number, TouchedZone>,
  ctx: Context,
  seq: number,
  shared: SharedEnds | undefined,
): TouchedZone {
  const { store, settings } = ctx;
  const known = zones.get(seq);
  if (known) return known;
  const earlier = shared?.earlier(ctx, seq);
  const before = findZone(store, seq);
  invariant(before, 'zones are edited while they exist');
  const touched = touchZone(store, before, settings, earlier);
  zones.set(seq, touched);
  return touched;
}

function certify(touch: Touch, ctx: Context, seq: number, certified_names: string): void {
  const { store, settings } = ctx;
  const row = findZone(store, seq);
  if (!row || row.certified_names === certified_names) return;
  noteSettings(store, touch(seq), { ...row, certified_names }, settings);
  updateZone(store, seq, { certified_names });
}
