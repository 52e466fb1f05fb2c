/** `zoneplane hostname`: names of customers that a zone serves. */
import { Option } from 'commander';
import { UserError } from '../base/errors.js';
import type { AuthorityName } from '../certs/authority.js';
import { AUTHORITY_NAMES } from '../config/authority-settings.js';
import type { Context } from '../control/kernel/context.js';
import { isPublicSuffix } from '../control/rules/public-suffix.js';
import { type AllowanceChange, setAllowance } from '../hostnames/allowance.js';
import type { HostnameInput } from '../hostnames/hostnames.js';
import type { HostnameItem } from '../hostnames/item.js';
import { listHostnames } from '../hostnames/list.js';
import { parseHostname } from '../hostnames/name.js';
import { REPORTED_STATUSES } from '../hostnames/reported.js';
import { wholeNumber } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { collectPages, DATA_SETTINGS, printInstant, requireZoneNamed, withControl } from './control.js';
import { quoteShell } from './operations/quote-shell.js';
import { addSettingOptions } from './settings.js';
import type { Terminal } from './terminal.js';

interface JsonOption {
  readonly json?: boolean;
}

export function addHostnameCommands(program: Command, context: CommandContext): void {
  const hostname = program.command('hostname');
  addList(hostname, context);
  addShow(hostname, context);
  addCreate(hostname, context);
  addRefresh(hostname, context);
  addDelete(hostname, context);
  addFallback(hostname, context);
  addAllow(hostname, context);
}

function addList(hostname: Command, { terminal, environment }: CommandContext): void {
  const list = hostname
    .command('list')
    .description('list the custom hostnames of a zone')
    .argument('<zone>', 'name of the zone')
    .addOption(new Option('--status <status>', 'only those in this state').choices(REPORTED_STATUSES))
    .printsJson('zoneplane hostname list example.com', 'zoneplane hostname list example.com --json');
  addSettingOptions(list, DATA_SETTINGS).action(
    async (zoneName: string, { status, json }: JsonOption & { readonly status?: string }) => {
      const items = await withControl(list, environment, async (context) => {
        const { id } = await requireZoneNamed(context, zoneName);
        const filter = status === undefined ? {} : { status };
        return collectPages((page) => listHostnames(context, id, { page, perPage: 1000, ...filter }));
      });
      if (json) terminal.json(items.map(viewHostname));
      else {
        terminal.table(
          ['hostname', 'status', 'certificate', 'created', 'what stands in the way'],
          items.map((item) => [
            item.hostname,
            item.status,
            certificateOf(item),
            printInstant(item.createdAt),
            item.errors[0] ?? '',
          ]),
          'No matching custom hostnames.',
        );
      }
    },
  );
}

function addShow(hostname: Command, { terminal, environment }: CommandContext): void {
  const show = hostname
    .command('show')
    .description('show a custom hostname, and what its owner must do')
    .argument('<zone>', 'name of the zone')
    .argument('<hostname>', 'the custom hostname')
    .printsJson('zoneplane hostname show example.com shop.customer.net');
  addSettingOptions(show, DATA_SETTINGS).action(async (zoneName: string, name: string, { json }: JsonOption) => {
    const item = await withControl(show, environment, async (context) => (await find(context, zoneName, name)).item);
    if (json) terminal.json(viewHostname(item));
    else printHostname(terminal, zoneName, item);
  });
}

function addCreate(hostname: Command, { terminal, environment }: CommandContext): void {
  const create = hostname
    .command('create')
    .description('create a custom hostname; a running server begins to check it at once')
    .argument('<zone>', 'name of the zone')
    .argument('<hostname>', 'name of the customer')
    .addOption(
      new Option('--method <method>', 'how control is proved for its certificate; none: no certificate')
        .choices(['txt', 'http', 'none'])
        .default('txt'),
    )
    .addOption(
      new Option('--authority <name>', 'who issues its certificate (default: the service chooses)').choices([
        ...AUTHORITY_NAMES,
      ]),
    )
    .option('--wildcard', 'the certificate covers all names one label below, too')
    .option('--origin <name>', 'a record of the zone that gets its traffic (default: the fallback origin)')
    .printsJson(
      'zoneplane hostname create example.com shop.customer.net',
      'zoneplane hostname create example.com shop.customer.net --authority lets_encrypt --wildcard',
    );
  addSettingOptions(create, DATA_SETTINGS).action(async (zoneName: string, name: string, options: CreateOptions) => {
    const item = await withControl(create, environment, async (context, settings) => {
      const { arePublic, checkSoon, writeHostname } = await loadWrites();
      const zone = await requireZoneNamed(context, zoneName);
      const made = await writeHostname(context, { publicNames: arePublic(settings) }, zone.id, () =>
        creationOf(name, options),
      );
      await checkSoon(context, made.id);
      return made;
    });
    if (options.json) terminal.json(viewHostname(item));
    else printHostname(terminal, zoneName, item);
  });
}

/** Loaded only for writes: the code that makes certificates takes longer to load than all other commands together. */
async function loadWrites() {
  const { deleteHostname, writeEdit, writeHostname } = await import('../hostnames/hostnames.js');
  const { checkSoon } = await import('../hostnames/check.js');
  const { arePublic } = await import('../roles/services/hostnames.js');
  return { deleteHostname, writeEdit, writeHostname, checkSoon, arePublic };
}

interface CreateOptions extends JsonOption {
  readonly method: 'txt' | 'http' | 'none';
  readonly authority?: AuthorityName;
  readonly wildcard?: boolean;
  readonly origin?: string;
}

function creationOf(hostname: string, { method, authority, wildcard, origin }: CreateOptions): HostnameInput {
  const asked = { type: 'dv', certificate_authority: authority ?? '', wildcard: wildcard ?? false } as const;
  return {
    hostname,
    ...(method !== 'none' && { ssl: { method, ...asked } }),
    ...(origin !== undefined && { custom_origin_server: origin }),
  };
}

function addRefresh(hostname: Command, { terminal, environment }: CommandContext): void {
  const refresh = hostname
    .command('refresh')
    .description('check a custom hostname and its certificate anew; one that is blocked or moved begins again')
    .argument('<zone>', 'name of the zone')
    .argument('<hostname>', 'the custom hostname')
    .printsJson('zoneplane hostname refresh example.com shop.customer.net');
  addSettingOptions(refresh, DATA_SETTINGS).action(async (zoneName: string, name: string, { json }: JsonOption) => {
    const item = await withControl(refresh, environment, async (context, settings) => {
      const { arePublic, checkSoon, writeEdit } = await loadWrites();
      const { zoneId, item: found } = await find(context, zoneName, name);
      const { ssl } = found;
      const body = ssl ? { ssl: { method: ssl.configuration.method, type: ssl.configuration.type } } : {};
      const edited = await writeEdit(context, { publicNames: arePublic(settings) }, { zoneId, id: found.id }, body);
      await checkSoon(context, edited.id);
      return edited;
    });
    if (json) terminal.json(viewHostname(item));
    else terminal.print(`${item.hostname} is ${item.status}; a running server checks it now`);
  });
}

function addDelete(hostname: Command, { terminal, environment }: CommandContext): void {
  const remove = hostname
    .command('delete')
    .description('delete a custom hostname with its certificate')
    .argument('<zone>', 'name of the zone')
    .argument('<hostname>', 'the custom hostname')
    .printsJson('zoneplane hostname delete example.com shop.customer.net');
  addSettingOptions(remove, DATA_SETTINGS).action(async (zoneName: string, name: string, { json }: JsonOption) => {
    const item = await withControl(remove, environment, async (context) => {
      const { deleteHostname } = await loadWrites();
      const { zoneId, item: found } = await find(context, zoneName, name);
      await deleteHostname(context, zoneId, found.id);
      return found;
    });
    if (json) terminal.json({ id: item.id, hostname: item.hostname });
    else {
      terminal.print(`deleted ${item.hostname}`);
      terminal.print(`See the others with \`zoneplane hostname list ${zoneName}\`.`);
    }
  });
}

interface FallbackOptions extends JsonOption {
  readonly remove?: boolean;
}

function addFallback(hostname: Command, { terminal, environment }: CommandContext): void {
  const fallback = hostname
    .command('fallback')
    .description(
      'show or choose the fallback origin: the record of the zone that gets the requests of custom hostnames',
    )
    .argument('<zone>', 'name of the zone')
    .argument('[origin]', 'a proxied name of the zone; absent: shows the present one')
    .option('--remove', 'stop using a fallback origin')
    .printsJson(
      'zoneplane hostname fallback example.com origin.example.com',
      'zoneplane hostname fallback example.com',
    );
  addSettingOptions(fallback, DATA_SETTINGS).action(
    async (zoneName: string, origin: string | undefined, { remove, json }: FallbackOptions) => {
      if (remove && origin !== undefined) {
        throw new UserError('--remove and an origin exclude each other', 'Name an origin, or give --remove alone.', 2);
      }
      const item = await withControl(fallback, environment, async (context) => {
        const { deleteFallbackOrigin, getFallbackOrigin, putFallback } = await import(
          '../hostnames/fallback-origin.js'
        );
        const { id } = await requireZoneNamed(context, zoneName);
        if (remove) return deleteFallbackOrigin(context, id);
        return origin === undefined ? getFallbackOrigin(context, id) : putFallback(context, id, origin);
      });
      if (json) terminal.json({ origin: item.origin, status: item.status, errors: item.errors });
      else if (remove) terminal.print(`${zoneName} has no fallback origin any more; it was ${item.origin}`);
      else {
        terminal.print(`the fallback origin of ${zoneName} is ${item.origin}, ${item.status}`);
        for (const error of item.errors) terminal.print(`  ${error}`);
      }
    },
  );
}

interface AllowOptions extends JsonOption {
  readonly certificates?: number;
  readonly window?: number;
  readonly lockout?: number;
  readonly hostnames?: number;
  readonly apexAddresses?: 'yes' | 'no';
}

function addAllow(hostname: Command, { terminal, environment }: CommandContext): void {
  const most = 1_000_000;
  const allow = hostname
    .command('allow')
    .description('allow an account more, or less, than all others')
    .argument('<account>', 'identifier of the account, as `zoneplane account list` shows it')
    .option('--certificates <count>', 'certificates it may ask for in the window', wholeNumber(1, most, 'a number'))
    .option('--window <seconds>', 'length of the window', wholeNumber(1, 86_400, 'seconds'))
    .option('--lockout <seconds>', 'how long there are none for who asks for more', wholeNumber(1, 86_400, 'seconds'))
    .option('--hostnames <count>', 'custom hostnames of all its zones', wholeNumber(0, most, 'a number'))
    .addOption(
      new Option('--apex-addresses <yes|no>', 'whether A and AAAA records alone prove a hostname').choices([
        'yes',
        'no',
      ]),
    )
    .printsJson('zoneplane hostname allow 023e105f4ecef8ad9ca31a8372d0c353 --certificates 60 --hostnames 100000');
  addSettingOptions(allow, DATA_SETTINGS).action(async (account: string, options: AllowOptions) => {
    const change = allowanceOf(options);
    if (Object.keys(change).length === 0) {
      throw new UserError('say what to allow', 'Give at least one of the options; see --help.', 2);
    }
    await withControl(allow, environment, (context) => setAllowance(context, account, change));
    if (options.json) terminal.json({ account, ...change });
    else terminal.print(`account ${account} is allowed that from now on`);
  });
}

function allowanceOf({ certificates, window, lockout, hostnames, apexAddresses }: AllowOptions): AllowanceChange {
  return {
    ...(certificates !== undefined && { issuanceCount: certificates }),
    ...(window !== undefined && { issuanceWindowSeconds: window }),
    ...(lockout !== undefined && { issuanceLockoutSeconds: lockout }),
    ...(hostnames !== undefined && { hostnames }),
    ...(apexAddresses !== undefined && { apexAddresses: apexAddresses === 'yes' }),
  };
}

async function find(
  context: Context,
  zoneName: string,
  name: string,
): Promise<{ readonly zoneId: string; readonly item: HostnameItem }> {
  const zone = await requireZoneNamed(context, zoneName);
  const hostname = parseHostname(name, { publicNames: false });
  const { items } = await listHostnames(context, zone.id, { hostname, perPage: 1 });
  const [item] = items;
  if (!item) {
    throw new UserError(
      `${zone.name} has no custom hostname ${name}`,
      `See them all with \`zoneplane hostname list ${zone.asciiName}\`.`,
    );
  }
  return { zoneId: zone.id, item };
}

function certificateOf({ ssl }: HostnameItem): string {
  return ssl ? (ssl.state?.status ?? 'initializing') : 'none';
}

function printHostname(terminal: Terminal, zone: string, item: HostnameItem): void {
  terminal.print(`${item.hostname} is ${item.status}, certificate ${certificateOf(item)} (${item.id})`);
  terminal.print(item.nextStep);
  for (const error of item.errors) terminal.print(`  ${error}`);
  for (const { message } of item.ssl?.state?.errors ?? []) terminal.print(`  ${message}`);
  if (item.status === 'blocked' || item.status === 'moved') {
    const words = [zone, item.hostname].map(quoteShell).join(' ');
    terminal.print(`When that is put right: zoneplane hostname refresh ${words}`);
  }
  if (item.status !== 'pending' && item.status !== 'caa_error') return;
  if (item.cnameTarget !== null) {
    terminal.print('Its owner makes it point here:');
    terminal.print(`  ${item.hostname} CNAME ${item.cnameTarget}`);
    if (isRegistered(item.hostname)) terminal.print(`  ${apexRemedy(item.hostname)}`);
    terminal.print('or proves it before, with one of:');
  } else {
    const name = quoteShell(zone);
    terminal.print(`Choose where its requests go: zoneplane hostname fallback ${name} origin.${zone}`);
    terminal.print('Its owner proves it with one of:');
  }
  terminal.print(`  ${item.txt.name} TXT ${item.txt.value}`);
  terminal.print(`  ${item.http.url} answering ${item.http.body}`);
  for (const record of item.ssl?.state?.records ?? []) {
    terminal.print(
      'txtName' in record
        ? `  ${record.txtName} TXT ${record.txtValue}  (certificate)`
        : `  ${record.httpUrl} answering ${record.httpBody}  (certificate)`,
    );
  }
}

/** Whether it is a name that was registered, so that its zone has SOA and NS records there. */
function isRegistered(hostname: string): boolean {
  return isPublicSuffix(hostname.slice(hostname.indexOf('.') + 1), false);
}

function apexRemedy(hostname: string): string {
  return `${hostname} is an apex, where a CNAME record cannot be: there, a flattened CNAME (ALIAS, ANAME) leads here, or addresses of the edge do.`;
}

function viewHostname(item: HostnameItem): object {
  const { id, hostname, status, errors, nextStep, origin, metadata, txt, http, target, ssl } = item;
  return {
    id,
    hostname,
    status,
    errors,
    next_step: nextStep,
    certificate: ssl && {
      status: certificateOf(item),
      hosts: ssl.hosts,
      authority: ssl.state?.authority ?? '',
      errors: ssl.state?.errors ?? [],
      expires_on: ssl.state?.certificates[0] ? printInstant(ssl.state.certificates[0].expiresOnMs * 1000) : null,
    },
    origin,
    metadata,
    txt,
    http,
    target,
    created_on: printInstant(item.createdAt),
  };
}
