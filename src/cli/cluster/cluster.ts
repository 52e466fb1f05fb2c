/** `zoneplane cluster`: several nodes that share a log in PostgreSQL. */
import { type Clock, SystemClock } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { moveBodies } from '../../bucket/bodies/combined-blobs.js';
import { compareBodies } from '../../bucket/bodies/compare.js';
import { withoutPassword } from '../../cluster/address.js';
import { allowFollower, initCluster } from '../../cluster/init.js';
import { removeNode } from '../../cluster/nodes.js';
import { otherCluster } from '../../cluster/open-copy.js';
import { forgetServers } from '../../cluster/servers.js';
import { listSnapshots, makeSnapshot } from '../../cluster/snapshots.js';
import type { LoadedSettings } from '../../config/load.js';
import type { Settings } from '../../config/schema.js';
import { openCopyOfCommand } from '../../roles/cluster/member.js';
import { SERVING_REMEDY, servingDifferences } from '../../roles/cluster/serving.js';
import { nodeName, requireNoCluster } from '../../roles/cluster/standalone.js';
import { ensureAdministrator } from '../../roles/first-run.js';
import { lockDataDirectory } from '../../roles/lock.js';
import { createControlBase, masterKeysOf } from '../../roles/process/control-base.js';
import { findDataDirectory, hasDatabase, prepareDataDirectory } from '../../roles/process/data-directory.js';
import { openBodies, requireBodies } from '../../roles/services/object-bodies.js';
import { openStore, type Store } from '../../store/driver.js';
import { clusterOf, findMeta, leaveCluster } from '../../store/meta.js';
import { migrate } from '../../store/migrate.js';
import { unlockVault } from '../../vault/unlock.js';
import { type Command, type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import { CLUSTER_SETTINGS, requireClusterUrl, withLog } from './connect.js';
import { addLost } from './lost.js';
import { addMigrate } from './migrate.js';
import { addRoles, type FollowerOptions, type FollowerRole, followerOf, nodesOption } from './roles.js';
import { addSettings } from './serving.js';
import { addStatus } from './status.js';

export function addClusterCommands(program: Command, context: CommandContext): void {
  const cluster = program.command('cluster');
  addInit(cluster, context);
  addJoin(cluster, context);
  addLeave(cluster, context);
  addStatus(cluster, context);
  addSnapshot(cluster, context);
  addRoles(cluster, context);
  addMigrate(cluster, context);
  addLost(cluster, context);
  addSettings(cluster, context);
}

interface InitOptions extends FollowerOptions {
  readonly json?: boolean;
}

function addInit(cluster: Command, { terminal, environment }: CommandContext): void {
  const init = cluster
    .command('init')
    .description('begin a cluster: make its tables in PostgreSQL, and the first node out of this data directory')
    .option(
      '--follower <role>',
      'a role of PostgreSQL for nodes that only serve DNS or the edge: it may read the log, not write to it',
    )
    .addOption(nodesOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane cluster init --cluster postgresql://zoneplane@db.example/zoneplane')}

The server must not run meanwhile. Everything in the data directory becomes that of all nodes. The PostgreSQL
database must exist; the tables go into a schema called zoneplane. Run it again with --follower and --nodes to
let another role follow; the server may run then.`,
    );
  addSettingOptions(init, [...CLUSTER_SETTINGS, 'adminEmail', 'adminKey']).action(async (options: InitOptions) => {
    const follower = followerOf(options);
    const loaded = loadCommandSettings(init, environment);
    const { settings } = loaded;
    const clock = new SystemClock();
    requireClusterUrl(settings);
    const directory = prepareDataDirectory(settings.dataDir).path;
    const member = clusterIn(directory);
    if (member !== undefined && (await isBegun({ ...settings, dataDir: directory }, clock, member, follower))) {
      if (options.json) terminal.json({ node: nodeName(settings), follower: options.follower ?? null });
      else terminal.print(`${directory} is in the cluster already`);
      if (follower && !options.json)
        terminal.print(`${follower.role} may follow the log as ${follower.nodes.join(', ')}`);
      return;
    }
    const lock = lockDataDirectory(directory, 'adminLock');
    const store = openStore(directory);
    try {
      const key = await makeInstallation(store, loaded, clock);
      const moved = await moveFiles(store, { ...settings, dataDir: directory });
      const node = nodeName(settings);
      const [number, url] = await withLog(settings, clock, async (log, own, address) => {
        const first = await initCluster({ store, dataDir: directory, log, own, node, random: systemRandom });
        if (follower) await allowFollower(own, follower.role, follower.nodes);
        return [first, address];
      });
      if (options.json) terminal.json({ cluster: findMeta(store, 'cluster'), node, entry: number });
      else {
        terminal.print(`the cluster in ${withoutPassword(url)} begins with ${directory} (node ${node})`);
        if (moved > 0) terminal.print(`${moved} bodies of objects that were files are on S3 now`);
        if (key !== undefined) terminal.print(`the key of the first administrator is in ${key}`);
        terminal.print('Start this node with the same --cluster; then run `zoneplane cluster join` on the others.');
        terminal.print(
          'All nodes with the admin API need the same master key: copy master.key, or set ZONEPLANE_MASTER_KEY.',
        );
      }
    } finally {
      store.close();
      lock.release();
    }
  });
}

/** The identifier of the cluster to which a data directory belongs. */
function clusterIn(directory: string): string | undefined {
  if (!hasDatabase(directory)) return undefined;
  const store = openStore(directory, { readonly: true });
  try {
    const id = clusterOf(store);
    return id === undefined ? undefined : String(id);
  } finally {
    store.close();
  }
}

/** Whether nothing is left to do but to let a role follow, which is then done. */
function isBegun(
  settings: Settings,
  clock: Clock,
  member: string,
  follower: FollowerRole | undefined,
): Promise<boolean> {
  return withLog(settings, clock, async (log, own) => {
    const id = await log.clusterId();
    if (id !== member) throw otherCluster(settings.dataDir, member, id);
    if ((await listSnapshots(log.reader)).length === 0) return false;
    if (follower) await allowFollower(own, follower.role, follower.nodes);
    return true;
  });
}

/**
 * An installation that does not exist yet gets its first administrator and its master key, as at a first start. Returns the
 * file of the administrator's key if it was generated.
 */
async function makeInstallation(store: Store, loaded: LoadedSettings, clock: Clock): Promise<string | undefined> {
  migrate(store, clock, systemRandom);
  const base = createControlBase(loaded.settings, store, clock, silentLogger());
  const { initialKeyFile } = await ensureAdministrator(base, loaded.settings, false);
  await unlockVault({ store, keys: masterKeysOf(loaded), random: systemRandom, purposes: ['check'] });
  return initialKeyFile;
}

/** Bodies that are files on one machine are moved to S3, and refused without it. Returns how many were moved. */
async function moveFiles(store: Store, settings: Settings): Promise<number> {
  await requireBodies(settings, silentLogger());
  const { files, shared } = await openBodies(settings, silentLogger());
  if (shared) return moveBodies(store, files, shared).finally(() => shared.close());
  const { bodies } = await compareBodies(store, files);
  if (bodies === 0) return 0;
  throw new UserError(
    `${bodies} object${bodies === 1 ? '' : 's'} of buckets ${bodies === 1 ? 'is a file' : 'are files'} of this machine, which other nodes would not have`,
    'Set ZONEPLANE_OBJECTS to a bucket on S3, to which they are moved, or delete the objects of more than 64 KiB first.',
  );
}

function addJoin(cluster: Command, { terminal, environment }: CommandContext): void {
  const join = cluster
    .command('join')
    .description('make this machine a node: fetch the database of the cluster into an empty data directory')
    .option('--follower', 'the node will serve only DNS or the edge, so it needs no master key')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane cluster join --cluster postgresql://zoneplane@db.example/zoneplane --node-name ns2')}

First copy master.key from another node into the data directory (mode 0600), or set ZONEPLANE_MASTER_KEY.
Then start the node with the same settings.`,
    );
  addSettingOptions(join, CLUSTER_SETTINGS).action(async (options: { follower?: boolean; json?: boolean }) => {
    const loaded = loadCommandSettings(join, environment);
    const { settings } = loaded;
    const url = requireClusterUrl(settings);
    const directory = prepareDataDirectory(settings.dataDir).path;
    if (hasDatabase(directory)) {
      throw new UserError(
        `there is a database in ${directory} already`,
        'A node begins with the database of the cluster: use an empty data directory.',
      );
    }
    if (!options.follower) requireMasterKey(loaded);
    const lock = lockDataDirectory(directory, 'adminLock');
    try {
      const { store, log, refusal } = await openCopyOfCommand(settings, url, new SystemClock(), silentLogger(), {
        appends: !options.follower,
      });
      const { number } = store.position();
      const differences = servingDifferences(loaded, store);
      store.close();
      await log.close();
      const node = nodeName(settings);
      if (options.json) terminal.json({ node, entry: number });
      else
        terminal.print(
          `node ${node} has the database of the cluster up to entry ${number}; start it with the same settings`,
        );
      if (refusal) terminal.complain(`It serves, but cannot follow the log: ${refusal.message}`);
      for (const difference of differences) terminal.complain(`${difference}. ${SERVING_REMEDY}`);
    } finally {
      lock.release();
    }
  });
}

function requireMasterKey(loaded: LoadedSettings): void {
  const { place, read } = masterKeysOf(loaded);
  if (read() !== undefined) return;
  throw new UserError(
    `the master key ${place} is missing`,
    'Copy master.key from another node (mode 0600), or set ZONEPLANE_MASTER_KEY. A node that serves only DNS or the edge joins with --follower.',
  );
}

function addLeave(cluster: Command, { terminal, environment }: CommandContext): void {
  const leave = cluster
    .command('leave')
    .description('make this data directory one of its own again; the other nodes go on without it')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane cluster leave --cluster postgresql://zoneplane@db.example/zoneplane')}

The server must not run meanwhile. The database stays whole; it can be served without --cluster, but not join again.`,
    );
  addSettingOptions(leave, CLUSTER_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(leave, environment);
    const directory = findDataDirectory(settings.dataDir);
    const lock = lockDataDirectory(directory, 'adminLock');
    const store = openStore(directory);
    try {
      if (findMeta(store, 'cluster') === undefined) throw new UserError('this data directory belongs to no cluster');
      await store.write(() => leaveCluster(store));
      requireNoCluster(store);
      forgetServers(directory);
      const node = nodeName(settings);
      const isTold = settings.cluster !== undefined && (await forget(settings, node));
      if (json) terminal.json({ node, told: isTold });
      else terminal.print(`${directory} belongs to no cluster any more`);
      if (!isTold && !json) terminal.print('PostgreSQL was not told; the other nodes notice within 15 seconds.');
    } finally {
      store.close();
      lock.release();
    }
  });
}

async function forget(settings: Settings, node: string): Promise<boolean> {
  try {
    await withLog(settings, new SystemClock(), (_log, own) => removeNode(own, node));
    return true;
  } catch {
    // It is only a courtesy.
    return false;
  }
}

function addSnapshot(cluster: Command, { terminal, environment }: CommandContext): void {
  const snapshot = cluster
    .command('snapshot')
    .description('store a copy of the database in PostgreSQL now, from which nodes begin, and remove old entries')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane cluster snapshot')}

Nodes make one by themselves when the log behind the last one has grown to 1 MiB, or to an eighth of a larger database, 64 MiB
at most. The last two are kept, and the entries behind them, at least seven days.`,
    );
  addSettingOptions(snapshot, CLUSTER_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(snapshot, environment);
    const clock = new SystemClock();
    const url = requireClusterUrl(settings);
    const directory = findDataDirectory(settings.dataDir);
    const { store, log } = await openCopyOfCommand(settings, url, clock, silentLogger());
    try {
      const number = await withLog(settings, clock, (_log, own) =>
        makeSnapshot(store, directory, own, nodeName(settings)),
      );
      if (json) terminal.json({ entry: number });
      else terminal.print(`the snapshot includes everything up to entry ${number}`);
    } finally {
      await log.close();
      store.close();
    }
  });
}
