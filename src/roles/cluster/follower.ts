/**
 * A node that only serves DNS or the edge: it follows the log of the cluster beside that process, and tells the other nodes how
 * far it is. It writes nothing to the log, so its user in PostgreSQL needs no right to.
 */
import { createLifecycle } from '../../base/lifecycle.js';
import { hearEdges } from '../../certs/deployment.js';
import { createPropagation } from '../../control/kernel/propagation.js';
import { acquireFileLock } from '../../store/file-lock.js';
import { DNS_PURPOSES, printKeys } from '../../vault/delegate.js';
import { hearAcknowledgements, type TransferHearing } from '../process/acknowledgement.js';
import { masterKeysOf } from '../process/control-base.js';
import { dataFile } from '../process/data-directory.js';
import { STATUS_PERIOD_MS } from '../process/limits.js';
import type { RoleContext } from '../process/role.js';
import { explainStoreFailure } from '../process/store-failure.js';
import { joinCluster, type NodeRole } from './member.js';
import { startPeers } from './peers.js';
import { servingDifferences, watchServing } from './serving.js';

export interface Follower {
  /** Resolves when this process must be started anew, so that its copy is replaced. */
  readonly ended: Promise<void>;
  stop(limitMs: number): Promise<boolean>;
}

/**
 * Resolves when the copy is as new as PostgreSQL allows. Undefined when an admin process follows the log for this data
 * directory. Rejects with a UserError when the node cannot start.
 */
export async function startFollower(
  context: RoleContext,
  role: Exclude<NodeRole, 'all'>,
  url: string,
): Promise<Follower | undefined> {
  const { settings, clock, log, version } = context;
  const lock = acquireFileLock(dataFile(settings.dataDir, 'adminLock'));
  if (!lock) return undefined;
  const lifecycle = createLifecycle(clock, log);
  lifecycle.own('lock', lock, (part) => part.release());
  try {
    const ended = Promise.withResolvers<void>();
    let tellCommitted = (): void => {};
    let lookAtServing = (): void => {};
    const onCommit = (): void => {
      tellCommitted();
      lookAtServing();
    };
    const member = await joinCluster({ ...context, role, onCommit, onDiverged: ended.resolve }, url);
    // Nobody has read the copy before this process, which serves it.
    member.noteFollowed();
    lifecycle.own('store', member.store, (part) => part.close());
    lifecycle.own('replica', member, (part) => part.stop());
    for (const difference of servingDifferences(context, member.store)) log.warn(difference);
    lookAtServing = watchServing(member.store, () => {
      log.info('the serving settings of the cluster have changed: this process must be started anew');
      ended.resolve();
    });
    const propagation = createPropagation(clock);
    const edges = hearEdges(member.store, clock);
    const peers = startPeers(
      member,
      { propagation, edges },
      {
        ...{ version, clock, log, dataDir: settings.dataDir },
        answersDns: role === 'dns',
      },
    );
    lifecycle.own('reports of nodes', peers, (part) => part.close());
    const listeners = { ...peers.own, transfers: keysOnly(context) };
    const hearing = await hearAcknowledgements(settings.dataDir, listeners, log, () => lookAtServing());
    lifecycle.own('acknowledgements', hearing, (part) => part.close());
    tellCommitted = hearing.tellCommitted;
    return { ended: ended.promise, stop: (limitMs) => lifecycle.stop(limitMs) };
  } catch (error) {
    await lifecycle.stop(STATUS_PERIOD_MS);
    throw explainStoreFailure(error);
  }
}

/** Signed transfers need keys; where there is a master key, there are some. What would write is left to other nodes. */
function keysOnly(context: RoleContext): TransferHearing {
  const keys = masterKeysOf(context);
  return {
    keys: () => (keys.read() === undefined ? '' : printKeys(keys, DNS_PURPOSES)),
    transferred() {},
    notified() {},
    answer: async () => undefined,
  };
}
