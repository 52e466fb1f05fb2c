/** `zoneplane zone import`: zone files become zones, each of them whole or not at all. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { AppError, messageOf, UserError } from '../base/errors.js';
import { formatIssue } from '../base/result.js';
import type { SignatureTreatment } from '../control/imports/signatures.js';
import type { ImportInput, ImportProgress, ImportResult } from '../control/imports/zone.js';
import type { Context } from '../control/kernel/context.js';
import { explainStoreFailure } from '../roles/process/store-failure.js';
import type { Command, CommandContext } from './command.js';
import { DATA_SETTINGS, withControl } from './control.js';
import { readSignatureTreatment, type SignaturesOptions } from './dnssec/signatures-option.js';
import { watchInterruption } from './operations/interruption.js';
import { addSettingOptions } from './settings.js';
import type { Terminal } from './terminal.js';
import { placeIssue, sourceOf } from './zone-check.js';

interface ImportOptions extends SignaturesOptions {
  readonly origin?: string;
  readonly list?: string;
  readonly replace?: boolean;
  readonly account?: string;
  readonly dryRun?: boolean;
  readonly init?: boolean;
  readonly json?: boolean;
}

/** `place`: what is said behind each zone about the data directory. */
type ReportedOptions = ImportOptions & { readonly place: string; readonly signatures: SignatureTreatment };

/** One zone file and the name of its zone. */
interface Target {
  readonly file: string;
  readonly origin?: string;
}

interface Outcome extends Target {
  /** What the import took, milliseconds. */
  readonly tookMs?: number;
  readonly result?: ImportResult;
  readonly refusal?: string;
}

export function addZoneImport(zone: Command, { terminal, environment }: CommandContext): void {
  const command = zone
    .command('import')
    .description('create zones from RFC 1035 zone files, one zone per file; a file with errors changes nothing')
    .argument('[files...]', 'zone files; - is standard input')
    .option('--origin <name>', 'name of the zone (default: as the file or its name says)')
    .option('--list <file>', 'read lines of `origin TAB file` from this file')
    .option('--automatic-soa', "ignore the file's SOA and apex NS records, and use those of this service")
    .option(
      '--strip-dnssec',
      'import a signed zone without its signatures and keys; remove its DS records at the parent first',
    )
    .option('--presigned', 'serve a signed zone with its signatures as they are; they are verified first')
    .option('--keys <directory>', "sign a zone here with its own keys: BIND's files, a .key beside each .private")
    .option('--dry-run', 'read and check everything, and store nothing')
    .option('--replace', 'replace zones that exist already')
    .option('--init', 'create the data directory first if it has no database yet')
    .option('--proxied', 'answer with the edge addresses where a record allows it')
    .option('--account <id>', 'account the zones belong to (default: the first)')
    .printsJson(
      'zoneplane zone import example.com.zone',
      'zoneplane zone import --replace --origin example.com db.example',
      'zoneplane zone import --list zones.tsv',
      'zoneplane zone import example.com.zone --init --data-dir /var/lib/zoneplane',
    );
  addSettingOptions(command, DATA_SETTINGS).action(async (files: readonly string[], options: ImportOptions) => {
    const targets = readTargets(files, options);
    const signatures = await readSignatureTreatment(options);
    let dataDir = '';
    const { FILE_ON_THREAD_BYTES, startThreadAhead } = await import('../control/imports/pipe.js');
    const isLarge = targets.some(({ file }) => sizeOf(file) >= FILE_ON_THREAD_BYTES);
    const endThread = isLarge ? startThreadAhead() : undefined;
    const outcomes = await withControl(
      command,
      environment,
      async (context, settings, unlock) => {
        if (signatures.kind === 'sign') await unlock();
        dataDir = resolve(settings.dataDir);
        const place = targets.length === 1 ? ` (in ${dataDir})` : '';
        const run = options.dryRun ? { ...context, dryRun: true } : context;
        return importAll(run, targets, { ...options, signatures, place }, terminal);
      },
      options.init && !options.dryRun ? 'initialise' : 'refuse',
    ).finally(endThread);
    const imported = outcomes.filter(({ result }) => result?.imported).length;
    if (terminal.exitCode === 0) terminal.exitCode = imported === targets.length ? 0 : 1;
    if (options.json) terminal.json(outcomes.map(viewOutcome));
    else if (targets.length > 1) {
      const done = options.dryRun ? 'would be imported' : 'imported';
      terminal.print(`${imported} of ${targets.length} zones ${done} into ${dataDir}`);
    }
  });
}

function readTargets(files: readonly string[], { origin, list }: ImportOptions): Target[] {
  const targets: Target[] = [...(list === undefined ? [] : readList(list)), ...files.map((file) => ({ file }))];
  if (targets.length === 0) {
    throw new UserError('no zone file is given', 'Name zone files, or a list of them with --list.', 2);
  }
  if (origin === undefined) return targets;
  if (targets.length > 1) {
    throw new UserError('--origin names one zone, but several files are given', 'Use --list to name each zone.', 2);
  }
  return [{ ...targets[0]!, origin }];
}

function readList(path: string): Target[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UserError(`the list ${path} cannot be read: ${messageOf(error)}`, undefined, 2);
  }
  const targets: Target[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const [origin, file, ...more] = line.replace(/\r$/, '').split('\t');
    if (!origin || !file || more.length > 0) {
      throw new UserError(`${path}:${index + 1}: expected an origin, a tab and a file name`, undefined, 2);
    }
    targets.push({ origin, file });
  }
  return targets;
}

async function importAll(
  context: Context,
  targets: readonly Target[],
  options: ReportedOptions,
  terminal: Terminal,
): Promise<Outcome[]> {
  const progress = terminal.progress();
  const outcomes: Outcome[] = [];
  const { signal, stop } = watchInterruption(terminal);
  for (const [index, target] of targets.entries()) {
    // A small file is read without a break, so a signal comes only now.
    await setImmediate();
    if (signal.aborted) break;
    const size = sizeOf(target.file);
    const step = ({ records, octets }: ImportProgress): void => {
      const shareOfFile = Math.min(1, octets / Math.max(1, size));
      const place = targets.length === 1 ? '' : `${index + 1}/${targets.length} `;
      progress.step((index + shareOfFile) / targets.length, `${place}${target.file} (${records} records)`);
    };
    step({ records: 0, octets: 0 });
    const outcome = await importOne(context, target, options, { onProgress: step, signal });
    progress.end();
    report(outcome, options, terminal);
    outcomes.push(outcome);
  }
  stop();
  if (signal.aborted) complainInterrupted(targets.slice(outcomes.length), terminal);
  return outcomes;
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** `left`: what was not begun. */
function complainInterrupted(left: readonly Target[], terminal: Terminal): void {
  if (left.length === 0) return;
  const more = left.length > 1 ? ` and ${left.length - 1} more files` : '';
  terminal.complain(`interrupted: ${left[0]!.file}${more} not imported, nothing has changed there`);
}

async function importOne(
  context: Context,
  target: Target,
  { automaticSoa, signatures, replace, proxied, account }: ReportedOptions,
  running: Pick<ImportInput, 'onProgress' | 'signal'>,
): Promise<Outcome> {
  const { origin } = target;
  const began = performance.now();
  try {
    const { importZone } = await import('../control/imports/zone.js');
    const result = await importZone(context, {
      source: sourceOf(target.file),
      ...running,
      ...(origin === undefined ? {} : { origin }),
      ...(automaticSoa ? { automaticSoa } : {}),
      signatures,
      ...(replace ? { replace } : {}),
      ...(proxied ? { proxied } : {}),
      ...(account === undefined ? {} : { accountId: account }),
    });
    return { ...target, result, tookMs: performance.now() - began };
  } catch (error) {
    const known = explainStoreFailure(error);
    if (known instanceof AppError && known.key.endsWith('importExists')) {
      return { ...target, refusal: messageOf(known).replace('Replace it explicitly', 'Give --replace') };
    }
    if (known instanceof AppError || known instanceof UserError) return { ...target, refusal: messageOf(known) };
    throw error;
  }
}

function report(
  { file, result, refusal, tookMs }: Outcome,
  { json, dryRun, place }: ReportedOptions,
  terminal: Terminal,
): void {
  for (const issue of result?.issues ?? []) terminal.complain(formatIssue(placeIssue(issue, file)));
  if (refusal !== undefined) terminal.complain(`${file}: not imported: ${refusal}`);
  else if (!result?.imported) terminal.complain(`${file}: not imported, nothing has changed`);
  else if (!json) {
    const duplicates = result.duplicates > 0 ? `, ${result.duplicates} duplicates left out` : '';
    const records = `${result.records} records${describeRate(result.records, tookMs)}`;
    terminal.print(
      `${dryRun ? 'would import' : 'imported'} ${result.name}: ${records}, serial ${result.serial}${duplicates}${place}`,
    );
  }
}

/** Time and rate of an import that took long enough to wonder about. */
function describeRate(records: number, tookMs = 0): string {
  if (tookMs < 1000) return '';
  return ` in ${(tookMs / 1000).toFixed(1)} s (${Math.round((records / tookMs) * 1000).toLocaleString('en')} a second)`;
}

function viewOutcome({ file, origin, result, refusal }: Outcome): object {
  return {
    file,
    name: result?.name ?? origin,
    imported: result?.imported ?? false,
    zone_id: result?.zoneId,
    serial: result?.serial,
    records: result?.records ?? 0,
    duplicates: result?.duplicates ?? 0,
    issues: result?.issues ?? [],
    refusal,
  };
}
