/** Words that are not commands, and what every command has: help with an example, JSON, an exit code for wrong usage. */
import t from 'tap';
import { Command } from '../../../src/cli/command.js';
import { addCommands } from '../../../src/cli/commands.js';
import { createTerminal } from '../../../src/cli/terminal.js';
import { PROGRAM, runCommand } from '../../support/commands.js';

const run = (...args: readonly string[]): ReturnType<typeof runCommand> => runCommand({}, ...args);

t.test('what others call our commands', async (t) => {
  const meant: Readonly<Record<string, string>> = {
    token: 'key',
    'token create ci': 'key create',
    'api-tokens list': 'key list',
    domain: 'zone',
    'domain add example.com': 'zone create',
    cert: 'certificate',
    s3: 'bucket',
    'r2 ls': 'bucket list',
    'custom-hostname add': 'hostname create',
    login: 'dashboard',
    reload: 'serve',
    zoen: 'zone',
    'key delete': 'revoke',
    'key rm': 'revoke',
    'record create': 'add',
    'zone add': 'create',
    'bucket ls': 'list',
    'secret set': 'put',
    dns: 'one of zone, record',
    import: 'one of zone import, template import, dnssec import',
    status: 'one of healthcheck, doctor, lb status, vault status, cluster status, dnssec status, secondary status',
    'help token': 'key',
  };
  for (const [typed, expected] of Object.entries(meant)) {
    const { code, out, err } = await run(...typed.split(' '));
    t.match({ code, out }, { code: 2, out: '' }, typed);
    t.ok(err.includes(`(Did you mean ${expected}?)\n`), `${typed}: ${err}`);
  }
  const { err } = await run('token');
  t.ok(err.startsWith("error: unknown command 'token'\n"), err);
  t.ok(err.includes('\n  zoneplane key: create, list and revoke credentials'), 'it is described, too');
  const list = await run('list');
  t.match(list.err, /\(Did you mean one of zone list, record list, lb list, key list, /);
  t.notMatch(list.err, /\n {2}zoneplane/, 'a long list is not described');
});

t.test('words that resemble nothing get no guess', async (t) => {
  for (const typed of ['kv', 'log', 'https', 'xyzzy', 'zone x..y', 'dnssec xyzzy']) {
    const { code, err } = await run(...typed.split(' '));
    t.equal(code, 2, typed);
    t.notMatch(err, /Did you mean/, typed);
    t.match(err, /^error: unknown command '.*'\nAdd --help for usage/, typed);
  }
});

/** Commands that print no result of their own, but a file or nothing. */
const WITHOUT_JSON: ReadonlySet<string> = new Set([
  'serve',
  'zone export',
  'template export',
  'config reference',
  'completion',
  'ca root',
  'cluster roles',
  'secondary print',
]);

t.test('every command has help with an example, JSON, and exit code 2 for wrong usage', async (t) => {
  const program = new Command('zoneplane');
  const silent = { write: () => true };
  const terminal = createTerminal({ stdout: silent, stderr: silent, environment: {} });
  const context = { terminal, environment: {}, program: PROGRAM, version: '0', isTerminal: false, width: 80 };
  await addCommands(program, context, ['list']);
  const leaves = leavesOf(program, []);
  t.ok(leaves.length > 60, `${leaves.length} commands`);
  for (const { path, command } of leaves) {
    const name = path.join(' ');
    const help = await run(...path, '--help');
    t.equal(help.code, 0, name);
    t.match(help.out, /\nExample:\n {2}\$ .*zoneplane /, `${name} has an example`);
    t.ok(command.description(), `${name} is described`);
    const hasJson = command.options.some(({ long }) => long === '--json');
    t.equal(hasJson, !WITHOUT_JSON.has(name), `${name} --json`);
    const wrong = await run(...path, '--no-such-option');
    t.match(wrong, { code: 2, out: '' }, `${name} with an unknown option`);
    t.equal(wrong.out, '', `${name}: nothing on standard output`);
    t.match(wrong.err, /--help/, `${name} says where the help is`);
  }
});

interface Leaf {
  readonly path: readonly string[];
  readonly command: Command;
}

function leavesOf(command: Command, path: readonly string[]): Leaf[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]));
}
