/** Adds and removes the PTR record of one address record, inside a write. */

import { makeId } from '../../base/random.js';
import { Type } from '../../dns/codes.js';
import { typeByCode } from '../../dns/rr/registry.js';
import { isLinked } from '../../store/records/indexed-settings.js';
import {
  findSameRecord,
  type NewRecordRow,
  parseSettings,
  type RecordRow,
  rdataKeyOf,
} from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { nameOfRecord, recordItem } from '../records/item.js';
import { requireQuota } from '../records/record-rules.js';
import { pointerData, reverseOf, standingAt } from '../rules/pointers.js';

const KEPT = JSON.stringify({ ptr: true });

/** Whether the record is still unchanged and still wants a PTR record. */
function isCurrent({ store }: Pick<Context, 'store'>, row: NewRecordRow): boolean {
  const now = findSameRecord(store, row);
  return now !== undefined && isLinked(now);
}

/** Adds the PTR record of a record, unless a user's own record is in its place. */
export function keepPointer(ctx: Context, edits: RecordEdits, { account }: ZoneRow, row: NewRecordRow): void {
  const { store } = ctx;
  const reverse = isCurrent(ctx, row) ? reverseOf(store, account, row.rdata) : undefined;
  if (!reverse) return;
  const { rdata, content } = pointerData(row, reverse);
  const { same, isTaken } = standingAt(store, reverse, rdata);
  if (same || isTaken) return;
  requireQuota(ctx, edits, reverse.zone);
  const added: NewRecordRow = {
    ...{
      id: makeId(ctx.clock.nowUs(), ctx.random),
      zone: reverse.zone.seq,
      owner_key: reverse.ownerKey,
      name: reverse.name,
    },
    ...{
      type: Type.ptr,
      content,
      rdata,
      rdata_key: rdataKeyOf(typeByCode(Type.ptr).duplicateKey(rdata)),
      ttl: row.ttl,
    },
    ...{ proxied: 0, settings: KEPT, comment: null, tags: null, private_routing: null },
    ...{ created_at: edits.now, modified_at: edits.now, comment_modified_at: null, tags_modified_at: null },
  };
  edits.insertRecord(added);
  const after = recordItem(added, reverse.zone);
  edits.event({ kind: 'record.create', zone: reverse.zone, id: added.id, name: nameOfRecord(after), after });
}

/** Removes the PTR record kept for a record, when that record is gone or no longer wants one. */
export function dropPointer(ctx: Context, edits: RecordEdits, { account }: ZoneRow, row: NewRecordRow): void {
  const { store } = ctx;
  const reverse = isCurrent(ctx, row) ? undefined : reverseOf(store, account, row.rdata);
  const same = reverse && standingAt(store, reverse, pointerData(row, reverse).rdata).same;
  if (same && isLinked(same)) removePointer(edits, reverse.zone, same);
}

export function removePointer(edits: RecordEdits, zone: ZoneRow, row: RecordRow): void {
  edits.removeRecord(row);
  const before = recordItem(row, zone);
  edits.event({ kind: 'record.delete', zone, id: row.id, name: nameOfRecord(before), before });
}

/** Changes whether a PTR record is kept for a record. */
export function setLinked(edits: RecordEdits, zone: ZoneRow, row: RecordRow, linked: boolean): RecordRow {
  const { ptr: _, ...others } = parseSettings(row.settings);
  const settings = linked ? { ...others, ptr: true } : others;
  const text = Object.keys(settings).length === 0 ? null : JSON.stringify(settings);
  const changed = { ...row, settings: text, modified_at: edits.now };
  edits.updateRecord(row, changed);
  const [before, after] = [recordItem(row, zone), recordItem(changed, zone)];
  edits.event({ kind: 'record.edit', zone, id: row.id, name: nameOfRecord(after), before, after });
  return changed;
}
