/** Compares the records of two sets, a part at a time. */
import { compareBytes, equalBytes } from '../../base/bytes.js';
import { allRows, oneRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import type { RecordRow } from './records.js';

type Compared = Pick<RecordRow, 'seq' | 'owner_key' | 'type' | 'rdata_key' | 'rdata' | 'ttl' | 'proxied'>;

/** A record that only one of the sets has, or that both have with different TTLs or upper and lower case. */
export interface SetDifference {
  readonly before: Compared | undefined;
  readonly after: Compared | undefined;
}

/** Rows read in one step, in less than a millisecond. */
const CHUNK = 200;

const statements = perStore((store) => ({
  part: store.prepare<[set: number, ownerKey: Uint8Array, type: number, rdataKey: Uint8Array, limit: number], Compared>(
    `SELECT seq, owner_key, type, rdata_key, rdata, ttl, proxied FROM record_rows
     WHERE record_set = ? AND (owner_key, type, rdata_key) > (?, ?, ?) ORDER BY owner_key, type, rdata_key LIMIT ?`,
  ),
  removeSame: store.prepare<[set: number, seq: number]>(
    `DELETE FROM record_rows WHERE record_set = ? AND (owner_key, type, rdata_key) =
       (SELECT owner_key, type, rdata_key FROM record_rows WHERE seq = ?)`,
  ),
  move: store.prepare<[after: number, seq: number, before: number]>(
    'UPDATE record_rows SET record_set = ? WHERE seq = ? AND record_set = ?',
  ),
}));

/** The records of a set in the order of the index. The caller may let others run after each; what is read later may be newer. */
export function* rowsOfSet(store: Store, set: number): Generator<Compared, void> {
  let last: Pick<Compared, 'owner_key' | 'type' | 'rdata_key'> = {
    owner_key: new Uint8Array(0),
    type: -1,
    rdata_key: new Uint8Array(0),
  };
  for (;;) {
    const rows = statements(store).part.all(set, last.owner_key, last.type, last.rdata_key, CHUNK);
    yield* rows;
    if (rows.length < CHUNK) return;
    last = rows.at(-1)!;
  }
}

/**
 * The differences between two sets, and undefined for what is the same. The caller may let others run after each; what is read
 * later may be newer.
 */
export function* compareSets(store: Store, before: number, after: number): Generator<SetDifference | undefined, void> {
  const [old, fresh] = [rowsOfSet(store, before), rowsOfSet(store, after)];
  let [a, b] = [old.next(), fresh.next()];
  while (!a.done || !b.done) {
    const [was, is] = [a.value ?? undefined, b.value ?? undefined];
    const order = !was ? 1 : !is ? -1 : compareKeys(was, is);
    if (order < 0) yield { before: was, after: undefined };
    else if (order > 0) yield { before: undefined, after: is };
    else yield isSame(was!, is!) ? undefined : { before: was, after: is };
    if (order <= 0) a = old.next();
    if (order >= 0) b = fresh.next();
  }
}

function isSame(a: Compared, b: Compared): boolean {
  return a.ttl === b.ttl && equalBytes(a.rdata, b.rdata);
}

function compareKeys(a: Compared, b: Compared): number {
  return compareBytes(a.owner_key, b.owner_key) || a.type - b.type || compareBytes(a.rdata_key, b.rdata_key);
}

/** A record of any set as one of a zone (store number). */
export const recordOfSet = oneRow<[zone: number, seq: number], RecordRow>(
  'SELECT ? AS zone, record_rows.* FROM record_rows WHERE seq = ?',
);

/** The proxied records of a set, and those of the apex. */
export const recordsThatMayBeOwn = allRows<
  [set: number],
  Compared
>(`SELECT seq, owner_key, type, rdata_key, rdata, ttl, proxied FROM record_rows
     WHERE record_set = ? AND (proxied = 1 OR owner_key = x'') ORDER BY seq`);

/**
 * Gives records of a set (store numbers) to another one, where they replace the same ones. Returns how many more that one has.
 */
export function giveRecords(store: Store, before: number, after: number, records: readonly number[]): number {
  const { removeSame, move } = statements(store);
  let more = 0;
  for (const seq of records) {
    more -= removeSame.run(after, seq).changes;
    more += move.run(after, seq, before).changes;
  }
  return more;
}
