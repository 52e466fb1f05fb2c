/** Where signing puts its results: into rows, or nowhere when it only finds out what is to be signed. */
import { ensureHashed, type HashedRow, putHashed } from '../../../store/dnssec/hashed.js';
import { putSignatures, removeSignatures, removeSignaturesBetween } from '../../../store/dnssec/signatures.js';
import type { Store } from '../../../store/driver.js';

export interface SignedRows {
  /** `firstExpiry`: when the first of the signatures ends, seconds since 1970. */
  put(ownerKey: Uint8Array, firstExpiry: number | null, octets: Uint8Array): void;
  remove(ownerKey: Uint8Array): void;
  /** Removes all after an owner. */
  removeAfter(ownerKey: Uint8Array): void;
  putHashed(row: HashedRow, firstExpiry: number | null): void;
  /** Adds a row without a signature, unless there is one. */
  ensureHashed(row: HashedRow): void;
}

/** The rows of a zone. */
export function rowsOfZone(store: Store, zone: number): SignedRows {
  return {
    put: (ownerKey, expiry, octets) => putSignatures(store, zone, ownerKey, expiry, octets),
    remove: (ownerKey) => removeSignatures(store, zone, ownerKey),
    removeAfter: (ownerKey) => removeSignaturesBetween(store, zone, ownerKey, undefined),
    putHashed: (row, expiry) => putHashed(store, zone, row, expiry),
    ensureHashed: (row) => ensureHashed(store, zone, row),
  };
}

const nothing = (): void => {};

/** Changes nothing. */
export const NO_ROWS: SignedRows = {
  put: nothing,
  remove: nothing,
  removeAfter: nothing,
  putHashed: nothing,
  ensureHashed: nothing,
};
