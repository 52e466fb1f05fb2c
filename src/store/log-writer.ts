/**
 * Writes through a log that all copies of the database follow. A write is captured here, appended to the log unless
 * another copy was first, and then applied here as on every other copy.
 */
import type { Random } from '../base/random.js';
import { perStore, type Store } from './driver.js';
import { EntryRefused, notWritten } from './failures.js';
import { migrateByEntry, schemaVersion } from './migrate.js';
import { whenFree } from './patience.js';
import { type Entry, migrationOf } from './recording.js';
import type { Position } from './replay.js';

/** How long a write may wait for the log. */
export interface Patience {
  /** When the write was asked for, on the clock of the log. */
  readonly sinceMs: number;
  readonly mostMs: number;
}

/** One sequence of entries for all copies. */
export interface EntryLog {
  /**
   * The patience of a write that was asked for `waitedMs` ago; `mostMs`: if it is to be another one than usual. Absent: the
   * log always answers.
   */
  patience?(mostMs?: number, waitedMs?: number): Patience;
  /**
   * Resolves when the entry is durable; false when another entry already has its number. Throws {@link LogUnavailable}
   * when it was not stored in time, {@link OutcomeUnknown} when that is not known.
   */
  append(entry: Entry, patience?: Patience): Promise<boolean>;
  /**
   * Entries after the position of a copy, in order; no more than `limit`. Throws {@link EntryRefused} when the log has
   * another entry at this position, or none, or no longer the ones after it. `patience`: that of the write that needs them;
   * without it, a log that is away is not waited for.
   */
  read(behind: Position, limit: number, patience?: Patience): Promise<Stretch>;
  /**
   * Keeps other copies from appending for a moment. Undefined where that is not needed; `wasBeaten`: another copy was first.
   * Absent: all are equally fast.
   */
  takeTurn?(wasBeaten: boolean): Promise<Turn | undefined>;
  /** The copy has applied these entries. */
  noteApplied?(entries: readonly Entry[]): void;
}

export interface Turn {
  /** Whether others may have appended until now. */
  readonly isFresh: boolean;
  /** What this copy has to append for now is appended. */
  end(): void;
}

/** Entries that follow each other. */
export interface Stretch {
  readonly entries: readonly Entry[];
  /** Whether the log ended with them when they were read. */
  readonly isEnd: boolean;
}

const READ_AT_ONCE = 100;

/** Numbers of entries that this process has appended; of very many, the newest. */
const ownEntries = perStore(() => new Set<number>());
const MOST_OWN = 10_000;

function noteOwn(store: Store, number: number): void {
  const own = ownEntries(store);
  own.add(number);
  const [oldest] = own;
  if (own.size > MOST_OWN) own.delete(oldest!);
}

/** Whether this process has appended the entry. */
export function isOwnEntry(store: Store, number: number): boolean {
  return ownEntries(store).has(number);
}

/** Whether this process has appended all entries that this copy has after the one with this number. */
export function onlyOwnEntriesSince(store: Store, number: number): boolean {
  for (let last = store.position().number; last > number; last--) if (!isOwnEntry(store, last)) return false;
  return true;
}

/**
 * {@link Store.write} for a copy that follows a log. It runs one write at a time. Used by `openStore(…, { writer })`.
 */
export function createLogWriter(store: Store, log: EntryLog, random: Random): Store['write'] {
  let previous: Promise<unknown> = Promise.resolve();
  return (work, timeoutMs, waitedMs) => {
    const patience = log.patience?.(timeoutMs, waitedMs);
    const written = previous.then(() => writeOnce({ store, log, random, timeoutMs, patience }, work));
    // Its caller receives the failure; the next write is not affected.
    previous = written.catch(() => undefined);
    return written;
  };
}

/**
 * Applies all log entries that were appended before this call and that this copy lacks. Throws {@link EntryRefused} when
 * one cannot be applied.
 */
export async function catchUp(
  store: Store,
  log: EntryLog,
  patience?: Patience,
  onEntry: (entry: Entry) => void = () => {},
): Promise<void> {
  for (;;) {
    const { entries, isEnd } = await log.read(store.position(), READ_AT_ONCE, patience);
    for (const together of inTransactions(entries)) {
      await applyTogether(store, together);
      log.noteApplied?.(together);
      together.forEach(onEntry);
    }
    if (isEnd) return;
  }
}

/** Octets of bodies that are applied in one transaction, which nothing else in this process interrupts. */
const MOST_TOGETHER = 128 << 10;

/** Entries that are applied in one transaction; a migration has its own. */
function* inTransactions(entries: readonly Entry[]): Generator<readonly Entry[]> {
  let together: Entry[] = [];
  let octets = 0;
  for (const entry of entries) {
    const isApart = migrationOf(entry.body) !== undefined;
    if (together.length > 0 && (isApart || octets + entry.body.length > MOST_TOGETHER)) {
      yield together;
      together = [];
      octets = 0;
    }
    together.push(entry);
    // Nothing joins a migration.
    octets += isApart ? MOST_TOGETHER : entry.body.length;
  }
  if (together.length > 0) yield together;
}

async function applyTogether(store: Store, entries: readonly Entry[]): Promise<void> {
  if (entries.length > 1) {
    try {
      return await whenFree((attemptMs) => store.replayAll(entries, attemptMs));
    } catch (error) {
      // Those before the one that is refused are applied one by one.
      if (!(error instanceof EntryRefused)) throw error;
    }
  }
  for (const entry of entries) await applyWhenFree(store, entry);
}

interface WriteParts {
  readonly store: Store;
  readonly log: EntryLog;
  readonly random: Random;
  readonly timeoutMs: number | undefined;
  readonly patience: Patience | undefined;
}

async function writeOnce<T>({ store, log, random, timeoutMs, patience }: WriteParts, work: () => T): Promise<T> {
  let turn: Turn | undefined;
  try {
    turn = await log.takeTurn?.(false);
    if (turn?.isFresh) await catchUp(store, log, patience);
    for (;;) {
      const { value, written } = await whenFree(
        (attemptMs) =>
          store.capture(
            () => ({ result: work(), position: store.position(), schema: schemaVersion(store) }),
            attemptMs,
          ),
        timeoutMs,
      );
      if (written === undefined) return value.result;
      const { number, id: after } = value.position;
      const entry = { number: number + 1, id: random.uuid(), after, schema: value.schema, body: written };
      if (await log.append(entry, patience)) {
        noteOwn(store, entry.number);
        await applyOwn(store, entry, log);
        return value.result;
      }
      turn ??= await log.takeTurn?.(true);
      let isStored = false;
      await catchUp(store, log, patience, ({ id }) => {
        isStored ||= id === entry.id;
      });
      // The answer that said otherwise was damaged on the way.
      if (isStored) return value.result;
      if (store.position().number <= number) throw lostEntries(number);
    }
  } catch (error) {
    if (error instanceof EntryRefused) throw notWritten(error);
    throw error;
  } finally {
    turn?.end();
  }
}

/**
 * The entry is durable, whatever happens here: a full disk or a fault of this copy keeps it from being applied, but not
 * from being answered. The next look at the log tries again.
 */
async function applyOwn(store: Store, entry: Entry, log: EntryLog): Promise<void> {
  await applyWhenFree(store, entry).then(
    () => log.noteApplied?.([entry]),
    () => undefined,
  );
}

/** No other copy was first, but the log does not accept the next entry: it has lost entries that this copy has. */
function lostEntries(number: number): EntryRefused {
  return new EntryRefused(
    'history',
    `This copy is at entry ${number}, but the log has no next entry and accepts none.`,
    number + 1,
  );
}

/** Applies an entry, which may be a migration of the schema. */
function applyWhenFree(store: Store, entry: Entry): Promise<boolean> {
  const version = migrationOf(entry.body);
  return whenFree((attemptMs) =>
    version === undefined ? store.replay(entry, attemptMs) : migrateByEntry(store, entry, version),
  );
}
