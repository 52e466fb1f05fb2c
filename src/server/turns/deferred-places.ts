/**
 * Places of datagrams that wait for their turn at the main thread. The threads that receive take them before they hand anything over, so
 * that what is too much costs no more than its drop; the main thread frees them when it answers. One client may have half of what the
 * others leave, because addresses of datagrams cost nothing: whoever floods loses its own.
 */
import { systemRandom } from '../../base/random.js';
import { hasShareFor } from '../../base/turn-classes.js';

/** Of one client, and of all. */
const SHARES = { of: 500, inAll: 1000 } as const;
/** Clients are counted by a hash. Those with the same one share their part. */
const CLIENTS = 4096;
const Word = { seed: 0, all: 1, first: 2 } as const;

/** A place that is held. */
export type DeferredPlace = number;

/** For {@link createDeferredMemory}: nobody finds the addresses that share the part of another one. */
export function randomSeed(): number {
  return Buffer.from(systemRandom.bytes(4)).readInt32LE();
}

export function createDeferredMemory(seed: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((Word.first + CLIENTS) * 4);
  new Int32Array(memory)[Word.seed] = seed;
  return memory;
}

export class DeferredPlaces {
  private readonly words: Int32Array;

  /** `memory` is shared by all threads. */
  constructor(memory: SharedArrayBuffer) {
    this.words = new Int32Array(memory);
  }

  /** Takes a place of a client (see base/ip.ts, clientNetwork); undefined: there is none, and its datagram is dropped. */
  enter(client: string): DeferredPlace | undefined {
    const { words } = this;
    let hash = words[Word.seed]!;
    for (let i = 0; i < client.length; i++) {
      hash = Math.imul(hash ^ client.charCodeAt(i), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const place = Word.first + ((hash >>> 0) % CLIENTS);
    const own = Atomics.add(words, place, 1);
    const all = Atomics.add(words, Word.all, 1);
    if (hasShareFor(own, all, SHARES)) return place;
    this.leave(place);
    return undefined;
  }

  leave(place: DeferredPlace): void {
    Atomics.sub(this.words, place, 1);
    Atomics.sub(this.words, Word.all, 1);
  }
}
