/** `zoneplane sso`: identity providers of the installation. A client's secret comes by standard input, never as an argument. */
import { Option } from 'commander';
import { createOwnResolver } from '../../roles/process/own-resolver.js';
import { createProviderClients } from '../../sign-in/oidc/client.js';
import { listProviders, providerId, putProvider, testProvider } from '../../sign-in/oidc/providers.js';
import { OIDC_SECRETS } from '../../store/sealed-columns.js';
import type { Vault } from '../../vault/vault.js';
import { gather } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, printInstant, withControl } from '../control.js';
import { readSecret } from '../secret.js';
import { addSettingOptions } from '../settings.js';

const REACH = [...DATA_SETTINGS, 'allowNetworks', 'resolverUpstreams'] as const;

interface AddOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly secret?: boolean;
  readonly scopes?: string;
  readonly groupsClaim?: string;
  readonly domain?: readonly string[];
  readonly create?: 'never' | 'mapped' | 'always';
  readonly json?: boolean;
}

export function addSsoCommands(program: Command, context: CommandContext): void {
  const sso = program.command('sso');
  addAdd(sso, context);
  addList(sso, context);
  addTest(sso, context);
}

function addAdd(sso: Command, { terminal, environment }: CommandContext): void {
  const add = sso
    .command('add')
    .description('add an identity provider (OpenID Connect)')
    .argument('<name>', 'on the button of the sign-in')
    .requiredOption('--issuer <url>', 'as the provider calls itself')
    .requiredOption('--client-id <id>', 'as the provider calls this installation')
    .option('--secret', 'the client has a secret: it is typed on a terminal or piped in')
    .option('--scopes <scopes>', 'what is asked for (default: openid email profile)')
    .option('--groups-claim <path>', 'where a statement has the groups (default: groups)')
    .option('--domain <name>', 'only addresses of this domain; may be given several times', gather)
    .addOption(
      new Option('--create <who>', 'whom it makes users of').choices(['never', 'mapped', 'always']).default('never'),
    )
    .printsJson('zoneplane sso add Example --issuer https://login.example.com --client-id zoneplane --create always');
  addSettingOptions(add, DATA_SETTINGS).action(async (name: string, options: AddOptions) => {
    const clientSecret = options.secret ? await readSecret(`Secret of the client at ${options.issuer}: `) : undefined;
    const { issuer, clientId, scopes, groupsClaim, domain: domains, create: creates } = options;
    const input = { name, issuer, clientId, clientSecret, scopes, groupsClaim, domains, creates };
    const made = await withControl(add, environment, async (control, settings, unlock, vaultOf) => {
      if (clientSecret !== undefined) await unlock();
      const row = await putProvider(control, () => vaultOf([OIDC_SECRETS]), input);
      const place = settings.publicUrl ?? 'PUBLIC-URL';
      return { id: providerId(row), callback: `${place}/client/v4/user/sign_in/oidc/${providerId(row)}/callback` };
    });
    if (options.json) terminal.json(made);
    else {
      terminal.print(`added ${name} (${made.id})`);
      terminal.print(`Register this redirect address there: ${made.callback}`);
    }
  });
}

function addList(sso: Command, { terminal, environment }: CommandContext): void {
  const list = sso.command('list').description('list identity providers').printsJson('zoneplane sso list');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const rows = await withControl(list, environment, (control) => listProviders(control));
    const shown = rows.map((row) => ({
      id: providerId(row),
      name: row.name,
      issuer: row.issuer,
      creates: row.creates,
    }));
    if (json) return terminal.json(shown);
    terminal.table(
      ['id', 'name', 'issuer', 'makes users', 'changed'],
      shown.map(({ id, name, issuer, creates }, at) => [
        id,
        name,
        issuer,
        creates,
        printInstant(rows[at]!.modified_at),
      ]),
      'There are no identity providers. Add one with `zoneplane sso add`.',
    );
  });
}

function addTest(sso: Command, { terminal, environment }: CommandContext): void {
  const test = sso
    .command('test')
    .description('ask an identity provider to describe itself')
    .argument('<id>', 'identifier, as `sso list` shows it')
    .printsJson('zoneplane sso test 372e67954025e0ba6aaa6d586b9e0b59');
  addSettingOptions(test, REACH).action(async (id: string, { json }: { json?: boolean }) => {
    const endpoints = await withControl(test, environment, (control, settings, _unlock, vaultOf) => {
      // The master key is read only if there is a secret.
      const open: Vault['open'] = (...place) => vaultOf([OIDC_SECRETS]).open(...place);
      const resolver = createOwnResolver(settings, control);
      return testProvider(control, createProviderClients({ base: control, vault: { open }, resolver }), id);
    });
    if (json) terminal.json(endpoints);
    else {
      terminal.print(`the provider calls itself ${endpoints['issuer']}`);
      terminal.print(`People sign in at ${endpoints['authorization_endpoint']}.`);
    }
  });
}
