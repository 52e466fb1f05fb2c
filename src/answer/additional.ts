/**
 * The additional section: addresses of the names in an answer or referral (RFC 1034 §4.3.2 step 6), looked up in the
 * same zone, glue included. Glue below the zone cut must be present, or TC is set (RFC 9471 §3.1).
 */
// hot
import { Type } from '../dns/codes.js';
import {
  MAX_TARGETS,
  nodeNameAt,
  nodeNameLength,
  TARGET_HEADER,
  TargetWord,
  targetCount,
  targetNameLength,
} from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import type { Query } from './query.js';
import { firstTarget, nextTarget, type Response, skipLabels, truncate, writeOptional } from './response.js';
import type { Search } from './search.js';

/** Nodes whose addresses are already written. */
const written = new Int32Array(MAX_TARGETS);

/** Adds the addresses for the RRset noted in the response. */
export function writeAdditional(query: Query, search: Search, response: Response, image: ImageReader): void {
  if (response.targetsOf === 0 || response.truncated) return;
  if (response.cutNode === 0) {
    writeTargets(query, search, response, image, false, 0);
    return;
  }
  const done = writeTargets(query, search, response, image, true, 0);
  if (!response.truncated) writeTargets(query, search, response, image, false, done);
}

/**
 * Writes the records of one pass: either required glue or everything else. Returns the number of nodes in `written`.
 */
function writeTargets(
  query: Query,
  search: Search,
  response: Response,
  image: ImageReader,
  mandatory: boolean,
  already: number,
): number {
  const words = image.words;
  const rrset = response.targetsOf;
  const start = response.targetsAt;
  let done = already;
  let target = firstTarget(image, rrset);
  for (let left = targetCount(words, rrset); left > 0; left--) {
    const length = targetNameLength(words, target);
    const nameAt = skipLabels(response, start + (words[target + TargetWord.place]! >>> 8), 0);
    const node = image.findNode(
      search.zone,
      words[target + TargetWord.hash]!,
      image.view,
      (target + TARGET_HEADER) * 4,
      length,
    );
    target = nextTarget(image, target);
    if (node === 0 || contains(node, done)) continue;
    if (response.cutNode !== 0 && endsInCut(image, node, response.cutNode) !== mandatory) continue;
    if (done < written.length) written[done++] = node;
    if (!writeAddresses(query, response, image, node, nameAt) && mandatory) {
      truncate(response);
      return done;
    }
  }
  return done;
}

/**
 * Writes A and AAAA of a node; for SVCB and HTTPS also the same type at the target (RFC 9460 §4.1). False when one did
 * not fit.
 */
function writeAddresses(query: Query, response: Response, image: ImageReader, node: number, nameAt: number): boolean {
  let complete = true;
  if ((query.type === Type.svcb || query.type === Type.https) && response.cutNode === 0) {
    const same = image.findRRset(node, query.type);
    if (same !== response.targetsOf) complete = writeOne(response, image, same, nameAt);
  }
  complete = writeOne(response, image, image.findRRset(node, Type.a), nameAt) && complete;
  return writeOne(response, image, image.findRRset(node, Type.aaaa), nameAt) && complete;
}

function writeOne(response: Response, image: ImageReader, rrset: number, nameAt: number): boolean {
  if (rrset === 0) return true;
  const count = writeOptional(response, image, rrset, nameAt);
  response.additionals += count;
  return count !== 0;
}

function contains(node: number, done: number): boolean {
  for (let i = 0; i < done; i++) if (written[i] === node) return true;
  return false;
}

/** Whether a node is at or below the zone cut: the resolver then needs its addresses to continue (RFC 9471 §2.1). */
function endsInCut(image: ImageReader, node: number, cutNode: number): boolean {
  const words = image.words;
  const bytes = image.bytes;
  const length = nodeNameLength(words, node);
  const cutLength = nodeNameLength(words, cutNode);
  const skip = length - cutLength;
  if (skip < 0) return false;
  const name = nodeNameAt(words, node);
  const cut = nodeNameAt(words, cutNode);
  let at = 0;
  while (at < skip) at += 1 + bytes[name + at]!;
  if (at !== skip) return false;
  for (let i = 0; i < cutLength; i++) if (bytes[name + skip + i] !== bytes[cut + i]) return false;
  return true;
}
