/** Brings the database of a backup to a later time, with the log of writes beside it. */
import { UserError } from '../../base/errors.js';
import type { Store } from '../../store/driver.js';
import { EntryRefused } from '../../store/failures.js';
import { endWriteLog, type LoggedWrite, lastLoggedWrite, writeLogSeries } from '../../store/log/write-log.js';
import { clusterOf, deleteMeta, findMeta, putMeta } from '../../store/meta.js';
import { readSegment } from './segment.js';
import { segmentsOf } from './segments.js';

export interface Reached {
  /** The database is as it was then; milliseconds since 1970. */
  readonly reachedMs: number;
  readonly writes: number;
  /** Why there is not all that was wanted; undefined when there is. */
  readonly gap: string | undefined;
}

export interface WantedTime {
  /** Milliseconds since 1970; infinite: all that is in the log. */
  readonly untilMs: number;
  /** The time of the backup. */
  readonly madeAtMs: number;
}

/**
 * `store`: a copy of the backup, which belongs to no history afterwards. `directory`: that of the backup. Throws a UserError when
 * the log has nothing to do with this backup, or the backup is newer than the time.
 */
export async function applyWrites(store: Store, directory: string, wanted: WantedTime): Promise<Reached> {
  if (clusterOf(store) !== undefined) {
    throw new UserError(
      'the backup is of a node of a cluster, which keeps no log of writes beside its backups: theirs is in PostgreSQL',
      'Restore without --as-of. The history of a zone in the dashboard can bring that zone back to any moment without a restoration.',
    );
  }
  const series = writeLogSeries(store);
  const segments = series === undefined ? [] : segmentsOf(directory, series.id);
  if (segments.length === 0) {
    throw new UserError(
      `there is no log of writes beside this backup in ${directory}`,
      'The server keeps one beside the backups that it makes itself (--backup-dir). Without --as-of, the backup is restored as it is.',
    );
  }
  const first = lastLoggedWrite(store) + 1;
  await store.write(() => endWriteLog(store));
  const replay = createReplay(store);
  await replay.begin();
  let next = first;
  let damaged: string | undefined;
  let reachedMs = wanted.madeAtMs;
  const end = async (reason: string | undefined): Promise<Reached> => {
    await replay.end();
    const isReached = reachedMs >= wanted.untilMs;
    return {
      reachedMs: Math.min(reachedMs, wanted.untilMs),
      writes: next - first,
      gap: isReached ? undefined : reason,
    };
  };
  for (const [index, { path }] of segments.entries()) {
    if ((segments[index + 1]?.first ?? Number.POSITIVE_INFINITY) <= next) continue;
    for (const write of readSegment(path)) {
      if (write === 'damaged') {
        damaged = `a write in ${path} is damaged`;
        continue;
      }
      if (write.number < first && write.body.length > 0) {
        if (write.writtenAtMs > wanted.untilMs) throw tooNew(write.writtenAtMs);
      } else if (isGap(write, next)) return end(damaged ?? `write ${next} is missing`);
      else if (write.body.length === 0) reachedMs = Math.max(reachedMs, write.writtenAtMs);
      else if (write.number === next) {
        if (write.writtenAtMs > wanted.untilMs) {
          reachedMs = wanted.untilMs;
          return end(undefined);
        }
        const refusal = replay.run(write);
        if (refusal !== undefined) return end(refusal);
        reachedMs = write.writtenAtMs;
        // What came again is not a loss.
        damaged = undefined;
        next++;
      }
    }
  }
  return end(damaged ?? (wanted.untilMs === Number.POSITIVE_INFINITY ? undefined : 'it ends there'));
}

const isGap = ({ number, body }: LoggedWrite, next: number): boolean => number > next - (body.length === 0 ? 1 : 0);

export function tooNew(madeAtMs: number): UserError {
  return new UserError(
    `the backup is newer than that time: it is of ${new Date(madeAtMs).toISOString()}`,
    'Name an older backup, or the directory with all of them.',
  );
}

/** Writes become entries of a log that begins with them, so that each is checked as in a cluster. */
export function createReplay(store: Store) {
  const names = ['log_number', 'log_id'] as const;
  const former = names.map((name) => findMeta(store, name));
  let count = 0;
  return {
    begin: () => store.write(() => names.forEach((name) => void deleteMeta(store, name))),
    /** Why it cannot be applied; undefined when it was. */
    run({ schema, body }: LoggedWrite): string | undefined {
      const after = count === 0 ? '' : String(count);
      try {
        store.replay({ number: count + 1, id: String(count + 1), after, schema, body });
        count++;
        return undefined;
      } catch (error) {
        if (error instanceof EntryRefused) return error.message;
        throw error;
      }
    },
    end: () =>
      store.write(() => {
        for (const [index, name] of names.entries()) {
          const value = former[index];
          if (value === undefined) deleteMeta(store, name);
          else putMeta(store, name, value);
        }
      }),
  };
}
