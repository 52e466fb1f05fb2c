/** What the admin process hears from the other processes and nodes, and tells them. */
import type { ApiOptions } from '../api/server.js';
import type { Lifecycle } from '../base/lifecycle.js';
import type { MetricSample } from '../base/metrics.js';
import { hearEdges } from '../certs/deployment.js';
import type { FlattenRefresher } from '../control/flatten/refresher.js';
import type { ContextBase } from '../control/kernel/context.js';
import type { Propagation } from '../control/kernel/propagation.js';
import { watchOwnChanges } from '../hostnames/own-changes.js';
import type { Runner } from '../jobs/runner.js';
import { type ActivityReport, parseReport } from '../observe/report.js';
import type { Vault } from '../vault/vault.js';
import type { ClusterMember } from './cluster/member.js';
import { startPeers } from './cluster/peers.js';
import { readCluster } from './cluster/view.js';
import { hearAcknowledgements } from './process/acknowledgement.js';
import { masterKeysOf } from './process/control-base.js';
import type { RoleContext } from './process/role.js';
import { startNotifications } from './services/notifications.js';

export interface HearingOptions extends RoleContext {
  /** Whether the DNS process runs separately: readiness then covers only this process. */
  readonly dnsApart?: boolean;
  /** Called when the content of the database was replaced, so that the other processes must read all of it again. */
  readonly onReplaced?: () => void;
}

interface HearingParts {
  readonly base: ContextBase;
  readonly vault: Vault;
  readonly propagation: Propagation;
  /** Called with what DNS processes were asked. */
  readonly onReport: (report: ActivityReport) => void;
  readonly refresher: FlattenRefresher;
  readonly runner: Runner;
  /** Further functions to call after each commit. */
  readonly looks: readonly (() => void)[];
  readonly lifecycle: Lifecycle;
  readonly member: ClusterMember | undefined;
}

interface Hearing {
  /** Functions to call after each commit. */
  readonly afterCommit: readonly (() => void)[];
  /** Parts with further metrics. */
  readonly parts: readonly { samples(): readonly MetricSample[] }[];
  /** What the API needs in a cluster. */
  readonly ofCluster: Pick<ApiOptions, 'copy' | 'readCluster'>;
  /** Names of the living nodes; undefined outside of clusters. */
  readonly living: (() => ReadonlySet<string>) | undefined;
}

/** Listens to the other processes and, in a cluster, to the other nodes; notifies peers, and answers dynamic updates. */
export async function hearProcesses(
  options: HearingOptions,
  { base, vault, propagation, onReport, refresher, runner, looks, lifecycle, member }: HearingParts,
): Promise<Hearing> {
  const { settings, clock, log, version } = options;
  const edges = hearEdges(base.store, clock);
  if (member?.wasReplaced) {
    options.onReplaced?.();
    member.noteFollowed();
  }
  const peers =
    member &&
    startPeers(
      member,
      { propagation, edges },
      {
        ...{ version, clock, log, dataDir: settings.dataDir },
        answersDns: !options.dnsApart,
      },
    );
  if (peers) lifecycle.own('reports of nodes', peers, (part) => part.close());
  const transfers = startNotifications({ base, vault, propagation, masterKeys: masterKeysOf(options) });
  lifecycle.own('notifications', transfers, (part) => part.close());
  const ownChanges = lifecycle.own('hostname watch', watchOwnChanges(base), (part) => part.close());
  const wakes = [refresher.wake, ownChanges.wake, runner.wake];
  const afterCommit = [...wakes, edges.noteChanges, transfers.wake, ...looks];
  const observed = (line: string): void => {
    const report = parseReport(line);
    if (report) onReport(report);
  };
  const listeners = { ...(peers?.own ?? { propagation, edges }), transfers, observed };
  const hearing = await hearAcknowledgements(settings.dataDir, listeners, log, () => {
    for (const run of afterCommit) run();
  });
  lifecycle.own('acknowledgements', hearing, (part) => part.close());
  return {
    afterCommit: [hearing.tellCommitted, ...afterCommit],
    parts: [transfers, ...(member && peers ? [member, peers] : [])],
    living: member && peers && (() => new Set([member.name, ...peers.living().map(({ name }) => name)])),
    ofCluster: member && peers ? { copy: member.replica, readCluster: () => readCluster(member, peers) } : {},
  };
}
