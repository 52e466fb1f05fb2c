/** Rows of issued and uploaded certificates, and of ACME accounts. Times are milliseconds since 1970. */
import { perStore, type Store } from '../driver.js';

export interface IssuedRow {
  readonly seq: number;
  /** UUID. */
  readonly id: string;
  readonly request: number;
  /** Empty for uploaded certificates. */
  readonly authority: string;
  readonly uploaded: number;
  /** 1: it replaced a certificate that was served for the same names. */
  readonly renewal: number;
  /** JSON list. */
  readonly names: string;
  /** PEM, the end-entity certificate first. */
  readonly chain: string;
  /** PKCS #8, sealed. */
  readonly private_key: Uint8Array;
  readonly issuer: string;
  /** Hexadecimal digits, lower case. */
  readonly serial: string;
  /** The algorithm, such as `ECDSA-SHA256`. */
  readonly signature: string;
  /** SHA-256 of the DER form, hexadecimal, lower case. */
  readonly fingerprint: string;
  readonly not_before: number;
  readonly not_after: number;
}

export type NewIssued = Omit<IssuedRow, 'seq'>;

export interface AcmeAccountRow {
  /** UUID. */
  readonly id: string;
  readonly directory: string;
  /** PKCS #8, sealed. */
  readonly private_key: Uint8Array;
}

const statements = perStore((store) => ({
  ofRequest: store.prepare<[request: number], IssuedRow>(
    'SELECT * FROM certificates WHERE request = ? ORDER BY seq DESC',
  ),
  insert: store.prepare<
    [
      id: string,
      request: number,
      authority: string,
      uploaded: number,
      renewal: number,
      names: string,
      chain: string,
      privateKey: Uint8Array,
      issuer: string,
      serial: string,
      signature: string,
      fingerprint: string,
      notBefore: number,
      notAfter: number,
    ]
  >(
    `INSERT INTO certificates (id, request, authority, uploaded, renewal, names, chain, private_key, issuer, serial,
       signature, fingerprint, not_before, not_after)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  removeAll: store.prepare<[request: number]>('DELETE FROM certificates WHERE request = ?'),
  account: store.prepare<[directory: string], AcmeAccountRow>('SELECT * FROM acme_accounts WHERE directory = ?'),
  insertAccount: store.prepare<[id: string, directory: string, privateKey: Uint8Array]>(
    'INSERT INTO acme_accounts (id, directory, private_key) VALUES (?, ?, ?) ON CONFLICT (directory) DO NOTHING',
  ),
}));

/** The newest first. */
export function issuedFor(store: Store, request: number): readonly IssuedRow[] {
  return statements(store).ofRequest.all(request);
}

/** Call inside a write. */
export function insertIssued(store: Store, row: NewIssued): void {
  statements(store).insert.run(
    row.id,
    row.request,
    row.authority,
    row.uploaded,
    row.renewal,
    row.names,
    row.chain,
    row.private_key,
    row.issuer,
    row.serial,
    row.signature,
    row.fingerprint,
    row.not_before,
    row.not_after,
  );
}

/** Removes the certificates and keys of a request. Call inside a write. */
export function removeIssued(store: Store, request: number): void {
  statements(store).removeAll.run(request);
}

/** The account at an ACME directory. */
export function findAcmeAccount(store: Store, directory: string): AcmeAccountRow | undefined {
  return statements(store).account.get(directory);
}

/** An existing account stays unchanged. Call inside a write. */
export function insertAcmeAccount(store: Store, { id, directory, private_key }: AcmeAccountRow): void {
  statements(store).insertAccount.run(id, directory, private_key);
}
