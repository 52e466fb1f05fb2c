/** `zoneplane template`: named sets of records with variables, applied to zones. */
import { readFileSync } from 'node:fs';
import { messageOf, UserError } from '../../base/errors.js';
import { nearMatch } from '../../config/near-match.js';
import type { Context } from '../../control/kernel/context.js';
import type { RecordItem } from '../../control/records/item.js';
import { type AppliedToZone, applyTemplate } from '../../control/templates/apply.js';
import type { TemplateChange, TemplateConflict } from '../../control/templates/difference.js';
import {
  type AppliedZone,
  createTemplate,
  deleteTemplate,
  listAppliedZones,
  listTemplates,
  putTemplate,
  type TemplateItem,
} from '../../control/templates/templates.js';
import { MOST_TEXT_OCTETS, parseText, printText } from '../../control/templates/text.js';
import { gather } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, DATA_SETTINGS, printInstant, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import type { Terminal } from '../terminal.js';

interface Options {
  readonly account?: string;
  readonly json?: boolean;
}

interface ApplyOptions extends Options {
  readonly set?: readonly string[];
  readonly preview?: boolean;
  readonly force?: boolean;
}

const ACCOUNT = ['--account <id>', 'account of the template (default: the oldest)'] as const;
const JSON_OPTION = ['--json', 'print JSON'] as const;
const NAME = ['<name>', 'name of the template'] as const;

export function addTemplateCommands(program: Command, context: CommandContext): void {
  const template = program.command('template');
  addList(template, context);
  addShow(template, context);
  addApply(template, context);
  addImport(template, context);
  addExport(template, context);
  addDelete(template, context);
}

async function requireNamed(context: Context, account: string, name: string): Promise<TemplateItem> {
  const all = await listTemplates(context, account);
  const found = all.find((one) => one.name === name || one.id === name);
  if (found) return found;
  const near = nearMatch(
    name,
    all.map((one) => one.name),
  );
  throw new UserError(
    `there is no template ${name}${near === undefined ? '' : `; did you mean ${near}?`}`,
    'See them all with `zoneplane template list`.',
  );
}

function addList(template: Command, { terminal, environment }: CommandContext): void {
  const list = template
    .command('list')
    .description('list templates')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane template list');
  addSettingOptions(list, DATA_SETTINGS).action(async (options: Options) => {
    const all = await withControl(list, environment, (context) => listTemplates(context, accountOf(context, options)));
    if (options.json) terminal.json(all.map(viewTemplate));
    else {
      const rows = all.map(({ name, records, variables, description }) => {
        return [name, String(records.length), variables.map((one) => one.name).join(', '), description];
      });
      terminal.table(['name', 'records', 'variables', 'description'], rows, 'There are no templates.');
    }
  });
}

function addShow(template: Command, { terminal, environment }: CommandContext): void {
  const show = template
    .command('show')
    .description('show a template, and the zones that have it')
    .argument(...NAME)
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane template show web');
  addSettingOptions(show, DATA_SETTINGS).action(async (name: string, options: Options) => {
    const { found, zones } = await withControl(show, environment, async (context) => {
      const account = accountOf(context, options);
      const found = await requireNamed(context, account, name);
      return { found, zones: await listAppliedZones(context, account, found.id) };
    });
    if (options.json) return terminal.json({ ...viewTemplate(found), zones: zones.map(viewZone) });
    terminal.write(printText(found));
    terminal.print('');
    const rows = zones.map(({ name: zone, version, appliedAt, values }) => {
      const given = Object.entries(values).map(([variable, value]) => `${variable}=${value}`);
      return [zone, version === found.version ? 'current' : 'older', printInstant(appliedAt), given.join(' ')];
    });
    terminal.table(['zone', 'template', 'applied', 'values'], rows, 'It was not applied to any zone yet.');
  });
}

function addApply(template: Command, { terminal, environment }: CommandContext): void {
  const apply = template
    .command('apply')
    .description('bring zones in line with a template; what was edited by hand is left alone')
    .argument(...NAME)
    .argument('[zones...]', 'names of zones (default: those to which it was applied before)')
    .option('--set <variable=value>', 'value of a variable; may be given several times', gather)
    .option('--preview', 'say what would be done, and do nothing')
    .option('--force', 'overwrite what was edited by hand, and what others made')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane template apply web example.com --set ip=192.0.2.10 --preview', 'zoneplane template apply web');
  addSettingOptions(apply, DATA_SETTINGS).action(
    async (name: string, zones: readonly string[], options: ApplyOptions) => {
      const values = Object.fromEntries((options.set ?? []).map(readValue));
      const results = await withControl(apply, environment, async (context) => {
        const account = accountOf(context, options);
        const { id } = await requireNamed(context, account, name);
        const ids: string[] = [];
        for (const zone of zones) ids.push((await requireZoneNamed(context, zone)).id);
        const { preview, force } = options;
        return applyTemplate(context, account, id, { values, preview, force, ...(ids.length > 0 && { zones: ids }) });
      });
      if (results.some(({ status }) => status === 'failed')) terminal.exitCode = 1;
      if (options.json) terminal.json(results.map(viewResult));
      else if (results.length === 0) terminal.print(`${name} was not applied to any zone yet. Name some.`);
      else for (const result of results) printResult(terminal, result);
    },
  );
}

function readValue(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UserError(`'${text}' gives no variable a value`, 'Write it as --set ip=192.0.2.10.', 2);
}

function printResult(terminal: Terminal, { zoneId, zoneName, status, difference, error }: AppliedToZone): void {
  terminal.print(`${zoneName ?? zoneId}: ${status}`);
  for (const change of difference?.changes ?? []) terminal.print(lineOf(change));
  for (const conflict of difference?.conflicts ?? []) terminal.print(conflictLine(conflict));
  if (error) terminal.complain(`  ${[error.message, ...(error.chain ?? []).map(({ message }) => message)].join(' ')}`);
}

const SIGNS = { create: '+', change: '~', delete: '-' } as const;

function lineOf({ action, before, after }: TemplateChange): string {
  return `  ${SIGNS[action]} ${printRecord((after ?? before)!)}`;
}

function printRecord({ name, type, ttl, priority, content }: RecordItem): string {
  const data = priority === undefined ? content : `${priority} ${content}`;
  return `${name} ${ttl === 1 ? 'auto' : ttl} ${type} ${data}`;
}

const REASONS = {
  edited: 'was edited by hand',
  deleted: 'was deleted by hand',
  other: 'does not come from the template, and differs',
} as const;

function conflictLine({ reason, record, wanted }: TemplateConflict): string {
  const { name, type, content } = (wanted ?? record)!;
  return `  ! ${name} ${type} ${content} ${REASONS[reason]}`;
}

function addImport(template: Command, { terminal, environment }: CommandContext): void {
  const load = template
    .command('import')
    .description('create a template from a YAML file')
    .argument('<file>', 'the file; - is standard input')
    .option('--replace', 'replace the template of the same name')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane template import web.yaml');
  addSettingOptions(load, DATA_SETTINGS).action(async (file: string, options: Options & { replace?: boolean }) => {
    const raw = readFile(file);
    const put = options.replace ? putTemplate : createTemplate;
    const made = await withControl(load, environment, (context) => put(context, accountOf(context, options), raw));
    if (options.json) terminal.json(viewTemplate(made));
    else terminal.print(`${made.version === 1 ? 'created' : 'replaced'} template ${made.name}`);
  });
}

function readFile(file: string): unknown {
  let octets: Buffer;
  try {
    octets = readFileSync(file === '-' ? process.stdin.fd : file);
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${messageOf(error)}`);
  }
  if (octets.length > MOST_TEXT_OCTETS) throw new UserError(`${file} has more than ${MOST_TEXT_OCTETS} octets`);
  const result = parseText(octets.toString('utf8'));
  if ('value' in result) return result.value;
  const { line, column, message } = result.fault;
  throw new UserError(`${file}:${line}:${column}: ${message}`);
}

function addExport(template: Command, { terminal, environment }: CommandContext): void {
  const save = template
    .command('export')
    .description('print a template as YAML')
    .argument(...NAME)
    .option(...ACCOUNT)
    .example('zoneplane template export web > web.yaml');
  addSettingOptions(save, DATA_SETTINGS).action(async (name: string, options: Options) => {
    const found = await withControl(save, environment, (context) =>
      requireNamed(context, accountOf(context, options), name),
    );
    terminal.write(printText(found));
  });
}

function addDelete(template: Command, { terminal, environment }: CommandContext): void {
  const remove = template
    .command('delete')
    .description('delete a template; its records stay')
    .argument(...NAME)
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane template delete web');
  addSettingOptions(remove, DATA_SETTINGS).action(async (name: string, options: Options) => {
    const gone = await withControl(remove, environment, async (context) => {
      const account = accountOf(context, options);
      const found = await requireNamed(context, account, name);
      await deleteTemplate(context, account, found.id);
      return found;
    });
    if (options.json) terminal.json({ id: gone.id, name: gone.name });
    else terminal.print(`deleted template ${gone.name}`);
  });
}

function viewTemplate({ id, name, description, variables, records, version, createdAt, modifiedAt }: TemplateItem) {
  const times = { created_on: printInstant(createdAt), modified_on: printInstant(modifiedAt) };
  return { id, name, description, variables, records, version, ...times };
}

function viewZone({ id, name, version, appliedAt, values }: AppliedZone): object {
  return { id, name, version, applied_on: printInstant(appliedAt), values };
}

function viewResult({ zoneId, zoneName, status, difference, error }: AppliedToZone): object {
  const { changes = [], conflicts = [], unchanged = 0 } = difference ?? {};
  const record = (item: RecordItem | undefined) => item && { id: item.id, text: printRecord(item) };
  return {
    zone: { id: zoneId, name: zoneName },
    status,
    unchanged,
    changes: changes.map(({ action, before, after }) => ({ action, before: record(before), after: record(after) })),
    conflicts: conflicts.map(({ reason, record: present, wanted }) => ({ reason, record: record(present), wanted })),
    ...(error && { error: { code: error.code, message: error.message, reasons: error.chain } }),
  };
}
