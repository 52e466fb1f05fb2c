/**
 * Records with settings that have an index. `expires_at`: those that expire. `ptr`: linked records, A and AAAA records with automatic PTR
 * records, and these PTR records.
 */
import { allRows, hasRow, valueIfAny } from '../columns.js';
import type { Condition } from '../condition.js';
import { perStore, type Store } from '../driver.js';
import { COLUMNS_OF_ZONE, type NewRecordRow, parseSettings, type RecordRow, SET_OF_ZONE } from './records.js';

/** The expression and the condition of the index, word for word. */
const ENDS_AT = `json_extract(settings, '$.expires_at')`;
const ENDS = `settings IS NOT NULL AND instr(settings, '"expires_at":') > 0`;

const statements = perStore((store) => ({
  over: store.prepare<[zone: number, inZone: number, us: number, limit: number, offset: number], RecordRow>(
    `SELECT ${COLUMNS_OF_ZONE} FROM record_rows INDEXED BY records_ending
     WHERE record_set = ${SET_OF_ZONE} AND ${ENDS} AND ${ENDS_AT} <= ? ORDER BY ${ENDS_AT}, seq LIMIT ? OFFSET ?`,
  ),
}));

/** When a record ends, in microseconds since 1970; undefined: never. */
export function endOf({ settings }: Pick<NewRecordRow, 'settings'>): number | undefined {
  return settings === null ? undefined : parseSettings(settings).expires_at;
}

/** Records that expire at some time. */
export function matchEnding(): Condition {
  return { sql: `(${ENDS})`, params: [] };
}

/** Records of a zone that have ended at a moment, the first ones first; `offset`: so many are left out. */
export function endedRecords(
  store: Store,
  zone: number,
  { us, limit, offset }: { readonly us: number; readonly limit: number; readonly offset: number },
): RecordRow[] {
  return statements(store).over.all(zone, zone, us, limit, offset);
}

/** When the first record of a zone ends after a moment; microseconds since 1970. */
export const nextEnd = valueIfAny<
  [zone: number, afterUs: number],
  number
>(`SELECT ${ENDS_AT} FROM record_rows INDEXED BY records_ending
     WHERE record_set = ${SET_OF_ZONE} AND ${ENDS} AND ${ENDS_AT} > ? ORDER BY ${ENDS_AT} LIMIT 1`);

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
