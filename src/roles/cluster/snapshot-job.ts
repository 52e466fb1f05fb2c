/** The job that stores a copy of the database in PostgreSQL when the log behind the last one is long: one node does it for all. */
import type { Clock } from '../../base/clock.js';
import { listSnapshots, logBehind, makeSnapshot } from '../../cluster/snapshots.js';
import type { JobKind } from '../../jobs/kind.js';
import type { ClusterMember } from './member.js';

export const SNAPSHOT_JOB = 'cluster_snapshot';

/** The log is looked at so often, more often when it grows. */
const LOOK_MS = 600_000;
const GROWING_MS = 60_000;
/** Of what may be behind a snapshot, the part from which on it is looked at more often. */
const GROWING = 0.1;
const LIMIT_MS = 1_800_000;

export function snapshotJob({ store, log, name }: ClusterMember, dataDir: string, clock: Clock): JobKind {
  return {
    limitMs: LIMIT_MS,
    async handler() {
      const [newest] = await listSnapshots(log.reader);
      const behind = await logBehind(log.reader, newest);
      if (newest === undefined || behind >= 1) {
        const own = log.connect('snapshot');
        await makeSnapshot(store, dataDir, own, name).finally(() => own.close());
      }
      return { againAtMs: clock.nowMs() + (behind > GROWING ? GROWING_MS : LOOK_MS) };
    },
  };
}
