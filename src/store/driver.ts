/**
 * SQLite behind a small interface: opening, pragmas, prepared statements, transactions, typed failures. Everything
 * except `write` is synchronous; a handle belongs to one thread.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Clock, SystemClock } from '../base/clock.js';
import { invariant } from '../base/errors.js';
import { finished, inSlices, nextSlice } from '../base/slices.js';
import { OwnCheckpoints } from './checkpoint/own-checkpoints.js';
import { preparePath, setPragmas } from './database-file.js';
import { StoreBusy, StoreFull } from './failures.js';
import type { CapturedWrite, OpenOptions, Store } from './handle/handle.js';
import { WriteLogger } from './log/write-logger.js';
import { type WriteRoom, whenFree, withRoom } from './patience.js';
import { type Entry, startRecording } from './recording.js';
import { type Position, Replayer } from './replay.js';
import type { SqlValue } from './sql-value.js';
import { guard, openFailure } from './sqlite-failure.js';
import { StateNumber, watchCommits } from './state/state-number.js';
import { newActivity, perHandle, plannedOnce, readingStatement, type Statement, wrapStatement } from './statement.js';

export { StoreBusy, StoreCorrupt, StoreFull } from './failures.js';
export type { OpenOptions, Store } from './handle/handle.js';
export type { SqlValue } from './sql-value.js';

/** The database file inside the data directory. */
export const DATABASE_FILE = 'zoneplane.db';

/** Data directory name that selects a database in memory, which is lost when it is closed. */
export const IN_MEMORY = ':memory:';

const BUSY_TIMEOUT_MS = 5000;
/** Of the handle of writes in steps: its pages are not current any more when it writes again. */
const STEPPING_CACHE_KIB = 16 * 1024;

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
  readonly syncLater: Store['syncLater'];
  private readonly onCommit: OpenOptions['onCommit'];
  private readonly ownCheckpoints: OwnCheckpoints;
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
  /** The handle of writes in steps, from the first one on. */
  private stepping: SqliteStore | undefined;
  /** The end of the write in steps that is under way. */
  private inSteps: Promise<unknown> | undefined;

  constructor(
    private readonly database: Database.Database,
    readonly path: string,
    readonly readonly: boolean,
    private readonly busyTimeoutMs: number,
    private readonly options: OpenOptions,
  ) {
    const { writer, onCommit, room, clock = new SystemClock() } = options;
    this.logger = new WriteLogger((sql) => this.prepare(sql), this.activity, clock);
    this.onCommit = onCommit;
    this.ownCheckpoints = new OwnCheckpoints(database);
    this.syncLater = (work) => this.ownCheckpoints.syncLater(work);
    this.room = room?.(database, path, this.ownCheckpoints);
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

  private async writeHere<T>(work: () => T, timeoutMs?: number): Promise<T> {
    while (this.inSteps) await this.untilEnded();
    return whenFree((ms) => withRoom(() => this.immediate(() => this.logger.run(work), ms), this.room), timeoutMs);
  }

  async writeInSteps<T>(clock: Clock, work: (store: Store) => Generator<undefined, T>): Promise<T> {
    const atOnce = (): Promise<T> => this.write(() => finished(work(this)));
    if (this.path === IN_MEMORY || this.options.writer) return atOnce();
    while (this.inSteps) await this.untilEnded();
    // A handle of its own could write where this one cannot any more, or never could.
    if (this.readonly || !this.database.open) return atOnce();
    this.stepping ??= this.openAnother();
    this.options.aside?.prepare();
    const run = this.stepping.runInSteps(clock, work).finally(() => {
      this.copyAside();
      this.inSteps = undefined;
    });
    this.inSteps = run.catch(() => {});
    try {
      return await run;
    } catch (error) {
      // Room is made for writes of this handle only.
      if (error instanceof StoreFull && this.room) return atOnce();
      throw error;
    }
  }

  /** Lets a thread copy what was written in steps, which takes as long as a third of it; those who wait to write come meanwhile. */
  private copyAside(): void {
    const { aside } = this.options;
    const own = this.ownCheckpoints;
    if (!aside || own.isPaused('disk') || own.isPaused('thread')) return;
    own.pause('thread', true);
    void aside.copy(this.path).then(() => {
      if (this.database.open) own.pause('thread', false);
    });
  }

  /** Those who have waited for its end go on one after the other. */
  private async untilEnded(): Promise<void> {
    await this.inSteps;
    await nextSlice();
  }

  /** Its commits are commits of this handle. A thread copies what they have written into the database, or the next commit of this handle. */
  private openAnother(): SqliteStore {
    const { clock, isCopy } = this.options;
    const onCommit = (isFollowed: boolean): void => this.committed(isFollowed);
    const own = { busyTimeoutMs: this.busyTimeoutMs, cacheKib: STEPPING_CACHE_KIB, onCommit };
    const options = { ...own, ...(clock && { clock }), ...(isCopy && { isCopy }) };
    const handle = openStoreFile(this.path, options) as SqliteStore;
    handle.database.pragma('wal_autocheckpoint = 0');
    return handle;
  }

  private async runInSteps<T>(clock: Clock, work: (store: Store) => Generator<undefined, T>): Promise<T> {
    await whenFree((ms) => this.beginWithin(ms));
    try {
      const endLog = this.logger.begin();
      const result = await inSlices(clock, work(this), 1);
      endLog();
      await nextSlice();
      this.commit.run();
      this.committed(this.activity.isFollowed, this.activity.hasChanged);
      return result;
    } finally {
      if (this.database.inTransaction) this.rollback.run();
      this.endWriting();
      this.isInside = false;
    }
  }

  async dryRun<T>(work: () => T): Promise<T> {
    while (this.inSteps) await this.untilEnded();
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
        Object.assign(this.activity, { isFollowed: true, hasChanged: true });
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
    const result = this.finish(work);
    this.committed(this.activity.isFollowed, this.activity.hasChanged);
    return result;
  }

  private committed(isFollowed: boolean, hasChanged = true): void {
    // The log does not count a commit of nothing, so the next one that it counts would be another's.
    if (hasChanged) this.states.committed(isFollowed);
    this.room?.committed();
    this.onCommit?.(isFollowed);
  }

  private runAndUndo<T>(work: () => T, timeoutMs: number | undefined): T {
    this.beginWithin(timeoutMs);
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
    // This thread holds the lock: waiting here would keep it from giving it back.
    if (this.inSteps) throw new StoreBusy('The database is busy: this handle is writing to it in steps.');
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
    this.activity.writing = true;
    this.activity.isFollowed = false;
    this.activity.hasChanged = false;
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
    return this.seesAll() ? this.states.now() : undefined;
  }

  followedState(): number | undefined {
    return this.seesAll() ? this.states.followedNow() : undefined;
  }

  private seesAll(): boolean {
    // Asking the driver takes longer than the rest. A handle that only reads may be a snapshot, which is always inside of one.
    if ((this.isInside || this.readonly) && this.database.inTransaction) return false;
    return this.activity.iterations === 0;
  }

  committedState(): number {
    return this.states.lookForFollowed();
  }

  checkpoint(): void {
    // It would wait for the lock of a handle of its own thread.
    if (this.inSteps) return;
    if (this.path !== IN_MEMORY && !this.readonly) guard(() => this.database.pragma('wal_checkpoint(TRUNCATE)'));
  }

  async backup(path: string): Promise<void> {
    const { copyInto } = await import('./backup-copy.js');
    return copyInto(this.database, path);
  }

  close(): void {
    this.stepping?.close();
    if (this.database.open) guard(() => this.database.close());
  }
}

/**
 * Statements of one aggregate, prepared for each handle on first use: `const statements = perStore((store) => ({ byId:
 * store.prepare(…) }));`
 */
export const perStore = <Statements>(make: (store: Store) => Statements): ((store: Store) => Statements) =>
  perHandle(make);
