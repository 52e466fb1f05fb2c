/**
 * What a load balancer answers to a question: finds out where the asker is, and lets steering choose a pool and an origin by the
 * program in the node. The health of origins is read from a table that changes without the image.
 */
// hot
import { Rcode, Type } from '../../dns/codes.js';
import { BalanceWord, balanceAt, bodyAt, RRsetWord } from '../../image/layout.js';
import type { ImageReader } from '../../image/reader.js';
import { createPlace, forgetPlace, type Place } from '../../location/place.js';
import {
  type Asker,
  type Choice,
  createAsker,
  createChoice,
  Outcome,
  originAt,
  poolAt,
  type Standing,
} from '../../steering/choice.js';
import { createDice, type SeededDice } from '../../steering/dice.js';
import {
  Family,
  Head,
  HeadFlag,
  mix,
  OriginWord,
  PlaceMode,
  Policy,
  PoolWord,
  SteeringWord,
  SubnetUse,
} from '../../steering/layout.js';
import { chooseOrigin, isEligible } from '../../steering/origins.js';
import { nextPool } from '../../steering/pools.js';
import { steer } from '../../steering/steer.js';
import type { Query } from '../query.js';
import type { Response } from '../response.js';
import { type Client, NO_CLIENT } from '../transport.js';
import { createSubnet, readSubnet, type Subnet, subnetOptionLength } from './client-subnet.js';
import { createRuleJudge, type RuleJudge } from './rule-judge.js';

/** Where this server is, as codes (steering/layout.ts); 0: not told. */
export interface OwnPlace {
  readonly pop: number;
  readonly region: number;
}

/** The state of choosing in one engine. */
export interface Balance {
  readonly own: OwnPlace;
  readonly asker: Asker;
  readonly choice: Choice;
  readonly dice: SeededDice;
  readonly judge: RuleJudge;
  readonly place: Place;
  readonly subnet: Subnet;
  standing: Standing;
  /** Who asks. */
  client: Client;
  /** Word offsets of the RRsets that answer, each once. */
  readonly picks: Int32Array;
  count: number;
  /** Whether the answer is an alias of the addresses that were asked for. */
  isAlias: boolean;
  /** Index of the chosen origin in the chosen pool; -1 if there is none. */
  origin: number;
  placedBy: PlacedByCode;
  /** What the load balancer decided; in a chain, what the last one decided. */
  decided: DecidedCode;
}

/** `nothing`: no load balancer was asked. `none`: the load balancer found no origin. */
export const Decided = { nothing: 0, pool: 1, fallback: 2, none: 3 } as const;
export type DecidedCode = (typeof Decided)[keyof typeof Decided];

/** What the location of the asker was derived from: this server's location, the client subnet, or the asker's address. */
export const PlacedBy = { server: 0, subnet: 1, address: 2 } as const;
export type PlacedByCode = (typeof PlacedBy)[keyof typeof PlacedBy];

/** The most addresses in one answer. */
const MOST_PICKS = 256;

/** `seed`: 16 octets for the choices. */
export function createBalance(own: OwnPlace, seed: Uint8Array): Balance {
  return {
    own,
    asker: createAsker(),
    choice: createChoice(),
    dice: createDice(seed),
    judge: createRuleJudge(),
    place: createPlace(),
    subnet: createSubnet(),
    standing: { states: new Int32Array(0), loads: undefined },
    client: NO_CLIENT,
    picks: new Int32Array(MOST_PICKS),
    count: 0,
    isAlias: false,
    origin: -1,
    placedBy: PlacedBy.server,
    decided: Decided.nothing,
  };
}

/** Forgets the last answer. */
export function beginBalance(balance: Balance, client: Client): void {
  balance.client = client;
  balance.count = 0;
  balance.subnet.scope = -1;
  balance.decided = Decided.nothing;
}

/** Chooses what answers a question at a node of a load balancer. Returns the first RRset, or 0; ANY gets one of either family. */
export function chooseAnswer(
  balance: Balance,
  query: Query,
  response: Response,
  image: ImageReader,
  node: number,
): number {
  const { type } = query;
  if (type === Type.any) {
    if (chooseAnswers(balance, query, response, image, node, Type.a) > 0) balance.count = 1;
    else if (response.rcode === 0 && chooseAnswers(balance, query, response, image, node, Type.aaaa) > 0)
      balance.count = 1;
  } else if (type === Type.a || type === Type.aaaa || type === Type.cname) {
    chooseAnswers(balance, query, response, image, node, type);
  }
  if (type === Type.any || type === Type.cname) balance.isAlias = false;
  if (balance.count === 0 && response.rcode === Rcode.noError) standIn(balance, image.words, node, type);
  return balance.count === 0 ? 0 : balance.picks[0]!;
}

/**
 * Takes any address of the family that is asked for, if it is signed: the types of a signed name are proved whatever the health of
 * origins is, and validators would take it for a forgery that one of them is not there (RFC 4035 §5.4).
 */
function standIn(balance: Balance, words: Int32Array, node: number, type: number): void {
  const block = balanceAt(words, node);
  const count = words[block + BalanceWord.program]! - BalanceWord.rrsets;
  const first = Math.floor((balance.dice.next() / 0x100000000) * count);
  for (let i = 0; i < count; i++) {
    const rrset = node + words[block + BalanceWord.rrsets + ((first + i) % count)]!;
    if (words[rrset + RRsetWord.signatures] === 0 || typeWordOf(words, rrset) !== type << 8) continue;
    balance.picks[0] = rrset;
    balance.count = 1;
    return;
  }
}

/** Lets the same question get the same choice again: one that waits for a signature is answered by another engine. */
export function repeatChoice({ dice }: Balance, query: Query, hash: number): void {
  dice.begin(hash ^ query.id);
}

/** Seconds that the RRsets are answered with when a rule changes that; 0: with their own. */
export function changedTtl({ choice }: Balance): number {
  const ttl = choice.steering[SteeringWord.ttl]!;
  const own = choice.at + choice.words[choice.at + Head.steering]! + SteeringWord.ttl;
  return ttl === choice.words[own] ? 0 : ttl;
}

/**
 * Chooses the RRsets that answer a question for A, AAAA or CNAME at a node of a load balancer: {@link Balance.picks}. Returns their
 * number. With a malformed client subnet the response code becomes FORMERR.
 */
function chooseAnswers(
  balance: Balance,
  query: Query,
  response: Response,
  image: ImageReader,
  node: number,
  type: number,
): number {
  const { words } = image;
  const { asker, choice, dice, client } = balance;
  const block = balanceAt(words, node);
  const program = block + words[block + BalanceWord.program]!;
  if (balance.standing.states !== image.states) balance.standing = { states: image.states, loads: undefined };
  balance.count = 0;
  balance.isAlias = false;
  balance.origin = -1;
  balance.decided = Decided.none;
  const scope = balance.subnet.scope;
  if (!locate(balance, query, image, program)) {
    response.rcode = Rcode.formErr;
    return 0;
  }
  // Room for the option is taken when it is first known that it will be there; a chain holds for what its narrowest part does.
  if (scope < 0) response.limit -= subnetOptionLength(query, balance.subnet);
  else if (balance.subnet.scope < scope) balance.subnet.scope = scope;
  if (words[program + Head.rules] !== 0) {
    balance.judge.begin(image, node, block, query, client, balance.subnet, asker.region);
  }
  asker.families = type === Type.a ? Family.ipv4 : type === Type.aaaa ? Family.ipv6 : 0;
  if (steer(choice, words, program, balance.standing, asker, balance.judge, dice) === Outcome.fixed) return 0;
  if (nextPool(choice, balance.standing, asker, dice) < 0) return 0;
  const origin = chooseOrigin(choice, balance.standing, asker, dice);
  balance.origin = origin;
  if (origin < 0) return 0;
  const first = answerOf(choice, words, node, block, origin, type);
  if (first === 0) return 0;
  balance.picks[balance.count++] = first;
  balance.decided = choice.isFallback ? Decided.fallback : Decided.pool;
  balance.isAlias = typeWordOf(words, first) === Type.cname << 8;
  // An RRset is signed whole, and which of them are healthy together is not known before.
  const isSigned = words[first + RRsetWord.signatures] !== 0;
  if ((words[program + Head.flags]! & HeadFlag.all) !== 0 && !isSigned) takeAll(balance, words, node, block, type);
  return balance.count;
}

/** Takes the other healthy origins of the chosen pool, in any order. */
function takeAll(balance: Balance, words: Int32Array, node: number, block: number, type: number): void {
  const { choice, asker, dice, picks } = balance;
  const { states } = balance.standing;
  const pool = poolAt(choice, choice.pool);
  const count = words[pool + PoolWord.origins]!;
  const onlyHealthy = hasAnyHealthy(choice, states, pool, count);
  for (let i = 0; i < count && balance.count < MOST_PICKS; i++) {
    if (!isEligible(choice, states, pool, i, asker.families, onlyHealthy)) continue;
    const rrset = answerOf(choice, words, node, block, i, type);
    if (rrset === 0 || isPicked(balance, rrset)) continue;
    // Each of those before it may give it its place.
    const place = Math.floor((dice.next() / 0x100000000) * (balance.count + 1));
    picks[balance.count] = picks[place]!;
    picks[place] = rrset;
    balance.count++;
  }
}

function hasAnyHealthy(choice: Choice, states: Int32Array, pool: number, count: number): boolean {
  for (let i = 0; i < count; i++) if (isEligible(choice, states, pool, i, 0, true)) return true;
  return false;
}

function isPicked({ picks, count }: Balance, rrset: number): boolean {
  for (let i = 0; i < count; i++) if (picks[i] === rrset) return true;
  return false;
}

/** Word offset of what an origin of the chosen pool answers, its alias in place of addresses; 0 for nothing. */
function answerOf(
  choice: Choice,
  words: Int32Array,
  node: number,
  block: number,
  origin: number,
  type: number,
): number {
  const at = originAt(choice, poolAt(choice, choice.pool), origin);
  const own = type === Type.a ? OriginWord.ipv4 : type === Type.aaaa ? OriginWord.ipv6 : OriginWord.alias;
  const index = words[at + own]! >= 0 ? words[at + own]! : words[at + OriginWord.alias]!;
  return index < 0 ? 0 : node + words[block + BalanceWord.rrsets + index]!;
}

/**
 * The type of an RRset with its octets exchanged: it stands behind the owner, in the same word, whose lowest octet comes first
 * (image/layout.ts).
 */
function typeWordOf(words: Int32Array, rrset: number): number {
  return words[bodyAt(words, rrset)]! >>> 16;
}

/** Finds out where the asker is, and how far around it the answer holds; false when its client subnet is malformed. */
function locate(balance: Balance, query: Query, image: ImageReader, program: number): boolean {
  const { words } = image;
  const { asker, own, place, subnet, client } = balance;
  subnet.scope = -1;
  subnet.source = 0;
  balance.placedBy = PlacedBy.server;
  asker.pop = own.pop;
  asker.country = 0;
  asker.region = own.region;
  asker.x = 0;
  asker.y = 0;
  asker.z = 0;
  const flags = words[program + Head.flags]!;
  if ((flags & HeadFlag.placed) === 0) {
    asker.hash = 0;
    return true;
  }
  const steering = program + words[program + Head.steering]!;
  if (query.subnetLength >= 0) {
    if (!readSubnet(query, subnet)) return false;
    subnet.scope = 0;
  }
  forgetPlace(place);
  const usesSubnet = subnet.source > 0 && takesSubnet(words, steering);
  if (usesSubnet) {
    asker.hash = hashOf(subnet.address, 0, subnet.length);
    if (image.places?.find(subnet.address, 0, subnet.length, place)) balance.placedBy = PlacedBy.subnet;
    // Where the address itself decides, the answer holds for what was sent of it.
    const isExact = (flags & HeadFlag.exact) !== 0;
    subnet.scope = isExact && place.prefix < subnet.source ? subnet.source : place.prefix;
  } else {
    if (subnet.source > 0 && (flags & HeadFlag.subnet) !== 0) subnet.scope = subnet.source;
    asker.hash = hashOf(client.source, client.at, client.length);
    if (words[steering + SteeringWord.mode] === PlaceMode.resolver && client.length !== 0) {
      if (image.places?.find(client.source, client.at, client.length, place)) balance.placedBy = PlacedBy.address;
    }
  }
  if (place.country !== 0 || place.region !== 0) {
    asker.country = place.country;
    asker.region = place.region;
  }
  asker.x = place.x;
  asker.y = place.y;
  asker.z = place.z;
  return true;
}

/** Whether the client subnet counts, which depends on the policy. */
function takesSubnet(words: Int32Array, steering: number): boolean {
  const policy = words[steering + SteeringWord.policy];
  switch (words[steering + SteeringWord.subnet]) {
    case SubnetUse.always:
      return true;
    case SubnetUse.proximity:
      return policy === Policy.proximity;
    case SubnetUse.geo:
      return policy === Policy.geo;
    default:
      return false;
  }
}

function hashOf(octets: Uint8Array, at: number, length: number): number {
  let hash = length;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ octets[at + i]!, 0x01000193);
  return mix(hash);
}
