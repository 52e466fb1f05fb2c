/** Private keys of zones: how they are made, and how they are opened again. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { dnskeyRdata, readPublicKey } from './key.js';

/** Flags of the DNSKEY of a key that signs the keys of its zone, and of one that signs everything else (RFC 4034 §2.1.1). */
export const KSK_FLAGS = 257;
export const ZSK_FLAGS = 256;

/** Algorithms of new keys: ECDSA with P-256 and Ed25519 (RFC 8624 §3.1). */
export type NewKeyAlgorithm = 13 | 15;

export interface SigningKey {
  /** Rdata of the DNSKEY. */
  readonly dnskey: Uint8Array;
  readonly algorithm: number;
  readonly tag: number;
  /** Whether it signs the DNSKEY, CDS and CDNSKEY RRsets, and a DS may point to it. */
  readonly isEntryPoint: boolean;
  readonly key: KeyObject;
}

export interface KeyMaterial {
  /** Rdata of the DNSKEY. */
  readonly dnskey: Uint8Array;
  /** The private key: PKCS #8 in DER. */
  readonly pkcs8: Uint8Array;
}

/** Why octets are not a private key for a zone. */
export class SigningKeyError extends Error {
  constructor(
    readonly code: 'unreadable' | 'other-algorithm' | 'other-key',
    message: string,
  ) {
    super(message);
    this.name = 'SigningKeyError';
  }
}

/** A new key. */
export function generateKey(algorithm: NewKeyAlgorithm, flags: typeof KSK_FLAGS | typeof ZSK_FLAGS): KeyMaterial {
  const { privateKey } =
    algorithm === 13 ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
  return keyMaterial(privateKey, algorithm, flags);
}

/** A private key of another program with the DNSKEY that belongs to it. */
export function keyMaterial(key: KeyObject, algorithm: number, flags: number): KeyMaterial {
  return { dnskey: dnskeyRdata(key, algorithm, flags), pkcs8: key.export({ format: 'der', type: 'pkcs8' }) };
}

/** Opens a key for signing. Throws a SigningKeyError when the private key is not the one of the DNSKEY. */
export function openKey(dnskey: Uint8Array, pkcs8: Uint8Array): SigningKey {
  const key = readPkcs8(pkcs8);
  const { algorithm, tag, isEntryPoint, key: publicKey } = readPublicKey(dnskey);
  if (!publicKey?.equals(createPublicKey(key))) {
    throw new SigningKeyError('other-key', `the private key does not belong to the DNSKEY with the tag ${tag}`);
  }
  return { dnskey, algorithm, tag, isEntryPoint, key };
}

function readPkcs8(pkcs8: Uint8Array): KeyObject {
  try {
    return createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' });
  } catch {
    throw new SigningKeyError('unreadable', 'the octets are not a private key in PKCS #8');
  }
}
