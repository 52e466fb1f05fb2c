/** Servers of other operators, to which or from which an account's zones are transferred. */
import { perStore, type Store } from '../driver.js';

export interface TransferPeerRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store number. */
  readonly account: number;
  readonly name: string;
  /** Its address; null: it is known by its key only. */
  readonly ip: string | null;
  /** For NOTIFY and questions for the SOA. */
  readonly port: number;
  readonly ixfr_enable: number;
  /** Store number of its key. */
  readonly tsig: number | null;
  /** The name in its certificate; null: its transfers come over TCP unless there is a pin. */
  readonly tls_name: string | null;
  /** SHA-256 hash of the public key of its certificate (SubjectPublicKeyInfo), 32 octets; null: any key. */
  readonly tls_pin: Uint8Array | null;
  /** Microseconds since 1970. */
  readonly created_at: number;
  readonly modified_at: number;
}

type Values = Pick<TransferPeerRow, 'name' | 'ip' | 'port' | 'ixfr_enable' | 'tsig' | 'tls_name' | 'tls_pin'>;

const statements = perStore((store) => ({
  bySeq: store.prepare<[seq: number], TransferPeerRow>('SELECT * FROM transfer_peers WHERE seq = ?'),
  byId: store.prepare<[id: Uint8Array], TransferPeerRow>('SELECT * FROM transfer_peers WHERE id = ?'),
  ofAccount: store.prepare<[account: number], TransferPeerRow>(
    'SELECT * FROM transfer_peers WHERE account = ? ORDER BY seq',
  ),
  ofKey: store.prepare<[tsig: number], TransferPeerRow>('SELECT * FROM transfer_peers WHERE tsig = ? ORDER BY seq'),
  insert: store.prepare<
    [
      id: Uint8Array,
      account: number,
      name: string,
      ip: string | null,
      port: number,
      ixfrEnable: number,
      tsig: number | null,
      tlsName: string | null,
      tlsPin: Uint8Array | null,
      createdAt: number,
      modifiedAt: number,
    ]
  >(
    `INSERT INTO transfer_peers (id, account, name, ip, port, ixfr_enable, tsig, tls_name, tls_pin, created_at, modified_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  update: store.prepare<
    [
      name: string,
      ip: string | null,
      port: number,
      ixfrEnable: number,
      tsig: number | null,
      tlsName: string | null,
      tlsPin: Uint8Array | null,
      modifiedAt: number,
      seq: number,
    ]
  >(
    `UPDATE transfer_peers SET name = ?, ip = ?, port = ?, ixfr_enable = ?, tsig = ?, tls_name = ?, tls_pin = ?,
       modified_at = ? WHERE seq = ?`,
  ),
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
  const { name, ip, port, ixfr_enable: ixfrEnable, tsig, tls_name: tlsName, tls_pin: tlsPin } = values;
  statements(store).insert.run(id, account, name, ip, port, ixfrEnable, tsig, tlsName, tlsPin, now, now);
}

export function updateTransferPeer(store: Store, seq: number, values: Values, now: number): void {
  const { name, ip, port, ixfr_enable: ixfrEnable, tsig, tls_name: tlsName, tls_pin: tlsPin } = values;
  statements(store).update.run(name, ip, port, ixfrEnable, tsig, tlsName, tlsPin, now, seq);
}

export function removeTransferPeer(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}
