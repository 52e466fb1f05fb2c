/**
 * Rows that move from one set of records to another. A large edit stores its new rows in a set that no zone has, and its commit
 * only moves rows.
 */
import { perStore, type Store } from '../driver.js';
import { COLUMNS, type NewRecordRow, valuesOf } from './records.js';

const statements = perStore((store) => ({
  stage: store.prepare<[set: number, ...ReturnType<typeof valuesOf>]>(
    `INSERT INTO record_rows (record_set, ${COLUMNS}) VALUES (${'?, '.repeat(17)}?)`,
  ),
  moveAll: store.prepare<[after: number, before: number]>('UPDATE record_rows SET record_set = ? WHERE record_set = ?'),
  move: store.prepare<[set: number, id: Uint8Array, seq: number]>(
    'UPDATE record_rows SET record_set = ?, id = ? WHERE seq = ?',
  ),
  rename: store.prepare<[after: Uint8Array, before: Uint8Array]>('UPDATE record_rows SET id = ? WHERE id = ?'),
}));

/** Stores a row in a set. */
export function stageRecord(store: Store, set: number, row: Omit<NewRecordRow, 'zone'>): void {
  statements(store).stage.run(set, ...valuesOf(row));
}

/** Gives all rows of a set to another one. */
export function moveRecords(store: Store, before: number, after: number): void {
  statements(store).moveAll.run(after, before);
}

/** Gives a row to another set under another identifier, so that its own is free. */
export function moveRecord(store: Store, seq: number, set: number, id: Uint8Array): void {
  statements(store).move.run(set, id, seq);
}

/** Changes the identifier of a row. */
export function renameRecord(store: Store, before: Uint8Array, after: Uint8Array): void {
  statements(store).rename.run(after, before);
}
