/** Jobs that failed last time; for the operator. */
import { printInstant } from '../control/rules/instant.js';
import { listJobs } from '../store/jobs.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

const MOST_LOOKED_AT = 1000;

export function examineJobs({ store, zones }: Examined): Finding[] {
  const what = 'jobs';
  if (!zones.all) return [];
  const failing = listJobs(store, MOST_LOOKED_AT, 'failing');
  if (failing.length === 0) return [{ what, verdict: 'ok', text: 'none failed last time' }];
  return failing.map(({ kind, subject, run_at: next, attempt, last_error: error }): Finding => {
    const job = `${kind}${subject === '' ? '' : ` of ${subject}`}`;
    return {
      ...{ what, verdict: 'warn', kind: 'job-failing' },
      text: `${job} failed ${attempt} time${attempt === 1 ? '' : 's'} in a row: ${error}`,
      remedy: `It is tried again at ${printInstant(next * 1000)}; see \`zoneplane job list --failed\`.`,
    };
  });
}
