/**
 * How full the heap of the image may become: word offsets have 30 bits, so it has an end for all zones together. What is small must
 * find room when others have filled it: a part is a reserve that loading whole zones leaves alone.
 */

/** Word offsets have so many bits; 4 GiB. */
const MOST_WORDS = 0x3fffffff;
const RESERVED_PART = 1 / 16;

/**
 * What words are for: zones that grow by being loaded; those that a starting process loads, which were served before with what they
 * have grown since; and what is small.
 */
export type HeapUse = 'growth' | 'start' | 'small';

/** The words that may be alive after each; those of the reserve lie between `growth` and `small`. */
export type HeapRoom = Readonly<Record<HeapUse, number>>;

export function heapRoom(mostWords = MOST_WORDS): HeapRoom {
  const reserve = Math.floor(mostWords * RESERVED_PART);
  return { growth: mostWords - reserve, start: mostWords - Math.floor(reserve / 2), small: mostWords };
}

/** Not a bug: the zone stays as it is served, and is tried again. */
export class ImageFull extends Error {
  constructor() {
    super(
      'the memory of all zones is nearly full, and the rest is kept for small changes: delete zones or records, or serve some zones elsewhere',
    );
    this.name = 'ImageFull';
  }
}
