/** What `doctor` says about a cluster: PostgreSQL, the nodes, and the last snapshot. */
import { type Clock, sleep } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import type { Connection } from '../../cluster/connection.js';
import { lostFiles } from '../../cluster/lost-entries.js';
import { listNodes } from '../../cluster/nodes.js';
import { findHolders, readServerFacts, type ServerFacts } from '../../cluster/server-facts.js';
import { listSnapshots, logBehind } from '../../cluster/snapshots.js';
import type { LoadedSettings } from '../../config/load.js';
import { SERVING_REMEDY, servingDifferences } from '../../roles/cluster/serving.js';
import { viewOfNode } from '../../roles/cluster/view.js';
import { openStore } from '../../store/driver.js';
import { LogUnavailable } from '../../store/failures.js';
import { clusterOf } from '../../store/meta.js';
import { examineNodes } from '../../warnings/cluster.js';
import type { Finding } from '../../warnings/finding.js';
import { withLog } from './connect.js';

const what = 'cluster';
/** Something keeps snapshots from being made when the log behind the last one is so many times as long as it should be. */
const LONG = 4;
/** Clocks that are apart by more are not synchronized. */
const MOST_APART_S = 10;

/** Nothing where there is neither a cluster nor a setting for one. The data directory has a database. */
export async function examineCluster(loaded: LoadedSettings, clock: Clock): Promise<Finding[]> {
  const { settings } = loaded;
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
      const nodes = await listNodes(log.reader);
      return [
        { what, verdict: 'ok', text: `PostgreSQL answers; the last entry of its log is ${last}` } as const,
        ...examineNodes(nodes.map((node) => viewOfNode(node, last))),
        ...examineServing(loaded),
        ...examineLost(settings.dataDir),
        ...examineServer(await readServerFacts(log.reader), clock),
        ...examineOthers(log.reader),
        ...(await examineHolders(log.reader)),
        ...(await examineSnapshots(log.reader)),
      ];
    });
  } catch (error) {
    const known = error instanceof UserError || error instanceof LogUnavailable ? error.remedy : undefined;
    const remedy = known ?? 'DNS and reads go on; writes wait for it.';
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

function examineLost(dataDir: string): Finding[] {
  const entries = lostFiles(dataDir).reduce((sum, { first, last }) => sum + last - first + 1, 0);
  if (entries === 0) return [];
  const text = `a failover of PostgreSQL has lost ${entries} entries that this node had`;
  const remedy = 'See them with `zoneplane cluster lost`, make the changes again, and remove the files that it names.';
  return [{ what, verdict: 'warn', text, remedy }];
}

function examineServing(loaded: LoadedSettings): Finding[] {
  const store = openStore(loaded.settings.dataDir, { readonly: true });
  try {
    return servingDifferences(loaded, store).map((text) => ({ what, verdict: 'warn', text, remedy: SERVING_REMEDY }));
  } finally {
    store.close();
  }
}

function examineServer({ nowMs, syncs, standbys, waitsForStandby }: ServerFacts, clock: Clock): Finding[] {
  const findings: Finding[] = [];
  const aheadS = Math.round((clock.nowMs() - nowMs) / 1000);
  if (Math.abs(aheadS) > MOST_APART_S) {
    const text = `the clock of this machine is ${Math.abs(aheadS)} s ${aheadS > 0 ? 'ahead of' : 'behind'} that of PostgreSQL`;
    const remedy =
      'Synchronize the clocks of all machines: what is due or expires here does so at another time than elsewhere.';
    findings.push({ what, verdict: 'warn', text, remedy });
  }
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

/** A turn lasts a fifth of a second, and the statements of nodes lock nothing for longer. */
const HELD_MS = 1000;

/** Who has kept all nodes from writing for a while. */
async function examineHolders(reader: Connection): Promise<Finding[]> {
  const before = await findHolders(reader);
  if (before.length === 0) return [];
  await sleep(HELD_MS);
  const now = await findHolders(reader);
  const stayed = now.filter(({ pid, table, since }) =>
    before.some((one) => one.pid === pid && one.table === table && one.since === since),
  );
  return stayed.map(({ pid, table, role, application }) => {
    const held = table === 'turn' ? 'the turn to write' : `a lock on the table ${table}`;
    const text = `${held} has been held for more than ${HELD_MS / 1000} s by role ${role} (${application || 'without a name'}, process ${pid} of PostgreSQL): other nodes cannot write`;
    return {
      what,
      verdict: 'warn',
      text,
      remedy: `If it stays, end that session with pg_terminate_backend(${pid}).`,
    };
  });
}

/** Servers that must not be used although they accept writes, and what is needed to tell them from the one with the log. */
function examineOthers(reader: Connection): Finding[] {
  const connected = reader.connected();
  const findings = (connected?.passedOver ?? []).map(
    (text): Finding => ({
      ...{ what, verdict: 'warn', text: `a second PostgreSQL server accepts writes, and is not used: ${text}` },
      remedy: 'Stop it, or make it a standby of the server that was promoted, such as with pg_rewind.',
    }),
  );
  const { system, timeline } = connected?.server ?? {};
  if (system === undefined || timeline === undefined) {
    const text =
      'PostgreSQL does not tell its system identifier and timeline: a former primary that came back beside its promoted standby would not be noticed';
    const remedy =
      'Let the user of ZONEPLANE_CLUSTER run them: GRANT EXECUTE ON FUNCTION pg_control_system(), pg_walfile_name(pg_lsn), pg_current_wal_lsn() TO ….';
    findings.push({ what, verdict: 'warn', text, remedy });
  }
  return findings;
}

async function examineSnapshots(reader: Connection): Promise<Finding[]> {
  const [newest] = await listSnapshots(reader);
  const behind = await logBehind(reader, newest);
  if (newest && behind < LONG) return [];
  const text = newest
    ? `the log behind the newest snapshot is ${Math.round(behind)} times as long as it should be: a node that joins needs long`
    : 'there is no snapshot';
  return [
    {
      what,
      verdict: 'warn',
      text,
      remedy: 'See the job with `zoneplane job list`, or run `zoneplane cluster snapshot`.',
    },
  ];
}
