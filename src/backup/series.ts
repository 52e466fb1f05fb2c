/**
 * A directory of backups: numbered, so that their order does not depend on the clock. Bodies that the one before has too are links
 * to the same files.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../base/durable.js';
import { UserError } from '../base/errors.js';
import { isFileLocked } from '../store/file-lock.js';
import { type BackupPlace, backupPlace } from './place.js';
import { type BackupSource, type Written, writeBackup } from './write.js';
import { type Compared, compareWithBefore } from './writes/compare.js';
import { pruneWrites } from './writes/prune.js';

export interface SeriesBackup {
  readonly number: number;
  /** Milliseconds since 1970, by the clock of that time. */
  readonly madeAtMs: number;
  readonly file: string;
}

const NAME = /^zoneplane-(\d{6,9})-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z\.db$/;
/** A part of a backup, or of one that was interrupted. */
const PART = /^(zoneplane-\d{6,9}-\d{8}T\d{6}Z\.db)\.(?:blobs|sha256|partial|compared|differs)$/;
/** A file beside a backup that differs from the previous backup plus the writes since. It lists the differences. */
const DIFFERS = '.differs';
const LONGEST_NOTE = 2000;

/** The oldest first. Throws a UserError when the directory cannot be read. */
export function listSeries(directory: string): readonly SeriesBackup[] {
  return namesIn(directory)
    .flatMap((name) => parseSeriesName(name, join(directory, name)) ?? [])
    .toSorted((a, b) => a.number - b.number);
}

/** Undefined for the name of something else. */
export function parseSeriesName(name: string, file: string): SeriesBackup | undefined {
  const [, number, ...time] = NAME.exec(name) ?? [];
  if (number === undefined) return undefined;
  const [year, month, day, hour, minute, second] = time.map(Number) as [number, ...number[]];
  const madeAtMs = Date.UTC(year, month! - 1, day, hour, minute, second);
  return { number: Number(number), madeAtMs, file };
}

/** The name of the backup that follows these. */
export function nextName(before: readonly SeriesBackup[], nowMs: number): string {
  const number = String((before.at(-1)?.number ?? 0) + 1).padStart(6, '0');
  const time = new Date(nowMs).toISOString().slice(0, 19).replace(/[-:]/g, '');
  return `zoneplane-${number}-${time}Z.db`;
}

/** The backup from which a restoration begins: the newest one, or the newest that is not of after a time. Throws a UserError. */
export function chooseBackup(directory: string, untilMs = Number.POSITIVE_INFINITY): string {
  const backups = listSeries(directory);
  // Names have seconds: one of the same second may be newer.
  const chosen =
    backups.findLast(({ madeAtMs }) => madeAtMs + 1000 <= untilMs) ??
    backups.find(({ madeAtMs }) => madeAtMs <= untilMs);
  if (chosen) return chosen.file;
  const [oldest] = backups;
  throw new UserError(
    oldest
      ? `all backups in ${directory} are newer: the oldest is of ${new Date(oldest.madeAtMs).toISOString()}`
      : `there is no backup in ${directory}`,
    'Name another directory, or a file that `zoneplane backup` wrote.',
  );
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      `the directory of backups ${directory} cannot be read (${code})`,
      'Mount or make it, and let the user that runs zoneplane write to it; or name another one with --backup-dir.',
    );
  }
}

export interface Extended extends Written {
  readonly file: string;
  /** The comparison with the previous backup. */
  readonly compared: Compared;
}

/**
 * Makes the next backup, compares it with the previous one and the writes since, and then removes those above the number to keep.
 * While a backup is damaged or differs, none is removed: an older one may be intact. Throws a UserError.
 */
export async function extendSeries(source: BackupSource, directory: string, keep: number): Promise<Extended> {
  removeLeftovers(directory);
  const before = listSeries(directory);
  const newest = before.at(-1);
  const file = join(directory, nextName(before, source.clock.nowMs()));
  const previous = newest && backupPlace(newest.file);
  const written = await writeBackup({ ...source, ...(previous && { previous }) }, file);
  const compared: Compared = newest
    ? await compareWithBefore(newest.file, file, directory)
    : { result: 'unknown', reason: 'there is no previous backup' };
  if (compared.result === 'different')
    writeDurably(file + DIFFERS, `${compared.differences.join('\n').slice(0, LONGEST_NOTE)}\n`);
  if (written.damaged.length === 0 && !differingBackup(directory)) {
    const removed = before.slice(0, Math.max(0, before.length + 1 - keep));
    for (const old of removed) removeBackup(backupPlace(old.file));
    const kept = [...before.slice(removed.length).map((old) => old.file), file];
    pruneWrites(directory, kept, source.store);
  }
  return { ...written, file, compared };
}

/** The oldest backup with a note of differences, and their text. The operator removes the note after dealing with them. */
export function differingBackup(
  directory: string,
):
  | { readonly file: string; readonly before: string | undefined; readonly note: string; readonly text: string }
  | undefined {
  const all = listSeries(directory);
  const index = all.findIndex(({ file }) => existsSync(file + DIFFERS));
  const { file } = all[index] ?? {};
  if (file === undefined) return undefined;
  const note = file + DIFFERS;
  return { file, note, before: all[index - 1]?.file, text: readFileSync(note, 'utf8').trim().split('\n').join(', ') };
}

/** The file first: what is left without it is not a backup any more, and removed by the next one. */
function removeBackup(place: BackupPlace): void {
  for (const path of [place.database, place.sums, place.bodies]) rmSync(path, { recursive: true, force: true });
}

function removeLeftovers(directory: string): void {
  for (const name of namesIn(directory)) {
    const [, database] = PART.exec(name) ?? [];
    if (database === undefined || existsSync(join(directory, database))) continue;
    // Unless another process is writing it.
    if (isFileLocked(join(directory, `${database}.partial`, 'lock'))) continue;
    rmSync(join(directory, name), { recursive: true, force: true });
  }
}
