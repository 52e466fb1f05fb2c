/** When the last node is upgraded, one that runs already migrates the database for all. */

import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { appendMigration } from '../../cluster/migration.js';
import { type NodeRow, nodesWithout } from '../../cluster/nodes.js';
import { schemaVersion } from '../../store/migrate.js';
import { SCHEMA_VERSION } from '../../store/migrations/migration.js';
import type { ClusterMember } from './member.js';

const migrating = new WeakSet<ClusterMember>();

/** Never rejects; the next look at the nodes tries again. */
export function migrateWhenKnown(member: ClusterMember, nodes: readonly NodeRow[], logger: Logger): void {
  const { store, log, replica, role } = member;
  if (role !== 'all' || migrating.has(member) || schemaVersion(store) >= SCHEMA_VERSION) return;
  const isSeen = nodes.some(({ name }) => name === member.name);
  if (!isSeen || nodesWithout(nodes, SCHEMA_VERSION).length > 0 || replica.status().state !== 'following') return;
  migrating.add(member);
  appendMigration({ store, log, random: systemRandom, logger })
    .catch((error: unknown) =>
      logger.warn({ reason: messageOf(error) }, 'the database of the cluster was not migrated'),
    )
    .finally(() => migrating.delete(member));
}
