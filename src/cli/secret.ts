/** `zoneplane secret`: secrets of the bucket application. They come by standard input, never as an argument others can see. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { UserError } from '../base/errors.js';
import { deleteSecret, listSecrets, putSecret } from '../bucket/secrets.js';
import type { Command, CommandContext } from './command.js';
import { DATA_SETTINGS, printInstant, withControl } from './control.js';
import { addSettingOptions } from './settings.js';

const MOST_OCTETS = 8192;

export function addSecretCommands(program: Command, context: CommandContext): void {
  const secret = program.command('secret');
  addPut(secret, context);
  addList(secret, context);
  addDelete(secret, context);
}

function addPut(secret: Command, { terminal, environment }: CommandContext): void {
  const put = secret
    .command('put')
    .description('set a secret, typed on a terminal or piped in; it takes effect at once')
    .argument('<name>', 'AUTH_KEY_SECRET: what X-Custom-Auth-Key must carry for changes')
    .printsJson('openssl rand -hex 32 | tee auth-key | zoneplane secret put AUTH_KEY_SECRET');
  addSettingOptions(put, DATA_SETTINGS).action(async (name: string, { json }: { json?: boolean }) => {
    const value = await readSecret(`Value of ${name}: `);
    await withControl(put, environment, (context) => putSecret(context, name, value), 'initialise');
    if (json) terminal.json({ name });
    else {
      terminal.print(`set ${name}; only its hash is kept`);
      terminal.print('Requests that change objects send it as `X-Custom-Auth-Key: …`.');
    }
    if (environment[name]) {
      terminal.complain(`${name} is also set in this environment. A server that has it there goes by that value.`);
    }
  });
}

function addList(secret: Command, { terminal, environment }: CommandContext): void {
  const list = secret
    .command('list')
    .description('list the names of secrets that are set; their values cannot be shown again')
    .printsJson('zoneplane secret list');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const secrets = await withControl(list, environment, listSecrets);
    if (json) return terminal.json(secrets.map(({ name, setAt }) => ({ name, set_on: printInstant(setAt) })));
    terminal.table(
      ['name', 'set'],
      secrets.map(({ name, setAt }) => [name, printInstant(setAt)]),
      'There are no secrets. Set one with `zoneplane secret put AUTH_KEY_SECRET`.',
    );
  });
}

function addDelete(secret: Command, { terminal, environment }: CommandContext): void {
  const remove = secret
    .command('delete')
    .description('delete a secret; without it the application refuses every change')
    .argument('<name>', 'AUTH_KEY_SECRET')
    .printsJson('zoneplane secret delete AUTH_KEY_SECRET');
  addSettingOptions(remove, DATA_SETTINGS).action(async (name: string, { json }: { json?: boolean }) => {
    await withControl(remove, environment, (context) => deleteSecret(context, name));
    if (json) terminal.json({ name });
    else {
      terminal.print(`deleted ${name}`);
      terminal.print(`Changes are refused until there is another: \`zoneplane secret put ${name}\`.`);
    }
  });
}

/** A secret that is typed on the terminal, or piped in: never an argument that others can see. */
export function readSecret(question: string): Promise<string> {
  return process.stdin.isTTY ? askUnseen(question) : readPiped();
}

/** What is piped in, without the line break at its end. */
async function readPiped(): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of process.stdin) {
    pieces.push(piece as Buffer);
    length += (piece as Buffer).length;
    if (length > MOST_OCTETS) throw new UserError(`the secret is longer than ${MOST_OCTETS} octets`);
  }
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

/** A line typed on the terminal, not shown. */
async function askUnseen(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  const typed = await prompt.question('');
  prompt.close();
  process.stderr.write('\n');
  return typed;
}
