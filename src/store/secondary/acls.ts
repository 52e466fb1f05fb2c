/** Networks from which an account's zones may be transferred. */
import { allRows, column, columns, insertsOwned, oneRow, type RowOf, runs, updates } from '../columns.js';

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

export const findTransferAcl = oneRow<[id: Uint8Array], TransferAclRow>('SELECT * FROM transfer_acls WHERE id = ?');

/** The oldest first. */
export const transferAclsOfAccount = allRows<[account: number], TransferAclRow>(
  'SELECT * FROM transfer_acls WHERE account = ? ORDER BY seq',
);

/** `now`: microseconds since 1970. */
export const insertTransferAcl = insertsOwned<Values>('transfer_acls', ACL);

export const updateTransferAcl = updates('transfer_acls', VALUES);

export const removeTransferAcl = runs<[seq: number]>('DELETE FROM transfer_acls WHERE seq = ?');
