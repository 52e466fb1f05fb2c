/**
 * Byte layout of the compiled zones: what the writer appends and the answer path reads.
 *
 * An image is four SharedArrayBuffers of 32-bit words, the same for every thread:
 * - `filter`: one bit for every hash that was ever given a slot. Nine in ten look-ups of names that do not exist, which
 *   attacks consist of, end here, in memory that fits the processor's cache;
 * - `slots`: open addressing over all nodes of all zones, load at most 1/2. Two words for each slot: the hash, so that nodes
 *   of other names are not read, and the node: 0 is empty, 1 a removed entry, all else the word offset of the node;
 * - `zoneSlots`: the same over zone records, one word a slot;
 * - `heap`: append-only nodes and zone records. Nodes never change within a generation, so a reader may keep an offset.
 * Nothing in a node points to another node: names in rdata carry the hash of their target, which is looked up when the answer
 * is made. So only a changed owner itself is recompiled, and nodes are copied to a new heap without changes.
 *
 * Two buffers do not belong to a generation: the control block, and `states`, the health of origins of load balancers, which changes
 * without any node.
 *
 * Node (word offsets):
 *   0 hash   1 zone number   2 name length | flags << 8 | number of RRsets << 16   3 length of the node in words
 *   4… directory: two words for each RRset: type, word offset of the RRset from the node; then the name, lower case, padded
 * RRset:
 *   0 number of RRs | extended error << 16 | RRsetSource << 28   1 octets of the body: 0 when it cannot be answered
 *   2 number of owner slots (the first RR's own not counted) | number of apex slots << 16
 *   3 number of relative slots | number of targets << 16   4 word offset of the body from the RRset
 *   5 octets of the signatures | number of signatures << 16; MISSING_SIGNATURES when they are not known
 *   6… owner slots, apex slots (one word each: octet offset in the body)
 *      relative slots (offset | value << 16)
 *      targets: hash, name length | octet offset of the name in the body << 8, the name in lower case, padded
 *   body: the RRs in wire form, ready to be copied; the owner is a pointer to octet 12. Directly behind them the RRSIGs
 *   that cover them, in the same form.
 * The node of a load balancer has neither A nor AAAA nor CNAME among its RRsets. Its last word is the word offset of the block that
 * says what it may answer (BalanceWord), from the node. Behind the header of the block are the word offsets, from the node, of RRsets
 * of which each is a whole answer, then the program that chooses one (steering/layout.ts), then conditions of its rules as text.
 * A slot is a compression pointer (RFC 1035 §4.1.4) whose value depends on the message: to the owner name, to the apex inside
 * the question, or to an earlier name in the same RRset. When the owner is the question's name, owner slots need no change.
 */

import type { PlaceSource } from '../location/finder.js';
import { NEGATIVE_SOA_KEY } from '../zone/derive/soa.js';

/** Words of the control block. */
export const Control = {
  /** Number of the generation. When it differs from the reader's, new buffers wait on its port. */
  generation: 0,
  /** Even: at rest. Odd: slots are being switched. Every publication changes it. */
  sequence: 1,
  /** The fewest and the most labels of any zone's apex; they bound the search for a zone. */
  zoneMinLabels: 2,
  zoneMaxLabels: 3,
  length: 16,
} as const;

export const EMPTY_SLOT = 0;
export const REMOVED_SLOT = 1;
/** Words of a node slot: hash, offset. */
export const SLOT_WORDS = 2;
/** Offset of the first node, so that no offset equals a slot mark. */
export const HEAP_START = 4;

export const NODE_HEADER = 4;
export const NodeWord = {
  hash: 0,
  zone: 1,
  /** Length of the name, flags, number of RRsets: {@link nodeNameLength}, {@link nodeFlags}, {@link rrsetCount}. */
  shape: 2,
  length: 3,
} as const;

export const RRSET_HEADER = 6;
export const RRsetWord = {
  /** Number of RRs, extended error, source. */
  head: 0,
  octets: 1,
  /** Owner slots, apex slots. */
  slots: 2,
  /** Relative slots, targets. */
  references: 3,
  body: 4,
  signatures: 5,
} as const;
/** In the first word of an RRset: its extended error is below this bit. */
export const SOURCE_SHIFT = 28;
/** An RRset that must be signed, but whose signatures are not known. */
export const MISSING_SIGNATURES = -1;

/** Words of a target before its name. */
export const TARGET_HEADER = 2;
export const TargetWord = {
  hash: 0,
  /** Length of the name, and its octet offset in the body. */
  place: 1,
} as const;

export const Flag = {
  /** Zone cut: NS records below the apex. */
  cut: 1,
  dname: 2,
  /** The leftmost label is `*`. */
  wildcard: 4,
  apex: 8,
  cname: 16,
  /** Has an NSEC record. */
  nsec: 32,
  /** The owner of an NSEC3 record. */
  hashed: 64,
  /** A load balancer answers its addresses. */
  balanced: 128,
} as const;

/** Words of the block of a load balancer. */
export const BalanceWord = {
  /** Octets of the conditions: JSON list of texts; 0 for none. */
  conditions: 0,
  /** Word offsets from the block: of the program, and of the conditions. */
  program: 1,
  conditionsAt: 2,
  rrsets: 3,
} as const;

/** Word offset of the block of a node that has {@link Flag.balanced}. */
export function balanceAt(words: Int32Array, node: number): number {
  return node + words[node + words[node + NodeWord.length]! - 1]!;
}

/** Octets of a node's name. */
export function nodeNameLength(words: Int32Array, node: number): number {
  return words[node + NodeWord.shape]! & 0xff;
}

/** The {@link Flag} bits of a node. */
export function nodeFlags(words: Int32Array, node: number): number {
  return (words[node + NodeWord.shape]! >>> 8) & 0xff;
}

/** Number of RRsets at a node. */
export function rrsetCount(words: Int32Array, node: number): number {
  return words[node + NodeWord.shape]! >>> 16;
}

/** Word offset of the RRset that has this place in a node's directory. */
export function rrsetAt(words: Int32Array, node: number, index: number): number {
  return node + words[node + NODE_HEADER + index * 2 + 1]!;
}

/** Octet offset of a node's name in the heap: it stands behind the directory. */
export function nodeNameAt(words: Int32Array, node: number): number {
  return (node + NODE_HEADER + rrsetCount(words, node) * 2) * 4;
}

/** Word offset of an RRset's body in the heap. */
export function bodyAt(words: Int32Array, rrset: number): number {
  return rrset + words[rrset + RRsetWord.body]!;
}

/** Number of targets of an RRset. */
export function targetCount(words: Int32Array, rrset: number): number {
  return words[rrset + RRsetWord.references]! >>> 16;
}

/** Octets of a target's name. */
export function targetNameLength(words: Int32Array, target: number): number {
  return words[target + TargetWord.place]! & 0xff;
}

/**
 * Zone record: 0 hash  1 name length | labels << 8  2 zone number  3 cuts and DNAMEs  4 wildcards  5 node of the apex
 * 6 denial: 0 for an unsigned zone, else DenialKind | opt-out << 8 | iterations << 16  7 root of the denial index, or 0
 * 8 word offset of the salt: its length, its octets; 0 for none  9 when the copy of a secondary zone expires, seconds since
 * 1970; 0 for other zones  10… name, padded.
 */
export const ZONE_HEADER = 10;
export const ZoneWord = {
  hash: 0,
  name: 1,
  number: 2,
  cuts: 3,
  wildcards: 4,
  apexNode: 5,
  denial: 6,
  index: 7,
  salt: 8,
  expires: 9,
} as const;

/** Added to the zone number in the nodes of NSEC3 records. */
export const HASHED_ZONE = 1;

/** The number of the zone that a node belongs to; `zone`: the number in the node. */
export function zoneOfNode(zone: number): number {
  return zone & ~HASHED_ZONE;
}

export const DenialKind = { none: 0, nsec: 1, nsec3: 2, compact: 3 } as const;
export const OPT_OUT = 0x100;

/**
 * Page of a denial index: 0 number of entries | level << 8 | prefix octets << 16   1 length of the page in words
 * 2… for each entry: four octets of its key after the prefix, as a signed number in the order of the octets; then for each
 * its value: at level 0 the index of its node's slot, above the word offset of a page; then for each where the rest of
 * its key is: octet offset in the page | octets << 16; then the prefix, and the rests.
 */
export const PAGE_HEADER = 2;
/** Octets of an NSEC3 hash, which is SHA-1 (RFC 5155 §11). */
export const HASH_OCTETS = 20;

/** Directory key of the SOA for negative answers; it is above every real type, so no question matches it. */
export const NEGATIVE_SOA: number = NEGATIVE_SOA_KEY;

/** Further targets are not followed; their addresses would not fit into a message anyway. */
export const MAX_TARGETS = 200;

/**
 * Hash of a name from the hash of its parent and its first label, whose length octet is at `at`. The root's hash is the
 * image's random seed, so that attackers cannot prepare colliding names. Octets must be in lower case.
 *
 * Each word is multiplied twice. A difference in the highest bit passes through one multiplication unchanged, whatever the seed, and the
 * next word can take it away: whoever may add names would make as many with the same hash as they like.
 */
export function hashLabel(parent: number, name: DataView, at: number): number {
  const length = name.getUint8(at);
  let hash = Math.imul(parent ^ length, 0x85ebca6b);
  hash ^= hash >>> 13;
  let i = at + 1;
  for (const whole = i + (length & ~3); i < whole; i += 4) {
    hash = Math.imul(hash ^ name.getInt32(i, true), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    hash ^= hash >>> 13;
  }
  if (length & 2) {
    hash = Math.imul(hash ^ name.getUint16(i, true), 0xc2b2ae35);
    i += 2;
  }
  if (length & 1) hash = Math.imul(hash ^ name.getUint8(i), 0x27d4eb2f);
  return hash ^ (hash >>> 15);
}

/** Hash of `*.<name>` from the hash of the name. */
export function hashWildcard(parent: number): number {
  return hashLabel(parent, WILDCARD_LABEL, 0);
}

const WILDCARD_LABEL = new DataView(Uint8Array.of(1, 42).buffer);

/** Hash of a whole lower-case wire name. */
export function hashName(seed: number, name: Uint8Array): number {
  // Copied, because making a view for each of a million names takes longer than hashing them.
  scratch.set(name);
  return hashFrom(seed, scratchView, 0);
}

const scratch = new Uint8Array(256);
const scratchView = new DataView(scratch.buffer);

function hashFrom(seed: number, name: DataView, start: number): number {
  const length = name.getUint8(start);
  return length === 0 ? seed : hashLabel(hashFrom(seed, name, start + 1 + length), name, start);
}

/** The same octets as a DataView, for reading four at a time. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Filter bits for each slot. */
export const FILTER_BITS = 4;

/** The bit of a name in a filter of 2^(32 - shift) words; the upper bits choose the word. */
export function filterBit(hash: number, zone: number): number {
  return Math.imul(hash ^ Math.imul(zone, 0x85ebca6b) ^ (hash >>> 16), 0x27d4eb2f);
}

/** The first slot to probe; `shift` is 32 minus the binary logarithm of the number of slots. */
export function slotOf(hash: number, zone: number, shift: number): number {
  const mixed = Math.imul(hash ^ Math.imul(zone, 0x9e3779b1), 0xc2b2ae35);
  return Math.imul(mixed ^ (mixed >>> 16), 0x9e3779b1) >>> shift;
}

/** Shared memory of one generation, in the form that is posted to workers. */
export interface ImageBuffers {
  readonly generation: number;
  readonly seed: number;
  readonly control: SharedArrayBuffer;
  readonly states: SharedArrayBuffer;
  readonly filter: SharedArrayBuffer;
  readonly slots: SharedArrayBuffer;
  readonly zoneSlots: SharedArrayBuffer;
  readonly heap: SharedArrayBuffer;
  /** Where addresses are; absent: nothing is known of it. */
  readonly places?: PlaceSource | undefined;
}
