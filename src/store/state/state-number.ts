/** Numbers for the states of a database: a new one after every commit, whoever made it. */
import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import type Database from 'better-sqlite3';

export class StateNumber {
  private state = 0;
  private isFresh = false;
  private hasChanged: (() => boolean) | undefined;
  private readonly grow = (): void => {
    this.isFresh = false;
  };

  /** `watch`: called once; returns a function that tells whether anybody has committed since it was called before. */
  constructor(private readonly watch: () => () => boolean) {}

  /** Looks once for everything that is done in one turn. A commit of others in that moment counts as a later one. */
  now(): number {
    if (this.isFresh) return this.state;
    this.hasChanged ??= this.watch();
    if (this.hasChanged()) this.state++;
    this.isFresh = true;
    queueMicrotask(this.grow);
    return this.state;
  }

  /** The same with a look of its own: what was committed before this call counts. */
  look(): number {
    this.isFresh = false;
    return this.now();
  }

  /** This handle has committed. */
  committed(): void {
    this.state++;
    this.isFresh = false;
  }
}

/**
 * The header of the index of the write-ahead log, behind which there is a copy of it (SQLite, walformat.html §2.1): it has the length
 * of the log and its checksum, and is written once a commit is in the log. SQLite maps the file that holds it.
 */
const HEADER_OCTETS = 48;
const WORDS = HEADER_OCTETS / 4;

/**
 * Returns a function that tells whether anybody has committed since it was called before. Reading the header takes one system call;
 * asking SQLite, three, because it takes a lock. `version`: `PRAGMA data_version`, which is asked where there is no such log.
 */
export function watchCommits(database: Database.Database, path: string, version: () => number): () => boolean {
  const file = database.pragma('journal_mode', { simple: true }) === 'wal' ? openIndex(path) : undefined;
  if (file === undefined) return hasOther(version);
  const octets = new Uint8Array(HEADER_OCTETS);
  const now = new Int32Array(octets.buffer);
  const before = new Int32Array(WORDS);
  return () => {
    readSync(file, octets, 0, HEADER_OCTETS, 0);
    let changed = false;
    for (let i = 0; i < WORDS; i++) {
      changed ||= now[i] !== before[i];
      before[i] = now[i]!;
    }
    return changed;
  };
}

/**
 * The file stays open for as long as the process: closing it would end the locks that SQLite has on it, of all handles and threads
 * (fcntl of POSIX). Node closes what a worker has opened when the worker ends, so that workers do not open it.
 */
function openIndex(path: string): number | undefined {
  if (!isMainThread) return undefined;
  try {
    return openSync(`${path}-shm`, 'r');
  } catch {
    return undefined;
  }
}

function hasOther(version: () => number): () => boolean {
  let before = Number.NaN;
  return () => {
    const now = version();
    const changed = now !== before;
    before = now;
    return changed;
  };
}
