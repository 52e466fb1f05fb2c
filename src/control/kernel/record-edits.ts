/** Edits of records, which a use case makes either in a write that is under way or in a plan for one. */
import type { NewRecordRow, RecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { EventEntry } from './event.js';
import type { OwnerTally } from './owner-tally.js';

/** The change of one record, whose identifier stays the same. */
export interface RecordChange {
  readonly before: RecordRow | undefined;
  readonly after: NewRecordRow | undefined;
}

export interface RecordEdits {
  /** Microseconds since 1970, the same for everything in this commit. */
  readonly now: number;
  /** Number of the zone's records including the edits so far. */
  recordCount(zone: ZoneRow): number;
  /** The records at an owner, including the edits so far. */
  tallyAt(zone: ZoneRow, ownerKey: Uint8Array): OwnerTally;
  /** The record of the zone with this identifier, including the edits so far. */
  find(zone: ZoneRow, id: Uint8Array): RecordRow | undefined;
  /** The record of the same owner, type and data, including the edits so far. */
  findSame(row: Pick<RecordRow, 'zone' | 'owner_key' | 'type' | 'rdata_key'>): RecordRow | undefined;
  insertRecord(row: NewRecordRow): void;
  updateRecord(before: RecordRow, after: RecordRow): void;
  removeRecord(row: RecordRow): void;
  event(entry: EventEntry): void;
}
