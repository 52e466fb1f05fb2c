/**
 * The algorithm of RFC 1034 §4.3.2 with RFC 4592 (wildcards), RFC 6672 (DNAME), RFC 6604 (response codes of chains) and
 * RFC 8482 (ANY), on the compiled image. Sections are written as they are found: answer, authority, then additional.
 *
 * The topmost cut on the way down from the apex decides (RFC 1034 §4.3.2 step 3b), so a zone with cuts or DNAMEs is searched from
 * its apex downwards. In any other zone the whole name is looked up first.
 */
// hot
import { Rcode, Type } from '../dns/codes.js';
import { Flag, hashLabel, hashWildcard, NEGATIVE_SOA, NODE_HEADER, ZoneWord } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import type { Query } from './query.js';
import { firstTarget, putPointer, type Response, skipLabels, writeRRset } from './response.js';

/** The most links of a CNAME or DNAME chain that are followed within the zone; resolvers do not follow more either. */
const MAX_CHAIN = 20;
/**
 * A chain is not followed past this octet of the message: compression reaches 14 bits (RFC 1035 §4.1.4), of which an RRset takes
 * up to 8191 octets inside itself (image/compile.ts).
 */
const MAX_CHAIN_OCTETS = 8191;

/** The name being looked for: the question's at first, then the targets of the chain. Reused. */
export interface Search {
  /** Lower case, wire form. */
  name: Uint8Array;
  /** The same octets. */
  nameView: DataView;
  nameLength: number;
  labels: number;
  labelAt: Uint8Array;
  /** Hash of the name from each label on; the root's at index `labels`. */
  hashes: Int32Array;
  /** Position in the message where the name stands. */
  at: number;
  /** Zone number and labels of its apex. */
  zone: number;
  zoneRecord: number;
  apexLabels: number;
  apexNode: number;
  /** The node the question's own name led to: found, a wildcard, a cut, the owner of a DNAME; 0: none. */
  firstNode: number;
  /** Names that were looked for: the question's, and those of the chain. */
  names: number;
  /** Where each of them led, a {@link Where} code, and the labels of what decides: found name, cut, DNAME, or closest encloser. */
  where: Uint8Array;
  whereLabels: Uint8Array;
  /** Hashes of the names of the chain so far. */
  chain: Int32Array;
  chainLength: number;
  /** DNAMEs of the chain so far: their nodes, and where they stand in the message. */
  dnames: Int32Array;
  dnameAt: Int32Array;
  dnameCount: number;
}

/** The search begins with the question's name and works in the same memory. */
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

/** Where a name leads: to itself, nowhere, to the topmost cut or DNAME above it, or to a wildcard. */
export const Where = { name: 0, nowhere: 1, cut: 2, dname: 3, wildcard: 4 } as const;

/** The outcome of solving one name. */
const DONE = 0;
const FOLLOW = 1;

/** Node of the last `locate`: found node, closest encloser, cut or DNAME owner; and its depth in labels. */
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

/** Answers the question held in `search`, whose zone has been set. */
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

/** Finds the name, or what stands in its way. */
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
    // DS belongs to the parent side of a cut (RFC 4035 §3.1.4.1).
    if (flags & Flag.cut && !(below === depth && query.type === Type.ds)) return Where.cut;
    if (below === depth) return Where.name;
    // The owner of a DNAME is not redirected, names below it are (RFC 6672 §2.3).
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
    // Any one RRset is enough (RFC 8482 §4.1); an alias is not followed.
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
    // The target stands behind owner, type, class, TTL and length.
    return followTarget(search, image, alias, skipLabels(response, start + 12, 0));
  }
  writeNegative(search, response, image);
  return DONE;
}

/** Makes the RRset's first target the name searched for, if it is in the zone. */
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

/** Visits each owner once: a loop ends with what was found so far, and the resolver does the rest (RFC 1034 §5.2.2). */
function seenBefore(search: Search): boolean {
  if (search.chainLength > MAX_CHAIN) return true;
  const hash = search.hashes[0]!;
  for (let i = 0; i < search.chainLength; i++) if (search.chain[i] === hash) return true;
  return false;
}

/** Finds labels and hashes of the name in `search.name`. */
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

/** The name is below a DNAME: writes the DNAME and the CNAME made from it (RFC 6672 §3.1), and goes on with the new name. */
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

/** Position of the DNAME in the answer, where it stands only once even if the chain meets it again; 0 when it does not fit. */
function writeDname(search: Search, response: Response, image: ImageReader, rrset: number, skipped: number): number {
  for (let i = 0; i < search.dnameCount; i++) if (search.dnames[i] === rrset) return search.dnameAt[i]!;
  const start = response.at;
  if (!writeAnswer(response, image, rrset, skipLabels(response, search.at, skipped), false)) return 0;
  search.dnames[search.dnameCount] = rrset;
  search.dnameAt[search.dnameCount++] = start;
  return start;
}

/** Copies the labels left of the DNAME's owner, with the case of the question where they come from it. */
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

/** Referral: the cut's NS in the authority section, AA only when a chain led here (RFC 1034 §4.3.2 step 3b, RFC 6604). */
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

/** The answer does not fit: sets TC and drops the sections, so that the client asks again over TCP (RFC 2181 §9). */
export function truncate(response: Response): void {
  response.truncated = true;
}

/** Answers SERVFAIL for an RRset that no transport can carry, or whose data is not known yet. */
function fail(response: Response, image: ImageReader, rrset: number): void {
  response.authoritative = false;
  response.rcode = Rcode.servFail;
  response.extendedError = image.words[rrset]! >>> 16;
}
