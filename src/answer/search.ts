/** The name being looked up, and the chain of aliases that led to it. */
// hot
import { hashLabel } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import type { Balance } from './balance/choose.js';
import type { MadeRecords, MadeTable } from './made.js';
import type { Query } from './query.js';

/**
 * The largest number of CNAME or DNAME links that are followed within the zone; resolvers do not follow more either.
 */
const MAX_CHAIN = 20;
/** Each link may owe one proof (RFC 4035 §3.1.3.3), and the last name three (RFC 5155 §7.2.5). */
const MAX_PROOFS = MAX_CHAIN + 4;

/** Words about one closest encloser, and 32 minus the binary logarithm of their number. */
export const ENCLOSER_WORDS = 6;
export const ENCLOSERS_SHIFT = 24;

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
  /** Word of the zone record when proofs are owed: the zone is signed, and the query has DO. Otherwise 0. */
  denial: number;
  /** Nodes of the NSEC or NSEC3 records that are owed, each once. */
  proofs: Int32Array;
  proofCount: number;
  /** Info code of the extended error when something cannot be proved (RFC 8914 §4), 0 otherwise. */
  proofFault: number;
  /** SHA-1 computations for this answer. */
  hashed: number;
  /** Proofs about closest enclosers, kept from one answer to the next (denial.ts). */
  enclosers: Int32Array;
  /** Records that were signed for answers of this engine (compact.ts); undefined: none are. */
  readonly made: MadeTable | undefined;
  /** How load balancers choose. */
  readonly balance: Balance;
  /** Those of them that are owed next. */
  owed: MadeRecords | undefined;
  /** A Lack code: what has to be made before the query can be answered, and the node or RRset that it is about. */
  lack: number;
  lackSubject: number;
}

/** A search that starts with the question's name and works in the same memory. */
export function createSearch(query: Query, balance: Balance, made?: MadeTable): Search {
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
    denial: 0,
    proofs: new Int32Array(MAX_PROOFS),
    proofCount: 0,
    proofFault: 0,
    hashed: 0,
    enclosers: new Int32Array(ENCLOSER_WORDS << (32 - ENCLOSERS_SHIFT)),
    made,
    balance,
    owed: undefined,
    lack: 0,
    lackSubject: 0,
  };
}

/** The result for a name: the name itself, nowhere, the topmost zone cut or DNAME above it, or a wildcard. */
export const Where = { name: 0, nowhere: 1, cut: 2, dname: 3, wildcard: 4 } as const;

/** Computes the hashes of the name from each label on. */
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

/** Adds the name to the chain. */
export function rememberName(search: Search): void {
  if (search.chainLength <= MAX_CHAIN) search.chain[search.chainLength] = search.hashes[0]!;
  search.chainLength++;
}

/**
 * Detects loops, because each owner is visited once. A loop ends with what was found so far, and the resolver does the
 * rest (RFC 1034 §5.2.2).
 */
export function seenBefore(search: Search): boolean {
  if (search.chainLength > MAX_CHAIN) return true;
  const hash = search.hashes[0]!;
  for (let i = 0; i < search.chainLength; i++) if (search.chain[i] === hash) return true;
  return false;
}

/** Computes labels and hashes of the name in `search.name`. */
export function indexName(search: Search, image: ImageReader, length: number): void {
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
