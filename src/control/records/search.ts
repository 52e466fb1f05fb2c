/**
 * Search for records in all zones of which a credential may read every record. One request looks through a bounded share, and says
 * where the next one goes on.
 */
import { toHex } from '../../base/bytes.js';
import { zonesAfter } from '../../store/zones/zones.js';
import { visibleZones } from '../guard/visible.js';
import type { Context } from '../kernel/context.js';
import { recordFailure } from '../rules/record-failures.js';
import type { RecordItem } from './item.js';
import { listRecords } from './records.js';

export interface SearchQuery {
  /** Words that all occur in a record's name, type, content, comment or tags. */
  readonly text: string;
  /** Most records to return. */
  readonly limit: number;
  /** {@link Found.next} of the request before. */
  readonly after?: number;
}

export interface FoundRecord {
  readonly zone: { readonly id: string; readonly name: string };
  readonly record: RecordItem;
}

export interface Found {
  readonly records: readonly FoundRecord[];
  /** Zones that were looked through. */
  readonly zones: number;
  /** Where the next request goes on; undefined: everything was looked through. */
  readonly next: number | undefined;
}

export const MOST_FOUND = 500;
const LONGEST_TEXT = 200;
/** Bounds of one request: it is read by a thread that others wait for. */
const MOST_RECORDS = 500_000;
const MOST_ZONES = 2000;
const ROWS_AT_ONCE = 100;

/**
 * In the order in which zones were made. A zone with more matches than are wanted ends a request, and is not continued: then its own list
 * shows the others. Throws 400 for a text without a word.
 */
export async function searchRecords(ctx: Context, { text, limit, after = 0 }: SearchQuery): Promise<Found> {
  if (text.trim() === '' || text.length > LONGEST_TEXT) throw recordFailure('badSearch', { most: LONGEST_TEXT });
  const visible = visibleZones(ctx);
  const records: FoundRecord[] = [];
  let [at, zones, looked] = [after, 0, 0];
  const isEnough = (): boolean => records.length >= limit || zones >= MOST_ZONES || looked >= MOST_RECORDS;
  for (let rows = zonesAfter(ctx.store, at, ROWS_AT_ONCE); rows.length > 0; ) {
    for (const row of rows) {
      if (isEnough()) return { records, zones, next: at };
      at = row.seq;
      const id = visible.idOf(row.seq);
      if (id === undefined) continue;
      zones++;
      looked += row.record_count;
      if (row.record_count === 0) continue;
      const { items } = await listRecords(ctx, toHex(row.id), { search: text, perPage: limit - records.length });
      for (const record of items) records.push({ zone: { id, name: row.name }, record });
    }
    rows = zonesAfter(ctx.store, at, ROWS_AT_ONCE);
  }
  return { records, zones, next: undefined };
}
