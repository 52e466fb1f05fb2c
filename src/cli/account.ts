/** `zoneplane account`: the accounts that zones belong to. */
import { Option } from 'commander';
import { UserError } from '../base/errors.js';
import { createAccount, deleteAccount, listAccounts } from '../control/access/accounts.js';
import type { AccountItem } from '../control/access/item.js';
import { editQuotas } from '../control/access/quotas.js';
import type { Context } from '../control/kernel/context.js';
import { QUOTA_NAMES } from '../control/rules/quotas.js';
import { QUOTA_KINDS, type QuotaKind } from '../store/access/quotas.js';
import { gather, wholeNumber } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { collectPages, DATA_SETTINGS, printInstant, withControl } from './control.js';
import { addSettingOptions } from './settings.js';

interface CreateOptions {
  readonly type: 'standard' | 'enterprise';
  readonly member?: readonly string[];
  readonly json?: boolean;
}

export function addAccountCommands(program: Command, { terminal, environment }: CommandContext): void {
  const account = program.command('account');

  const create = account
    .command('create')
    .description('create an account')
    .argument('<name>', 'its name')
    .addOption(new Option('--type <type>', 'kind of account').choices(['standard', 'enterprise']).default('standard'))
    .option('--member <address>', 'e-mail address of a user who joins it; may be given several times', gather)
    .printsJson('zoneplane account create "Example Ltd" --member admin@localhost');
  addSettingOptions(create, DATA_SETTINGS).action(async (name: string, { type, member, json }: CreateOptions) => {
    const made = await withControl(create, environment, (context) =>
      createAccount(context, { name, type, ...(member === undefined ? {} : { members: member }) }),
    );
    if (json) terminal.json(viewAccount(made));
    else {
      terminal.print(`created account '${made.name}' (${made.id})`);
      terminal.print(`Zones go into it with \`zoneplane zone create NAME --account ${made.id}\`.`);
    }
  });

  const list = account.command('list').description('list accounts').printsJson('zoneplane account list');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const accounts = await withControl(list, environment, (context) =>
      collectPages((page) => listAccounts(context, { page, perPage: 1000 })),
    );
    if (json) return terminal.json(accounts.map(viewAccount));
    terminal.table(
      ['id', 'name', 'type', 'created'],
      accounts.map(({ id, name, type, createdAt }) => [id, name, type, printInstant(createdAt)]),
      'There are no accounts; the first start of the server makes one.',
    );
  });

  addQuota(account, { terminal, environment });

  const remove = account
    .command('delete')
    .description('delete an account without zones and buckets, with its members and credentials')
    .argument('<account>', 'its identifier or its name')
    .printsJson('zoneplane account delete "Example Ltd"');
  addSettingOptions(remove, DATA_SETTINGS).action(async (text: string, { json }: { json?: boolean }) => {
    const deleted = await withControl(remove, environment, async (context) =>
      deleteAccount(context, await accountIdOf(context, text)),
    );
    if (json) terminal.json(viewAccount(deleted));
    else {
      terminal.print(`deleted account '${deleted.name}' (${deleted.id})`);
      terminal.print('See the others with `zoneplane account list`.');
    }
  });
}

/** As all accounts have it. */
const USUAL = 'usual';

interface QuotaOptions extends Partial<Record<QuotaKind, number | typeof USUAL>> {
  readonly json?: boolean;
}

function addQuota(account: Command, { terminal, environment }: Pick<CommandContext, 'terminal' | 'environment'>): void {
  const quota = account
    .command('quota')
    .description('show what an account has and may have, or change what it may have')
    .argument('<account>', 'its identifier or its name')
    .printsJson('zoneplane account quota "Example Ltd" --records 20000000 --octets usual');
  for (const kind of QUOTA_KINDS) {
    const option = new Option(`--${kind.replaceAll('_', '-')} <most>`, `how many ${QUOTA_NAMES[kind]}, or 'usual'`);
    // The name of the member is that of the quota.
    option.attributeName = () => kind;
    quota.addOption(option.argParser(readMost));
  }
  addSettingOptions(quota, DATA_SETTINGS).action(async (text: string, { json, ...chosen }: QuotaOptions) => {
    const edit = Object.fromEntries(Object.entries(chosen).map(([kind, most]) => [kind, most === USUAL ? null : most]));
    const quotas = await withControl(quota, environment, async (context) =>
      editQuotas(context, await accountIdOf(context, text), edit),
    );
    if (json) terminal.json(Object.fromEntries(quotas.map(({ kind, used, most }) => [kind, { used, most }])));
    else {
      terminal.table(
        ['what', 'has', 'may have', ''],
        quotas.map(({ kind, used, most, isOwn }) => [
          QUOTA_NAMES[kind],
          used === undefined ? '-' : String(used),
          most === undefined ? 'no limit while it is alone' : String(most),
          isOwn ? 'own quota' : '',
        ]),
        '',
      );
    }
  });
}

const readWhole = wholeNumber(0, Number.MAX_SAFE_INTEGER, 'a number');

function readMost(text: string): number | typeof USUAL {
  return text === USUAL ? USUAL : readWhole(text);
}

/** The identifier of the one account that is meant. Throws a UserError when there are none or several of the name. */
/** The identifier of an account that is named by it or by its name. */
export async function accountIdOf(context: Context, text: string): Promise<string> {
  if (/^[0-9a-f]{32}$/.test(text)) return text;
  const { items } = await listAccounts(context, { name: text });
  if (items.length === 1) return items[0]!.id;
  const what = items.length === 0 ? `there is no account '${text}'` : `several accounts have the name '${text}'`;
  throw new UserError(what, 'See their identifiers with `zoneplane account list`.');
}

function viewAccount({ id, name, type, createdAt }: AccountItem): object {
  return { id, name, type, created_on: printInstant(createdAt) };
}
