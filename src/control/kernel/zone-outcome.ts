/** What a commit did to zones: for receipts of writes, entity tags, and dry runs. */

import { nameOfOwnerKey } from '../../dns/name.js';
import { printRecord } from '../../dns/zonefile/writer.js';
import { type ChangedRR, type ChangeKind, isMark } from '../../store/log/changes.js';

/** One zone after a commit; it may be deleted. */
export interface ZoneOutcome {
  /** Store number. */
  readonly zone: number;
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly apex: Uint8Array;
  /** Undefined when nothing changed for resolvers. */
  readonly kind: ChangeKind | undefined;
  /** Number in the change log. */
  readonly change: number | undefined;
  /** Undefined for a new zone. */
  readonly serialFrom: number | undefined;
  /** Version and serial after the commit; undefined when the zone is deleted. */
  readonly version: number | undefined;
  readonly serial: number | undefined;
  /** The records removed from and added to what resolvers see, SOA included. */
  readonly rrs: readonly ChangedRR[];
  /** Whether `rrs` is the whole difference. */
  readonly complete: boolean;
}

/** Filled by commits. */
export interface WriteOutcome {
  zones: readonly ZoneOutcome[];
}

/** Records removed from and added to what resolvers see, as zone file lines. */
export interface ZoneDiff {
  readonly removed: readonly string[];
  readonly added: readonly string[];
  /** False when the lists are incomplete. */
  readonly complete: boolean;
}

/** The largest number of lines in each list. */
const MOST_LINES = 10_000;

export function printDiff(apex: Uint8Array, rrs: readonly ChangedRR[], complete: boolean): ZoneDiff {
  const known = rrs.filter((rr) => !isMark(rr));
  const lines = (op: 0 | 1): string[] => {
    const wanted = known.filter((rr) => rr.op === op).slice(0, MOST_LINES);
    return wanted.map((rr) => printLine(apex, rr));
  };
  const [removed, added] = [lines(0), lines(1)];
  return { removed, added, complete: complete && removed.length + added.length === known.length };
}

function printLine(apex: Uint8Array, { owner_key: key, type, ttl, rdata }: ChangedRR): string {
  const owner = nameOfOwnerKey(new Uint8Array(key), apex);
  return printRecord({ owner, type, ttl, rdata: new Uint8Array(rdata) }).replaceAll('\t', ' ');
}
