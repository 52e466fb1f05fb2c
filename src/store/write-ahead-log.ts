/** SQLite's write-ahead log: how much is in it, and checkpoints, which copy it into the database file. */
import type Database from 'better-sqlite3';
import { StoreBusy } from './failures.js';

export interface WriteAheadLog {
  /** Pages in the log since it last began anew. */
  readonly pages: number;
  /**
   * How many of them, from the first on, are in the database file too. When all are, and nobody reads them in the log, the
   * next write begins the log anew.
   */
  readonly copied: number;
}

/**
 * `passive`: copies what no reader holds back, waits for nobody, and keeps nobody waiting. `restart`: waits until all can be
 * copied and nobody reads the log, so that the next write begins it anew. `truncate`: the same, and cuts the file to nothing.
 */
export type CheckpointMode = 'passive' | 'restart' | 'truncate';

export interface Checkpoint extends WriteAheadLog {
  /** Whether the log begins anew with the next write; of a passive one: whether all was copied that was there. */
  readonly isComplete: boolean;
}

/** Pages that a commit leaves in the log before it makes a checkpoint itself: what SQLite does unless told otherwise. */
const PAGES_IN_COMMITS = 1000;
const PAGE_BYTES = 4096;

type Row = [busy: number, pages: number, copied: number];

/** Prepares the look at the log, which takes two microseconds. */
export function prepareLook(database: Database.Database): () => WriteAheadLog {
  const look = database.prepare<[], Row>('PRAGMA wal_checkpoint(NOOP)').raw(true);
  return () => {
    const [, pages, copied] = look.get() as Row;
    return { pages: Math.max(pages, 0), copied: Math.max(copied, 0) };
  };
}

/** Makes a checkpoint; one that waits does so within the handle's busy timeout. Throws SQLite's errors. */
export function makeCheckpoint(database: Database.Database, mode: CheckpointMode): Checkpoint {
  const [busy, pages, copied] = database.prepare<[], Row>(`PRAGMA wal_checkpoint(${mode})`).raw(true).get() as Row;
  return { pages, copied, isComplete: busy === 0 && pages === copied };
}

/** Whether commits through this handle make checkpoints themselves. */
export function setCheckpointsInCommits(database: Database.Database, on: boolean): void {
  database.pragma(`wal_autocheckpoint = ${on ? PAGES_IN_COMMITS : 0}`);
}

/** The log has become as large as it may, and somebody reads the database, so that it cannot begin anew. */
export function logIsFull(mostPages: number): StoreBusy {
  const mebibytes = Math.floor((mostPages * PAGE_BYTES) / (1 << 20));
  return new StoreBusy(
    `The write-ahead log of the database has reached its limit of ${mebibytes} MiB: something has been reading the database for very long, such as a backup, or the log cannot be copied.`,
  );
}
