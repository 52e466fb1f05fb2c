/** Daily commands in this process: what they ask for, what they read and write, and what they print. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { createTerminal } from '../../../src/cli/terminal.js';
import { loadSettings } from '../../../src/config/load.js';
import { explainStoreFailure } from '../../../src/roles/process/store-failure.js';
import { openStore } from '../../../src/store/driver.js';
import { type Outcome, PROGRAM, runCommand } from '../../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-daily-'));
const DATA = join(directory, 'data');
t.teardown(() => rmSync(directory, { recursive: true }));

const run = (...args: readonly string[]): Promise<Outcome> =>
  runCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' }, ...args);

const unless = (path: string): string | false =>
  existsSync(path) || process.env['CI'] === 'true' ? false : `not installed: ${path}`;

const ZONE = '$ORIGIN example.net.\n$TTL 300\n@ SOA ns1 h 7 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\n';

t.test('a command does not create a data directory unless it is told to', async (t) => {
  t.match(await run('zone', 'create', 'example.com'), { code: 1, err: new RegExp(`no database in ${DATA}`) });
  t.match(await run('zone', 'create', 'example.com', '--init'), { code: 0, out: new RegExp(`in ${DATA}, active\n`) });
  t.match(await run('zone', 'create', 'example.org'), { code: 0 });
});

t.test('the data of records is read as in a zone file', async (t) => {
  const rows: (readonly [words: string, content: string])[] = [
    ['@ MX 10 mail', 'MX 10 mail.example.com'],
    ['@ MX 20 mail.example.com', 'MX 20 mail.example.com'],
    ['@ MX 30 mx.example.net.', 'MX 30 mx.example.net'],
    ['www CNAME web', 'CNAME web.example.com'],
    ['docs CNAME pages.example.net', 'CNAME pages.example.net'],
    ['up CNAME @', 'CNAME example.com'],
    ['_sip._tcp SRV 5 10 5060 sip', 'SRV 5 10 5060 sip.example.com'],
    ['text TXT plain words', 'TXT plain words'],
  ];
  for (const [words, content] of rows) {
    const { code, out, err } = await run('record', 'add', 'example.com', ...words.split(' '));
    t.equal(code, 0, `${words}: ${err}`);
    t.ok(out.includes(` ${content} (`), `${words}: ${out}`);
  }
  t.match(await run('record', 'add', 'example.com', '@', 'MX', 'mail.example.com'), {
    code: 2,
    err: /an MX record needs a priority\nWrite it in front: MX 10 mail\.example\.com/,
  });
});

t.test('record update', async (t) => {
  t.match(await run('record', 'add', 'example.com', 'a', 'A', '192.0.2.1', '--comment', 'old'), { code: 0 });
  t.match(await run('record', 'update', 'example.com', 'a', 'A', '192.0.2.2', '--ttl', '600'), {
    code: 0,
    out: /^changed a\.example\.com A 192\.0\.2\.2 /,
  });
  const [{ id, ...first }] = JSON.parse((await run('record', 'list', 'example.com', '--name', 'a', '--json')).out);
  t.match(first, { content: '192.0.2.2', ttl: 600, comment: 'old', proxied: false });
  t.match(await run('record', 'update', 'example.com', id, '--proxied', '--comment', ''), { code: 0 });
  const [second] = JSON.parse((await run('record', 'list', 'example.com', '--name', 'a', '--json')).out);
  t.match(second, { id, content: '192.0.2.2', ttl: 1, comment: null, proxied: true });
  t.match(await run('record', 'update', 'example.com', 'a', 'A', '--no-proxied'), { code: 0 });
  t.match(await run('record', 'update', 'example.com', '@', 'MX', '5', 'mail'), {
    code: 1,
    err: /there are 3 records/,
  });
  t.match(await run('record', 'update', 'example.com', 'none', 'A', '192.0.2.3'), {
    code: 1,
    err: /there is no record/,
  });
  const [mx] = JSON.parse((await run('record', 'list', 'example.com', '--type', 'MX', '--json')).out);
  t.match(
    await run('record', 'update', 'example.com', mx.id, 'mx9'),
    { out: /MX \d+ mx9\.example\.com / },
    'keeps its priority',
  );
});

t.test('mistakes are named, with what to do', async (t) => {
  t.match(await run('record', 'add', 'example.com', '@', 'MX', '10'), {
    code: 2,
    err: /needs a mail server\n.*MX 10 mail/,
  });
  t.match(await run('record', 'add', 'example.com', 'www', 'AA', '192.0.2.1'), {
    code: 1,
    err: 'zoneplane: AA is not a record type that can be created\n',
  });
  t.match(await run('zone', 'create', 'named.example'), {
    code: 0,
    out: /These name servers are .* Set --nameservers/,
  });
  t.match(await run('zone', 'delete', 'named.example'), { code: 0 });
});

t.test('a name that nothing can have is an error, in the words of the command that would create it', async (t) => {
  const impossible = ['x..y', 'a b', `${'a'.repeat(64)}`, 'www.example.org.'];
  for (const name of impossible) {
    const refusal = { code: 1, out: '', err: 'zoneplane: DNS name is invalid.\n' };
    t.same(await run('record', 'add', 'example.com', name, 'A', '192.0.2.1'), refusal, `add ${name}`);
    t.same(await run('record', 'list', 'example.com', '--name', name), refusal, `list ${name}`);
    t.same(await run('record', 'list', 'example.com', '--json', '--name', name), refusal, `list ${name} as JSON`);
    t.same(await run('record', 'update', 'example.com', name, 'A', '192.0.2.1'), refusal, `update ${name}`);
    t.same(await run('record', 'delete', 'example.com', name, 'A'), refusal, `delete ${name}`);
  }
  const free = await run('record', 'list', 'example.com', '--name', 'www.example.org');
  t.match(free, { code: 0, out: 'No matching records at www.example.org.example.com.\n' }, 'says what it looked for');
  const invalid = 'zoneplane: Invalid domain name: it has an empty label.\n';
  for (const command of ['create', 'export', 'delete']) {
    t.match(await run('zone', command, 'x..y'), { code: 1, err: invalid }, `zone ${command}`);
  }
  t.match(await run('record', 'list', 'x..y'), { code: 1, err: invalid });
  t.match(await run('dnssec', 'status', 'x..y'), { code: 1, err: invalid });
  for (const command of ['show', 'create', 'refresh', 'delete']) {
    const refused = await run('hostname', command, 'example.com', 'a..b');
    t.match(refused, { code: 1, err: /Invalid custom hostname: it has an empty label/ }, `hostname ${command}`);
  }
  t.match(await run('hostname', 'list', 'example.com', '--status', 'gone'), {
    code: 2,
    err: /Allowed choices are pending/,
  });
  t.match(await run('key', 'create', 'ci', '--record', 'a..b'), { code: 1, err: /'a\.\.b' is not a name pattern/ });
});

t.test('names of a zone file that cannot be added singly are found', async (t) => {
  const file = join(directory, 'odd.example.zone');
  writeFileSync(file, '$TTL 300\n@ SOA a. b. 1 2 3 4 5\n@ NS a.\nA\\032b A 192.0.2.1\nb\\.c A 192.0.2.2\n');
  t.match(await run('zone', 'import', file), { code: 0 });
  for (const name of ['a\\032b', 'A\\032B.odd.example.', 'b\\.c']) {
    const found = JSON.parse((await run('record', 'list', 'odd.example', '--name', name, '--json')).out);
    t.equal(found.length, 1, name);
  }
  t.match(await run('zone', 'delete', 'odd.example'), { code: 0 });
});

t.test('what is made or taken away says what comes next; with --json there is nothing else', async (t) => {
  const next = async (expected: RegExp, ...args: readonly string[]): Promise<string> => {
    const done = await run(...args);
    t.match({ ...done, said: done.out + done.err }, { code: 0, said: expected }, args.join(' '));
    return done.out;
  };
  await next(/`Authorization: Bearer …`\. Revoke it with `zoneplane key revoke [0-9a-f]{32}`/, 'key', 'create', 'ci');
  await next(/X-Auth-Email: admin@localhost/, 'key', 'create', 'old', '--kind', 'key');
  const keys = JSON.parse((await run('key', 'list', '--json')).out) as { id: string; name: string }[];
  await next(/zoneplane key list/, 'key', 'revoke', keys.find(({ name }) => name === 'ci')!.id);
  await next(/zone create NAME --account [0-9a-f]{32}/, 'account', 'create', 'Next');
  await next(/zoneplane account list/, 'account', 'delete', 'Next');
  t.match((await run('bucket', 'create', 'next')).out, /zoneplane bucket bind next/);
  await next(/secret put AUTH_KEY_SECRET/, 'bucket', 'bind', 'next', '--binding', 'NEXT');
  await next(/zoneplane bucket list[\s\S]*bind another bucket/, 'bucket', 'delete', 'next');
  t.match(await next(/secondary add NAME .*--tsig k1/, 'tsig', 'create', 'k1'), /^[0-9A-Za-z+/=]+\n$/);
  await next(/nsupdate -y hmac-sha256:k2:SECRET/, 'tsig', 'create', 'k2', '--zone', 'example.com');
  await next(/zoneplane tsig list/, 'tsig', 'delete', 'k1');
  await run('zone', 'create', 'next.example');
  await next(/at the registrar/, 'zone', 'delete', 'next.example');
  for (const args of [
    ['key', 'create', 'j'],
    ['bucket', 'create', 'jjj'],
    ['account', 'create', 'j'],
    ['tsig', 'create', 'j'],
  ]) {
    const { code, out, err } = await run(...args, '--json');
    t.equal(typeof JSON.parse(out), 'object', args.join(' '));
    t.same({ code, err }, { code: 0, err: '' }, args.join(' '));
  }
});

t.test('files that are not zone files, and places that are none', async (t) => {
  const write = (name: string, octets: Buffer): string => {
    const path = join(directory, name);
    writeFileSync(path, octets);
    return path;
  };
  const text = Buffer.from('@ 300 IN SOA a. b. 1 2 3 4 5\r\n@ NS a.\r\n');
  const utf16 = write('utf16.zone', Buffer.from('\ufeff@ 300 IN SOA a. b. 1 2 3 4 5\n', 'utf16le'));
  const binary = write('binary.zone', Buffer.concat([text, Buffer.from([0, 1, 2, 0x1b, 0x5b, 0x32, 0x4a])]));
  const hostile = write('hostile.zone', Buffer.concat([text, Buffer.from('\u001b[2J\u009b2J\n', 'latin1')]));
  const marked = write('marked.zone', Buffer.concat([Buffer.from('\ufeff'), text]));
  const origin = ['--origin', 'file.example'];
  for (const command of ['check', 'import']) {
    const said = async (file: string): Promise<string> => {
      const { code, out, err } = await run('zone', command, file, ...origin);
      t.equal(code, 1, `${command} ${file}`);
      return out + err;
    };
    t.match(await said(utf16), /utf16\.zone:1:1: error: the text is in UTF-16; convert it, such as with `iconv/);
    t.match(await said(binary), /binary\.zone:1:1: error: this is not a zone file: it has NUL octets\n/);
    const shown = await said(hostile);
    t.match(shown, /\\x1b\[2J/, 'control characters of files are shown');
    t.notMatch(shown, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/, 'and steer no terminal');
    t.match(await said(directory), /cannot be used: it is a directory \(EISDIR\)/);
    t.match(await said(join(directory, 'gone.zone')), /cannot be used: it does not exist \(ENOENT\)/);
  }
  const ofMarked = await run('zone', 'check', marked, ...origin);
  t.equal(ofMarked.code, 0, 'a byte order mark and CRLF do no harm');
  t.match(ofMarked.out + ofMarked.err, /marked\.zone:1:1: warning: the file begins with a byte order mark/);
  t.match(await run('zone', 'list'), { out: /^(?!.*file\.example)/s }, 'nothing was imported');

  const fresh = join(directory, 'fresh');
  for (const file of [binary, directory, join(directory, 'gone.db')]) {
    t.match(await run('restore', file, '--data-dir', fresh), { code: 1 });
    t.notOk(existsSync(fresh), 'no directory stays of a restoration that failed');
  }
  const nowhere = join(directory, 'gone', 'b.db');
  t.match(await run('backup', nowhere), { code: 1, err: /the directory .*gone does not exist\n/ });
  t.match(await run('dashboard', 'link', '--url', 'dns.example.org'), {
    code: 2,
    err: /--url=dns\.example\.org: expected/,
  });
});

t.test('settings that resemble others only in what all begin with get no guess', async (t) => {
  const data = { ZONEPLANE_DATA_DIR: DATA };
  const foreign = await runCommand({ ...data, ZONEPLANE_FOO: '1' }, 'zone', 'list');
  t.match(foreign, { code: 2, err: /unknown setting ZONEPLANE_FOO\n/ });
  const misspelt = await runCommand({ ...data, ZONEPLANE_DNS_PROT: '1' }, 'zone', 'list');
  t.match(misspelt, { code: 2, err: /unknown setting ZONEPLANE_DNS_PROT, did you mean ZONEPLANE_DNS_PORT\?\n/ });
});

t.test('a zone that is there is replaced only when that is said', async (t) => {
  const file = join(directory, 'there.zone');
  writeFileSync(file, '@ 300 IN SOA a. b. 1 2 3 4 5\n@ NS a.\n');
  const refused = await run('zone', 'import', file, '--origin', 'example.com');
  t.match(refused, { code: 1, err: /example\.com already exists\. Give --replace to import it again\./ });
});

t.test('records are searched for in all zones', async (t) => {
  const found = await run('record', 'search', 'mx', 'MAIL');
  t.match(found, { code: 0, out: /^example\.com +example\.com +MX +20 mail\.example\.com/m });
  t.match(await run('record', 'search', 'nothing-like-it'), { code: 0, out: 'No matching records.\n' });
  t.equal(JSON.parse((await run('record', 'search', 'example', '--limit', '2', '--json')).out).length, 2);
});

t.test('limits of lists', async (t) => {
  t.equal(JSON.parse((await run('record', 'list', 'example.com', '--limit', '2', '--json')).out).length, 2);
  t.equal(JSON.parse((await run('zone', 'list', '--limit', '1', '--json')).out).length, 1);
  t.match(await run('zone', 'list', '--limit', '0'), { code: 2 });
});

t.test('the built program is executable, as `npx zoneplane` in a clone needs it', async (t) => {
  const { status, stdout } = spawnSync(PROGRAM, ['version'], {
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
    encoding: 'utf8',
  });
  t.match({ status, stdout }, { status: 0, stdout: /^\d+\.\d+\.\d+\n$/ });
});

t.test('a table of very many rows', async (t) => {
  let lines = 0;
  const stdout = { write: (text: string) => void (lines += text.split('\n').length - 1) };
  const terminal = createTerminal({ stdout, stderr: stdout, environment: {} });
  terminal.table(
    ['id', 'name'],
    Array.from({ length: 300_000 }, (_, i) => [String(i), 'x']),
    'none',
  );
  t.equal(lines, 300_001);
});

t.test('import: dry run and standard input; export of all; check with sound files', async (t) => {
  const file = join(directory, 'example.net.zone');
  writeFileSync(file, ZONE);
  t.match(await run('zone', 'import', '--dry-run', file), { code: 0, out: /^would import example\.net: 2 records/ });
  t.notMatch((await run('zone', 'list')).out, /example\.net/);
  const piped = spawnSync(process.execPath, [PROGRAM, 'zone', 'import', '-'], {
    input: ZONE,
    env: { ...process.env, ZONEPLANE_DATA_DIR: DATA },
    encoding: 'utf8',
  });
  t.match(piped, { status: 0, stdout: /^imported example\.net: 2 records, serial 7 \(in \/.*\)\n$/ });
  const target = join(directory, 'zones');
  t.match(await run('zone', 'export', '--all', '--directory', target), { code: 0, out: /example\.org\.zone\n/ });
  t.same(readdirSync(target).sort(), ['example.com.zone', 'example.net.zone', 'example.org.zone']);
  t.match(readFileSync(join(target, 'example.net.zone'), 'utf8'), /^ns1\.example\.net\.\t300\tIN\tA\t192\.0\.2\.1/m);
  t.match(await run('zone', 'export', '--all', '--directory', target), { code: 1, err: /exists already/ });
  t.match(await run('zone', 'export', '--all', '--directory', file), {
    code: 1,
    err: `zoneplane: ${file} cannot be used: it exists already (EEXIST)\nChoose another name.\n`,
  });
  t.match(await run('zone', 'export'), { code: 2, err: /name one zone, or say --all/ });
  const checked = await run('zone', 'check', '--json', file);
  t.match(JSON.parse(checked.out), [{ severity: 'info', code: 'sound', file, name: 'example.net', records: 2 }]);
});

const NOBODY = 65_534;

/** What a command that lets this error out says. */
function refusalOf(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return explainStoreFailure(error);
  }
  return undefined;
}

t.test('a data directory of somebody else', async (t) => {
  const foreign = join(directory, 'foreign');
  mkdirSync(foreign);
  chmodSync(directory, 0o755);
  chmodSync(foreign, 0o000);
  // Root may enter everywhere; what the command needs was loaded before.
  const isRoot = process.geteuid!() === 0;
  if (isRoot) process.seteuid!(NOBODY);
  const outcomes = [
    await run('zone', 'list', '--data-dir', foreign),
    await run('zone', 'create', 'example.com', '--init', '--data-dir', foreign),
    await run('zone', 'create', 'example.com', '--init', '--data-dir', join(foreign, 'below')),
  ];
  const refused = refusalOf(() => writeFileSync(join(foreign, 'file'), ''));
  if (isRoot) process.seteuid!(0);
  t.match(refused, {
    name: 'UserError',
    message: /foreign\/file cannot be used: this user may not do that \(EACCES\)$/,
  });
  chmodSync(foreign, 0o700);
  for (const outcome of outcomes)
    t.match(outcome, { code: 1, err: /^zoneplane: the data directory \S+ is not writable by this user\n/ });
});

t.test('directories that cannot be made', { timeout: 300_000 }, async (t) => {
  // Nobody, root included, makes anything below /proc.
  const place = '/proc/zoneplane/data';
  const made = join(directory, 'some', 'more', 'below');
  const exported = join(directory, 'exported.zone');
  writeFileSync(exported, ZONE);
  t.match(await run('zone', 'import', exported, '--replace', '--init'), { code: 0 });
  const cannot = {
    code: 1,
    out: '',
    err: /^zoneplane: \/proc\/zoneplane cannot be used: it does not exist \(ENOENT\)\n/,
  };
  const noData = {
    code: 1,
    err: /^zoneplane: the data directory \/proc\/zoneplane\/data cannot be made: .*\nName another/,
  };
  const sealed = join(directory, 'sealed');
  t.match(await run('zone', 'export', '--all', '--directory', place), cannot);
  t.match(await run('zone', 'export', '--all', '--directory', made), { code: 0 });
  t.ok(readdirSync(made).includes('example.net.zone'));
  const file = join(directory, 'copy.db');
  t.match(await run('backup', file), { code: 0 });
  t.match(await run('restore', file, '--data-dir', place), noData);
  t.match(await run('zone', 'create', 'example.org', '--init', '--data-dir', place), noData);
  t.match(await run('zone', 'create', 'example.org', '--init', '--data-dir', join(file, 'below')), {
    code: 1,
    err: /copy\.db\/below is not a directory\nName a directory/,
  });
  t.throws(() => openStore(place), { name: 'UserError', message: /ENOENT/ });
  t.match(await run('zone', 'create', 'example.org', '--init', '--data-dir', sealed), { code: 0 });
  t.equal(statSync(sealed).mode & 0o777, 0o700);
});

t.test('a configuration file that is read when it is there', async (t) => {
  const file = join(directory, 'zoneplane.yaml');
  const load = (flags: Record<string, string> = {}, defaultFile = file) =>
    loadSettings({ flags, environment: {}, defaultFile }).settings.adminPort;
  t.equal(load(), 8053, 'nothing is there yet');
  writeFileSync(file, 'admin-port: 9000\n');
  t.equal(load(), 9000);
  t.equal(load({ 'admin-port': '9001' }), 9001);
  const other = join(directory, 'other.yaml');
  writeFileSync(other, 'dns-port: 5300\n');
  t.equal(loadSettings({ flags: {}, environment: {}, file: other, defaultFile: file }).settings.adminPort, 8053);
});

t.test('completion and the manual page come from the commands', async (t) => {
  const { out } = await run('completion', 'bash');
  const script = join(directory, 'completion.bash');
  writeFileSync(script, out);
  const complete = (...words: readonly string[]): string[] => {
    const list = words.map((word) => `'${word}'`).join(' ');
    const text = `source ${script}; COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _zoneplane; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return spawnSync('bash', ['-c', text], { encoding: 'utf8', cwd: directory }).stdout.trim().split('\n');
  };
  t.same(complete('zoneplane', 'restor'), ['restore']);
  t.same(complete('zoneplane', 'record', 'up'), ['update']);
  t.same(complete('zoneplane', 'zone', 'import', '--dry'), ['--dry-run']);
  const zoneCommands = [
    'activate',
    'check',
    'create',
    'delete',
    'export',
    'import',
    'list',
    'show',
    'stats',
    'transfer',
  ];
  t.same(complete('zoneplane', 'zone', '').sort(), ['--help', ...zoneCommands], 'no file follows');
  const manual = (await run('completion', 'man')).out;
  t.match(manual, /^\.TH ZONEPLANE 1 2\d{3}-\d\d-\d\d /);
  t.match(manual, /^\.B zoneplane record update/m);
  t.match(await run('completion', 'csh'), { code: 2, err: /Allowed choices are bash, zsh, fish, man/ });
});

/** The environment of a shell in which the program is a command, on the data directory of these tests. */
function shell(): NodeJS.ProcessEnv {
  const programs = join(directory, 'programs');
  mkdirSync(programs, { recursive: true });
  writeFileSync(join(programs, 'zoneplane'), `#!/bin/sh\nexec ${process.execPath} ${PROGRAM} "$@"\n`, { mode: 0o755 });
  return { ...process.env, PATH: `${programs}:${process.env['PATH']}`, ZONEPLANE_DATA_DIR: DATA };
}

/** Zones to complete, in the data directory of these tests and in another one, which is returned. */
async function addCompleted(): Promise<string> {
  const elsewhere = join(directory, 'elsewhere');
  for (const name of ['complete-a.example', 'complete-b.example']) await run('zone', 'create', name, '--init');
  await run('zone', 'create', 'complete-c.example', '--init', '--data-dir', elsewhere);
  return elsewhere;
}

t.test('names of zones complete commands, as far as the user may read them', async (t) => {
  const elsewhere = await addCompleted();
  const script = join(directory, 'zones.bash');
  writeFileSync(script, (await run('completion', 'bash')).out);
  const complete = (...words: readonly string[]): string[] => {
    const list = words.map((word) => `'${word}'`).join(' ');
    const text = `source ${script}; COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _zoneplane; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', text], { encoding: 'utf8', cwd: directory, env: shell() });
    t.equal(stderr, '');
    return stdout.trim().split('\n');
  };
  const both = ['complete-a.example', 'complete-b.example'];
  t.same(complete('zoneplane', 'record', 'list', 'compl'), both);
  t.same(complete('zoneplane', 'record', 'list', '--json', 'Compl'), [''], 'shells compare as they are told');
  t.same(complete('zoneplane', 'zone', 'delete', 'complete-b'), ['complete-b.example']);
  t.same(complete('zoneplane', 'secondary', 'notify', 'complete-a.example', 'complete-b'), ['complete-b.example']);
  t.same(complete('zoneplane', 'record', 'list', '--data-dir', elsewhere, 'compl'), ['complete-c.example']);
  t.same(complete('zoneplane', 'record', 'list', '--data-dir', '=', elsewhere, 'compl'), ['complete-c.example']);
  t.same(complete('zoneplane', 'record', 'list', 'complete-a.example', 'complete-'), [''], 'one is enough');
  t.same(complete('zoneplane', 'zone', 'create', 'complete-'), [''], 'a new one');
  const silent = { code: 0, out: '', err: '' };
  t.match(await run('zone-names', 'none'), silent);
  t.match(await run('zone-names', '--data-dir', join(directory, 'missing')), silent);
  t.match(await run('zone-names', '--data-dir', '/proc/zoneplane'), silent);
  t.match(await run('zone-names', '--config', join(directory, 'missing.yaml')), silent);
  t.match(await run('zone-names', 'COMPLETE-A'), { code: 0, out: 'complete-a.example\n' });
  t.notMatch((await run('--help')).out, /zone-names/);
});

t.test('completion in zsh', { skip: unless('/usr/bin/zsh') }, async (t) => {
  const script = join(directory, '_zoneplane');
  writeFileSync(script, (await run('completion', 'zsh')).out);
  // What zsh has in functions of its own; each prints what it would offer.
  const stubs = `compdef() { print "for $2" }; _files() { print files }; _describe() { print -rl -- "\${(@P)argv[-2]}" "\${(@P)argv[-1]}" }`;
  const complete = (...words: readonly string[]): string[] => {
    const list = words.map((word) => `'${word}'`).join(' ');
    const text = `${stubs}; source ${script}; words=(${list}); CURRENT=${words.length}; PREFIX='${words.at(-1)}'; _zoneplane`;
    const { stdout, stderr } = spawnSync('zsh', ['-fc', text], { encoding: 'utf8', cwd: directory, env: shell() });
    t.equal(stderr, '');
    return stdout.trim().split('\n');
  };
  t.equal(complete('zoneplane', '')[0], 'for zoneplane');
  t.match(complete('zoneplane', 'record', 'up'), new Set([/^update:change/]));
  t.notOk(complete('zoneplane', 'record', 'up').includes('files'), 'a command follows');
  const options = complete('zoneplane', 'zone', 'import', '--dry');
  t.match(options, new Set([/^--dry-run:read and check/]));
  t.ok(complete('zoneplane', 'zone', 'import', '--dry-run', 'ex').includes('files'));
  const elsewhere = await addCompleted();
  const names = (...words: readonly string[]): string[] =>
    complete('zoneplane', ...words).filter((name) => /^complete-|^files$/.test(name));
  t.same(names('record', 'list', 'compl'), ['complete-a.example', 'complete-b.example']);
  t.same(names('record', 'list', '--data-dir', elsewhere, 'compl'), ['complete-c.example']);
  t.same(names('record', 'list', 'complete-a.example', 'compl'), ['files']);
});

t.test('completion in fish', { skip: unless('/usr/bin/fish') }, async (t) => {
  const script = join(directory, 'zoneplane.fish');
  writeFileSync(script, (await run('completion', 'fish')).out);
  const complete = (line: string): string[] =>
    spawnSync('fish', ['--no-config', '-c', `source ${script}; complete -C '${line}'`], {
      encoding: 'utf8',
      env: shell(),
    })
      .stdout.trim()
      .split('\n')
      .map((candidate) => candidate.split('\t')[0]!);
  t.same(complete('zoneplane restor'), ['restore']);
  t.same(complete('zoneplane record up'), ['update']);
  t.same(complete('zoneplane zone import --dry'), ['--dry-run']);
  await addCompleted();
  const zones = ['complete-a.example', 'complete-b.example'];
  t.same(complete('zoneplane record list compl'), zones);
  t.same(complete('zoneplane secondary notify complete-a.example compl'), zones);
  t.same(complete('zoneplane record list complete-a.example compl'), ['']);
});
