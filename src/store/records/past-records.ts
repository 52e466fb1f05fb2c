/**
 * A handle that shows the records of one zone as they once were, or as planned edits will leave them, and everything else as it
 * is. Temporary views stand in front of the tables; the other rows are in a temporary table. Nothing is written to the
 * database, and no lock is taken.
 */
import { perStore, type SqlValue, type Store } from '../driver.js';
import { openReader, openSnapshot, type Snapshot } from '../handle/snapshot.js';
import type { EditedRecord } from '../log/edits.js';
import type { ZoneRow } from '../zones/zones.js';
import { noteShadowed } from './owner-index.js';
import { type NewRecordRow, RECORD } from './records.js';

export interface PastRecords extends Snapshot {
  /** Undoes edits, each record once. Call it with some thousand at a time. */
  undo(records: readonly EditedRecord[]): void;
  /** Shows the past from now on. */
  show(): void;
}

const SHADOWS = `
CREATE TEMP TABLE past_ids (id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE past_rows AS SELECT * FROM main.record_rows LIMIT 0;
CREATE INDEX temp.past_rows_owner ON past_rows (record_set, owner_key, type, rdata_key);
CREATE INDEX temp.past_rows_id ON past_rows (id);
CREATE INDEX temp.past_rows_seq ON past_rows (seq);
CREATE TEMP VIEW record_rows AS SELECT * FROM main.record_rows WHERE id NOT IN (SELECT id FROM temp.past_ids)
  UNION ALL SELECT * FROM temp.past_rows;`;

const statements = perStore((store) => ({
  exists: store.prepareTuples<[id: Uint8Array, set: number], [1]>(
    'SELECT 1 FROM main.record_rows WHERE id = ? AND +record_set = ?',
  ),
  hide: store.prepare<[id: Uint8Array]>('INSERT INTO past_ids (id) VALUES (?)'),
  add: store.prepare<[seq: number, set: number, ...SqlValue[]]>(
    `INSERT INTO past_rows (seq, record_set, ${RECORD.list}) VALUES (?, ?, ${RECORD.marks})`,
  ),
  columns: store.prepareTuples<[], [place: number, name: string]>('PRAGMA main.table_info(zones)'),
}));

/** Opens the past of a zone; empty of edits, it is the present. */
export function openPastRecords(store: Store, zone: (reader: Store) => ZoneRow): PastRecords {
  const snapshot = openSnapshot(store);
  return shadow(snapshot, zone(snapshot.store));
}

/** A record that an edit will leave as it says; null: it will be gone. */
export interface PlannedRecord {
  readonly id: Uint8Array;
  readonly after: NewRecordRow | null;
}

export interface PlannedRecords extends Snapshot {
  /** Plans edits, each record once. Call it with some thousand at a time. */
  plan(records: readonly PlannedRecord[]): void;
}

/** Opens the future of a zone, in which nothing is planned yet. What others write meanwhile is seen. */
export function openPlannedRecords(store: Store, zone: ZoneRow): PlannedRecords {
  const { store: reader, close, undo } = shadow(openReader(store), zone);
  return {
    store: reader,
    close,
    plan: (records) => reader.snapshot(() => undo(records.map(({ id, after }) => ({ id, was: after })))),
  };
}

function shadow(snapshot: Snapshot, { seq, record_set: set, record_count: count }: ZoneRow): PastRecords {
  const { store: reader } = snapshot;
  let past = count;
  let added = 0;
  reader.temporarily((run) => run(SHADOWS));
  noteShadowed(reader);
  const { exists, hide, add } = statements(reader);
  return {
    ...snapshot,
    undo(records) {
      reader.temporarily(() => {
        for (const { id, was } of records) {
          if (exists.get(id, set)) past--;
          hide.run(id);
          if (!was) continue;
          past++;
          // Row numbers of the present are positive.
          add.run(-++added, set, ...RECORD.values(was));
        }
      });
    },
    show() {
      reader.temporarily((run) => {
        const columns = statements(reader)
          .columns.all()
          .map(([, name]) => name);
        const shown = columns.map((name) =>
          name === 'record_count' ? `CASE seq WHEN ${seq} THEN ${past} ELSE record_count END AS record_count` : name,
        );
        run(`CREATE TEMP VIEW zones AS SELECT ${shown.join(', ')} FROM main.zones;
          CREATE TEMP VIEW records AS SELECT r.*, z.seq AS zone FROM record_rows r JOIN main.zones z
          ON z.record_set = r.record_set;`);
      });
    },
  };
}
