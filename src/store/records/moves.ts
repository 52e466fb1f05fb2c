/**
 * Rows that move or are copied from one set of records to another. A large edit stores its new rows in a set that no zone has; its
 * commit moves rows, or gives the zone that set when it has all that the zone keeps, too.
 */
import { perStore, type SqlValue, type Store } from '../driver.js';
import { type NewRecordRow, RECORD } from './records.js';

const statements = perStore((store) => ({
  stage: store.prepare<[set: number, ...SqlValue[]]>(
    `INSERT INTO record_rows (record_set, ${RECORD.list}) VALUES (?, ${RECORD.marks})`,
  ),
  // What others have stored meanwhile may conflict with what is staged; such a set is never used.
  copy: store.prepare<[set: number, seqs: string]>(
    `INSERT OR IGNORE INTO record_rows (record_set, ${RECORD.list}) SELECT ?, ${RECORD.list} FROM record_rows
     WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY owner_key, type, rdata_key`,
  ),
  moveSome: store.prepare<[after: number, before: number, limit: number]>(
    `UPDATE record_rows SET record_set = ? WHERE seq IN (SELECT seq FROM record_rows INDEXED BY records_owner
       WHERE record_set = ? ORDER BY owner_key, type, rdata_key LIMIT ?)`,
  ),
  move: store.prepare<[set: number, seqs: string]>(
    'UPDATE record_rows SET record_set = ? WHERE seq IN (SELECT value FROM json_each(?))',
  ),
}));

/** Stores a row in a set. */
export function stageRecord(store: Store, set: number, row: Omit<NewRecordRow, 'zone'>): void {
  statements(store).stage.run(set, ...RECORD.values(row));
}

/** Stores copies of rows, which are given by their numbers, in a set. */
export function copyRecords(store: Store, set: number, seqs: readonly number[]): void {
  statements(store).copy.run(set, JSON.stringify(seqs));
}

/** Gives up to `most` rows of a set to another one; false when none are left. */
export function moveSomeRecords(store: Store, before: number, after: number, most: number): boolean {
  return statements(store).moveSome.run(after, before, most).changes === most;
}

/** Gives rows to another set. */
export function moveRecords(store: Store, seqs: readonly number[], set: number): void {
  statements(store).move.run(set, JSON.stringify(seqs));
}
