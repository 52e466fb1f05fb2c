/** Servers of other operators, to which or from which an account's zones are transferred. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const PEER = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  name: column<string>(),
  /** Its address; null: it is known by its key only. */
  ip: column<string | null>(),
  /** For NOTIFY and questions for the SOA. */
  port: column<number>(),
  ixfr_enable: column<number>(),
  /** Store number of its key. */
  tsig: column<number | null>(),
  /** The name in its certificate; null: its transfers come over TCP unless there is a pin. */
  tls_name: column<string | null>(),
  /** SHA-256 hash of the public key of its certificate (SubjectPublicKeyInfo), 32 octets; null: any key. */
  tls_pin: column<Uint8Array | null>(),
  /** 1: the operator named its address, which may be a private one. */
  by_operator: column<number>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface TransferPeerRow extends RowOf<typeof PEER> {
  readonly seq: number;
}

/** What its owner sets. */
const VALUES = PEER.only('name', 'ip', 'port', 'ixfr_enable', 'tsig', 'tls_name', 'tls_pin', 'by_operator');

type Values = RowOf<typeof VALUES>;

const statements = perStore((store) => ({
  bySeq: store.prepare<[seq: number], TransferPeerRow>('SELECT * FROM transfer_peers WHERE seq = ?'),
  byId: store.prepare<[id: Uint8Array], TransferPeerRow>('SELECT * FROM transfer_peers WHERE id = ?'),
  ofAccount: store.prepare<[account: number], TransferPeerRow>(
    'SELECT * FROM transfer_peers WHERE account = ? ORDER BY seq',
  ),
  ofKey: store.prepare<[tsig: number], TransferPeerRow>('SELECT * FROM transfer_peers WHERE tsig = ? ORDER BY seq'),
  insert: store.prepare<SqlValue[]>(insertion('transfer_peers', PEER)),
  update: store.prepare<SqlValue[]>(`UPDATE transfer_peers SET ${VALUES.assignments}, modified_at = ? WHERE seq = ?`),
  remove: store.prepare<[seq: number]>('DELETE FROM transfer_peers WHERE seq = ?'),
}));

export function findTransferPeer(store: Store, seq: number): TransferPeerRow | undefined {
  return statements(store).bySeq.get(seq);
}

export function findTransferPeerById(store: Store, id: Uint8Array): TransferPeerRow | undefined {
  return statements(store).byId.get(id);
}

/** The oldest first. */
export function transferPeersOfAccount(store: Store, account: number): TransferPeerRow[] {
  return statements(store).ofAccount.all(account);
}

/** Peers that use a key. */
export function transferPeersOfKey(store: Store, tsig: number): TransferPeerRow[] {
  return statements(store).ofKey.all(tsig);
}

/** `now`: microseconds since 1970. */
export function insertTransferPeer(store: Store, id: Uint8Array, account: number, values: Values, now: number): void {
  const row = { id, account, ...values, created_at: now, modified_at: now };
  statements(store).insert.run(...PEER.values(row));
}

export function updateTransferPeer(store: Store, seq: number, values: Values, now: number): void {
  statements(store).update.run(...VALUES.values(values), now, seq);
}

export function removeTransferPeer(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}
