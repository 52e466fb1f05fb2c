/** The connections of the commands of a cluster. */
import type { Clock } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import type { Connection } from '../../cluster/connection.js';
import { explainPostgres } from '../../cluster/postgres-failures.js';
import { type ClusterLog, openPostgresLog } from '../../cluster/postgres-log.js';
import { knownServers } from '../../cluster/servers.js';
import type { Settings } from '../../config/schema.js';
import { nodeName } from '../../roles/cluster/standalone.js';

/** Settings that these commands take as flags. */
export const CLUSTER_SETTINGS = ['dataDir', 'cluster', 'nodeName', 'masterKey', 'objects'] as const;

/** The address of PostgreSQL. Throws a UserError when it is not set. */
export function requireClusterUrl({ cluster }: Settings): string {
  if (cluster !== undefined) return cluster;
  throw new UserError(
    'the address of PostgreSQL is not set',
    'Set ZONEPLANE_CLUSTER to its URL, such as postgresql://zoneplane@db.example:5432/zoneplane, or name it with --cluster.',
    2,
  );
}

/** Commands do not wait long for a server that is away. */
const PATIENCE_MS = 5000;

/** Runs `work` with the log and a connection of its own; both are closed afterwards. */
export async function withLog<Result>(
  settings: Settings,
  clock: Clock,
  work: (log: ClusterLog, own: Connection, url: string) => Promise<Result>,
): Promise<Result> {
  const url = requireClusterUrl(settings);
  const node = nodeName(settings);
  const servers = knownServers(settings.dataDir, silentLogger());
  const log = openPostgresLog({ url, node, clock, servers, patienceMs: PATIENCE_MS });
  const own = log.connect('command');
  try {
    return await work(log, own, url);
  } catch (error) {
    throw explainPostgres(error);
  } finally {
    await own.close();
    await log.close();
  }
}
