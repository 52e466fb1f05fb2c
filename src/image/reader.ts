/** Reads the compiled zones: hash look-ups on octets, without allocation. See layout.ts. */
// hot
import { REGIONS } from '../balancing/region-codes.js';
import { regionOf } from '../balancing/regions.js';
import { createPlaceFinder, type PlaceFinder } from '../location/finder.js';
import {
  Control,
  EMPTY_SLOT,
  Flag,
  filterBit,
  type ImageBuffers,
  NODE_HEADER,
  NodeWord,
  nodeFlags,
  nodeNameAt,
  nodeNameLength,
  REMOVED_SLOT,
  rrsetCount,
  SLOT_WORDS,
  slotOf,
  ZONE_HEADER,
  ZoneWord,
} from './layout.js';

const WORLD = { regions: REGIONS, regionOf };

/** One thread's view of the image. A new generation replaces all its buffers. */
export class ImageReader {
  readonly control: Int32Array;
  /** The health of origins of load balancers. */
  readonly states: Int32Array;
  generation = 0;
  seed = 0;
  filter!: Int32Array;
  slots!: Int32Array;
  zoneSlots!: Int32Array;
  words!: Int32Array;
  bytes!: Uint8Array;
  /** The heap as a DataView, for reading four octets at any offset. */
  view!: DataView;
  /** Where addresses are. */
  places: PlaceFinder | undefined;
  private placesVersion: number | undefined;
  /** Whether the last member that floor.ts found has the key itself. */
  floorIsExact = false;
  /** 32 less the binary logarithm of the number of slots; the same of zones, and of words of the filter. */
  slotShift = 0;
  zoneShift = 0;
  filterShift = 0;

  constructor(buffers: ImageBuffers) {
    this.control = new Int32Array(buffers.control);
    this.states = new Int32Array(buffers.states);
    this.adopt(buffers);
  }

  /** Whether buffers newer than these are waiting. */
  isStale(): boolean {
    return Atomics.load(this.control, Control.generation) !== this.generation;
  }

  /** Switches to newer buffers; buffers older than the current ones are ignored. */
  adopt(buffers: ImageBuffers): void {
    if (buffers.generation <= this.generation) return;
    this.generation = buffers.generation;
    this.seed = buffers.seed;
    this.filter = new Int32Array(buffers.filter);
    this.slots = new Int32Array(buffers.slots);
    this.zoneSlots = new Int32Array(buffers.zoneSlots);
    this.words = new Int32Array(buffers.heap);
    this.bytes = new Uint8Array(buffers.heap);
    this.view = new DataView(buffers.heap);
    if (buffers.places?.version !== this.placesVersion) {
      this.placesVersion = buffers.places?.version;
      this.places = buffers.places && createPlaceFinder(buffers.places, WORLD);
    }
    this.slotShift = shiftOf(this.slots.length / SLOT_WORDS);
    this.zoneShift = shiftOf(this.zoneSlots.length);
    this.filterShift = shiftOf(this.filter.length);
  }

  /** Word offset of the node of a zone with this name (`length` octets of lower case at `start`), or 0. */
  findNode(zone: number, hash: number, name: DataView, start: number, length: number): number {
    if (!this.mayHold(zone, hash)) return 0;
    const slots = this.slots;
    const words = this.words;
    const mask = slots.length - 1;
    let index = slotOf(hash, zone, this.slotShift) * SLOT_WORDS;
    for (;;) {
      const node = slots[index + 1]!;
      if (node === EMPTY_SLOT) return 0;
      if (
        slots[index] === hash &&
        node !== REMOVED_SLOT &&
        words[node + NodeWord.zone] === zone &&
        nodeNameLength(words, node) === length &&
        this.sameOctets(nodeNameAt(words, node), name, start, length)
      ) {
        return node;
      }
      index = (index + SLOT_WORDS) & mask;
    }
  }

  /** Word offset of the node `*.<name>` of a zone, or 0; `hash` is that of the whole name. */
  findWildcard(zone: number, hash: number, name: DataView, start: number, length: number): number {
    if (!this.mayHold(zone, hash)) return 0;
    const slots = this.slots;
    const words = this.words;
    const mask = slots.length - 1;
    let index = slotOf(hash, zone, this.slotShift) * SLOT_WORDS;
    for (;;) {
      const node = slots[index + 1]!;
      if (node === EMPTY_SLOT) return 0;
      if (
        slots[index] === hash &&
        node !== REMOVED_SLOT &&
        words[node + NodeWord.zone] === zone &&
        nodeNameLength(words, node) === length + 2 &&
        nodeFlags(words, node) & Flag.wildcard &&
        this.sameOctets(nodeNameAt(words, node) + 2, name, start, length)
      ) {
        return node;
      }
      index = (index + SLOT_WORDS) & mask;
    }
  }

  /** Word offset of the record of the zone whose apex has this name, or 0. */
  findZone(hash: number, name: DataView, start: number, length: number): number {
    const slots = this.zoneSlots;
    const words = this.words;
    const mask = slots.length - 1;
    let index = slotOf(hash, 0, this.zoneShift);
    for (;;) {
      const zone = slots[index]!;
      if (zone === EMPTY_SLOT) return 0;
      if (
        zone !== REMOVED_SLOT &&
        words[zone + ZoneWord.hash] === hash &&
        (words[zone + ZoneWord.name]! & 0xff) === length &&
        this.sameOctets((zone + ZONE_HEADER) * 4, name, start, length)
      ) {
        return zone;
      }
      index = (index + 1) & mask;
    }
  }

  /** Word offset of the RRset of this type at a node, or 0. */
  findRRset(node: number, type: number): number {
    const words = this.words;
    let at = node + NODE_HEADER;
    for (let left = rrsetCount(words, node); left > 0; left--, at += 2) {
      if (words[at] === type) return node + words[at + 1]!;
    }
    return 0;
  }

  /** False only when no name with this hash has a slot. */
  private mayHold(zone: number, hash: number): boolean {
    const bit = filterBit(hash, zone);
    return ((this.filter[bit >>> this.filterShift]! >>> (bit & 31)) & 1) !== 0;
  }

  private sameOctets(at: number, name: DataView, start: number, length: number): boolean {
    const view = this.view;
    if (length < 4) {
      for (let i = 0; i < length; i++) if (view.getUint8(at + i) !== name.getUint8(start + i)) return false;
      return true;
    }
    // The last four octets may overlap the ones before them.
    const last = length - 4;
    for (let i = 0; i < last; i += 4) {
      if (view.getInt32(at + i, true) !== name.getInt32(start + i, true)) return false;
    }
    return view.getInt32(at + last, true) === name.getInt32(start + last, true);
  }
}

function shiftOf(slots: number): number {
  return Math.clz32(slots) + 1;
}
