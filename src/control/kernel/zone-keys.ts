/** Private keys of zones, as those see them who sign; dnssec/zone-keys.ts has them. */
import type { SigningKey } from '../../dnssec/signing-key.js';
import type { DnssecKeyRow } from '../../store/dnssec/keys.js';

/** The private half of a key: it crosses to a thread as a handle, not as octets. */
export type ThreadKey = Pick<SigningKey, 'algorithm' | 'key'>;

/** One signature to be made. */
export interface SignatureOrder {
  readonly key: ThreadKey;
  /** What is to be signed. */
  readonly octets: Uint8Array;
}

/** RRSIG records that were made before the write that needs them, by key and signed data. */
export type MadeSignatures = ReadonlyMap<string, Uint8Array>;

/** The threads that make many signatures, so that others are answered meanwhile. */
export interface SignerThreads {
  /** The signatures in the order of the orders. Rejects when a thread fails. */
  sign(orders: readonly SignatureOrder[]): Promise<Uint8Array[]>;
}

export interface ZoneKeys {
  /** Seals a private key (PKCS #8) for the row with this identifier. Call inside the write that stores it. */
  seal(id: Uint8Array, pkcs8: Uint8Array): Uint8Array;
  /** Seals the private key of a row for DNS processes. Call inside the write that stores it; throws what `open` throws. */
  sealOnline(row: DnssecKeyRow): Uint8Array;
  /** Opens the private key of a row. Throws a VaultError or a SigningKeyError. */
  open(row: DnssecKeyRow): SigningKey;
  /** Threads that sign with opened keys. */
  readonly threads: SignerThreads;
}
