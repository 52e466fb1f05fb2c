/**
 * A ring of entries between this process and the kernel: one side puts entries in and moves `producer`, the other takes them and
 * moves `consumer`. Both numbers count on for ever and wrap at 2^32.
 */
// hot
import type { Syscalls } from '../syscalls.js';
import type { RingPlace } from '../udp-protocol.js';

export interface Ring {
  /** The whole ring in 32-bit words. */
  readonly words: Int32Array;
  /** Positions in words. */
  readonly producer: number;
  readonly consumer: number;
  readonly entries: number;
  readonly mask: number;
  /** Words of an entry. */
  readonly step: number;
  /** How far this side has come; the kernel sees it after {@link publish}. */
  at: number;
}

/** Words of an entry: an address, or an address, a length and options. */
export const AddressStep = 2;
export const DescriptorStep = 4;

export function openRing({ viewOf }: Pick<Syscalls, 'viewOf'>, place: RingPlace, entries: number, step: number): Ring {
  return {
    words: new Int32Array(viewOf(place.address, place.length)),
    producer: place.producer / 4,
    consumer: place.consumer / 4,
    entries: place.entries / 4,
    mask: entries - 1,
    step,
    at: 0,
  };
}

/** Entries that the kernel has put in and that were not taken yet. */
export function waiting(ring: Ring): number {
  return (Atomics.load(ring.words, ring.producer) - ring.at) | 0;
}

/** Where the next entry is, in words; both sides go on by one. */
export function nextEntry(ring: Ring): number {
  const word = ring.entries + (ring.at & ring.mask) * ring.step;
  ring.at = (ring.at + 1) | 0;
  return word;
}

/** Shows the kernel what was taken. */
export function publishTaken(ring: Ring): void {
  Atomics.store(ring.words, ring.consumer, ring.at);
}

/** Shows the kernel what was put in. */
export function publishPut(ring: Ring): void {
  Atomics.store(ring.words, ring.producer, ring.at);
}

/** Entries that were put in and that the kernel has not taken yet. */
export function untaken(ring: Ring): number {
  return (ring.at - Atomics.load(ring.words, ring.consumer)) | 0;
}
