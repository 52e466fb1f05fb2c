/**
 * The names that edits of a zone make or end. In a zone that is denied by hashes, each has a record with a signature, those without
 * records of their own, too (RFC 5155 §7.1): one record at a name of a hundred labels may make a hundred of them.
 */
import { ownerText } from '../../serving/difference.js';
import { recordFailure } from './record-failures.js';

/** Names without records of their own that one edit may make or end, and how many more for each record of a larger one. */
const MOST_EMPTY_NAMES = 10_000;
const MOST_OF_RECORD = 2;

export interface NamesOfEdits {
  /** Notes the owner of a record that is made or removed. */
  note(ownerKey: Uint8Array): void;
  /** Names at and above these owners, each once, without the apex. */
  count(): number;
  /** Those among them without a record that is noted. */
  countEmpty(): number;
  /** @throws AppError when those are too many for one edit */
  requireFew(): void;
}

export function namesOfEdits(): NamesOfEdits {
  const owners = new Set<string>();
  const names = new Set<string>();
  let edits = 0;
  return {
    note(ownerKey) {
      edits++;
      const text = ownerText(ownerKey);
      owners.add(text);
      // Upwards: above a known name, all are known.
      for (let end = text.length; end > 0; end = text.lastIndexOf('\0', end - 2) + 1) {
        const name = text.slice(0, end);
        if (names.has(name)) return;
        names.add(name);
      }
    },
    count: () => names.size,
    countEmpty: () => names.size - owners.size,
    requireFew() {
      const most = Math.max(MOST_EMPTY_NAMES, MOST_OF_RECORD * edits);
      if (names.size - owners.size > most) throw recordFailure('manyNames', { most });
    },
  };
}
