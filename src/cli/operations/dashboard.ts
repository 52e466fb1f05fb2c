/** `zoneplane dashboard`: signing in to the dashboard without typing a key. */
import { LINK_MINUTES } from '../../control/access/authentication.js';
import { createLoginLink } from '../../control/access/sessions.js';
import { loginLink } from '../../roles/first-run.js';
import type { Command, CommandContext } from '../command.js';
import { withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { addressOf, DASHBOARD_SETTINGS, readAddress } from './dashboard-address.js';

interface LinkOptions {
  readonly email?: string;
  readonly url?: string;
  readonly json?: boolean;
}

export function addDashboardCommands(program: Command, { terminal, environment }: CommandContext): void {
  const dashboard = program.command('dashboard');
  const link = dashboard
    .command('link')
    .description(`print a link that signs a browser in once, within ${LINK_MINUTES} minutes`)
    .option('--email <address>', 'super administrator to sign in (default: the first)')
    .option(
      '--url <url>',
      'address of the dashboard as the browser reaches it (default: where the server runs, else from the settings)',
    )
    .printsJson('zoneplane dashboard link', 'zoneplane dashboard link --url https://dns.example.org');
  addSettingOptions(link, DASHBOARD_SETTINGS).action(async ({ email, url, json }: LinkOptions) => {
    const made = await withControl(link, environment, async (context, settings) => {
      const secret = await createLoginLink(context, email);
      return loginLink(readAddress(url) ?? addressOf(settings), secret);
    });
    if (json) terminal.json({ link: made, minutes: LINK_MINUTES });
    else {
      terminal.print(made);
      terminal.complain(
        `It works once, within ${LINK_MINUTES} minutes. Whoever opens it is signed in as an administrator.`,
      );
    }
  });
}
