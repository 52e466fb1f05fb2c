/**
 * Counts answers of load balancers by pool. There are more pools than places: busy ones keep theirs, and those that are not asked
 * any more lose them.
 */
// hot
import { poolAt } from '../../steering/choice.js';
import { PoolWord } from '../../steering/layout.js';
import { MOST_TRIED, type ObservationBlock, POOL_SHIFT, POOLS, PoolPlace, Word } from '../observation.js';
import { type Balance, Decided } from './choose.js';

/** A pool keeps its place against this many answers from others, times {@link MISSES_TO_AGE}. */
const OLDEST = 16;
const MISSES_TO_AGE = 16;

/** To be called after an answer for which a pool was chosen. */
export function countPool({ control, pools }: ObservationBlock, { choice, decided }: Balance): void {
  const number = choice.words[poolAt(choice, choice.pool) + PoolWord.number]!;
  if (number === 0) return;
  const counted = decided === Decided.fallback ? PoolPlace.fallback : PoolPlace.chosen;
  const first = Math.imul(number, 0x9e3779b1) >>> 8;
  let free = -1;
  for (let i = 0; i < MOST_TRIED; i++) {
    const at = ((first + i) & (POOLS - 1)) << POOL_SHIFT;
    if (pools[at + PoolPlace.number] === number) {
      if (pools[at + PoolPlace.age]! < OLDEST) pools[at + PoolPlace.age]! += 1;
      pools[at + counted]! += 1;
      return;
    }
    if (free < 0 && pools[at + PoolPlace.age]! <= 0) free = at;
  }
  if (free < 0) {
    control[Word.poolMisses]! += 1;
    if (control[Word.poolMisses]! < MISSES_TO_AGE) return;
    control[Word.poolMisses] = 0;
    for (let i = 0; i < MOST_TRIED; i++) pools[(((first + i) & (POOLS - 1)) << POOL_SHIFT) + PoolPlace.age]! -= 1;
    return;
  }
  // The number is cleared first, so that the reader does not take these counts for those of another pool.
  pools[free + PoolPlace.number] = 0;
  pools[free + PoolPlace.chosen] = 0;
  pools[free + PoolPlace.fallback] = 0;
  pools[free + counted] = 1;
  pools[free + PoolPlace.age] = 1;
  pools[free + PoolPlace.number] = number;
}
