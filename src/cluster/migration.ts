/**
 * The schema of a cluster: it is that of the log, and all nodes migrate at the same entry. An upgrade goes node by node: programs
 * work with the schema before their own as long as another node does not know the newer one.
 */
import { UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Random } from '../base/random.js';
import type { Store } from '../store/driver.js';
import { catchUp } from '../store/log-writer.js';
import { oldestUsable, schemaVersion } from '../store/migrate.js';
import { SCHEMA_VERSION } from '../store/migrations/migration.js';
import { migrationTo } from '../store/recording.js';
import { listNodes, nodesWithout } from './nodes.js';
import type { ClusterLog } from './postgres-log.js';

export interface MigrationParts {
  readonly store: Store;
  readonly log: ClusterLog;
  readonly random: Random;
  readonly logger: Logger;
}

/** `known`: as soon as all live nodes know the schema, or this program cannot work without it. `now`: others stop writing. */
export type MigrationTime = 'known' | 'now';

/**
 * Migrates the cluster to the schema of this program if it is time. Throws a UserError when this program does not work with the
 * present one, and may not migrate.
 */
export async function migrateCluster(parts: MigrationParts, appends: boolean, time: MigrationTime): Promise<void> {
  const schema = schemaVersion(parts.store);
  if (schema >= SCHEMA_VERSION) return;
  const canWait = schema >= oldestUsable();
  if (!appends) {
    if (canWait) return;
    throw new UserError(
      `the database of the cluster has schema version ${schema}, and this program needs ${oldestUsable()}`,
      'Upgrade the nodes that run the admin API first.',
    );
  }
  const waitsFor = nodesWithout(await listNodes(parts.log.reader), SCHEMA_VERSION);
  if (time === 'known' && canWait && waitsFor.length > 0) {
    const nodes = waitsFor.map(({ name }) => name);
    parts.logger.info({ schema, to: SCHEMA_VERSION, nodes }, 'the database is migrated when all nodes are upgraded');
    return;
  }
  await appendMigration(parts);
}

/** Appends the migration to this program's schema, unless another node was first. */
export async function appendMigration({ store, log, random, logger }: MigrationParts): Promise<void> {
  const turn = await log.takeTurn?.(true);
  try {
    while (schemaVersion(store) < SCHEMA_VERSION) {
      const schema = schemaVersion(store);
      const { number, id: after } = store.position();
      logger.info({ from: schema, to: SCHEMA_VERSION }, 'the database of the cluster is migrated');
      await log.append({ number: number + 1, id: random.uuid(), after, schema, body: migrationTo(SCHEMA_VERSION) });
      await catchUp(store, log);
    }
  } finally {
    turn?.end();
  }
}
