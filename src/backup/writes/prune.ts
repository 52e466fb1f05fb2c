/** Removes the files of writes that no backup needs any more. */
import { rmSync, statSync } from 'node:fs';
import { openStoreFile, type Store } from '../../store/driver.js';
import { lastLoggedWrite, writeLogSeries } from '../../store/log/write-log.js';
import { allSegments } from './segments.js';

/** `backups`: all that are kept. `store`: the database whose writes are kept now. */
export function pruneWrites(directory: string, backups: readonly string[], store: Store): void {
  const oldest = new Map<string, number>();
  const current = writeLogSeries(store);
  if (current) oldest.set(current.id, Number.POSITIVE_INFINITY);
  for (const backup of backups) {
    const position = positionOf(backup);
    if (position) oldest.set(position.id, Math.min(position.number, oldest.get(position.id) ?? position.number));
  }
  const segments = allSegments(directory);
  for (const segment of segments) {
    const needed = oldest.get(segment.series);
    const next = segments.find(({ series, first }) => series === segment.series && first > segment.first);
    const isNeeded = needed !== undefined && (next === undefined || next.first > needed + 1);
    if (!isNeeded) rmSync(segment.path, { force: true });
  }
}

/** Files of writes may take so many times the octets of the database, and at least so many. */
const TIMES_DATABASE = 10;
const LEAST_LIMIT = 1 << 30;

/** The most octets of all files of writes, for a database of this size. */
export function mostOctetsOfWrites(databaseOctets: number): number {
  return Math.max(LEAST_LIMIT, TIMES_DATABASE * databaseOctets);
}

/**
 * Removes the oldest files of writes until all together take no more octets. Backups that need them can then be brought to fewer
 * moments. Returns how many were removed.
 */
export function limitWrites(directory: string, most: number): number {
  const files = allSegments(directory)
    .map(({ path }) => ({ path, ...statSync(path) }))
    .toSorted((a, b) => a.mtimeMs - b.mtimeMs);
  let octets = files.reduce((sum, { size }) => sum + size, 0);
  let removed = 0;
  for (const { path, size } of files) {
    if (octets <= most) break;
    rmSync(path, { force: true });
    octets -= size;
    removed++;
  }
  return removed;
}

/** How far the history of a backup goes; undefined where it has none. */
function positionOf(backup: string): { readonly id: string; readonly number: number } | undefined {
  const store = openStoreFile(backup, { readonly: true });
  try {
    const series = writeLogSeries(store);
    return series && { id: series.id, number: lastLoggedWrite(store) };
  } finally {
    store.close();
  }
}
