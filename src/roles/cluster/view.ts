/** What the API says about the cluster. */
import type { Cluster } from '../../api/cluster/schema.js';
import { messageOf } from '../../base/errors.js';
import { GONE_MS, listNodes, type NodeRow } from '../../cluster/nodes.js';
import { listSnapshots } from '../../cluster/snapshots.js';
import { clusterOf } from '../../store/meta.js';
import type { ClusterMember } from './member.js';
import type { Peers } from './peers.js';
import { toldBy } from './told.js';

/** A node that follows may lack what was appended since its last report. */
const MOST_BEHIND = 1000;

export function stateOf(node: NodeRow, last: number): Cluster['nodes'][number]['state'] {
  if (node.ageSeconds * 1000 > GONE_MS) return 'gone';
  if (toldBy(node).stopped !== undefined) return 'stopped';
  return last - node.applied > MOST_BEHIND ? 'behind' : 'follows';
}

/** A node as people and programs see it. */
export function viewOfNode(node: NodeRow, last: number): Cluster['nodes'][number] {
  const { stopped: reason } = toldBy(node);
  return {
    ...{ name: node.name, role: node.role, version: node.version, schema: node.schema, state: stateOf(node, last) },
    applied_entry: node.applied,
    lag_entries: Math.max(0, last - node.applied),
    seconds_since_report: Math.round(node.ageSeconds),
    ...(reason !== undefined && { reason }),
  };
}

/** Does not wait for PostgreSQL when it is known to be away. */
export async function readCluster({ name, store, log, replica }: ClusterMember, peers: Peers): Promise<Cluster> {
  const about = { id: String(clusterOf(store)), node: name };
  const { state, reason, applied } = replica.status();
  const now = { state, ...(reason !== undefined && { reason }) };
  if (state === 'away') return awayOf(about, now, applied, peers);
  try {
    const last = await log.head();
    const nodes = await listNodes(log.reader);
    const [newest] = await listSnapshots(log.reader);
    return {
      ...{ ...about, ...now, last_entry: last, nodes: nodes.map((node) => viewOfNode(node, last)) },
      last_snapshot: newest
        ? {
            ...{ entry: newest.number, schema: newest.schema, octets: newest.octets, node: newest.node },
            made_on: newest.at.toISOString(),
          }
        : null,
    };
  } catch (error) {
    return awayOf(about, { state: 'away', reason: messageOf(error) }, applied, peers);
  }
}

function awayOf(
  about: Pick<Cluster, 'id' | 'node'>,
  now: Pick<Cluster, 'state' | 'reason'>,
  applied: number,
  peers: Peers,
): Cluster {
  const last = Math.max(applied, ...peers.living().map((node) => node.applied));
  const nodes = peers.living().map((node) => viewOfNode(node, last));
  return { ...about, ...now, last_entry: null, nodes, last_snapshot: null };
}
