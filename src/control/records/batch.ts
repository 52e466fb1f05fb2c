/** Use case: many changes to one zone's records, all or nothing (v4: §7.1). */
import { pointingTo } from '../../base/errors.js';
import type { NewRecordRow, RecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { commitEdits } from '../kernel/planned-edits.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import type { RecordInput } from './input.js';
import { type RecordItem, recordItem } from './item.js';
import { judgedItem, judgeFor } from './judged.js';
import { changeRow, createRow, deleteRow, requireRow } from './write.js';

interface RecordId {
  readonly id: string;
}

/** What a client sends. Null is not a list. */
export interface BatchInput {
  readonly deletes?: readonly RecordId[] | null | undefined;
  readonly patches?: readonly (RecordInput & RecordId)[] | null | undefined;
  readonly puts?: readonly (RecordInput & RecordId)[] | null | undefined;
  readonly posts?: readonly RecordInput[] | null | undefined;
}

export interface BatchResult {
  /** The records before they were deleted. */
  readonly deletes: readonly RecordItem[];
  readonly patches: readonly RecordItem[];
  readonly puts: readonly RecordItem[];
  readonly posts: readonly RecordItem[];
}

interface EditedRecord {
  readonly item: RecordItem;
  readonly row: NewRecordRow;
}

interface Edited extends Readonly<Record<keyof BatchResult, readonly EditedRecord[]>> {
  readonly zone: ZoneRow;
}

/** In a larger batch, nobody looks at each record. */
const MOST_JUDGED = 300;

/**
 * Deletes, patches, puts, posts in this order, all or nothing; the first failing item's error is thrown. `postsAt`: the member
 * of the request that has the new records, to which their refusals point.
 */
export async function applyBatch(
  ctx: Context,
  zoneId: string,
  input: BatchInput,
  postsAt = 'posts',
): Promise<BatchResult> {
  const { deletes, patches, puts, posts } = input;
  const limit = ctx.settings.limits.batchOperations;
  const count = [deletes, patches, puts, posts].reduce((sum, list) => sum + (list?.length ?? 0), 0);
  if (count > limit) throw badBody(`a batch may have up to ${limit} operations, not ${count}`);
  const done = await commitEdits(ctx, {
    size: count,
    zone: () => requireZone(ctx, zoneId),
    work: (edits, zone) => runBatch(ctx, edits, zone, input, postsAt),
    read: (lists, own) => resultOf(own, lists, count <= MOST_JUDGED),
  });
  return done.value;
}

function* runBatch(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  { deletes, patches, puts, posts }: BatchInput,
  postsAt: string,
): Generator<undefined, Edited> {
  const change = (operation: RecordInput & RecordId, mode: 'edit' | 'replace'): RecordRow =>
    changeRow(ctx, edits, zone, requireRow(ctx, zone, operation.id, edits), operation, mode);
  const remove = ({ id }: RecordId): RecordRow => {
    const row = requireRow(ctx, zone, id, edits);
    deleteRow(edits, zone, row);
    return row;
  };
  const done = function* <Operation>(
    list: string,
    operations: readonly Operation[] | null | undefined,
    apply: (operation: Operation) => NewRecordRow,
  ): Generator<undefined, EditedRecord[]> {
    const records: EditedRecord[] = [];
    for (const [i, operation] of (operations ?? []).entries()) {
      const edited = pointingTo(`/${list}/${i}`, () => {
        const row = apply(operation);
        return { row, item: recordItem(row, zone, ctx.settings.limits.origins) };
      });
      records.push(edited);
      yield;
    }
    return records;
  };
  return {
    zone,
    deletes: yield* done('deletes', deletes, remove),
    patches: yield* done('patches', patches, (operation) => change(operation, 'edit')),
    puts: yield* done('puts', puts, (operation) => change(operation, 'replace')),
    posts: yield* done(postsAt, posts, (operation) => createRow(ctx, edits, zone, operation)),
  };
}

/** What was edited, with what is wrong with the policies among it, by all of the zone as it is now. */
function resultOf(ctx: Context, lists: Edited, isJudged: boolean): BatchResult {
  const judge = isJudged ? judgeFor(ctx, lists.zone) : () => [];
  const judged = (records: readonly EditedRecord[]): RecordItem[] =>
    records.map(({ item, row }) => judgedItem(item, row, judge));
  const { deletes, patches, puts, posts } = lists;
  return {
    deletes: deletes.map(({ item }) => item),
    patches: judged(patches),
    puts: judged(puts),
    posts: judged(posts),
  };
}
