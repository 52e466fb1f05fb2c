/** Makes the tables of a cluster in PostgreSQL, and its first node out of a database. */
import { createHash } from 'node:crypto';
import { UserError } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { Store } from '../store/driver.js';
import { EntryRefused } from '../store/failures.js';
import { catchUp } from '../store/log-writer.js';
import { findMeta, putMeta } from '../store/meta.js';
import { schemaVersion } from '../store/migrate.js';
import type { Connection } from './connection.js';
import { isDuplicate } from './postgres-failures.js';
import { addFirstEntry, type ClusterLog } from './postgres-log.js';
import { listSnapshots, makeSnapshot } from './snapshots.js';
import { ADD_CLUSTER, CREATE, FIND_ENTRY, grantsToFollower, LAYOUT } from './statements.js';

export interface InitOptions {
  /** Opened without a log; nobody else writes to it. */
  readonly store: Store;
  readonly dataDir: string;
  readonly log: ClusterLog;
  /** A connection for nothing else. */
  readonly own: Connection;
  readonly node: string;
  readonly random: Random;
}

/**
 * Resolves to the number of the first entry. An interrupted run is completed by the next. Throws a UserError when there is
 * another cluster already.
 */
export async function initCluster(options: InitOptions): Promise<number> {
  const { store, dataDir, log, own, node } = options;
  if ((await log.findClusterId()) === undefined) await create(options);
  const id = await log.clusterId();
  const member = findMeta(store, 'cluster');
  if (member !== id) {
    if ((await listSnapshots(log.reader)).length > 0) throw taken();
    const [entry] = await log.reader.query(FIND_ENTRY, [store.position().number + 1]);
    if (entry?.['id'] !== firstEntryId(store, id)) throw taken();
    await catchUp(store, log).catch((error: unknown) => {
      throw error instanceof EntryRefused ? taken() : error;
    });
  }
  return makeSnapshot(store, dataDir, own, node);
}

async function create({ store, own, node, random }: InitOptions): Promise<void> {
  const id = random.uuid();
  const { value: position, written } = store.capture(() => {
    putMeta(store, 'cluster', id);
    return store.position();
  });
  const { number, id: after } = position;
  await own.query('BEGIN');
  await own.query(CREATE).catch((error: unknown) => {
    throw isDuplicate(error) ? taken() : error;
  });
  await own.query(ADD_CLUSTER, [id, LAYOUT]);
  const first = {
    number: number + 1,
    id: firstEntryId(store, id),
    after,
    schema: schemaVersion(store),
    body: written!,
  };
  await addFirstEntry(own, first, node);
  await own.query('COMMIT');
}

/** The identifier shows which database made the first entry, since all new databases are at the same position. */
function firstEntryId(store: Store, cluster: string): string {
  return createHash('sha256')
    .update(`${findMeta(store, 'installation')} ${cluster}`)
    .digest('hex')
    .slice(0, 32);
}

function taken(): UserError {
  return new UserError(
    'there is a cluster already in this PostgreSQL database, and this node is not in it',
    'To join it, run `zoneplane cluster join` with a data directory without a database. To begin another, use another PostgreSQL database.',
  );
}

/** Lets another role of PostgreSQL follow the log as these nodes, without writing to it. */
export async function allowFollower(own: Connection, role: string, nodes: readonly string[]): Promise<void> {
  await own.query(grantsToFollower(role, nodes));
}
