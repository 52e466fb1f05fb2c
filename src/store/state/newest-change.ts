/**
 * Notices when the database is older than what was acknowledged here. The newest changes are only in the write-ahead log until
 * SQLite copies them into the database file; when that log is removed or cut while nobody has it open, SQLite takes what is
 * left for the whole. So the number of the newest change also stands in a file beside the database. It is written after each
 * commit and never ahead of it; a number above that of the database proves a loss. After a power failure the number itself may
 * be older: then it proves nothing.
 */
import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { IN_MEMORY, type Store } from '../driver.js';
import { lastChange } from '../log/changes.js';
import { findMeta, putMeta } from '../meta.js';

const FILE = 'zoneplane.db-newest';
/** Digits of the number, so that each write replaces the one before in whole. */
const DIGITS = 16;

/** Changes that were acknowledged and are not in the database. */
export interface LostChanges {
  /** The newest change that the database has; 0: none. */
  readonly found: number;
  /** The newest one that was acknowledged. */
  readonly known: number;
}

export interface NotedLoss extends LostChanges {
  /** When the loss was noticed; milliseconds since 1970. */
  readonly atMs: number;
}

/** What is missing now. For a database that is not open elsewhere; beside a server, a change may come between the two looks. */
export function findLostChanges(store: Store): LostChanges | undefined {
  const known = readNumber(store);
  const found = known === undefined || !hasTables(store) ? 0 : lastChange(store);
  return known !== undefined && known > found ? { found, known } : undefined;
}

/** Without its log, a database that was never closed may have no tables at all. */
function hasTables(store: Store): boolean {
  const [tables] = store
    .prepareTuples<[], [number]>("SELECT count(*) FROM sqlite_schema WHERE name = 'changes'")
    .get()!;
  return tables > 0;
}

/** The last loss that a start noticed. */
export function findNotedLoss(store: Store): NotedLoss | undefined {
  if (!hasTables(store)) return undefined;
  const text = findMeta(store, 'lost_changes');
  return typeof text === 'string' ? (JSON.parse(text) as NotedLoss) : undefined;
}

/**
 * Call once the tables are there. Keeps a loss in the database, where `doctor` finds it, and returns it with the function to
 * call after each commit. `onFailure`: the number could not be written. The commit stands, and the next one tries again.
 */
export async function followNewestChange(
  store: Store,
  nowMs: number,
  onFailure: (error: unknown) => void,
): Promise<{ readonly loss: LostChanges | undefined; readonly note: () => void }> {
  const loss = findLostChanges(store);
  if (loss) await store.write(() => putMeta(store, 'lost_changes', JSON.stringify({ ...loss, atMs: nowMs })));
  let noted = -1;
  const note = (): void => {
    const newest = lastChange(store);
    if (newest === noted || store.path === IN_MEMORY) return;
    try {
      writeNumber(store, newest);
      noted = newest;
    } catch (error) {
      onFailure(error);
    }
  };
  note();
  return { loss, note };
}

/** For a directory that gets another database. */
export function forgetNewestChange(directory: string): void {
  rmSync(join(directory, FILE), { force: true });
}

function fileOf({ path }: Store): string {
  return join(dirname(path), FILE);
}

function readNumber(store: Store): number | undefined {
  if (store.path === IN_MEMORY) return undefined;
  try {
    const text = readFileSync(fileOf(store), 'latin1');
    return /^\d{16}\n$/.test(text) ? Number(text) : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Never cut to nothing first, so that a process which is killed leaves the old number or the new one. */
function writeNumber(store: Store, number: number): void {
  const file = openSync(fileOf(store), constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeSync(file, `${String(number).padStart(DIGITS, '0')}\n`, 0);
  } finally {
    closeSync(file);
  }
}
