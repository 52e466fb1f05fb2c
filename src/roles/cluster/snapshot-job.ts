/** The job that stores a copy of the database in PostgreSQL from time to time: one node does it for all. */
import type { Clock } from '../../base/clock.js';
import { listSnapshots, makeSnapshot } from '../../cluster/snapshots.js';
import type { JobKind } from '../../jobs/kind.js';
import type { ClusterMember } from './member.js';

export const SNAPSHOT_JOB = 'cluster_snapshot';

/** A node that joins applies no more entries than that after the snapshot. */
const MOST_ENTRIES = 50_000;
const LONGEST_MS = 86_400_000;
const LOOK_MS = 600_000;
const LIMIT_MS = 1_800_000;

export function snapshotJob({ store, log, name }: ClusterMember, dataDir: string, clock: Clock): JobKind {
  return {
    limitMs: LIMIT_MS,
    async handler() {
      const [newest] = await listSnapshots(log.reader);
      const entries = store.position().number - (newest?.number ?? 0);
      const isOld = newest === undefined || clock.nowMs() - newest.at.getTime() > LONGEST_MS;
      if (entries >= MOST_ENTRIES || (isOld && entries > 0)) {
        const own = log.connect('snapshot');
        await makeSnapshot(store, dataDir, own, name).finally(() => own.close());
      }
      return { againAtMs: clock.nowMs() + LOOK_MS };
    },
  };
}
