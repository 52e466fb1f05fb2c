/** Networks from which an account's zones may be transferred. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const ACL = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  name: column<string>(),
  /** A network as the client wrote it; bits of a host are allowed. */
  ip_range: column<string>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface TransferAclRow extends RowOf<typeof ACL> {
  readonly seq: number;
}

/** What its owner sets. */
const VALUES = ACL.only('name', 'ip_range');

type Values = RowOf<typeof VALUES>;

const statements = perStore((store) => ({
  byId: store.prepare<[id: Uint8Array], TransferAclRow>('SELECT * FROM transfer_acls WHERE id = ?'),
  ofAccount: store.prepare<[account: number], TransferAclRow>(
    'SELECT * FROM transfer_acls WHERE account = ? ORDER BY seq',
  ),
  insert: store.prepare<SqlValue[]>(insertion('transfer_acls', ACL)),
  update: store.prepare<SqlValue[]>(`UPDATE transfer_acls SET ${VALUES.assignments}, modified_at = ? WHERE seq = ?`),
  remove: store.prepare<[seq: number]>('DELETE FROM transfer_acls WHERE seq = ?'),
}));

export function findTransferAcl(store: Store, id: Uint8Array): TransferAclRow | undefined {
  return statements(store).byId.get(id);
}

/** The oldest first. */
export function transferAclsOfAccount(store: Store, account: number): TransferAclRow[] {
  return statements(store).ofAccount.all(account);
}

/** `now`: microseconds since 1970. */
export function insertTransferAcl(store: Store, id: Uint8Array, account: number, values: Values, now: number): void {
  const row = { id, account, ...values, created_at: now, modified_at: now };
  statements(store).insert.run(...ACL.values(row));
}

export function updateTransferAcl(store: Store, seq: number, values: Values, now: number): void {
  statements(store).update.run(...VALUES.values(values), now, seq);
}

export function removeTransferAcl(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}
