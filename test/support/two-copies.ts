/**
 * Every write of a test goes through a log, as in a cluster: captured, appended, replayed. Sometimes another copy is
 * first, and the write runs again. At the end a second copy of the database replays the log, and all tables must be
 * equal.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Clock } from '../../src/base/clock.js';
import type { Random } from '../../src/base/random.js';
import { DATABASE_FILE, openStore, type Store } from '../../src/store/driver.js';
import { catchUp, createLogWriter } from '../../src/store/log-writer.js';
import { migrate } from '../../src/store/migrate.js';
import type { Entry } from '../../src/store/recording.js';
import { MemoryLog, NOTHING_WRITTEN } from './memory-log.js';
import { seededRandom } from './seeded-random.js';

export interface TwoCopies {
  /** In a temporary directory. */
  readonly store: Store;
  readonly directory: string;
  readonly log: MemoryLog;
  /** Closes the store, throws when the second copy differs, and removes both. */
  close(): Promise<void>;
}

/** A new database, brought up to date. */
export function openTwoCopies(name: string, clock: Clock, random: Random): TwoCopies {
  const [directory, second] = [temporaryDirectory(name), temporaryDirectory(`${name}-copy`)];
  const first = openStore(directory);
  migrate(first, clock, random);
  first.close();
  copyFileSync(join(directory, DATABASE_FILE), join(second, DATABASE_FILE));
  const log = new BusyLog();
  // Of its own, so that what a test gets does not depend on the log.
  const ids = seededRandom(1);
  const store = openStore(directory, { writer: (own) => createLogWriter(own, log, ids) });
  return {
    store,
    directory,
    log,
    async close() {
      store.close();
      try {
        const copy = openStore(second);
        await catchUp(copy, log);
        copy.close();
        requireEqual(join(directory, DATABASE_FILE), join(second, DATABASE_FILE));
      } finally {
        for (const path of [directory, second]) rmSync(path, { recursive: true, force: true });
      }
    },
  };
}

/** Every third entry finds its place taken, by one that wrote nothing. */
class BusyLog extends MemoryLog {
  private asked = 0;

  override async append(entry: Entry): Promise<boolean> {
    if (++this.asked % 3 === 0) {
      const { number, after, schema } = entry;
      await super.append({ number, id: `other ${number}`, after, schema, body: NOTHING_WRITTEN });
    }
    return super.append(entry);
  }
}

/** A database that is the only copy and writes without a log, for tests with other processes that write the same file. */
export function openOneCopy(name: string, clock: Clock, random: Random): Omit<TwoCopies, 'log'> {
  const directory = temporaryDirectory(name);
  const store = openStore(directory);
  migrate(store, clock, random);
  return {
    store,
    directory,
    async close() {
      store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function temporaryDirectory(name: string): string {
  return mkdtempSync(join(tmpdir(), `zoneplane-${name}-`));
}

/** Throws with the first rows that differ. */
function requireEqual(path: string, otherPath: string): void {
  const database = new Database(path);
  try {
    database.prepare('ATTACH ? AS other').run(otherPath);
    const tables = database
      .prepare<[], { name: string; sql: string }>(
        "SELECT name, coalesce(sql, '') AS sql FROM sqlite_schema WHERE type = 'table'",
      )
      .all();
    const filled = database.prepare<[], { name: string }>(tables.map(({ name }) => isFilled(name)).join(' UNION ALL '));
    const names = new Set(filled.all().map(({ name }) => name));
    for (const { name, sql } of tables) {
      if (name.startsWith('sqlite_stat') || !names.has(name)) continue;
      const columns = /WITHOUT ROWID/i.test(sql) ? '*' : 'rowid, *';
      for (const [here, there] of [
        ['main', 'other'],
        ['other', 'main'],
      ]) {
        const rows = `SELECT ${columns} FROM ${here}."${name}" EXCEPT SELECT ${columns} FROM ${there}."${name}" LIMIT 3`;
        const only = database.prepare(rows).all();
        if (only.length > 0) {
          const place = here === 'main' ? 'the copy that was written' : 'the copy that replayed';
          throw new Error(`Only ${place} has, in ${name}: ${only.map((row) => JSON.stringify(row)).join(', ')}`);
        }
      }
    }
  } finally {
    database.close();
  }
}

/** Gives the name of a table that has rows in either database: most have none, and need not be compared. */
function isFilled(name: string): string {
  const has = (database: string): string => `EXISTS (SELECT 1 FROM ${database}."${name}")`;
  return `SELECT '${name}' AS name WHERE ${has('main')} OR ${has('other')}`;
}
