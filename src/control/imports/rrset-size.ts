/**
 * RRsets that are too large. Those of very many rows are found while these come, in a fixed amount of memory: one that is read as a
 * whole would take seconds.
 */
import { ownerText } from '../../serving/difference.js';
import type { RRsetKey } from '../../store/records/import.js';
import type { ImportedRow } from '../../store/records/packed-rows.js';
import { RR_OVERHEAD } from './stage.js';

/** The largest size of an RRset from a primary: secondaries get larger ones, too, in several messages, and reading more takes too long. */
export const MOST_SENT_OCTETS = 128 << 10;
type Suspect = Omit<RRsetKey, 'set'> & Pick<ImportedRow, 'name'>;

export interface SizeWatch {
  note(row: ImportedRow): void;
  /** RRsets that may have become too large since the last call; rows that come twice count twice. */
  suspects(): readonly Suspect[];
}

/** RRsets that share a sum. In a zone of five million rows, a sum has about four thousand octets. */
const SUMS = 1 << 16;

export function watchSizes(): SizeWatch {
  const sums = new Uint32Array(SUMS);
  const suspects = new Map<string, Suspect>();
  return {
    note({ owner_key: ownerKey, type, rdata, name }) {
      const at = sumOf(ownerKey, type);
      sums[at]! += rdata.length + RR_OVERHEAD;
      if (sums[at]! > MOST_SENT_OCTETS) suspects.set(`${type} ${ownerText(ownerKey)}`, { ownerKey, type, name });
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
