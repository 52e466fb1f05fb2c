/** `zoneplane job`: work that the server does later, and what keeps failing. */
import { SystemClock } from '../base/clock.js';
import { findDataDirectory } from '../roles/process/data-directory.js';
import { openStore } from '../store/driver.js';
import { type JobRow, listJobs } from '../store/jobs.js';
import { requireSchema } from '../store/migrate.js';
import { wholeNumber } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { DATA_SETTINGS, printInstant } from './control.js';
import { addSettingOptions, loadCommandSettings } from './settings.js';

interface ListOptions {
  readonly failed?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}

const MOST = 1_000_000;

export function addJobCommands(program: Command, context: CommandContext): void {
  const job = program.command('job');
  addList(job, context);
}

function addList(job: Command, { terminal, environment }: CommandContext): void {
  const list = job
    .command('list')
    .description('list the next jobs, how often each failed in a row, and the last error')
    .option('--failed', 'only jobs whose last run failed')
    .option('--limit <count>', 'how many at most', wholeNumber(1, MOST, 'a number'), 100)
    .printsJson('zoneplane job list', 'zoneplane job list --failed', 'zoneplane job list --json');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ failed, limit, json }: ListOptions) => {
    const { settings } = loadCommandSettings(list, environment);
    const rows = readJobs(findDataDirectory(settings.dataDir), limit + 1, failed ? 'failing' : 'all');
    const shown = rows.slice(0, limit);
    const nowMs = new SystemClock().nowMs();
    if (json) terminal.json(shown.map((row) => viewJob(row, nowMs)));
    else {
      terminal.table(
        ['kind', 'subject', 'due', 'state', 'failures', 'last error'],
        shown.map((row) => [
          row.kind,
          row.subject || '-',
          instant(row.run_at),
          stateOf(row, nowMs),
          String(row.attempt),
          row.last_error ?? '-',
        ]),
        failed ? 'No job failed last time.' : 'Nothing is planned.',
      );
    }
    if (rows.length > limit) terminal.complain(`There are more. See them with --limit ${Math.min(MOST, limit * 10)}.`);
  });
}

function readJobs(directory: string, limit: number, which: 'all' | 'failing'): readonly JobRow[] {
  const store = openStore(directory, { readonly: true });
  try {
    requireSchema(store);
    return listJobs(store, limit, which);
  } finally {
    store.close();
  }
}

function stateOf({ lease_owner, run_at, attempt }: JobRow, nowMs: number): string {
  if (lease_owner !== null) return 'running';
  if (run_at <= nowMs) return 'due';
  return attempt > 0 ? 'failed' : 'waiting';
}

const instant = (ms: number | null): string => printInstant(ms === null ? null : ms * 1000);

function viewJob(row: JobRow, nowMs: number): object {
  return {
    kind: row.kind,
    subject: row.subject,
    due_on: instant(row.run_at),
    state: stateOf(row, nowMs),
    failures: row.attempt,
    failed_on: row.failed_at === null ? null : instant(row.failed_at),
    last_error: row.last_error,
  };
}
