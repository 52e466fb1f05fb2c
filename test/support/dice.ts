/** Choices of random tests, reproducible by their seed. */
import { seededRandom } from './seeded-random.js';

export interface Dice {
  /** A whole number from 0 to `limit` - 1. */
  readonly below: (limit: number) => number;
  readonly pick: <T>(list: readonly T[]) => T;
}

export function throwDice(seed: number): Dice {
  const random = seededRandom(seed);
  const below = (limit: number): number => {
    const [a, b] = random.bytes(2);
    return ((a! << 8) | b!) % limit;
  };
  return { below, pick: (list) => list[below(list.length)]! };
}
