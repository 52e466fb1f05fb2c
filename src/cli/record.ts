/** `zoneplane record`: the daily edits of one zone. */
import { type Command, Option } from 'commander';
import { UserError } from '../base/errors.js';
import type { RecordItem } from '../control/records/item.js';
import { applyBatch, createRecord, deleteRecord, listRecords, type RecordInput } from '../control/records/records.js';
import type { Context } from '../control/write/context.js';
import type { ZoneItem } from '../control/zones/item.js';
import { gather, wholeNumber } from './arguments.js';
import { type CommandContext, example } from './command.js';
import { collectPages, DATA_SETTINGS, requireZoneNamed, withControl } from './control.js';
import { addSettingOptions } from './settings.js';

interface AddOptions {
  readonly ttl?: number;
  readonly priority?: number;
  readonly proxied?: boolean;
  readonly comment?: string;
  readonly tag?: readonly string[];
  readonly json?: boolean;
}

export function addRecordCommands(program: Command, context: CommandContext): void {
  const record = program.command('record').description('list, add and delete records of a zone');
  addList(record, context);
  addAdd(record, context);
  addDelete(record, context);
}

function addList(record: Command, { terminal, environment }: CommandContext): void {
  const list = record
    .command('list')
    .description('list the records of a zone')
    .argument('<zone>', 'name of the zone')
    .option('--name <name>', 'only this name: @, relative to the zone, or whole')
    .option('--type <type>', 'only this type')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane record list example.com --type MX'));
  addSettingOptions(list, DATA_SETTINGS).action(
    async (zoneName: string, { name, type, json }: { name?: string; type?: string; json?: boolean }) => {
      const records = await withControl(list, environment, async (context) => {
        const zone = await requireZoneNamed(context, zoneName);
        return findRecords(context, zone, name, type);
      });
      if (json) {
        terminal.json(records.map(viewRecord));
        return;
      }
      terminal.table(
        ['id', 'name', 'type', 'ttl', 'proxied', 'content'],
        records.map((entry) => [
          entry.id,
          entry.name,
          entry.type,
          entry.ttl === 1 ? 'auto' : String(entry.ttl),
          entry.proxied ? 'yes' : 'no',
          contentOf(entry),
        ]),
        'There are no such records.',
      );
    },
  );
}

function addAdd(record: Command, { terminal, environment }: CommandContext): void {
  const add = record
    .command('add')
    .description('add a record')
    .argument('<zone>', 'name of the zone')
    .argument('<name>', '@ for the zone itself, a name relative to it, or a whole name')
    .argument('<type>', 'such as A, AAAA, CNAME, MX, TXT')
    .argument('<content...>', 'the data as in a zone file')
    .addOption(
      new Option('--ttl <seconds>', 'time to live; 1 is automatic').argParser(wholeNumber(1, 2147483647, 'seconds')),
    )
    .addOption(
      new Option('--priority <number>', 'of MX, SRV and URI, where the content lacks it').argParser(
        wholeNumber(0, 65535, 'a priority'),
      ),
    )
    .option('--proxied', 'answer with the edge addresses')
    .option('--comment <text>', 'a note for people')
    .option('--tag <name:value>', 'a tag; may be given several times', gather)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example(
        'zoneplane record add example.com www A 192.0.2.10 --ttl 300',
        'zoneplane record add example.com @ MX 10 mail.example.com',
      ),
    );
  addSettingOptions(add, DATA_SETTINGS).action(
    async (zoneName: string, name: string, type: string, content: readonly string[], options: AddOptions) => {
      const input = recordInput(name, type.toUpperCase(), content.join(' '), options);
      const made = await withControl(add, environment, async (context) =>
        createRecord(context, (await requireZoneNamed(context, zoneName)).id, input),
      );
      if (options.json) terminal.json(viewRecord(made));
      else terminal.print(`added ${made.name} ${made.type} ${contentOf(made)} (${made.id})`);
    },
  );
}

function addDelete(record: Command, { terminal, environment }: CommandContext): void {
  const remove = record
    .command('delete')
    .description('delete one record by its identifier, or all records of a name and type')
    .argument('<zone>', 'name of the zone')
    .argument('<id or name>', 'identifier, as `record list` shows it; or a name, followed by a type')
    .argument('[type]', 'type of the records to delete')
    .argument('[content...]', 'only those with this content')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example(
        'zoneplane record delete example.com www A',
        'zoneplane record delete example.com www A 192.0.2.10',
        'zoneplane record delete example.com 372e67954025e0ba6aaa6d586b9e0b59',
      ),
    );
  addSettingOptions(remove, DATA_SETTINGS).action(
    async (
      zoneName: string,
      target: string,
      type: string | undefined,
      content: readonly string[],
      { json }: { json?: boolean },
    ) => {
      const deleted = await withControl(remove, environment, async (context) => {
        const zone = await requireZoneNamed(context, zoneName);
        if (type === undefined) return [await deleteRecord(context, zone.id, requireId(target))];
        return deleteMatching(context, zone, target, type, content.join(' '));
      });
      if (json) terminal.json(deleted.map(viewRecord));
      else for (const entry of deleted) terminal.print(`deleted ${entry.name} ${entry.type} ${contentOf(entry)}`);
    },
  );
}

function requireId(text: string): string {
  if (/^[0-9a-f]{32}$/.test(text)) return text;
  throw new UserError(
    `'${text}' is no record identifier`,
    'Give an identifier of `zoneplane record list`, or a name and a type.',
    2,
  );
}

async function deleteMatching(
  context: Context,
  zone: ZoneItem,
  name: string,
  type: string,
  content: string,
): Promise<readonly RecordItem[]> {
  const found = await findRecords(context, zone, name, type);
  const wanted = content === '' ? found : found.filter((record) => sameContent(record, content));
  if (wanted.length === 0) {
    const what = `${fullName(zone, name)} ${type.toUpperCase()}${content === '' ? '' : ` ${content}`}`;
    throw new UserError(
      `there is no record ${what} in ${zone.name}`,
      `See what there is with \`zoneplane record list ${zone.asciiName}\`.`,
    );
  }
  const { deletes } = await applyBatch(context, zone.id, { deletes: wanted.map(({ id }) => ({ id })) });
  return deletes;
}

function sameContent(record: RecordItem, content: string): boolean {
  const wanted = content.toLowerCase().replace(/\.$/, '');
  return [record.content, contentOf(record)].some((text) => text.toLowerCase().replace(/\.$/, '') === wanted);
}

async function findRecords(
  context: Context,
  zone: ZoneItem,
  name: string | undefined,
  type: string | undefined,
): Promise<RecordItem[]> {
  return collectPages((page) =>
    listRecords(context, zone.id, {
      page,
      perPage: 5000,
      ...(name === undefined ? {} : { name: { exact: fullName(zone, name) } }),
      ...(type === undefined ? {} : { types: [type] }),
    }),
  );
}

/** `@`, relative or whole → whole, as the list filter wants it. */
function fullName(zone: ZoneItem, name: string): string {
  const bare = name.toLowerCase().replace(/\.$/, '');
  if (bare === '@' || bare === zone.asciiName || name.endsWith('.')) return bare === '@' ? zone.asciiName : bare;
  return bare.endsWith(`.${zone.asciiName}`) ? bare : `${bare}.${zone.asciiName}`;
}

/** Types whose data begins with a priority that the API keeps apart (v4: §6). */
const WITH_PRIORITY = ['MX', 'SRV', 'URI'];

function recordInput(name: string, type: string, content: string, options: AddOptions): RecordInput {
  const { ttl = 1, proxied, comment, tag, priority } = options;
  const split = WITH_PRIORITY.includes(type) && priority === undefined ? /^(\d{1,5})\s+(.+)$/.exec(content) : null;
  return {
    type,
    name,
    ttl,
    content: split ? split[2] : content,
    ...(split ? { priority: Number(split[1]) } : priority === undefined ? {} : { priority }),
    ...(proxied ? { proxied } : {}),
    ...(comment === undefined ? {} : { comment }),
    ...(tag === undefined ? {} : { tags: tag }),
  };
}

/** The content as in a zone file, the priority in front. */
function contentOf({ content, priority }: RecordItem): string {
  return priority === undefined ? content : `${priority} ${content}`;
}

function viewRecord(record: RecordItem): object {
  const { id, name, type, content, priority, data, ttl, proxied, comment, tags } = record;
  return { id, name, type, content, priority, data, ttl, proxied, comment, tags };
}
