/** The origin in the chosen pool. */
// hot
import { type Asker, type Choice, type Dice, originAt, poolAt, type Standing } from './choice.js';
import { mix, OriginPolicy, OriginWord, PoolWord, State } from './layout.js';

/**
 * An origin of the chosen pool, or -1. Healthy ones; of the fallback pool, and of one that is never critical, the others too when
 * none is healthy.
 */
export function chooseOrigin(choice: Choice, standing: Standing, asker: Asker, dice: Dice): number {
  const pool = poolAt(choice, choice.pool);
  const best = bestOrigin(choice, standing, asker, dice, true);
  const isOpen = choice.isFallback || choice.words[pool + PoolWord.minimum] === 0;
  return best >= 0 || !isOpen || hasHealthy(choice, standing.states, pool)
    ? best
    : bestOrigin(choice, standing, asker, dice, false);
}

/** Whether any origin of a pool (word offset) is up that takes traffic, whatever its family. */
function hasHealthy(choice: Choice, states: Int32Array, pool: number): boolean {
  const count = choice.words[pool + PoolWord.origins]!;
  for (let i = 0; i < count; i++) if (isEligible(choice, states, pool, i, 0, true)) return true;
  return false;
}

/** Whether an origin of a pool (word offset) may be answered. `families`: those wanted; 0: any. */
export function isEligible(
  choice: Choice,
  states: Int32Array,
  pool: number,
  index: number,
  families: number,
  onlyHealthy: boolean,
): boolean {
  const { words } = choice;
  const origin = originAt(choice, pool, index);
  if (words[origin + OriginWord.enabled] === 0 || words[origin + OriginWord.weight] === 0) return false;
  if (families !== 0 && (words[origin + OriginWord.families]! & families) === 0) return false;
  if (!onlyHealthy || words[pool + PoolWord.monitored] === 0) return true;
  return states[words[origin + OriginWord.slot]!] === State.up;
}

function bestOrigin(
  choice: Choice,
  { states, loads }: Standing,
  asker: Asker,
  dice: Dice,
  onlyHealthy: boolean,
): number {
  const { words } = choice;
  const pool = poolAt(choice, choice.pool);
  const count = words[pool + PoolWord.origins]!;
  const policy = words[pool + PoolWord.policy]!;
  const isHashed = policy === OriginPolicy.hash;
  const isLeast = loads !== undefined && (policy === OriginPolicy.requests || policy === OriginPolicy.connections);
  let best = -1;
  let most = 0;
  let total = 0;
  for (let i = 0; i < count; i++) {
    if (i === asker.without || !isEligible(choice, states, pool, i, asker.families, onlyHealthy)) continue;
    const origin = originAt(choice, pool, i);
    const weight = words[origin + OriginWord.weight]!;
    if (!isHashed && !isLeast) {
      // Each takes the place of those before it with its share of the sum so far.
      total += weight;
      if (best < 0 || (dice.next() / 0x100000000) * total < weight) best = i;
      continue;
    }
    const value = isHashed
      ? rendezvous(asker.hash, words[origin + OriginWord.hash]!, weight)
      : weight / (1 + loads![words[origin + OriginWord.slot]!]!);
    if (best < 0 || value > most) {
      most = value;
      best = i;
    }
  }
  return best;
}

/** Weighted rendezvous hashing: an origin that goes gives away its own share alone. */
function rendezvous(asker: number, origin: number, weight: number): number {
  const part = ((mix(asker ^ mix(origin)) >>> 0) + 0.5) / 0x100000000;
  return -weight / Math.log(part);
}
