/**
 * Finds the last member of a denial chain at or before a name: in the order of owner keys (dns/name.ts) for NSEC, of
 * hashes for NSEC3. See denial-index.ts.
 */
// hot
import { PAGE_HEADER } from './layout.js';
import type { ImageReader } from './reader.js';

/**
 * Node of the last entry whose key is not greater than `length` octets of `key`; 0 when all are greater, or there are none.
 * Sets `image.floorIsExact`. `key`: followed by four zero octets.
 */
export function findFloor(image: ImageReader, root: number, key: DataView, length: number): number {
  const words = image.words;
  image.floorIsExact = false;
  if (root === 0) return 0;
  let page = root;
  for (;;) {
    const head = words[page]!;
    const index = findEntry(image, page, key, length);
    const values = page + PAGE_HEADER + (head & 0xff);
    if ((head >>> 8) & 0xff) {
      // The first key of a page above is that of its first page, so only a key before all of them comes here with -1.
      page = words[values + Math.max(0, index)]!;
      continue;
    }
    return index < 0 ? 0 : image.slots[words[values + index]! + 1]!;
  }
}

/** Node of the last entry of all; 0 when there are none. */
export function findLast(image: ImageReader, root: number): number {
  const words = image.words;
  if (root === 0) return 0;
  let page = root;
  for (;;) {
    const head = words[page]!;
    const count = head & 0xff;
    const value = words[page + PAGE_HEADER + 2 * count - 1]!;
    if (((head >>> 8) & 0xff) === 0) return image.slots[value + 1]!;
    page = value;
  }
}

/** Index of the last entry of a page that is not greater than the key; -1 when all are greater. */
function findEntry(image: ImageReader, page: number, key: DataView, length: number): number {
  const words = image.words;
  const count = words[page]! & 0xff;
  const prefix = words[page]! >>> 16;
  const heads = page + PAGE_HEADER;
  const order = compareOctets(image.view, (heads + 3 * count) * 4, prefix, key, 0, Math.min(length, prefix));
  if (order !== 0) return order > 0 ? -1 : count - 1;
  const head = key.getInt32(prefix) ^ 0x80000000;
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const its = words[heads + middle]!;
    if (its < head) low = middle + 1;
    else if (its > head) high = middle;
    else {
      const rest = words[heads + 2 * count + middle]!;
      const at = page * 4 + (rest & 0xffff);
      const tail = compareOctets(image.view, at, rest >>> 16, key, prefix, length - prefix);
      if (tail === 0) {
        image.floorIsExact = true;
        return middle;
      }
      if (tail < 0) low = middle + 1;
      else high = middle;
    }
  }
  return low - 1;
}

/** Below 0 when the octets of `a` come before those of `b`; what ends first is smaller. */
function compareOctets(a: DataView, from: number, count: number, b: DataView, start: number, length: number): number {
  const shared = Math.min(count, length);
  for (let i = 0; i < shared; i++) {
    const difference = a.getUint8(from + i) - b.getUint8(start + i);
    if (difference !== 0) return difference;
  }
  return count - length;
}
