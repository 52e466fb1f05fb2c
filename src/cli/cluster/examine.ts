/** What `doctor` says about a cluster: PostgreSQL, the nodes, and the last snapshot. */
import type { Clock } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import { listNodes } from '../../cluster/nodes.js';
import { readDurability } from '../../cluster/postgres-log.js';
import { listSnapshots } from '../../cluster/snapshots.js';
import type { Settings } from '../../config/schema.js';
import { openStore } from '../../store/driver.js';
import { clusterOf } from '../../store/meta.js';
import type { Finding } from '../operations/finding.js';
import { withLog } from './connect.js';
import { stateOf } from './status.js';

const what = 'cluster';
/** A snapshot is made every day. */
const OLD_MS = 3 * 86_400_000;

/** Nothing where there is neither a cluster nor a setting for one. The data directory has a database. */
export async function examineCluster(settings: Settings, clock: Clock): Promise<Finding[]> {
  const own = idIn(settings.dataDir);
  if (settings.cluster === undefined) {
    if (own === undefined) return [];
    const text = 'the database belongs to a cluster, but ZONEPLANE_CLUSTER is not set';
    return [{ what, verdict: 'fail', text, remedy: 'Set it, or run `zoneplane cluster leave`.' }];
  }
  try {
    return await withLog(settings, clock, async (log) => {
      const id = await log.clusterId();
      if (own !== id) {
        const text = `the database belongs to ${own === undefined ? 'no cluster' : 'another cluster'}`;
        return [{ what, verdict: 'fail', text, remedy: 'Check ZONEPLANE_CLUSTER and the data directory.' } as const];
      }
      const last = await log.head();
      const lagging = (await listNodes(log.reader)).filter((node) => stateOf(node, last) !== 'follows');
      return [
        { what, verdict: 'ok', text: `PostgreSQL answers; the last entry of its log is ${last}` } as const,
        ...lagging.map((node): Finding => {
          const state = stateOf(node, last);
          const text =
            state === 'gone'
              ? `node ${node.name} has not reported for ${Math.round(node.ageSeconds)} s`
              : `node ${node.name} lacks ${last - node.applied} entries`;
          return { what, verdict: 'warn', text, remedy: 'See its log; `zoneplane cluster status` shows all nodes.' };
        }),
        ...(await examineDurability(log.reader)),
        ...examineSnapshots(await listSnapshots(log.reader), clock),
      ];
    });
  } catch (error) {
    const remedy =
      error instanceof UserError && error.remedy ? error.remedy : 'DNS and reads go on; writes wait for it.';
    return [{ what, verdict: 'fail', text: messageOf(error), remedy }];
  }
}

function idIn(dataDir: string) {
  const store = openStore(dataDir, { readonly: true });
  try {
    return clusterOf(store);
  } finally {
    store.close();
  }
}

async function examineDurability(reader: Parameters<typeof readDurability>[0]): Promise<Finding[]> {
  const { syncs, standbys, waitsForStandby } = await readDurability(reader);
  const findings: Finding[] = [];
  if (!syncs) {
    const text = 'PostgreSQL runs with fsync off: a power failure loses what was acknowledged';
    findings.push({ what, verdict: 'warn', text, remedy: 'Set fsync = on there.' });
  }
  if (standbys > 0 && !waitsForStandby) {
    const text = 'PostgreSQL does not wait for its standby: a failover loses the last writes';
    findings.push({ what, verdict: 'warn', text, remedy: 'Set synchronous_standby_names there.' });
  }
  return findings;
}

function examineSnapshots([newest]: readonly { readonly at: Date }[], clock: Clock): Finding[] {
  if (newest && clock.nowMs() - newest.at.getTime() < OLD_MS) return [];
  const text = newest ? `the newest snapshot is from ${newest.at.toISOString()}` : 'there is no snapshot';
  return [
    {
      what,
      verdict: 'warn',
      text,
      remedy: 'See the job with `zoneplane job list`, or run `zoneplane cluster snapshot`.',
    },
  ];
}
