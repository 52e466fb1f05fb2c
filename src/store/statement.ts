/** Prepared statements: what they take and give, and what is allowed to write. */
import type Database from 'better-sqlite3';
import type { Recording } from './recording.js';
import type { SqlValue } from './sql-value.js';
import { storeFailure } from './sqlite-failure.js';

export interface RunResult {
  /** Rows inserted, updated or deleted. */
  readonly changes: number;
  readonly lastInsertRowid: number;
}

/** A prepared statement; `Row` is the shape its columns have. One that writes has only `run`. */
export interface Statement<Params extends readonly SqlValue[], Row> {
  run(...params: Params): RunResult;
  get(...params: Params): Row | undefined;
  all(...params: Params): Row[];
  /** Reads row by row. The handle must not write until the iteration has ended. */
  iterate(...params: Params): IterableIterator<Row>;
}

/** What a handle is doing at the moment. */
export interface Activity {
  /** A write transaction of `Store` is open. */
  writing: boolean;
  /** Takes down what is written, where somebody wants to know. */
  recording: Recording | undefined;
}

/** What may be written outside migrations, and what entries of a log may hold: nothing that reaches other files or settings. */
const CHANGES_ROWS = /^(?:INSERT|UPDATE|DELETE)\b/;

/** Reads as long as it has no value; SQLite says that it may write. */
const JOURNAL_MODE = 'PRAGMA journal_mode';

export const changesRows = (sql: string): boolean => CHANGES_ROWS.test(sql);

export function wrapStatement<Params extends readonly SqlValue[], Row>(
  inner: Database.Statement,
  activity: Activity,
): Statement<Params, Row> {
  return inner.readonly || inner.source === JOURNAL_MODE ? readingStatement(inner) : writingStatement(inner, activity);
}

/** A statement that only reads, or one that begins and ends transactions. */
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
  const refuse = (): never => {
    throw new Error(`A statement that writes gives no rows; it can only be run: ${sql}`);
  };
  return {
    run(...params) {
      if (!activity.writing) throw new Error(`A statement that writes was run outside of Store.write: ${sql}`);
      try {
        const result = inner.run(...params) as RunResult;
        // What changed nothing here changes nothing anywhere.
        if (activity.recording && result.changes > 0) activity.recording.add(sql, params, result.changes);
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
