/** Makes a backup: all of it in a draft beside its place, read as a restoration would, and then put there. */
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import { explainFileFailure } from '../base/file-failure.js';
import { systemRandom } from '../base/random.js';
import { BLOB_DIRECTORY, type Blobs, createBlobsIn, type FileBlobs } from '../bucket/blobs.js';
import { completeCopy } from '../store/backup-copy.js';
import { DATABASE_FILE, openStoreFile, type Store } from '../store/driver.js';
import { holdBodies } from '../store/objects/held-bodies.js';
import { isBlobUsed, type ObjectInFile, objectsWithFiles } from '../store/objects/objects.js';
import { copyBodies, linkBody } from './copy-bodies.js';
import { type DigestsAside, takeDigestsAside } from './digests-aside.js';
import { openDraft } from './draft.js';
import { type Examined, examineBackup } from './examine.js';
import { type BackupPlace, backupPlace, syncBackup } from './place.js';
import { printSums } from './sums.js';

export interface BackupSource {
  /** The database of a data directory. */
  readonly store: Store;
  /** Where bodies are copied from. */
  readonly bodies: Blobs | FileBlobs;
  /** Where bodies are that are not copied. */
  readonly elsewhere: Blobs | undefined;
  /** A backup on the same file system, whose files may be linked where it has the same bodies. */
  readonly previous?: BackupPlace;
  readonly clock: Clock;
}

export interface Written extends Examined {
  /** Octets of the database file. */
  readonly size: number;
}

/** Attempts to get all bodies of a copied database while others remove them on S3, where they stay for an hour. */
const MOST_COPIES = 3;

/**
 * Writes a backup under a name that is free. What is damaged is left out and returned; a restoration accepts all else. Throws
 * a UserError when there is nothing that it would accept; then nothing is left behind.
 */
export async function writeBackup(source: BackupSource, file: string): Promise<Written> {
  const place = backupPlace(resolve(file));
  requireFree(place, dirname(source.store.path), file);
  // Bodies are held until they have been copied.
  const hold = holdBodies(dirname(source.store.path));
  try {
    const draft = openDraft(`${place.database}.partial`, [place.bodies, place.sums, place.database]);
    try {
      const parts = backupPlace(join(draft.path, basename(place.database)));
      const written = await fill(source, parts, basename(place.database));
      const hasBodies = existsSync(parts.bodies);
      draft.place([
        ...(hasBodies ? [{ from: parts.bodies, to: place.bodies }] : []),
        { from: parts.sums, to: place.sums },
        { from: parts.database, to: place.database },
      ]);
      return written;
    } finally {
      draft.discard();
    }
  } catch (error) {
    const told = explainFileFailure(error);
    if (told instanceof UserError) throw told;
    throw new UserError(`The backup to ${file} failed: ${messageOf(error)}`, 'Check the disk and try again.');
  } finally {
    hold.release();
  }
}

function requireFree(place: BackupPlace, dataDirectory: string, file: string): void {
  const directory = dirname(place.database);
  if (!existsSync(directory)) {
    throw new UserError(`the directory ${directory} does not exist`, 'Make it, or choose another one.');
  }
  const own = [join(dataDirectory, DATABASE_FILE), join(dataDirectory, BLOB_DIRECTORY) + sep];
  if (own.some((path) => place.database.startsWith(path)) && place.database !== own[0]) {
    throw new UserError(`${file} is a place of the server's own files`, 'Choose another one, best on another disk.');
  }
  for (const path of [place.database, place.bodies, place.sums]) {
    if (existsSync(path)) {
      throw new UserError(`${path} exists already.`, 'Choose a new file name; backups never overwrite.');
    }
  }
}

/** Writes the parts of a backup, all of them forced to the disk. */
async function fill(source: BackupSource, parts: BackupPlace, name: string): Promise<Written> {
  const madeAtMs = source.clock.nowMs();
  const copies = createBlobsIn(parts.bodies, systemRandom);
  const { linked, aside } = await copyAll(source, parts, copies);
  const examine = (aside?: DigestsAside) =>
    examineBackup(parts, { sums: 'make', elsewhere: source.elsewhere, aside }, 'the database');
  let examined: Examined;
  try {
    completeCopy(parts.database, madeAtMs);
    examined = await examine(aside);
  } finally {
    aside?.end();
  }
  const spoilt = examined.damaged.flatMap(({ blob }) => (blob !== undefined && linked.has(blob) ? [blob] : []));
  if (spoilt.length > 0) {
    // The backup before has lost them since, and the server may have them still.
    for (const blob of spoilt) await copies.remove(blob);
    await copyBodies(namedBy(parts.database), source.bodies, copies);
    examined = await examine();
  }
  for (const { blob } of examined.damaged) if (blob !== undefined) await copies.remove(blob);
  writeFileSync(parts.sums, printSums({ name, ...examined.sums }), { mode: 0o600 });
  rmSync(join(parts.bodies, 'tmp'), { recursive: true, force: true });
  syncBackup(parts);
  return { ...examined, size: statSync(parts.database).size };
}

interface Copied {
  readonly linked: ReadonlySet<string>;
  /** Sums that are taken of the copies meanwhile; to be ended. */
  readonly aside: DigestsAside | undefined;
}

/** The database as it is at some time from now on, and the bodies that this copy names. */
async function copyAll(
  { store, bodies, previous }: BackupSource,
  parts: BackupPlace,
  copies: FileBlobs,
): Promise<Copied> {
  const linked = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    rmSync(parts.database, { force: true });
    await store.backup(parts.database);
    const objects = namedBy(parts.database);
    if (previous) {
      const before = createBlobsIn(previous.bodies, systemRandom);
      for (const { blob } of objects) if (linkBody(blob, before, copies)) linked.add(blob);
    }
    const aside = takeDigestsAside(objects.length, ['sha256', 'md5']);
    try {
      await copyBodies(objects, bodies, copies, (path) => aside?.add(path));
      if (attempt === MOST_COPIES || !(await wasRemoved(store, objects, copies))) return { linked, aside };
    } catch (error) {
      aside?.end();
      throw error;
    }
    aside?.end();
  }
}

/** The objects whose bodies are files, as a copied database names them. */
export function namedBy(database: string): readonly ObjectInFile[] {
  const copy = openStoreFile(database, { readonly: true });
  try {
    return [...objectsWithFiles(copy)];
  } finally {
    copy.close();
  }
}

/** Whether a body is missing that is not used any more. */
async function wasRemoved(store: Store, objects: readonly ObjectInFile[], copies: FileBlobs): Promise<boolean> {
  for (const { blob } of objects) {
    if ((await copies.sizeOf(blob)) === undefined && !isBlobUsed(store, blob)) return true;
  }
  return false;
}
