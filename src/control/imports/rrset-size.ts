/**
 * RRsets of primaries that are too large, and names that have too many of them. They are found while the rows come, in a fixed amount
 * of memory: one that is read as a whole would take seconds.
 */
import { typeMnemonic } from '../../dns/rr/registry.js';
import { ownerText } from '../../serving/difference.js';
import type { RRsetKey } from '../../store/records/import.js';
import type { ImportedRow } from '../../store/records/packed-rows.js';
import { RR_OVERHEAD } from './stage.js';

/** The largest size of an RRset from a primary: secondaries get larger ones, too, in several messages, and reading more takes too long. */
export const MOST_SENT_OCTETS = 128 << 10;
/** The most types of records at a name from a primary: about ninety are defined, and all at a name are read in one step. */
export const MOST_TYPES = 256;

/** An RRset of which the name may have too many, too. */
type Suspect = Omit<RRsetKey, 'set'> & Pick<ImportedRow, 'name'>;

export interface SizeWatch {
  note(row: ImportedRow): void;
  /** What may have become too large since the last call; rows that come twice count twice. */
  suspects(): readonly Suspect[];
}

/** For people. */
export function tooLarge({ name, type }: Pick<ImportedRow, 'name' | 'type'>, octets: number): string {
  const most = `at most ${MOST_SENT_OCTETS} are taken from a primary`;
  return `the ${typeMnemonic(type)} records of ${name} take ${octets} octets; ${most}`;
}

/** For people. */
export function tooManyTypes(name: string): string {
  return `${name} has records of more than ${MOST_TYPES} types; no more are taken from a primary`;
}

/** RRsets that share a sum, and names that share a count. In a zone of five million rows, a sum has about four thousand octets. */
const SUMS = 1 << 16;

export function watchSizes(): SizeWatch {
  const sums = new Uint32Array(SUMS);
  /** How often another RRset has begun. */
  const begun = new Uint32Array(SUMS);
  const suspects = new Map<string, Suspect>();
  let [lastName, lastType] = ['', -1];
  return {
    note({ owner_key: ownerKey, type, rdata, name }) {
      const at = sumOf(ownerKey, type);
      sums[at]! += rdata.length + RR_OVERHEAD;
      const atName = sumOf(ownerKey, 0);
      if (type !== lastType || name !== lastName) begun[atName]!++;
      [lastName, lastType] = [name, type];
      if (sums[at]! <= MOST_SENT_OCTETS && begun[atName]! <= MOST_TYPES) return;
      suspects.set(`${type} ${ownerText(ownerKey)}`, { ownerKey, type, name });
    },
    suspects() {
      const found = [...suspects.values()];
      suspects.clear();
      return found;
    },
  };
}

/** FNV-1a, folded. */
function sumOf(ownerKey: Uint8Array, type: number): number {
  let hash = 0x811c9dc5 ^ type;
  for (let i = 0; i < ownerKey.length; i++) hash = Math.imul(hash ^ ownerKey[i]!, 0x01000193);
  return (hash ^ (hash >>> 16)) & (SUMS - 1);
}
