/** What a handle of the database does, and how it is opened. */
import type Database from 'better-sqlite3';
import type { Clock } from '../../base/clock.js';
import type { AsideCheckpoints } from '../checkpoint/aside.js';
import type { OwnCheckpoints } from '../checkpoint/own-checkpoints.js';
import type { WriteRoom } from '../patience.js';
import type { Entry } from '../recording.js';
import type { Position } from '../replay.js';
import type { SqlValue } from '../sql-value.js';
import type { Statement } from '../statement.js';

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
  /**
   * A write that takes long: others get their turn between its steps, and see nothing of it before it is durable. `work` writes through
   * the handle that it gets, and yields after each step. Writes of this handle wait until it has ended. In a cluster and in memory, it is
   * one write like all others.
   */
  writeInSteps<T>(clock: Clock, work: (store: Store) => Generator<undefined, T>): Promise<T>;
  /**
   * The writes of `work` are durable only with the next one after it: for rows that mean nothing before that. Whoever else writes through
   * this handle meanwhile has no promise either.
   */
  syncLater<T>(work: () => Promise<T>): Promise<T>;
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
  /** The same but for commits of this program that have written objects of buckets and their bodies alone. */
  followedState(): number | undefined;
  /** That number, also inside of a transaction: what this has written itself does not count. */
  committedState(): number;
  /** Copies the write-ahead log into the database file and shortens it, as far as readers, and a write in steps, allow. */
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
  readonly room?: (database: Database.Database, path: string, own: OwnCheckpoints) => WriteRoom;
  /** Copies what writes in steps have written into the database; without it, the next commit of the handle does. */
  readonly aside?: AsideCheckpoints;
  /** Milliseconds that a statement waits for another process's write lock. */
  readonly busyTimeoutMs?: number;
  /** Kibibytes of the page cache; a reader of whole zones needs few. */
  readonly cacheKib?: number;
  /** Tells when a write was made (log/write-log.ts). */
  readonly clock?: Pick<Clock, 'nowMs'>;
  /** Whether another place keeps what is written here, so that a power failure may take back the last writes. */
  readonly isCopy?: boolean;
}
