/** A list of networks as disjoint ranges, so that one binary search finds an address among hundreds. */
import { compareBytes } from '../base/bytes.js';
import { type Network, unmappedIP } from '../base/ip.js';

interface Range {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
}

/** Whether one of the networks contains an address; an IPv4 address in the form of IPv6 counts as what it is. */
export function containsOf(networks: readonly Network[]): (address: Uint8Array) => boolean {
  const byLength = new Map([4, 16].map((length) => [length, rangesOf(networks, length)]));
  return (address) => {
    const plain = unmappedIP(address);
    const ranges = byLength.get(plain.length) ?? [];
    let from = 0;
    let to = ranges.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (compareBytes(ranges[middle]!.last, plain) < 0) from = middle + 1;
      else to = middle;
    }
    return from < ranges.length && compareBytes(ranges[from]!.first, plain) <= 0;
  };
}

function rangesOf(networks: readonly Network[], length: number): Range[] {
  const ranges = networks.filter(({ address }) => address.length === length).map(rangeOf);
  ranges.sort((a, b) => compareBytes(a.first, b.first));
  const merged: Range[] = [];
  for (const range of ranges) {
    const before = merged.at(-1);
    if (!before || compareBytes(before.last, range.first) < 0) merged.push(range);
    else if (compareBytes(before.last, range.last) < 0) merged.splice(-1, 1, { first: before.first, last: range.last });
  }
  return merged;
}

function rangeOf({ address, bits }: Network): Range {
  const first = new Uint8Array(address);
  const last = new Uint8Array(address);
  for (let i = 0; i < address.length; i++) {
    const kept = Math.max(0, Math.min(8, bits - i * 8));
    const mask = (0xff00 >>> kept) & 0xff;
    first[i]! &= mask;
    last[i]! |= ~mask & 0xff;
  }
  return { first, last };
}
