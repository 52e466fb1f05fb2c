/** What choosing reads and finds: objects that are made once and refilled for each question or request. */
// hot
import { Head, MOST_POOLS, ORIGIN_WORDS, POOL_WORDS, PoolWord, STEERING_WORDS } from './layout.js';

/** Who asks, and what is asked for. One object is refilled. */
export interface Asker {
  /** Codes (`codeOf`) of its place; 0 for what is not known. */
  pop: number;
  country: number;
  region: number;
  /** Its unit vector in any unit; all 0: not known. */
  x: number;
  y: number;
  z: number;
  /** A hash of its address. */
  hash: number;
  /** {@link Family} bits: an origin with one of them is wanted; 0: any. */
  families: number;
  /** Whether the request belongs to a session, which is shed less. */
  hasSession: boolean;
  /** Index of an origin that is not wanted, in the pool that is tried; -1: none. */
  without: number;
}

export function createAsker(): Asker {
  return { pop: 0, country: 0, region: 0, x: 0, y: 0, z: 0, hash: 0, families: 0, hasSession: false, without: -1 };
}

/** Uniformly distributed numbers of 32 bits without sign. */
export interface Dice {
  next(): number;
}

/** Says whether the condition of a rule holds; only the caller knows the fields. */
export interface Judge {
  holds(rule: number): boolean;
}

/** Why a pool was not a candidate. */
export const Drop = { no: 0, disabled: 1, critical: 2, empty: 3, shed: 4 } as const;

/** The outcome of {@link steer}. */
export const Outcome = { pools: 0, fixed: 1 } as const;

/** What was found; one object is refilled. */
export interface Choice {
  /** The program, and where it is. */
  words: Int32Array;
  at: number;
  /** {@link SteeringWord}s as pool set and rules left them. */
  readonly steering: Int32Array;
  /** Index of the pool set that matched, and of the one or the rule that has the fixed response; -1 for none. */
  set: number;
  fixedSet: number;
  fixedRule: number;
  /** 1 for each rule that matched. */
  readonly matched: Uint8Array;
  /** Offset of the list of candidates, in the program. */
  list: number;
  /** Candidates that can take the request: first those that were tried, in their order. */
  readonly candidates: Int32Array;
  count: number;
  tried: number;
  /** {@link Drop} for each pool. */
  readonly dropped: Uint8Array;
  /** The pool that is tried, -1 for none, and whether it is the fallback pool. */
  pool: number;
  isFallback: boolean;
  isFallbackTried: boolean;
}

/** The most rules of one load balancer. */
const MOST_RULES = 256;

export function createChoice(): Choice {
  return {
    words: new Int32Array(0),
    at: 0,
    steering: new Int32Array(STEERING_WORDS),
    set: -1,
    fixedSet: -1,
    fixedRule: -1,
    matched: new Uint8Array(MOST_RULES),
    list: 0,
    candidates: new Int32Array(MOST_POOLS),
    count: 0,
    tried: 0,
    dropped: new Uint8Array(MOST_POOLS),
    pool: -1,
    isFallback: false,
    isFallbackTried: false,
  };
}

/** What changes without a new program. `loads`: requests or connections under way, by the same places as `states`. */
export interface Standing {
  readonly states: Int32Array;
  readonly loads: Int32Array | undefined;
}

/** Word offset of a pool. */
export function poolAt({ words, at }: Choice, pool: number): number {
  return at + words[at + Head.poolsAt]! + pool * POOL_WORDS;
}

/** Word offset of an origin of a pool (word offset). */
export function originAt({ words, at }: Choice, pool: number, origin: number): number {
  return at + words[pool + PoolWord.originsAt]! + origin * ORIGIN_WORDS;
}
