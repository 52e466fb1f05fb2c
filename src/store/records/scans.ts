/** Scans of zones and their findings. Times are milliseconds since 1970. */

import { oneRow, runs, theValue } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface ScanRow {
  readonly seq: number;
  readonly zone: number;
  /** 1: the findings wait for a review. */
  readonly reviewed: number;
  readonly began_at: number;
  readonly ended: number;
}

const statements = perStore((store) => ({
  find: store.prepareTuples<[seq: number], [1]>('SELECT 1 FROM scans WHERE seq = ?'),
  insert: store.prepare<[zone: number, reviewed: number, beganMs: number]>(
    'INSERT INTO scans (zone, reviewed, began_at) VALUES (?, ?, ?)',
  ),
  removeOld: store.prepare<[beforeMs: number]>('DELETE FROM scans WHERE began_at <= ?'),
  removeMany: store.prepare<[account: number, account: number, kept: number]>(
    `DELETE FROM scans WHERE ended = 1 AND zone IN (SELECT seq FROM zones WHERE account = ?)
      AND seq NOT IN (SELECT scans.seq FROM scans JOIN zones ON zones.seq = scans.zone
        WHERE ended = 1 AND zones.account = ? ORDER BY scans.seq DESC LIMIT ?)`,
  ),
  insertRecord: store.prepare<[scan: number, id: Uint8Array, item: string]>(
    'INSERT INTO scan_records (scan, id, item) VALUES (?, ?, ?)',
  ),
  items: store.prepareTuples<[scan: number], [string]>('SELECT item FROM scan_records WHERE scan = ? ORDER BY id'),
}));

/** The scan of a zone whose findings wait for a review, if it began after `sinceMs`. */
export const findReviewedScan = oneRow<[zone: number, sinceMs: number], ScanRow>(
  'SELECT * FROM scans WHERE zone = ? AND reviewed = 1 AND began_at > ?',
);

/** Scans that began after `sinceMs` and have not ended. */
export const countRunningScans = theValue<[sinceMs: number], number>(
  'SELECT count(*) FROM scans WHERE ended = 0 AND began_at > ?',
);

/** The same, of the zones of one account (store number). */
export const countRunningScansOfAccount = theValue<
  [sinceMs: number, account: number],
  number
>(`SELECT count(*) FROM scans JOIN zones ON zones.seq = scans.zone
     WHERE ended = 0 AND began_at > ? AND zones.account = ?`);

/** Returns the row number of the new scan. */
export function insertScan(store: Store, { zone, reviewed, began_at }: Omit<ScanRow, 'seq' | 'ended'>): number {
  return statements(store).insert.run(zone, reviewed, began_at).lastInsertRowid;
}

export const endScan = runs<[seq: number]>('UPDATE scans SET ended = 1 WHERE seq = ?');

/** Removes the scan with its findings. */
export const removeScan = runs<[seq: number]>('DELETE FROM scans WHERE seq = ?');

/** Removes scans that began at or before `untilMs`, and all ended scans of an account (store number) except the latest `kept`. */
export function removeOldScans(store: Store, untilMs: number, account: number, kept: number): void {
  statements(store).removeOld.run(untilMs);
  statements(store).removeMany.run(account, account, kept);
}

/** Stores a found record as JSON. Does nothing when the scan, or its zone, has been deleted. */
export function insertScanRecord(store: Store, scan: number, id: Uint8Array, item: string): void {
  if (statements(store).find.get(scan)) statements(store).insertRecord.run(scan, id, item);
}

export const removeScanRecord = runs<[scan: number, id: Uint8Array]>(
  'DELETE FROM scan_records WHERE scan = ? AND id = ?',
);

/** Undecided findings of a scan as JSON, in the order in which they were found. */
export function scanRecords(store: Store, scan: number): string[] {
  return statements(store)
    .items.all(scan)
    .map(([item]) => item);
}
