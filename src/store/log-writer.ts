/**
 * Writing through a log that several copies of the database follow: a write is rehearsed here, appended to the log if nobody
 * else was first, and then run here as on every other copy.
 */
import type { Random } from '../base/random.js';
import type { Store } from './driver.js';
import { EntryRefused } from './failures.js';
import { schemaVersion } from './migrate.js';
import { whenFree } from './patience.js';
import type { Entry } from './recording.js';

/** Entries in one order for all copies. */
export interface EntryLog {
  /** Resolves when the entry is durable; false when another has its number already. */
  append(entry: Entry): Promise<boolean>;
  /** Entries after a number, in order, at most `limit`. */
  read(behind: number, limit: number): Promise<readonly Entry[]>;
}

const READ_AT_ONCE = 100;

/** {@link Store.write} of a copy that follows a log; one write at a time. Used by `openStore(…, { writer })`. */
export function createLogWriter(store: Store, log: EntryLog, random: Random): Store['write'] {
  let previous: Promise<unknown> = Promise.resolve();
  return (work, timeoutMs) => {
    const written = previous.then(() => writeOnce(store, log, random, work, timeoutMs));
    // Whoever asked for it hears of a failure; the next write does not.
    previous = written.catch(() => undefined);
    return written;
  };
}

/** Brings a copy up to the end of the log. */
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

/** Nobody was first, and yet the log does not take what follows: it has lost what this copy holds. */
function lostEntries(number: number): EntryRefused {
  return new EntryRefused(
    'history',
    `This copy is at entry ${number}, to which the log has no successor and takes none.`,
  );
}

function replayWhenFree(store: Store, entry: Entry): Promise<boolean> {
  return whenFree((attemptMs) => store.replay(entry, attemptMs));
}
