/** Prepared statements: their parameters and rows, and which of them may write. */
import type Database from 'better-sqlite3';
import type { Recording } from './recording.js';
import type { SqlValue } from './sql-value.js';
import { storeFailure } from './sqlite-failure.js';

export interface RunResult {
  /** Rows inserted, updated or deleted. */
  readonly changes: number;
  readonly lastInsertRowid: number;
}

/** A prepared statement; `Row` is the shape of its columns. A writing statement has only `run`. */
export interface Statement<Params extends readonly SqlValue[], Row> {
  run(...params: Params): RunResult;
  get(...params: Params): Row | undefined;
  all(...params: Params): Row[];
  /** Reads row by row. The handle must not write until the iteration has ended. */
  iterate(...params: Params): IterableIterator<Row>;
}

/** The current activity of a handle. */
export interface Activity {
  /** A write transaction of `Store` is open. */
  writing: boolean;
  /** Records what is written, if a caller asked for it. */
  recording: Recording | undefined;
  /** Statements that write, so far. */
  writes: number;
  /** Whether the transaction has written something that others look for after commits ({@link OF_OBJECTS}). */
  isFollowed: boolean;
  /** Whether the transaction has changed rows: otherwise its commit is none. */
  hasChanged: boolean;
  /** Iterations that have begun and not ended: until then, the handle sees no later commit of others. */
  iterations: number;
}

export function newActivity(): Activity {
  return { writing: false, recording: undefined, writes: 0, isFollowed: false, hasChanged: false, iterations: 0 };
}

/**
 * The statements that may write outside migrations and that log entries may contain: none that reach other files or
 * settings.
 */
const CHANGES_ROWS = /^(?:INSERT|UPDATE|DELETE)\b/;

/** Writes to tables that are not the same on all copies (log/write-log.ts). */
const OF_THIS_COPY = /\bwrite_log/;

/**
 * Writes of objects and their bodies, which nobody looks for after commits: they are read when somebody asks for them, and what is to be
 * done because of them is a job, a row of another table.
 */
const OF_OBJECTS = /^(?:INSERT INTO|UPDATE|DELETE FROM) (?:objects|object_contents|uploads|parts|blob_garbage)\b/;

/** Reads when it has no value, although SQLite reports that it may write. */
const JOURNAL_MODE = 'PRAGMA journal_mode';

/**
 * Hides the values of comparisons and limits from the planner with a unary plus, which has no other effect. SQLite prepares a
 * statement again for every bound value if its planner looked at the parameter, as it does for a partial index or a limit
 * (sqlite3_db_config, SQLITE_DBCONFIG_ENABLE_QPSG, an option that this driver cannot set). That takes 10 to 30
 * microseconds instead of one.
 */
export const plannedOnce = (sql: string): string => sql.replace(/([=<>] ?|\b(?:LIMIT|OFFSET) )\?/g, '$1+?');

export const changesRows = (sql: string): boolean => CHANGES_ROWS.test(sql);

export function wrapStatement<Params extends readonly SqlValue[], Row>(
  inner: Database.Statement,
  activity: Activity,
): Statement<Params, Row> {
  if (!inner.readonly && inner.source !== JOURNAL_MODE) return writingStatement(inner, activity);
  return { ...readingStatement<Params, Row>(inner), iterate: (...params) => countedRows(inner, params, activity) };
}

function* countedRows<Row>(
  inner: Database.Statement,
  params: readonly SqlValue[],
  activity: Activity,
): IterableIterator<Row> {
  activity.iterations++;
  try {
    for (const row of inner.iterate(...params)) yield row as Row;
  } catch (error) {
    throw storeFailure(error);
  } finally {
    activity.iterations--;
  }
}

/** A statement that only reads, or one that begins or ends transactions. */
export function readingStatement<Params extends readonly SqlValue[], Row>(
  inner: Database.Statement,
): Statement<Params, Row> {
  return {
    run(...params) {
      try {
        return inner.run(...params) as RunResult;
      } catch (error) {
        throw storeFailure(error);
      }
    },
    get(...params) {
      try {
        return inner.get(...params) as Row | undefined;
      } catch (error) {
        throw storeFailure(error);
      }
    },
    all(...params) {
      try {
        return inner.all(...params) as Row[];
      } catch (error) {
        throw storeFailure(error);
      }
    },
    iterate(...params) {
      try {
        return inner.iterate(...params) as IterableIterator<Row>;
      } catch (error) {
        throw storeFailure(error);
      }
    },
  };
}

function writingStatement<Params extends readonly SqlValue[], Row>(
  inner: Database.Statement,
  activity: Activity,
): Statement<Params, Row> {
  const sql = inner.source;
  if (!changesRows(sql)) throw new Error(`A statement that writes begins with INSERT, UPDATE or DELETE: ${sql}`);
  const isRecorded = !OF_THIS_COPY.test(sql);
  const isFollowed = !OF_OBJECTS.test(sql);
  const refuse = (): never => {
    throw new Error(`A writing statement returns no rows; use run: ${sql}`);
  };
  return {
    run(...params) {
      if (!activity.writing) throw new Error(`A writing statement was run outside of Store.write: ${sql}`);
      activity.writes++;
      activity.isFollowed ||= isFollowed;
      try {
        const result = inner.run(...params) as RunResult;
        if (result.changes > 0) {
          activity.hasChanged = true;
          // A statement that changes no rows here changes none on any copy.
          if (isRecorded && activity.recording) activity.recording.add(sql, params, result.changes);
        }
        return result;
      } catch (error) {
        throw storeFailure(error);
      }
    },
    get: refuse,
    all: refuse,
    iterate: refuse,
  };
}

/** What is made once for each handle. */
export function perHandle<Handle extends WeakKey, Made>(make: (handle: Handle) => Made): (handle: Handle) => Made {
  const known = new WeakMap<Handle, Made>();
  return (handle) => {
    let made = known.get(handle);
    if (made === undefined) known.set(handle, (made = make(handle)));
    return made;
  };
}
