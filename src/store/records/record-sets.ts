/**
 * The sets of records and of signatures. Each zone has one of records, and a signed one another of signatures. An import writes
 * new sets in many short transactions and gives them to its zone in one; the rows of a set that no zone has any more are
 * removed in parts.
 */

import { changesAny, runs, theValue } from '../columns.js';
import { removeSomeHashed } from '../dnssec/hashed.js';
import { removeSomeSignatures } from '../dnssec/signatures.js';
import { perStore, type Store } from '../driver.js';
import { placeOfSet } from './places.js';

const statements = perStore((store) => ({
  add: store.prepare<[state: 'staged' | 'used', writtenAt: number]>(
    'INSERT INTO record_sets (state, written_at) VALUES (?, ?)',
  ),
  touch: store.prepare<[writtenAt: number, set: number]>(
    "UPDATE record_sets SET written_at = ? WHERE number = ? AND state = 'staged'",
  ),
  drop: store.prepare<[set: number]>("UPDATE record_sets SET state = 'unused' WHERE number = ?"),
  firstUnused: store.prepareTuples<[], [set: number]>(
    "SELECT number FROM record_sets WHERE state = 'unused' ORDER BY number LIMIT 1",
  ),
  removeRows: store.prepare<[set: number, limit: number]>(
    `DELETE FROM record_rows WHERE seq IN (SELECT seq FROM record_rows INDEXED BY records_owner WHERE record_set = ?
       ORDER BY owner_key, type, rdata_key LIMIT ?)`,
  ),
  remove: store.prepare<[set: number]>('DELETE FROM record_sets WHERE number = ?'),
}));

/** Rows that one part removes; it takes about a millisecond. */
const PART = 100;

/** Adds a set for a zone, and returns its number. Instants are microseconds since 1970. */
export function addRecordSet(store: Store, nowUs: number): number {
  return statements(store).add.run('used', nowUs).lastInsertRowid;
}

/** Adds a set for an import. It is invisible until a zone has it. */
export function stageRecordSet(store: Store, nowUs: number): number {
  return statements(store).add.run('staged', nowUs).lastInsertRowid;
}

/** Notes that an import still writes a set; false when the set was given up meanwhile. */
export function touchRecordSet(store: Store, set: number, nowUs: number): boolean {
  return statements(store).touch.run(nowUs, set).changes === 1;
}

/** Notes that a zone has the staged set now; false when the set was given up meanwhile. */
export const useRecordSet = changesAny<[set: number]>(
  "UPDATE record_sets SET state = 'used' WHERE number = ? AND state = 'staged'",
);

/** Notes that no zone has the set any more, and removes it if it is small. True when nothing is left. */
export function dropRecordSet(store: Store, set: number): boolean {
  statements(store).drop.run(set);
  return removePart(store, set);
}

/** Gives up the sets of imports that wrote last before this time, in microseconds since 1970. */
export const abandonStagedSets = runs<[writtenBeforeUs: number]>(
  "UPDATE record_sets SET state = 'unused' WHERE state = 'staged' AND written_at < ?",
);

/** Removes some rows of an unused set; false when there is no unused set. */
export function removeUnusedPart(store: Store): boolean {
  const [set] = statements(store).firstUnused.get() ?? [];
  if (set === undefined) return false;
  removePart(store, set);
  return true;
}

export const countStagedSets = theValue<[], number>("SELECT count(*) FROM record_sets WHERE state = 'staged'");

/** True when the set is removed, with its last rows. */
function removePart(store: Store, set: number): boolean {
  const { removeRows, remove } = statements(store);
  if (removeRows.run(set, PART).changes === PART) return false;
  const place = placeOfSet(set);
  if (removeSomeSignatures(store, place, PART) || removeSomeHashed(store, place, PART)) return false;
  remove.run(set);
  return true;
}
