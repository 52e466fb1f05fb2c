/** Reads rows for tests in ways that the program itself never needs. */

import type { Store } from '../../src/store/driver.js';
import type { EventRow } from '../../src/store/log/events.js';

/** The newest events, the newest first. */
export function latestEvents(store: Store, limit: number): EventRow[] {
  return store.prepare<[number], EventRow>('SELECT * FROM events ORDER BY seq DESC LIMIT ?').all(limit);
}

export function countRecords(store: Store, zone: number): number {
  return store.prepareTuples<[number], [number]>('SELECT count(*) FROM records WHERE zone = ?').get(zone)![0];
}

/** The parts of an object, or of an upload that is to become one, by its key. */
export function objectParts(store: Store, key: string): { readonly number: number; readonly first: number }[] {
  return store
    .prepare<[string], { number: number; first: number }>(
      `SELECT number, first FROM parts JOIN uploads ON uploads.seq = upload WHERE key = ? ORDER BY number`,
    )
    .all(key);
}
