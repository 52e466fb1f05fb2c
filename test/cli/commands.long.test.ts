/** The commands as people type them: the real program on data directories of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { runCommandLine } from '../../src/cli/program.js';
import { openStore } from '../../src/store/driver.js';
import { countStagedSets } from '../../src/store/records/record-sets.js';
import { type Outcome, PROGRAM, spawnCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cli-'));
const DATA = join(directory, 'data');
t.teardown(() => rmSync(directory, { recursive: true }));

async function run(...args: readonly string[]): Promise<Outcome> {
  return runIn({}, ...args);
}

function runIn(environment: Record<string, string>, ...args: readonly string[]): Promise<Outcome> {
  return spawnCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '', ...environment }, args);
}

function write(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

const ZONE = `$ORIGIN example.com.
$TTL 300
@ IN SOA ns1.example.net. hostmaster.example.com. 2026010101 3600 600 86400 60
@ IN NS ns1.example.net.
@ IN NS ns2.example.net.
@ IN MX 10 mail
www IN A 192.0.2.10
mail IN A 192.0.2.25
txt IN TXT "a; b" "c"
`;

t.test('help, versions and wrong usage', async (t) => {
  const help = await run('--help');
  t.equal(help.code, 0);
  for (const name of ['serve', 'zone', 'record', 'key', 'account', 'healthcheck', 'doctor', 'config', 'backup']) {
    t.match(help.out, new RegExp(`^ {2}${name} `, 'm'));
  }
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  // The overview says of a command what its own help says.
  t.match((await run('help', 'backup')).out.replace(/\s+/g, ' '), /Usage: zoneplane backup .* copy the database, and/);
  t.match(help.out.replace(/\s+/g, ' '), / backup copy the database, and the bodies/);
  t.match(await run('version'), { code: 0, out: `${version}\n` });
  t.match(await run('--version'), { code: 0, out: `${version}\n` });
  t.match(JSON.parse((await run('version', '--json')).out), { version, node: process.version });
  t.match(await run('zoen', 'list'), { code: 2, err: /unknown command 'zoen'[\s\S]*Did you mean zone\?/ });
  t.match(await run('serve', '--dns-prot', '1'), {
    code: 2,
    err: /unknown option '--dns-prot'[\s\S]*Did you mean --dns-port\?/,
  });
  t.match(await run('serve', '--role', 'web'), { code: 2, err: /The roles are dns, admin and edge/ });
  t.match(await run('serve', '--dns-port', '0'), { code: 2, err: /--dns-port=0: expected a port from 1 to 65535/ });
  t.match(await run('zone', 'delete'), { code: 2, err: /missing required argument 'zone'/ });
});

/** Prints the modules that a process has loaded, when it ends. */
const LIST_MODULES = `import { registerHooks } from 'node:module';
const urls = [];
registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
process.on('exit', () => process.stderr.write('\\nloaded ' + urls.join(' ') + '\\n'));`;

const LIGHT_PACKAGES: ReadonlySet<string> = new Set([
  'better-sqlite3',
  'bindings',
  'commander',
  'fastest-levenshtein',
  'file-uri-to-path',
  'ipaddr.js',
  'tldts',
  'tldts-core',
  'yaml',
  'zod',
]);

t.test('a command loads what it needs, so that it starts at once', async (t) => {
  const listing = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(LIST_MODULES)}` };
  const file = write('few.zone', ZONE);
  for (const [most, ...args] of [
    [20, '--help'],
    [20, 'help'],
    [20, 'zoen', 'list'],
    [80, '--version'],
    [80, 'version'],
    [393, 'zone', 'check', file, '--origin', 'example.com'],
    [351, 'help', 'zone'],
    [351, 'zone', 'list'],
    [90, 'zone-names'],
    [40, 'completion', 'bash'],
    [343, 'hostname', 'list', 'example.com'],
    [325, 'certificate', 'list'],
    [346, 'record', 'list', 'example.com'],
    [331, 'key', 'list'],
    [327, 'account', 'list'],
  ] as const) {
    const { err } = await runIn(listing, ...args);
    const all = /^loaded (.*)$/m.exec(err)![1]!.split(' ');
    // The runner of the tests loads its own before.
    const urls = all.slice(all.findIndex((url) => url.endsWith('/build/src/main.js')));
    // There will always be more migrations.
    const own = urls.filter((url) => url.includes('/build/src/') && !/\/(migrations|schema)\//.test(url));
    t.ok(own.length >= 5 && own.length <= most, `${args.slice(0, 2).join(' ')}: ${own.length} files`);
    const packages = new Set(urls.flatMap((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []));
    t.strictSame(
      [...packages].filter((name) => !LIGHT_PACKAGES.has(name)),
      [],
      args.slice(0, 2).join(' '),
    );
  }
});

t.test('each command has an example', async (t) => {
  const commands = [
    ['serve'],
    ...['import', 'check', 'export', 'list', 'create', 'delete'].map((name) => ['zone', name]),
    ...['list', 'add', 'delete'].map((name) => ['record', name]),
    ...['create', 'list', 'revoke'].map((name) => ['key', name]),
    ...['create', 'list'].map((name) => ['account', name]),
    ['healthcheck'],
    ['doctor'],
    ['config', 'show'],
    ['backup'],
    ...['rotate', 'status'].map((name) => ['vault', name]),
    ['job', 'list'],
    ['bucket', 'key', 'create'],
    ['bucket', 'link'],
    ['bucket', 'rules'],
    ...['list', 'show', 'create', 'refresh', 'delete', 'allow'].map((name) => ['hostname', name]),
    ...['add', 'print', 'status'].map((name) => ['secondary', name]),
    ...['create', 'list', 'delete'].map((name) => ['tsig', name]),
    ['version'],
  ];
  // In this process: a process for each help costs a minute of processor time.
  for (const command of commands) {
    let out = '';
    const code = await runCommandLine({
      arguments: [...command, '--help'],
      program: PROGRAM,
      environment: {},
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => t.fail(text) },
    });
    t.match({ code, out }, { code: 0, out: /Example:\n {2}\$ zoneplane / }, command.join(' '));
  }
});

t.test('without a database commands say what to do', async (t) => {
  for (const command of [
    ['zone', 'list'],
    ['key', 'list'],
    ['backup', join(directory, 'x')],
    ['zone', 'export', 'a'],
  ]) {
    t.match(await run(...command), {
      code: 1,
      out: '',
      err: /there is no database in .*\nStart `zoneplane serve` once/,
    });
  }
  t.notOk(existsSync(DATA), 'looking makes nothing');
});

t.test('import, list, export', async (t) => {
  const file = write('example.com.zone', ZONE);
  t.match(await run('zone', 'import', file), {
    code: 1,
    out: '',
    err: /there is no database in .*data\n.*`import-config` make one with --init/,
  });
  t.notOk(existsSync(DATA), 'a wrong directory stays as it is');
  const imported = await run('zone', 'import', '--init', file);
  t.match(imported, { code: 0, out: `imported example.com: 6 records, serial 2026010101 (in ${DATA})\n` });
  t.equal(statSync(DATA).mode & 0o777, 0o700);
  t.equal(statSync(join(DATA, 'initial-key')).mode & 0o777, 0o600, 'the first administrator was made');
  t.match(await run('zone', 'list'), {
    code: 0,
    out: /^name +status +records.*\nexample\.com +active +\d+ +2026010101 /,
  });
  const [zone] = JSON.parse((await run('zone', 'list', '--json')).out) as { name: string; id: string }[];
  t.match(zone, { name: 'example.com', id: /^[0-9a-f]{32}$/ });

  const refused = await run('zone', 'import', file);
  t.match(refused, { code: 1, err: /example\.com\.zone: not imported: / }, 'an existing zone is not replaced unasked');
  t.match(await run('zone', 'import', '--replace', file), { code: 0 });

  const exported = await run('zone', 'export', 'EXAMPLE.com.');
  t.equal(exported.code, 0);
  t.match(exported.out, /2026010101/);
  const copy = write('copy.zone', exported.out);
  t.match(await run('zone', 'import', '--replace', '--origin', 'example.com', copy), { code: 0 });
  t.equal(
    (await run('zone', 'export', 'example.com')).out.replace(/^;.*\n/gm, ''),
    exported.out.replace(/^;.*\n/gm, ''),
  );
  t.ok(JSON.parse((await run('zone', 'export', 'example.com', '--format', 'json')).out));
  t.match(await run('zone', 'export', 'example.com', '--format', 'xml'), {
    code: 2,
    err: /The formats are bind and json/,
  });
  t.match(await run('zone', 'export', 'exampel.com'), {
    code: 1,
    err: /no zone exampel\.com; did you mean example\.com\?/,
  });
});

t.test('import of several files: each whole or not at all', async (t) => {
  const good = write('good.example.zone', ZONE.replaceAll('example.com', 'good.example'));
  const bad = write('bad.example.zone', `${ZONE.replaceAll('example.com', 'bad.example')}oops IN A 300.1.1.1\n`);
  const both = await run('zone', 'import', bad, good);
  t.equal(both.code, 1);
  t.match(both.err, /bad\.example\.zone:10:\d+: error: /);
  t.match(both.err, /bad\.example\.zone: not imported, nothing has changed/);
  t.match(both.out, /^imported good\.example: .*\n1 of 2 zones imported into \/.*data\n$/);
  const names = (JSON.parse((await run('zone', 'list', '--json')).out) as { name: string }[]).map(({ name }) => name);
  t.same(names.sort(), ['example.com', 'good.example']);

  const list = write(
    'zones.tsv',
    `other.example\t${write('other', ZONE.replaceAll('example.com', 'other.example'))}\n`,
  );
  const listed = await run('zone', 'import', '--list', list, '--json');
  t.match(JSON.parse(listed.out), [{ name: 'other.example', imported: true, serial: 2026010101 }]);
  t.match(await run('zone', 'import', '--list', write('bad.tsv', 'a b\n')), {
    code: 2,
    err: /bad\.tsv:1: expected an origin/,
  });
  t.match(await run('zone', 'import'), { code: 2, err: /no zone file is given/ });
  t.match(await run('zone', 'import', '--origin', 'x', good, bad), { code: 2, err: /--origin names one zone/ });
  t.match(await run('zone', 'import', join(directory, 'absent.zone')), { code: 1, err: /absent\.zone/ });
});

/** Presses Ctrl-C when the command has printed or stored something; `isBusy` says so. */
async function interrupt(isBusy: (printed: string) => boolean, ...args: readonly string[]): Promise<Outcome> {
  const env = { PATH: process.env['PATH'], ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const child = spawn(process.execPath, [PROGRAM, ...args], { env });
  let [out, err] = ['', ''];
  child.stdout.on('data', (piece: Buffer) => (out += piece));
  child.stderr.on('data', (piece: Buffer) => (err += piece));
  const ended = once(child, 'close') as Promise<[number]>;
  while (child.exitCode === null && !isBusy(out)) await sleep(5);
  child.kill('SIGINT');
  const [code] = await ended;
  return { code, out, err };
}

t.test('Ctrl-C in an import: what is done stays, what is not done leaves nothing', { timeout: 300_000 }, async (t) => {
  const small = write('small.example.zone', ZONE.replaceAll('example.com', 'small.example'));
  const lines = Array.from({ length: 300_000 }, (_, i) => `n${i} A 192.0.2.${i % 256}\n`);
  const large = write('large.example.zone', ZONE.replaceAll('example.com', 'large.example') + lines.join(''));
  const last = write('last.example.zone', ZONE.replaceAll('example.com', 'last.example'));
  await run('zone', 'create', 'first.example', '--init');
  const store = openStore(DATA, { readonly: true });
  t.teardown(() => store.close());
  const isStaging = (): boolean => countStagedSets(store) > 0;
  const done = await interrupt(isStaging, 'zone', 'import', small, large, last);
  t.equal(done.code, 130);
  t.match(done.out, /^imported small\.example: [^\n]*\n1 of 3 zones imported into [^\n]*\n$/);
  t.equal(
    done.err.replaceAll(`${directory}/`, ''),
    'large.example.zone: not imported: interrupted, nothing has changed\n' +
      'interrupted: last.example.zone not imported, nothing has changed there\n',
  );
  t.equal(countStagedSets(store), 0, 'its records are given up');
  const names = (JSON.parse((await run('zone', 'list', '--json')).out) as { name: string }[]).map(({ name }) => name);
  t.ok(names.includes('small.example'));
  t.notOk(names.includes('large.example') || names.includes('last.example'));
});

t.test('a reader that is slow gets everything, and an output that cannot be written is told', async (t) => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `n${i} A 192.0.2.${i % 256}\n`);
  const file = write('piped.example.zone', ZONE.replaceAll('example.com', 'piped.example') + lines.join(''));
  t.equal((await run('zone', 'import', file, '--init')).code, 0);
  const shell = (line: string): Outcome => {
    const env = { ...process.env, ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' };
    const command = line.replaceAll('zoneplane', `${process.execPath} ${PROGRAM}`);
    const { status, stdout, stderr } = spawnSync('bash', ['-c', `set -o pipefail; ${command}`], {
      encoding: 'utf8',
      env,
    });
    return { code: status ?? -1, out: stdout, err: stderr };
  };
  // A pipe holds 64 KiB; the reader begins when that is full.
  const slow = '(sleep 3; wc -l)';
  t.strictSame(shell(`zoneplane record list piped.example --type A | ${slow}`), { code: 0, out: '20003\n', err: '' });
  t.match(shell(`zoneplane zone export piped.example | ${slow}`), { code: 0, out: /^200\d\d\n$/, err: '' });
  t.strictSame(shell('zoneplane record list piped.example --json | head -1'), { code: 0, out: '[\n', err: '' });
  const full = { code: 1, out: '', err: /^zoneplane: standard output cannot be used: no space is left \(ENOSPC\)\n$/ };
  t.match(shell('zoneplane zone list > /dev/full'), full);
  t.match(shell('zoneplane zone export piped.example > /dev/full'), full);
  t.match(shell('zoneplane zone export absent.example 2> /dev/full'), { code: 1, out: '', err: '' });
});

t.test('check touches nothing', async (t) => {
  const good = write('fine.example.zone', ZONE.replaceAll('example.com', 'fine.example'));
  t.match(await run('zone', 'check', good), { code: 0 });
  const bad = write(
    'faulty.example.zone',
    `${ZONE.replaceAll('example.com', 'faulty.example')}www IN CNAME x\nx IN A 1.2.3\n`,
  );
  const checked = await run('zone', 'check', bad);
  t.equal(checked.code, 1);
  t.match(checked.out + checked.err, /faulty\.example\.zone:11:\d+: error: /);
  const json = JSON.parse((await run('zone', 'check', '--json', bad)).out) as { severity: string; line: number }[];
  t.ok(json.some(({ severity, line }) => severity === 'error' && line === 11));
  t.notMatch((await run('zone', 'list')).out, /fine\.example|faulty\.example/);
});

t.test('create and delete zones', async (t) => {
  t.match(await run('zone', 'create', 'new.example'), {
    code: 0,
    out: /^created zone new\.example .*active\n.*ns1\.zoneplane\.test/,
  });
  t.match(await run('zone', 'create', 'new.example'), { code: 1, err: /^zoneplane: / });
  t.match(await run('zone', 'create', 'not a name'), { code: 1 });
  t.match(await run('zone', 'delete', 'new.example'), { code: 0, out: /^deleted zone new\.example / });
  t.match(await run('zone', 'delete', 'new.example'), { code: 1, err: /there is no zone new\.example/ });
});

t.test('records', async (t) => {
  t.match(await run('record', 'add', 'example.com', 'api', 'A', '192.0.2.99', '--ttl', '120', '--comment', 'hi'), {
    code: 0,
    out: /^added api\.example\.com A 192\.0\.2\.99 \([0-9a-f]{32}\)\n$/,
  });
  t.match(await run('record', 'add', 'example.com', '@', 'mx', '20', 'mx2.example.com.'), {
    code: 0,
    out: /^added example\.com MX 20 mx2\.example\.com /,
  });
  t.match(await run('record', 'add', 'example.com', 'api', 'A', '300.0.0.1'), { code: 1, err: /IPv4/ });
  t.match(await run('record', 'add', 'example.com', 'api', 'A', '192.0.2.98', '--ttl', '-1'), {
    code: 2,
    err: /seconds/,
  });
  const found = JSON.parse((await run('record', 'list', 'example.com', '--name', 'api', '--json')).out) as {
    id: string;
  }[];
  t.match(found, [{ name: 'api.example.com', type: 'A', content: '192.0.2.99', ttl: 120, comment: 'hi' }]);
  t.match(await run('record', 'list', 'example.com', '--type', 'MX'), {
    code: 0,
    out: /^id .*content\n(.*mail.*\n|.*mx2.*\n){2}$/,
  });
  t.match(await run('record', 'list', 'example.com', '--name', 'nobody'), {
    code: 0,
    out: /No matching records/,
  });
  t.match(await run('record', 'list', 'example.com', '--type', 'MXX'), {
    code: 2,
    err: /there is no record type MXX\n/,
  });

  t.match(await run('record', 'delete', 'example.com', found[0]!.id), {
    code: 0,
    out: 'deleted api.example.com A 192.0.2.99\n',
  });
  t.match(await run('record', 'delete', 'example.com', '@', 'MX', '20', 'mx2.example.com'), {
    code: 0,
    out: /MX 20 mx2/,
  });
  t.match(await run('record', 'delete', 'example.com', 'www', 'A'), {
    code: 0,
    out: /www\.example\.com A 192\.0\.2\.10/,
  });
  t.match(await run('record', 'delete', 'example.com', 'www', 'A'), {
    code: 1,
    err: /there is no record www\.example\.com A/,
  });
  t.match(await run('record', 'delete', 'example.com', 'www'), { code: 2, err: /'www' is not a record identifier/ });
});

t.test('loopback is ordinary content until it is chosen as the address of the edge', async (t) => {
  for (const [type, content] of [
    ['A', '127.0.0.1'],
    ['AAAA', '::1'],
  ] as const) {
    t.match(await run('record', 'add', 'example.com', 'localhost', type, content), { code: 0 });
  }
  const chosen = { ZONEPLANE_EDGE_ADDRESSES: '127.0.0.1' };
  const refused = await runIn(chosen, 'record', 'add', 'example.com', 'other', 'A', '127.0.0.1');
  t.match(refused, { code: 1, err: /127\.0\.0\.1/ });
});

t.test('keys and accounts', async (t) => {
  const made = await run('key', 'create', 'certbot', '--zone', 'example.com', '--days', '90', '--read-only');
  t.equal(made.code, 0);
  t.match(made.out, /^[0-9A-Za-z_-]{37,}\n$/, 'the secret and nothing else on standard output');
  const secret = made.out.trim();
  const listed = await run('key', 'list');
  t.match(listed.out, /certbot .*read only, 1 zone +active/);
  t.notMatch(listed.out, secret);
  const keys = JSON.parse((await run('key', 'list', '--json')).out) as { id: string; name: string }[];
  const { id } = keys.find(({ name }) => name === 'certbot')!;
  t.match(await run('key', 'revoke', id), { code: 0, out: "revoked token 'certbot' of admin@localhost\n" });
  t.match((await run('key', 'list')).out, /certbot .*disabled/);
  t.match(await run('key', 'revoke', 'f'.repeat(32)), { code: 1 });

  t.match(await run('account', 'create', 'Example Ltd', '--member', 'admin@localhost'), {
    code: 0,
    out: /^created account/,
  });
  t.match((await run('account', 'list')).out, /Example Ltd +standard/);
  const grep = readFileSync(join(DATA, 'zoneplane.db')).includes(Buffer.from(secret));
  t.notOk(grep, 'the database does not hold the secret');
});

t.test('settings and where they come from', async (t) => {
  const file = write('settings.yaml', 'admin-port: 9999\n');
  const shown = await runIn(
    { ZONEPLANE_DNS_PORT: '5300' },
    'config',
    'show',
    '--origin',
    '--config',
    file,
    '--log-level',
    'debug',
  );
  t.equal(shown.code, 0);
  t.match(shown.out, /^dns-port +5300 +ZONEPLANE_DNS_PORT$/m);
  t.match(shown.out, /^admin-port +9999 +.*settings\.yaml: admin-port$/m);
  t.match(shown.out, /^log-level +debug +--log-level$/m);
  t.match(shown.out, /^zones-dir +\.\/zones +default$/m);
  const key = 'k'.repeat(40);
  const secret = await runIn({ ZONEPLANE_ADMIN_KEY: key }, 'config', 'show', '--json');
  t.notMatch(secret.out, key);
  t.match(JSON.parse(secret.out), { 'admin-key': '(secret)', 'admin-port': '8053' });
});

t.test('backup is a database of its own', async (t) => {
  const file = join(directory, 'copy.db');
  t.match(await run('backup', file), { code: 0, out: /^wrote .*copy\.db \(\d+ octets\)\n$/ });
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.match(await run('backup', file), { code: 1, err: /exists already/ });
  const restored = mkdtempSync(join(directory, 'restored-'));
  writeFileSync(join(restored, 'zoneplane.db'), readFileSync(file));
  t.match((await run('zone', 'list', '--data-dir', restored)).out, /example\.com +active/);
});

t.test('doctor', async (t) => {
  const environment = { ZONEPLANE_DNS_PORT: '54321', ZONEPLANE_ADMIN_PORT: '54322', ZONEPLANE_DNS_HOST: '127.0.0.1' };
  const healthy = await runIn(environment, 'doctor', '--json');
  t.equal(healthy.code, 0, healthy.out);
  const findings = JSON.parse(healthy.out) as { what: string; verdict: string; text: string }[];
  const of = (what: string) => findings.find((finding) => finding.what === what);
  t.match(of('database'), { verdict: 'ok', text: /sound, \d+ zones served/ });
  t.match(
    findings.filter(({ text }) => text.includes('do not exist for anybody else')),
    [{ verdict: 'warn' }],
    'said once, of zones or of settings',
  );
  t.match(of('initial key'), { verdict: 'warn', text: /still holds the first administrator's key/ });
  t.match(of('server'), { verdict: 'warn', text: /not running/ });
  t.match(of('dns port'), { verdict: 'ok' });
  const broken = mkdtempSync(join(directory, 'broken-'));
  writeFileSync(join(broken, 'zoneplane.db'), 'no database at all '.repeat(100));
  t.match(await runIn(environment, 'doctor', '--data-dir', broken), {
    code: 1,
    out: /^fail {2}database +.*not a usable database/m,
  });
  const none = await runIn(environment, 'doctor', '--data-dir', join(directory, 'never'));
  t.match(none, { code: 0, out: /never is missing; the first start makes it/ });
  t.notOk(existsSync(join(directory, 'never')), 'looking makes nothing');
});
