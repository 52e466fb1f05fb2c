/** `zoneplane user`: what the operator does for people who sign in as themselves. */
import { createUserLink, LINK_LIFE, userLinkAt } from '../../sign-in/links.js';
import { removeFactorsOf, setPasswordOf } from '../../sign-in/operator.js';
import type { UserLinkKind } from '../../store/access/passwords.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, withControl } from '../control.js';
import { addressOf, DASHBOARD_SETTINGS, readAddress } from '../operations/dashboard-address.js';
import { readSecret } from '../secret.js';
import { addSettingOptions } from '../settings.js';
import { addUserList } from './user-list.js';

export function addUserCommands(program: Command, context: CommandContext): void {
  const user = program.command('user');
  addUserList(user, context);
  addPassword(user, context);
  addLink(user, context, 'link', 'sign-in', 'print a link that signs a user in once');
  addResetFactors(user, context);
}

interface LinkOptions {
  readonly url?: string;
  readonly stdin?: boolean;
  readonly json?: boolean;
}

const URL_OPTION = [
  '--url <url>',
  'address of the dashboard as the browser reaches it (default: public-url, or where the server runs)',
] as const;

function addPassword(user: Command, context: CommandContext): void {
  const { terminal, environment } = context;
  const command = addLinkOptions(user, 'password', 'password', 'print a link with which a user chooses a password')
    .option('--stdin', 'set the password instead: it is typed on a terminal or piped in')
    .example('zoneplane user password ada@example.com');
  addSettingOptions(command, DASHBOARD_SETTINGS).action(async (email: string, options: LinkOptions) => {
    if (!options.stdin) {
      await printLink(command, context, email, 'password', options);
      return;
    }
    const password = await readSecret(`New password of ${email}: `);
    await withControl(command, environment, (control) => setPasswordOf(control, email, password));
    if (options.json) terminal.json({ email });
    else terminal.print(`set the password of ${email}; all sessions of this user have ended`);
  });
}

function addLink(user: Command, context: CommandContext, name: string, kind: UserLinkKind, description: string): void {
  const command = addLinkOptions(user, name, kind, description).example(`zoneplane user ${name} ada@example.com`);
  addSettingOptions(command, DASHBOARD_SETTINGS).action((email: string, options: LinkOptions) =>
    printLink(command, context, email, kind, options),
  );
}

function addLinkOptions(user: Command, name: string, kind: UserLinkKind, description: string): Command {
  return user
    .command(name)
    .description(`${description}, within ${LINK_LIFE[kind]} minutes`)
    .argument('<email>', 'e-mail address of the user')
    .option(...URL_OPTION)
    .option('--json', 'print JSON');
}

async function printLink(
  command: Command,
  { terminal, environment }: CommandContext,
  email: string,
  kind: UserLinkKind,
  { url, json }: LinkOptions,
): Promise<void> {
  const place = readAddress(url);
  const link = await withControl(command, environment, async (control, settings) =>
    userLinkAt(place ?? addressOf(settings), kind, await createUserLink(control, email, kind)),
  );
  if (json) terminal.json({ link, minutes: LINK_LIFE[kind] });
  else {
    terminal.print(link);
    const what = kind === 'password' ? 'chooses the password of' : 'is signed in as';
    terminal.complain(`It works once, within ${LINK_LIFE[kind]} minutes. Whoever opens it ${what} ${email}.`);
  }
}

function addResetFactors(user: Command, { terminal, environment }: CommandContext): void {
  const command = user
    .command('reset-2fa')
    .description('remove the second factors of a user who has lost them')
    .argument('<email>', 'e-mail address of the user')
    .printsJson('zoneplane user reset-2fa ada@example.com');
  addSettingOptions(command, DATA_SETTINGS).action(async (email: string, { json }: { json?: boolean }) => {
    const removed = await withControl(command, environment, (control) => removeFactorsOf(control, email));
    const { totp, passkeys, recoveryCodes } = removed;
    if (json) terminal.json({ email, totp, passkeys, recovery_codes: recoveryCodes });
    else {
      terminal.print(
        `removed of ${email}: ${totp ? 'the one-time passwords' : 'no one-time passwords'}, passkeys: ${passkeys}, recovery codes: ${recoveryCodes}`,
      );
      terminal.print('All sessions of this user have ended. The password stays as it is.');
    }
  });
}
