/**
 * The outbox: what happened, one row for each commit and subject, with the state before and after. It never contains secrets. Its
 * numbers grow and are never used again, so a reader that remembers the last one misses nothing that is still kept.
 */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { entriesToPrune, type PrunedLog } from './prune.js';

const EVENT = columns({
  at_us: column<number>(),
  /** Such as `record.create`. */
  kind: column<string>(),
  /** Identifier of the subject, and what people call it. */
  subject: column<Uint8Array | null>(),
  name: column<string | null>(),
  zone: column<Uint8Array | null>(),
  zone_name: column<string | null>(),
  /** Store number of the account; null for what belongs to no account. */
  account: column<number | null>(),
  actor: column<string>(),
  actor_kind: column<string>(),
  /** Identifier of the user; null for the operator. */
  actor_id: column<Uint8Array | null>(),
  credential: column<Uint8Array | null>(),
  credential_name: column<string | null>(),
  /** Source address of the request; null at the command line. */
  address: column<string | null>(),
  source: column<string>(),
  request_id: column<string>(),
  /** Number in the change log. */
  change: column<number | null>(),
  /** JSON, or null. */
  before: column<string | null>(),
  after: column<string | null>(),
});

export interface EventRow extends RowOf<typeof EVENT> {
  readonly seq: number;
}

export type NewEventRow = RowOf<typeof EVENT>;

const KEPT: PrunedLog = { table: 'events', kept: 1_000_000, newest: 0 };
const PRUNE_EVERY = 1000;
/** Rows that one statement inserts: each costs half as much then. */
const ROWS_AT_ONCE = 16;

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('events', EVENT)),
  insertMany: store.prepare<SqlValue[]>(insertion('events', EVENT, ROWS_AT_ONCE)),
  prune: store.prepare<[seq: number]>('DELETE FROM events WHERE seq = ?'),
  from: store.prepareTuples<[seq: number], [seq: number, atUs: number]>(
    'SELECT seq, at_us FROM events WHERE seq >= ? ORDER BY seq LIMIT 1',
  ),
  last: store.prepareTuples<[], [number | null]>('SELECT max(seq) FROM events'),
}));

/** The first event after a moment. */
export interface FirstEvent {
  readonly seq: number;
  readonly atUs: number;
  /** Earlier events were removed; some of them may have been after that moment, too. */
  readonly isOldest: boolean;
}

/** Searches the events of all accounts, which are in the order of time unless the clock was set back. Undefined: none. */
export function firstEventAfter(store: Store, atUs: number): FirstEvent | undefined {
  const { from, last } = statements(store);
  let found: FirstEvent | undefined;
  const oldest = from.get(0)?.[0] ?? 0;
  for (let [low, high] = [oldest, last.get()?.[0] ?? -1]; low <= high; ) {
    const middle = Math.floor((low + high) / 2);
    const [seq, at] = from.get(middle)!;
    if (at > atUs) {
      found = { seq, atUs: at, isOldest: seq === oldest && seq > 1 };
      high = middle - 1;
    } else low = seq + 1;
  }
  return found;
}

/** Appends events. Called by the kernel only, inside the write that made them. */
export function appendEvents(store: Store, rows: readonly NewEventRow[]): void {
  const { insert, insertMany, prune } = statements(store);
  let seq = 0;
  for (let at = 0; at < rows.length; ) {
    const some = rows.slice(at, at + ROWS_AT_ONCE);
    const isWhole = some.length === ROWS_AT_ONCE;
    const inserted = isWhole ? insertMany.run(...some.flatMap(EVENT.values)) : insert.run(...EVENT.values(some[0]!));
    seq = inserted.lastInsertRowid;
    at += isWhole ? ROWS_AT_ONCE : 1;
  }
  if (seq % PRUNE_EVERY >= rows.length || seq <= KEPT.kept) return;
  for (const old of entriesToPrune(store, KEPT, rows[0]!.at_us)) prune.run(old);
}
