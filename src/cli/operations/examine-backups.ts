/** What `doctor` says about the backups that the server makes. */
import { listSeries } from '../../backup/series.js';
import type { Clock } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import { periodMs } from '../../config/backup-settings.js';
import type { Settings } from '../../config/schema.js';
import { printInstant } from '../control.js';
import type { Finding } from './finding.js';

const what = 'backups';

/** Nothing where none are set. The newest may be as old as two periods: one may be being made. */
export function examineBackups({ backupDir, backupEvery }: Settings, clock: Clock): Finding[] {
  if (backupDir === undefined) return [];
  try {
    const newest = listSeries(backupDir).at(-1);
    if (!newest) return [{ what, verdict: 'warn', text: `there is none in ${backupDir} yet` }];
    const text = `the newest in ${backupDir} is of ${printInstant(newest.madeAtMs * 1000)}`;
    if (clock.nowMs() - newest.madeAtMs <= 2 * periodMs(backupEvery)) return [{ what, verdict: 'ok', text }];
    return [{ what, verdict: 'fail', text: `${text}, which is too old`, remedy: 'The log of the server says why.' }];
  } catch (error) {
    const remedy = error instanceof UserError ? error.remedy : undefined;
    return [{ what, verdict: 'fail', text: messageOf(error), ...(remedy === undefined ? {} : { remedy }) }];
  }
}
