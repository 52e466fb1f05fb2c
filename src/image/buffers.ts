/** Allocates the shared memory of one generation of the image. See layout.ts. */
import { FILTER_BITS, type ImageBuffers, SLOT_WORDS } from './layout.js';

/** A small image is not copied again and again while it grows. */
const LEAST_WORDS = 1 << 20;

/** What all generations have in common. */
export type LastingBuffers = Pick<ImageBuffers, 'seed' | 'control' | 'states' | 'places'>;

/** Empty buffers with room for this many heap words, and for the nodes at a slot load of at most one half. */
export function allocate(
  generation: number,
  { seed, control, states, places }: LastingBuffers,
  heapWords: number,
  slots: number,
  zoneSlots: number,
): ImageBuffers {
  return {
    generation,
    seed,
    control,
    states,
    places,
    filter: new SharedArrayBuffer((powerOfTwo(slots) * FILTER_BITS) / 8),
    slots: new SharedArrayBuffer(powerOfTwo(slots) * SLOT_WORDS * 4),
    zoneSlots: new SharedArrayBuffer(powerOfTwo(zoneSlots) * 4),
    heap: new SharedArrayBuffer(heapWords * 4),
  };
}

/** Heap words of a generation in which so many are alive at first: as many again, as long as `most` allows it. */
export function heapWordsFor(alive: number, most: number): number {
  return Math.min(most, Math.max(LEAST_WORDS, alive * 2));
}

/** Memory that belongs to this generation alone. */
export function generationMemory({ filter, slots, zoneSlots, heap }: ImageBuffers): readonly SharedArrayBuffer[] {
  return [filter, slots, zoneSlots, heap];
}

/** Octets of {@link generationMemory}. */
export function generationOctets(buffers: ImageBuffers): number {
  return generationMemory(buffers).reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function powerOfTwo(least: number): number {
  return Math.max(256, 2 ** Math.ceil(Math.log2(Math.max(1, least))));
}
