/** `zoneplane tsig`: keys that sign transfers and NOTIFY. */
import { type Command, Option } from 'commander';
import { toBase64, toHex } from '../../base/bytes.js';
import { UserError } from '../../base/errors.js';
import { chooseAccount } from '../../control/access/access.js';
import { createTsig, deleteTsig, listTsigs } from '../../control/secondary/tsigs.js';
import type { Context } from '../../control/write/context.js';
import { TSIG_ALGORITHMS, type TsigAlgorithm } from '../../dns/tsig.js';
import { type CommandContext, example } from '../command.js';
import { withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { KEY_SETTINGS, openServices } from './services.js';

const SECRET_OCTETS = 32;

interface AccountOption {
  readonly account?: string;
  readonly json?: boolean;
}

export function addTsigCommands(program: Command, context: CommandContext): void {
  const tsig = program.command('tsig').description('keys that sign zone transfers and NOTIFY');
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
    .option('--account <id>', 'account it belongs to (default: the oldest)')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane tsig create transfer.example.com'));
  addSettingOptions(create, KEY_SETTINGS).action(
    async (name: string, options: AccountOption & { readonly algorithm: TsigAlgorithm }) => {
      const made = await withControl(create, environment, async (context) => {
        const services = await openServices(create, environment, context);
        const secret = toBase64(context.random.bytes(SECRET_OCTETS));
        return createTsig(context, services, accountOf(context, options), { name, algo: options.algorithm, secret });
      });
      if (options.json) terminal.json(made);
      else terminal.print(made.secret);
    },
  );
}

function addList(tsig: Command, { terminal, environment }: CommandContext): void {
  const list = tsig
    .command('list')
    .description('list keys, without their secrets')
    .option('--account <id>', 'account they belong to (default: the oldest)')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane tsig list'));
  addSettingOptions(list, KEY_SETTINGS).action(async (options: AccountOption) => {
    const keys = await withControl(list, environment, async (context) =>
      listTsigs(context, await openServices(list, environment, context), accountOf(context, options)),
    );
    const shown = keys.map(({ id, name, algo }) => ({ id, name, algo }));
    if (options.json) terminal.json(shown);
    else {
      const rows = shown.map(({ id, name, algo }) => [id, name, algo]);
      terminal.table(['id', 'name', 'algorithm'], rows, 'There are no TSIG keys.');
    }
  });
}

function addDelete(tsig: Command, { terminal, environment }: CommandContext): void {
  const remove = tsig
    .command('delete')
    .description('delete a key that no peer uses')
    .argument('<name>', 'its name, or its identifier')
    .option('--account <id>', 'account it belongs to (default: the oldest)')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane tsig delete transfer.example.com'));
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
    else terminal.print(`deleted TSIG key ${deleted.name}`);
  });
}

/** Whether two texts are the same name, with or without the final dot. */
export function sameName(a: string, b: string): boolean {
  const plain = (name: string): string => name.toLowerCase().replace(/\.$/, '');
  return plain(a) === plain(b);
}

/** The identifier of the account that a command works in. */
export function accountOf(context: Context, { account }: { readonly account?: string }): string {
  return toHex(chooseAccount(context, account).id);
}
