/** Of the backups that the server makes. */
import { isOnS3, listBackups } from '../backup/s3-series.js';
import { differingBackup } from '../backup/series.js';
import { messageOf, UserError } from '../base/errors.js';
import { printInstant } from '../control/rules/instant.js';
import type { Finding } from './finding.js';

const what = 'backups';

export interface BackupPlan {
  /** Undefined: none are made. */
  readonly directory: string | undefined;
  readonly everyMs: number;
}

/** Nothing where none are set. The newest may be as old as two periods: one may be being made. */
export async function examineBackups(plan: BackupPlan, nowMs: number): Promise<Finding[]> {
  const { directory } = plan;
  if (directory === undefined) return [];
  try {
    const age = await examineAge(directory, plan.everyMs, nowMs);
    return [age, ...(isOnS3(directory) ? [] : examineDifference(directory))];
  } catch (error) {
    const remedy = (error instanceof UserError ? error.remedy : undefined) ?? 'Look at that place.';
    return [{ what, verdict: 'fail', kind: 'backup-missing', text: messageOf(error), remedy }];
  }
}

/** Finds rows of the database that changed without a write. */
function examineDifference(directory: string): Finding[] {
  const found = differingBackup(directory);
  if (!found) return [];
  const { file, before, note, text } = found;
  const remedy = `Check the disk. The data as it was written is in the backup before that: \`zoneplane restore ${before ?? 'FILE'} --as-of latest\`. Then remove ${note}; no backup is removed as long as it is there.`;
  return [
    {
      what,
      verdict: 'fail',
      kind: 'backup-differs',
      text: `the database changed without a write, found by ${file}: ${text}`,
      remedy,
    },
  ];
}

async function examineAge(directory: string, everyMs: number, nowMs: number): Promise<Finding> {
  const newest = (await listBackups(directory)).at(-1);
  const remedy = 'The log of the server says why.';
  if (!newest) {
    return { what, verdict: 'warn', kind: 'backup-missing', text: `no backup in ${directory} yet`, remedy };
  }
  const text = `the newest in ${directory} is of ${printInstant(newest.madeAtMs * 1000)}`;
  if (nowMs - newest.madeAtMs <= 2 * everyMs) return { what, verdict: 'ok', text };
  return { what, verdict: 'fail', kind: 'backup-old', text: `${text}, which is too old`, remedy };
}
