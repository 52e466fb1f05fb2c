/**
 * Writes whole messages (RFC 1035 §4.1) with compressed names (§4.1.4). The counterpart of message.ts; the answer path
 * has its own writer, which copies compiled RRsets.
 */

import { Class, Type } from './codes.js';
import { COMPRESSED } from './compressed-types.js';
import { POINTER } from './wire-name.js';

const HEADER_LENGTH = 12;
/** The longest message on a stream, in octets. */
export const LONGEST_MESSAGE = 65_535;
/** Pointers have 14 bits. */
const LAST_TARGET = 0x3fff;
const SLOTS = 4096;
/** The longest owner name, with type, class, TTL and length. */
const LONGEST_FIXED_PART = 265;

export interface Question {
  /** Wire name. */
  readonly name: Uint8Array;
  readonly type: number;
  readonly class: number;
}

export type Section = 'answer' | 'authority' | 'additional';

/** Offsets of the counts in the header. */
const COUNTS: Readonly<Record<Section, number>> = { answer: 6, authority: 8, additional: 10 };

/**
 * Writes one message after the other into one buffer. Names are compressed only against the same octets, so that their
 * case is kept.
 */
export class MessageWriter {
  private readonly octets = new Uint8Array(LONGEST_MESSAGE + LONGEST_FIXED_PART);
  private readonly view = new DataView(this.octets.buffer);
  /** Offsets of names that pointers may use, by hash. */
  private readonly targets = new Uint16Array(SLOTS);
  private at = 0;
  private records = 0;
  /** Offset of the last owner that was written; 0 when pointers do not reach it. */
  private ownerAt = 0;

  /**
   * `usual`: octets that a message of several records has at most. `longest`: octets of a message with a single large
   * record.
   */
  constructor(
    private readonly usual: number = LONGEST_MESSAGE,
    private readonly longest: number = LONGEST_MESSAGE,
  ) {}

  /** Begins a message. `flags`: the second 16 bits of the header. */
  begin(id: number, flags: number, question?: Question): void {
    this.octets.fill(0, 0, HEADER_LENGTH);
    this.targets.fill(0);
    this.view.setUint16(0, id);
    this.view.setUint16(2, flags);
    this.at = HEADER_LENGTH;
    this.records = 0;
    this.ownerAt = 0;
    if (!question) return;
    this.view.setUint16(4, 1);
    this.writeName(question.name, 0, question.name.length);
    this.write16(question.type);
    this.write16(question.class);
  }

  /** Whether the message has no records yet. */
  get isEmpty(): boolean {
    return this.records === 0;
  }

  /**
   * Adds a record; sections are written in their order. False, and nothing is written, when the message has no room for it.
   * `owner` and `rdata` are uncompressed; `ttl` in seconds. `rdata` is empty where a record of an update says only which RRset
   * is meant (RFC 2136 §2.4). Throws a RangeError for data that ends inside of its names.
   */
  add(
    section: Section,
    owner: Uint8Array,
    type: number,
    ttl: number,
    rdata: Uint8Array,
    recordClass: number = Class.in,
  ): boolean {
    const start = this.at;
    if (start + owner.length + 10 + rdata.length > this.longest + LONGEST_FIXED_PART) return false;
    const ownerAt = this.writeOwner(owner);
    this.write16(type);
    this.write16(recordClass);
    this.view.setUint32(this.at, ttl);
    const lengthAt = this.at + 4;
    this.at += 6;
    this.writeRdata(type, rdata);
    this.view.setUint16(lengthAt, this.at - lengthAt - 2);
    if (this.at > (this.records === 0 ? this.longest : this.usual)) {
      // Targets of pointers after this place are ignored, because they are not before it.
      this.at = start;
      return false;
    }
    const count = COUNTS[section];
    this.view.setUint16(count, this.view.getUint16(count) + 1);
    this.records++;
    this.ownerAt = ownerAt;
    return true;
  }

  /** The finished message, as a copy. */
  finish(): Uint8Array {
    return this.octets.slice(0, this.at);
  }

  /** Most owners are those of the record before. Returns where the owner is, 0 when pointers do not reach it. */
  private writeOwner(owner: Uint8Array): number {
    const { at, ownerAt, octets } = this;
    if (ownerAt > 0 && this.isSameName(ownerAt, owner, 0)) {
      this.write16((POINTER << 8) | ownerAt);
      return ownerAt;
    }
    this.writeName(owner, 0, owner.length);
    if (octets[at]! >= POINTER) return ((octets[at]! & ~POINTER) << 8) | octets[at + 1]!;
    return at <= LAST_TARGET && owner[0] !== 0 ? at : 0;
  }

  private writeRdata(type: number, rdata: Uint8Array): void {
    // DNAME is read compressed but never written so (RFC 6672 §2.5).
    const shape = type === Type.dname ? undefined : COMPRESSED[type];
    let from = 0;
    if (shape !== undefined && rdata.length > 0) {
      this.copy(rdata, 0, shape[0]);
      from = shape[0];
      for (let i = 0; i < shape[1]; i++) {
        const end = plainEnd(rdata, from);
        this.writeName(rdata, from, end);
        from = end;
      }
    }
    this.copy(rdata, from, rdata.length);
  }

  /** Writes the name `bytes[from..end)`: labels up to one that was written before, then a pointer to it. */
  private writeName(bytes: Uint8Array, from: number, end: number): void {
    const { octets, targets, at: nameAt } = this;
    let label = from;
    while (bytes[label] !== 0) {
      const slot = this.findSlot(bytes, label, end, nameAt);
      const target = targets[slot]!;
      if (target !== 0) {
        this.write16((POINTER << 8) | target);
        return;
      }
      if (this.at <= LAST_TARGET) targets[slot] = this.at;
      const next = label + 1 + bytes[label]!;
      for (let i = label; i < next; i++) octets[this.at++] = bytes[i]!;
      label = next;
    }
    octets[this.at++] = 0;
  }

  /**
   * The slot of the name `bytes[from..end)`: it holds its offset in the message, or 0. What begins at `nameAt` is not whole yet, and
   * octets of an earlier message follow it.
   */
  private findSlot(bytes: Uint8Array, from: number, end: number, nameAt: number): number {
    let hash = 0x811c9dc5;
    for (let i = from; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
    for (let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1), tries = 0; ; slot = (slot + 1) & (SLOTS - 1), tries++) {
      const target = this.targets[slot]!;
      if (target === 0 || target >= this.at || tries === SLOTS - 1) {
        this.targets[slot] = 0;
        return slot;
      }
      if (target < nameAt && this.isSameName(target, bytes, from)) return slot;
    }
  }

  /** Compares a written name, which may end in a pointer, with an uncompressed one. */
  private isSameName(written: number, bytes: Uint8Array, from: number): boolean {
    const { octets } = this;
    let at = written;
    let other = from;
    for (;;) {
      const length = octets[at]!;
      if (length >= POINTER) {
        at = ((length & ~POINTER) << 8) | octets[at + 1]!;
        continue;
      }
      for (let i = 0; i <= length; i++) if (octets[at + i] !== bytes[other + i]) return false;
      if (length === 0) return true;
      at += 1 + length;
      other += 1 + length;
    }
  }

  private write16(value: number): void {
    this.view.setUint16(this.at, value);
    this.at += 2;
  }

  private copy(bytes: Uint8Array, from: number, end: number): void {
    if (end - from > 64) {
      this.octets.set(bytes.subarray(from, end), this.at);
      this.at += end - from;
      return;
    }
    for (let i = from; i < end; i++) this.octets[this.at++] = bytes[i]!;
  }
}

/** Offset after an uncompressed name in rdata that was checked before. */
function plainEnd(rdata: Uint8Array, from: number): number {
  let at = from;
  while (rdata[at] !== 0) {
    if (at >= rdata.length) throw new RangeError('rdata ends inside of a name');
    at += 1 + rdata[at]!;
  }
  return at + 1;
}
