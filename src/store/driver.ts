/**
 * SQLite behind a small interface: opening, pragmas, prepared statements, transactions, typed failures. Everything
 * except `write` is synchronous; a handle belongs to one thread.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Clock, SystemClock } from '../base/clock.js';
import { invariant } from '../base/errors.js';
import { copyInto } from './backup-copy.js';
import { preparePath, setPragmas } from './database-file.js';
import { WriteLogger } from './log/write-logger.js';
import { type WriteRoom, whenFree, withRoom } from './patience.js';
import { type Entry, startRecording } from './recording.js';
import { type Position, Replayer } from './replay.js';
import type { SqlValue } from './sql-value.js';
import { guard, openFailure } from './sqlite-failure.js';
import { StateNumber, watchCommits } from './state/state-number.js';
import { newActivity, plannedOnce, readingStatement, type Statement, wrapStatement } from './statement.js';

export { StoreBusy, StoreCorrupt, StoreFull } from './failures.js';
export type { SqlValue } from './sql-value.js';
export type { Statement } from './statement.js';

/** The database file inside the data directory. */
export const DATABASE_FILE = 'zoneplane.db';

/** Data directory name that selects a database in memory, which is lost when it is closed. */
export const IN_MEMORY = ':memory:';

export interface Store {
  /** Path of the file, or `:memory:`. */
  readonly path: string;
  readonly readonly: boolean;
  /** Rows as objects with column names as keys. */
  prepare<Params extends readonly SqlValue[] = [], Row = unknown>(sql: string): Statement<Params, Row>;
  /** Rows as arrays in column order: about a third faster when many rows are read. */
  prepareTuples<Params extends readonly SqlValue[] = [], Row = unknown>(sql: string): Statement<Params, Row>;
  /** Registers a pure function for use in SQL, with as many values as it has parameters. */
  defineFunction(name: string, compute: (...values: SqlValue[]) => SqlValue): void;
  /**
   * The only way to write. Runs `work` in one transaction and resolves with its result when the write is durable;
   * nothing is written when `work` throws. `work` is synchronous, affects only the database, and may run more than
   * once. Throws {@link StoreBusy} when the lock is not free, or the log of a cluster not back, within `timeoutMs`
   * (default: one minute, or as long as is set for the log), {@link OutcomeUnknown} when the log has not said whether it
   * has stored the write, {@link StoreFull} on a full disk. `waitedMs`: for how long the write has waited already for writes
   * before it; in a cluster, the patience with the log includes that.
   */
  write<T>(work: () => T, timeoutMs?: number, waitedMs?: number): Promise<T>;
  /** Runs a write like {@link Store.write}, undoes it and returns its result. Nothing is written to disk. */
  dryRun<T>(work: () => T): Promise<T>;
  /**
   * Runs a write, undoes it and returns its statements as the body of a log entry; undefined when it wrote nothing.
   * Throws {@link StoreBusy} when the lock is not free within `timeoutMs` (default: that of the handle).
   */
  capture<T>(work: () => T, timeoutMs?: number): CapturedWrite<T>;
  /**
   * Applies the log entry that follows this copy's position, in one transaction with the new position; false when this
   * copy already has it. Throws {@link EntryRefused} when it cannot be applied, {@link StoreBusy} like {@link
   * Store.capture}.
   */
  replay(entry: Entry, timeoutMs?: number): boolean;
  /** The same for several entries in one transaction: all of them, or none. */
  replayAll(entries: readonly Entry[], timeoutMs?: number): void;
  /** The last log entry that this copy has applied. */
  position(): Position;
  /** For migrations only: one write transaction in which `work` receives a function that runs any SQL. */
  alter<T>(work: (run: (sql: string) => void) => T): T;
  /**
   * Like {@link Store.alter} for a log entry that migrates: `work` is not called and the result is false when this copy
   * already has the entry. Throws {@link EntryRefused} when it does not follow.
   */
  alterByEntry(entry: Entry, work: (run: (sql: string) => void) => void): boolean;
  /** For handles that only read: `work` may create temporary tables and views, which only this handle sees, by any SQL. */
  temporarily<T>(work: (run: (sql: string) => void) => T): T;
  /** Runs `work` inside a write transaction; when it throws, only its own changes are undone. Must not be nested. */
  part<T>(work: () => T): T;
  /** How many statements that write were run with this handle so far. */
  writes(): number;
  /** Runs `read` in one read transaction, so that everything it reads is from one database state. */
  snapshot<T>(read: () => T): T;
  /** A number that changes whenever another connection commits (`PRAGMA data_version`). */
  dataVersion(): number;
  /**
   * A number that is another one after every commit, by whomever: what was read while it was the same is still so. Undefined
   * inside of a transaction, which sees what it has written itself, and of an iteration, which sees nothing newer.
   */
  state(): number | undefined;
  /** The same, also inside of a transaction: what this has written itself does not count. */
  committedState(): number;
  /** Copies the write-ahead log into the database file and shortens it, as far as readers allow. */
  checkpoint(): void;
  /** Copies the database consistently into a new file. Throws a UserError when the file exists. */
  backup(path: string): Promise<void>;
  close(): void;
}

export interface CapturedWrite<T> {
  readonly value: T;
  readonly written: Uint8Array | undefined;
}

export interface OpenOptions {
  readonly readonly?: boolean;
  /**
   * Creates the replacement for {@link Store.write}, such as {@link createLogWriter} of log-writer.ts; default: a local
   * transaction.
   */
  readonly writer?: (store: Store) => Store['write'];
  /**
   * Called after each write of this handle that was committed. `isFollowed`: whether it has written anything but objects of buckets and
   * their bodies, which nobody looks for after commits.
   */
  readonly onCommit?: (isFollowed: boolean) => void;
  /** Makes room for writes on a full disk, such as {@link reuseLog} of reused-log.ts. */
  readonly room?: (database: Database.Database, path: string) => WriteRoom;
  /** Milliseconds that a statement waits for another process's write lock. */
  readonly busyTimeoutMs?: number;
  /** Kibibytes of the page cache; a reader of whole zones needs few. */
  readonly cacheKib?: number;
  /** Tells when a write was made (log/write-log.ts). */
  readonly clock?: Pick<Clock, 'nowMs'>;
  /** Whether another place keeps what is written here, so that a power failure may take back the last writes. */
  readonly isCopy?: boolean;
}

const BUSY_TIMEOUT_MS = 5000;
/**
 * Opens the database of a data directory. Creates both when they are missing, unless read-only. Throws a UserError when
 * the directory or file cannot be used.
 */
export function openStore(dataDir: string, options: OpenOptions = {}): Store {
  const readonly = options.readonly ?? false;
  const path = dataDir === IN_MEMORY ? IN_MEMORY : join(dataDir, DATABASE_FILE);
  if (path !== IN_MEMORY) preparePath(dataDir, path, readonly);
  return openStoreFile(path, options);
}

/** Opens a database file of any name that is there. Throws a UserError when it cannot be used. */
export function openStoreFile(path: string, options: OpenOptions = {}): Store {
  const readonly = options.readonly ?? false;
  const timeoutMs = options.busyTimeoutMs ?? BUSY_TIMEOUT_MS;
  let database: Database.Database;
  try {
    database = new Database(path, { readonly, timeout: timeoutMs });
    setPragmas(database, readonly, options);
  } catch (error) {
    throw openFailure(error, path);
  }
  return new SqliteStore(database, path, readonly, timeoutMs, options);
}

class SqliteStore implements Store {
  readonly write: Store['write'];
  private readonly onCommit: OpenOptions['onCommit'];
  private readonly room: WriteRoom | undefined;
  private readonly activity = newActivity();
  private readonly replayer = new Replayer((sql) => this.prepare(sql));
  private readonly logger: WriteLogger;
  private readonly begin: Statement<[], unknown>;
  private readonly beginRead: Statement<[], unknown>;
  private readonly commit: Statement<[], unknown>;
  private readonly rollback: Statement<[], unknown>;
  private readonly savepoint: Statement<[], unknown>;
  private readonly release: Statement<[], unknown>;
  private readonly rollbackPart: Statement<[], unknown>;
  private readonly version: Database.Statement<[], number>;
  private readonly states: StateNumber;
  /** A transaction has begun; after some failures, SQLite has already ended it. */
  private isInside = false;

  constructor(
    private readonly database: Database.Database,
    readonly path: string,
    readonly readonly: boolean,
    private readonly busyTimeoutMs: number,
    { writer, onCommit, room, clock = new SystemClock() }: OpenOptions,
  ) {
    this.logger = new WriteLogger((sql) => this.prepare(sql), this.activity, clock);
    this.onCommit = onCommit;
    this.room = room?.(database, path);
    const bracket = (sql: string): Statement<[], unknown> => readingStatement(database.prepare(sql));
    this.begin = bracket('BEGIN IMMEDIATE');
    this.beginRead = bracket('BEGIN');
    this.commit = bracket('COMMIT');
    this.rollback = bracket('ROLLBACK');
    this.savepoint = bracket('SAVEPOINT part');
    this.release = bracket('RELEASE part');
    this.rollbackPart = bracket('ROLLBACK TO part');
    this.version = database.prepare<[], number>('PRAGMA data_version').pluck();
    this.states = new StateNumber(() => watchCommits(database, path, () => this.dataVersion()));
    this.write = writer?.(this) ?? ((work, timeoutMs) => this.writeHere(work, timeoutMs));
  }

  prepare<Params extends readonly SqlValue[], Row>(sql: string): Statement<Params, Row> {
    return wrapStatement(
      guard(() => this.database.prepare(plannedOnce(sql))),
      this.activity,
    );
  }

  prepareTuples<Params extends readonly SqlValue[], Row>(sql: string): Statement<Params, Row> {
    return wrapStatement(
      guard(() => this.database.prepare(plannedOnce(sql)).raw(true)),
      this.activity,
    );
  }

  defineFunction(name: string, compute: (...values: SqlValue[]) => SqlValue): void {
    // The driver counts the parameters of the function.
    guard(() => this.database.function(name, { deterministic: true }, compute as (...values: unknown[]) => unknown));
  }

  private writeHere<T>(work: () => T, timeoutMs?: number): Promise<T> {
    return whenFree((ms) => withRoom(() => this.immediate(() => this.logger.run(work), ms), this.room), timeoutMs);
  }

  dryRun<T>(work: () => T): Promise<T> {
    return whenFree((attemptMs) => this.runAndUndo(work, attemptMs));
  }

  capture<T>(work: () => T, timeoutMs?: number): CapturedWrite<T> {
    const recording = startRecording();
    const value = this.runAndUndo(() => {
      this.activity.recording = recording;
      return work();
    }, timeoutMs);
    return { value, written: recording.finish() };
  }

  replay(entry: Entry, timeoutMs?: number): boolean {
    return this.immediate(() => this.replayer.apply(entry), timeoutMs);
  }

  replayAll(entries: readonly Entry[], timeoutMs?: number): void {
    this.immediate(() => this.replayer.applyAll(entries), timeoutMs);
  }

  position(): Position {
    return this.replayer.position();
  }

  alter<T>(work: (run: (sql: string) => void) => T): T {
    // A migration may also change how the schema describes a table.
    this.database.unsafeMode(true);
    try {
      return this.immediate(() => {
        this.activity.isFollowed = true;
        return work((sql) => guard(() => this.database.exec(sql)));
      });
    } finally {
      this.database.unsafeMode(false);
    }
  }

  alterByEntry(entry: Entry, work: (run: (sql: string) => void) => void): boolean {
    return this.alter((run) => {
      if (!this.replayer.isNext(entry)) return false;
      work(run);
      this.replayer.advance(entry);
      return true;
    });
  }

  temporarily<T>(work: (run: (sql: string) => void) => T): T {
    invariant(this.readonly, 'temporary tables belong to handles that only read');
    this.activity.writing = true;
    try {
      return work((sql) => guard(() => this.database.exec(sql)));
    } finally {
      this.endWriting();
    }
  }

  private immediate<T>(work: () => T, timeoutMs?: number): T {
    this.beginWithin(timeoutMs);
    this.activity.writing = true;
    this.activity.isFollowed = false;
    const result = this.finish(work);
    this.states.committed();
    this.room?.committed();
    this.onCommit?.(this.activity.isFollowed);
    return result;
  }

  private runAndUndo<T>(work: () => T, timeoutMs: number | undefined): T {
    this.beginWithin(timeoutMs);
    this.activity.writing = true;
    try {
      return work();
    } finally {
      this.endWriting();
      // After some failures, such as a full disk, SQLite has already rolled back.
      if (this.database.inTransaction) this.rollback.run();
      this.isInside = false;
    }
  }

  private beginWithin(timeoutMs: number = this.busyTimeoutMs): void {
    if (timeoutMs === this.busyTimeoutMs) {
      this.begin.run();
    } else {
      this.database.pragma(`busy_timeout = ${timeoutMs}`);
      try {
        this.begin.run();
      } finally {
        this.database.pragma(`busy_timeout = ${this.busyTimeoutMs}`);
      }
    }
    this.isInside = true;
  }

  private endWriting(): void {
    this.activity.writing = false;
    this.activity.recording = undefined;
  }

  part<T>(work: () => T): T {
    const mark = this.activity.recording?.mark();
    this.savepoint.run();
    try {
      const result = work();
      this.release.run();
      return result;
    } catch (error) {
      // After some failures, SQLite has already rolled everything back.
      if (this.database.inTransaction) {
        this.rollbackPart.run();
        this.release.run();
        if (mark) this.activity.recording?.undo(mark);
      }
      throw error;
    }
  }

  writes(): number {
    return this.activity.writes;
  }

  snapshot<T>(read: () => T): T {
    if (this.database.inTransaction) return read();
    this.beginRead.run();
    this.isInside = true;
    return this.finish(read);
  }

  private finish<T>(work: () => T): T {
    try {
      const result = work();
      this.commit.run();
      return result;
    } catch (error) {
      // After some failures, such as a full disk, SQLite has already rolled back.
      if (this.database.inTransaction) this.rollback.run();
      throw error;
    } finally {
      this.endWriting();
      this.isInside = false;
    }
  }

  dataVersion(): number {
    return this.version.get() as number;
  }

  state(): number | undefined {
    // Asking the driver takes longer than the rest. A handle that only reads may be a snapshot, which is always inside of one.
    if ((this.isInside || this.readonly) && this.database.inTransaction) return undefined;
    return this.activity.iterations > 0 ? undefined : this.states.now();
  }

  committedState(): number {
    return this.states.look();
  }

  checkpoint(): void {
    if (this.path !== IN_MEMORY && !this.readonly) guard(() => this.database.pragma('wal_checkpoint(TRUNCATE)'));
  }

  backup(path: string): Promise<void> {
    return copyInto(this.database, path);
  }

  close(): void {
    if (this.database.open) guard(() => this.database.close());
  }
}

/**
 * Statements of one aggregate, prepared for each handle on first use: `const statements = perStore((store) => ({ byId:
 * store.prepare(…) }));`
 */
export function perStore<Statements>(make: (store: Store) => Statements): (store: Store) => Statements {
  const known = new WeakMap<Store, Statements>();
  return (store) => {
    let statements = known.get(store);
    if (!statements) known.set(store, (statements = make(store)));
    return statements;
  };
}
