/** The audit log: who changed what and when, with the state before and after. It never contains secrets. */
import { perStore, type Store } from '../driver.js';

export interface AuditRow {
  readonly seq: number;
  readonly at_us: number;
  readonly actor: string;
  readonly actor_kind: string;
  /** Identifier of the user; null for the operator. */
  readonly actor_id: Uint8Array | null;
  /** Source address of the request; null at the command line. */
  readonly address: string | null;
  readonly source: string;
  readonly action: string;
  readonly zone: Uint8Array | null;
  /** Store number of the account; null for entries that belong to no account. */
  readonly account: number | null;
  readonly object: Uint8Array | null;
  readonly request_id: string;
  /** JSON, or null. */
  readonly before: string | null;
  readonly after: string | null;
}

export type NewAuditRow = Omit<AuditRow, 'seq'>;

const KEPT_ENTRIES = 1_000_000;
const PRUNE_EVERY = 1000;

const statements = perStore((store) => ({
  insert: store.prepare<
    [
      number,
      string,
      string,
      Uint8Array | null,
      string | null,
      string,
      string,
      Uint8Array | null,
      number | null,
      Uint8Array | null,
      string,
      string | null,
      string | null,
    ]
  >(
    `INSERT INTO audit (at_us, actor, actor_kind, actor_id, address, source, action, zone, account, object, request_id,
       before, after)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  prune: store.prepare<[seq: number]>('DELETE FROM audit WHERE seq <= ?'),
}));

/** Appends an entry. Called from the one commit function only, inside its transaction. */
export function appendAudit(store: Store, row: NewAuditRow): void {
  const { insert, prune } = statements(store);
  const seq = insert.run(
    row.at_us,
    row.actor,
    row.actor_kind,
    row.actor_id,
    row.address,
    row.source,
    row.action,
    row.zone,
    row.account,
    row.object,
    row.request_id,
    row.before,
    row.after,
  ).lastInsertRowid;
  if (seq % PRUNE_EVERY === 0 && seq > KEPT_ENTRIES) prune.run(seq - KEPT_ENTRIES);
}
