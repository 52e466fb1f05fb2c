/**
 * Finds the candidates for one question or request: with pools.ts and origins.ts the one rule for DNS and the edge. It reads a
 * compiled program (layout.ts), the table of states, and what is known of the asker, and allocates nothing.
 *
 * The order of the steps: the steering of the load balancer, then a pool set that matches, then rules, which are ignored with geo
 * steering; then candidates by the policy, without those that cannot take the request.
 */
// hot
import {
  type Asker,
  type Choice,
  type Dice,
  Drop,
  type Judge,
  Outcome,
  originAt,
  poolAt,
  type Standing,
} from './choice.js';
import {
  Head,
  mix,
  ORIGIN_WORDS,
  OriginWord,
  Policy,
  PoolWord,
  RULE_WORDS,
  RuleWord,
  SET_WORDS,
  SetWord,
  ShedBy,
  STEERING_WORDS,
  State,
  SteeringWord,
} from './layout.js';

/** Begins a choice: finds the candidates. Returns an {@link Outcome}. */
export function steer(
  choice: Choice,
  words: Int32Array,
  at: number,
  standing: Standing,
  asker: Asker,
  judge: Judge,
  dice: Dice,
): number {
  choice.words = words;
  choice.at = at;
  const from = at + words[at + Head.steering]!;
  for (let i = 0; i < STEERING_WORDS; i++) choice.steering[i] = words[from + i]!;
  choice.fixedSet = -1;
  choice.fixedRule = -1;
  choice.count = 0;
  choice.tried = 0;
  choice.pool = -1;
  choice.isFallback = false;
  choice.isFallbackTried = false;
  for (let rule = words[at + Head.rules]! - 1; rule >= 0; rule--) choice.matched[rule] = 0;
  choice.set = matchSet(choice, asker);
  if (choice.set >= 0 && applySet(choice)) return Outcome.fixed;
  if (choice.steering[SteeringWord.policy] !== Policy.geo && applyRules(choice, judge)) return Outcome.fixed;
  choice.list = at + listFor(choice, asker);
  takeCandidates(choice, standing, asker, dice);
  return Outcome.pools;
}

/** The first pool set that matches, or -1. */
function matchSet({ words, at }: Choice, asker: Asker): number {
  const count = words[at + Head.sets]!;
  let set = at + words[at + Head.setsAt]!;
  for (let index = 0; index < count; index++, set += SET_WORDS) {
    if (words[set + SetWord.disabled] !== 0) continue;
    if (words[set + SetWord.placed] === 0) return index;
    // Within a list any value fits, and every list that is there has to.
    if (
      fits(words, at, words[set + SetWord.pops]!, asker.pop) &&
      fits(words, at, words[set + SetWord.countries]!, asker.country) &&
      fits(words, at, words[set + SetWord.regions]!, asker.region)
    ) {
      return index;
    }
  }
  return -1;
}

/** Whether a sorted list of codes contains this one; an empty list contains all. */
function fits(words: Int32Array, at: number, codes: number, code: number): boolean {
  if (codes === 0) return true;
  let from = 1;
  let to = words[at + codes]!;
  while (from <= to) {
    const middle = (from + to) >>> 1;
    const found = words[at + codes + middle]!;
    if (found === code) return true;
    if (found < code) from = middle + 1;
    else to = middle - 1;
  }
  return false;
}

/** True: it has a fixed response. */
function applySet(choice: Choice): boolean {
  const { words, at, steering } = choice;
  const set = at + words[at + Head.setsAt]! + choice.set * SET_WORDS;
  if (words[set + SetWord.fixed] !== 0) {
    choice.fixedSet = choice.set;
    return true;
  }
  if (words[set + SetWord.policy] !== -1) steering[SteeringWord.policy] = words[set + SetWord.policy]!;
  if (words[set + SetWord.fallback] !== -1) steering[SteeringWord.fallback] = words[set + SetWord.fallback]!;
  if (words[set + SetWord.weights] !== 0) steering[SteeringWord.weights] = words[set + SetWord.weights]!;
  if (words[set + SetWord.pools] !== 0) {
    steering[SteeringWord.pools] = words[set + SetWord.pools]!;
    // Its list takes the place of the whole topology.
    steering[SteeringWord.pops] = 0;
    steering[SteeringWord.countries] = 0;
    steering[SteeringWord.regions] = 0;
  }
  return false;
}

/** True: a rule has a fixed response. */
function applyRules(choice: Choice, judge: Judge): boolean {
  const { words, at, steering, matched } = choice;
  const count = words[at + Head.rules]!;
  let rule = at + words[at + Head.rulesAt]!;
  for (let index = 0; index < count; index++, rule += RULE_WORDS) {
    if (words[rule + RuleWord.disabled] !== 0 || !judge.holds(index)) continue;
    matched[index] = 1;
    if (words[rule + RuleWord.fixed] !== 0) {
      choice.fixedRule = index;
      return true;
    }
    const changes = words[rule + RuleWord.changes]!;
    const from = at + words[rule + RuleWord.changesAt]!;
    for (let i = 0; i < changes; i++) steering[words[from + i * 2]!] = words[from + i * 2 + 1]!;
    if (words[rule + RuleWord.terminates] !== 0) break;
  }
  return false;
}

/** Offset of the list that the policy takes candidates from. */
function listFor({ words, at, steering }: Choice, asker: Asker): number {
  const pools = steering[SteeringWord.pools]!;
  if (steering[SteeringWord.policy] !== Policy.geo) return pools;
  return (
    listOf(words, at, steering[SteeringWord.pops]!, asker.pop) ||
    listOf(words, at, steering[SteeringWord.countries]!, asker.country) ||
    listOf(words, at, steering[SteeringWord.regions]!, asker.region) ||
    pools
  );
}

/** Offset of the list for a code in a map; 0 for none. */
function listOf(words: Int32Array, at: number, map: number, code: number): number {
  if (map === 0 || code === 0) return 0;
  let from = 0;
  let to = words[at + map]!;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const entry = at + map + 1 + middle * 2;
    if (words[entry] === code) return words[entry + 1]!;
    if (words[entry]! < code) from = middle + 1;
    else to = middle;
  }
  return 0;
}

function takeCandidates(choice: Choice, standing: Standing, asker: Asker, dice: Dice): void {
  const { words, list, candidates, dropped } = choice;
  const count = words[list]!;
  for (let i = 1; i <= count; i++) {
    const pool = words[list + i]!;
    const drop = dropOf(choice, standing.states, pool, asker, dice);
    dropped[pool] = drop;
    if (drop === Drop.no) candidates[choice.count++] = pool;
  }
}

function dropOf(choice: Choice, states: Int32Array, index: number, asker: Asker, dice: Dice): number {
  const { words } = choice;
  const pool = poolAt(choice, index);
  if (words[pool + PoolWord.enabled] === 0) return Drop.disabled;
  const monitored = words[pool + PoolWord.monitored] !== 0;
  const minimum = words[pool + PoolWord.minimum]!;
  const count = words[pool + PoolWord.origins]!;
  let healthy = 0;
  let open = 0;
  let able = 0;
  let origin = originAt(choice, pool, 0);
  for (let i = 0; i < count; i++, origin += ORIGIN_WORDS) {
    if (words[origin + OriginWord.enabled] === 0) continue;
    const isUp = !monitored || states[words[origin + OriginWord.slot]!] === State.up;
    if (isUp) healthy++;
    if (words[origin + OriginWord.weight] === 0) continue;
    open++;
    if (isUp || minimum === 0) able++;
  }
  if (open === 0) return Drop.empty;
  if (monitored && healthy < minimum) return Drop.critical;
  if (able === 0) return Drop.empty;
  return isShed(words, pool, asker, dice) ? Drop.shed : Drop.no;
}

function isShed(words: Int32Array, pool: number, asker: Asker, dice: Dice): boolean {
  const share = words[pool + (asker.hasSession ? PoolWord.shedSessions : PoolWord.shed)]!;
  if (share === 0) return false;
  const isStable = asker.hasSession || words[pool + PoolWord.shedBy] === ShedBy.hash;
  const value = isStable ? mix(asker.hash ^ words[pool + PoolWord.hash]!) >>> 0 : dice.next();
  return value < (share / 10_000) * 0x100000000;
}
