/**
 * Writes what an update leaves to do. Names, data and neighbours may be what a zone file may have (RFC 2136 §3.4.2), which is
 * more than clients of the API can create.
 */
import { equalBytes } from '../../base/bytes.js';
import { typeByCode } from '../../dns/rr/registry.js';
import { ONE_SECOND } from '../../dns/ttl.js';
import { type RecordRow, rdataKeyOf } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { createRowMaker } from '../imports/row.js';
import type { Context } from '../kernel/context.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { nameOfRecord, recordItem } from '../records/item.js';
import { requireTarget } from '../records/record-rules.js';
import { addRowBeside, deleteRow } from '../records/write.js';
import { differenceAt, type OwnerDifference, type UpdatedOwner, type UpdatedOwners } from './owners.js';

/** Numbers of records. */
export interface Counts {
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
}

/** Removals come first, so that the rules about neighbours see only what stays. */
export function* applyDifference(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  owners: UpdatedOwners,
): Generator<undefined, Counts> {
  const all: (OwnerDifference & { readonly at: UpdatedOwner })[] = [];
  for (const at of owners.all()) {
    all.push({ at, ...differenceAt(at) });
    yield;
  }
  let [added, removed, changed] = [0, 0, 0];
  for (const difference of all) {
    for (const row of difference.removed) {
      deleteRow(edits, zone, row);
      removed++;
      yield;
    }
  }
  for (const difference of all) {
    for (const change of difference.changed) {
      changeRow(ctx, edits, zone, change);
      changed++;
      yield;
    }
  }
  for (const difference of all) {
    for (const one of difference.added) {
      addOne(ctx, edits, zone, difference.at, one);
      added++;
      yield;
    }
  }
  return { added, removed, changed };
}

type Added = OwnerDifference['added'][number];
type Changed = OwnerDifference['changed'][number];

/** A TTL is what the client says: 0 and 1 are not "automatic" here. */
function addOne(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  { owner }: UpdatedOwner,
  { type, ttl, rdata }: Added,
): void {
  const { apex } = zone;
  const { limits } = ctx.settings;
  const rows = createRowMaker({ apex, limits, proxied: false, oneIsAutomatic: false });
  const row = rows.rowOf({
    owner,
    type,
    ttl,
    rdata,
    line: 0,
    column: 0,
    file: undefined,
    comment: undefined,
    flattened: false,
  });
  const columns = { ...row, zone: zone.seq, private_routing: null, comment: commentOf(ctx) };
  requireTarget(ctx, zone, columns);
  addRowBeside(ctx, edits, zone, columns);
}

function changeRow(ctx: Context, edits: RecordEdits, zone: ZoneRow, { row, ttl, rdata }: Changed): void {
  const type = typeByCode(row.type);
  const isSame = equalBytes(rdata, row.rdata);
  const value = { rdata, rdata_key: rdataKeyOf(type.duplicateKey(rdata)), content: type.contentOf(rdata) };
  const after: RecordRow = { ...row, ...(!isSame && value), ttl: ttl === 1 ? ONE_SECOND : ttl, modified_at: edits.now };
  if (!isSame) requireTarget(ctx, zone, after);
  edits.updateRecord(row, after);
  const [was, is] = [recordItem(row, zone), recordItem(after, zone)];
  edits.event({ kind: 'record.edit', zone, id: row.id, name: nameOfRecord(is), before: was, after: is });
}

function commentOf({ actor, settings }: Context): string {
  return actor.email.slice(0, settings.limits.commentLength);
}
