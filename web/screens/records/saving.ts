/**
 * Checking and saving edits. The server takes a certain number in one change; more are saved in several changes, one after the
 * other. All edits of a name are in the same change, so that no resolver sees a name half changed.
 */
import { type Answer, ApiError, call } from '../../api.js';
import type { Saved } from '../../parts/receipt.js';
import type { Diff } from '../../types.js';
import { answersInOrder } from './in-order.js';
import { batchOf, type Edit, type Edits, editAt } from './pending.js';

/** What the server takes in one change. */
export const MOST_AT_ONCE = 3500;

/** The names that an edit is about: two when it renames. */
function namesOf(edit: Edit): readonly string[] {
  if (edit.kind === 'create') return [edit.body.name];
  if (edit.kind === 'delete' || edit.body.name === edit.before.name) return [edit.before.name];
  return [edit.before.name, edit.body.name];
}

/** Edits that must not be in different changes, together. */
function groupsOf(edits: Edits): (readonly [string, Edit])[][] {
  const groups = new Map<string, (readonly [string, Edit])[]>();
  for (const [key, edit] of edits) {
    const [name, renamed] = namesOf(edit);
    const group = groups.get(name!) ?? [];
    group.push([key, edit]);
    groups.set(name!, group);
    const other = renamed === undefined ? group : (groups.get(renamed) ?? group);
    if (renamed !== undefined && other === group) groups.set(renamed, group);
    if (other === group) continue;
    for (const item of other) group.push(item);
    for (const [known, member] of groups) if (member === other) groups.set(known, group);
  }
  return [...new Set(groups.values())];
}

/** The edits in parts that the server takes. Only a name with more edits than that is divided. */
export function partsOf(edits: Edits): Edits[] {
  if (edits.size <= MOST_AT_ONCE) return [edits];
  const parts: (readonly [string, Edit])[][] = [[]];
  for (const group of groupsOf(edits)) {
    for (let at = 0; at < group.length; at += MOST_AT_ONCE) {
      const piece = group.slice(at, at + MOST_AT_ONCE);
      if (parts.at(-1)!.length + piece.length > MOST_AT_ONCE) parts.push([]);
      parts.at(-1)!.push(...piece);
    }
  }
  return parts.map((part) => new Map(part));
}

/** A refusal of edits with the name of the record that it is about. */
function explained(error: unknown, edits: Edits): unknown {
  if (!(error instanceof ApiError)) return error;
  const errors = error.errors.map((item) => {
    const found = item.source && editAt(edits, item.source.pointer);
    const edit = found && edits.get(found.key);
    if (!edit) return item;
    const { name, type } = edit.kind === 'delete' ? edit.before : edit.body;
    return { ...item, message: `${name} ${type}: ${item.message}` };
  });
  return new ApiError(error.status, errors);
}

export interface CheckingOptions extends Pick<SavingOptions, 'path' | 'parts' | 'etag'> {
  readonly signal: AbortSignal;
  readonly onPart: (checked: Edits) => void;
}

/** What resolvers would see of each part. Throws the refusal of the first part that would be refused. */
export async function checkParts({ path, parts, etag, signal, onPart }: CheckingOptions): Promise<Diff[]> {
  const diffs: Diff[] = [];
  const ask = (part: Edits): Promise<Answer<unknown>> => sendPart(`${path}?dry_run=true`, part, etag, signal);
  for await (const [part, { diff }] of answersInOrder(parts, ask)) {
    if (diff) diffs.push(diff);
    onPart(part);
  }
  return diffs;
}

async function sendPart(path: string, part: Edits, etag?: string, signal?: AbortSignal): Promise<Answer<unknown>> {
  const headers = etag === undefined ? {} : { 'if-match': etag };
  try {
    return await call('POST', path, { body: batchOf(part), headers, ...(signal && { signal }) });
  } catch (error) {
    throw explained(error, part);
  }
}

export interface SavingOptions {
  /** Of the batches of the zone. */
  readonly path: string;
  readonly parts: readonly Edits[];
  /** State of the zone that the edits are about. */
  readonly etag: string | undefined;
  /** A part is saved: which edits are left, and the state of the zone now. */
  readonly onPart: (rest: Edits, etag: string | undefined) => void;
  /** Whether to go on with the next part. */
  readonly wanted: () => boolean;
}

/**
 * Saves part after part; returns the last change. Throws the refusal of a part: those before it are saved, the others are not.
 */
export async function saveParts({ path, parts, etag, onPart, wanted }: SavingOptions): Promise<Saved> {
  let tag = etag;
  let saved: Saved = { change: undefined, serial: undefined, at: Date.now() };
  for (const [index, part] of parts.entries()) {
    if (!wanted()) break;
    const { change, serial, etag: next } = await sendPart(path, part, tag);
    tag = next;
    if (change !== undefined) saved = { ...saved, change, serial };
    onPart(new Map(parts.slice(index + 1).flatMap((rest) => [...rest])), tag);
  }
  return saved;
}
