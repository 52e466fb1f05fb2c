/** What somebody should look at in a cluster: for the overview and `doctor`. Pure. */
import type { Cluster } from './schema.js';

type Node = Cluster['nodes'][number];

export interface ClusterNotice {
  readonly code: 'node-gone' | 'node-stopped' | 'node-behind' | 'node-versions' | 'cluster-away' | 'cluster-stopped';
  readonly text: string;
  readonly remedy: string;
}

const COMPLAINTS: Readonly<Record<Exclude<Node['state'], 'follows'>, (node: Node) => string>> = {
  gone: ({ name, seconds_since_report: seconds }) => `node ${name} has not reported for ${seconds} s`,
  stopped: ({ name, reason }) => `node ${name} serves its copy and cannot follow: ${reason ?? 'its log says why'}`,
  behind: ({ name, lag_entries: lag }) => `node ${name} lacks ${lag} entries`,
};

/** Nodes that are gone, stopped or behind, and versions that differ. */
export function noticesOfNodes(nodes: readonly Node[]): ClusterNotice[] {
  const remedy = 'See its log; `zoneplane cluster status` shows all nodes.';
  const ill = nodes.flatMap((node): ClusterNotice[] =>
    node.state === 'follows' ? [] : [{ code: `node-${node.state}`, text: COMPLAINTS[node.state](node), remedy }],
  );
  return [...ill, ...noticesOfVersions(nodes)];
}

/** Nodes of several versions are meant only for the time of an upgrade. */
function noticesOfVersions(nodes: readonly Node[]): ClusterNotice[] {
  const living = nodes.filter(({ state }) => state !== 'gone');
  if (new Set(living.map(({ version, schema }) => `${version} ${schema}`)).size < 2) return [];
  const each = living.map(({ name, version, schema }) => `${name} ${version} (schema ${schema})`).join(', ');
  return [{ code: 'node-versions', text: `the nodes run different versions: ${each}`, remedy: 'Upgrade all of them.' }];
}

/** The same, as one of the nodes sees it. */
export function noticesOfCluster({ id, state, reason, nodes }: Cluster): ClusterNotice[] {
  if (id === null) return [];
  const why = reason === undefined ? '' : `: ${reason}`;
  const own: ClusterNotice[] =
    state === 'away'
      ? [
          {
            code: 'cluster-away',
            text: `PostgreSQL cannot be reached from this node${why}`,
            remedy: 'DNS and reads go on; changes wait for it.',
          },
        ]
      : state === 'following'
        ? []
        : [
            {
              code: 'cluster-stopped',
              text: `this node has stopped following the others${why}`,
              remedy: 'It answers with what it has, and takes no changes. Run `zoneplane doctor` on its machine.',
            },
          ];
  return [...own, ...noticesOfNodes(nodes)];
}
