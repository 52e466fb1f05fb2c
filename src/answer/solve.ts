/**
 * The algorithm of RFC 1034 §4.3.2 with RFC 4592 (wildcards), RFC 6672 (DNAME), RFC 6604 (response codes of chains) and
 * RFC 8482 (ANY), on the compiled image. Sections are written in order: answer, authority, additional.
 *
 * The topmost zone cut on the way down from the apex decides (RFC 1034 §4.3.2 step 3b), so a zone with cuts or DNAMEs
 * is searched from its apex downwards. In any other zone the whole name is looked up first.
 */
// hot
import { Ede, Rcode, Type } from '../dns/codes.js';
import {
  DenialKind,
  Flag,
  hashWildcard,
  NEGATIVE_SOA,
  NODE_HEADER,
  nodeFlags,
  RRsetWord,
  rrsetAt,
  rrsetCount,
  TARGET_HEADER,
  targetCount,
  targetNameLength,
  ZoneWord,
} from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import { changedTtl, chooseAnswer, repeatChoice } from './balance/choose.js';
import { writeExpanded, writeOwed } from './compact.js';
import {
  proveExpansion,
  proveInsecure,
  proveNoData,
  proveNxDomain,
  proveWildcardNoData,
  resetProofs,
  writeProofs,
} from './denial.js';
import { copyPrefix, leadsIntoZone } from './dname.js';
import { Lack } from './made.js';
import type { Query } from './query.js';
import {
  firstTarget,
  putPointer,
  putTtls,
  type Response,
  skipLabels,
  truncate,
  writeRequired,
  writeSignatures,
} from './response.js';
import { indexName, rememberName, type Search, seenBefore, Where } from './search.js';

/**
 * A chain is not followed beyond this octet of the message: compression pointers have 14 bits (RFC 1035 §4.1.4), and an
 * RRset uses up to 8191 octets of that range itself (image/compile.ts).
 */
const MAX_CHAIN_OCTETS = 8191;

/** The outcome of solving one name. */
const DONE = 0;
const FOLLOW = 1;

/** Node of the last `locate`: found node, closest encloser, zone cut or DNAME owner; and its depth in labels. */
let locatedNode = 0;
let locatedLabels = 0;

/** Answers the question in `search`, whose zone is set. True: a signature has to be made first (compact.ts). */
export function solve(query: Query, search: Search, response: Response, image: ImageReader): boolean {
  const apexLabel = search.labels - search.apexLabels;
  search.apexNode = image.words[search.zoneRecord + ZoneWord.apexNode]!;
  search.chainLength = 0;
  search.dnameCount = 0;
  response.apexAt = search.at + search.labelAt[apexLabel]!;
  response.authoritative = true;
  if (search.apexNode === 0) {
    // The copy of a secondary zone is too old, or there is none yet (RFC 8914 §4.25).
    response.rcode = Rcode.servFail;
    response.extendedError = Ede.invalidData;
    response.authoritative = false;
    return false;
  }
  resetProofs(search, response, image);
  while (solveName(query, search, response, image) === FOLLOW) {
    if (seenBefore(search) || response.at > MAX_CHAIN_OCTETS) break;
  }
  if (search.denial === 0) return false;
  writeProofs(query, search, response, image);
  return search.lack !== Lack.nothing;
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
      return answerNode(query, search, response, image, locatedNode, false);
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
    return search.denial === DenialKind.compact
      ? answerExpanded(query, search, response, image, wildcard)
      : answerNode(query, search, response, image, wildcard, true);
  }
  response.rcode = Rcode.nxDomain;
  proveNxDomain(search, image, locatedNode, locatedLabels);
  writeNegative(query, search, response, image);
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
    const flags = nodeFlags(words, node);
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

/** The name exists, itself or by a wildcard below the located closest encloser: data, alias or NODATA. */
function answerNode(
  query: Query,
  search: Search,
  response: Response,
  image: ImageReader,
  node: number,
  isWildcard: boolean,
): number {
  if (query.type === Type.rrsig && answerSignatures(search, response, image, node, isWildcard)) return DONE;
  const rrset = findAnswer(query, search, response, image, node);
  if (rrset !== 0) {
    const start = response.at;
    if (isWildcard) proveExpansion(search, image, locatedLabels);
    if (!writeAnswer(response, image, rrset, search.at, true) || search.balance.count === 0) return DONE;
    return finishChosen(search, response, image, start);
  }
  if (response.rcode === Rcode.formErr) return DONE;
  if (nodeFlags(image.words, node) & Flag.cname && query.type !== Type.any) {
    const alias = image.findRRset(node, Type.cname);
    const start = response.at;
    if (isWildcard) proveExpansion(search, image, locatedLabels);
    if (!writeAnswer(response, image, alias, search.at, false)) return DONE;
    // The target comes after owner, type, class, TTL and length.
    return followTarget(search, image, alias, skipLabels(response, start + 12, 0));
  }
  if (isWildcard) proveWildcardNoData(search, image, node, locatedLabels);
  else proveNoData(search, image, node);
  writeNegative(query, search, response, image);
  return DONE;
}

/** The same for a wildcard in a zone with compact denial: what it answers is signed for the name itself (RFC 9824 §3.3). */
function answerExpanded(query: Query, search: Search, response: Response, image: ImageReader, node: number): number {
  if (query.type === Type.rrsig && answerSignatures(search, response, image, node, false)) return DONE;
  // Its own NSEC record is about another name.
  const isOther = query.type === Type.nsec;
  if (nodeFlags(image.words, node) & Flag.balanced) repeatChoice(search.balance, query, search.hashes[0]!);
  const rrset = isOther ? 0 : findAnswer(query, search, response, image, node);
  const start = response.at;
  if (rrset !== 0) {
    if (!writeExpanded(search, response, image, rrset)) return DONE;
    noteTargets(response, image, rrset, start);
    return search.balance.count === 0 ? DONE : finishChosen(search, response, image, start);
  }
  if (response.rcode === Rcode.formErr) return DONE;
  if (nodeFlags(image.words, node) & Flag.cname && query.type !== Type.any && !isOther) {
    const alias = image.findRRset(node, Type.cname);
    if (!writeExpanded(search, response, image, alias)) return DONE;
    return followTarget(search, image, alias, skipLabels(response, start + 12, 0));
  }
  proveWildcardNoData(search, image, node, locatedLabels);
  writeNegative(query, search, response, image);
  return DONE;
}

/** The RRset that answers, or 0. */
function findAnswer(query: Query, search: Search, response: Response, image: ImageReader, node: number): number {
  const isAny = query.type === Type.any;
  const found = isAny ? anyRRset(image, node) : image.findRRset(node, query.type);
  if ((found !== 0 && !isAny) || (nodeFlags(image.words, node) & Flag.balanced) === 0) return found;
  return chooseAnswer(search.balance, query, response, image, node) || found;
}

/** The rest of an answer of a load balancer, whose first RRset is at `start`: its other RRsets, or where its alias leads. */
function finishChosen(search: Search, response: Response, image: ImageReader, start: number): number {
  const { balance } = search;
  const { picks, count } = balance;
  balance.count = 0;
  for (let i = 1; i < count; i++) if (!writeAnswer(response, image, picks[i]!, search.at, false)) return DONE;
  const ttl = changedTtl(balance);
  if (ttl !== 0) putTtls(response, start, ttl);
  if (!balance.isAlias) return DONE;
  response.targetsOf = 0;
  return followTarget(search, image, picks[0]!, skipLabels(response, start + 12, 0));
}

/** Any one RRset is sufficient (RFC 8482 §4.1); an alias is not followed. The first, but NSEC only if there is no other. */
function anyRRset(image: ImageReader, node: number): number {
  const words = image.words;
  const count = rrsetCount(words, node);
  if (count === 0) return 0;
  const first = words[node + NODE_HEADER] === Type.nsec && count > 1 ? 1 : 0;
  return rrsetAt(words, node, first);
}

/** RRSIGs are not an RRset (RFC 4034 §3): those of one RRset are sufficient (RFC 8482 §7). False when there are none. */
function answerSignatures(
  search: Search,
  response: Response,
  image: ImageReader,
  node: number,
  isWildcard: boolean,
): boolean {
  const words = image.words;
  for (let i = 0; i < rrsetCount(words, node); i++) {
    const rrset = rrsetAt(words, node, i);
    if (words[rrset + RRsetWord.signatures]! <= 0) continue;
    if (isWildcard) proveExpansion(search, image, locatedLabels);
    response.answers += writeSignatures(response, image, rrset, search.at);
    return true;
  }
  return false;
}

/** Makes the RRset's first target the name to look up, if it is in the zone. */
function followTarget(search: Search, image: ImageReader, rrset: number, at: number): number {
  if (targetCount(image.words, rrset) === 0) return DONE;
  const target = firstTarget(image, rrset);
  const length = targetNameLength(image.words, target);
  const from = (target + TARGET_HEADER) * 4;
  rememberName(search);
  for (let i = 0; i < length; i++) search.name[i] = image.bytes[from + i]!;
  indexName(search, image, length);
  search.at = at;
  return FOLLOW;
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
  // The CNAME that was asked for is this one; every other type, ANY too, is that of the new name (RFC 6672 §3.2).
  if (query.type === Type.cname || targetCount(image.words, rrset) === 0) return DONE;
  if (!leadsIntoZone(search, skipped, targetLength)) return DONE;
  rememberName(search);
  const lower = firstTarget(image, rrset);
  for (let i = 0; i < targetLength; i++) search.name[prefix + i] = image.bytes[(lower + TARGET_HEADER) * 4 + i]!;
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

/** Writes an RRset of the answer section; false when the answer ends here without it. */
function writeAnswer(response: Response, image: ImageReader, rrset: number, ownerAt: number, last: boolean): boolean {
  const start = response.at;
  const count = writeRequired(response, image, rrset, ownerAt);
  if (count === 0) return false;
  response.answers += count;
  if (last) noteTargets(response, image, rrset, start);
  return true;
}

/** Notes an RRset whose targets' addresses belong in the additional section. */
function noteTargets(response: Response, image: ImageReader, rrset: number, start: number): void {
  if (targetCount(image.words, rrset) === 0) return;
  response.targetsOf = rrset;
  response.targetsAt = start;
}

/** SOA of the zone with the negative TTL (RFC 2308 §3). */
function writeNegative(query: Query, search: Search, response: Response, image: ImageReader): void {
  // With compact denial every name has an NSEC record, which is the answer to a question for it.
  if (search.owed !== undefined && query.type === Type.nsec) {
    response.answers += writeOwed(search, response);
    return;
  }
  const soa = image.findRRset(search.apexNode, NEGATIVE_SOA);
  if (soa !== 0) response.authorities += writeRequired(response, image, soa, response.apexAt);
}

/**
 * Referral: the zone cut's NS in the authority section; AA is set only when a chain led here (RFC 1034 §4.3.2 step 3b,
 * RFC 6604). In a signed zone also its DS, or the proof that it has none (RFC 4035 §3.1.4).
 */
function refer(search: Search, response: Response, image: ImageReader): void {
  const cut = locatedNode;
  const rrset = image.findRRset(cut, Type.ns);
  const start = response.at;
  if (response.answers === 0) response.authoritative = false;
  const ownerAt = skipLabels(response, search.at, search.labels - locatedLabels);
  const count = writeRequired(response, image, rrset, ownerAt);
  if (count === 0) return;
  response.authorities = count;
  response.cutNode = cut;
  response.targetsOf = rrset;
  response.targetsAt = start;
  if (search.denial === 0) return;
  const ds = image.findRRset(cut, Type.ds);
  if (ds !== 0) response.authorities += writeRequired(response, image, ds, ownerAt);
  else proveInsecure(search, image, cut, locatedLabels);
}
