/** `zoneplane record`: the daily edits of one zone. */
import { Option } from 'commander';
import { UserError } from '../base/errors.js';
import type { Context } from '../control/kernel/context.js';
import type { RecordItem } from '../control/records/item.js';
import {
  applyBatch,
  createRecord,
  deleteRecord,
  editRecord,
  getRecord,
  listRecords,
  type RecordInput,
} from '../control/records/records.js';
import { type FoundRecord, MOST_FOUND, searchRecords } from '../control/records/search.js';
import { printInstant } from '../control/rules/instant.js';
import { recordNameIn } from '../control/rules/names.js';
import { recordFailure } from '../control/rules/record-failures.js';
import type { ZoneItem } from '../control/zones/item.js';
import { NameError, parseName } from '../dns/name.js';
import { typeByMnemonic } from '../dns/rr/registry.js';
import { gather, limitOption, ttlOption, wholeNumber } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { collectPages, DATA_SETTINGS, requireZoneNamed, withControl } from './control.js';
import { quoteShell } from './operations/quote-shell.js';
import { readContent } from './operations/record-content.js';
import { addSettingOptions } from './settings.js';

interface ListOptions {
  readonly name?: string;
  readonly type?: string;
  readonly limit?: number;
  readonly json?: boolean;
}

interface AddOptions {
  readonly ttl?: number;
  readonly priority?: number;
  readonly proxied?: boolean;
  readonly comment?: string;
  readonly tag?: readonly string[];
  readonly originPort?: number;
  readonly ptr?: boolean;
  /** False: never. */
  readonly expires?: string | false;
  readonly json?: boolean;
}

export function addRecordCommands(program: Command, context: CommandContext): void {
  const record = program.command('record');
  addList(record, context);
  addSearch(record, context);
  addAdd(record, context);
  addUpdate(record, context);
  addDelete(record, context);
}

function addList(record: Command, { terminal, environment }: CommandContext): void {
  const list = record
    .command('list')
    .description('list the records of a zone')
    .argument('<zone>', 'name of the zone')
    .option('--name <name>', 'only this name: @, relative to the zone, or whole')
    .option('--type <type>', 'only this type')
    .addOption(limitOption())
    .printsJson('zoneplane record list example.com --type MX');
  addSettingOptions(list, DATA_SETTINGS).action(async (zoneName: string, { name, type, limit, json }: ListOptions) => {
    const { zone, records } = await withControl(list, environment, async (context) => {
      const zone = await requireZoneNamed(context, zoneName);
      return { zone, records: await findRecords(context, zone, name, type, limit) };
    });
    if (json) return terminal.json(records.map(viewRecord));
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
      `No matching records${name === undefined ? '' : ` at ${fullName(zone, name)}`}.`,
    );
  });
}

function addSearch(record: Command, { terminal, environment }: CommandContext): void {
  const search = record
    .command('search')
    .description('search all zones for records with these words in name, type, content, comment or tags')
    .argument('<word...>', 'all of them must occur')
    .addOption(limitOption())
    .printsJson('zoneplane record search 192.0.2.10', 'zoneplane record search mail MX');
  addSettingOptions(search, DATA_SETTINGS).action(
    async (words: readonly string[], { limit = Number.POSITIVE_INFINITY, json }: ListOptions) => {
      const found = await withControl(search, environment, async (context) => {
        const records: FoundRecord[] = [];
        for (let after: number | undefined = 0; after !== undefined && records.length < limit; ) {
          const most = Math.min(MOST_FOUND, limit - records.length);
          const part = await searchRecords(context, { text: words.join(' '), limit: most, after });
          records.push(...part.records);
          after = part.next;
        }
        return records;
      });
      if (json) terminal.json(found.map(({ zone, record }) => ({ zone: zone.name, ...viewRecord(record) })));
      else {
        terminal.table(
          ['zone', 'name', 'type', 'content', 'comment'],
          found.map((item) => [
            item.zone.name,
            item.record.name,
            item.record.type,
            contentOf(item.record),
            item.record.comment ?? '',
          ]),
          'No matching records.',
        );
      }
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
    .argument('<content...>', 'the data as in a zone file; single labels are relative to the zone')
    .addOption(ttlOption())
    .addOption(
      new Option('--priority <number>', 'priority of MX, SRV and URI, if the content does not begin with it').argParser(
        wholeNumber(0, 65535, 'a priority'),
      ),
    )
    .option('--proxied', 'answer with the edge addresses')
    .addOption(originPortOption())
    .option('--ptr', 'maintain a PTR record of the address in the reverse zone of the same account')
    .option('--expires <time>', 'remove it at this time, such as 2030-01-01T00:00:00Z')
    .option('--comment <text>', 'a note for people')
    .option('--tag <name:value>', 'a tag; may be given several times', gather)
    .printsJson(
      'zoneplane record add example.com www A 192.0.2.10 --ttl 300',
      'zoneplane record add example.com @ MX 10 mail',
      'zoneplane record add example.com docs CNAME pages.example.net.',
    );
  addSettingOptions(add, DATA_SETTINGS).action(
    async (zoneName: string, name: string, type: string, content: readonly string[], options: AddOptions) => {
      const made = await withControl(add, environment, async (context) => {
        const zone = await requireZoneNamed(context, zoneName);
        const value = readContent(zone, type.toUpperCase(), content.join(' '), options.priority);
        return createRecord(context, zone.id, { name, ttl: 1, ...value, ...givenMembers(options) });
      });
      if (options.json) terminal.json(viewRecord(made));
      else terminal.print(`added ${made.name} ${made.type} ${contentOf(made)} (${made.id})`);
    },
  );
}

function addUpdate(record: Command, { terminal, environment }: CommandContext): void {
  const update = record
    .command('update')
    .description('change a record: its data, TTL, proxying, comment or tags; everything else stays as it is')
    .argument('<zone>', 'name of the zone')
    .argument('<id or name>', 'identifier, as `record list` shows it; or a name, followed by a type')
    .argument('[data...]', 'the new data as in a zone file; after the type if a name is given')
    .addOption(ttlOption())
    .addOption(
      new Option('--priority <number>', 'priority of MX, SRV and URI, if the data does not begin with it').argParser(
        wholeNumber(0, 65535, 'a priority'),
      ),
    )
    .option('--proxied', 'answer with the edge addresses')
    .option('--no-proxied', 'answer with the data itself')
    .addOption(originPortOption())
    .option('--ptr', 'maintain a PTR record of the address in the reverse zone of the same account')
    .option('--no-ptr', 'maintain no PTR record')
    .option('--expires <time>', 'remove it at this time, such as 2030-01-01T00:00:00Z')
    .option('--no-expires', 'keep it')
    .option('--comment <text>', 'a note for people; empty removes it')
    .option('--tag <name:value>', 'a tag that replaces the present ones; may be given several times', gather)
    .printsJson(
      'zoneplane record update example.com www A 192.0.2.20',
      'zoneplane record update example.com www A --ttl 600',
      'zoneplane record update example.com 372e67954025e0ba6aaa6d586b9e0b59 --comment "moved in May"',
    );
  addSettingOptions(update, DATA_SETTINGS).action(
    async (zoneName: string, target: string, words: readonly string[], options: AddOptions) => {
      const changed = await withControl(update, environment, async (context) => {
        const zone = await requireZoneNamed(context, zoneName);
        const { record: found, content } = await findOne(context, zone, target, words);
        const value = content === '' ? {} : readContent(zone, found.type, content, options.priority ?? found.priority);
        return editRecord(context, zone.id, found.id, { ...value, ...givenMembers(options) });
      });
      if (options.json) terminal.json(viewRecord(changed));
      else terminal.print(`changed ${changed.name} ${changed.type} ${contentOf(changed)} (${changed.id})`);
    },
  );
}

/** The one record that is meant, and the data behind it. Throws a UserError when there are none or several. */
async function findOne(
  context: Context,
  zone: ZoneItem,
  target: string,
  words: readonly string[],
): Promise<{ readonly record: RecordItem; readonly content: string }> {
  const [type, ...data] = words;
  if (/^[0-9a-f]{32}$/.test(target)) {
    return { record: await getRecord(context, zone.id, target), content: words.join(' ') };
  }
  if (type === undefined) requireId(target);
  const found = await findRecords(context, zone, target, type);
  const what = `${fullName(zone, target)} ${type!.toUpperCase()}`;
  const list = `zoneplane record list ${zone.asciiName} --name ${quoteShell(target)} --type ${type}`;
  if (found.length === 0)
    throw new UserError(`there is no record ${what} in ${zone.name}`, `Add it with \`zoneplane record add\`.`);
  if (found.length > 1)
    throw new UserError(`there are ${found.length} records ${what}`, `Name one by its identifier: \`${list}\`.`);
  return { record: found[0]!, content: data.join(' ') };
}

function addDelete(record: Command, { terminal, environment }: CommandContext): void {
  const remove = record
    .command('delete')
    .description('delete one record by its identifier, or all records of a name and type')
    .argument('<zone>', 'name of the zone')
    .argument('<id or name>', 'identifier, as `record list` shows it; or a name, followed by a type')
    .argument('[type]', 'type of the records to delete')
    .argument('[content...]', 'only those with this content')
    .printsJson(
      'zoneplane record delete example.com www A',
      'zoneplane record delete example.com www A 192.0.2.10',
      'zoneplane record delete example.com 372e67954025e0ba6aaa6d586b9e0b59',
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
    `'${text}' is not a record identifier`,
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
  limit?: number,
): Promise<RecordItem[]> {
  if (type !== undefined && typeByMnemonic(type.toUpperCase()) === undefined) {
    throw new UserError(`there is no record type ${type}`, 'Types are such as A, AAAA, CNAME, MX, TXT.', 2);
  }
  const list = (page: number): ReturnType<typeof listRecords> =>
    listRecords(context, zone.id, {
      page,
      perPage: 5000,
      ...(name === undefined ? {} : { name: { exact: fullName(zone, name) } }),
      ...(type === undefined ? {} : { types: [type] }),
    });
  return collectPages(list, limit);
}

/**
 * The whole name that `@`, a relative or a whole name stands for. Throws the refusal of `record add` for what no record of the
 * zone can have as its name. Zone files have names that cannot be added singly; they are given in zone file form (RFC 1035 §5.1).
 */
function fullName(zone: ZoneItem, name: string): string {
  const place = { name: zone.asciiName, apex: parseName(`${zone.asciiName}.`) };
  const known = recordNameIn(name, place);
  if (known) return known.name;
  const bare = name.toLowerCase().replace(/\.$/, '');
  const full = name.endsWith('.') || bare.endsWith(`.${zone.asciiName}`) ? bare : `${bare}.${zone.asciiName}`;
  if (!isNameBelow(full, zone.asciiName)) throw recordFailure('badName');
  return full;
}

function isNameBelow(name: string, zone: string): boolean {
  if (!/^[!-~]+$/.test(name) || !name.endsWith(`.${zone}`)) return false;
  try {
    parseName(`${name}.`);
    return true;
  } catch (error) {
    if (error instanceof NameError) return false;
    throw error;
  }
}

function originPortOption(): Option {
  return new Option(
    '--origin-port <port>',
    'port at which the edge reaches the origin (default: that of the scheme)',
  ).argParser(wholeNumber(1, 65_535, 'a port'));
}

/** What options say beside the data; absent ones say nothing. */
function givenMembers({ ttl, proxied, comment, tag, originPort, ptr, expires }: AddOptions): RecordInput {
  return {
    ...(ttl === undefined ? {} : { ttl }),
    ...(proxied === undefined ? {} : { proxied }),
    ...(comment === undefined ? {} : { comment }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(ptr === undefined ? {} : { ptr }),
    ...(expires === undefined ? {} : { expires_on: expires === false ? null : expires }),
    ...(originPort === undefined ? {} : { settings: { origin_port: originPort } }),
  };
}

/** The content as in a zone file, the priority in front. */
function contentOf({ content, priority }: RecordItem): string {
  return priority === undefined ? content : `${priority} ${content}`;
}

function viewRecord(record: RecordItem): object {
  const { id, name, type, content, priority, data, ttl, proxied, ptr, expiresAt, comment, tags, settings } = record;
  const expires_on = expiresAt === undefined ? undefined : printInstant(expiresAt);
  return { id, name, type, content, priority, data, ttl, proxied, ptr, expires_on, comment, tags, settings };
}
