/** `zoneplane secondary catalog removed`, `restore`: zones that left a catalog of another server. */
import { UserError } from '../../base/errors.js';
import { listRemoved, restoreRemoved } from '../../control/catalog-consumer/removed.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, DATA_SETTINGS, printInstant, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { sameName } from './tsig.js';

interface Options {
  readonly account?: string;
  readonly json?: boolean;
}

const ACCOUNT = ['--account <id>', 'account of the zones (default: the oldest)'] as const;
const JSON_OPTION = ['--json', 'print JSON'] as const;

export function addRemovedCommands(catalog: Command, context: CommandContext): void {
  addRemoved(catalog, context);
  addRestore(catalog, context);
}

function addRemoved(catalog: Command, { terminal, environment }: CommandContext): void {
  const removed = catalog
    .command('removed')
    .description('list zones that left a catalog of another server: they are kept for 7 days and not served')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog removed', 'zoneplane zone delete example.com');
  addSettingOptions(removed, DATA_SETTINGS).action(async (options: Options) => {
    const found = await withControl(removed, environment, (context) =>
      listRemoved(context, accountOf(context, options)),
    );
    if (options.json) terminal.json(found);
    else {
      terminal.table(
        ['zone', 'catalog', 'member', 'removed', 'deleted at'],
        found.map((item) => [
          item.name,
          item.catalog,
          item.memberId,
          printInstant(item.removedAt),
          printInstant(item.keptUntil),
        ]),
        'No zone has left a catalog in the last 7 days.',
      );
    }
  });
}

function addRestore(catalog: Command, { terminal, environment }: CommandContext): void {
  const restore = catalog
    .command('restore')
    .description('serve zones again that left a catalog of another server, as secondary zones of their own')
    .argument('[zones...]', 'their names')
    .option('--all', 'all of them')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog restore example.com');
  addSettingOptions(restore, DATA_SETTINGS).action(async (names: string[], options: Options & { all?: boolean }) => {
    if ((names.length === 0) !== (options.all === true)) {
      throw new UserError('name the zones, or say --all', 'See which: zoneplane secondary catalog removed');
    }
    const restored = await withControl(restore, environment, async (context) => {
      const account = accountOf(context, options);
      const found = await listRemoved(context, account);
      const chosen = options.all ? found : names.map((name) => chooseRemoved(found, name));
      for (const { id } of chosen) await restoreRemoved(context, account, id);
      return chosen;
    });
    if (options.json) terminal.json(restored);
    else for (const { name } of restored) terminal.print(`${name} is served again`);
  });
}

function chooseRemoved<Item extends { readonly name: string }>(found: readonly Item[], name: string): Item {
  const item = found.find((one) => sameName(one.name, name));
  if (!item)
    throw new UserError(
      `${name} is not a zone that left a catalog`,
      'See which are: zoneplane secondary catalog removed',
    );
  return item;
}
