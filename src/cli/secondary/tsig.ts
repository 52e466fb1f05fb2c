/** `zoneplane tsig`: keys that sign transfers and NOTIFY. */
import { Option } from 'commander';
import { UserError } from '../../base/errors.js';
import type { PolicyInput } from '../../control/access/policy.js';
import { DNS_WRITE } from '../../control/guard/permissions.js';
import type { Context } from '../../control/kernel/context.js';
import {
  createTsig,
  deleteTsig,
  describeUpdates,
  listTsigs,
  makeTsigSecret,
  type TsigItem,
} from '../../control/secondary/tsigs.js';
import { TSIG_ALGORITHMS, type TsigAlgorithm } from '../../dns/tsig.js';
import { gather } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, KEY_SETTINGS, openServices, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

interface AccountOption {
  readonly account?: string;
  readonly json?: boolean;
}

interface CreateOptions extends AccountOption {
  readonly algorithm: TsigAlgorithm;
  readonly zone?: readonly string[];
  readonly record?: readonly string[];
  readonly type?: readonly string[];
}

export function addTsigCommands(program: Command, context: CommandContext): void {
  const tsig = program.command('tsig');
  addCreate(tsig, context);
  addList(tsig, context);
  addDelete(tsig, context);
}

function addCreate(tsig: Command, { terminal, environment }: CommandContext): void {
  const create = tsig
    .command('create')
    .description('make a key with a new secret, and print the secret')
    .argument('<name>', 'its name, a domain name')
    .addOption(new Option('--algorithm <name>', 'how it signs').choices(TSIG_ALGORITHMS).default(TSIG_ALGORITHMS[0]))
    .option('--zone <name>', 'let it update the records of a zone; may be given several times', gather)
    .option('--record <pattern>', 'only records of these full names; * stands for any characters', gather)
    .option('--type <type>', 'only records of this type; may be given several times', gather)
    .option('--account <id>', 'account it belongs to (default: the oldest)')
    .printsJson(
      'zoneplane tsig create transfer.example.com',
      'zoneplane tsig create acme.example.com --zone example.com --record _acme-challenge.example.com --type TXT',
      "zoneplane tsig create dhcp.example.com --zone example.com --record '*.lan.example.com' --type A --type DHCID",
    );
  addSettingOptions(create, KEY_SETTINGS).action(async (name: string, options: CreateOptions) => {
    const made = await withControl(create, environment, async (context) => {
      const services = await openServices(create, environment, context);
      const secret = makeTsigSecret(context.random);
      const policies = await policiesOf(context, options);
      const input = { name, algo: options.algorithm, secret, policies };
      return createTsig(context, services, accountOf(context, options), input);
    });
    if (options.json) terminal.json(made);
    else {
      terminal.print(made.secret);
      terminal.complain(`The secret of TSIG key '${made.name}' is shown once; it is kept sealed.`);
      terminal.complain(nextStep(made, options));
    }
  });
}

/** A key is for updates, or for a server that transfers. */
function nextStep({ name, algo }: TsigItem, { zone }: CreateOptions): string {
  const plain = name.replace(/\.$/, '');
  return zone
    ? `Send updates with it: nsupdate -y ${algo.replace(/\.$/, '')}:${plain}:SECRET`
    : `Let a server transfer zones with it: zoneplane secondary add NAME --address ADDRESS --tsig ${plain}`;
}

/** What the key may update, as clients of the API write it. */
async function policiesOf(
  context: Context,
  { zone: zones, record: names, type: types }: CreateOptions,
): Promise<PolicyInput[]> {
  if (!zones) {
    if (names || types) {
      throw new UserError('a key updates the records of zones', 'Say which with --zone, such as --zone example.com.');
    }
    return [];
  }
  const ids = await Promise.all(zones.map(async (name) => (await requireZoneNamed(context, name)).id));
  return [
    {
      effect: 'allow',
      permission_groups: [{ id: DNS_WRITE }],
      resources: Object.fromEntries(ids.map((id) => [`com.cloudflare.api.account.zone.${id}`, '*'])),
      ...((names || types) && { records: { ...(names && { names }), ...(types && { types }) } }),
    },
  ];
}

function addList(tsig: Command, { terminal, environment }: CommandContext): void {
  const list = tsig
    .command('list')
    .description('list keys, without their secrets')
    .option('--account <id>', 'account they belong to (default: the oldest)')
    .printsJson('zoneplane tsig list');
  addSettingOptions(list, KEY_SETTINGS).action(async (options: AccountOption) => {
    const keys = await withControl(list, environment, async (context) =>
      listTsigs(context, await openServices(list, environment, context), accountOf(context, options)),
    );
    const shown = keys.map(({ id, name, algo, policies }) => ({ id, name, algo, policies }));
    if (options.json) terminal.json(shown);
    else {
      const rows = shown.map(({ id, name, algo, policies }) => [id, name, algo, describeUpdates(policies)]);
      terminal.table(['id', 'name', 'algorithm', 'may update'], rows, 'There are no TSIG keys.');
    }
  });
}

function addDelete(tsig: Command, { terminal, environment }: CommandContext): void {
  const remove = tsig
    .command('delete')
    .description('delete a key that no peer uses')
    .argument('<name>', 'its name, or its identifier')
    .option('--account <id>', 'account it belongs to (default: the oldest)')
    .printsJson('zoneplane tsig delete transfer.example.com');
  addSettingOptions(remove, KEY_SETTINGS).action(async (name: string, options: AccountOption) => {
    const deleted = await withControl(remove, environment, async (context) => {
      const account = accountOf(context, options);
      const keys = await listTsigs(context, await openServices(remove, environment, context), account);
      const key = keys.find((known) => known.id === name || sameName(known.name, name));
      if (!key) throw new UserError(`there is no TSIG key ${name}`, 'See them all with `zoneplane tsig list`.');
      await deleteTsig(context, account, key.id);
      return key;
    });
    if (options.json) terminal.json({ id: deleted.id });
    else {
      terminal.print(`deleted TSIG key ${deleted.name}`);
      terminal.print('See the others with `zoneplane tsig list`.');
    }
  });
}

/** Whether two texts are the same name, with or without the final dot. */
export function sameName(a: string, b: string): boolean {
  const plain = (name: string): string => name.toLowerCase().replace(/\.$/, '');
  return plain(a) === plain(b);
}
