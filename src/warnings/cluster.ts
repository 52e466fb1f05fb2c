/** Of a cluster and its nodes. Pure. */
import type { Finding } from './finding.js';

const what = 'cluster';

/** A node, as the others know it. */
export interface NodeSeen {
  readonly name: string;
  readonly version: string;
  readonly schema: number;
  readonly state: 'follows' | 'behind' | 'stopped' | 'gone';
  readonly lag_entries: number;
  readonly seconds_since_report: number;
  readonly reason?: string | undefined;
}

export interface ClusterSeen {
  readonly id: string | null;
  readonly state: 'following' | 'away' | 'stopped' | null;
  readonly reason?: string | undefined;
  readonly nodes: readonly NodeSeen[];
}

const COMPLAINTS: Readonly<Record<Exclude<NodeSeen['state'], 'follows'>, (node: NodeSeen) => string>> = {
  gone: ({ name, seconds_since_report: seconds }) => `node ${name} has not reported for ${seconds} s`,
  stopped: ({ name, reason }) => `node ${name} serves its copy and cannot follow: ${reason ?? 'its log says why'}`,
  behind: ({ name, lag_entries: lag }) => `node ${name} lacks ${lag} entries`,
};

/** Nodes that are gone, stopped or behind, and versions that differ. */
export function examineNodes(nodes: readonly NodeSeen[]): Finding[] {
  const remedy = 'See its log; `zoneplane cluster status` shows all nodes.';
  const ill = nodes.flatMap((node): Finding[] => {
    const { state } = node;
    if (state === 'follows') return [];
    const verdict = state === 'stopped' ? 'fail' : 'warn';
    return [{ what, verdict, kind: `node-${state}`, text: COMPLAINTS[state](node), remedy }];
  });
  return [...ill, ...examineVersions(nodes)];
}

/** Nodes of several versions are meant only for the time of an upgrade. */
function examineVersions(nodes: readonly NodeSeen[]): Finding[] {
  const living = nodes.filter(({ state }) => state !== 'gone');
  if (new Set(living.map(({ version, schema }) => `${version} ${schema}`)).size < 2) return [];
  const each = living.map(({ name, version, schema }) => `${name} ${version} (schema ${schema})`).join(', ');
  const text = `the nodes run different versions: ${each}`;
  return [{ what, verdict: 'warn', kind: 'node-versions', text, remedy: 'Upgrade all of them.' }];
}

/** The same, as one of the nodes sees it. */
export function examineClusterSeen({ id, state, reason, nodes }: ClusterSeen): Finding[] {
  if (id === null) return [];
  return [...examineOwn(state, reason === undefined ? '' : `: ${reason}`), ...examineNodes(nodes)];
}

function examineOwn(state: ClusterSeen['state'], why: string): Finding[] {
  if (state === 'following') return [];
  if (state === 'away') {
    const text = `PostgreSQL cannot be reached from this node${why}`;
    const remedy = 'DNS and reads go on; changes wait for it.';
    return [{ what, verdict: 'warn', kind: 'cluster-away', text, remedy }];
  }
  const remedy = 'It answers with what it has, and takes no changes. Run `zoneplane doctor` on its machine.';
  const text = `this node has stopped following the others${why}`;
  return [{ what, verdict: 'fail', kind: 'cluster-stopped', text, remedy }];
}
