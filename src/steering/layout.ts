/**
 * The form in which a load balancer is compiled: words, so that it lies in the image of DNS as well as in the memory of the edge,
 * and choosing allocates nothing. Offsets count from the first word of the program; 0 stands for none, as nothing but the header is
 * there.
 *
 * Header: see {@link Head}. Pools and origins are tables of records of {@link PoolWord} and {@link OriginWord}.
 * Steering: {@link SteeringWord}. List: its length, then indexes of pools. Codes: their number, then codes in rising order.
 * Map: the number of its entries, then for each a code and the offset of a list, in the order of the codes.
 * Weights: one word for each pool of the program.
 * Pool set: {@link SetWord}. Rule: {@link RuleWord}, followed by pairs: an index of SteeringWord and its new value.
 */

export const Head = { pools: 0, poolsAt: 1, steering: 2, sets: 3, setsAt: 4, rules: 5, rulesAt: 6, flags: 7 } as const;
export const HEAD_WORDS = 8;

export const HeadFlag = {
  /** Every healthy origin is answered, not one. */
  all: 1,
  /** The result may depend on who asks: where it is, or its address. */
  placed: 2,
  /** It may depend on the address itself. */
  exact: 4,
  /** A rule may use the client subnet, whatever the location strategy is. */
  subnet: 8,
} as const;

export const SteeringWord = {
  policy: 0,
  /** Offset of a list. */
  pools: 1,
  /** Index of a pool. */
  fallback: 2,
  /** Offsets of maps. */
  pops: 3,
  countries: 4,
  regions: 5,
  /** Offset of weights. */
  weights: 6,
  /** {@link PlaceMode}, {@link SubnetUse}. */
  mode: 7,
  subnet: 8,
  /** Seconds. */
  ttl: 9,
} as const;
export const STEERING_WORDS = 10;

export const Policy = { off: 0, geo: 1, random: 2, latency: 3, proximity: 4, requests: 5, connections: 6 } as const;
export const PlaceMode = { pop: 0, resolver: 1 } as const;
export const SubnetUse = { always: 0, never: 1, proximity: 2, geo: 3 } as const;

export const SetWord = {
  /** 1: it has a topology; otherwise everything matches. */
  placed: 0,
  /** Offsets of codes. */
  pops: 1,
  countries: 2,
  regions: 3,
  fixed: 4,
  /** What it sets: -1 leaves a policy or a fallback pool, 0 a list or weights as they are. */
  policy: 5,
  pools: 6,
  fallback: 7,
  weights: 8,
  disabled: 9,
} as const;
export const SET_WORDS = 10;

/** `changes`: number of the pairs, and their offset. */
export const RuleWord = { disabled: 0, terminates: 1, fixed: 2, changes: 3, changesAt: 4 } as const;
export const RULE_WORDS = 5;

export const PoolWord = {
  enabled: 0,
  /** Its place in the table of states, where its round trip time is, in microseconds; 0: not known. */
  slot: 1,
  monitored: 2,
  minimum: 3,
  origins: 4,
  originsAt: 5,
  /** Unit vector from the centre of the earth, in units of 2^-30; all 0: its place is not known. */
  x: 6,
  y: 7,
  z: 8,
  /** Hundredths of a percent of requests that go elsewhere: of new ones, and of those of sessions. */
  shed: 9,
  shedBy: 10,
  shedSessions: 11,
  /** {@link OriginPolicy}. */
  policy: 12,
  hash: 13,
  /** Its store number; 0: answers are not counted by it. */
  number: 14,
} as const;
export const POOL_WORDS = 15;

export const ShedBy = { random: 0, hash: 1 } as const;
export const OriginPolicy = { random: 0, hash: 1, requests: 2, connections: 3 } as const;

export const OriginWord = {
  enabled: 0,
  /** Hundredths. */
  weight: 1,
  /** Its place in the table of states. */
  slot: 2,
  /** {@link Family} bits. */
  families: 3,
  /** Indexes of what is answered: its RRset for A, for AAAA, and its CNAME; -1 for none. */
  ipv4: 4,
  ipv6: 5,
  alias: 6,
  hash: 7,
} as const;
export const ORIGIN_WORDS = 8;

export const Family = { ipv4: 1, ipv6: 2 } as const;

/** The state of an origin in the table; anything else counts as down. */
export const State = { down: 0, up: 1 } as const;

export const UNIT = 2 ** 30;
/** The most pools of one load balancer. */
export const MOST_POOLS = 1024;

/** A code of up to four characters, such as `DE`, as a number; 0 for none. */
export function codeOf(text: string): number {
  let code = 0;
  for (let i = 0; i < text.length && i < 4; i++) code = (code << 8) | (text.charCodeAt(i) & 0xff);
  return code;
}

/** The text of a code. */
export function textOfCode(code: number): string {
  let text = '';
  for (let shift = 24; shift >= 0; shift -= 8) {
    const unit = (code >>> shift) & 0xff;
    if (unit !== 0) text += String.fromCharCode(unit);
  }
  return text;
}

/** A hash of 32 bits of a text. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

/** Spreads the bits of a number. */
export function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
