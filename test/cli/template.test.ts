/** `zoneplane template`, and `--expires` of records. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Outcome, runCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-template-'));
t.teardown(() => rmSync(directory, { recursive: true }));
const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data') };
const run = (...args: readonly string[]): Promise<Outcome> => runCommand(environment, ...args);
const file = join(directory, 'web.yaml');
const YAML = `name: web
variables:
  - { name: ip, type: ipv4 }
records:
  - { type: A, name: "@", content: "{ip}", ttl: 300 }
  - { type: CNAME, name: www, content: "{zone}" }
`;

t.test('a template is imported, previewed, applied, shown, exported and deleted', async (t) => {
  t.match(await run('zone', 'create', 'example.com', '--init'), { code: 0 });
  writeFileSync(file, `${YAML}extra: 1\n`);
  t.match(await run('template', 'import', file), { code: 1, err: /extra is not a member here/ });
  writeFileSync(file, 'name: [\n');
  t.match(await run('template', 'import', file), { code: 1, err: /web\.yaml:2:1: / });
  writeFileSync(file, YAML);
  t.match(await run('template', 'import', file), { code: 0, out: 'created template web\n' });
  t.match(await run('template', 'import', file), { code: 1, err: /has a template named web already/ });
  t.match(await run('template', 'import', file, '--replace'), { code: 0, out: 'replaced template web\n' });
  t.match(await run('template', 'list'), { code: 0, out: /^name +records.*\nweb +2 +ip/ });
  t.match(await run('template', 'apply', 'web'), { code: 0, out: /was not applied to any zone yet/ });
  t.match(await run('template', 'apply', 'wep', 'example.com'), { code: 1, err: /did you mean web\?/ });
  t.match(await run('template', 'apply', 'web', 'example.com', '--set', 'ip'), { code: 2, err: /gives no variable/ });
  t.match(await run('template', 'apply', 'web', 'example.com'), { code: 1, err: /the variable ip needs a value/ });
  const apply = ['template', 'apply', 'web', 'example.com', '--set', 'ip=192.0.2.10'];
  t.match(await run(...apply, '--preview'), {
    code: 0,
    out: /^example\.com: preview\n {2}\+ example\.com 300 A 192\.0/,
  });
  t.match(await run('record', 'list', 'example.com'), { out: /No matching records/ });
  t.match(await run(...apply), { code: 0, out: /^example\.com: applied\n/ });
  t.match(await run('record', 'update', 'example.com', '@', 'A', '--ttl', '60'), { code: 0 });
  t.match(await run('template', 'apply', 'web'), {
    code: 0,
    out: /unchanged\n {2}! example\.com A 192.* edited by hand/,
  });
  const forced = await run('template', 'apply', 'web', '--force', '--json');
  t.match(JSON.parse(forced.out), [{ status: 'applied', changes: [{ action: 'change' }], conflicts: [] }]);
  t.match(await run('template', 'show', 'web'), {
    out: /^name: web\n[\s\S]*example\.com +current .* ip=192\.0\.2\.10/,
  });
  writeFileSync(file, (await run('template', 'export', 'web')).out);
  t.match(await run('template', 'import', file, '--replace'), { code: 0 });
  t.match(await run('template', 'delete', 'web'), { code: 0, out: 'deleted template web\n' });
});

t.test('a record ends', async (t) => {
  const add = ['record', 'add', 'example.com', 'guest', 'A', '192.0.2.7', '--json'];
  t.match(await run(...add, '--expires', 'soon'), { code: 1, err: /expected a time/ });
  const made = await run(...add, '--expires', '2190-01-31T18:00:00Z');
  t.match(JSON.parse(made.out), { expires_on: '2190-01-31T18:00:00Z' });
  const kept = await run('record', 'update', 'example.com', 'guest', 'A', '--no-expires', '--json');
  t.equal(JSON.parse(kept.out).expires_on, undefined);
});
