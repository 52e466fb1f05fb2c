/** Linked records: A and AAAA records with automatic PTR records, and these PTR records. Both have the setting `ptr`. */
import { allRows, hasRow } from '../columns.js';
import type { NewRecordRow, RecordRow } from './records.js';

const MARK = '"ptr":true';
/** The condition of the index, word for word. */
const IS_LINKED = `settings IS NOT NULL AND instr(settings, '${MARK}') > 0`;

export function isLinked({ settings }: Pick<NewRecordRow, 'settings'>): boolean {
  return settings?.includes(MARK) === true;
}

/** Linked records of all zones behind a row, in the order of their numbers. */
export const linkedRecordsAfter = allRows<
  [seq: number, limit: number],
  RecordRow
>(`SELECT z.seq AS zone, r.* FROM record_rows r INDEXED BY records_linked JOIN zones z ON z.record_set = r.record_set
     WHERE ${IS_LINKED} AND r.seq > ? ORDER BY r.seq LIMIT ?`);

export const hasLinkedRecords = hasRow<[]>(
  `SELECT 1 FROM record_rows INDEXED BY records_linked WHERE ${IS_LINKED} LIMIT 1`,
);
