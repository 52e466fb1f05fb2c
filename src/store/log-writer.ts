/**
 * Writes through a log that all copies of the database follow. A write is rehearsed here, appended to the log unless
 * another copy was first, and then applied here as on every other copy.
 */
import type { Random } from '../base/random.js';
import { perStore, type Store } from './driver.js';
import { EntryRefused, notWritten } from './failures.js';
import { migrateByEntry, schemaVersion } from './migrate.js';
import { whenFree } from './patience.js';
import { type Entry, migrationOf } from './recording.js';
import type { Position } from './replay.js';

/** One sequence of entries for all copies. */
export interface EntryLog {
  /**
   * Resolves when the entry is durable; false when another entry already has its number. Throws {@link LogUnavailable}
   * when that cannot be known in time; `patienceMs`: how long it tries again, if that is to be less than usual.
   */
  append(entry: Entry, patienceMs?: number): Promise<boolean>;
  /**
   * Entries after the position of a copy, in order; no more than `limit`. Throws {@link EntryRefused} when the log has
   * another entry at this position, or none, or no longer the ones after it.
   */
  read(behind: Position, limit: number): Promise<Stretch>;
  /** Keeps other copies from appending until the returned function is called. Absent: all are equally fast. */
  takeTurn?(): Promise<() => void>;
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
  return (work, timeoutMs) => {
    const written = previous.then(() => writeOnce(store, log, random, work, timeoutMs));
    // Its caller receives the failure; the next write is not affected.
    previous = written.catch(() => undefined);
    return written;
  };
}

/**
 * Applies all log entries that were appended before this call and that this copy lacks. Throws {@link EntryRefused} when
 * one cannot be applied.
 */
export async function catchUp(store: Store, log: EntryLog): Promise<void> {
  for (;;) {
    const { entries, isEnd } = await log.read(store.position(), READ_AT_ONCE);
    for (const entry of entries) await applyWhenFree(store, entry);
    if (isEnd) return;
  }
}

async function writeOnce<T>(
  store: Store,
  log: EntryLog,
  random: Random,
  work: () => T,
  timeoutMs: number | undefined,
): Promise<T> {
  let endTurn = (): void => {};
  try {
    for (let isBeaten = false; ; isBeaten = true) {
      const { value, written } = await whenFree(
        (attemptMs) => store.rehearse(() => ({ result: work(), position: store.position() }), attemptMs),
        timeoutMs,
      );
      if (written === undefined) return value.result;
      const { number, id: after } = value.position;
      const entry = { number: number + 1, id: random.uuid(), after, schema: schemaVersion(store), body: written };
      if (await log.append(entry, timeoutMs)) {
        noteOwn(store, entry.number);
        await applyOwn(store, entry);
        return value.result;
      }
      if (!isBeaten && log.takeTurn) endTurn = await log.takeTurn();
      await catchUp(store, log);
      if (store.position().number <= number) throw lostEntries(number);
    }
  } catch (error) {
    if (error instanceof EntryRefused) throw notWritten(error);
    throw error;
  } finally {
    endTurn();
  }
}

/**
 * The entry is durable, whatever happens here: a full disk or a fault of this copy keeps it from being applied, but not
 * from being answered. The next look at the log tries again.
 */
async function applyOwn(store: Store, entry: Entry): Promise<void> {
  await applyWhenFree(store, entry).catch(() => undefined);
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
