/** Where signing puts its results: into rows, or into a list of what is to be stored later. */

import { ownerText } from '../../../serving/difference.js';
import { type SignedOwner, type SignedSet, writeSignedOwner } from '../../../serving/stored-signatures.js';
import {
  ensureHashed,
  type HashedRow,
  hashedAfter,
  hashedBefore,
  putHashed,
  removeHashed,
} from '../../../store/dnssec/hashed.js';
import {
  type NewSignatures,
  type PackedSignatures,
  putPackedSignatures,
  SignaturePacker,
} from '../../../store/dnssec/packed-signatures.js';
import {
  putSignatures,
  removeSignatures,
  removeSignaturesBetween,
  rewriteSignatures,
} from '../../../store/dnssec/signatures.js';
import type { Store } from '../../../store/driver.js';
import type { Place } from '../../../store/records/places.js';
import { plannedChain, UNSIGNED } from './planned-chain.js';

export interface SignedRows {
  /** `stored`: what is stored there, if that is known. */
  put(ownerKey: Uint8Array, owner: SignedOwner, stored?: SignedOwner): void;
  /** The same of some dozen owners. */
  putPacked(pack: PackedSignatures): void;
  remove(ownerKey: Uint8Array): void;
  /** Removes all after an owner. */
  removeAfter(ownerKey: Uint8Array): void;
  /** The NSEC3 record of a name, which is stored under its hash. */
  putHashed(hash: Uint8Array, ownerKey: Uint8Array, set: SignedSet): void;
  /** Adds a row without a record, unless there is one. */
  ensureHashed(hash: Uint8Array, ownerKey: Uint8Array): void;
  removeHashed(hash: Uint8Array): void;
  /** The hash after this one in the circle of the chain; the chain is not empty. */
  hashAfter(hash: Uint8Array): Uint8Array;
  /** The row before a hash. */
  hashedBefore(hash: Uint8Array): HashedRow | undefined;
}

/** The rows of a zone, or of a staged set. */
export function rowsOfZone(store: Store, zone: Place): SignedRows {
  return {
    put(ownerKey, owner, stored) {
      const expiry = firstExpiry(owner.sets);
      const octets = writeSignedOwner(owner);
      if (stored && firstExpiry(stored.sets) === expiry) rewriteSignatures(store, zone, ownerKey, octets);
      else putSignatures(store, zone, ownerKey, expiry, octets);
    },
    putPacked: (pack) => putPackedSignatures(store, zone, pack),
    remove: (ownerKey) => removeSignatures(store, zone, ownerKey),
    removeAfter: (ownerKey) => removeSignaturesBetween(store, zone, ownerKey, undefined),
    putHashed(hash, ownerKey, set) {
      const octets = writeSignedOwner({ standing: 'authority', redirects: false, sets: [set] });
      putHashed(store, zone, { hash, owner_key: ownerKey, octets }, firstExpiry([set]));
    },
    ensureHashed: (hash, ownerKey) => ensureHashed(store, zone, { hash, owner_key: ownerKey, octets: UNSIGNED }),
    removeHashed: (hash) => removeHashed(store, zone, hash),
    hashAfter: (hash) => hashedAfter(store, zone, hash)!.hash,
    hashedBefore: (hash) => hashedBefore(store, zone, hash),
  };
}

/** Remembers what is to be stored in the rows of a zone, in order. Signatures may be filled in until then. */
export interface PlannedRows extends SignedRows {
  /**
   * Packs owners ahead, so that storing them takes less time. Their signatures must have been filled in, and each owner must be put or
   * removed once. `isInPlace`: what is stored of them will be there when these take its place.
   */
  pack(isInPlace: boolean): Generator<undefined, void>;
  /** Stores it, step by step. */
  storeIn(rows: SignedRows): Generator<undefined, void>;
}

interface PlannedOwner {
  readonly ownerKey: Uint8Array;
  readonly owner: SignedOwner;
  /** What is stored of it, perhaps elsewhere. */
  readonly stored: SignedOwner | undefined;
}

export function planRows(store: Store, zone: Place): PlannedRows {
  const steps: (((rows: SignedRows) => void) | PlannedOwner)[] = [];
  const chain = plannedChain(store, zone);
  /** Hashes whose rows come with their records. */
  const made = new Set<string>();
  return {
    ...chain,
    put: (ownerKey, owner, stored) => void steps.push({ ownerKey, owner, stored }),
    putPacked: (pack) => void steps.push((rows) => rows.putPacked(pack)),
    *pack(isInPlace) {
      const packer = new SignaturePacker();
      for (const step of steps.splice(0)) {
        if (typeof step === 'function') steps.push(step);
        else packer.add(rowOf(step, isInPlace));
        yield;
      }
      for (const pack of packer.take()) steps.push((rows) => rows.putPacked(pack));
    },
    remove: (ownerKey) => void steps.push((rows) => rows.remove(ownerKey)),
    removeAfter: (ownerKey) => void steps.push((rows) => rows.removeAfter(ownerKey)),
    putHashed(hash, ownerKey, set) {
      made.add(ownerText(hash));
      steps.push((rows) => rows.putHashed(hash, ownerKey, set));
    },
    ensureHashed(hash, ownerKey) {
      chain.add(hash);
      steps.push((rows) => {
        if (!made.has(ownerText(hash))) rows.ensureHashed(hash, ownerKey);
      });
    },
    removeHashed(hash) {
      chain.remove(hash);
      made.delete(ownerText(hash));
      steps.push((rows) => rows.removeHashed(hash));
    },
    *storeIn(rows) {
      for (const step of steps) {
        if (typeof step === 'function') step(rows);
        else rows.put(step.ownerKey, step.owner);
        yield;
      }
    },
  };
}

function rowOf({ ownerKey, owner, stored }: PlannedOwner, isInPlace: boolean): NewSignatures {
  const expiry = firstExpiry(owner.sets);
  const keepsEnd = isInPlace && stored !== undefined && firstExpiry(stored.sets) === expiry;
  return { ownerKey, firstExpiry: expiry, octets: writeSignedOwner(owner), keepsEnd };
}

/** When the first of these signatures ends, seconds since 1970; null without signatures. */
export function firstExpiry(sets: readonly SignedSet[]): number | null {
  let first = Number.POSITIVE_INFINITY;
  for (const { signatures } of sets) for (const rdata of signatures) first = Math.min(first, expirationOf(rdata));
  return first === Number.POSITIVE_INFINITY ? null : first;
}

/** When the signature of an RRSIG ends, seconds since 1970. */
export function expirationOf(rdata: Uint8Array): number {
  return secondsAt(rdata, 8);
}

/** From when on it is valid. */
export function inceptionOf(rdata: Uint8Array): number {
  return secondsAt(rdata, 12);
}

function secondsAt(rdata: Uint8Array, at: number): number {
  return rdata[at]! * 0x1000000 + ((rdata[at + 1]! << 16) | (rdata[at + 2]! << 8) | rdata[at + 3]!);
}
