/** Makes backups at intervals, each in a process of its own, and says how old the newest is. */
import { type ChildProcess, fork } from 'node:child_process';
import { isOnS3, listBackups } from '../../backup/s3-series.js';
import { keepWrites, stopKeepingWrites } from '../../backup/writes/keep.js';
import { type Clock, steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import { systemRandom } from '../../base/random.js';
import { periodMs } from '../../config/backup-settings.js';
import type { Settings } from '../../config/schema.js';
import type { Store } from '../../store/driver.js';
import { clusterOf } from '../../store/meta.js';
import type { BackupOrder, BackupResult } from './backup-process.js';

interface ScheduledBackups {
  samples(): MetricSample[];
  close(): Promise<void>;
}

const LOOK_MS = 60_000;
/** Before another attempt after one that failed, if the period is not shorter. */
const RETRY_MS = 600_000;

interface Options {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * None where no directory is set. They end with the lifecycle. `store`: its writes are kept beside the backups, unless a cluster
 * has a log of its own.
 */
export async function startScheduledBackups(
  options: Options,
  store: Store,
  lifecycle: Lifecycle,
): Promise<Pick<ScheduledBackups, 'samples'>> {
  const { backupDir } = options.settings;
  const isOfCluster = clusterOf(store) !== undefined;
  const keepsWrites = backupDir !== undefined && !isOnS3(backupDir) && !isOfCluster;
  if (!keepsWrites && !isOfCluster) await stopKeepingWrites(store);
  if (backupDir === undefined) return { samples: () => [] };
  const backups = await schedule(options, backupDir, keepsWrites ? store : undefined);
  return lifecycle.own('backups', backups, (part) => part.close());
}

async function schedule(
  { settings, clock, log }: Options,
  backupDir: string,
  store: Store | undefined,
): Promise<ScheduledBackups> {
  const everyMs = periodMs(settings.backupEvery);
  const { dataDir, objects, backupKeep } = settings;
  const counts = { made: 0, failed: 0, damaged: 0 };
  let newestMs: number | undefined;
  let dueMs = Number.POSITIVE_INFINITY;
  let isClosed = false;
  let child: ChildProcess | undefined;
  let isWantedAgain = false;

  const finish = (result: BackupResult): void => {
    const isMade = !('failure' in result);
    dueMs = steadyMs(clock) + (isWantedAgain ? 0 : isMade ? everyMs : Math.min(everyMs, RETRY_MS));
    isWantedAgain = false;
    if (!isMade) {
      counts.failed++;
      log.error({ reason: result.failure, directory: backupDir }, 'the backup failed; it is tried again');
      return;
    }
    counts.made++;
    counts.damaged = result.damaged.length;
    void newestOf(backupDir).then((madeAtMs) => (newestMs = madeAtMs));
    const { damaged, differences, ...about } = result;
    if (differences.length > 0) {
      log.error({ file: about.file, differences }, 'rows of the database changed without a write');
    }
    if (damaged.length === 0) log.info(about, 'a backup was made, and read again');
    else log.error({ ...about, damaged }, 'a backup was made without objects whose bodies are damaged');
  };

  const look = (): void => {
    if (child || isClosed || steadyMs(clock) < dueMs) return;
    const order: BackupOrder = { dataDir, objects, backupKeep, backupDir };
    const own = fork(new URL('./backup-process.js', import.meta.url), { stdio: 'ignore', execArgv: [] });
    child = own;
    let result: BackupResult = { failure: 'its process ended' };
    own.on('message', (message) => {
      result = message as BackupResult;
    });
    own.on('error', (error) => {
      result = { failure: messageOf(error) };
    });
    own.once('close', () => {
      child = undefined;
      finish(result);
    });
    own.send(order, () => {});
  };
  const onBegin = (): void => {
    dueMs = steadyMs(clock);
    // One that is being made may lack it.
    isWantedAgain = child !== undefined;
  };
  const writes = store && keepWrites({ ...{ store, clock, log, onBegin }, directory: backupDir, random: systemRandom });
  await writes?.look();
  // S3 may be away, and keeps nobody waiting.
  void newestOf(backupDir).then((madeAtMs) => {
    newestMs = madeAtMs;
    dueMs = Math.min(dueMs, steadyMs(clock) + untilDue(newestMs, everyMs, clock.nowMs()));
    look();
  });
  const cancel = clock.every(Math.min(LOOK_MS, everyMs), look);
  return {
    samples: () => [...samplesOf(newestMs, counts), ...(writes ? [keptSample(writes.reachedMs())] : [])],
    async close() {
      cancel();
      isClosed = true;
      child?.removeAllListeners('close');
      child?.kill('SIGKILL');
      await writes?.close();
    },
  };
}

/** The time of the newest is that of the clock then; where it is in the future, the clock was set back, and one is due. */
function untilDue(newestMs: number | undefined, everyMs: number, nowMs: number): number {
  if (newestMs === undefined || newestMs > nowMs) return 0;
  return Math.max(0, newestMs + everyMs - nowMs);
}

async function newestOf(place: string): Promise<number | undefined> {
  try {
    return (await listBackups(place)).at(-1)?.madeAtMs;
  } catch {
    // The next backup says what is wrong with it.
    return undefined;
  }
}

function keptSample(reachedMs: number): MetricSample {
  const help = 'All writes up to then are in the log beside the backups, seconds since 1970; 0: not known yet';
  return { name: 'backup_writes_seconds', type: 'gauge', help, labels: {}, value: reachedMs / 1000 };
}

function samplesOf(
  newestMs: number | undefined,
  { made, failed, damaged }: { readonly made: number; readonly failed: number; readonly damaged: number },
): MetricSample[] {
  const sample = (type: 'gauge' | 'counter', name: string, help: string, value: number): MetricSample => {
    return { name, type, help, labels: {}, value };
  };
  return [
    sample(
      'gauge',
      'backup_newest_seconds',
      'When the newest backup was made, seconds since 1970; 0: there is none',
      (newestMs ?? 0) / 1000,
    ),
    sample(
      'gauge',
      'backup_damaged_objects',
      'Objects that the newest backup lacks because their bodies are damaged',
      damaged,
    ),
    sample('counter', 'backups_made_total', 'Backups that were made and read again', made),
    sample('counter', 'backups_failed_total', 'Backups that failed', failed),
  ];
}
