/**
 * The reserve of the image. When only that is left, zones that grow wait, and what is small is published: a few records, what grows
 * nothing, and a small zone that is read anew. Each account may use up a part of it.
 */
import { ImageFull } from '../image/heap-room.js';
import type { ImageWriter } from '../image/writer.js';

/** Owners of a small change, and records of a small zone. */
const MOST_OWNERS = 100;
const MOST_RECORDS = 10_000;
/** The part of the reserve by which the zones of one account may grow. */
const PART_OF_ACCOUNT = 1 / 8;

export interface ImageRoom {
  /** What a zone is loaded for that has so many records. */
  useOf(isServed: boolean, records: number): ImageWriter['use'];
  /**
   * Takes words from the reserve for a change of so many owners. `growth`: by how many words the zone grows; only asked when the rest of
   * the image is used, because it takes a look at each owner.
   *
   * @throws ImageFull
   */
  take(account: number | undefined, growth: () => number, owners: number): void;
}

export function createImageRoom(writer: ImageWriter): ImageRoom {
  const mostGrowth = (writer.room.small - writer.room.growth) * PART_OF_ACCOUNT;
  const grown = new Map<number, number>();
  return {
    useOf: (isServed, records) => (isServed && records <= MOST_RECORDS ? 'small' : 'growth'),
    take(account = 0, growth, owners) {
      if (!writer.isNearlyFull()) {
        grown.clear();
        return;
      }
      const words = growth();
      if (words <= 0) return;
      const after = (grown.get(account) ?? 0) + words;
      if (owners > MOST_OWNERS || after > mostGrowth) throw new ImageFull();
      grown.set(account, after);
    },
  };
}
