/**
 * Sealed values: AES-256-GCM with a random nonce (NIST SP 800-38D §8.2.2). A sealed value consists of its form (1
 * octet), the identifier of its key (8), the nonce (12), the ciphertext and the tag (16). Form, key, table, column, row
 * and purpose are authenticated with it, so a value that was moved to another place does not open.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { concatBytes, toHex } from '../base/bytes.js';
import { invariant } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { SqlValue } from '../store/driver.js';
import { SEALED_HEADER_OCTETS, type SealedColumn, type SealPurpose } from '../store/sealed-columns.js';

/** Where a value is stored. */
export interface Place {
  readonly column: SealedColumn;
  readonly row: SqlValue;
}

/** What is derived from a master key: its public identifier, and a key for each requested purpose. */
export interface VaultKey {
  readonly id: Uint8Array;
  readonly byPurpose: ReadonlyMap<SealPurpose, KeyObject>;
}

export const MASTER_KEY_OCTETS = 32;
const FORM = 1;
const ID_OCTETS = SEALED_HEADER_OCTETS - 1;
const NONCE_OCTETS = 12;
const TAG_OCTETS = 16;
const LEAST_OCTETS = SEALED_HEADER_OCTETS + NONCE_OCTETS + TAG_OCTETS;

/**
 * Derives keys from a master key of 32 octets by HKDF with SHA-256 (RFC 5869). No derived key reveals anything about
 * another.
 */
export function deriveKey(master: Uint8Array, purposes: readonly SealPurpose[]): VaultKey {
  invariant(master.length === MASTER_KEY_OCTETS, 'a master key has 32 octets');
  const derive = (label: string, length: number): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', master, new Uint8Array(0), `zoneplane vault ${label}`, length));
  return {
    id: derive('key id', ID_OCTETS),
    byPurpose: new Map(
      purposes.map((purpose) => [purpose, createSecretKey(derive(`purpose ${purpose}`, MASTER_KEY_OCTETS))]),
    ),
  };
}

/** The first octets of every value that is sealed with the key of this identifier. */
export function headerOf(keyId: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(FORM), keyId);
}

/** The identifier of the key with which a value was sealed; undefined when the octets are not a sealed value. */
export function keyIdOf(sealed: Uint8Array): Uint8Array | undefined {
  return sealed.length < LEAST_OCTETS ? undefined : keyIdOfHeader(sealed.subarray(0, SEALED_HEADER_OCTETS));
}

/** The same for the first octets of such a value. */
export function keyIdOfHeader(header: Uint8Array): Uint8Array | undefined {
  return header.length === SEALED_HEADER_OCTETS && header[0] === FORM ? header.subarray(1) : undefined;
}

export function sealWith(
  key: KeyObject,
  keyId: Uint8Array,
  place: Place,
  plain: Uint8Array,
  random: Random,
): Uint8Array {
  const header = headerOf(keyId);
  const nonce = random.bytes(NONCE_OCTETS);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_OCTETS });
  cipher.setAAD(associated(header, place));
  return concatBytes(header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag());
}

/** Opens a value; undefined when the value or its place has changed since it was sealed. */
export function openWith(key: KeyObject, place: Place, sealed: Uint8Array): Uint8Array | undefined {
  if (keyIdOf(sealed) === undefined) return undefined;
  const bodyAt = SEALED_HEADER_OCTETS + NONCE_OCTETS;
  const tagAt = sealed.length - TAG_OCTETS;
  const nonce = sealed.subarray(SEALED_HEADER_OCTETS, bodyAt);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_OCTETS });
  decipher.setAAD(associated(sealed.subarray(0, SEALED_HEADER_OCTETS), place));
  decipher.setAuthTag(sealed.subarray(tagAt));
  try {
    return concatBytes(decipher.update(sealed.subarray(bodyAt, tagAt)), decipher.final());
  } catch {
    // `final` throws only when the tag does not match.
    return undefined;
  }
}

function associated(header: Uint8Array, { column: { table, column, purpose }, row }: Place): Uint8Array {
  // As JSON, different places never have the same text.
  const text = JSON.stringify([table, column, purpose, row instanceof Uint8Array ? { octets: toHex(row) } : row]);
  return concatBytes(header, Buffer.from(text));
}
