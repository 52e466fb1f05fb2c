/**
 * One generation of the image while its writer fills it. The heap grows at its end; slots are filled once and never
 * freed. Readers do not see new data until a node slot or zone slot points to it.
 */
import { invariant } from '../base/errors.js';
import { labelCount } from '../dns/name.js';
import type { ImageBuffers } from './layout.js';
import {
  Control,
  EMPTY_SLOT,
  filterBit,
  HEAP_START,
  hashName,
  SLOT_WORDS,
  slotOf,
  ZONE_HEADER,
  ZoneWord,
} from './layout.js';
import { ImageReader } from './reader.js';

/** The largest number of words in a zone record and the salt of its hashes. */
export const ZONE_RECORD_WORDS: number = ZONE_HEADER + 64 + 65;

/** Words of the record of a zone with this apex. */
export function zoneRecordWords(apex: Uint8Array): number {
  return ZONE_HEADER + ((apex.length + 3) >>> 2);
}

/** Words of the salt of a zone's hashes. */
export function saltWords(salt: Uint8Array): number {
  return salt.length === 0 ? 0 : 1 + ((salt.length + 3) >>> 2);
}

/**
 * Parts of a generation that are left when the next one should begin, so that there is room for changes until it is there. A change takes
 * a new place in the heap each time, but a slot only for a new name.
 */
const HEAP_LEFT = 1 / 8;
const SLOTS_LEFT = 1 / 32;

export class ImageTables {
  readonly view: ImageReader;
  /** Used words of the heap. */
  used = HEAP_START;
  takenSlots = 0;
  takenZoneSlots = 0;
  private readonly slotShift: number;
  private readonly filterShift: number;

  constructor(readonly buffers: ImageBuffers) {
    this.view = new ImageReader(buffers);
    this.slotShift = Math.clz32(this.view.slots.length / SLOT_WORDS) + 1;
    this.filterShift = Math.clz32(this.view.filter.length) + 1;
  }

  /** The same content as another generation, which has other places of addresses. */
  withPlaces(generation: number, places: ImageBuffers['places']): ImageTables {
    const { used, takenSlots, takenZoneSlots } = this;
    return Object.assign(new ImageTables({ ...this.buffers, generation, places }), {
      used,
      takenSlots,
      takenZoneSlots,
    });
  }

  hasHeapRoom(words: number): boolean {
    return this.used + words <= this.view.words.length;
  }

  /** Words of the heap that are not used. */
  heapLeft(): number {
    return this.view.words.length - this.used;
  }

  hasSlotRoom(nodes: number): boolean {
    return (this.takenSlots + nodes) * 2 * SLOT_WORDS <= this.view.slots.length;
  }

  hasZoneRoom(zones: number): boolean {
    return (this.takenZoneSlots + zones) * 2 <= this.view.zoneSlots.length;
  }

  /** Whether only so much of the heap is left that the next generation should begin, or a part of that. */
  isShortOfHeap(part = 1): boolean {
    return !this.hasHeapRoom(this.view.words.length * HEAP_LEFT * part);
  }

  /** The same of slots for nodes and for zones. */
  isShortOfSlots(part = 1): boolean {
    const { slots, zoneSlots } = this.view;
    const left = (SLOTS_LEFT * part) / 2;
    return !this.hasSlotRoom((slots.length / SLOT_WORDS) * left) || !this.hasZoneRoom(zoneSlots.length * left);
  }

  /** Appends a compiled node to the heap, which must have room for it. Returns its word offset. */
  append(words: Int32Array): number {
    const node = this.used;
    this.view.words.set(words, node);
    this.used += words.length;
    return node;
  }

  /** Appends a zone record whose counts and apex node are 0. Returns its word offset. */
  appendZone(zone: number, apex: Uint8Array): number {
    const { words, bytes, control } = this.view;
    const record = this.used;
    const labels = labelCount(apex);
    words[record + ZoneWord.hash] = hashName(this.buffers.seed, apex);
    words[record + ZoneWord.name] = apex.length | (labels << 8);
    words[record + ZoneWord.number] = zone;
    bytes.set(apex, (record + ZONE_HEADER) * 4);
    this.used += zoneRecordWords(apex);
    // Wider bounds give the same search result.
    if (labels < control[Control.zoneMinLabels]!) Atomics.store(control, Control.zoneMinLabels, labels);
    if (labels > control[Control.zoneMaxLabels]!) Atomics.store(control, Control.zoneMaxLabels, labels);
    return record;
  }

  /** Appends the salt of a zone's hashes, with its length. Returns its word offset, or 0 for none. */
  appendSalt(salt: Uint8Array): number {
    if (salt.length === 0) return 0;
    const at = this.used;
    this.view.words[at] = salt.length;
    this.view.bytes.set(salt, (at + 1) * 4);
    this.used += saltWords(salt);
    return at;
  }

  /** Index of the slot that holds this node of a zone. */
  findSlot(zone: number, hash: number, node: number): number {
    const { slots } = this.view;
    const mask = slots.length - 1;
    let index = slotOf(hash, zone, this.slotShift) * SLOT_WORDS;
    while (slots[index + 1] !== node) index = (index + SLOT_WORDS) & mask;
    return index;
  }

  /**
   * Prepares an empty slot outside `reserved` for a node with this hash, and returns its index. The slot stays empty,
   * and may be prepared again, until the word offset of the node is stored behind the hash.
   */
  prepareSlot(zone: number, hash: number, reserved?: ReadonlySet<number>): number {
    const { filter, slots } = this.view;
    const mask = slots.length - 1;
    let index = slotOf(hash, zone, this.slotShift) * SLOT_WORDS;
    while (slots[index + 1] !== EMPTY_SLOT || reserved?.has(index)) index = (index + SLOT_WORDS) & mask;
    const bit = filterBit(hash, zone);
    filter[bit >>> this.filterShift]! |= 1 << (bit & 31);
    slots[index] = hash;
    return index;
  }

  /**
   * Fills a slot for a node at once, and returns its index. Only for zones that no record names yet, and for buffers that
   * no reader has yet.
   */
  fillSlot(zone: number, hash: number, node: number): number {
    const index = this.prepareSlot(zone, hash);
    Atomics.store(this.view.slots, index + 1, node);
    this.takenSlots++;
    return index;
  }

  /** Index of an empty slot for a zone, outside `reserved`. */
  findZoneSlot(apex: Uint8Array, reserved?: ReadonlySet<number>): number {
    const { zoneSlots } = this.view;
    const mask = zoneSlots.length - 1;
    let index = slotOf(hashName(this.buffers.seed, apex), 0, Math.clz32(zoneSlots.length) + 1);
    while (zoneSlots[index] !== EMPTY_SLOT || reserved?.has(index)) index = (index + 1) & mask;
    return index;
  }

  /** Index of the slot that holds this record of a zone. */
  zoneSlotOf(record: number): number {
    const { words, zoneSlots } = this.view;
    const mask = zoneSlots.length - 1;
    let index = slotOf(words[record + ZoneWord.hash]!, 0, Math.clz32(zoneSlots.length) + 1);
    for (; zoneSlots[index] !== record; index = (index + 1) & mask) {
      invariant(zoneSlots[index] !== EMPTY_SLOT, 'the record of a zone has a slot');
    }
    return index;
  }
}
