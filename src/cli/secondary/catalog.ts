/** `zoneplane secondary catalog`: catalog zones that tell other servers which zones they serve. */
import { UserError } from '../../base/errors.js';
import {
  type CatalogItem,
  createCatalog,
  deleteCatalog,
  editMember,
  listCatalogs,
  listMembers,
  type MemberEdit,
} from '../../control/catalogs/catalogs.js';
import type { Context } from '../../control/kernel/context.js';
import { listPeers } from '../../control/secondary/peers.js';
import { gather } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, DATA_SETTINGS, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { addFollowCommands } from './followed.js';
import { sameName } from './tsig.js';

interface Options {
  readonly account?: string;
  readonly json?: boolean;
}

const ACCOUNT = ['--account <id>', 'account of the zones (default: the oldest)'] as const;
const JSON_OPTION = ['--json', 'print JSON'] as const;

export function addCatalogCommands(secondary: Command, context: CommandContext): void {
  const catalog = secondary
    .command('catalog')
    .description(
      'catalog zones (RFC 9432), which tell other servers what they serve, or this one what it serves for others',
    );
  addCreate(catalog, context);
  addList(catalog, context);
  addMember(catalog, context);
  addDelete(catalog, context);
  addFollowCommands(catalog, context);
}

function addCreate(catalog: Command, { terminal, environment }: CommandContext): void {
  const create = catalog
    .command('create')
    .description('make a catalog zone, and let peers transfer it and its zones')
    .argument('[name]', 'a name for it (default: catalog.<account identifier>.invalid)')
    .option('--peer <name>', 'a peer that reads it; may be given several times (default: all)', gather)
    .option('--linked', 'only zones that are transferred to one of these peers (default: all zones of the account)')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog create', 'zoneplane secondary catalog create fleet.example --peer ns2');
  addSettingOptions(create, DATA_SETTINGS).action(
    async (name: string | undefined, options: Options & { peer?: readonly string[]; linked?: boolean }) => {
      const made = await withControl(create, environment, async (context) => {
        const account = accountOf(context, options);
        const peers = await peersNamed(context, account, options.peer);
        return createCatalog(context, account, { name, peers, members: options.linked ? 'linked' : 'all' });
      });
      if (options.json) terminal.json(made);
      else {
        terminal.print(`made the catalog ${made.name}`);
        terminal.print('For its consumers: zoneplane secondary print --kind knot --address OURS --catalog');
      }
    },
  );
}

async function peersNamed(context: Context, account: string, names: readonly string[] | undefined): Promise<string[]> {
  const known = await listPeers(context, account);
  if (!names) return known.map(({ id }) => id);
  return names.map((name) => {
    const found = known.find((peer) => peer.name === name);
    if (!found)
      throw new UserError(`there is no peer ${name}`, 'Add one: zoneplane secondary add ns2 --address 192.0.2.53');
    return found.id;
  });
}

function addList(catalog: Command, { terminal, environment }: CommandContext): void {
  const list = catalog
    .command('list')
    .description('list catalogs and the zones in them')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog list');
  addSettingOptions(list, DATA_SETTINGS).action(async (options: Options) => {
    const found = await withControl(list, environment, async (context) => {
      const account = accountOf(context, options);
      const catalogs = await listCatalogs(context, account);
      return Promise.all(
        catalogs.map(async (item) => ({ ...item, zones: await listMembers(context, account, item.id) })),
      );
    });
    if (options.json) terminal.json(found);
    else {
      const rows = found.flatMap(({ name: of, zones }) =>
        zones.map(({ name, memberId, group }) => [of, name, memberId, group ?? '-']),
      );
      terminal.table(['catalog', 'zone', 'member', 'group'], rows, 'No catalog has any zones.');
    }
  });
}

function addMember(catalog: Command, { terminal, environment }: CommandContext): void {
  const member = catalog
    .command('member')
    .description('change what a catalog says about a zone')
    .argument('<zone>', 'the zone')
    .option('--catalog <name>', 'which catalog (default: the only one)')
    .option('--group <name>', 'its group; empty: none')
    .option('--reset', 'make consumers begin anew with the zone')
    .option('--move-to <name>', 'the catalog that takes it over')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example(
      'zoneplane secondary catalog member example.com --group signed',
      'zoneplane secondary catalog member example.com --reset',
    );
  addSettingOptions(member, DATA_SETTINGS).action(
    async (zone: string, options: Options & { catalog?: string; group?: string; reset?: boolean; moveTo?: string }) => {
      const changed = await withControl(member, environment, async (context) => {
        const account = accountOf(context, options);
        const catalogs = await listCatalogs(context, account);
        const { id } = await requireZoneNamed(context, zone);
        const edit: MemberEdit = {
          group: options.group,
          reset: options.reset,
          ...(options.moveTo !== undefined && { move_to: chooseCatalog(catalogs, options.moveTo).id }),
        };
        return editMember(context, account, chooseCatalog(catalogs, options.catalog).id, id, edit);
      });
      if (options.json) terminal.json(changed);
      else terminal.print(`${changed.name} is member ${changed.memberId}, group ${changed.group ?? 'none'}`);
    },
  );
}

function addDelete(catalog: Command, { terminal, environment }: CommandContext): void {
  const remove = catalog
    .command('delete')
    .description('delete a catalog; its consumers stop serving the zones that they have from it')
    .argument('<name>', 'its name')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog delete fleet.example');
  addSettingOptions(remove, DATA_SETTINGS).action(async (name: string, options: Options) => {
    const deleted = await withControl(remove, environment, async (context) => {
      const account = accountOf(context, options);
      const found = chooseCatalog(await listCatalogs(context, account), name);
      await deleteCatalog(context, account, found.id);
      return found;
    });
    if (options.json) terminal.json({ id: deleted.id });
    else terminal.print(`deleted the catalog ${deleted.name}`);
  });
}

/** Throws a UserError when there is none of the name, or several and no name. */
export function chooseCatalog(catalogs: readonly CatalogItem[], name: string | undefined): CatalogItem {
  const fitting = name === undefined ? catalogs : catalogs.filter((item) => sameName(item.name, name));
  if (fitting.length === 1) return fitting[0]!;
  if (catalogs.length === 0)
    throw new UserError('there are no catalogs yet', 'Make one: zoneplane secondary catalog create');
  throw new UserError(
    name === undefined ? 'there are several catalogs' : `there is no catalog ${name}`,
    `Choose with --catalog: ${catalogs.map((item) => item.name).join(', ')}`,
  );
}
