/**
 * `zoneplane zone check`: what `zone import` would say, without touching anything. The file is imported into a database in
 * memory, so that both always agree.
 */
import { readFileSync } from 'node:fs';
import { SystemClock } from '../base/clock.js';
import { AppError, messageOf, UserError } from '../base/errors.js';
import { silentLogger } from '../base/log.js';
import { systemRandom } from '../base/random.js';
import { formatIssue, type Issue } from '../base/result.js';
import { loadSettings } from '../config/load.js';
import { ensureFirstAdministrator } from '../control/access/keys.js';
import { OPERATOR } from '../control/guard/actor.js';
import type { ImportResult } from '../control/imports/zone.js';
import type { Context } from '../control/kernel/context.js';
import type { ZoneText } from '../dns/zonefile/source.js';
import { createControlBase } from '../roles/process/control-base.js';
import { IN_MEMORY, openStore } from '../store/driver.js';
import { migrate } from '../store/migrate.js';
import type { Command, CommandContext } from './command.js';

interface CheckOptions {
  readonly origin?: string;
  readonly json?: boolean;
}

interface Checked {
  readonly file: string;
  readonly issues: readonly Issue[];
  readonly result?: ImportResult;
}

export function addZoneCheck(zone: Command, { terminal }: CommandContext): void {
  zone
    .command('check')
    .description('report every problem in zone files; changes nothing; exit 1 if there are errors')
    .argument('<files...>', 'zone files; - is standard input')
    .option('--origin <name>', 'name of the zone (default: as the file or its name says)')
    .printsJson('zoneplane zone check example.com.zone', 'zoneplane zone check --json *.zone')
    .action(async (files: readonly string[], { origin, json }: CheckOptions) => {
      if (origin !== undefined && files.length > 1) {
        throw new UserError('--origin names one zone, but several files are given', 'Check them one by one.', 2);
      }
      const checked: Checked[] = [];
      for (const file of files) checked.push(await checkFile(file, origin));
      const issues = checked.flatMap((entry) => entry.issues);
      terminal.exitCode = issues.some(({ severity }) => severity === 'error') ? 1 : 0;
      if (json) return terminal.json([...issues, ...checked.flatMap(soundFile)]);
      for (const issue of issues) terminal.print(formatIssue(issue));
      for (const { file, result } of checked) {
        if (result?.imported) terminal.complain(`${file}: ${result.name} is sound, ${result.records} records`);
      }
    });
}

async function checkFile(file: string, origin: string | undefined): Promise<Checked> {
  const { settings } = loadSettings({ flags: {}, environment: {} });
  const clock = new SystemClock();
  const store = openStore(IN_MEMORY);
  try {
    migrate(store, clock, systemRandom);
    const base = createControlBase(settings, store, clock, silentLogger());
    await ensureFirstAdministrator(base, { email: settings.adminEmail });
    const context: Context = { ...base, actor: OPERATOR, requestId: 'check', source: 'cli' };
    const { importZone } = await import('../control/imports/zone.js');
    const result = await importZone(context, { source: sourceOf(file), ...(origin === undefined ? {} : { origin }) });
    return { file, result, issues: result.issues.map((issue) => placeIssue(issue, file)) };
  } catch (error) {
    if (!(error instanceof AppError) && !(error instanceof UserError)) throw error;
    const issue: Issue = { severity: 'error', code: 'refused', message: messageOf(error) };
    return { file, issues: [placeIssue(issue, file)] };
  } finally {
    store.close();
  }
}

/** A file by its name; `-` is standard input. */
export function sourceOf(file: string): ZoneText {
  return file === '-' ? { text: readFileSync(process.stdin.fd) } : { file };
}

/** A file without errors, in the form of a finding. */
function soundFile({ file, result }: Checked): object[] {
  if (!result?.imported) return [];
  const { name, records } = result;
  return [
    {
      severity: 'info',
      code: 'sound',
      message: `${name} is sound, ${records} records`,
      file,
      line: 1,
      column: 1,
      name,
      records,
    },
  ];
}

/** Findings about a zone as a whole stand at its beginning, so that every line has the form `file:line:column:`. */
export function placeIssue(issue: Issue, file: string): Issue {
  return { ...issue, file: issue.file ?? file, line: issue.line ?? 1, column: issue.column ?? 1 };
}
