/** The vault as its operator meets it: the first start, replacing the key beside a running server, a start with a wrong key. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { systemRandom } from '../../src/base/random.js';
import { type Outcome, runCommand, spawnCommand } from '../support/commands.js';
import { startProgram, stopProgram } from '../support/program.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cli-vault-'));
const DATA = join(directory, 'data');
const FILE = join(DATA, 'master.key');
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

/** A command, in this process. */
const run = (environment: Record<string, string>, ...args: readonly string[]): Promise<Outcome> =>
  runCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '', ...environment }, ...args);

/** Environments of all processes below one. */
function environmentsBelow(pid: number): { readonly command: string; readonly environment: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        if (!new RegExp(`^PPid:\t${pid}$`, 'm').test(readFileSync(`/proc/${name}/status`, 'utf8'))) return [];
        const [command, environment] = ['cmdline', 'environ'].map((file) =>
          readFileSync(`/proc/${name}/${file}`, 'utf8'),
        );
        return [{ command: command!.replaceAll('\0', ' '), environment: environment! }];
      } catch {
        return [];
      }
    });
}

t.test('without a database and before the first start', async (t) => {
  t.match(await run({}, 'vault', 'status'), {
    code: 1,
    err: /there is no database in .*\nStart `zoneplane serve` once/,
  });
  t.match(await run({}, 'vault', 'rotate'), { code: 1, err: /there is no database/ });
  await run({}, 'bucket', 'create', 'things');
  t.match(await run({}, 'vault', 'status'), {
    code: 0,
    out: /no master key yet\. The next start of `zoneplane serve`/,
  });
  t.match(await run({}, 'vault', 'rotate'), {
    code: 1,
    err: /no master key yet\nThe first start of `zoneplane serve`/,
  });
});

t.test('the first start makes the key, and it is replaced while the server runs', { timeout: 300_000 }, async (t) => {
  const server = await startProgram({ directory });
  t.teardown(() => stopProgram(server));
  let log = '';
  for (const stream of [server.child.stdout!, server.child.stderr!])
    stream.on('data', (piece: Buffer) => (log += piece));
  t.equal(statSync(FILE).mode & 0o777, 0o600);
  const first = readFileSync(FILE, 'utf8').trim();
  const status = JSON.parse((await run({}, 'vault', 'status', '--json')).out) as { key: string; place: string };
  t.match(status, { key: /^[0-9a-f]{16}$/, place: FILE, oldKeys: 0 });

  const rotated = await run({}, 'vault', 'rotate');
  t.match(rotated, {
    code: 0,
    out: /^the master key is now [0-9a-f]{16}; \d+ values? (was|were) sealed anew\n$/,
    err: '',
  });
  const second = readFileSync(FILE, 'utf8').trim();
  t.not(second, first);
  const shown = await run({}, 'vault', 'status');
  t.match(shown, { code: 0, out: /^master key {3}[0-9a-f]{16}\nkept in {6}.*master\.key\n/ });
  t.match((await run({}, 'doctor')).out, /^ok {4}master key +.*master\.key opens the vault$/m);
  t.equal((await fetch(`${server.api}/readyz`)).status, 200);

  t.equal(await stopProgram(server), 0);
  const again = await startProgram({ directory });
  t.equal(await stopProgram(again), 0, 'starts with the new key');
  for (const text of [log, rotated.out, shown.out]) {
    t.notMatch(text, first);
    t.notMatch(text, second);
  }
});

t.test('a start with a wrong key says what to do', { timeout: 300_000 }, async (t) => {
  const right = readFileSync(FILE);
  writeFileSync(FILE, `${'ab'.repeat(32)}\n`);
  const server = await startProgram({ directory, said: 'starting it again' });
  t.equal(await stopProgram(server), 0, 'a server without its admin process ends like any other');
  t.match(server.printed(), /Restore the file that belongs to this database.*master\.key is not the one /);
  t.notMatch(server.printed(), /abababab/);
  t.match(await spawnCommand({ ZONEPLANE_DATA_DIR: DATA }, ['serve', '--role', 'admin']), {
    code: 1,
    err: /master\.key is not the one .*\nRestore the file/,
  });
  t.match(await run({}, 'vault', 'status'), { code: 1, err: /is not the one/ });
  t.match(await run({}, 'doctor'), { code: 1, out: /^fail {2}master key +.*is not the one/m });
  writeFileSync(FILE, right);
});

t.test('a key by setting: the DNS process never sees it', { timeout: 300_000 }, async (t) => {
  const [one, two] = [toHex(systemRandom.bytes(32)), Buffer.from(systemRandom.bytes(32)).toString('base64')];
  t.match(await run({ ZONEPLANE_MASTER_KEY: 'too short' }, 'vault', 'status'), {
    code: 2,
    err: /ZONEPLANE_MASTER_KEY: expected 32 octets, as 64 hexadecimal digits or in base 64, found another text/,
  });
  const options = { directory, data: 'by-setting' };
  const place = { ZONEPLANE_DATA_DIR: join(directory, 'by-setting') };
  const server = await startProgram({ ...options, environment: { ZONEPLANE_MASTER_KEY: one } });
  t.teardown(() => stopProgram(server));
  t.notOk(readdirSync(place.ZONEPLANE_DATA_DIR).includes('master.key'));
  if (process.platform === 'linux') {
    const children = environmentsBelow(server.child.pid!);
    t.equal(children.length, 2);
    const dns = children.find(({ command }) => command.includes('--role dns'))!;
    t.notMatch(dns.environment, /MASTER_KEY/);
    t.notMatch(dns.environment, one);
  }
  const both = `${two},${one}`;
  t.match(await run({ ...place, ZONEPLANE_MASTER_KEY: one }, 'vault', 'rotate'), {
    code: 1,
    err: /so only you can replace it/,
  });
  t.match(await run({ ...place, ZONEPLANE_MASTER_KEY: both }, 'vault', 'rotate'), {
    code: 1,
    err: /has not been started/,
  });
  await stopProgram(server);
  const again = await startProgram({ ...options, environment: { ZONEPLANE_MASTER_KEY: both } });
  t.teardown(() => stopProgram(again));
  t.match(await run({ ...place, ZONEPLANE_MASTER_KEY: both }, 'vault', 'rotate'), {
    code: 0,
    out: /The old key can be removed from ZONEPLANE_MASTER_KEY\.$/m,
  });
  t.match(await run({ ...place, ZONEPLANE_MASTER_KEY: two }, 'vault', 'status'), {
    code: 0,
    out: /ZONEPLANE_MASTER_KEY/,
  });
});
