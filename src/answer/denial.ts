/**
 * Proofs of what does not exist in a signed zone: by NSEC (RFC 4035 §3.1.3) or NSEC3 (RFC 5155 §7.2). While names are
 * looked up, the records that are owed are collected in the search; they are written when all answers are.
 */
// hot
import { Ede, Rcode, Type } from '../dns/codes.js';
import { findFloor, findLast } from '../image/floor.js';
import { Control, DenialKind, Flag, HASH_OCTETS, nodeFlags, viewOf, ZoneWord } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import { oweMade, writeOwed } from './compact.js';
import { Lack } from './made.js';
import type { Query } from './query.js';
import { fail, type Response, writeOwnedRRset } from './response.js';
import { ENCLOSER_WORDS, ENCLOSERS_SHIFT, type Search } from './search.js';
import { hashWithSalt } from './sha1.js';

/** Names with more iterations are not hashed; resolvers would not accept the proof either (RFC 9276 §3.2). */
const MOST_ITERATIONS = 150;
/** SHA-1 computations for one answer: about a millisecond. */
const MOST_HASHED = 3000;
/** Octets of an owner key: twice those of a name, and the zeros that findFloor wants. */
const KEY_OCTETS = 520;

/** Words about an encloser in `search.enclosers`. */
const Encloser = { node: 0, sequence: 1, generation: 2, match: 3, labels: 4, wildcard: 5 } as const;
/** No wildcard can stand below the encloser. */
const NO_WILDCARD = -1;

const key = new Uint8Array(KEY_OCTETS);
const keyView = viewOf(key);
/** `*.` in front of a name to be hashed. */
const starred = new Uint8Array(256);

/** Begins an answer: nothing is owed yet. */
export function resetProofs(search: Search, response: Response, image: ImageReader): void {
  search.proofCount = 0;
  search.proofFault = 0;
  search.owed = undefined;
  search.hashed = 0;
  search.denial = response.dnssecOk ? image.words[search.zoneRecord + ZoneWord.denial]! : 0;
}

/** The name, which does not exist itself, is answered by the wildcard below its closest encloser. */
export function proveExpansion(search: Search, image: ImageReader, encloserLabels: number): void {
  if (search.denial === DenialKind.none) return;
  if (isHashed(search)) coverHash(search, image, search.labels - encloserLabels - 1);
  else note(search, findNsec(search, image, makeKey(search, 0)));
}

/** The name exists, but has no data of the type. `node`: its node. */
export function proveNoData(search: Search, image: ImageReader, node: number): void {
  if (search.denial === DenialKind.none) return;
  if (isHashed(search)) proveHashed(search, image, 0);
  else if (hasNsec(image, node)) note(search, node);
  else if (search.denial === DenialKind.compact) oweMade(search, image, Lack.types, 0);
  // An empty non-terminal, which the NSEC before it covers (RFC 4035 §3.1.3.2).
  else note(search, findNsec(search, image, makeKey(search, 0)));
}

/** The name does not exist, and the wildcard that answers for it has no data of the type. `node`: the wildcard's. */
export function proveWildcardNoData(search: Search, image: ImageReader, node: number, encloserLabels: number): void {
  if (search.denial === DenialKind.none) return;
  if (search.denial === DenialKind.compact) {
    oweMade(search, image, Lack.types, node);
    return;
  }
  const label = search.labels - encloserLabels;
  if (isHashed(search)) {
    // With opt-out, the closest encloser that is proven may be above the one that has the wildcard.
    const proven = proveEncloser(search, image, label);
    if (hashWildcardName(search, image, proven)) note(search, findHash(search, image));
    return;
  }
  // Another wildcard's NSEC may cover the name, and unbound takes the last one of a wildcard for the one that answers.
  note(search, findNsec(search, image, makeKey(search, 0)));
  if (hasNsec(image, node)) note(search, node);
  else note(search, findNsec(search, image, makeWildcardKey(search, label)));
}

/** Neither the name exists nor a wildcard that could answer for it. `encloser`: node of the closest encloser. */
export function proveNxDomain(search: Search, image: ImageReader, encloser: number, encloserLabels: number): void {
  if (search.denial === DenialKind.none) return;
  if (search.denial === DenialKind.compact) {
    oweMade(search, image, Lack.name, 0);
    return;
  }
  const known = enclosed(search, image, encloser, encloserLabels);
  const proofs = search.enclosers;
  if (isHashed(search)) {
    note(search, proofs[known + Encloser.match]!);
    coverHash(search, image, search.labels - proofs[known + Encloser.labels]! - 1);
  } else note(search, findNsec(search, image, makeKey(search, 0)));
  // A name may be too long for a wildcard below it.
  if (proofs[known + Encloser.wildcard] !== NO_WILDCARD) note(search, proofs[known + Encloser.wildcard]!);
}

/** A zone cut has no DS. `node`: its node; `cutLabels`: labels of its name. */
export function proveInsecure(search: Search, image: ImageReader, node: number, cutLabels: number): void {
  if (search.denial === DenialKind.none) return;
  if (isHashed(search)) proveHashed(search, image, search.labels - cutLabels);
  // Only the NSEC of the cut itself shows that it is one (RFC 4035 §3.1.4.1).
  else note(search, hasNsec(image, node) ? node : 0);
}

/** Writes everything owed into the authority section. */
export function writeProofs(query: Query, search: Search, response: Response, image: ImageReader): void {
  if (search.denial === DenialKind.compact) {
    // The types of the NSEC record tell (RFC 9824 §3.1), unless the client wants the code as well (§5.1).
    if (response.rcode === Rcode.nxDomain && !query.compactOk) response.rcode = Rcode.noError;
    if (search.lack !== Lack.nothing) return;
  }
  if (search.denial === DenialKind.none || response.truncated || response.rcode === Rcode.servFail) return;
  if (search.proofFault !== 0) {
    fail(response, search.proofFault);
    return;
  }
  response.authorities += writeOwed(search, response);
  const type = isHashed(search) ? Type.nsec3 : Type.nsec;
  for (let i = 0; i < search.proofCount; i++) {
    const node = search.proofs[i]!;
    const count = writeOwnedRRset(response, image, search.apexNode, node, image.findRRset(node, type));
    if (count === 0) return;
    response.authorities += count;
  }
}

function isHashed(search: Search): boolean {
  return (search.denial & 0xff) === DenialKind.nsec3;
}

function hasNsec(image: ImageReader, node: number): boolean {
  return (nodeFlags(image.words, node) & Flag.nsec) !== 0;
}

/** Notes a node whose record is owed; 0 when the record that would prove it is missing. */
function note(search: Search, node: number): void {
  if (node === 0 && search.proofFault === 0) search.proofFault = Ede.nsecMissing;
  for (let i = 0; i < search.proofCount; i++) if (search.proofs[i] === node) return;
  if (search.proofCount < search.proofs.length) search.proofs[search.proofCount++] = node;
}

/** Node of the NSEC that matches or covers the first `length` octets of the key. */
function findNsec(search: Search, image: ImageReader, length: number): number {
  return findFloor(image, image.words[search.zoneRecord + ZoneWord.index]!, keyView, length);
}

/** Makes the owner key of the name from this label on (dns/name.ts). Returns its length. */
function makeKey(search: Search, label: number): number {
  const name = search.name;
  let to = 0;
  for (let i = search.labels - search.apexLabels - 1; i >= label; i--) {
    const at = search.labelAt[i]!;
    const end = at + 1 + name[at]!;
    for (let from = at + 1; from < end; from++) {
      const octet = name[from]!;
      if (octet < 2) {
        key[to++] = 1;
        key[to++] = octet + 1;
      } else {
        key[to++] = octet;
      }
    }
    key[to++] = 0;
  }
  keyView.setInt32(to, 0);
  return to;
}

/** The same for `*` below that name. */
function makeWildcardKey(search: Search, label: number): number {
  const length = makeKey(search, label);
  key[length] = 42;
  keyView.setInt32(length + 1, 0);
  keyView.setInt32(length + 2, 0);
  return length + 2;
}

/** The name from this label on exists: its own NSEC3, or with opt-out the proof that it may be insecure (RFC 5155 §7.2.4). */
function proveHashed(search: Search, image: ImageReader, label: number): void {
  hashName(search, image, label);
  const node = findHash(search, image);
  if (image.floorIsExact || search.proofFault !== 0) note(search, node);
  else proveEncloser(search, image, label + 1);
}

/**
 * The closest encloser proof (RFC 5155 §7.2.1): the NSEC3 of the closest name at or above this label that has one, and
 * the NSEC3 that covers the name one label longer. Returns the label of the closest name.
 */
function proveEncloser(search: Search, image: ImageReader, from: number): number {
  const label = findEncloser(search, image, from);
  note(search, foundEncloser);
  if (label > 0) coverHash(search, image, label - 1);
  return label;
}

/** Node of the last `findEncloser`; 0 when there was none. */
let foundEncloser = 0;

/**
 * Label of the closest name at or above this one that has an NSEC3. With opt-out, names that exist only above insecure
 * delegations have none.
 */
function findEncloser(search: Search, image: ImageReader, from: number): number {
  const apexLabel = search.labels - search.apexLabels;
  for (let label = from; label <= apexLabel && search.proofFault === 0; label++) {
    hashName(search, image, label);
    foundEncloser = findHash(search, image);
    if (image.floorIsExact) return label;
  }
  foundEncloser = 0;
  return apexLabel;
}

/**
 * Place in `search.enclosers` of what is the same for all missing names below a closest encloser: the NSEC3 that matches it
 * and the labels of that name, and the record that denies the wildcard. Floods ask for many names below the same one.
 */
function enclosed(search: Search, image: ImageReader, encloser: number, encloserLabels: number): number {
  const known = search.enclosers;
  const sequence = Atomics.load(image.control, Control.sequence);
  const at = (Math.imul(encloser, 0x9e3779b1) >>> ENCLOSERS_SHIFT) * ENCLOSER_WORDS;
  if (
    known[at + Encloser.node] === encloser &&
    known[at + Encloser.sequence] === sequence &&
    known[at + Encloser.generation] === image.generation
  ) {
    return at;
  }
  // Of a state that is being switched nothing is remembered.
  known[at + Encloser.node] = (sequence & 1) === 0 ? encloser : 0;
  known[at + Encloser.sequence] = sequence;
  known[at + Encloser.generation] = image.generation;
  let label = search.labels - encloserLabels;
  if (isHashed(search)) {
    label = findEncloser(search, image, label);
    known[at + Encloser.match] = foundEncloser;
    known[at + Encloser.labels] = search.labels - label;
    const hasWildcard = hashWildcardName(search, image, label);
    known[at + Encloser.wildcard] = hasWildcard ? findHash(search, image) : NO_WILDCARD;
  } else known[at + Encloser.wildcard] = findNsec(search, image, makeWildcardKey(search, label));
  if (search.proofFault !== 0) known[at + Encloser.node] = 0;
  return at;
}

/** Notes the NSEC3 that covers the name from this label on. */
function coverHash(search: Search, image: ImageReader, label: number): void {
  hashName(search, image, label);
  note(search, findHash(search, image));
}

/** Node of the NSEC3 that matches or covers the hash in the key; the last one also covers what is before the first. */
function findHash(search: Search, image: ImageReader): number {
  const root = image.words[search.zoneRecord + ZoneWord.index]!;
  const node = findFloor(image, root, keyView, HASH_OCTETS);
  return node === 0 ? findLast(image, root) : node;
}

/** Puts the hash of the name from this label on into the key. */
function hashName(search: Search, image: ImageReader, label: number): void {
  const start = search.labelAt[label]!;
  hashOctets(search, image, search.name, start, search.nameLength - start);
}

/** The same for `*` below that name; false when such a name would be too long to exist. */
function hashWildcardName(search: Search, image: ImageReader, label: number): boolean {
  const start = search.labelAt[label]!;
  const length = search.nameLength - start;
  if (length + 2 > 255) return false;
  starred[0] = 1;
  starred[1] = 42;
  for (let i = 0; i < length; i++) starred[i + 2] = search.name[start + i]!;
  hashOctets(search, image, starred, 0, length + 2);
  return true;
}

function hashOctets(search: Search, image: ImageReader, name: Uint8Array, start: number, length: number): void {
  const iterations = search.denial >>> 16;
  search.hashed += iterations + 1;
  if (iterations > MOST_ITERATIONS || search.hashed > MOST_HASHED) {
    search.proofFault = Ede.unsupportedNsec3Iterations;
    return;
  }
  const salt = image.words[search.zoneRecord + ZoneWord.salt]!;
  const saltLength = salt === 0 ? 0 : image.words[salt]!;
  hashWithSalt(keyView, name, start, length, image.bytes, (salt + 1) * 4, saltLength, iterations);
  keyView.setInt32(HASH_OCTETS, 0);
}
