/** `zoneplane secondary catalog follow`, `followed`, `confirm`, `unfollow`: catalog zones of other servers (RFC 9432). */
import { UserError } from '../../base/errors.js';
import {
  type ConsumedCatalogItem,
  confirmRemovals,
  consumeCatalog,
  forgetConsumed,
  listConsumed,
  listConsumedMembers,
} from '../../control/catalog-consumer/consumer.js';
import type { Context } from '../../control/kernel/context.js';
import { gather } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, DATA_SETTINGS, KEY_SETTINGS, openServices, printInstant, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { addPrimaryOptions } from './primary-options.js';
import { addRemovedCommands } from './removed.js';
import { primariesFor, type SecondaryZoneOptions } from './secondary-zone.js';
import { sameName } from './tsig.js';

interface Options {
  readonly account?: string;
  readonly json?: boolean;
}

const ACCOUNT = ['--account <id>', 'account of the zones (default: the oldest)'] as const;
const JSON_OPTION = ['--json', 'print JSON'] as const;

export function addFollowCommands(catalog: Command, context: CommandContext): void {
  addFollow(catalog, context);
  addFollowed(catalog, context);
  addConfirm(catalog, context);
  addUnfollow(catalog, context);
  addRemovedCommands(catalog, context);
}

function addFollow(catalog: Command, { terminal, environment }: CommandContext): void {
  const follow = catalog
    .command('follow')
    .description('serve the zones of a catalog of another server as its secondary')
    .argument('<name>', 'name of the catalog zone')
    .requiredOption(
      '--primary <address>',
      'the server that has it, or `address#port`; may be given several times',
      gather,
    )
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog follow catalog.example --primary 192.0.2.53 --tsig-file transfer.key');
  addPrimaryOptions(follow);
  addSettingOptions(follow, KEY_SETTINGS).action(async (name: string, options: Options & SecondaryZoneOptions) => {
    const made = await withControl(follow, environment, async (context) => {
      const services = await openServices(follow, environment, context);
      const account = accountOf(context, options);
      const peers = await primariesFor(context, services, account, options);
      return consumeCatalog(context, account, { name, peers });
    });
    if (options.json) terminal.json(made);
    else {
      terminal.print(`follows the catalog ${made.name}; its zones come while the server runs`);
      terminal.print('How far it is: zoneplane secondary catalog followed');
    }
  });
}

function addFollowed(catalog: Command, { terminal, environment }: CommandContext): void {
  const followed = catalog
    .command('followed')
    .description('list catalogs of other servers, and what is wrong; exit 1 when something is')
    .option('--members', 'list their zones, too')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog followed', 'zoneplane secondary catalog followed --members');
  addSettingOptions(followed, DATA_SETTINGS).action(async (options: Options & { members?: boolean }) => {
    const found = await withControl(followed, environment, async (context) => {
      const account = accountOf(context, options);
      const catalogs = await listConsumed(context, account);
      return Promise.all(
        catalogs.map(async (item) => ({ ...item, members: await listConsumedMembers(context, account, item.id) })),
      );
    });
    terminal.exitCode = found.every(({ state, problems }) => state === 'current' && problems === 0) ? 0 : 1;
    if (options.json) return terminal.json(found);
    terminal.table(
      ['catalog', 'state', 'serial', 'zones', 'problems', 'followed'],
      found.map((item) => [
        item.name,
        stateText(item),
        item.serial === null ? '-' : String(item.serial),
        String(item.zones),
        String(item.problems),
        printInstant(item.followedAt),
      ]),
      'No catalog of another server is followed.',
    );
    const shown = found.flatMap(({ name, members }) =>
      members
        .filter(({ problem }) => options.members || problem !== null)
        .map((member) => [name, member.name, member.memberId, member.group ?? '-', member.problem ?? 'a zone here']),
    );
    if (shown.length > 0) terminal.table(['catalog', 'zone', 'member', 'group', 'state'], shown, '');
  });
}

function stateText({ state, fault, held }: ConsumedCatalogItem): string {
  if (fault !== null) return `${state}: ${fault}`;
  return held > 0 ? `${state}: ${held} zones would go; zoneplane secondary catalog confirm` : state;
}

function addConfirm(catalog: Command, { terminal, environment }: CommandContext): void {
  const confirm = catalog
    .command('confirm')
    .description('let the zones go that a catalog of another server does not have any more')
    .argument('<name>', 'its name')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog confirm catalog.example');
  addSettingOptions(confirm, DATA_SETTINGS).action(async (name: string, options: Options) => {
    const held = await withControl(confirm, environment, async (context) => {
      const account = accountOf(context, options);
      return confirmRemovals(context, account, (await followedNamed(context, account, name)).id);
    });
    if (options.json) terminal.json(held);
    else
      terminal.print(
        `${held.held} zones of ${held.name} are removed; they are kept for 7 days (zoneplane secondary catalog removed)`,
      );
  });
}

function addUnfollow(catalog: Command, { terminal, environment }: CommandContext): void {
  const unfollow = catalog
    .command('unfollow')
    .description('follow a catalog of another server no longer; its zones stay as secondary zones')
    .argument('<name>', 'its name')
    .option(...ACCOUNT)
    .option(...JSON_OPTION)
    .example('zoneplane secondary catalog unfollow catalog.example');
  addSettingOptions(unfollow, DATA_SETTINGS).action(async (name: string, options: Options) => {
    const left = await withControl(unfollow, environment, async (context) => {
      const account = accountOf(context, options);
      const found = await followedNamed(context, account, name);
      await forgetConsumed(context, account, found.id);
      return found;
    });
    if (options.json) terminal.json({ id: left.id });
    else terminal.print(`${left.name} is not followed any more; ${left.zones} zones stay`);
  });
}

async function followedNamed(context: Context, account: string, name: string): Promise<ConsumedCatalogItem> {
  const found = (await listConsumed(context, account)).find((item) => sameName(item.name, name));
  if (!found)
    throw new UserError(`the catalog ${name} is not followed`, 'See all: zoneplane secondary catalog followed');
  return found;
}
