/** Makes a backup the content of a data directory: all of it in a draft, examined there, and then put in place. */
import { chmodSync, constants, existsSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { explainFileFailure } from '../base/file-failure.js';
import { systemRandom } from '../base/random.js';
import { BLOB_DIRECTORY, type Blobs, createBlobsIn } from '../bucket/blobs.js';
import { planNewerSerials } from '../control/secondary/newer-serial.js';
import { removeAllSessions } from '../store/access/sessions.js';
import { RESTORING } from '../store/database-file.js';
import { DATABASE_FILE, openStore, type Store } from '../store/driver.js';
import { endWriteLog } from '../store/log/write-log.js';
import { clusterOf, deleteMeta, forgetPosition } from '../store/meta.js';
import { migrate } from '../store/migrate.js';
import { type ObjectInFile, objectsWithFiles, removeObject } from '../store/objects/objects.js';
import { forgetSweeps } from '../store/objects/rules.js';
import { countSealed, SEALED_COLUMNS } from '../store/sealed-columns.js';
import { forgetNewestChange } from '../store/state/newest-change.js';
import { countServedRecords, servedZones } from '../store/zones/zones.js';
import { copyBodies } from './copy-bodies.js';
import { type DigestsAside, takeDigestsAside } from './digests-aside.js';
import { openDraft } from './draft.js';
import { type DamagedObject, describeDamaged, type Examined, examineBackup } from './examine.js';
import { type BackupPlace, backupPlace, syncBackup } from './place.js';
import { listSeries } from './series.js';
import { namedBy } from './write.js';
import { applyWrites, type Reached, tooNew } from './writes/apply.js';

export interface RestoreOptions {
  readonly clock: Clock;
  /** Where bodies are that are not in the backup. */
  readonly elsewhere: Blobs | undefined;
  /** Puts a backup that is not a file there, instead of copying one. */
  readonly fetch?: ((to: BackupPlace) => Promise<unknown>) | undefined;
  /** Milliseconds since 1970: it is brought to that time, infinite: as far as the log of writes reaches. */
  readonly untilMs?: number | undefined;
  /** Whether objects whose bodies are damaged are left out; otherwise nothing is restored. */
  readonly withoutDamaged: boolean;
}

/** What was restored. */
export interface Restored {
  readonly zones: number;
  readonly records: number;
  /** Objects whose bodies are files. */
  readonly objects: number;
  /** Zones that others transfer, which get newer serials at the next start. */
  readonly newerSerials: number;
  /** Buckets with lifecycle rules, which are swept an interval after the next start, not at once. */
  readonly lifecycleBuckets: number;
  /** Secrets that need the master key of the backup's time. */
  readonly sealed: number;
  /** The backup is that of a node of a cluster. */
  readonly isOfCluster: boolean;
  /** What the log of writes gave, if it was asked for. */
  readonly reached: Reached | undefined;
  /** Objects that were left out. */
  readonly damaged: readonly DamagedObject[];
  /** Nothing but its form said whether the database is what was written. */
  readonly lacksSums: boolean;
}

/**
 * The directory has all of it or nothing, whatever happens. `directory`: a data directory without data, which the caller has
 * locked. Throws a UserError.
 */
export async function restoreBackup(file: string, directory: string, options: RestoreOptions): Promise<Restored> {
  if (!options.fetch && !existsSync(file))
    throw new UserError(`${file} does not exist`, 'Name the file that `zoneplane backup` wrote.');
  const database = join(directory, DATABASE_FILE);
  const bodies = join(directory, BLOB_DIRECTORY);
  const draft = openDraft(join(directory, RESTORING), [bodies, database]);
  let aside: DigestsAside | undefined;
  try {
    if (existsSync(bodies)) {
      throw new UserError(
        `${directory} holds data already`,
        'Move it away, or name another directory with --data-dir.',
      );
    }
    const parts = backupPlace(join(draft.path, DATABASE_FILE));
    if (options.fetch) await options.fetch(parts);
    else aside = await copy(backupPlace(file), parts);
    const examined = await examineBackup(
      parts,
      { sums: 'expect', elsewhere: options.elsewhere, withoutSums: options.withoutDamaged, aside },
      file,
    );
    const { reached, damaged } = await bringForward(draft.path, parts, file, examined, options);
    if (!options.withoutDamaged) refuseDamaged(damaged, file);
    const restored = await complete(draft.path, parts, { ...examined, damaged }, options.clock);
    forgetNewestChange(directory);
    // Those of another database, found to be empty.
    for (const suffix of ['-wal', '-shm', '-journal']) rmSync(database + suffix, { force: true });
    draft.place([
      ...(existsSync(parts.bodies) ? [{ from: parts.bodies, to: bodies }] : []),
      { from: parts.database, to: database },
    ]);
    return { ...restored, reached };
  } catch (error) {
    throw explainFileFailure(error);
  } finally {
    aside?.end();
    draft.discard();
  }
}

/** Returns the sums that are taken of the copies meanwhile, to be ended. */
async function copy(from: BackupPlace, to: BackupPlace): Promise<DigestsAside | undefined> {
  await copyFile(from.database, to.database, constants.COPYFILE_FICLONE);
  chmodSync(to.database, 0o600);
  if (existsSync(from.sums)) await copyFile(from.sums, to.sums);
  const objects = bodiesOf(to.database);
  const aside = takeDigestsAside(objects.length + 1, ['sha256']);
  aside?.add(to.database);
  const [source, target] = [from, to].map(({ bodies }) => createBlobsIn(bodies, systemRandom));
  try {
    await copyBodies(objects, source!, target!, (path) => aside?.add(path));
    return aside;
  } catch (error) {
    aside?.end();
    throw error;
  }
}

/** Nothing for what is not a sound database, about which the examination says what is wrong. */
function bodiesOf(database: string): readonly ObjectInFile[] {
  try {
    return namedBy(database);
  } catch {
    return [];
  }
}

function refuseDamaged([first, ...others]: readonly DamagedObject[], file: string): void {
  if (!first) return;
  throw new UserError(
    `${describeDamaged(first)}${others.length === 0 ? '' : `, and ${others.length} others are damaged`}`,
    `Keep ${backupPlace(file).bodies} beside the file, as the backup wrote it, take another backup, or restore all else with --without-damaged.`,
  );
}

/** Applies the log of writes, if that is wanted; bodies of objects that came since are in later backups. */
async function bringForward(
  draft: string,
  parts: BackupPlace,
  file: string,
  { madeAtMs = 0, damaged }: Examined,
  { untilMs, elsewhere }: RestoreOptions,
): Promise<{ readonly reached: Reached | undefined; readonly damaged: readonly DamagedObject[] }> {
  if (untilMs === undefined) return { reached: undefined, damaged };
  if (madeAtMs > untilMs) throw tooNew(madeAtMs);
  const directory = dirname(resolve(file));
  const store = openStore(draft, { isCopy: true });
  let reached: Reached;
  try {
    reached = await applyWrites(store, directory, { untilMs, madeAtMs });
    store.checkpoint();
  } finally {
    store.close();
  }
  const bodies = createBlobsIn(parts.bodies, systemRandom);
  for (const backup of listSeries(directory)) {
    await copyBodies(namedBy(parts.database), createBlobsIn(backupPlace(backup.file).bodies, systemRandom), bodies);
  }
  const examined = await examineBackup(parts, { sums: 'make', elsewhere }, file);
  return { reached, damaged: examined.damaged };
}

async function complete(
  draft: string,
  parts: BackupPlace,
  examined: Examined,
  clock: Clock,
): Promise<Omit<Restored, 'reached'>> {
  const store = openStore(draft);
  try {
    migrate(store, clock, systemRandom);
    const restored = await adapt(store, examined.damaged, clock);
    const files = createBlobsIn(parts.bodies, systemRandom);
    for (const { blob } of examined.damaged) if (blob !== undefined) await files.remove(blob);
    store.checkpoint();
    return { ...restored, damaged: examined.damaged, lacksSums: examined.lacksSums };
  } finally {
    store.close();
    syncBackup(parts);
  }
}

async function adapt(store: Store, damaged: readonly DamagedObject[], clock: Clock) {
  const isOfCluster = clusterOf(store) !== undefined;
  // Another history begins.
  await store.write(() => endWriteLog(store));
  const { newerSerials, lifecycleBuckets } = await store.write(() => {
    deleteMeta(store, 'backup_made_at');
    removeAllSessions(store);
    for (const { seq } of damaged) removeObject(store, seq);
    if (isOfCluster) forgetPosition(store);
    return { lifecycleBuckets: forgetSweeps(store), newerSerials: planNewerSerials(store, clock.nowMs()) };
  });
  const values = SEALED_COLUMNS.flatMap((column) => countSealed(store, column));
  return {
    zones: servedZones(store).length,
    records: countServedRecords(store),
    objects: [...objectsWithFiles(store)].length,
    ...{ newerSerials, lifecycleBuckets },
    sealed: values.reduce((sum, { count }) => sum + count, 0),
    isOfCluster,
  };
}
