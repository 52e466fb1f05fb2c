/** Records of an answer, with the faults of the policies in them. */
import type { ServingSettings } from '../../serving/zone.js';
import type { NewRecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Asked } from '../guard/access.js';
import { visibleZones } from '../guard/visible.js';
import { createStoredJudge, type StoredJudge } from '../rules/policy-judge.js';
import type { RecordItem } from './item.js';

/** Judges the records of one answer by what the caller may read. */
export function judgeFor(ctx: Asked & { readonly settings: ServingSettings }, { account }: ZoneRow): StoredJudge {
  const visible = visibleZones(ctx);
  const reads = (zone: number): boolean => visible.idOf(zone) !== undefined;
  return createStoredJudge({ store: ctx.store, settings: ctx.settings, account, reads });
}

/** The record, with the faults of the policy in it. */
export function judgedItem(item: RecordItem, row: NewRecordRow, judge: StoredJudge): RecordItem {
  const warnings = judge(row);
  return warnings.length === 0 ? item : { ...item, warnings };
}
