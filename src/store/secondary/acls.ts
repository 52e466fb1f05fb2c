/** Networks from which an account's zones may be transferred. */
import { perStore, type Store } from '../driver.js';

export interface TransferAclRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store number. */
  readonly account: number;
  readonly name: string;
  /** A network as the client wrote it; bits of a host are allowed. */
  readonly ip_range: string;
  /** Microseconds since 1970. */
  readonly created_at: number;
  readonly modified_at: number;
}

type Values = Pick<TransferAclRow, 'name' | 'ip_range'>;

const statements = perStore((store) => ({
  byId: store.prepare<[id: Uint8Array], TransferAclRow>('SELECT * FROM transfer_acls WHERE id = ?'),
  ofAccount: store.prepare<[account: number], TransferAclRow>(
    'SELECT * FROM transfer_acls WHERE account = ? ORDER BY seq',
  ),
  insert: store.prepare<
    [id: Uint8Array, account: number, name: string, ipRange: string, createdAt: number, modifiedAt: number]
  >('INSERT INTO transfer_acls (id, account, name, ip_range, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)'),
  update: store.prepare<[name: string, ipRange: string, modifiedAt: number, seq: number]>(
    'UPDATE transfer_acls SET name = ?, ip_range = ?, modified_at = ? WHERE seq = ?',
  ),
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
export function insertTransferAcl(
  store: Store,
  id: Uint8Array,
  account: number,
  { name, ip_range: ipRange }: Values,
  now: number,
): void {
  statements(store).insert.run(id, account, name, ipRange, now, now);
}

export function updateTransferAcl(store: Store, seq: number, { name, ip_range: ipRange }: Values, now: number): void {
  statements(store).update.run(name, ipRange, now, seq);
}

export function removeTransferAcl(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}
