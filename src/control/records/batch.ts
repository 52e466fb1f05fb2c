/** Use case: many changes of one zone's records, all or nothing (v4: §7.1). */
import { requireZone } from '../access/access.js';
import { commit } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { badBody } from '../write/errors.js';
import { type RecordItem, recordItem } from './item.js';
import { changeRow, createRow, deleteRow, requireRow } from './write.js';

/** The body as the client sent it, unchecked: lists of objects, with `id` in all but `posts`. */
export interface BatchInput {
  readonly deletes?: unknown;
  readonly patches?: unknown;
  readonly puts?: unknown;
  readonly posts?: unknown;
}

export interface BatchResult {
  /** The records as they were. */
  readonly deletes: readonly RecordItem[];
  readonly patches: readonly RecordItem[];
  readonly puts: readonly RecordItem[];
  readonly posts: readonly RecordItem[];
}

type Operation = Readonly<Record<string, unknown>>;

/** Deletes, patches, puts, posts in this order, all or nothing; the first failing item's error is thrown. */
export async function applyBatch(ctx: Context, zoneId: string, input: BatchInput): Promise<BatchResult> {
  const deletes = readOperations(input, 'deletes');
  const patches = readOperations(input, 'patches');
  const puts = readOperations(input, 'puts');
  const posts = readOperations(input, 'posts');
  const limit = ctx.settings.limits.batchOperations;
  const count = deletes.length + patches.length + puts.length + posts.length;
  if (count > limit) throw badBody(`a batch holds ${limit} operations at most, not ${count}`);
  const { value } = await commit(ctx, (draft): BatchResult => {
    const zone = requireZone(ctx, zoneId);
    const change = (operation: Operation, mode: 'edit' | 'replace'): RecordItem =>
      recordItem(changeRow(ctx, draft, zone, requireRow(ctx, zone, idOf(operation)), operation, mode), zone);
    return {
      deletes: deletes.map((operation) => {
        const row = requireRow(ctx, zone, idOf(operation));
        deleteRow(draft, zone, row);
        return recordItem(row, zone);
      }),
      patches: patches.map((operation) => change(operation, 'edit')),
      puts: puts.map((operation) => change(operation, 'replace')),
      posts: posts.map((operation) => recordItem(createRow(ctx, draft, zone, operation), zone)),
    };
  });
  return value;
}

function readOperations(input: BatchInput, member: keyof BatchInput): Operation[] {
  const list = input[member] ?? [];
  const isList = Array.isArray(list) && list.every((item) => typeof item === 'object' && item !== null);
  if (!isList) throw badBody(`${member} must be a list of objects`, `/${member}`);
  return list;
}

function idOf(operation: Operation): string {
  return typeof operation['id'] === 'string' ? operation['id'] : '';
}
