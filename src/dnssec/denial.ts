/** Rdata of the records that prove what does not exist: NSEC (RFC 4034 §4) and NSEC3 (RFC 5155 §3). */
import { concatBytes, equalBytes } from '../base/bytes.js';
import { lowerName } from '../dns/name.js';
import { encodeBitmap } from '../dns/rr/binary-fields.js';
import type { RRset } from '../dns/rr.js';

/** How names are hashed. The hash algorithm is SHA-1, the only one there is (RFC 5155 §11). */
export interface HashParameters {
  /** Additional ones. */
  readonly iterations: number;
  /** Up to 255 octets. */
  readonly salt: Uint8Array;
  /** Whether delegations without DS may be left out of the chain (RFC 5155 §6). */
  readonly optOut: boolean;
}

/** How a signed zone proves that something does not exist. */
export type Denial = { readonly kind: 'nsec' } | ({ readonly kind: 'nsec3' } & HashParameters);

/** Whether names are denied in the same way; undefined for an unsigned zone. */
export function isSameDenial(a: Denial | undefined, b: Denial | undefined): boolean {
  if (a?.kind !== 'nsec3' || b?.kind !== 'nsec3') return a?.kind === b?.kind;
  return a.iterations === b.iterations && a.optOut === b.optOut && equalBytes(a.salt, b.salt);
}

/** A member of an NSEC3 chain. Its owner name is the hash in Base 32, below the apex (RFC 5155 §3). */
export interface HashedOwner {
  /** 20 octets. */
  readonly hash: Uint8Array;
  /** The NSEC3 RRset: one record. */
  readonly rrset: RRset;
}

const SHA1 = 1;
const OPT_OUT = 1;

/** `next`: wire name of the next owner in canonical order; `types`: those of this owner, in any order. */
export function nsecRdata(next: Uint8Array, types: readonly number[]): Uint8Array {
  return concatBytes(lowerName(next), encodeBitmap(types));
}

/** `nextHash`: 20 octets. `types`: those of the owner, none for an empty non-terminal. */
export function nsec3Rdata(parameters: HashParameters, nextHash: Uint8Array, types: readonly number[]): Uint8Array {
  const { optOut } = parameters;
  const length = Uint8Array.of(nextHash.length);
  return concatBytes(hashFields(parameters, optOut ? OPT_OUT : 0), length, nextHash, encodeBitmap(types));
}

/** The record at the apex from which secondaries learn how names are hashed; its flags are zero (RFC 5155 §4.1.2). */
export function nsec3ParamRdata(parameters: HashParameters): Uint8Array {
  return hashFields(parameters, 0);
}

function hashFields({ iterations, salt }: HashParameters, flags: number): Uint8Array {
  return concatBytes(Uint8Array.of(SHA1, flags, iterations >>> 8, iterations & 0xff, salt.length), salt);
}
