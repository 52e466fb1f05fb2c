/**
 * Reads what the questions of a batch will need, before the first of them is answered. In a large image each look-up waits for memory
 * several times, because one place says where the next one is. Here the processor waits for the same step of all questions at once.
 *
 * Nothing depends on it: what a malformed question, a longer chain of slots or a change of the image leads to is read in vain.
 */
// hot
import { copyInLowerCase } from '../dns/wire-name.js';
import { Control, filterBit, hashLabel, SLOT_WORDS, slotOf, ZoneWord } from './layout.js';
import type { ImageReader } from './reader.js';

/** Smaller images stay in the cache of the processor: so many words of slots, of 16,384 names. */
const LARGE = 16_384 * SLOT_WORDS;
/** For fewer questions it is not worth while, and there is room for no more. */
const FEWEST = 4;
const MOST = 64;
const HEADER_LENGTH = 12;
/** Labels of a name that is looked ahead for, as in the reverse tree of IPv6. */
const MOST_LABELS = 34;
/** Octets of the labels before the last one that is looked at. */
const LONGEST = 190;
/** Words of a cache line; a small node fills three. */
const LINE = 16;

export class ReadAhead {
  /** Keeps the reads from being left out. */
  sum = 0;
  private readonly name = new DataView(new ArrayBuffer(256));
  private readonly labelAt = new Uint8Array(MOST_LABELS + 1);
  /** By question: the hash of its name. */
  private readonly hashes: Int32Array;
  /** Two for each question: the hashes of names of zones that it may be in, and their records; 0 for none. */
  private readonly zoneHashes: Int32Array;
  private readonly zones: Int32Array;
  /** By question: the node of the apex, or the slot of another name, as a negative number; 0 for none. */
  private readonly places: Int32Array;
  private readonly image: ImageReader;

  constructor(image: ImageReader) {
    this.image = image;
    this.hashes = new Int32Array(MOST);
    this.zoneHashes = new Int32Array(2 * MOST);
    this.zones = new Int32Array(2 * MOST);
    this.places = new Int32Array(MOST);
  }

  /** For `received` messages, one every `stride` octets from `first` on, each with room for more than a name. */
  read(messages: DataView, first: number, stride: number, received: number): void {
    if (this.image.slots.length < LARGE || received < FEWEST) return;
    const count = Math.min(received, MOST);
    let sum = 0;
    for (let i = 0; i < count; i++) this.readZoneSlots(messages, first + i * stride + HEADER_LENGTH, i);
    sum += this.readZones(count) + this.readSlots(count) + this.readNodes(count);
    this.sum = sum | 0;
  }

  /** Hashes the name, and looks for the longest names that zones have. */
  private readZoneSlots(messages: DataView, start: number, i: number): void {
    const { image, name, labelAt, zones, zoneHashes } = this;
    zones[2 * i] = 0;
    zones[2 * i + 1] = 0;
    let at = start;
    let labels = 0;
    for (; ; labels++) {
      const length = messages.getUint8(at);
      labelAt[labels] = at - start;
      if (length === 0) break;
      if (length > 63 || labels === MOST_LABELS || at - start > LONGEST) return;
      at += 1 + length;
    }
    copyInLowerCase(messages, start, name, at - start + 1);
    const longest = Math.min(labels, image.control[Control.zoneMaxLabels]!);
    let hash = image.seed;
    for (let label = labels - 1; label >= 0; label--) {
      hash = hashLabel(hash, name, labelAt[label]!);
      const shorter = longest - (labels - label);
      if (shorter !== 0 && shorter !== 1) continue;
      zones[2 * i + shorter] = image.zoneSlots[slotOf(hash, 0, image.zoneShift)]!;
      zoneHashes[2 * i + shorter] = hash;
    }
    this.hashes[i] = hash;
  }

  private readZones(count: number): number {
    const words = this.image.words;
    const zones = this.zones;
    let sum = 0;
    for (let i = 0; i < 2 * count; i++) sum += words[zones[i]! + ZoneWord.hash]!;
    return sum;
  }

  private readSlots(count: number): number {
    const { words, slots, filter, slotShift, filterShift } = this.image;
    const { places, hashes } = this;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const zone = this.zoneOf(2 * i) || this.zoneOf(2 * i + 1);
      const hash = hashes[i]!;
      places[i] = 0;
      if (zone === 0) continue;
      if (words[zone + ZoneWord.hash] === hash) {
        places[i] = words[zone + ZoneWord.apexNode]!;
        continue;
      }
      const number = words[zone + ZoneWord.number]!;
      const slot = slotOf(hash, number, slotShift) * SLOT_WORDS;
      places[i] = -1 - slot;
      sum += slots[slot]! + filter[filterBit(hash, number) >>> filterShift]!;
    }
    return sum;
  }

  /** The record at this place, if it is that of the name. */
  private zoneOf(index: number): number {
    const zone = this.zones[index]!;
    return this.image.words[zone + ZoneWord.hash] === this.zoneHashes[index] ? zone : 0;
  }

  private readNodes(count: number): number {
    const { words, slots } = this.image;
    const { places } = this;
    const last = words.length - 2 * LINE - 1;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const place = places[i]!;
      const node = place < 0 ? slots[-place]! : place;
      if (node > 0 && node <= last) sum += words[node]! + words[node + LINE]! + words[node + 2 * LINE]!;
    }
    return sum;
  }
}
