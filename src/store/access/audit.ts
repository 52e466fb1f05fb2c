/** The audit log: who changed what and when, with the state before and after. It never contains secrets. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { entriesToPrune, type PrunedLog } from '../log/prune.js';

const ENTRY = columns({
  at_us: column<number>(),
  actor: column<string>(),
  actor_kind: column<string>(),
  /** Identifier of the user; null for the operator. */
  actor_id: column<Uint8Array | null>(),
  /** Source address of the request; null at the command line. */
  address: column<string | null>(),
  source: column<string>(),
  action: column<string>(),
  zone: column<Uint8Array | null>(),
  /** Store number of the account; null for entries that belong to no account. */
  account: column<number | null>(),
  object: column<Uint8Array | null>(),
  request_id: column<string>(),
  /** JSON, or null. */
  before: column<string | null>(),
  after: column<string | null>(),
});

export interface AuditRow extends RowOf<typeof ENTRY> {
  readonly seq: number;
}

export type NewAuditRow = RowOf<typeof ENTRY>;

const KEPT: PrunedLog = { table: 'audit', kept: 1_000_000, newest: 0 };
const PRUNE_EVERY = 1000;

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('audit', ENTRY)),
  prune: store.prepare<[seq: number]>('DELETE FROM audit WHERE seq = ?'),
}));

/** Appends an entry. Called from the one commit function only, inside its transaction. */
export function appendAudit(store: Store, row: NewAuditRow): void {
  const { insert, prune } = statements(store);
  const seq = insert.run(...ENTRY.values(row)).lastInsertRowid;
  if (seq % PRUNE_EVERY !== 0 || seq <= KEPT.kept) return;
  for (const old of entriesToPrune(store, KEPT, row.at_us)) prune.run(old);
}
