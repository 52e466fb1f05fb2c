/** Makes signatures of RRsets (RFC 4034 §3). */
import { sign } from 'node:crypto';
import { lowerName } from '../dns/name.js';
import type { RRset } from '../dns/rr.js';
import { hashOfAlgorithm } from './key.js';
import { signedLabels, signedOctets } from './signature.js';
import type { SigningKey } from './signing-key.js';

/** Seconds since 1970. */
export interface SignatureTimes {
  readonly inception: number;
  readonly expiration: number;
}

/** An RRSIG that lacks its signature. */
export interface UnfinishedSignature {
  /** Its rdata up to the signature. */
  readonly head: Uint8Array;
  /** What is to be signed. */
  readonly octets: Uint8Array;
}

/**
 * The RRSIG over an RRset without its signature. `apex`: the signer; `owner`: the owner of the RRset, for a wildcard with its
 * `*`. Both are wire names in any case.
 */
export function beginSignature(
  { algorithm, tag }: Pick<SigningKey, 'algorithm' | 'tag'>,
  apex: Uint8Array,
  owner: Uint8Array,
  { type, ttl, rdatas }: Pick<RRset, 'type' | 'ttl' | 'rdatas'>,
  { inception, expiration }: SignatureTimes,
): UnfinishedSignature {
  const fixed = Buffer.alloc(18);
  fixed.writeUInt16BE(type, 0);
  fixed[2] = algorithm;
  fixed[3] = signedLabels(owner);
  fixed.writeUInt32BE(ttl, 4);
  // Times are modulo 2^32 (RFC 4034 §3.1.5).
  fixed.writeUInt32BE(expiration >>> 0, 8);
  fixed.writeUInt32BE(inception >>> 0, 12);
  fixed.writeUInt16BE(tag, 16);
  const head = Buffer.concat([fixed, lowerName(apex)]);
  const octets = signedOctets(
    { head, typeCovered: type, labels: fixed[3], originalTtl: ttl, signer: apex },
    owner,
    rdatas,
  );
  return { head, octets };
}

/** The signature of these octets, as an RRSIG has it (RFC 6605 §4 for ECDSA). */
export function signOctets({ algorithm, key }: Pick<SigningKey, 'algorithm' | 'key'>, octets: Uint8Array): Uint8Array {
  // The key alone, because Node takes more than twice as long when it comes in an object that says the form of the signature.
  const made = sign(hashOfAlgorithm(algorithm), octets, key);
  const size = INTEGER_OCTETS.get(algorithm);
  return size === undefined ? made : concatenated(made, size);
}

/** Octets of a signature by a key. */
export function signatureSize({ algorithm, key }: Pick<SigningKey, 'algorithm' | 'key'>): number {
  const integer = INTEGER_OCTETS.get(algorithm);
  if (integer !== undefined) return 2 * integer;
  const size = EDDSA_OCTETS.get(algorithm);
  // That of an RSA signature is the size of the modulus (RFC 3110 §3).
  return size ?? key.asymmetricKeyDetails!.modulusLength! / 8;
}

/** Octets of a signature, by algorithm (RFC 8080 §4). */
const EDDSA_OCTETS: ReadonlyMap<number, number> = new Map([
  [15, 64],
  [16, 114],
]);

/** Octets of each of the two integers of an ECDSA signature, by algorithm (RFC 6605 §4). */
const INTEGER_OCTETS: ReadonlyMap<number, number> = new Map([
  [13, 32],
  [14, 48],
]);

/** An ECDSA signature in DER (RFC 3279 §2.2.3) as the concatenation of its integers (RFC 6605 §4). */
function concatenated(der: Uint8Array, size: number): Uint8Array {
  const signature = new Uint8Array(2 * size);
  // A sequence with a length of one octet, as long as it is below 128.
  let at = 2;
  for (const end of [size, 2 * size]) {
    const length = der[at + 1]!;
    // A leading zero makes an integer positive; short ones are padded.
    const from = at + 2 + Math.max(0, length - size);
    signature.set(der.subarray(from, at + 2 + length), end - Math.min(length, size));
    at += 2 + length;
  }
  return signature;
}
