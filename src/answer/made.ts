/** Records of zones with compact denial (RFC 9824) that were signed for an answer, and what an answer may lack of them. */
// hot

/** What an answer lacks. */
export const Lack = {
  nothing: 0,
  /** The NSEC record of a name that does not exist. */
  name: 1,
  /** That of an empty non-terminal, or of a name that the wildcard with this node answers for. */
  types: 2,
  /** The signatures of this RRset of a wildcard, for the name itself. */
  data: 3,
} as const;

/** Instead of the number of records: they cannot be made. */
export const UNMADE = -1;

export interface MadeRecords {
  /** Lower-case wire name. */
  readonly name: Uint8Array;
  /** A Lack code, and the node or the RRset that it is about, 0 for none. */
  readonly kind: number;
  readonly subject: number;
  /** The image and the apex node for which it was made: every change of a zone replaces the node. */
  readonly generation: number;
  readonly apexNode: number;
  /** Records whose owners are pointers; the NSEC record comes before its signatures. */
  readonly octets: DataView;
  /** Number of records, or UNMADE. */
  readonly count: number;
  /** When they have to be made again, seconds since 1970. */
  readonly until: number;
}

/** By {@link madeKey}. */
export type MadeTable = Map<number, MadeRecords>;

/** A key of the table, from the hash of the name. */
export function madeKey(hash: number, kind: number, subject: number): number {
  return Math.imul(hash ^ Math.imul(subject, 0x85ebca6b) ^ kind, 0x9e3779b1);
}
