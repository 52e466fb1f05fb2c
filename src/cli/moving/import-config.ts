/** `zoneplane import-config`: does here what the configuration of another name server says. */
import { resolve } from 'node:path';
import { Option } from 'commander';
import { UserError } from '../../base/errors.js';
import { type Configuration, type Note, PROGRAMS, type ProgramName } from '../../foreign/configuration.js';
import type { Place } from '../../foreign/place.js';
import { readConfiguration } from '../../foreign/read.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, KEY_SETTINGS, openServices, withControl } from '../control.js';
import { watchInterruption } from '../operations/interruption.js';
import { addSettingOptions } from '../settings.js';
import { confirmYes, type Terminal } from '../terminal.js';
import { keySteps, updateSteps } from './keys.js';
import { serverSteps } from './servers.js';
import { refusalOf, type Standing, type Step, type Target } from './step.js';
import { zoneStep } from './zones.js';

interface Options {
  readonly kind?: ProgramName;
  readonly view?: string;
  readonly root?: string;
  readonly account?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly init?: boolean;
  readonly json?: boolean;
}

interface Plan {
  readonly steps: readonly Step[];
  readonly notes: readonly Note[];
}

export function addImportConfigCommand(program: Command, { terminal, environment, isTerminal }: CommandContext): void {
  const command = program
    .command('import-config')
    .argument('<file>', 'its configuration file, such as /etc/bind/named.conf')
    .addOption(
      new Option('--kind <program>', 'the program whose file it is (default: by the name of the file)').choices(
        PROGRAMS,
      ),
    )
    .option('--view <name>', 'the view of BIND whose zones are taken')
    .option(
      '--root <directory>',
      'directory with the copied files of another machine, below which absolute paths are looked up',
    )
    .option('--account <id>', 'account that gets the zones (default: the oldest)')
    .option('--dry-run', 'read and check everything, print what would be done, and do nothing')
    .option('--yes', 'do it without asking')
    .option('--init', 'create the data directory first if it has no database yet')
    .printsJson(
      'zoneplane import-config /etc/bind/named.conf --dry-run',
      'zoneplane import-config /etc/bind/named.conf',
      'zoneplane import-config copied/etc/bind/named.conf --root copied --yes',
    );
  addSettingOptions(command, KEY_SETTINGS).action(async (file: string, options: Options) => {
    const configuration = readConfiguration(file, options);
    if (!options.dryRun && !options.yes && (!isTerminal || options.json)) {
      throw new UserError('nobody can be asked here', 'Look at the plan with --dry-run, then give --yes.', 2);
    }
    await withControl(
      command,
      environment,
      async (context, _, unlock) => {
        const services = await openServices(command, environment, context);
        const target = { context, services, account: accountOf(context, options), unlock, listings: new Map() };
        const plan = await makePlan(target, configuration);
        if (!options.json) printPlan(plan, configuration, file, terminal);
        const steps = options.dryRun ? plan.steps : await carryOut(plan, options, terminal);
        terminal.exitCode =
          terminal.exitCode === 130 ? 130 : steps.some(({ standing }) => standing.is === 'refused') ? 1 : 0;
        if (options.json) terminal.json(viewOf({ ...plan, steps }, configuration, file, options));
        else printEnd(steps, plan, options, terminal);
      },
      options.init && !options.dryRun ? 'initialise' : 'refuse',
    );
  });
}

async function makePlan(target: Target, { keys, zones, notes }: Configuration): Promise<Plan> {
  const steps: Step[] = [...(await keySteps(target, keys))];
  const seen = new Map<string, Place>();
  for (const zone of zones) {
    const other = seen.get(zone.name);
    if (other)
      throw new UserError(
        `${zone.place.file}:${zone.place.line}: the zone ${zone.name} is at ${other.file}:${other.line}, too`,
      );
    seen.set(zone.name, zone.place);
    steps.push(await zoneStep(target, zone));
  }
  steps.push(...(await updateSteps(target, zones)));
  const servers = await serverSteps(target, zones);
  return { steps: [...steps, ...servers.steps], notes: [...notes, ...servers.notes] };
}

/** Each step with its outcome. */
async function carryOut({ steps }: Plan, { yes }: Options, terminal: Terminal): Promise<Step[]> {
  const open = steps.filter(({ standing }) => standing.is === 'open').length;
  if (open === 0) return [...steps];
  if (!yes) await confirmYes(`Things to do: ${open}.`, 'nothing was done');
  const progress = terminal.progress();
  const { signal, stop } = watchInterruption(terminal);
  const outcomes: Step[] = [];
  for (const [index, step] of steps.entries()) {
    if (step.standing.is === 'open') progress.step(index / steps.length, `${step.kind} ${step.subject}`);
    const standing = signal.aborted && step.standing.is === 'open' ? INTERRUPTED : await outcomeOf(step);
    outcomes.push({ ...step, standing });
  }
  progress.end();
  stop();
  return outcomes;
}

const INTERRUPTED: Standing = {
  is: 'refused',
  reason: 'interrupted before it was begun',
  remedy: 'Run the command again.',
};

async function outcomeOf({ standing }: Step): Promise<Standing> {
  if (standing.is !== 'open') return standing;
  try {
    await standing.run();
    return { is: 'done' };
  } catch (error) {
    return refusalOf(error);
  }
}

const at = ({ file, line }: Place): string => `${file}:${line}`;

function printPlan(
  { steps, notes }: Plan,
  { program, zones, keys }: Configuration,
  file: string,
  terminal: Terminal,
): void {
  terminal.print(`${resolve(file)} (${program}): ${zones.length} zones, ${keys.length} keys`);
  const of = (is: Standing['is']): Step[] => steps.filter(({ standing }) => standing.is === is);
  const section = (title: string, lines: readonly string[]): void => {
    if (lines.length === 0) return;
    terminal.print(`\n${terminal.styled('bold', title)}`);
    for (const line of lines) terminal.print(`  ${line}`);
  };
  const line = ({ place, kind, subject, detail }: Step): string =>
    `${at(place)}: ${kind} ${subject}${detail === '' ? '' : `, ${detail}`}`;
  section('To do', of('open').map(line));
  section('Already so', of('already').map(line));
  section(
    'Cannot be taken over',
    of('refused').map((step) => `${line(step)}: ${refusalText(step.standing)}`),
  );
  const noted = (kind: Note['kind']): string[] => gatherNotes(notes.filter((note) => note.kind === kind));
  section('Set by hand, in the settings of this server', noted('setting'));
  section('Only for resolvers', noted('resolver'));
  section('Without an equivalent', noted('none'));
}

/** Notes of the same text in one line. */
function gatherNotes(notes: readonly Note[]): string[] {
  const byText = new Map<string, Place[]>();
  for (const { text, place } of notes) byText.set(text, [...(byText.get(text) ?? []), place]);
  return [...byText].map(([text, places]) => {
    const different = new Set(places.map(at)).size;
    return `${at(places[0]!)}: ${text}${different > 1 ? ` (and in ${different - 1} more places)` : ''}`;
  });
}

function refusalText(standing: Standing): string {
  if (standing.is !== 'refused') return '';
  return standing.remedy === undefined ? standing.reason : `${standing.reason}. ${standing.remedy}`;
}

function printEnd(steps: readonly Step[], plan: Plan, { dryRun }: Options, terminal: Terminal): void {
  const count = (of: readonly Step[], is: Standing['is']): number =>
    of.filter(({ standing }) => standing.is === is).length;
  if (dryRun) {
    terminal.print(`\nto do: ${count(steps, 'open')}, cannot be done: ${count(steps, 'refused')}; nothing was changed`);
    return;
  }
  const failed = steps.filter(
    ({ standing }, index) => standing.is === 'refused' && plan.steps[index]!.standing.is === 'open',
  );
  for (const step of failed)
    terminal.complain(`${at(step.place)}: ${step.kind} ${step.subject}: ${refusalText(step.standing)}`);
  terminal.print(`\ndone: ${count(steps, 'done')}, not done: ${count(steps, 'refused')}`);
  if (count(steps, 'refused') > 0)
    terminal.print('Run the command again when the reasons are gone; it will do what is left.');
  else terminal.print('See what the other servers serve: zoneplane secondary status');
}

const OUTCOMES = { open: 'to do', already: 'already', done: 'done', refused: 'refused' } as const;

function viewOf({ steps, notes }: Plan, { program }: Configuration, file: string, { dryRun }: Options): object {
  return {
    file: resolve(file),
    program,
    dry_run: dryRun === true,
    steps: steps.map(({ kind, place, subject, detail, standing }) => ({
      ...place,
      kind,
      subject,
      detail,
      state: OUTCOMES[standing.is],
      ...(standing.is === 'refused' && { reason: standing.reason, remedy: standing.remedy }),
    })),
    notes: notes.map(({ kind, place, text }) => ({ ...place, kind, text })),
  };
}
