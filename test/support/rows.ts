/** Reads rows for tests in ways that the program itself never needs. */
import type { AuditRow } from '../../src/store/access/audit.js';
import type { Store } from '../../src/store/driver.js';

/** The newest entries of the audit log, the newest first. */
export function latestAudit(store: Store, limit: number): AuditRow[] {
  return store.prepare<[number], AuditRow>('SELECT * FROM audit ORDER BY seq DESC LIMIT ?').all(limit);
}

export function countRecords(store: Store, zone: number): number {
  return store.prepareTuples<[number], [number]>('SELECT count(*) FROM records WHERE zone = ?').get(zone)![0];
}
