/** Differences between two versions of a zone (RFC 1995), applied in one commit. */
import type { ImportedRow } from '../../store/records/packed-rows.js';
import { findSameRecord, type RecordRow } from '../../store/records/records.js';
import { findIncoming } from '../../store/secondary/incoming.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { commitPlanned } from '../kernel/planned-edits.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { isOverride } from '../rules/of-primary.js';
import {
  DoesNotFit,
  type Edit,
  edit,
  editEach,
  finish,
  mayEdit,
  Overtaken,
  unlessOvertaken,
  type Version,
  zoneToWrite,
} from './version.js';

/** One step between two versions. */
export interface Difference {
  readonly removed: readonly ImportedRow[];
  readonly added: readonly ImportedRow[];
}

/**
 * Applies differences, one after the other, as one change. Throws {@link DoesNotFit}, and then nothing has changed. Resolves to
 * false when the zone has no primaries any more, or others.
 */
export async function applyDifferences(
  ctx: Context,
  seq: number,
  from: number,
  differences: readonly Difference[],
  version: Version,
): Promise<boolean> {
  const size = differences.reduce((sum, { removed, added }) => sum + removed.length + added.length, 0);
  const zoneOfVersion = (): ZoneRow => {
    const zone = zoneToWrite(ctx, seq, version);
    if (!zone) throw new Overtaken();
    if (findIncoming(ctx.store, seq)!.serial !== from) throw new DoesNotFit('the stored version is another one');
    if (!mayEdit(zone, size, version)) throw new DoesNotFit('all of it is signed anew with its SOA');
    return zone;
  };
  const work = function* (edits: RecordEdits, zone: ZoneRow): Generator<undefined, void> {
    yield* editEach(yield* condense(ctx, zone, differences), (one) => edit(ctx, edits, zone, one));
  };
  const end = (draft: Draft, zone: ZoneRow, _: unknown, own: Context): void => finish(own, draft, zone, version);
  const applied = unlessOvertaken(commitPlanned(ctx, { size, zone: zoneOfVersion, work, end, read: () => true }));
  return (await applied) !== undefined;
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

function text(octets: Uint8Array): string {
  return Buffer.from(octets).toString('latin1');
}
