/**
 * Compiles the RRsets of one owner into a node of the image (layout.ts): wire form with slots in place of compression
 * pointers.
 *
 * Names in the rdata of RFC 1035 types are compressed (RFC 3597 §4) against names that every answer contains: the owner
 * itself, the apex inside the question, and earlier names in the same RRset.
 */

import { Type } from '../dns/codes.js';
import { isAtOrBelow, isWildcard, lowerName, nameLength } from '../dns/name.js';
import { typeByCode } from '../dns/rr/registry.js';
import type { RRset } from '../dns/rr.js';
import {
  BalanceWord,
  Flag,
  hashName,
  MAX_TARGETS,
  MISSING_SIGNATURES,
  NODE_HEADER,
  NodeWord,
  RRSET_HEADER,
  RRsetWord,
  SOURCE_SHIFT,
  TARGET_HEADER,
  TargetWord,
} from './layout.js';

/** The largest size of an RRset in octets; a larger one cannot be sent over any transport. */
const MAX_BODY = 0xffff;
/**
 * Names up to this offset in the body can be pointed to. Pointers have 14 bits (RFC 1035 §4.1.4); the question, the chain
 * and the header before an RRset take up the rest at most.
 */
const MAX_RELATIVE = 8192;
const OWNER_POINTER = 0xc00c;
/** Octets of an RR before its rdata, the owner being a pointer. */
const RR_FIXED = 12;

export interface NodeSource {
  /** Lower-case wire name. */
  readonly owner: Uint8Array;
  /** Lower-case wire name. */
  readonly apex: Uint8Array;
  /** Empty for an empty non-terminal. The order is the directory order: the first RRset answers ANY (RFC 8482). */
  readonly rrsets: readonly RRset[];
  /** What a load balancer answers in place of addresses and aliases among `rrsets`. */
  readonly balance?: BalanceSource | undefined;
}

export interface BalanceSource {
  /** Each is a whole answer. */
  readonly rrsets: readonly RRset[];
  /** See steering/layout.ts. */
  readonly program: Int32Array;
  /** Those of its rules. */
  readonly conditions: readonly string[];
}

export interface CompiledNode {
  /** The node's words: a view that is valid until the next compilation. */
  readonly words: Int32Array;
  readonly hash: number;
  readonly flags: number;
}

let words = new Int32Array(1 << 14);
let bytes = new Uint8Array(words.buffer);
let body = new Uint8Array(MAX_BODY + 1024);
let bodyLength = 0;
/** Octets of the RRSIGs behind the body, and their number. */
let signatureWord = 0;
let ownerSlots: number[] = [];
let apexSlots: number[] = [];
let relativeSlots: number[] = [];
let targets: { readonly name: Uint8Array; readonly at: number }[] = [];
let suffixes: Map<string, number> | undefined;

/** Compiles the owner of an NSEC3 record. Not re-entrant either. */
export function compileHashed(
  { owner, apex }: Omit<NodeSource, 'rrsets'>,
  rrset: RRset,
  zone: number,
  seed: number,
): CompiledNode {
  const node = compileNode({ owner, apex, rrsets: [rrset] }, zone, seed);
  node.words[NodeWord.shape]! |= Flag.hashed << 8;
  return { ...node, flags: node.flags | Flag.hashed };
}

/** Compiles one node. Not re-entrant: the next call overwrites the buffer of the result. */
export function compileNode(source: NodeSource, zone: number, seed: number): CompiledNode {
  const { owner, balance } = source;
  const rrsets = balance ? source.rrsets.filter(({ type }) => !BALANCED.has(type)) : source.rrsets;
  const hash = hashName(seed, owner);
  const flags = flagsOf(source.owner, source.apex, rrsets) | (balance ? Flag.balanced : 0);
  let at = NODE_HEADER + rrsets.length * 2;
  reserve(at + 64);
  at = putOctets(at, owner);
  for (let i = 0; i < rrsets.length; i++) {
    const rrset = rrsets[i]!;
    words[NODE_HEADER + i * 2] = rrset.type;
    words[NODE_HEADER + i * 2 + 1] = at;
    at = compileRRset(source, rrset, at, seed);
  }
  if (balance) at = compileBalance(source, balance, at, seed);
  words[NodeWord.hash] = hash;
  words[NodeWord.zone] = zone;
  words[NodeWord.shape] = owner.length | (flags << 8) | (rrsets.length << 16);
  words[NodeWord.length] = at;
  return { words: words.subarray(0, at), hash, flags };
}

/** Types that a load balancer answers by choice. */
const BALANCED: ReadonlySet<number> = new Set([Type.a, Type.aaaa, Type.cname]);

/** Returns the offset behind it. */
function compileRRset(source: NodeSource, rrset: RRset, at: number, seed: number): number {
  compileBody(source, rrset);
  signatureWord = appendSignatures(rrset);
  const head = rrset.rdatas.length | ((rrset.extendedError ?? 0) << 16) | ((rrset.source ?? 0) << SOURCE_SHIFT);
  return putRRset(at, head, seed);
}

/** The block of a load balancer, and where it is as the last word. */
function compileBalance(
  source: NodeSource,
  { rrsets, program, conditions }: BalanceSource,
  from: number,
  seed: number,
): number {
  const offsets: number[] = [];
  let at = from;
  for (const rrset of rrsets) {
    offsets.push(at);
    at = compileRRset(source, rrset, at, seed);
  }
  const block = at;
  const text = conditions.length === 0 ? Buffer.alloc(0) : Buffer.from(JSON.stringify(conditions));
  const programAt = block + BalanceWord.rrsets + offsets.length;
  const conditionsAt = programAt + program.length;
  reserve(conditionsAt + (text.length + 3) / 4 + 1);
  words[block + BalanceWord.conditions] = text.length;
  words[block + BalanceWord.program] = programAt - block;
  words[block + BalanceWord.conditionsAt] = conditionsAt - block;
  words.set(offsets, block + BalanceWord.rrsets);
  words.set(program, programAt);
  at = putOctets(conditionsAt, text);
  words[at] = block;
  return at + 1;
}

function flagsOf(owner: Uint8Array, apex: Uint8Array, rrsets: readonly RRset[]): number {
  const isApex = owner.length === apex.length;
  let flags = (isApex ? Flag.apex : 0) | (isWildcard(owner) ? Flag.wildcard : 0);
  for (const { type } of rrsets) {
    if (type === Type.ns && !isApex) flags |= Flag.cut;
    // A wildcard's DNAME redirects names below the literal `*`; its effect on other names is undefined (RFC 6672 §3.3).
    if (type === Type.dname) flags |= Flag.dname;
    if (type === Type.cname) flags |= Flag.cname;
    if (type === Type.nsec) flags |= Flag.nsec;
  }
  return flags;
}

function compileBody(source: NodeSource, rrset: RRset): void {
  bodyLength = 0;
  ownerSlots = [];
  apexSlots = [];
  relativeSlots = [];
  targets = [];
  suffixes = undefined;
  const type = rrset.type & 0xffff;
  for (const rdata of rrset.rdatas) {
    if (bodyLength + RR_FIXED + rdata.length > MAX_BODY) {
      // The RRset cannot be answered whole. An empty body makes the engine answer SERVFAIL.
      bodyLength = 0;
      ownerSlots = [];
      apexSlots = [];
      relativeSlots = [];
      targets = [];
      return;
    }
    if (bodyLength > 0) ownerSlots.push(bodyLength);
    putFixed(type, rrset.ttl);
    const lengthAt = bodyLength;
    bodyLength += 2;
    putRdata(source, type, rdata);
    const length = bodyLength - lengthAt - 2;
    body[lengthAt] = length >>> 8;
    body[lengthAt + 1] = length;
  }
}

/**
 * Appends the RRSIGs to the body; their TTL is that of the RRset (RFC 4034 §3). Returns the header word about them. An
 * RRset whose own data is not known has none.
 */
function appendSignatures({ signatures, ttl }: RRset): number {
  if (!signatures || bodyLength === 0) return 0;
  const octets = signatures.reduce((sum, rdata) => sum + RR_FIXED + rdata.length, 0);
  if (signatures.length === 0 || octets > MAX_BODY) return MISSING_SIGNATURES;
  reserveBody(octets);
  for (const rdata of signatures) {
    putFixed(Type.rrsig, ttl);
    putU16(rdata.length);
    putOctetsToBody(rdata, 0, rdata.length);
  }
  return octets | (signatures.length << 16);
}

/** Owner, type, class and TTL. */
function putFixed(type: number, ttl: number): void {
  putU16(OWNER_POINTER);
  putU16(type);
  putU16(1);
  putU16(ttl >>> 16);
  putU16(ttl & 0xffff);
}

function putRdata(source: NodeSource, type: number, rdata: Uint8Array): void {
  let at = 0;
  if (type !== Type.a && type !== Type.aaaa && type !== Type.txt) {
    for (const name of typeByCode(type).names(rdata)) {
      putOctetsToBody(rdata, at, name.at);
      const wire = rdata.subarray(name.at, name.at + name.length);
      if (name.additional || type === Type.cname || type === Type.dname) addTarget(source, type, wire);
      if (name.compress) putCompressed(source, wire);
      else putOctetsToBody(rdata, name.at, name.at + name.length);
      at = name.at + name.length;
    }
  }
  putOctetsToBody(rdata, at, rdata.length);
}

/** Notes a name that answers follow. Only names in this zone are followed: the zone has no authority over others. */
function addTarget(source: NodeSource, type: number, wire: Uint8Array): void {
  if (targets.length >= MAX_TARGETS) return;
  const name = lowerName(wire);
  // "." in ServiceMode stands for the owner (RFC 9460 §2.5.2), whose name begins the body. A wildcard's owner is not
  // known here.
  if (name.length === 1 && (type === Type.svcb || type === Type.https)) {
    if (!isWildcard(source.owner)) targets.push({ name: source.owner, at: 0 });
  } else if (isAtOrBelow(name, source.apex) || (type === Type.dname && isAtOrBelow(source.apex, name))) {
    // What a DNAME to a name above the zone makes of a name may be in the zone again.
    targets.push({ name, at: bodyLength });
  }
}

/** Writes a name, replacing the longest suffix that every message contains with a pointer slot. */
function putCompressed(source: NodeSource, wire: Uint8Array): void {
  const lower = lowerName(wire);
  const { owner, apex } = source;
  const ownerAt = !isWildcard(owner) && isAtOrBelow(lower, owner) ? lower.length - owner.length : -1;
  const apexAt = isAtOrBelow(lower, apex) ? lower.length - apex.length : -1;
  suffixes ??= new Map();
  for (let at = 0; ; at += 1 + lower[at]!) {
    if (lower[at] === 0) {
      body[bodyLength++] = 0;
      return;
    }
    if (at === ownerAt) {
      ownerSlots.push(bodyLength);
      putU16(OWNER_POINTER);
      return;
    }
    if (at === apexAt) {
      apexSlots.push(bodyLength);
      bodyLength += 2;
      return;
    }
    const key = Buffer.from(lower.buffer, lower.byteOffset + at, nameLength(lower, at)).toString('latin1');
    const earlier = suffixes.get(key);
    if (earlier !== undefined) {
      relativeSlots.push(bodyLength | (earlier << 16));
      bodyLength += 2;
      return;
    }
    if (bodyLength < MAX_RELATIVE) suffixes.set(key, bodyLength);
    putOctetsToBody(wire, at, at + 1 + lower[at]!);
  }
}

function putRRset(at: number, head: number, seed: number): number {
  let size = RRSET_HEADER + ownerSlots.length + apexSlots.length + relativeSlots.length + (bodyLength + 3) / 4;
  for (const target of targets) size += TARGET_HEADER + (target.name.length + 3) / 4;
  reserve(at + Math.ceil(size) + 4);
  words[at + RRsetWord.head] = head;
  words[at + RRsetWord.octets] = bodyLength - (signatureWord === MISSING_SIGNATURES ? 0 : signatureWord & 0xffff);
  words[at + RRsetWord.slots] = ownerSlots.length | (apexSlots.length << 16);
  words[at + RRsetWord.references] = relativeSlots.length | (targets.length << 16);
  words[at + RRsetWord.signatures] = signatureWord;
  let to = at + RRSET_HEADER;
  for (const slot of ownerSlots) words[to++] = slot;
  for (const slot of apexSlots) words[to++] = slot;
  for (const slot of relativeSlots) words[to++] = slot;
  for (const target of targets) {
    words[to + TargetWord.hash] = hashName(seed, target.name);
    words[to + TargetWord.place] = target.name.length | (target.at << 8);
    to = putOctets(to + TARGET_HEADER, target.name);
  }
  words[at + RRsetWord.body] = to - at;
  bytes.set(body.subarray(0, bodyLength), to * 4);
  return to + ((bodyLength + 3) >>> 2);
}

function putU16(value: number): void {
  body[bodyLength++] = value >>> 8;
  body[bodyLength++] = value;
}

function putOctetsToBody(from: Uint8Array, start: number, end: number): void {
  reserveBody(end - start);
  for (let i = start; i < end; i++) body[bodyLength++] = from[i]!;
}

function reserveBody(octets: number): void {
  if (bodyLength + octets <= body.length) return;
  const grown = new Uint8Array(Math.max(body.length * 2, bodyLength + octets));
  grown.set(body);
  body = grown;
}

/** Writes octets padded to whole words; returns the offset of the next word. */
function putOctets(at: number, octets: Uint8Array): number {
  bytes.set(octets, at * 4);
  return at + ((octets.length + 3) >>> 2);
}

function reserve(count: number): void {
  if (count + 80 <= words.length) return;
  const grown = new Int32Array(Math.max(words.length * 2, count + 80));
  grown.set(words);
  words = grown;
  bytes = new Uint8Array(words.buffer);
}
