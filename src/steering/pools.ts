/** The order in which pools are tried. */
// hot
import { type Asker, type Choice, type Dice, poolAt, type Standing } from './choice.js';
import { Policy, PoolWord, SteeringWord } from './layout.js';

/**
 * The next pool to try, in the order of the policy, at last the fallback pool; -1 when there is none. Sets {@link Choice.pool}.
 */
export function nextPool(choice: Choice, standing: Standing, asker: Asker, dice: Dice): number {
  if (choice.tried < choice.count) {
    const best = bestCandidate(choice, standing, asker, dice);
    const { candidates } = choice;
    const pool = candidates[best]!;
    // The others keep their order.
    for (let i = best; i > choice.tried; i--) candidates[i] = candidates[i - 1]!;
    candidates[choice.tried++] = pool;
    choice.pool = pool;
    return pool;
  }
  choice.pool = fallbackOf(choice);
  choice.isFallback = choice.pool >= 0;
  choice.isFallbackTried = true;
  return choice.pool;
}

/** The fallback pool if it may still be tried, or -1. Its health does not matter, but it has to be enabled. */
function fallbackOf(choice: Choice): number {
  const pool = choice.steering[SteeringWord.fallback]!;
  if (choice.isFallbackTried || pool < 0 || choice.words[poolAt(choice, pool) + PoolWord.enabled] === 0) return -1;
  for (let i = 0; i < choice.tried; i++) if (choice.candidates[i] === pool) return -1;
  return pool;
}

function bestCandidate(choice: Choice, standing: Standing, asker: Asker, dice: Dice): number {
  switch (choice.steering[SteeringWord.policy]) {
    case Policy.random:
      return byWeight(choice, dice);
    case Policy.requests:
    case Policy.connections:
      return standing.loads === undefined ? byWeight(choice, dice) : leastLoaded(choice, standing.loads);
    case Policy.latency:
      return nearestInTime(choice, standing.states);
    case Policy.proximity:
      return nearestInSpace(choice, asker);
    default:
      return choice.tried;
  }
}

/** By weight; each has the same when all weights are 0. */
function byWeight(choice: Choice, dice: Dice): number {
  const { words, candidates, count, tried } = choice;
  const weights = choice.at + choice.steering[SteeringWord.weights]!;
  let total = 0;
  for (let i = tried; i < count; i++) total += words[weights + candidates[i]!]!;
  if (total === 0) return tried + Math.floor((dice.next() / 0x100000000) * (count - tried));
  let left = (dice.next() / 0x100000000) * total;
  for (let i = tried; i < count; i++) {
    left -= words[weights + candidates[i]!]!;
    if (left < 0) return i;
  }
  return count - 1;
}

/** The largest weight for each request under way. */
function leastLoaded(choice: Choice, loads: Int32Array): number {
  const { words, candidates, count, tried } = choice;
  const weights = choice.at + choice.steering[SteeringWord.weights]!;
  let best = tried;
  let most = -1;
  for (let i = tried; i < count; i++) {
    const load = loads[words[poolAt(choice, candidates[i]!) + PoolWord.slot]!]!;
    const value = words[weights + candidates[i]!]! / (1 + load);
    if (value > most) {
      most = value;
      best = i;
    }
  }
  return best;
}

/** The shortest round trip; those without one come behind the others, in their order. */
function nearestInTime(choice: Choice, states: Int32Array): number {
  const { words, candidates, count, tried } = choice;
  let best = tried;
  let least = 0;
  for (let i = tried; i < count; i++) {
    const time = states[words[poolAt(choice, candidates[i]!) + PoolWord.slot]!]!;
    if (time > 0 && (least === 0 || time < least)) {
      least = time;
      best = i;
    }
  }
  return best;
}

/** The shortest way over the earth; pools without a place come behind the others, in their order. */
function nearestInSpace(choice: Choice, { x, y, z }: Asker): number {
  const { words, candidates, count, tried } = choice;
  if (x === 0 && y === 0 && z === 0) return tried;
  let best = tried;
  let nearest = Number.NEGATIVE_INFINITY;
  for (let i = tried; i < count; i++) {
    const pool = poolAt(choice, candidates[i]!);
    const px = words[pool + PoolWord.x]!;
    const py = words[pool + PoolWord.y]!;
    const pz = words[pool + PoolWord.z]!;
    if (px === 0 && py === 0 && pz === 0) continue;
    // The cosine of the angle between both.
    const closeness = px * x + py * y + pz * z;
    if (closeness > nearest) {
      nearest = closeness;
      best = i;
    }
  }
  return best;
}
