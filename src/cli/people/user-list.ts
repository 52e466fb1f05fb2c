/** `zoneplane user add`, `list`, `disable` and `enable`. */
import { addUser, type ListedUser, listUsers, suspendUser } from '../../control/people/users.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, printInstant, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

interface JsonOption {
  readonly json?: boolean;
}

export function addUserList(user: Command, context: CommandContext): void {
  addAddition(user, context);
  addList(user, context);
  addSuspension(user, context, true);
  addSuspension(user, context, false);
}

function addAddition(user: Command, { terminal, environment }: CommandContext): void {
  const command = user
    .command('add')
    .description('add a user')
    .argument('<email>', 'e-mail address of the user')
    .option('--super', 'an administrator of the whole installation')
    .printsJson('zoneplane user add ada@example.com');
  addSettingOptions(command, DATA_SETTINGS).action(
    async (email: string, { super: isSuper = false, json }: JsonOption & { readonly super?: boolean }) => {
      const made = await withControl(command, environment, (control) => addUser(control, email, isSuper));
      if (json) terminal.json(view(made));
      else {
        terminal.print(`added ${made.email}`);
        terminal.print(`Make a member of an account with \`zoneplane member add ACCOUNT ${made.email}\`.`);
        terminal.print(`\`zoneplane user password ${made.email}\` prints a link to hand on.`);
      }
    },
  );
}

function addList(user: Command, { terminal, environment }: CommandContext): void {
  const command = user.command('list').description('list users').printsJson('zoneplane user list');
  addSettingOptions(command, DATA_SETTINGS).action(async ({ json }: JsonOption) => {
    const users = await withControl(command, environment, listUsers);
    if (json) return terminal.json(users.map(view));
    terminal.table(
      ['email', 'accounts', 'second factor', 'last active', ''],
      users.map((item) => [
        item.email,
        item.superAdministrator ? 'all' : item.accounts.join(', '),
        item.twoFactor ? 'yes' : 'no',
        item.lastUsedAt === null ? 'never' : printInstant(item.lastUsedAt),
        item.suspended ? 'disabled' : '',
      ]),
      'There are no users; the first start of the server makes one.',
    );
  });
}

function addSuspension(user: Command, { terminal, environment }: CommandContext, suspends: boolean): void {
  const name = suspends ? 'disable' : 'enable';
  const command = user
    .command(name)
    .description(
      suspends ? 'accept nothing of a user any more, and end the sessions' : 'let a disabled user work again',
    )
    .argument('<email>', 'e-mail address of the user')
    .printsJson(`zoneplane user ${name} ada@example.com`);
  addSettingOptions(command, DATA_SETTINGS).action(async (email: string, { json }: JsonOption) => {
    const done = await withControl(command, environment, (control) => suspendUser(control, email, suspends));
    if (json) terminal.json(view(done));
    else {
      terminal.print(`${name}d ${done.email}`);
      terminal.print(
        suspends
          ? 'No session, key or token of this user is accepted. Tokens of accounts go on to work.'
          : 'Keys and tokens of this user work again; the sessions have ended.',
      );
    }
  });
}

function view({ id, email, superAdministrator, suspended, twoFactor, lastUsedAt, accounts }: ListedUser): object {
  return {
    id,
    email,
    super_administrator: superAdministrator,
    suspended,
    two_factor_authentication_enabled: twoFactor,
    last_active_on: lastUsedAt === null ? null : printInstant(lastUsedAt),
    accounts,
  };
}
