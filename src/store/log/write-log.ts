/**
 * The log of all writes, whichever process makes them, with which a backup can be brought to a later time. A write and its row
 * are one transaction; whoever keeps the log takes rows away and puts them beside the backups. These tables belong to one copy of
 * the database: what is written to them is not part of any recording (statement.ts). Writes are put there by write-logger.ts.
 */

import { valueOrZero } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { hasTable } from '../integrity.js';

export interface LoggedWrite {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly writtenAtMs: number;
  /** Schema version for which the statements were written. */
  readonly schema: number;
  /** Statements, as recording.ts packs them. */
  readonly body: Uint8Array;
}

const statements = perStore((store) => ({
  series: store.prepareTuples<[], [string, number]>('SELECT id, schema FROM write_log_series'),
  begin: store.prepare<[string, number]>('INSERT INTO write_log_series (id, schema) VALUES (?, ?)'),
  end: store.prepare('DELETE FROM write_log_series'),
  rows: store.prepareTuples<[number], [number, number, number, Uint8Array]>(
    'SELECT number, written_at, schema, body FROM write_log WHERE number > ? ORDER BY number',
  ),
  remove: store.prepare<[number]>('DELETE FROM write_log WHERE number <= ?'),
  schema: store.prepareTuples<[], [number]>('PRAGMA user_version'),
}));

/** The database may be older than the tables. */
const tables = perStore(() => ({ areThere: false }));

export interface WriteLogSeries {
  readonly id: string;
  /** The version of the schema when it began. */
  readonly schema: number;
}

/** The history whose writes are logged; undefined while none are. */
export function writeLogSeries(store: Store): WriteLogSeries | undefined {
  const known = tables(store);
  known.areThere ||= hasTable(store, 'write_log_series');
  const [id, schema] = (known.areThere && statements(store).series.get()) || [];
  return id === undefined ? undefined : { id, schema: schema! };
}

/** Call inside a write, which is not logged yet. */
export function beginWriteLog(store: Store, id: string): void {
  endWriteLog(store);
  statements(store).begin.run(id, schemaOf(store));
}

const schemaOf = (store: Store): number => statements(store).schema.get()![0];

/** Removes the writes that are on their way, too. Call inside a write. */
export function endWriteLog(store: Store): void {
  statements(store).remove.run(Number.MAX_SAFE_INTEGER);
  statements(store).end.run();
}

/** The number of the last write that was logged; 0: none was. */
export const lastLoggedWrite = valueOrZero<[]>("SELECT seq FROM sqlite_sequence WHERE name = 'write_log'");

/** Octets that are on their way. */
export const octetsOnTheirWay = valueOrZero<[]>('SELECT sum(length(body)) FROM write_log');

/** Those after a number, in order: as many as have `most` octets, and at least one. */
export function writesOnTheirWay(store: Store, after: number, most: number): readonly LoggedWrite[] {
  const found: LoggedWrite[] = [];
  let octets = 0;
  for (const [number, writtenAtMs, schema, body] of statements(store).rows.iterate(after)) {
    octets += body.length;
    if (found.length > 0 && octets > most) break;
    found.push({ number, writtenAtMs, schema, body });
  }
  return found;
}

/** They have arrived. Call inside a write. */
export function removeLoggedWrites(store: Store, upTo: number): void {
  statements(store).remove.run(upTo);
}
