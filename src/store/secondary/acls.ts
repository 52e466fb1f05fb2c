/** Networks from which an account's zones may be transferred. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { allRows, oneRow, runs } from '../query.js';

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
  insert: store.prepare<SqlValue[]>(insertion('transfer_acls', ACL)),
  update: store.prepare<SqlValue[]>(`UPDATE transfer_acls SET ${VALUES.assignments}, modified_at = ? WHERE seq = ?`),
}));

export const findTransferAcl = oneRow<[id: Uint8Array], TransferAclRow>('SELECT * FROM transfer_acls WHERE id = ?');

/** The oldest first. */
export const transferAclsOfAccount = allRows<[account: number], TransferAclRow>(
  'SELECT * FROM transfer_acls WHERE account = ? ORDER BY seq',
);

/** `now`: microseconds since 1970. */
export function insertTransferAcl(store: Store, id: Uint8Array, account: number, values: Values, now: number): void {
  const row = { id, account, ...values, created_at: now, modified_at: now };
  statements(store).insert.run(...ACL.values(row));
}

export function updateTransferAcl(store: Store, seq: number, values: Values, now: number): void {
  statements(store).update.run(...VALUES.values(values), now, seq);
}

export const removeTransferAcl = runs<[seq: number]>('DELETE FROM transfer_acls WHERE seq = ?');
