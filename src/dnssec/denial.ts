/** Rdata of the records that prove what does not exist: NSEC (RFC 4034 §4) and NSEC3 (RFC 5155 §3). */
import { concatBytes, equalBytes } from '../base/bytes.js';
import { lowerName } from '../dns/name.js';
import type { RRset } from '../dns/rr.js';
import { encodeBitmap } from '../dns/type-bitmap.js';

/** How names are hashed. The hash algorithm is SHA-1, the only one there is (RFC 5155 §11). */
export interface HashParameters {
  /** Additional ones. */
  readonly iterations: number;
  /** Up to 255 octets. */
  readonly salt: Uint8Array;
  /** Whether delegations without DS may be left out of the chain (RFC 5155 §6). */
  readonly optOut: boolean;
}

/**
 * How a signed zone proves that something does not exist. 'compact': each NSEC record is about its own name alone, and that of
 * a name that does not exist is made when it is asked for (RFC 9824).
 */
export type Denial =
  | { readonly kind: 'nsec' }
  | { readonly kind: 'compact' }
  | ({ readonly kind: 'nsec3' } & HashParameters);

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

/** The NSEC record of a zone with compact denial: from the name to the one directly behind it (RFC 9824 §3.1). */
export function compactNsecRdata(owner: Uint8Array, types: readonly number[]): Uint8Array {
  return nsecRdata(nameBehind(lowerName(owner)), types);
}

const LONGEST_NAME = 255;
const LONGEST_LABEL = 63;

/**
 * The name directly behind one in lower case in canonical order: `\000` below it. No name can stand below one of 254 octets or
 * more; then its first label grows, or is replaced by the next one (RFC 4471 §3.1.2). The root behind the very last.
 */
export function nameBehind(name: Uint8Array): Uint8Array {
  if (name.length + 2 <= LONGEST_NAME) return concatBytes(Uint8Array.of(1, 0), name);
  return name.length < LONGEST_NAME ? nameBeyond(name) : nextSibling(name);
}

/** The first name that is neither this one nor below it; it has room for one more octet. */
function nameBeyond(name: Uint8Array): Uint8Array {
  const length = name[0]!;
  if (length === 0) return name;
  if (length === LONGEST_LABEL) return nextSibling(name);
  const label = name.subarray(1, 1 + length);
  return concatBytes(Uint8Array.of(length + 1), label, Uint8Array.of(0), name.subarray(1 + length));
}

/** The same where the first label cannot grow. */
function nextSibling(name: Uint8Array): Uint8Array {
  const length = name[0]!;
  const [label, parent] = [name.subarray(1, 1 + length), name.subarray(1 + length)];
  const last = label.findLastIndex((octet) => octet !== 0xff);
  if (last < 0) return nameBeyond(parent);
  return concatBytes(
    Uint8Array.of(last + 1),
    label.subarray(0, last),
    Uint8Array.of(octetBehind(label[last]!)),
    parent,
  );
}

/** The octet behind one; upper-case letters are those of lower case (RFC 4034 §6.1). */
function octetBehind(octet: number): number {
  return octet === 0x40 ? 0x5b : octet + 1;
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
