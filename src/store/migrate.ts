/** Schema versions: that of version 1.0, and numbered migrations, each recorded in the transaction in which it runs. */
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { Store } from './driver.js';
import { EntryRefused } from './failures.js';
import { writeLog } from './migrations/0198-write-log.js';
import { flatteningShares } from './migrations/0201-flattening-shares.js';
import { secretAccessKeys } from './migrations/0202-secret-access-keys.js';
import { resignedZones } from './migrations/0203-resigned-zones.js';
import { events } from './migrations/0210-events.js';
import { uploads } from './migrations/0211-uploads.js';
import { orderStarts } from './migrations/0212-order-starts.js';
import { openConditions } from './migrations/0213-open-conditions.js';
import { loadBalancing } from './migrations/0214-load-balancing.js';
import { signIn } from './migrations/0215-sign-in.js';
import { bucketRules } from './migrations/0216-bucket-rules.js';
import { members } from './migrations/0217-members.js';
import { singleSignOn } from './migrations/0218-single-sign-on.js';
import { alerts } from './migrations/0219-alerts.js';
import { linkedRecords } from './migrations/0220-linked-records.js';
import { verifiedDomains } from './migrations/0221-verified-domains.js';
import { endingRecords } from './migrations/0222-ending-records.js';
import { rulesets } from './migrations/0223-rulesets.js';
import { checksumTypes } from './migrations/0224-checksum-types.js';
import { recordTemplates } from './migrations/0225-record-templates.js';
import { transferHealth } from './migrations/0226-transfer-health.js';
import { zoneQueries } from './migrations/0227-zone-queries.js';
import { stagedEvents } from './migrations/0228-staged-events.js';
import { packedChanges } from './migrations/0229-packed-changes.js';
import type { Migration } from './migrations/migration.js';
import type { Entry } from './recording.js';
import { newestSchema } from './schema/newest.js';
import { FIRST_SCHEMA } from './schema/schema.js';

/** In order; a released migration never changes. */
export const MIGRATIONS: readonly Migration[] = [
  FIRST_SCHEMA,
  writeLog,
  flatteningShares,
  secretAccessKeys,
  resignedZones,
  events,
  uploads,
  orderStarts,
  openConditions,
  loadBalancing,
  signIn,
  bucketRules,
  members,
  singleSignOn,
  alerts,
  linkedRecords,
  verifiedDomains,
  endingRecords,
  rulesets,
  checksumTypes,
  recordTemplates,
  transferHealth,
  zoneQueries,
  stagedEvents,
  packedChanges,
];

/** The schema version after all migrations. */
export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version;

/** The oldest schema with which this program works: later migrations can wait. */
export const OLDEST_USABLE = MIGRATIONS.reduce(
  (oldest, { version, canWait }) => (canWait === true ? oldest : version),
  FIRST_SCHEMA.version,
);

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
    const newest = before === 0 ? newestSchema(MIGRATIONS) : undefined;
    if (newest !== undefined) run(`${newest}PRAGMA user_version = ${SCHEMA_VERSION};`);
    runMigrations(store.path, newest === undefined ? before : SCHEMA_VERSION, [...MIGRATIONS, ...further], run);
    if (before === 0) plantInstallation(store, clock, random);
    return before;
  });
}

/** Applies all migrations one by one to an empty database, without the data that is unique to an installation. */
export function takeSteps(store: Store): void {
  store.alter((run) => runMigrations(store.path, 0, MIGRATIONS, run));
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
        MIGRATIONS.filter((migration) => migration.version <= version),
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
  if (version < OLDEST_USABLE) {
    throw new UserError(
      `The database ${store.path} has not been migrated yet (version ${version}, needed ${OLDEST_USABLE}).`,
      'Start `zoneplane serve` or its admin role first.',
    );
  }
}

/** Whether this program reads databases of the version, or migrates them. */
export function isKnownSchema(version: number): boolean {
  return version >= FIRST_SCHEMA.version && version <= SCHEMA_VERSION;
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
      `The database ${path} was written by a preview of zoneplane whose tables are older (version ${version}; the first that this program reads is ${FIRST_SCHEMA.version}).`,
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
