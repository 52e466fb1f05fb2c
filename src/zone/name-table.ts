/**
 * The names of a zone in packed form; each gets a small number in the order of insertion. A million names take a few
 * tens of megabytes and no objects, while a Map of strings takes some hundred megabytes and burdens the garbage
 * collector.
 *
 * A name is the part of a wire name before the apex: labels with their length octets, leftmost first, in lower case.
 * The apex itself has no octets. So an ancestor is a suffix of the name and can be looked up in place.
 */
import { systemRandom } from '../base/random.js';

/** Initial sizes; each doubles when full. */
const OCTETS = 1 << 14;
const NAMES = 1 << 10;

export class NameTable {
  /** Number of names added so far; their numbers are smaller. */
  count = 0;
  /** All names, concatenated. */
  octets = new Uint8Array(OCTETS);
  /** Start of each name in `octets`; it ends where the next one begins. */
  starts = new Int32Array(NAMES);
  /** Open addressing, at most half full: number of the name + 1, or 0. */
  private slots = new Int32Array(NAMES * 2);

  /** The number of `wire[start, end)`; a new name is added. ASCII case does not matter (RFC 4343 §3). */
  add(wire: Uint8Array, start: number, end: number): number {
    const slot = this.slotOf(wire, start, end);
    const known = this.slots[slot]!;
    if (known !== 0) return known - 1;
    const from = this.starts[this.count]!;
    const to = from + end - start;
    while (to > this.octets.length) this.octets = doubled(this.octets);
    for (let i = start, at = from; i < end; i++, at++) this.octets[at] = lower(wire[i]!);
    const number = this.count++;
    this.slots[slot] = number + 1;
    if (this.count + 1 >= this.starts.length) this.starts = doubled(this.starts);
    this.starts[this.count] = to;
    if (this.count * 2 > this.slots.length) this.rehash();
    return number;
  }

  /** The number of `wire[start, end)`, or -1. */
  find(wire: Uint8Array, start: number, end: number): number {
    return this.slots[this.slotOf(wire, start, end)]! - 1;
  }

  /** Whether the leftmost label of a name is exactly `*` (RFC 4592 §2.1.1). */
  isWildcard(number: number): boolean {
    const start = this.starts[number]!;
    return this.starts[number + 1]! > start && this.octets[start] === 1 && this.octets[start + 1] === 42;
  }

  /** The whole wire name. */
  nameOf(number: number, apex: Uint8Array): Uint8Array {
    const labels = this.octets.subarray(this.starts[number], this.starts[number + 1]);
    const wire = new Uint8Array(labels.length + apex.length);
    wire.set(labels);
    wire.set(apex, labels.length);
    return wire;
  }

  /** The slot of the name, or the free slot for it. */
  private slotOf(wire: Uint8Array, start: number, end: number): number {
    const mask = this.slots.length - 1;
    let slot = hashOf(wire, start, end) & mask;
    for (;;) {
      const known = this.slots[slot]!;
      if (known === 0 || this.isAt(known - 1, wire, start, end)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  private isAt(number: number, wire: Uint8Array, start: number, end: number): boolean {
    const from = this.starts[number]!;
    if (this.starts[number + 1]! - from !== end - start) return false;
    for (let i = start, at = from; i < end; i++, at++) if (this.octets[at] !== lower(wire[i]!)) return false;
    return true;
  }

  private rehash(): void {
    const slots = new Int32Array(this.slots.length * 2);
    const mask = slots.length - 1;
    for (let number = 0; number < this.count; number++) {
      let slot = hashOf(this.octets, this.starts[number]!, this.starts[number + 1]!) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.slots = slots;
  }
}

/** Otherwise a file could be made of which all names have the same hash, and each name would be compared with all before it. */
const SEED = Buffer.from(systemRandom.bytes(4)).readInt32LE();

/** FNV-1a from a random beginning, with the high bits folded into the low bits that choose the slot. */
export function hashOf(wire: Uint8Array, start: number, end: number, seed: number = SEED): number {
  let hash = seed;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ lower(wire[i]!), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}

/** Length octets are 63 at most, below the letters, and stay unchanged. */
function lower(octet: number): number {
  return octet >= 65 && octet <= 90 ? octet | 0x20 : octet;
}

type Column = Uint8Array | Uint16Array | Int32Array | Float64Array;

/** A copy with twice the size. */
export function doubled<C extends Column>(column: C): C {
  const larger = new (column.constructor as new (length: number) => C)(column.length * 2);
  larger.set(column);
  return larger;
}
