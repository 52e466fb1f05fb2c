/** Warnings of the admin process: what only processes know, and how many there are of each kind. */
import type { Cluster } from '../../api/cluster/schema.js';
import type { Readers } from '../../api/reading/readers.js';
import { isOnS3 } from '../../backup/s3-series.js';
import { type Clock, steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import { periodMs } from '../../config/backup-settings.js';
import type { Settings } from '../../config/schema.js';
import { OPERATOR } from '../../control/guard/actor.js';
import type { Store } from '../../store/driver.js';
import { examineBackups } from '../../warnings/backups.js';
import { examineClusterSeen } from '../../warnings/cluster.js';
import { countWarnings, type Finding } from '../../warnings/finding.js';
import { examineMonitors, probingStopped } from '../../warnings/pools.js';
import { examineResolvers } from '../../warnings/resolvers.js';
import { heldZone } from '../../warnings/zones.js';
import { upstreamServers } from '../process/control-base.js';
import { mayPing } from '../process/icmp-capability.js';
import { createPlaceExaminer } from '../process/place-findings.js';

/** What is asked of others is asked no more often. */
const OUTSIDE_MS = 60_000;
/** How old counts may be, for metrics and for `/readyz`, which is asked more often and by anybody. */
const METRICS_MS = 30_000;
const READINESS_MS = 300_000;

export interface WarningWatchOptions {
  readonly settings: Settings;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly readers: Pick<Readers, 'examine'>;
  readonly heldZones: () => readonly { readonly name: string; readonly id?: string }[];
  /** Whether origins are probed as they should be. */
  readonly isProbing: () => boolean;
  /** Absent: one machine. */
  readonly readCluster?: (() => Promise<Cluster>) | undefined;
}

export interface WarningWatch {
  /** What the database does not show. */
  processFindings(): Promise<readonly Finding[]>;
  /** How many warnings there are by kind, as last counted; undefined: they are being counted for the first time. */
  warningCounts(): Readonly<Record<string, number>> | undefined;
  samples(): Promise<MetricSample[]>;
}

export function createWarningWatch(options: WarningWatchOptions): WarningWatch {
  const { settings, store, clock, log, readers, heldZones, isProbing, readCluster } = options;
  const outside = keepFor(clock, () => examineResolvers(upstreamServers(settings), clock));
  const plan = { directory: settings.backupDir, everyMs: periodMs(settings.backupEvery) };
  const isFar = plan.directory !== undefined && isOnS3(plan.directory);
  const examinePlaces = createPlaceExaminer(settings);
  const stored = keepFor(clock, async () => [
    ...examineMonitors(store, mayPing()),
    ...examinePlaces(store, clock.nowMs()),
  ]);
  const farBackups = keepFor(clock, () => examineBackups(plan, clock.nowMs()));

  async function processFindings(): Promise<readonly Finding[]> {
    return [
      ...heldZones().map(({ name, id }) => heldZone(name, id)),
      ...(isProbing() ? [] : [probingStopped()]),
      ...(await stored.get(OUTSIDE_MS)),
      ...(readCluster ? examineClusterSeen(await readCluster()) : []),
      ...(isFar ? await farBackups.get(OUTSIDE_MS) : await examineBackups(plan, clock.nowMs())),
      ...(await outside.get(OUTSIDE_MS)),
    ];
  }

  const counts = keepFor(clock, async () =>
    countWarnings([...(await processFindings()), ...(await readers.examine(OPERATOR))]),
  );
  const failed = (error: unknown): void => log.warn({ reason: messageOf(error) }, 'warnings could not be counted');

  return {
    processFindings,
    warningCounts() {
      counts.get(READINESS_MS).catch(failed);
      return counts.last();
    },
    async samples() {
      const about = {
        name: 'warnings',
        type: 'gauge',
        help: 'What needs somebody, as doctor says it, by kind',
      } as const;
      const known = await counts.get(METRICS_MS).catch(failed);
      return Object.entries(known ?? {}).map(([kind, value]) => ({ ...about, labels: { kind }, value }));
    },
  };
}

interface Kept<Value> {
  /** One that is not older, in milliseconds. */
  get(ageMs: number): Promise<Value>;
  last(): Value | undefined;
}

/** Makes a value when it is asked for, once for all who ask meanwhile. */
function keepFor<Value>(clock: Clock, make: () => Promise<Value>): Kept<Value> {
  let value: Value | undefined;
  let madeMs = Number.NEGATIVE_INFINITY;
  let making: Promise<Value> | undefined;
  const makeNow = async (): Promise<Value> => {
    try {
      value = await make();
      madeMs = steadyMs(clock);
      return value;
    } finally {
      making = undefined;
    }
  };
  return {
    async get(ageMs) {
      if (value !== undefined && steadyMs(clock) - madeMs <= ageMs) return value;
      return (making ??= makeNow());
    },
    last: () => value,
  };
}
