/** Rows of issued and uploaded certificates, and of ACME accounts. Times are milliseconds since 1970. */
import { allRows, column, columns, inserts, oneRow, type RowOf, runs } from '../columns.js';
import { perStore, type Store } from '../driver.js';

const ISSUED = columns({
  /** UUID. */
  id: column<string>(),
  request: column<number>(),
  /** Empty for uploaded certificates. */
  authority: column<string>(),
  uploaded: column<number>(),
  /** 1: it replaced a certificate that was served for the same names. */
  renewal: column<number>(),
  /** JSON list. */
  names: column<string>(),
  /** PEM, the end-entity certificate first. */
  chain: column<string>(),
  /** PKCS #8, sealed. */
  private_key: column<Uint8Array>(),
  issuer: column<string>(),
  /** Hexadecimal digits, lower case. */
  serial: column<string>(),
  /** The algorithm, such as `ECDSA-SHA256`. */
  signature: column<string>(),
  /** SHA-256 of the DER form, hexadecimal, lower case. */
  fingerprint: column<string>(),
  not_before: column<number>(),
  not_after: column<number>(),
});

export interface IssuedRow extends RowOf<typeof ISSUED> {
  readonly seq: number;
}

export type NewIssued = RowOf<typeof ISSUED>;

export interface AcmeAccountRow {
  /** UUID. */
  readonly id: string;
  readonly directory: string;
  /** PKCS #8, sealed. */
  readonly private_key: Uint8Array;
}

const statements = perStore((store) => ({
  insertAccount: store.prepare<[id: string, directory: string, privateKey: Uint8Array]>(
    'INSERT INTO acme_accounts (id, directory, private_key) VALUES (?, ?, ?) ON CONFLICT (directory) DO NOTHING',
  ),
}));

/** The newest first. */
export const issuedFor = allRows<[request: number], IssuedRow>(
  'SELECT * FROM certificates WHERE request = ? ORDER BY seq DESC',
);

/** Call inside a write. */
export const insertIssued = inserts('certificates', ISSUED);

/** Removes the certificates and keys of a request. Call inside a write. */
export const removeIssued = runs<[request: number]>('DELETE FROM certificates WHERE request = ?');

/** The account at an ACME directory. */
export const findAcmeAccount = oneRow<[directory: string], AcmeAccountRow>(
  'SELECT * FROM acme_accounts WHERE directory = ?',
);

/** An existing account stays unchanged. Call inside a write. */
export function insertAcmeAccount(store: Store, { id, directory, private_key }: AcmeAccountRow): void {
  statements(store).insertAccount.run(id, directory, private_key);
}
