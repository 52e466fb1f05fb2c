/** Schema versions: numbered migrations, each recorded in the transaction in which it runs. */
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { Store } from './driver.js';
import { EntryRefused } from './failures.js';
import { foundation } from './migrations/0001-0010/0001-foundation.js';
import { buckets } from './migrations/0001-0010/0002-buckets.js';
import { history } from './migrations/0001-0010/0003-history.js';
import { flattening } from './migrations/0001-0010/0004-flattening.js';
import { tokens } from './migrations/0001-0010/0005-tokens.js';
import { lists } from './migrations/0001-0010/0006-lists.js';
import { watchedTargets } from './migrations/0001-0010/0007-watched-targets.js';
import { embeddedAuthority } from './migrations/0001-0010/0008-embedded-authority.js';
import { completeChanges } from './migrations/0001-0010/0009-complete-changes.js';
import { certificates } from './migrations/0001-0010/0010-certificates.js';
import { jobs } from './migrations/0011-jobs.js';
import { scans } from './migrations/0012-scans.js';
import { customHostnames } from './migrations/0013-custom-hostnames.js';
import { zoneCertificates } from './migrations/0014-zone-certificates.js';
import { provenZones } from './migrations/0015-proven-zones.js';
import { universalCertificates } from './migrations/0016-universal-certificates.js';
import { uniqueTargets } from './migrations/0017-unique-targets.js';
import { purges } from './migrations/0018-purges.js';
import { edge } from './migrations/0019-edge.js';
import { edgeOrigins } from './migrations/0020-edge-origins.js';
import { certifiedNames } from './migrations/0021-certified-names.js';
import { deployment } from './migrations/0022-deployment.js';
import { dnssec } from './migrations/0023-dnssec.js';
import { bucketDomains } from './migrations/0024-bucket-domains.js';
import { accountDnsSettings } from './migrations/0025-account-dns-settings.js';
import { transfersOut } from './migrations/0026-transfers-out.js';
import { dnssecParents } from './migrations/0027-dnssec-parents.js';
import { validity } from './migrations/0028-validity.js';
import { recordSets } from './migrations/0029-record-sets.js';
import { sessions } from './migrations/0030-sessions.js';
import { updates } from './migrations/0034-updates.js';
import { catalogs } from './migrations/0035-catalogs.js';
import { transfersIn } from './migrations/0036-transfers-in.js';
import { signers } from './migrations/0041-signers.js';
import { checkedZones } from './migrations/0048-checked-zones.js';
import { consumedCatalogs } from './migrations/0049-consumed-catalogs.js';
import { signals } from './migrations/0065-signals.js';
import { sharedObjects } from './migrations/0070-shared-objects.js';
import { ticketSecrets } from './migrations/0071-ticket-secrets.js';
import { signatureSets } from './migrations/0085-signature-sets.js';
import { compactDenial } from './migrations/0088-compact-denial.js';
import { removedZones } from './migrations/0090-removed-zones.js';
import { parentalAgents } from './migrations/0097-parental-agents.js';
import { recordIdentifiers } from './migrations/0141-record-identifiers.js';
import { editEvents } from './migrations/0191-edit-events.js';
import { nameProofs } from './migrations/0192-name-proofs.js';
import { jobAccounts } from './migrations/0193-job-accounts.js';
import { accountUsage } from './migrations/0194-account-usage.js';
import { bucketDomainsByZone } from './migrations/0195-bucket-domains-by-zone.js';
import { namedPeers } from './migrations/0196-named-peers.js';
import { historyShares } from './migrations/0197-history-shares.js';
import { writeLog } from './migrations/0198-write-log.js';
import { flatteningShares } from './migrations/0201-flattening-shares.js';
import type { Migration } from './migrations/migration.js';
import type { Entry } from './recording.js';

/** In order; a released migration never changes. */
const MIGRATIONS: readonly Migration[] = [
  foundation,
  buckets,
  history,
  flattening,
  tokens,
  lists,
  watchedTargets,
  embeddedAuthority,
  completeChanges,
  certificates,
  jobs,
  scans,
  customHostnames,
  zoneCertificates,
  provenZones,
  universalCertificates,
  uniqueTargets,
  purges,
  edge,
  edgeOrigins,
  certifiedNames,
  deployment,
  dnssec,
  bucketDomains,
  accountDnsSettings,
  transfersOut,
  dnssecParents,
  validity,
  recordSets,
  sessions,
  updates,
  catalogs,
  transfersIn,
  signers,
  checkedZones,
  consumedCatalogs,
  signals,
  sharedObjects,
  ticketSecrets,
  signatureSets,
  compactDenial,
  removedZones,
  parentalAgents,
  recordIdentifiers,
  editEvents,
  nameProofs,
  jobAccounts,
  accountUsage,
  bucketDomainsByZone,
  namedPeers,
  historyShares,
  writeLog,
  flatteningShares,
];

/** The schema version after all migrations. */
export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version;

/** The version of an open database; 0 for an empty one. */
export function schemaVersion(store: Store): number {
  return store.prepareTuples<[], [number]>('PRAGMA user_version').get()![0];
}

/**
 * Migrates the schema and returns the version it had before. When two processes do this at once, the second finds the
 * work done. Throws a UserError when the database is newer than this program.
 */
export function migrate(store: Store, clock: Clock, random: Random): number {
  return store.alter((run) => {
    const before = schemaVersion(store);
    refuseNewer(store, before);
    runMigrations(store.path, before, SCHEMA_VERSION, run);
    if (before === 0) plantInstallation(store, clock, random);
    return before;
  });
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
    return store.alterByEntry(entry, (run) => runMigrations(store.path, schemaVersion(store), version, run));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new EntryRefused('difference', `Entry ${entry.number} of the log migrates: ${error.message}`, entry.number);
  }
}

function runMigrations(path: string, before: number, last: number, run: (sql: string) => void): void {
  for (const { version, sql } of MIGRATIONS) {
    if (version <= before || version > last) continue;
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

/** For readers, which cannot migrate. Throws a UserError unless the schema has exactly the version of this program. */
export function requireSchema(store: Store): void {
  const version = schemaVersion(store);
  refuseNewer(store, version);
  if (version < SCHEMA_VERSION) {
    throw new UserError(
      `The database ${store.path} has not been migrated yet (version ${version}, needed ${SCHEMA_VERSION}).`,
      'Start `zoneplane serve` or its admin role first.',
    );
  }
}

/** Throws a UserError when the database is newer than this program. */
export function requireKnownSchema(store: Store): void {
  refuseNewer(store, schemaVersion(store));
}

function refuseNewer(store: Store, version: number): void {
  if (version > SCHEMA_VERSION) {
    throw new UserError(
      `The database ${store.path} was written by a newer zoneplane (version ${version}; this one supports up to ${SCHEMA_VERSION}).`,
      'Install the newer zoneplane again, or restore a backup made with this one.',
    );
  }
}

function plantInstallation(store: Store, clock: Clock, random: Random): void {
  const put = store.prepare<[string, string | number | Uint8Array]>('INSERT INTO meta (name, value) VALUES (?, ?)');
  put.run('installation', random.uuid());
  put.run('created_at', clock.nowUs());
  put.run('credential_pepper', random.bytes(32));
}
