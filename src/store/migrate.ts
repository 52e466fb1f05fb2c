/** Schema versions: that of version 1.0, and numbered migrations, each recorded in the transaction in which it runs. */
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { Store } from './driver.js';
import { EntryRefused } from './failures.js';
import { allMigrations, FIRST_VERSION, type Migration, SCHEMA_VERSION } from './migrations/migration.js';
import { newestSchema } from './migrations/newest.js';
import type { Entry } from './recording.js';

/** The oldest schema with which this program works: later migrations can wait. */
export function oldestUsable(): number {
  return allMigrations().findLast(({ canWait }) => canWait !== true)!.version;
}

/** The version of an open database; 0 for an empty one. */
export function schemaVersion(store: Store): number {
  return store.prepareTuples<[], [number]>('PRAGMA user_version').get()![0];
}

/**
 * Migrates the schema and returns the version it had before. When two processes do this at once, the second finds the
 * work done. Throws a UserError when the database is newer than this program or was written by a preview. `further`: migrations
 * that tests add to those of this program.
 */
export function migrate(store: Store, clock: Clock, random: Random, further: readonly Migration[] = []): number {
  requireKnownSchema(store);
  return store.alter((run) => {
    const before = schemaVersion(store);
    const newest = before === 0 ? newestSchema(allMigrations()) : undefined;
    if (newest !== undefined) run(`${newest}PRAGMA user_version = ${SCHEMA_VERSION};`);
    const reached = newest === undefined ? before : SCHEMA_VERSION;
    const missing = reached < SCHEMA_VERSION ? allMigrations() : [];
    runMigrations(store.path, reached, [...missing, ...further], run);
    if (before === 0) plantInstallation(store, clock, random);
    return before;
  });
}

/** Applies all migrations one by one to an empty database, without the data that is unique to an installation. */
export function takeSteps(store: Store): void {
  store.alter((run) => runMigrations(store.path, 0, allMigrations(), run));
}

/**
 * Applies a log entry that migrates all copies to `version`; false when this copy already has it. Throws {@link
 * EntryRefused} when it does not follow, or when this program does not know the version.
 */
export function migrateByEntry(store: Store, entry: Entry, version: number): boolean {
  if (version > SCHEMA_VERSION) {
    throw new EntryRefused(
      'schema',
      `Entry ${entry.number} of the log migrates to schema version ${version}, but this program knows only ${SCHEMA_VERSION}: upgrade this node.`,
      entry.number,
    );
  }
  try {
    return store.alterByEntry(entry, (run) => {
      runMigrations(
        store.path,
        schemaVersion(store),
        allMigrations().filter((migration) => migration.version <= version),
        run,
      );
    });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new EntryRefused('difference', `Entry ${entry.number} of the log migrates: ${error.message}`, entry.number);
  }
}

function runMigrations(
  path: string,
  before: number,
  migrations: readonly Migration[],
  run: (sql: string) => void,
): void {
  for (const { version, sql } of migrations) {
    if (version <= before) continue;
    try {
      run(sql);
    } catch (error) {
      throw migrationFailure(error, path, before);
    }
    run(`PRAGMA user_version = ${version}`);
  }
}

/** Tables that are not those of the version, such as of a program that was never released; other failures unchanged. */
function migrationFailure(error: unknown, path: string, version: number): unknown {
  if ((error as { readonly code?: unknown }).code !== 'SQLITE_ERROR') return error;
  return new UserError(
    `The database ${path} says that it has version ${version}, but its tables are different: ${messageOf(error)}. Nothing was changed.`,
    'Restore a backup, or export the zones with the program that wrote it and import them into a new data directory.',
  );
}

/** For readers, which cannot migrate. Throws a UserError unless this program works with the schema. */
export function requireSchema(store: Store): void {
  requireKnownSchema(store);
  const version = schemaVersion(store);
  if (version < SCHEMA_VERSION && version < oldestUsable()) {
    throw new UserError(
      `The database ${store.path} has not been migrated yet (version ${version}, needed ${oldestUsable()}).`,
      'Start `zoneplane serve` or its admin role first.',
    );
  }
}

/** Whether this program reads databases of the version, or migrates them. */
export function isKnownSchema(version: number): boolean {
  return version >= FIRST_VERSION && version <= SCHEMA_VERSION;
}

/** Throws a UserError when the database is newer than this program, or was written by a preview. `path`: what to call it. */
export function requireKnownSchema(store: Store, path = store.path): void {
  const version = schemaVersion(store);
  if (version > SCHEMA_VERSION) {
    throw new UserError(
      `The database ${path} was written by a newer zoneplane (version ${version}; this one supports up to ${SCHEMA_VERSION}).`,
      'Install the newer zoneplane again, or restore a backup made with this one.',
    );
  }
  if (version > 0 && !isKnownSchema(version)) {
    throw new UserError(
      `The database ${path} was written by a preview of zoneplane whose tables are older (version ${version}; the first that this program reads is ${FIRST_VERSION}).`,
      'Start it once with the last preview (commit cedaa13), which brings it to that version, or export its zones with the preview that wrote it (`zoneplane zone export --all`) and import them into a new data directory.',
    );
  }
}

function plantInstallation(store: Store, clock: Clock, random: Random): void {
  const put = store.prepare<[string, string | number | Uint8Array]>('INSERT INTO meta (name, value) VALUES (?, ?)');
  put.run('installation', random.uuid());
  put.run('created_at', clock.nowUs());
  put.run('credential_pepper', random.bytes(32));
}
