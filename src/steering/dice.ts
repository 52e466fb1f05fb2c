/**
 * Numbers for choices among pools and origins: xoshiro128++ (Blackman and Vigna, 2019), without allocation. They need not be
 * unpredictable: whoever guesses them learns which origin the next asker gets.
 */
// hot
import type { Dice } from './choice.js';
import { mix } from './layout.js';

/** Dice that can begin anew, so that the same question gets the same choice once more. */
export interface SeededDice extends Dice {
  /** `seed`: 32 bits. */
  begin(seed: number): void;
}

/** `seed`: 16 octets. */
export function createDice(seed: Uint8Array): SeededDice {
  return new Xoshiro(seed);
}

class Xoshiro implements SeededDice {
  private readonly state = new Int32Array(4);

  constructor(seed: Uint8Array) {
    // Not all may be 0.
    for (let i = 0; i < 16; i++) this.state[i >> 2]! |= seed[i]! << ((i & 3) * 8);
    this.state[3]! |= 1;
  }

  begin(seed: number): void {
    for (let i = 0; i < 4; i++) this.state[i] = mix(seed + Math.imul(i + 1, 0x9e3779b9));
    this.state[3]! |= 1;
  }

  next(): number {
    const { state } = this;
    const first = state[0]!;
    const second = state[1]!;
    const result = (rotate((first + state[3]!) | 0, 7) + first) >>> 0;
    state[2]! ^= first;
    state[3]! ^= second;
    state[1]! ^= state[2]!;
    state[0]! ^= state[3]!;
    state[2]! ^= second << 9;
    state[3] = rotate(state[3]!, 11);
    return result;
  }
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
