/**
 * Compares a backup with the previous one plus the writes since. This finds rows of the running database that changed without a
 * write, for example on a failing disk, and costs writers nothing.
 */
import { constants, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.js';
import { DATABASE_FILE, openStore, openStoreFile, type Store } from '../../store/driver.js';
import { differencesBetween, type LeftOut } from '../../store/log/compare-copies.js';
import {
  endWriteLog,
  type LoggedWrite,
  lastLoggedWrite,
  writeLogSeries,
  writesOnTheirWay,
} from '../../store/log/write-log.js';
import { openDraft } from '../draft.js';
import { createReplay } from './apply.js';
import { readSegment } from './segment.js';
import { segmentsOf } from './segments.js';

/** The result of the comparison. */
export type Compared =
  | { readonly result: 'same' }
  /** `differences`: in words. */
  | { readonly result: 'different'; readonly differences: readonly string[] }
  /** The backups cannot be compared. */
  | { readonly result: 'unknown'; readonly reason: string };

/** Rows that are particular to one copy. */
const LEFT_OUT: LeftOut = {
  meta: "r.name IN ('backup_made_at', 'log_number', 'log_id')",
  write_log: '',
  write_log_series: '',
  // A statement that changes no row is not logged, but may change this table.
  sqlite_sequence: '',
  sqlite_stat1: '',
  sqlite_stat4: '',
};

/** Octets of writes that are read at once. */
const AT_ONCE = 16 << 20;

/** `before` and `now`: the files of two backups in the directory with the log of writes. Leaves both as they are. */
export async function compareWithBefore(before: string, now: string, directory: string): Promise<Compared> {
  const path = `${now}.compared`;
  const draft = openDraft(path, [path]);
  try {
    const copy = join(draft.path, DATABASE_FILE);
    copyFileSync(before, copy, constants.COPYFILE_FICLONE);
    return await compare(draft.path, copy, now, directory);
  } catch (error) {
    return { result: 'unknown', reason: messageOf(error) };
  } finally {
    draft.discard();
  }
}

async function compare(draft: string, copy: string, now: string, directory: string): Promise<Compared> {
  const newer = openStoreFile(now, { readonly: true });
  try {
    const store = openStore(draft, { isCopy: true });
    try {
      const [own, other] = [writeLogSeries(store), writeLogSeries(newer)];
      if (own?.id === undefined || own.id !== other?.id) {
        return { result: 'unknown', reason: 'the log of writes began anew between the two backups' };
      }
      const failure = await replayAll(store, newer, directory, own.id);
      if (failure) return failure;
      store.checkpoint();
    } finally {
      store.close();
    }
  } finally {
    newer.close();
  }
  const differences = differencesBetween(copy, now, LEFT_OUT).map(
    ({ table, rows, numbers }) =>
      `${rows === 1 ? '1 row' : `${rows} rows`} of the table ${table}${numbers.length === 0 ? '' : ` (${numbers.join(', ')}${rows > numbers.length ? ', …' : ''})`}`,
  );
  return differences.length === 0 ? { result: 'same' } : { result: 'different', differences };
}

/** Applies the writes since to the older copy; returns why that is impossible. */
async function replayAll(store: Store, newer: Store, directory: string, series: string): Promise<Compared | undefined> {
  const last = lastLoggedWrite(newer);
  let next = lastLoggedWrite(store) + 1;
  await store.write(() => endWriteLog(store));
  const replay = createReplay(store);
  await replay.begin();
  for (const write of writesFrom(next, last, directory, series, newer)) {
    if (write.number !== next) continue;
    const refusal = replay.run(write);
    if (refusal !== undefined) return { result: 'different', differences: [`what write ${next} changed: ${refusal}`] };
    next++;
  }
  await replay.end();
  if (next <= last) return { result: 'unknown', reason: `write ${next} is missing from the log` };
  return undefined;
}

/** Writes from the files, and then those that the newer copy itself contains. Some may come twice. */
function* writesFrom(
  first: number,
  last: number,
  directory: string,
  series: string,
  newer: Store,
): Generator<LoggedWrite> {
  const segments = segmentsOf(directory, series);
  for (const [index, { path }] of segments.entries()) {
    if ((segments[index + 1]?.first ?? Number.POSITIVE_INFINITY) <= first) continue;
    for (const write of readSegment(path)) {
      if (write !== 'damaged' && write.body.length > 0 && write.number <= last) yield write;
    }
  }
  for (let after = first - 1; ; ) {
    const some = writesOnTheirWay(newer, after, AT_ONCE);
    yield* some;
    const end = some.at(-1)?.number;
    if (end === undefined) return;
    after = end;
  }
}
