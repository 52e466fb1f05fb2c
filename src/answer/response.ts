/**
 * The answer while it is being written. Compiled RRsets are copied into place and their slots are filled; an RRset is
 * written completely or not at all (RFC 2181 §9). image/layout.ts describes the form of an RRset.
 */
// hot
import { Ede, Rcode } from '../dns/codes.js';
import {
  bodyAt,
  MISSING_SIGNATURES,
  nodeNameAt,
  nodeNameLength,
  RRSET_HEADER,
  RRsetWord,
  SOURCE_SHIFT,
  TARGET_HEADER,
  targetNameLength,
} from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';

/** Pointers cannot refer to an offset above this (RFC 1035 §4.1.4). */
export const MAX_POINTER = 0x3fff;

/** The answer being built. Positions are octets from the start of the message, which is at `base` of `bytes`. */
export interface Response {
  bytes: Uint8Array;
  /** The same octets as a DataView, for writing four at a time. */
  view: DataView;
  base: number;
  /** Position of the next octet. */
  at: number;
  /** The largest number of octets, after subtracting the room for OPT. */
  limit: number;
  answers: number;
  authorities: number;
  additionals: number;
  truncated: boolean;
  authoritative: boolean;
  /** Signatures are wanted (RFC 3225). */
  dnssecOk: boolean;
  rcode: number;
  /** Info code of an extended error (RFC 8914 §4); 0 for none, because code 0 ("other") is never sent. */
  extendedError: number;
  /** RRsetSource bits of the written RRsets. */
  sources: number;
  /** Position of the zone's apex inside the question. */
  apexAt: number;
  /** The written RRset whose targets' addresses belong in the additional section; 0 for none. */
  targetsOf: number;
  targetsAt: number;
  /** Node of the zone cut when the answer is a referral, otherwise 0. */
  cutNode: number;
}

export function createResponse(): Response {
  return {
    bytes: new Uint8Array(0),
    view: new DataView(new ArrayBuffer(0)),
    base: 0,
    at: 0,
    limit: 0,
    answers: 0,
    authorities: 0,
    additionals: 0,
    truncated: false,
    authoritative: false,
    dnssecOk: false,
    rcode: 0,
    extendedError: 0,
    sources: 0,
    apexAt: 12,
    targetsOf: 0,
    targetsAt: 0,
    cutNode: 0,
  };
}

/**
 * Copies a compiled RRset with the owner name at `ownerAt`, and its signatures when they are wanted. Returns the number of
 * RRs, or 0 when they do not fit or are not known; then nothing was written.
 */
function writeRRset(response: Response, image: ImageReader, rrset: number, ownerAt: number): number {
  const words = image.words;
  const data = words[rrset + RRsetWord.octets]!;
  const signed = response.dnssecOk ? words[rrset + RRsetWord.signatures]! : 0;
  const length = data + (signed & 0xffff);
  const start = response.at;
  if (data === 0 || start + length > response.limit || ownerAt > MAX_POINTER || signed === MISSING_SIGNATURES) return 0;
  const to = response.base + start;
  const out = response.bytes;
  copyWords(image, bodyAt(words, rrset), response.view, to, length);
  const slots = words[rrset + RRsetWord.slots]!;
  const ownerSlots = slots & 0xffff;
  const apexSlots = slots >>> 16;
  const relativeSlots = words[rrset + RRsetWord.references]! & 0xffff;
  let slot = rrset + RRSET_HEADER;
  if (ownerAt !== 12) {
    putPointer(out, to, ownerAt);
    for (let i = 0; i < ownerSlots; i++) putPointer(out, to + words[slot + i]!, ownerAt);
    if (signed !== 0) putOwners(out, to + data, to + length, ownerAt);
  }
  slot += ownerSlots;
  for (let i = 0; i < apexSlots; i++) putPointer(out, to + words[slot + i]!, response.apexAt);
  slot += apexSlots;
  for (let i = 0; i < relativeSlots; i++) {
    const entry = words[slot + i]!;
    putPointer(out, to + (entry & 0xffff), start + (entry >>> 16));
  }
  response.at = start + length;
  const head = words[rrset + RRsetWord.head]!;
  if (head >>> 16 !== 0) noteHead(response, head);
  return (head & 0xffff) + (signed >>> 16);
}

/** Keeps the extended error and the source of an RRset. */
function noteHead(response: Response, head: number): void {
  const extendedError = extendedErrorOf(head);
  if (extendedError !== 0) response.extendedError = extendedError;
  response.sources |= head >>> SOURCE_SHIFT;
}

/** From the first word of an RRset. */
function extendedErrorOf(head: number): number {
  return (head >>> 16) & ((1 << (SOURCE_SHIFT - 16)) - 1);
}

/** Sets the owner of each RR between two positions in the output; their owners are pointers. */
export function putOwners(out: Uint8Array, from: number, end: number, ownerAt: number): void {
  for (let at = from; at < end; at += lengthOfRR(out, at)) putPointer(out, at, ownerAt);
}

/** Sets the TTL of each RR from a position of the message on. */
export function putTtls({ bytes, view, base, at: end }: Response, from: number, ttl: number): void {
  for (let at = base + from; at < base + end; at += lengthOfRR(bytes, at)) view.setUint32(at + 6, ttl);
}

/** Octets of an RR whose owner is a pointer. */
function lengthOfRR(bytes: Uint8Array, at: number): number {
  return 12 + ((bytes[at + 10]! << 8) | bytes[at + 11]!);
}

/**
 * {@link writeRRset} for an RRset that the answer must contain: when it cannot be written, the answer becomes truncated, or
 * SERVFAIL when no transport could carry it.
 */
export function writeRequired(response: Response, image: ImageReader, rrset: number, ownerAt: number): number {
  const count = writeRRset(response, image, rrset, ownerAt);
  if (count === 0) giveUp(response, image, rrset);
  return count;
}

/** {@link writeRRset} for an RRset whose signatures may be left out (RFC 4035 §3.1.1). */
export function writeOptional(response: Response, image: ImageReader, rrset: number, ownerAt: number): number {
  const count = writeRRset(response, image, rrset, ownerAt);
  if (count !== 0 || !response.dnssecOk) return count;
  response.dnssecOk = false;
  const unsigned = writeRRset(response, image, rrset, ownerAt);
  response.dnssecOk = true;
  return unsigned;
}

/** Writes only the signatures of an RRset. Returns their number, or 0 when they do not fit; then the answer is truncated. */
export function writeSignatures(response: Response, image: ImageReader, rrset: number, ownerAt: number): number {
  const words = image.words;
  const length = words[rrset + RRsetWord.signatures]! & 0xffff;
  const start = response.at;
  if (start + length > response.limit) {
    truncate(response);
    return 0;
  }
  const to = response.base + start;
  const from = bodyAt(words, rrset) * 4 + words[rrset + RRsetWord.octets]!;
  copyOctets(image.view, from, response.view, to, length);
  putOwners(response.bytes, to, to + length, ownerAt);
  response.at = start + length;
  return words[rrset + RRsetWord.signatures]! >>> 16;
}

/**
 * Writes an RRset without names in its rdata, and its signatures, with the name of its node, which the question's name
 * may end with. The answer needs it; the result is that of {@link writeRequired}.
 */
export function writeOwnedRRset(
  response: Response,
  image: ImageReader,
  apexNode: number,
  node: number,
  rrset: number,
): number {
  const { words, bytes } = image;
  const signed = words[rrset + RRsetWord.signatures]!;
  const name = nodeNameAt(words, node);
  const apexLength = nodeNameLength(words, apexNode);
  const length = nodeNameLength(words, node);
  // The labels before what the question contains.
  let own = 0;
  let pointer = response.apexAt - (length - apexLength);
  while (!isInQuestion(response, image, name + own, length - own, pointer)) {
    const label = 1 + bytes[name + own]!;
    own += label;
    pointer += label;
  }
  const data = words[rrset + RRsetWord.octets]!;
  const octets = data + (signed & 0xffff);
  const start = response.at;
  // Behind what pointers reach, every record needs the whole name.
  const room = start > MAX_POINTER ? own * (1 + (signed >>> 16)) : own;
  if (signed === MISSING_SIGNATURES || start + room + octets > response.limit) {
    giveUp(response, image, rrset);
    return 0;
  }
  const out = response.bytes;
  const to = response.base + start;
  if (start > MAX_POINTER) {
    putNamed(response, image, name, own, pointer, bodyAt(words, rrset) * 4, octets);
  } else {
    for (let i = 0; i < own; i++) out[to + i] = bytes[name + i]!;
    copyWords(image, bodyAt(words, rrset), response.view, to + own, octets);
    putPointer(out, to + own, pointer);
    putOwners(out, to + own + data, to + own + octets, own === 0 ? pointer : start);
  }
  response.at = start + room + octets;
  return (words[rrset + RRsetWord.head]! & 0xffff) + (signed >>> 16);
}

/** Writes RRs one by one, each with `own` octets of its name and a pointer to the rest. */
function putNamed(
  response: Response,
  image: ImageReader,
  name: number,
  own: number,
  pointer: number,
  from: number,
  octets: number,
): void {
  const out = response.bytes;
  let to = response.base + response.at;
  for (let done = 0; done < octets; ) {
    const length = lengthOfRR(image.bytes, from + done);
    for (let i = 0; i < own; i++) out[to + i] = image.bytes[name + i]!;
    copyOctets(image.view, from + done, response.view, to + own, length);
    putPointer(out, to + own, pointer);
    to += own + length;
    done += length;
  }
}

/** Whether the end of a node's name stands at this position of the question, in any case. */
function isInQuestion(response: Response, image: ImageReader, from: number, length: number, position: number): boolean {
  if (position === response.apexAt) return true;
  if (position < 12) return false;
  const bytes = response.bytes;
  const base = response.base;
  let at = 12;
  while (at < position) at += 1 + bytes[base + at]!;
  if (at !== position) return false;
  for (let i = 0; i < length; i++) {
    const octet = bytes[base + position + i]!;
    if ((octet >= 65 && octet <= 90 ? octet | 0x20 : octet) !== image.bytes[from + i]) return false;
  }
  return true;
}

/** An RRset that the answer needs cannot be written. */
function giveUp(response: Response, image: ImageReader, rrset: number): void {
  const words = image.words;
  // No transport can carry it, or its data is not known yet.
  if (words[rrset + RRsetWord.octets] === 0) fail(response, extendedErrorOf(words[rrset + RRsetWord.head]!));
  else if (response.dnssecOk && words[rrset + RRsetWord.signatures] === MISSING_SIGNATURES)
    fail(response, Ede.rrsigsMissing);
  else truncate(response);
}

/** Answers SERVFAIL with an extended error, 0 for none. */
export function fail(response: Response, extendedError: number): void {
  response.authoritative = false;
  response.rcode = Rcode.servFail;
  response.extendedError = extendedError;
}

/** The answer does not fit: sets TC and drops the sections, so that the client retries over TCP (RFC 2181 §9). */
export function truncate(response: Response): void {
  response.truncated = true;
}

/** Word offset of the first target of an RRset, which has {@link targetCount}. */
export function firstTarget(image: ImageReader, rrset: number): number {
  const words = image.words;
  const slots = words[rrset + RRsetWord.slots]!;
  return rrset + RRSET_HEADER + (slots & 0xffff) + (slots >>> 16) + (words[rrset + RRsetWord.references]! & 0xffff);
}

/** Word offset of the next target. */
export function nextTarget(image: ImageReader, target: number): number {
  return target + TARGET_HEADER + ((targetNameLength(image.words, target) + 3) >>> 2);
}

export function putPointer(out: Uint8Array, at: number, position: number): void {
  out[at] = 0xc0 | (position >>> 8);
  out[at + 1] = position;
}

/** Position in a name already written at `from` after skipping `labels` labels from the left; pointers are followed. */
export function skipLabels(response: Response, from: number, labels: number): number {
  const bytes = response.bytes;
  const base = response.base;
  let at = from;
  for (let left = labels; ; ) {
    const length = bytes[base + at]!;
    if (length >= 0xc0) {
      at = ((length & 0x3f) << 8) | bytes[base + at + 1]!;
    } else {
      if (left === 0) return at;
      at += 1 + length;
      left--;
    }
  }
}

/** Copies octets of the image from the beginning of a word. The end of the last word is not copied. */
function copyWords(image: ImageReader, word: number, to: DataView, at: number, length: number): void {
  const words = image.words;
  const whole = length >> 2;
  for (let i = 0; i < whole; i++) to.setInt32(at + i * 4, words[word + i]!, true);
  for (let i = whole * 4; i < length; i++) to.setUint8(at + i, image.bytes[word * 4 + i]!);
}

/**
 * Copies four or more octets without creating a view: four at a time, and the last four overlap the previous ones. A
 * call of `set` takes longer than copying most RRsets this way.
 */
export function copyOctets(from: DataView, start: number, to: DataView, at: number, length: number): void {
  const last = length - 4;
  for (let i = 0; i < last; i += 4) to.setInt32(at + i, from.getInt32(start + i, true), true);
  to.setInt32(at + last, from.getInt32(start + last, true), true);
}
