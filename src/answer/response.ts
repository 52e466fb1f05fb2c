/**
 * The answer while it is being written. Compiled RRsets are copied into place and their slots are filled; an RRset is
 * written completely or not at all (RFC 2181 §9). image/layout.ts describes the form of an RRset.
 */
// hot
import { RRSET_HEADER } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';

/** Pointers cannot refer to an offset above this (RFC 1035 §4.1.4). */
const MAX_POINTER = 0x3fff;

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
  rcode: number;
  /** Info code of an extended error (RFC 8914 §4); 0 for none, because code 0 ("other") is never sent. */
  extendedError: number;
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
    rcode: 0,
    extendedError: 0,
    apexAt: 12,
    targetsOf: 0,
    targetsAt: 0,
    cutNode: 0,
  };
}

/**
 * Copies a compiled RRset with the owner name at `ownerAt`. Returns the number of RRs, or 0 when it does not fit; then
 * nothing was written.
 */
export function writeRRset(response: Response, image: ImageReader, rrset: number, ownerAt: number): number {
  const words = image.words;
  const length = words[rrset + 1]!;
  const start = response.at;
  if (length === 0 || start + length > response.limit || ownerAt > MAX_POINTER) return 0;
  const to = response.base + start;
  const out = response.bytes;
  copyOctets(image.view, (rrset + words[rrset + 4]!) * 4, response.view, to, length);
  const slots = words[rrset + 2]!;
  const ownerSlots = slots & 0xffff;
  const apexSlots = slots >>> 16;
  const relativeSlots = words[rrset + 3]! & 0xffff;
  let slot = rrset + RRSET_HEADER;
  if (ownerAt !== 12) {
    putPointer(out, to, ownerAt);
    for (let i = 0; i < ownerSlots; i++) putPointer(out, to + words[slot + i]!, ownerAt);
  }
  slot += ownerSlots;
  for (let i = 0; i < apexSlots; i++) putPointer(out, to + words[slot + i]!, response.apexAt);
  slot += apexSlots;
  for (let i = 0; i < relativeSlots; i++) {
    const entry = words[slot + i]!;
    putPointer(out, to + (entry & 0xffff), start + (entry >>> 16));
  }
  response.at = start + length;
  const head = words[rrset]!;
  if (head >>> 16 !== 0) response.extendedError = head >>> 16;
  return head & 0xffff;
}

/** Word offset of the first target of an RRset; the upper half of word 3 is the number of targets. */
export function firstTarget(image: ImageReader, rrset: number): number {
  const words = image.words;
  const slots = words[rrset + 2]!;
  return rrset + RRSET_HEADER + (slots & 0xffff) + (slots >>> 16) + (words[rrset + 3]! & 0xffff);
}

/** Word offset of the next target. */
export function nextTarget(image: ImageReader, target: number): number {
  return target + 2 + (((image.words[target + 1]! & 0xff) + 3) >>> 2);
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

/**
 * Copies four or more octets without creating a view: four at a time, and the last four overlap the previous ones. A
 * call of `set` takes longer than copying most RRsets this way.
 */
export function copyOctets(from: DataView, start: number, to: DataView, at: number, length: number): void {
  const last = length - 4;
  for (let i = 0; i < last; i += 4) to.setInt32(at + i, from.getInt32(start + i, true), true);
  to.setInt32(at + last, from.getInt32(start + last, true), true);
}
