/**
 * Brings the records of one zone in line with a template. What the template made before is remembered, so that only that is changed
 * and removed, and only while nobody has edited it by hand.
 */
import { toHex } from '../../base/bytes.js';
import { pointingTo } from '../../base/errors.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import type { NewRecordRow, RecordRow } from '../../store/records/records.js';
import type { TemplateRecordRow } from '../../store/records/templates.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireRecord } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { type RecordItem, recordItem } from '../records/item.js';
import type { Columns } from '../records/record-rules.js';
import { changeRow, columnsOfNew, createRow, deleteRow } from '../records/write.js';
import type { TemplateRecord } from './template.js';

export interface TemplateChange {
  readonly action: 'create' | 'change' | 'delete';
  readonly before?: RecordItem;
  readonly after?: RecordItem;
}

export interface TemplateConflict {
  /**
   * `edited`: a record of the template was changed by hand. `deleted`: it was deleted by hand. `other`: a record with these data that is
   * not the template's differs in something else, such as its TTL.
   */
  readonly reason: 'edited' | 'deleted' | 'other';
  /** As it is; absent if it is gone. */
  readonly record?: RecordItem;
  /** What the template has; absent if that is no longer in it. */
  readonly wanted?: { readonly name: string; readonly type: string; readonly content: string };
}

export interface Difference {
  readonly changes: readonly TemplateChange[];
  readonly conflicts: readonly TemplateConflict[];
  readonly unchanged: number;
  /** The records that are the template's afterwards. */
  readonly remembered: readonly TemplateRecordRow[];
}

export interface DifferenceOptions {
  /** What the zone is to have. */
  readonly wanted: readonly TemplateRecord[];
  /** What the template made before. */
  readonly remembered: readonly TemplateRecordRow[];
  /** Whether what was edited by hand, and what others made, becomes as the template has it. */
  readonly force: boolean;
}

interface Wanted {
  readonly input: TemplateRecord;
  readonly columns: Columns;
  /** Where it stands in the template. */
  readonly index: number;
}

/** Edits a zone; yields after each record. Throws 403 if the actor may not edit one of the records, before it says what is there. */
export function* bringInLine(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  { wanted, remembered, force }: DifferenceOptions,
): Generator<undefined, Difference> {
  const work = new Work(ctx, edits, zone, force);
  const places = new Map<string, Wanted>();
  for (const [index, input] of wanted.entries()) {
    const columns = pointingTo(`/records/${index}`, () => columnsOfNew(ctx, zone, input));
    requireRecord(ctx.actor, columns.name, typeMnemonic(columns.type));
    const place = placeOf(columns);
    const twice = places.get(place);
    if (twice) throw badBody(`it is the same record as that at /records/${twice.index}`, `/records/${index}`);
    places.set(place, { input, columns, index });
    yield;
  }
  const known = new Map(remembered.map((one) => [one.place, one]));
  for (const { record } of remembered) {
    const row = edits.find(zone, record);
    if (row) requireRecord(ctx.actor, row.name, typeMnemonic(row.type));
  }
  // First what goes, because a CNAME may take its place.
  for (const one of remembered) {
    if (!places.has(one.place)) work.drop(one);
    yield;
  }
  for (const [place, one] of places) {
    pointingTo(`/records/${one.index}`, () => work.keep(place, one, known.get(place)));
    yield;
  }
  return work.result();
}

class Work {
  private readonly changes: TemplateChange[] = [];
  private readonly conflicts: TemplateConflict[] = [];
  private readonly now: TemplateRecordRow[] = [];
  private unchanged = 0;

  constructor(
    private readonly ctx: Context,
    private readonly edits: RecordEdits,
    private readonly zone: ZoneRow,
    private readonly force: boolean,
  ) {}

  result(): Difference {
    const { changes, conflicts, unchanged, now: remembered } = this;
    return { changes, conflicts, unchanged, remembered };
  }

  /** What is no longer in the template. */
  drop(one: TemplateRecordRow): void {
    const row = this.edits.find(this.zone, one.record);
    if (!row) return;
    if (stateOf(row) !== one.applied && !this.force) {
      this.conflicts.push({ reason: 'edited', record: this.item(row) });
      this.now.push(one);
      return;
    }
    deleteRow(this.edits, this.zone, row);
    this.changes.push({ action: 'delete', before: this.item(row) });
  }

  /** `known`: what the template made in this place before. */
  keep(place: string, one: Wanted, known: TemplateRecordRow | undefined): void {
    const made = known && this.edits.find(this.zone, known.record);
    const standing = made ?? this.edits.findSame(one.columns);
    if (!standing) {
      if (known && !this.force) this.conflict('deleted', one, known);
      else this.create(place, one);
      return;
    }
    const isOwn = made !== undefined && stateOf(made) === known!.applied;
    if (stateOf(standing) === stateOf(one.columns)) {
      this.unchanged++;
      // What others made before stays theirs.
      if (known) this.remember(place, standing);
    } else if (isOwn || this.force) this.change(place, one, standing);
    else this.conflict(known ? 'edited' : 'other', one, known, standing);
  }

  private create(place: string, { input }: Wanted): void {
    const row = createRow(this.ctx, this.edits, this.zone, input);
    this.changes.push({ action: 'create', after: this.item(row) });
    this.remember(place, row);
  }

  private change(place: string, { input }: Wanted, standing: RecordRow): void {
    const row = changeRow(this.ctx, this.edits, this.zone, standing, input, 'replace');
    this.changes.push({ action: 'change', before: this.item(standing), after: this.item(row) });
    this.remember(place, row);
  }

  private conflict(
    reason: TemplateConflict['reason'],
    { columns }: Wanted,
    known: TemplateRecordRow | undefined,
    standing?: RecordRow,
  ): void {
    const wanted = { name: columns.name, type: typeMnemonic(columns.type), content: columns.content };
    this.conflicts.push({ reason, wanted, ...(standing && { record: this.item(standing) }) });
    if (known) this.now.push(known);
  }

  private remember(place: string, row: NewRecordRow): void {
    this.now.push({ place, record: row.id, applied: stateOf(row) });
  }

  private item(row: NewRecordRow): RecordItem {
    return recordItem(row, this.zone, this.ctx.settings.limits.origins);
  }
}

function placeOf({ type, owner_key: ownerKey, rdata_key: key }: Columns): string {
  return `${type} ${toHex(ownerKey)} ${toHex(key)}`;
}

/** Everything of a record that somebody can edit. */
function stateOf(row: Columns): string {
  const { name, type, content, rdata, ttl, proxied, settings, comment, tags, private_routing: routing } = row;
  return JSON.stringify([name, type, content, toHex(rdata), ttl, proxied, settings, comment, tags, routing]);
}
