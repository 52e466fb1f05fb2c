/**
 * What the nodes of a cluster say to each other: how far the DNS and edge processes of each are. So a receipt is about all
 * nodes that live, and so is what must be everywhere before a certificate authority is told.
 */
import { type Clock, steadyMs } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import type { EdgeReports } from '../../certs/deployment.js';
import { HEARTBEAT_MS, listNodes, type NodeRow, tellNode, watchNodes } from '../../cluster/nodes.js';
import type { DnsProcess, Propagation } from '../../control/kernel/propagation.js';
import { schemaVersion } from '../../store/migrate.js';
import { SCHEMA_VERSION } from '../../store/migrations/migration.js';
import type { EdgeProgress } from '../process/acknowledgement.js';
import { listenersOfNode, machineName, tellableListeners, tellListeners } from '../process/listening.js';
import type { ClusterMember } from './member.js';
import { migrateWhenKnown } from './migration.js';
import { type Told, toldBy } from './told.js';

/** Where the processes of a machine report, and other nodes do. */
export interface Listeners {
  readonly propagation: Propagation;
  readonly edges: EdgeReports;
}

export interface Peers {
  /** What the processes of this machine report to. */
  readonly own: Listeners;
  /** The nodes that live, as far as this one knows. */
  living(): readonly NodeRow[];
  samples(): readonly MetricSample[];
  close(): void;
}

/** A new entry has been applied after that time, usually. */
const APPLIED_MS = 50;
/** Reports follow each other by no less than this. */
const REPORT_PAUSE_MS = 100;
/** The other nodes are read at least so often. */
const LOOK_MS = 2500;

export interface PeerOptions {
  readonly version: string;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly log: Logger;
  /** Whether this node has a DNS process, or is about to start one. */
  readonly answersDns: boolean;
}

export function startPeers(member: ClusterMember, listeners: Listeners, options: PeerOptions): Peers {
  const { version, clock, dataDir, answersDns } = options;
  const dns = new Map<string, DnsProcess>();
  const edges = new Map<string, EdgeProgress>();
  const reporter = startReporter(member, version, clock, () => ({
    ...toldOf(dns, edges, answersDns),
    ...stopOf(member),
    ...{ listeners: tellableListeners(dataDir), machine: machineName() },
  }));
  const noteListeners = listenersNoter(options);
  const hearing = hearPeers(member, listeners, options, (others) => noteListeners(others));
  return {
    own: {
      propagation: {
        ...listeners.propagation,
        report(process) {
          dns.set(process.name, process);
          listeners.propagation.report(process);
          reporter.soon();
        },
        forget(name) {
          dns.delete(name);
          listeners.propagation.forget(name);
          reporter.soon();
        },
      },
      edges: {
        ...listeners.edges,
        report(name, change, unusable) {
          edges.set(name, { change, unusable });
          listeners.edges.report(name, change, unusable);
          reporter.soon();
        },
        forget(name) {
          edges.delete(name);
          listeners.edges.forget(name);
          reporter.soon();
        },
      },
    },
    living: hearing.living,
    samples: () => samplesOf(hearing.living()),
    close() {
      reporter.close();
      hearing.close();
      noteListeners.forget();
    },
  };
}

/** A zone is published on a node when it is in all of its processes. */
function toldOf(
  dns: ReadonlyMap<string, DnsProcess>,
  edges: ReadonlyMap<string, EdgeProgress>,
  answersDns: boolean,
): Told {
  const processes = [...dns.values()];
  const unpublished = processes.flatMap((process) => process.unpublished);
  return {
    ...(processes.length > 0 && {
      dns: { applied: Math.min(...processes.map(({ applied }) => applied)), unpublished },
    }),
    ...(processes.length === 0 && answersDns && { awaitsDns: true }),
    ...(edges.size > 0 && { edge: Math.min(...[...edges.values()].map(({ change }) => change)) }),
    ...(edges.size > 0 && { unusable: [...edges.values()].flatMap(({ unusable }) => unusable) }),
  };
}

function stopOf({ replica }: ClusterMember): Pick<Told, 'stopped'> {
  const { state, reason = 'its copy has stopped' } = replica.status();
  return state === 'stopped' ? { stopped: reason } : {};
}

interface Reporter {
  soon(): void;
  close(): void;
}

function startReporter(member: ClusterMember, version: string, clock: Clock, told: () => Told): Reporter {
  const { name, role, store, log } = member;
  let cancelSoon: (() => void) | undefined;
  let lastMs = Number.NEGATIVE_INFINITY;
  let cancelApplied: (() => void) | undefined;
  let telling = false;
  let again = false;

  const applied = (): void => {
    cancelApplied = undefined;
    soon();
  };

  async function tell(): Promise<void> {
    if (telling) {
      again = true;
      return;
    }
    telling = true;
    lastMs = steadyMs(clock);
    const report = JSON.stringify(told());
    const { number: applied, id: appliedId } = store.position();
    // When PostgreSQL is away, the next heartbeat tells.
    await tellNode(log.teller, {
      name,
      role,
      version,
      schema: schemaVersion(store),
      knows: SCHEMA_VERSION,
      applied,
      appliedId,
      report,
    }).catch(() => {});
    telling = false;
    if (again) {
      again = false;
      soon();
    }
  }

  function soon(): void {
    if (cancelSoon) return;
    const waitMs = Math.max(0, lastMs + REPORT_PAUSE_MS - steadyMs(clock));
    cancelSoon = clock.after(waitMs, () => {
      cancelSoon = undefined;
      void tell();
    });
  }

  member.onNews((news) => {
    if (news === 'up') soon();
    // What is not a change for DNS is not reported by a DNS process.
    if (/^(?:entry|own) /.test(news)) cancelApplied ??= clock.after(APPLIED_MS, applied);
  });
  soon();
  const cancel = clock.every(HEARTBEAT_MS, soon);
  return {
    soon,
    close() {
      cancel();
      cancelSoon?.();
      cancelApplied?.();
      // Nothing is told any more.
      cancelSoon = () => {};
    },
  };
}

/** Writes what other nodes listen on where all processes of this node read it. */
function listenersNoter({ dataDir, log }: PeerOptions) {
  let written = '[]';
  let forget = (): void => {};
  const note = (others: readonly NodeRow[]): void => {
    const listeners = others.flatMap((node) => {
      const { machine, listeners: told } = toldBy(node);
      return machine !== undefined && told ? listenersOfNode(machine, told) : [];
    });
    const text = JSON.stringify(listeners);
    if (text === written) return;
    written = text;
    forget = tellListeners(dataDir, 'nodes', listeners, log);
  };
  return Object.assign(note, { forget: () => forget() });
}

function hearPeers(
  member: ClusterMember,
  { propagation, edges }: Listeners,
  { clock, log: logger }: Pick<PeerOptions, 'clock' | 'log'>,
  onOthers: (others: readonly NodeRow[]) => void,
) {
  const { name: own, log, onNews } = member;
  const watch = watchNodes(clock);
  let living: readonly NodeRow[] = [];
  let known = new Set<string>();
  let reading = false;
  let again = false;
  let closed = false;

  async function look(): Promise<void> {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    try {
      living = watch.see(await listNodes(log.teller));
      if (!closed) onOthers(living.filter(({ name }) => name !== own));
      if (!closed) migrateWhenKnown(member, living, logger);
      if (!closed) known = handOver(living, own, known, { propagation, edges });
    } catch {
      // The others cannot report either, so nobody is gone.
      watch.forgive();
    }
    reading = false;
    if (again && !closed) {
      again = false;
      void look();
    }
  }

  onNews((news) => {
    if (news === 'up' || (news.startsWith('node ') && news !== `node ${own}`)) void look();
  });
  void look();
  const cancel = clock.every(LOOK_MS, () => void look());
  return {
    living: () => living,
    close() {
      closed = true;
      cancel();
    },
  };
}

/** It may answer at any moment, and nobody knows with what. */
const NOT_SERVING = { applied: 0, unpublished: [] };

/** Reports what the other nodes have told, and forgets those that are gone. Returns the names that were reported. */
function handOver(
  living: readonly NodeRow[],
  own: string,
  before: ReadonlySet<string>,
  { propagation, edges }: Listeners,
): Set<string> {
  const now = new Set<string>();
  const others = living.filter(({ name }) => name !== own);
  propagation.reportCopies(others.map(({ name: node, applied: entry }) => ({ node, entry })));
  for (const node of others) {
    const { name } = node;
    const { edge, unusable = [], awaitsDns, dns = awaitsDns && NOT_SERVING } = toldBy(node);
    if (dns) {
      now.add(`dns of ${name}`);
      propagation.report({ name: `dns of ${name}`, ...dns });
    }
    if (edge !== undefined) {
      now.add(`edge of ${name}`);
      edges.report(`edge of ${name}`, edge, unusable);
    }
  }
  for (const name of before) {
    if (now.has(name)) continue;
    if (name.startsWith('dns ')) propagation.forget(name);
    else edges.forget(name);
  }
  return now;
}

function samplesOf(living: readonly NodeRow[]): MetricSample[] {
  const last = Math.max(...living.map(({ applied }) => applied));
  return living.flatMap(({ name: node, role, version, applied }): MetricSample[] => [
    {
      name: 'cluster_node_info',
      type: 'gauge',
      help: 'Nodes of the cluster that live',
      labels: { node, role, version },
      value: 1,
    },
    {
      name: 'cluster_node_lag_entries',
      type: 'gauge',
      help: 'Entries of the log that the copy of a node lacks, as last reported',
      labels: { node },
      value: last - applied,
    },
  ]);
}
