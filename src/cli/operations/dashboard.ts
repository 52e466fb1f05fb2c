/** `zoneplane dashboard`: signing in to the dashboard without typing a key. */
import type { Command } from 'commander';
import { UserError } from '../../base/errors.js';
import { LINK_MINUTES } from '../../control/access/authentication.js';
import { createLoginLink } from '../../control/access/sessions.js';
import { reachableHost } from '../../roles/announce.js';
import { loginLink } from '../../roles/first-run.js';
import { readRunning } from '../../roles/process/data-directory.js';
import { type CommandContext, example } from '../command.js';
import { withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

/** Settings that say where the dashboard is. */
const SETTINGS = ['dataDir', 'adminHost', 'adminPort', 'adminTlsPort'] as const;

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
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example('zoneplane dashboard link', 'zoneplane dashboard link --url https://dns.example.org'),
    );
  addSettingOptions(link, SETTINGS).action(async ({ email, url, json }: LinkOptions) => {
    if (url !== undefined && !/^https?:\/\/[^/]/.test(URL.canParse(url) ? url : '')) {
      throw new UserError(`--url=${url}: expected an address such as https://dns.example.org`, undefined, 2);
    }
    const made = await withControl(link, environment, async (context, settings) => {
      const secret = await createLoginLink(context, email);
      return loginLink((url ?? addressOf(settings)).replace(/\/+$/, ''), secret);
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

interface Place {
  readonly dataDir: string;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly adminTlsPort?: number | undefined;
}

/** Over TLS where that listens; otherwise as the server that runs says, which may have been started with other flags. */
function addressOf({ dataDir, adminHost, adminPort, adminTlsPort }: Place): string {
  const host = reachableHost(adminHost);
  const place = host.includes(':') ? `[${host}]` : host;
  if (adminTlsPort !== undefined) return `https://${place}:${adminTlsPort}`;
  return readRunning(dataDir)?.adminUrl || `http://${place}:${adminPort}`;
}
