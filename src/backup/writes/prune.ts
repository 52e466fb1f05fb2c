/** Removes the files of writes that no backup needs any more. */
import { rmSync } from 'node:fs';
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
