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

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('events', EVENT)),
  prune: store.prepare<[seq: number]>('DELETE FROM events WHERE seq = ?'),
}));

/** Appends an event. Called by the kernel only, inside the write that made it. */
export function appendEvent(store: Store, row: NewEventRow): void {
  const { insert, prune } = statements(store);
  const seq = insert.run(...EVENT.values(row)).lastInsertRowid;
  if (seq % PRUNE_EVERY !== 0 || seq <= KEPT.kept) return;
  for (const old of entriesToPrune(store, KEPT, row.at_us)) prune.run(old);
}
