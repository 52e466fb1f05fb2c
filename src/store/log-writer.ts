/**
 * Writes through a log that all copies of the database follow. A write is rehearsed here, appended to the log unless
 * another copy was first, and then applied here as on every other copy.
 */
import type { Random } from '../base/random.js';
import type { Store } from './driver.js';
import { EntryRefused } from './failures.js';
import { schemaVersion } from './migrate.js';
import { whenFree } from './patience.js';
import type { Entry } from './recording.js';

/** One sequence of entries for all copies. */
export interface EntryLog {
  /** Resolves when the entry is durable; false when another entry already has its number. */
  append(entry: Entry): Promise<boolean>;
  /** Entries after the given number, in order; no more than `limit`. */
  read(behind: number, limit: number): Promise<readonly Entry[]>;
}

const READ_AT_ONCE = 100;

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

/** Applies all log entries that this copy lacks. */
export async function catchUp(store: Store, log: EntryLog): Promise<void> {
  for (;;) {
    const entries = await log.read(store.position().number, READ_AT_ONCE);
    if (entries.length === 0) return;
    for (const entry of entries) await replayWhenFree(store, entry);
  }
}

async function writeOnce<T>(
  store: Store,
  log: EntryLog,
  random: Random,
  work: () => T,
  timeoutMs: number | undefined,
): Promise<T> {
  for (;;) {
    const { value, written } = await whenFree(
      (attemptMs) => store.rehearse(() => ({ result: work(), position: store.position() }), attemptMs),
      timeoutMs,
    );
    if (written === undefined) return value.result;
    const { number, id: after } = value.position;
    const entry = { number: number + 1, id: random.uuid(), after, schema: schemaVersion(store), body: written };
    if (await log.append(entry)) {
      await replayWhenFree(store, entry);
      return value.result;
    }
    await catchUp(store, log);
    if (store.position().number <= number) throw lostEntries(number);
  }
}

/** No other copy was first, but the log does not accept the next entry: it has lost entries that this copy has. */
function lostEntries(number: number): EntryRefused {
  return new EntryRefused(
    'history',
    `This copy is at entry ${number}, but the log has no next entry and accepts none.`,
  );
}

function replayWhenFree(store: Store, entry: Entry): Promise<boolean> {
  return whenFree((attemptMs) => store.replay(entry, attemptMs));
}
