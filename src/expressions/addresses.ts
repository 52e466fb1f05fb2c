/** A list of networks as disjoint ranges, so that one binary search finds an address among hundreds. */
import { compareBytes } from '../base/bytes.js';
import { type Network, unmappedIP } from '../base/ip.js';

interface Range {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
}

/** Whether one of the networks contains an address; an IPv4 address in the form of IPv6 counts as what it is. */
export function containsOf(networks: readonly Network[]): (address: Uint8Array) => boolean {
  const byLength = new Map([4, 16].map((length) => [length, packed(rangesOf(networks, length), length)]));
  return (address) => {
    const plain = unmappedIP(address);
    const { length } = plain;
    const ranges = byLength.get(length);
    if (!ranges) return false;
    let from = 0;
    let to = ranges.count;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (compareAt(ranges.lasts, middle * length, plain) < 0) from = middle + 1;
      else to = middle;
    }
    return from < ranges.count && compareAt(ranges.firsts, from * length, plain) <= 0;
  };
}

interface PackedRanges {
  readonly count: number;
  readonly firsts: Uint8Array;
  readonly lasts: Uint8Array;
}

/** One after the other: an array of its own takes fifty times as much memory as an address. */
function packed(ranges: readonly Range[], length: number): PackedRanges {
  const firsts = new Uint8Array(ranges.length * length);
  const lasts = new Uint8Array(ranges.length * length);
  for (const [i, { first, last }] of ranges.entries()) {
    firsts.set(first, i * length);
    lasts.set(last, i * length);
  }
  return { count: ranges.length, firsts, lasts };
}

function compareAt(addresses: Uint8Array, at: number, address: Uint8Array): number {
  for (let i = 0; i < address.length; i++) {
    const difference = addresses[at + i]! - address[i]!;
    if (difference !== 0) return difference;
  }
  return 0;
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
