/** This process as a part of a cluster: its database follows the log, and it tells the other nodes how far it is. */
import { type Clock, sleep } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import { systemRandom } from '../../base/random.js';
import { recoverLost } from '../../cluster/lost-entries.js';
import type { MigrationTime } from '../../cluster/migration.js';
import { claimName } from '../../cluster/nodes.js';
import { isToBeReplaced, type OpenCopy, openCopy } from '../../cluster/open-copy.js';
import type { ClusterLog } from '../../cluster/postgres-log.js';
import { followLog, type Replica } from '../../cluster/replica.js';
import type { Settings } from '../../config/schema.js';
import type { Store } from '../../store/driver.js';
import { nodeName } from './standalone.js';

/** Which part of the service a node is: `all`, or only one. */
export type NodeRole = 'all' | 'dns' | 'edge';

export interface MemberOptions {
  readonly settings: Settings;
  readonly role: NodeRole;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onCommit: () => void;
  /** This process cannot go on with its copy, which a new start replaces. */
  readonly onDiverged: () => void;
}

export interface ClusterMember {
  readonly name: string;
  readonly role: NodeRole;
  readonly url: string;
  readonly store: Store;
  readonly log: ClusterLog;
  readonly replica: Replica;
  /** The copy was replaced by a snapshot: processes that have read it must read all of it again. */
  readonly wasReplaced: boolean;
  /** The log has lost entries that this node had applied: secondaries may have later versions of zones. */
  readonly lostEntries: boolean;
  /** Who has to know of these two knows: see {@link OpenCopy}. */
  readonly noteFollowed: () => void;
  /** Calls `listener` with each notification of PostgreSQL: `up`, `down`, `entry <number>`, `own <number>`, `node <name>`. */
  onNews(listener: (news: string) => void): void;
  samples(): readonly MetricSample[];
  /** Stops following; the store stays open. */
  stop(): Promise<void>;
}

interface CommandCopy {
  readonly onCommit?: () => void;
  readonly appends?: boolean;
  readonly migrates?: MigrationTime;
}

/** The copy of a command, which reads and writes through the log. */
export function openCopyOfCommand(
  settings: Settings,
  url: string,
  clock: Clock,
  logger: Logger,
  { onCommit = () => {}, appends = true, migrates = 'known' }: CommandCopy = {},
): Promise<OpenCopy> {
  return openCopy({
    url,
    dataDir: settings.dataDir,
    node: nodeName(settings),
    clock,
    random: systemRandom,
    logger,
    patienceMs: settings.clusterPatience * 1000,
    onCommit,
    appends,
    migrates,
    // Servers may be using it.
    replaces: false,
  });
}

/** Opens the copy and follows the log. Rejects with a UserError when this node cannot start. */
export async function joinCluster(options: MemberOptions, url: string): Promise<ClusterMember> {
  const { settings, clock, log: logger, role } = options;
  const listeners: ((news: string) => void)[] = [];
  const tell = (news: string): void => {
    for (const listener of listeners) listener(news);
  };
  const name = nodeName(settings);
  const { store, log, recent, wasReplaced, lostEntries, noteFollowed, refusal } = await openCopy({
    url,
    node: name,
    clock,
    random: systemRandom,
    logger,
    dataDir: settings.dataDir,
    patienceMs: settings.clusterPatience * 1000,
    appends: role === 'all',
    replaces: true,
    onCommit: options.onCommit,
    onNews: tell,
    onDown: () => tell('down'),
  });
  try {
    await requireOwnName(log, name);
  } catch (error) {
    store.close();
    await log.close();
    throw error;
  }
  const replica = followLog({
    ...{ store, log, clock, logger, onDiverged: options.onDiverged },
    async isToBeReplaced(found) {
      if (found.reason === 'history') {
        const parts = { store, log, recent, node: name, appends: role === 'all', clock, logger };
        if (await recoverLost(parts)) return false;
      }
      return isToBeReplaced(log, found, refusal);
    },
  });
  listeners.push((news) => {
    if (news === 'up' || isNewEntry(news, store)) replica.wake();
    if (news === 'up') {
      claimAgain(log, name, logger);
      for (const reason of log.reader.connected()?.passedOver ?? [])
        logger.error({ reason }, 'a second PostgreSQL server accepts writes; it is not used');
    }
  });
  return {
    name,
    role,
    url,
    store,
    log,
    replica,
    wasReplaced,
    lostEntries,
    noteFollowed,
    onNews: (listener) => void listeners.push(listener),
    samples: () => samplesOf(replica),
    async stop() {
      await replica.close();
      await log.close();
    },
  };
}

/** Whether the copy lacks the entry of a notification; what this process appends, it applies itself. */
function isNewEntry(news: string, store: Store): boolean {
  const [, number] = /^entry (\d+)$/.exec(news) ?? [];
  return number !== undefined && Number(number) > store.position().number;
}

/** A server may need a moment to notice that the last process of this node is gone. */
const CLAIMS = 4;
const CLAIM_PAUSE_MS = 500;

async function requireOwnName({ reader }: ClusterLog, name: string): Promise<void> {
  for (let claim = 0; claim < CLAIMS; claim++) {
    if (!reader.isUp() || (await claimName(reader, name))) return;
    await sleep(CLAIM_PAUSE_MS);
  }
  throw new UserError(
    `another process takes part in the cluster as node ${name}`,
    'Give each node a name of its own with --node-name or ZONEPLANE_NODE_NAME.',
  );
}

/** The claim ended with the connection. */
function claimAgain({ reader }: ClusterLog, name: string, logger: Logger): void {
  claimName(reader, name).then(
    (isOwn) => {
      if (!isOwn) logger.error({ node: name }, 'another process takes part in the cluster under the name of this node');
    },
    () => {},
  );
}

const STATES = ['following', 'away', 'stopped'] as const;

function samplesOf(replica: Replica): MetricSample[] {
  const { applied, state: current } = replica.status();
  return [
    {
      name: 'cluster_applied_entry',
      type: 'gauge',
      help: 'Number of the last entry of the log that the copy of this node has',
      labels: {},
      value: applied,
    },
    ...STATES.map(
      (state): MetricSample => ({
        name: 'cluster_state',
        type: 'gauge',
        help: 'Whether the copy follows the log, PostgreSQL is away, or the copy has stopped',
        labels: { state },
        value: state === current ? 1 : 0,
      }),
    ),
  ];
}
