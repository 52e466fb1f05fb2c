/**
 * SQLite behind a small interface: opening, pragmas, prepared statements, transactions, typed failures. The only user of
 * better-sqlite3. Everything here is synchronous; a handle belongs to one thread.
 */
import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { UserError } from '../base/errors.js';
import { StoreBusy, StoreConflict, StoreCorrupt, StoreFull } from './failures.js';
import { whenFree } from './patience.js';

export { StoreBusy, StoreConflict, StoreCorrupt, StoreFull } from './failures.js';

/** The database file inside the data directory. */
export const DATABASE_FILE = 'zoneplane.db';

/** Data directory name that stands for a database in memory, gone when it is closed. */
export const IN_MEMORY = ':memory:';

export type SqlValue = string | number | Uint8Array | null;

export interface RunResult {
  /** Rows inserted, updated or deleted. */
  readonly changes: number;
  readonly lastInsertRowid: number;
}

/** A prepared statement; `Row` is the shape its columns have. */
export interface Statement<Params extends readonly SqlValue[], Row> {
  run(...params: Params): RunResult;
  get(...params: Params): Row | undefined;
  all(...params: Params): Row[];
  /** Reads row by row. The handle must not write until the iteration has ended. */
  iterate(...params: Params): IterableIterator<Row>;
}

export interface Store {
  /** Path of the file, or `:memory:`. */
  readonly path: string;
  readonly readonly: boolean;
  /** Rows as objects keyed by column. */
  prepare<Params extends readonly SqlValue[] = [], Row = unknown>(sql: string): Statement<Params, Row>;
  /** Rows as arrays in column order: about a third faster where many are read. */
  prepareTuples<Params extends readonly SqlValue[] = [], Row = unknown>(sql: string): Statement<Params, Row>;
  exec(sql: string): void;
  /** Makes a pure function available to SQL under a name. */
  defineFunction(name: string, compute: (value: SqlValue) => SqlValue): void;
  /**
   * The only way to write: runs `work` in one transaction and resolves with its result when that is durable. Nothing stays
   * when `work` throws. `work` is synchronous, touches nothing but the database, and may run more than once. Throws
   * {@link StoreBusy} when the lock is not free within `timeoutMs` (default: a minute), {@link StoreFull} on a full disk.
   */
  write<T>(work: () => T, timeoutMs?: number): Promise<T>;
  /**
   * Runs `work` in one write transaction that holds the write lock from its beginning; rolled back when `work` throws.
   * Throws {@link StoreBusy} when the lock is not free within `timeoutMs` (default: that of the handle).
   */
  immediate<T>(work: () => T, timeoutMs?: number): T;
  /** Runs `work` inside a write transaction so that only its own changes are undone when it throws. Not to be nested. */
  part<T>(work: () => T): T;
  /** Runs `read` in one read transaction: everything it reads is from the same moment. */
  snapshot<T>(read: () => T): T;
  /** A number that changes whenever another connection has committed (`PRAGMA data_version`). */
  dataVersion(): number;
  /** Moves the write-ahead log into the database file and shortens it, as far as no reader is in the way. */
  checkpoint(): void;
  /** A consistent copy into a file that does not exist yet. Throws a UserError when it does. */
  backup(path: string): Promise<void>;
  close(): void;
}

export interface OpenOptions {
  readonly readonly?: boolean;
  /** How long a statement waits for another process's write lock, in milliseconds. */
  readonly busyTimeoutMs?: number;
}

const BUSY_TIMEOUT_MS = 5000;
/** Page cache of a writer and of a reader, in KiB: a bulk import stays in memory until it is large. */
const WRITER_CACHE_KIB = 64 * 1024;
const READER_CACHE_KIB = 16 * 1024;
const MMAP_BYTES = 1 << 30;
/** The write-ahead log is cut back to this size after a checkpoint, in octets. */
const JOURNAL_LIMIT_BYTES = 64 << 20;

/**
 * Opens the database of a data directory, creating both when they are missing (unless read-only). Throws a UserError when
 * the directory or file cannot be used.
 */
export function openStore(dataDir: string, options: OpenOptions = {}): Store {
  const readonly = options.readonly ?? false;
  const path = dataDir === IN_MEMORY ? IN_MEMORY : join(dataDir, DATABASE_FILE);
  if (path !== IN_MEMORY) preparePath(dataDir, path, readonly);
  const timeoutMs = options.busyTimeoutMs ?? BUSY_TIMEOUT_MS;
  let database: Database.Database;
  try {
    database = new Database(path, { readonly, timeout: timeoutMs });
    setPragmas(database, readonly);
  } catch (error) {
    throw openFailure(error, path);
  }
  return new SqliteStore(database, path, readonly, timeoutMs);
}

function preparePath(dataDir: string, path: string, readonly: boolean): void {
  try {
    if (existsSync(path)) return;
    if (readonly) {
      throw new UserError(
        `There is no database in ${dataDir}.`,
        'Start `zoneplane serve` once, or check the data directory.',
      );
    }
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    // Created here so that nobody else on the machine can read it; SQLite gives its side files the same mode.
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `The data directory ${dataDir} cannot be used: ${(error as Error).message}`,
      'Check that it is a directory and that this user may write to it.',
    );
  }
}

function setPragmas(database: Database.Database, readonly: boolean): void {
  if (!readonly) {
    database.pragma('journal_mode = WAL');
    // An acknowledged change survives the loss of power.
    database.pragma('synchronous = FULL');
    database.pragma(`journal_size_limit = ${JOURNAL_LIMIT_BYTES}`);
  }
  database.pragma('foreign_keys = ON');
  database.pragma(`cache_size = -${readonly ? READER_CACHE_KIB : WRITER_CACHE_KIB}`);
  // A reader walks through once; mapped pages would stay in its memory.
  database.pragma(`mmap_size = ${readonly ? 0 : MMAP_BYTES}`);
  database.pragma('temp_store = MEMORY');
  database.pragma('trusted_schema = OFF');
  // Also finds out whether the file is a database at all.
  database.pragma('schema_version');
}

class SqliteStore implements Store {
  private readonly begin: Statement<[], unknown>;
  private readonly beginRead: Statement<[], unknown>;
  private readonly commit: Statement<[], unknown>;
  private readonly rollback: Statement<[], unknown>;
  private readonly savepoint: Statement<[], unknown>;
  private readonly release: Statement<[], unknown>;
  private readonly rollbackPart: Statement<[], unknown>;
  private readonly version: Database.Statement<[], number>;

  constructor(
    private readonly database: Database.Database,
    readonly path: string,
    readonly readonly: boolean,
    private readonly busyTimeoutMs: number,
  ) {
    this.begin = this.prepare('BEGIN IMMEDIATE');
    this.beginRead = this.prepare('BEGIN');
    this.commit = this.prepare('COMMIT');
    this.rollback = this.prepare('ROLLBACK');
    this.savepoint = this.prepare('SAVEPOINT part');
    this.release = this.prepare('RELEASE part');
    this.rollbackPart = this.prepare('ROLLBACK TO part');
    this.version = database.prepare<[], number>('PRAGMA data_version').pluck();
  }

  prepare<Params extends readonly SqlValue[], Row>(sql: string): Statement<Params, Row> {
    return wrapStatement(guard(() => this.database.prepare(sql)));
  }

  prepareTuples<Params extends readonly SqlValue[], Row>(sql: string): Statement<Params, Row> {
    return wrapStatement(guard(() => this.database.prepare(sql).raw(true)));
  }

  exec(sql: string): void {
    guard(() => this.database.exec(sql));
  }

  defineFunction(name: string, compute: (value: SqlValue) => SqlValue): void {
    guard(() => this.database.function(name, { deterministic: true }, (value) => compute(value as SqlValue)));
  }

  write<T>(work: () => T, timeoutMs?: number): Promise<T> {
    return whenFree((attemptMs) => this.immediate(work, attemptMs), timeoutMs);
  }

  immediate<T>(work: () => T, timeoutMs?: number): T {
    if (timeoutMs === undefined || timeoutMs === this.busyTimeoutMs) this.begin.run();
    else this.beginWithin(timeoutMs);
    return this.finish(work);
  }

  private beginWithin(timeoutMs: number): void {
    this.database.pragma(`busy_timeout = ${timeoutMs}`);
    try {
      this.begin.run();
    } finally {
      this.database.pragma(`busy_timeout = ${this.busyTimeoutMs}`);
    }
  }

  part<T>(work: () => T): T {
    this.savepoint.run();
    try {
      const result = work();
      this.release.run();
      return result;
    } catch (error) {
      // After some failures SQLite has rolled everything back by itself.
      if (this.database.inTransaction) {
        this.rollbackPart.run();
        this.release.run();
      }
      throw error;
    }
  }

  snapshot<T>(read: () => T): T {
    if (this.database.inTransaction) return read();
    this.beginRead.run();
    return this.finish(read);
  }

  private finish<T>(work: () => T): T {
    try {
      const result = work();
      this.commit.run();
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after some failures, such as a full disk.
      if (this.database.inTransaction) this.rollback.run();
      throw error;
    }
  }

  dataVersion(): number {
    return this.version.get() as number;
  }

  checkpoint(): void {
    if (this.path !== IN_MEMORY && !this.readonly) guard(() => this.database.pragma('wal_checkpoint(TRUNCATE)'));
  }

  async backup(path: string): Promise<void> {
    if (existsSync(path)) {
      throw new UserError(`${path} exists already.`, 'Choose a new file name; backups never overwrite.');
    }
    try {
      closeSync(openSync(path, 'wx', 0o600));
      await this.database.backup(path);
    } catch (error) {
      throw new UserError(`The backup to ${path} failed: ${(error as Error).message}`, 'Check the disk and try again.');
    }
  }

  close(): void {
    if (this.database.open) guard(() => this.database.close());
  }
}

function wrapStatement<Params extends readonly SqlValue[], Row>(inner: Database.Statement): Statement<Params, Row> {
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

function guard<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw storeFailure(error);
  }
}

/** The typed form of an SQLite failure; anything else is returned as it is. */
function storeFailure(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const { code, message } = error;
  if (code.startsWith('SQLITE_CONSTRAINT')) return new StoreConflict(message);
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return new StoreBusy();
  if (code === 'SQLITE_FULL') return new StoreFull();
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB') || code.startsWith('SQLITE_IOERR')) {
    return new StoreCorrupt(message);
  }
  if (code.startsWith('SQLITE_READONLY')) {
    return new UserError(
      'The database cannot be written to.',
      'Check the owner and mode of the data directory and of the files in it.',
    );
  }
  return error;
}

function openFailure(error: unknown, path: string): unknown {
  const failure = storeFailure(error);
  if (failure instanceof StoreCorrupt) {
    return new UserError(`${path} is not a usable database: ${failure.message}`, 'Restore it from a backup.');
  }
  if (failure instanceof StoreBusy) {
    return new UserError(`${path} is locked by another process.`, 'Wait for it to finish, or stop it, and try again.');
  }
  if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CANTOPEN')) {
    return new UserError(`${path} cannot be opened.`, 'Check the owner and mode of the data directory and its files.');
  }
  return failure;
}

/** An exclusive lock on a file of its own; the system frees it when the process ends, however it ends. */
export interface FileLock {
  release(): void;
}

/** Locks the file at `path`, which is made if it is missing; undefined when another process holds the lock. */
export function acquireFileLock(path: string): FileLock | undefined {
  closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { timeout: 0 });
  try {
    // No rows are ever written: nothing to roll back, no journal file beside the lock.
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (storeFailure(error) instanceof StoreBusy) return undefined;
    throw storeFailure(error);
  }
  return { release: () => void database.close() };
}

export interface Snapshot {
  readonly store: Store;
  close(): void;
}

/**
 * A second, read-only handle that sees the store as it is now until it is closed, for reading that takes many turns of the
 * event loop. Of a store in memory there is only the one handle, which sees what is written meanwhile.
 */
export function openSnapshot(store: Store): Snapshot {
  if (store.path === IN_MEMORY) return { store, close: () => undefined };
  const reader = openStore(dirname(store.path), { readonly: true });
  reader.exec('BEGIN');
  // The state is fixed by the first read.
  reader.prepare('SELECT 1 FROM meta').get();
  return { store: reader, close: () => reader.close() };
}

/** Octets the database file takes on disk, its write-ahead log included; 0 in memory. */
export function storeSize(store: Store): number {
  if (store.path === IN_MEMORY) return 0;
  return [store.path, `${store.path}-wal`].reduce((sum, path) => sum + (existsSync(path) ? statSync(path).size : 0), 0);
}

/**
 * Statements of one aggregate, prepared once a handle at their first use:
 * `const statements = perStore((store) => ({ byId: store.prepare(…) }));`
 */
export function perStore<Statements>(make: (store: Store) => Statements): (store: Store) => Statements {
  const known = new WeakMap<Store, Statements>();
  return (store) => {
    let statements = known.get(store);
    if (!statements) known.set(store, (statements = make(store)));
    return statements;
  };
}
