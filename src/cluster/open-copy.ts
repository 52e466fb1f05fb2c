/**
 * Opens the database of a data directory as a copy that follows the log of a cluster. A node without a database begins with the
 * newest snapshot; so does one whose history is not that of the log any more. While PostgreSQL is away, a node goes on with the
 * copy that it has.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Random } from '../base/random.js';
import { DATABASE_FILE, openStore, type Store } from '../store/driver.js';
import { EntryRefused, LogUnavailable } from '../store/failures.js';
import { catchUp, createLogWriter } from '../store/log-writer.js';
import { findMeta } from '../store/meta.js';
import { isKnownSchema, requireKnownSchema, requireSchema } from '../store/migrate.js';
import { keepLost, type LostParts, recoverLost } from './lost-entries.js';
import { type MigrationTime, migrateCluster } from './migration.js';
import { explainPostgres } from './postgres-failures.js';
import { type ClusterLog, openPostgresLog, type PostgresLogOptions } from './postgres-log.js';
import { type RecentEntries, recentEntries } from './recent-entries.js';
import { findReplacement, forgetReplacement, noteReplacement } from './replacement.js';
import { forgetServers, knownServers } from './servers.js';
import { fetchSnapshot, listSnapshots } from './snapshots.js';

export interface CopyOptions extends Omit<PostgresLogOptions, 'servers' | 'recent'> {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onCommit?: () => void;
  /** Whether this node may append: one that only follows waits for another to migrate the schema. */
  readonly appends: boolean;
  /** Default: `known`. */
  readonly migrates?: MigrationTime;
  /** Whether a copy that cannot follow may be replaced; no process but this one uses it then. */
  readonly replaces: boolean;
}

export interface OpenCopy {
  readonly store: Store;
  readonly log: ClusterLog;
  /** The last entries that this copy has applied. */
  readonly recent: RecentEntries;
  /** The content was replaced by that of a snapshot: who has read it before must read all of it again. */
  readonly wasReplaced: boolean;
  /** Entries that the copy had are no longer in the log: others may have seen what nobody stores any more. */
  readonly lostEntries: boolean;
  /** What follows from these two was done. Before that, the next process that opens the copy finds both as they are now. */
  readonly noteFollowed: () => void;
  /** Why the copy cannot apply the next entry, although it was replaced where that could help. */
  readonly refusal: EntryRefused | undefined;
}

type CopyState = Pick<OpenCopy, 'wasReplaced' | 'lostEntries' | 'refusal'>;

const UNCHANGED: CopyState = { wasReplaced: false, lostEntries: false, refusal: undefined };

/** Throws a UserError when the copy cannot be used, or there is none and PostgreSQL is away. */
export async function openCopy(options: CopyOptions): Promise<OpenCopy> {
  // What a copy has seen ends with it.
  if (!hasCopy(options.dataDir)) forgetServers(options.dataDir);
  const { dataDir, logger } = options;
  const recent = recentEntries(dataDir, logger);
  const log = openPostgresLog({ ...options, recent, servers: knownServers(dataDir, logger) });
  try {
    return await openWith(options, log, recent);
  } catch (error) {
    await log.close();
    throw explainPostgres(error);
  }
}

async function openWith(options: CopyOptions, log: ClusterLog, recent: RecentEntries): Promise<OpenCopy> {
  const { dataDir, logger } = options;
  const id = await clusterIdIfReachable(log, logger);
  const isNew = !hasCopy(dataDir);
  if (isNew && id === undefined) {
    throw new UserError(
      'PostgreSQL cannot be reached, and this node has no copy of the database yet',
      'Check ZONEPLANE_CLUSTER, and start the node when PostgreSQL answers.',
    );
  }
  if (isNew) logger.info(await fetchSnapshot(log.reader, dataDir), 'the node begins with a snapshot');
  const store = openStore(dataDir, {
    writer: (own) => createLogWriter(own, log, options.random),
    isCopy: true,
    ...(options.onCommit && { onCommit: options.onCommit }),
  });
  try {
    requireMember(store, id, dataDir);
    requireKnownSchema(store);
    const current = id === undefined ? UNCHANGED : await bringUpToDate({ ...options, store, log, recent }, isNew);
    if (id !== undefined && current.refusal === undefined) {
      await migrateCluster({ ...options, store, log }, options.appends, options.migrates ?? 'known');
    }
    requireSchema(store);
    return { store, log, recent, ...stillToFollow(dataDir, current), noteFollowed: () => forgetReplacement(dataDir) };
  } catch (error) {
    store.close();
    throw error;
  }
}

/** Undefined while PostgreSQL is away. */
async function clusterIdIfReachable(log: ClusterLog, logger: Logger): Promise<string | undefined> {
  try {
    return await log.clusterId();
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    logger.warn({ reason: error.message }, 'PostgreSQL is away: this node goes on with the copy that it has');
    return undefined;
  }
}

/** An empty file is none. */
function hasCopy(dataDir: string): boolean {
  const path = join(dataDir, DATABASE_FILE);
  return existsSync(path) && statSync(path).size > 0;
}

function requireMember(store: Store, id: string | undefined, dataDir: string): void {
  const own = findMeta(store, 'cluster');
  if (own === undefined) {
    throw new UserError(
      `the database in ${dataDir} belongs to no cluster`,
      'To begin a cluster with it, run `zoneplane cluster init`. To join one, use a data directory without a database.',
    );
  }
  if (id !== undefined && own !== id) {
    throw otherCluster(dataDir, String(own), id);
  }
}

export function otherCluster(dataDir: string, own: string, id: string): UserError {
  return new UserError(
    `the database in ${dataDir} belongs to another cluster (${own}) than PostgreSQL (${id})`,
    'Check ZONEPLANE_CLUSTER and the data directory.',
  );
}

interface CopyParts extends CopyOptions, LostParts {}

/** Applies what the copy lacks; replaces it when that may help. `isFresh`: it is that of the newest snapshot. */
async function bringUpToDate(parts: CopyParts, isFresh: boolean): Promise<CopyState> {
  const { store, log, replaces, dataDir, logger } = parts;
  const refusal = await catchUpOrRefusal(store, log, logger);
  if (!refusal || !replaces || !(await isToBeReplaced(log, refusal, isFresh ? refusal : undefined))) {
    return { ...UNCHANGED, refusal };
  }
  const lostEntries = refusal.reason === 'history';
  if (lostEntries && (await recoverLost(parts))) {
    return { ...UNCHANGED, refusal: await catchUpOrRefusal(store, log, logger) };
  }
  if (lostEntries) await keepLost(parts, dataDir);
  logger.error({ reason: refusal.message }, 'this copy is replaced by the newest snapshot of the cluster');
  noteReplacement(dataDir, lostEntries);
  const { number, at } = await fetchSnapshot(log.reader, dataDir);
  logger.info({ number, at }, 'the copy was replaced by a snapshot');
  return { wasReplaced: true, lostEntries, refusal: await catchUpOrRefusal(store, log, logger) };
}

/**
 * Whether a copy that refuses an entry must be replaced by the newest snapshot. A newer schema waits for an upgrade of this
 * program. What cannot be read here, or was refused by a fresh copy too (`known`), would be refused again, unless the snapshot
 * includes it.
 */
export async function isToBeReplaced(
  { reader }: Pick<ClusterLog, 'reader'>,
  { reason, entry }: EntryRefused,
  known: EntryRefused | undefined,
): Promise<boolean> {
  if (reason === 'schema') return false;
  if (reason !== 'damaged' && known?.entry !== entry) return true;
  const snapshots = await listSnapshots(reader);
  return snapshots.some(({ number, schema }) => number >= entry && isKnownSchema(schema));
}

/** With what a process before this one has left to do: it may have ended right after the replacement. */
function stillToFollow(dataDir: string, current: CopyState): CopyState {
  const before = findReplacement(dataDir);
  if (before === undefined) return current;
  return { ...current, wasReplaced: true, lostEntries: current.lostEntries || before.lostEntries };
}

async function catchUpOrRefusal(store: Store, log: ClusterLog, logger: Logger): Promise<EntryRefused | undefined> {
  try {
    await catchUp(store, log);
    return undefined;
  } catch (error) {
    if (error instanceof EntryRefused) return error;
    if (!(error instanceof LogUnavailable)) throw error;
    logger.warn({ reason: messageOf(error) }, 'PostgreSQL cannot be reached any more');
    return undefined;
  }
}
