/** The process in which the server makes a backup: beside everything else, at a lower priority. */
import { describeDamaged } from '../../backup/examine.js';
import { extendSeriesOnS3, isOnS3, openSeriesOnS3 } from '../../backup/s3-series.js';
import { type Extended, extendSeries } from '../../backup/series.js';
import type { BackupSource } from '../../backup/write.js';
import { SystemClock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import { Steps, standBack } from '../../base/process/scheduling.js';
import type { Settings } from '../../config/schema.js';
import { openStore } from '../../store/driver.js';
import { openBodies } from './object-bodies.js';

export interface BackupOrder extends Pick<Settings, 'dataDir' | 'objects' | 'backupKeep'> {
  readonly backupDir: string;
}

export type BackupResult =
  | {
      readonly file: string;
      readonly octets: number;
      readonly bodies: number;
      readonly bodyOctets: number;
      /** What is damaged, in words. */
      readonly damaged: readonly string[];
      /** Rows that changed without a write, in words. */
      readonly differences: readonly string[];
      /** Result of the comparison with the previous backup: same, different, or why there is none. */
      readonly comparison: string;
    }
  | { readonly failure: string };

async function makeBackup({ backupDir, backupKeep, ...settings }: BackupOrder): Promise<BackupResult> {
  try {
    standBack(Steps.background, 'process');
    const store = openStore(settings.dataDir, { readonly: true });
    const { blobs, files, shared } = await openBodies(settings, silentLogger());
    try {
      const about = { store, clock: new SystemClock() };
      const written = isOnS3(backupDir)
        ? await extendOnS3({ ...about, bodies: files, elsewhere: shared }, backupDir, backupKeep)
        : await extendSeries({ ...about, bodies: blobs, elsewhere: undefined }, backupDir, backupKeep);
      const { file, size: octets, bodies, octets: bodyOctets, damaged } = written;
      const { compared } = written;
      const differences = compared.result === 'different' ? compared.differences : [];
      const comparison = compared.result === 'unknown' ? compared.reason : compared.result;
      return { file, octets, bodies, bodyOctets, damaged: damaged.map(describeDamaged), differences, comparison };
    } finally {
      await blobs.close();
      store.close();
    }
  } catch (error) {
    return { failure: messageOf(error) };
  }
}

async function extendOnS3(source: BackupSource, address: string, keep: number): Promise<Extended> {
  const files = await openSeriesOnS3(address);
  try {
    const reason = 'no log of writes is kept beside backups on S3';
    return { ...(await extendSeriesOnS3(source, files, keep)), compared: { result: 'unknown', reason } };
  } finally {
    files.close();
  }
}

// What an end in the middle leaves, the next backup removes.
process.once('disconnect', () => process.exit(1));
process.once('message', async (order) => {
  const result = await makeBackup(order as BackupOrder);
  process.send!(result, () => process.disconnect());
});
