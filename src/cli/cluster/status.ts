/** `zoneplane cluster status`: the log, the nodes and how far they are, and the snapshots. */
import { type Clock, SystemClock } from '../../base/clock.js';
import { withoutPassword } from '../../cluster/address.js';
import { listNodes, type NodeRow, nodesWithout } from '../../cluster/nodes.js';
import { listSnapshots, type Snapshot } from '../../cluster/snapshots.js';
import type { Settings } from '../../config/schema.js';
import { toldBy } from '../../roles/cluster/told.js';
import { stateOf, viewOfNode } from '../../roles/cluster/view.js';
import type { Command, CommandContext } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import type { Terminal } from '../terminal.js';
import { CLUSTER_SETTINGS, withLog } from './connect.js';

interface ClusterStatus {
  readonly postgresql: string;
  readonly cluster: string;
  /** Number of the last entry. */
  readonly last: number;
  readonly nodes: readonly NodeRow[];
  readonly snapshots: readonly Snapshot[];
}

export function addStatus(cluster: Command, { terminal, environment }: CommandContext): void {
  const status = cluster
    .command('status')
    .description('show the log, the nodes and how far they are, and the snapshots; exit 1 if a node is gone or behind')
    .printsJson('zoneplane cluster status', 'zoneplane cluster status --json');
  addSettingOptions(status, CLUSTER_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(status, environment);
    const found = await readStatus(settings, new SystemClock());
    terminal.exitCode = found.nodes.some((node) => stateOf(node, found.last) !== 'follows') ? 1 : 0;
    if (json) terminal.json(viewOf(found));
    else show(found, terminal);
  });
}

function readStatus(settings: Settings, clock: Clock): Promise<ClusterStatus> {
  return withLog(settings, clock, async (log, _own, url) => ({
    postgresql: withoutPassword(url),
    cluster: await log.clusterId(),
    last: await log.head(),
    nodes: await listNodes(log.reader),
    snapshots: await listSnapshots(log.reader),
  }));
}

function viewOf({ nodes, snapshots, last, ...rest }: ClusterStatus): object {
  return {
    ...rest,
    last_entry: last,
    nodes: nodes.map((node) => viewOfNode(node, last)),
    snapshots: snapshots.map(({ number, schema, octets, node, at }) => ({
      entry: number,
      schema,
      octets,
      node,
      made_on: at.toISOString(),
    })),
  };
}

function show({ postgresql, cluster, last, nodes, snapshots }: ClusterStatus, terminal: Terminal): void {
  terminal.print(`cluster    ${cluster}`);
  terminal.print(`log        ${postgresql}, last entry ${last}`);
  terminal.table(
    ['node', 'role', 'state', 'applied', 'lacks', 'version', 'schema', 'last report'],
    nodes.map((node) => [
      node.name,
      node.role,
      stateOf(node, last),
      String(node.applied),
      String(Math.max(0, last - node.applied)),
      node.version,
      String(node.schema),
      `${Math.round(node.ageSeconds)} s ago`,
    ]),
    'No node has reported yet.',
  );
  for (const node of nodes) {
    if (stateOf(node, last) === 'stopped') terminal.print(`${node.name} has stopped: ${toldBy(node).stopped}`);
  }
  const newest = Math.max(...nodes.map(({ knows }) => knows));
  const waitsFor = nodesWithout(nodes, newest).map(({ name }) => name);
  if (nodes.some(({ schema }) => schema < newest) && waitsFor.length > 0) {
    const text = `schema version ${newest} waits until these nodes are upgraded: ${waitsFor.join(', ')}`;
    terminal.print(`${text} (or for \`zoneplane cluster migrate\`)`);
  }
  terminal.table(
    ['snapshot', 'made by', 'at', 'MiB', 'schema'],
    snapshots.map(({ number, node, at, octets, schema }) => [
      String(number),
      node,
      at.toISOString().replace(/\.\d+Z$/, 'Z'),
      (octets / 1024 / 1024).toFixed(1),
      String(schema),
    ]),
    'There is no snapshot.',
  );
}
