/**
 * Backups on S3: numbered like those in a directory, with each body once for all of them. Bodies that are on S3 anyway are not
 * copied. The database comes last, after all was read back.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeDirectories } from '../base/directories.js';
import { UserError } from '../base/errors.js';
import { systemRandom } from '../base/random.js';
import { BLOB_DIRECTORY, createBlobsIn } from '../bucket/blobs.js';
import type { S3Files } from '../bucket/s3/s3-files.js';
import { openDraft } from './draft.js';
import { type BackupPlace, backupPlace } from './place.js';
import { listSeries, nextName, parseSeriesName, type SeriesBackup } from './series.js';
import { STREAMING } from './stream.js';
import { parseSums } from './sums.js';
import { type BackupSource, namedBy, type Written, writeBackup } from './write.js';

const BODIES = 'bodies/';

/** Whether a place of backups is an address of S3. */
export const isOnS3 = (place: string): boolean => place.startsWith('s3:');

/** The files of an address; the package for S3 is loaded only here. Throws a UserError. */
export async function openSeriesOnS3(address: string): Promise<S3Files> {
  const { openS3Files } = await import('../bucket/s3/s3-files.js');
  return openS3Files(address);
}

/** The oldest first. */
async function listSeriesOnS3(files: S3Files): Promise<readonly SeriesBackup[]> {
  const names = await files.list('zoneplane-');
  return names.flatMap((name) => parseSeriesName(name, name) ?? []).toSorted((a, b) => a.number - b.number);
}

/** Like {@link extendSeries}. */
export async function extendSeriesOnS3(
  source: BackupSource,
  files: S3Files,
  keep: number,
): Promise<Written & { readonly file: string }> {
  const before = await listSeriesOnS3(files);
  const draftPath = join(dirname(source.store.path), STREAMING);
  const draft = openDraft(draftPath, [draftPath]);
  try {
    const name = nextName(before, source.clock.nowMs());
    const place = backupPlace(join(draft.path, name));
    // Links need no room.
    const previous = { ...place, bodies: join(dirname(source.store.path), BLOB_DIRECTORY) };
    const written = await writeBackup({ ...source, previous }, place.database);
    await send(files, place, name, written);
    if (written.damaged.length === 0) {
      const removed = before.slice(0, Math.max(0, before.length + 1 - keep));
      for (const { file } of removed) for (const part of [file, `${file}.sha256`]) await files.remove(part);
      await removeUnusedBodies(files, draft.path);
    }
    return { ...written, file: name };
  } finally {
    draft.discard();
  }
}

async function send(files: S3Files, place: BackupPlace, name: string, { sums }: Written): Promise<void> {
  const there = new Set(await files.list(BODIES));
  const bodies = createBlobsIn(place.bodies, systemRandom);
  const sendOne = async (key: string, path: string, sum: string | undefined): Promise<void> => {
    await files.put(key, path);
    if (sum !== undefined && (await files.sumOf(key)) !== sum) {
      await files.remove(key);
      throw new UserError(`S3 does not have ${key} as it was sent`, 'Look at the bucket, and try again.');
    }
  };
  // A name stands for the same octets for ever.
  for (const [blob, sum] of sums.bodies) {
    if (!there.has(BODIES + blob)) await sendOne(BODIES + blob, bodies.pathOf(blob), sum);
  }
  await sendOne(`${name}.sha256`, place.sums, undefined);
  await sendOne(name, place.database, sums.database);
}

/** Bodies that no kept backup names, and lists of backups that were interrupted. */
async function removeUnusedBodies(files: S3Files, draft: string): Promise<void> {
  const kept = new Set((await listSeriesOnS3(files)).map(({ file }) => file));
  const used = new Set<string>();
  const scratch = mkdtempSync(join(draft, 'sums-'));
  try {
    for (const name of kept) {
      const path = join(scratch, 'sums');
      // One without a list is not touched, nor are the bodies that it may need.
      if (!(await files.fetch(`${name}.sha256`, path))) return;
      for (const body of parseSums(readFileSync(path, 'utf8'), `${name}.sha256`).bodies.keys()) used.add(body);
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  for (const name of await files.list('zoneplane-')) {
    if (name.endsWith('.sha256') && !kept.has(name.slice(0, -'.sha256'.length))) await files.remove(name);
  }
  for (const key of await files.list(BODIES)) if (!used.has(key.slice(BODIES.length))) await files.remove(key);
}

/**
 * Fetches a backup as it would be in a directory. `name`: of the database file; undefined: the newest. Bodies that S3 does not
 * have are left out. Returns the name. Throws a UserError when there is none.
 */
export async function fetchFromS3(files: S3Files, name: string | undefined, to: BackupPlace): Promise<string> {
  const chosen = name ?? (await listSeriesOnS3(files)).at(-1)?.file;
  if (chosen === undefined || !(await files.fetch(chosen, to.database))) {
    throw new UserError(`there is no backup${name === undefined ? '' : ` ${name}`} on S3`, 'Check the address.');
  }
  await files.fetch(`${chosen}.sha256`, to.sums);
  const bodies = createBlobsIn(to.bodies, systemRandom);
  const there = new Set(await files.list(BODIES));
  for (const { blob } of namedBy(to.database)) {
    if (!there.has(BODIES + blob)) continue;
    const path = bodies.pathOf(blob);
    makeDirectories(dirname(path), 0o700);
    await files.fetch(BODIES + blob, path);
  }
  return chosen;
}

/** The backups at a place, the oldest first: in a directory, or at an address of S3. Throws a UserError when that cannot be told. */
export async function listBackups(place: string): Promise<readonly SeriesBackup[]> {
  if (!isOnS3(place)) return listSeries(place);
  const files = await openSeriesOnS3(place);
  try {
    return await listSeriesOnS3(files);
  } finally {
    files.close();
  }
}
