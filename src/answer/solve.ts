/**
 * The algorithm of RFC 1034 §4.3.2 with RFC 4592 (wildcards), RFC 6672 (DNAME), RFC 6604 (response codes of chains) and
 * RFC 8482 (ANY), on the compiled image. Sections are written in order: answer, authority, additional.
 *
 * The topmost zone cut on the way down from the apex decides (RFC 1034 §4.3.2 step 3b), so a zone with cuts or DNAMEs
 * is searched from its apex downwards. In any other zone the whole name is looked up first.
 */
// hot
import { Rcode, Type } from '../dns/codes.js';
import { Flag, hashLabel, hashWildcard, NEGATIVE_SOA, NODE_HEADER, ZoneWord } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import type { Query } from './query.js';
import { firstTarget, putPointer, type Response, skipLabels, writeRRset } from './response.js';

/**
 * The largest number of CNAME or DNAME links that are followed within the zone; resolvers do not follow more either.
 */
const MAX_CHAIN = 20;
/**
 * A chain is not followed beyond this octet of the message: compression pointers have 14 bits (RFC 1035 §4.1.4), and an
 * RRset uses up to 8191 octets of that range itself (image/compile.ts).
 */
const MAX_CHAIN_OCTETS = 8191;

/** The name being looked up: the question's at first, then the targets of the chain. Reused. */
export interface Search {
  /** Lower case, wire form. */
  name: Uint8Array;
  /** The same octets as a DataView. */
  nameView: DataView;
  nameLength: number;
  labels: number;
  labelAt: Uint8Array;
  /** Hash of the name from each label on; the root's hash is at index `labels`. */
  hashes: Int32Array;
  /** Position of the name in the message. */
  at: number;
  /** Zone number, and the number of labels of its apex. */
  zone: number;
  zoneRecord: number;
  apexLabels: number;
  apexNode: number;
  /** The node for the question's own name: found, wildcard, zone cut, or DNAME owner; 0 for none. */
  firstNode: number;
  /** Number of names looked up: the question's and those of the chain. */
  names: number;
  /**
   * The result for each of them, a {@link Where} code, and the labels of the deciding name: found name, zone cut,
   * DNAME, or closest encloser.
   */
  where: Uint8Array;
  whereLabels: Uint8Array;
  /** Hashes of the chain's names so far. */
  chain: Int32Array;
  chainLength: number;
  /** DNAMEs of the chain so far: their nodes, and their positions in the message. */
  dnames: Int32Array;
  dnameAt: Int32Array;
  dnameCount: number;
}

/** A search that starts with the question's name and works in the same memory. */
export function createSearch(query: Query): Search {
  return {
    name: query.name,
    nameView: query.nameView,
    nameLength: 0,
    labels: 0,
    labelAt: query.labelAt,
    hashes: new Int32Array(129),
    at: 12,
    zone: 0,
    zoneRecord: 0,
    apexLabels: 0,
    apexNode: 0,
    firstNode: 0,
    names: 0,
    where: new Uint8Array(MAX_CHAIN + 1),
    whereLabels: new Uint8Array(MAX_CHAIN + 1),
    chain: new Int32Array(MAX_CHAIN + 1),
    chainLength: 0,
    dnames: new Int32Array(MAX_CHAIN + 1),
    dnameAt: new Int32Array(MAX_CHAIN + 1),
    dnameCount: 0,
  };
}

/** The result for a name: the name itself, nowhere, the topmost zone cut or DNAME above it, or a wildcard. */
export const Where = { name: 0, nowhere: 1, cut: 2, dname: 3, wildcard: 4 } as const;

/** The outcome of solving one name. */
const DONE = 0;
const FOLLOW = 1;

/** Node of the last `locate`: found node, closest encloser, zone cut or DNAME owner; and its depth in labels. */
let locatedNode = 0;
let locatedLabels = 0;

export function hashSearch(image: ImageReader, search: Search): void {
  const hashes = search.hashes;
  const name = search.nameView;
  const labelAt = search.labelAt;
  let hash = image.seed;
  hashes[search.labels] = hash;
  for (let i = search.labels - 1; i >= 0; i--) {
    hash = hashLabel(hash, name, labelAt[i]!);
    hashes[i] = hash;
  }
}

/** Answers the question in `search`, whose zone is set. */
export function solve(query: Query, search: Search, response: Response, image: ImageReader): void {
  const apexLabel = search.labels - search.apexLabels;
  search.apexNode = image.words[search.zoneRecord + ZoneWord.apexNode]!;
  search.chainLength = 0;
  search.dnameCount = 0;
  response.apexAt = search.at + search.labelAt[apexLabel]!;
  response.authoritative = true;
  if (search.apexNode === 0) {
    response.rcode = Rcode.servFail;
    response.authoritative = false;
    return;
  }
  while (solveName(query, search, response, image) === FOLLOW) {
    if (seenBefore(search) || response.at > MAX_CHAIN_OCTETS) return;
  }
}

function solveName(query: Query, search: Search, response: Response, image: ImageReader): number {
  const where = locate(query, search, image);
  const link = search.chainLength;
  search.names = link + 1;
  search.where[link] = where;
  search.whereLabels[link] = locatedLabels;
  if (link === 0 && where !== Where.nowhere) search.firstNode = locatedNode;
  switch (where) {
    case Where.name:
      return answerNode(query, search, response, image, locatedNode);
    case Where.cut:
      refer(search, response, image);
      return DONE;
    case Where.dname:
      return substitute(query, search, response, image);
  }
  const wildcard = findWildcard(image, search);
  if (wildcard !== 0) {
    if (link === 0) search.firstNode = wildcard;
    search.where[link] = Where.wildcard;
    return answerNode(query, search, response, image, wildcard);
  }
  response.rcode = Rcode.nxDomain;
  writeNegative(search, response, image);
  return DONE;
}

/** Finds the name, or the zone cut, DNAME or wildcard that answers for it. */
function locate(query: Query, search: Search, image: ImageReader): number {
  const words = image.words;
  const depth = search.labels - search.apexLabels;
  if (words[search.zoneRecord + ZoneWord.cuts] !== 0) return locateFromApex(query, search, image, depth);
  for (let label = 0; label < depth; label++) {
    const node = findSuffix(image, search, label);
    if (node === 0) continue;
    locatedNode = node;
    locatedLabels = search.labels - label;
    return label === 0 ? Where.name : Where.nowhere;
  }
  locatedNode = search.apexNode;
  locatedLabels = search.apexLabels;
  return depth === 0 ? Where.name : Where.nowhere;
}

function locateFromApex(query: Query, search: Search, image: ImageReader, depth: number): number {
  const words = image.words;
  let node = search.apexNode;
  for (let below = 0; ; below++) {
    const flags = words[node + 2]! >>> 8;
    locatedNode = node;
    locatedLabels = search.apexLabels + below;
    // DS belongs to the parent side of a zone cut (RFC 4035 §3.1.4.1).
    if (flags & Flag.cut && !(below === depth && query.type === Type.ds)) return Where.cut;
    if (below === depth) return Where.name;
    // A DNAME redirects the names below its owner, not the owner itself (RFC 6672 §2.3).
    if (flags & Flag.dname) return Where.dname;
    const next = findSuffix(image, search, depth - below - 1);
    if (next === 0) return Where.nowhere;
    node = next;
  }
}

/** Node of the name from this label on, or 0. */
function findSuffix(image: ImageReader, search: Search, label: number): number {
  const start = search.labelAt[label]!;
  return image.findNode(search.zone, search.hashes[label]!, search.nameView, start, search.nameLength - start);
}

/** The source of synthesis `*.<closest encloser>` (RFC 4592 §3.3.1), or 0. */
function findWildcard(image: ImageReader, search: Search): number {
  if (image.words[search.zoneRecord + ZoneWord.wildcards] === 0) return 0;
  const label = search.labels - locatedLabels;
  const start = search.labelAt[label]!;
  const hash = hashWildcard(search.hashes[label]!);
  return image.findWildcard(search.zone, hash, search.nameView, start, search.nameLength - start);
}

/** The name exists (itself or by wildcard): data, alias or NODATA. */
function answerNode(query: Query, search: Search, response: Response, image: ImageReader, node: number): number {
  let rrset = 0;
  if (query.type === Type.any) {
    // Any one RRset is sufficient (RFC 8482 §4.1); an alias is not followed.
    if (image.words[node + 2]! >>> 16 !== 0) rrset = node + image.words[node + NODE_HEADER + 1]!;
  } else {
    rrset = image.findRRset(node, query.type);
  }
  if (rrset !== 0) {
    writeAnswer(response, image, rrset, search.at, true);
    return DONE;
  }
  if ((image.words[node + 2]! >>> 8) & Flag.cname && query.type !== Type.any) {
    const alias = image.findRRset(node, Type.cname);
    const start = response.at;
    if (!writeAnswer(response, image, alias, search.at, false)) return DONE;
    // The target comes after owner, type, class, TTL and length.
    return followTarget(search, image, alias, skipLabels(response, start + 12, 0));
  }
  writeNegative(search, response, image);
  return DONE;
}

/** Makes the RRset's first target the name to look up, if it is in the zone. */
function followTarget(search: Search, image: ImageReader, rrset: number, at: number): number {
  if (image.words[rrset + 3]! >>> 16 === 0) return DONE;
  const target = firstTarget(image, rrset);
  const length = image.words[target + 1]! & 0xff;
  const from = (target + 2) * 4;
  rememberName(search);
  for (let i = 0; i < length; i++) search.name[i] = image.bytes[from + i]!;
  indexName(search, image, length);
  search.at = at;
  return FOLLOW;
}

function rememberName(search: Search): void {
  if (search.chainLength <= MAX_CHAIN) search.chain[search.chainLength] = search.hashes[0]!;
  search.chainLength++;
}

/**
 * Detects loops, because each owner is visited once. A loop ends with what was found so far, and the resolver does the
 * rest (RFC 1034 §5.2.2).
 */
function seenBefore(search: Search): boolean {
  if (search.chainLength > MAX_CHAIN) return true;
  const hash = search.hashes[0]!;
  for (let i = 0; i < search.chainLength; i++) if (search.chain[i] === hash) return true;
  return false;
}

/** Computes labels and hashes of the name in `search.name`. */
function indexName(search: Search, image: ImageReader, length: number): void {
  let labels = 0;
  let at = 0;
  while (search.name[at]! !== 0) {
    search.labelAt[labels++] = at;
    at += 1 + search.name[at]!;
  }
  search.labelAt[labels] = at;
  search.labels = labels;
  search.nameLength = length;
  hashSearch(image, search);
}

/**
 * The name is below a DNAME: writes the DNAME and the CNAME generated from it (RFC 6672 §3.1), and continues with the
 * new name.
 */
function substitute(query: Query, search: Search, response: Response, image: ImageReader): number {
  const rrset = image.findRRset(locatedNode, Type.dname);
  const skipped = search.labels - locatedLabels;
  const prefix = search.labelAt[skipped]!;
  const start = writeDname(search, response, image, rrset, skipped);
  if (start === 0) return DONE;
  const bytes = response.bytes;
  const base = response.base;
  const target = base + start + 12;
  const targetLength = (bytes[target - 2]! << 8) | bytes[target - 1]!;
  if (prefix + targetLength > 255) {
    response.rcode = Rcode.yxDomain;
    return DONE;
  }
  const at = response.at;
  if (at + 12 + prefix + targetLength > response.limit) {
    truncate(response);
    return DONE;
  }
  const out = base + at;
  putPointer(bytes, out, search.at);
  // Type and class, then the DNAME's TTL (RFC 6672 §3.1).
  bytes[out + 2] = 0;
  bytes[out + 3] = Type.cname;
  bytes[out + 4] = 0;
  bytes[out + 5] = 1;
  for (let i = 6; i < 10; i++) bytes[out + i] = bytes[base + start + i]!;
  bytes[out + 10] = 0;
  bytes[out + 11] = prefix + targetLength;
  copyPrefix(search, response, out + 12, prefix);
  for (let i = 0; i < targetLength; i++) bytes[out + 12 + prefix + i] = bytes[target + i]!;
  response.at = at + 12 + prefix + targetLength;
  response.answers++;
  if (query.type === Type.cname || query.type === Type.any || image.words[rrset + 3]! >>> 16 === 0) return DONE;
  rememberName(search);
  const inZone = firstTarget(image, rrset);
  for (let i = 0; i < targetLength; i++) search.name[prefix + i] = image.bytes[(inZone + 2) * 4 + i]!;
  indexName(search, image, prefix + targetLength);
  search.at = at + 12;
  return FOLLOW;
}

/** Position of the DNAME in the answer. It is written once even if the chain meets it again; 0 when it does not fit. */
function writeDname(search: Search, response: Response, image: ImageReader, rrset: number, skipped: number): number {
  for (let i = 0; i < search.dnameCount; i++) if (search.dnames[i] === rrset) return search.dnameAt[i]!;
  const start = response.at;
  if (!writeAnswer(response, image, rrset, skipLabels(response, search.at, skipped), false)) return 0;
  search.dnames[search.dnameCount] = rrset;
  search.dnameAt[search.dnameCount++] = start;
  return start;
}

/** Copies the labels left of the DNAME's owner, in the question's case when they come from the question. */
function copyPrefix(search: Search, response: Response, to: number, length: number): void {
  const bytes = response.bytes;
  const from = search.at === 12 ? bytes : search.name;
  const start = search.at === 12 ? response.base + 12 : 0;
  for (let i = 0; i < length; i++) bytes[to + i] = from[start + i]!;
}

/** Writes an RRset of the answer section; truncates when there is no room. */
function writeAnswer(response: Response, image: ImageReader, rrset: number, ownerAt: number, last: boolean): boolean {
  const start = response.at;
  const count = writeRRset(response, image, rrset, ownerAt);
  if (count === 0) {
    if (image.words[rrset + 1] === 0) fail(response, image, rrset);
    else truncate(response);
    return false;
  }
  response.answers += count;
  if (last && image.words[rrset + 3]! >>> 16 !== 0) {
    response.targetsOf = rrset;
    response.targetsAt = start;
  }
  return true;
}

/** SOA of the zone with the negative TTL (RFC 2308 §3). */
function writeNegative(search: Search, response: Response, image: ImageReader): void {
  const soa = image.findRRset(search.apexNode, NEGATIVE_SOA);
  if (soa === 0) return;
  const count = writeRRset(response, image, soa, response.apexAt);
  if (count === 0) truncate(response);
  response.authorities += count;
}

/**
 * Referral: the zone cut's NS in the authority section; AA is set only when a chain led here (RFC 1034 §4.3.2 step 3b,
 * RFC 6604).
 */
function refer(search: Search, response: Response, image: ImageReader): void {
  const rrset = image.findRRset(locatedNode, Type.ns);
  const start = response.at;
  if (response.answers === 0) response.authoritative = false;
  const count = writeRRset(response, image, rrset, skipLabels(response, search.at, search.labels - locatedLabels));
  if (count === 0) {
    if (image.words[rrset + 1] === 0) fail(response, image, rrset);
    else truncate(response);
    return;
  }
  response.authorities = count;
  response.cutNode = locatedNode;
  response.targetsOf = rrset;
  response.targetsAt = start;
}

/** The answer does not fit: sets TC and drops the sections, so that the client retries over TCP (RFC 2181 §9). */
export function truncate(response: Response): void {
  response.truncated = true;
}

/** Answers SERVFAIL for an RRset that no transport can carry, or whose data is not known yet. */
function fail(response: Response, image: ImageReader, rrset: number): void {
  response.authoritative = false;
  response.rcode = Rcode.servFail;
  response.extendedError = image.words[rrset]! >>> 16;
}
