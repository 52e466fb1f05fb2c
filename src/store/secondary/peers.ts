/** Servers of other operators, to which or from which an account's zones are transferred. */
import { allRows, column, columns, insertsOwned, oneRow, type RowOf, runs, updates } from '../columns.js';

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

export const findTransferPeer = oneRow<[seq: number], TransferPeerRow>('SELECT * FROM transfer_peers WHERE seq = ?');

export const findTransferPeerById = oneRow<[id: Uint8Array], TransferPeerRow>(
  'SELECT * FROM transfer_peers WHERE id = ?',
);

/** The oldest first. */
export const transferPeersOfAccount = allRows<[account: number], TransferPeerRow>(
  'SELECT * FROM transfer_peers WHERE account = ? ORDER BY seq',
);

/** Peers that use a key. */
export const transferPeersOfKey = allRows<[tsig: number], TransferPeerRow>(
  'SELECT * FROM transfer_peers WHERE tsig = ? ORDER BY seq',
);

/** `now`: microseconds since 1970. */
export const insertTransferPeer = insertsOwned<Values>('transfer_peers', PEER);

export const updateTransferPeer = updates('transfer_peers', VALUES);

export const removeTransferPeer = runs<[seq: number]>('DELETE FROM transfer_peers WHERE seq = ?');
