/** Numbers for the states of a database: a new one after every commit, whoever made it. */
import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import type Database from 'better-sqlite3';

/** What is known of commits. */
export interface CommitWatch {
  /** Whether anybody has committed since one of both was asked before. */
  hasChanged(): boolean;
  /** The same directly after a commit of this program, which does not count. */
  hasOthers(): boolean;
}

export class StateNumber {
  private state = 0;
  private followed = 0;
  private isFresh = false;
  private commits: CommitWatch | undefined;
  private readonly grow = (): void => {
    this.isFresh = false;
  };

  /** `watch`: called once. */
  constructor(private readonly watch: () => CommitWatch) {}

  /** Looks once for everything that is done in one turn. A commit of others in that moment counts as a later one. */
  now(): number {
    if (this.isFresh) return this.state;
    this.commits ??= this.watch();
    if (this.commits.hasChanged()) this.count(true);
    this.isFresh = true;
    queueMicrotask(this.grow);
    return this.state;
  }

  /** The same without what this program has written that nobody follows: objects of buckets alone. */
  followedNow(): number {
    this.now();
    return this.followed;
  }

  /** The same with a look of its own: what was committed before this call counts. */
  lookForFollowed(): number {
    this.isFresh = false;
    return this.followedNow();
  }

  /** This program has committed, by this handle or another one. `isFollowed`: something but objects. */
  committed(isFollowed: boolean): void {
    this.isFresh = false;
    this.count(isFollowed || this.commits === undefined || this.commits.hasOthers());
  }

  private count(isFollowed: boolean): void {
    this.state++;
    if (isFollowed) this.followed++;
  }
}

/**
 * The header of the index of the write-ahead log, behind which there is a copy of it (SQLite, walformat.html §2.1): it has the length
 * of the log and its checksum, and is written once a commit is in the log. SQLite maps the file that holds it.
 */
const HEADER_OCTETS = 48;
const WORDS = HEADER_OCTETS / 4;
/** The word that each commit counts up. */
const COMMITS = 2;

/**
 * Reading the header takes one system call; asking SQLite, three, because it takes a lock. `version`: `PRAGMA data_version`, which is
 * asked where there is no such log.
 */
export function watchCommits(database: Database.Database, path: string, version: () => number): CommitWatch {
  const file = database.pragma('journal_mode', { simple: true }) === 'wal' ? openIndex(path) : undefined;
  if (file === undefined) return watchVersion(version);
  const octets = new Uint8Array(HEADER_OCTETS);
  const now = new Int32Array(octets.buffer);
  const before = new Int32Array(WORDS);
  const hasChanged = (): boolean => {
    readSync(file, octets, 0, HEADER_OCTETS, 0);
    let changed = false;
    for (let i = 0; i < WORDS; i++) {
      changed ||= now[i] !== before[i];
      before[i] = now[i]!;
    }
    return changed;
  };
  const hasOthers = (): boolean => {
    const next = (before[COMMITS]! + 1) | 0;
    return hasChanged() && now[COMMITS] !== next;
  };
  return { hasChanged, hasOthers };
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

/** This number does not change when its own handle commits. */
function watchVersion(version: () => number): CommitWatch {
  let before = Number.NaN;
  const hasChanged = (): boolean => {
    const now = version();
    const changed = now !== before;
    before = now;
    return changed;
  };
  return { hasChanged, hasOthers: hasChanged };
}
