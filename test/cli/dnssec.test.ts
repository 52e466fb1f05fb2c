/** Signing by command: turning it on and off, rollovers, and keys that come from and go to other programs. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Writable } from 'node:stream';
import t, { type Test } from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { runCommandLine } from '../../src/cli/program.js';
import { lastServingSettings } from '../../src/control/zones/serving-settings.js';
import { Type } from '../../src/dns/codes.js';
import { servedOwners } from '../../src/serving/owner.js';
import { servingZone } from '../../src/serving/zone.js';
import { putParent } from '../../src/store/dnssec/parents.js';
import { putSignatures, signatureOctets } from '../../src/store/dnssec/signatures.js';
import { openStore } from '../../src/store/driver.js';
import { putMeta } from '../../src/store/meta.js';
import { findZone } from '../../src/store/zones/zones.js';
import { type Outcome, PROGRAM, runCommand } from '../support/commands.js';

const PROGRAMS = ['/usr/bin/dnssec-keygen', '/usr/bin/dnssec-signzone', '/usr/sbin/keymgr'];
const absent = PROGRAMS.filter(
  (program) => !existsSync(program) && !existsSync(program.replace('/usr/bin', '/usr/sbin')),
);
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : false;

const ZONE = `$ORIGIN example.test.
@ 600 SOA ns.example.test. host.example.test. 1 7200 3600 1209600 300
@ 600 NS ns.example.test.
ns 600 A 192.0.2.1
www 60 A 192.0.2.2
`;

/** Ctrl-C as soon as a command shows its progress. */
async function interrupted(...parameters: readonly string[]): Promise<Outcome> {
  let [out, err] = ['', ''];
  const write = (text: string): void => {
    if (err === '') process.emit('SIGINT');
    err += text;
  };
  const stderr = Object.assign(new Writable(), { isTTY: true, columns: 80, write });
  const code = await runCommandLine({
    arguments: parameters,
    program: PROGRAM,
    environment: {},
    stdout: { write: (text) => (out += text) },
    stderr: stderr as never,
  });
  return { code, out, err };
}

interface World {
  readonly directory: string;
  readonly run: (...parameters: readonly string[]) => Promise<Outcome>;
}

async function startWorld(t: Test): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cli-dnssec-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'example.test.zone'), ZONE);
  const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const run = (...parameters: readonly string[]): Promise<Outcome> => runCommand(environment, ...parameters);
  const imported = await run('zone', 'import', '--init', join(directory, 'example.test.zone'));
  t.equal(imported.code, 0, imported.err);
  return { directory, run };
}

t.test('on, status, keys, rollover, off', async (t) => {
  const { run } = await startWorld(t);
  t.match(await run('dnssec', 'status', 'example.test'), {
    code: 0,
    out: 'example.test: disabled. The zone is not signed.\n',
  });
  t.match(await run('dnssec', 'keys', 'example.test'), { code: 0, out: 'The zone has no keys.\n' });
  t.match(await run('dnssec', 'rollover', 'example.test', 'zsk'), { code: 1, err: /not enabled/ });
  t.match(await run('dnssec', 'resign', 'example.test'), {
    code: 1,
    err: /not served with signatures that are made here/,
  });
  const on = await run('dnssec', 'enable', 'example.test', '--algorithm', 'ed25519');
  t.match(on, {
    code: 0,
    out: /^example\.test: pending\. Add this DS record .*\n {2}example\.test\. 3600 IN DS \d+ 15 2 [0-9A-F]{64}\n {2}3 names are signed; .*NSEC\n {2}the servers of the parent have not been asked yet; .*\n$/s,
  });
  t.equal((await run('dnssec', 'enable', 'example.test')).out, on.out, 'again');
  const keys = JSON.parse((await run('dnssec', 'keys', 'example.test', '--json')).out);
  t.match(keys, [
    { role: 'ksk', algorithm: 'ED25519', state: 'published', waiting_for: /resolvers/, until: /^20/, ds: / IN DS / },
    { role: 'zsk', algorithm: 'ED25519', state: 'active', waiting_for: null, ds: null },
  ]);
  t.match(await run('dnssec', 'keys', 'example.test'), {
    out: /^role +tag +algorithm +state +since +waits until\nKSK.*\nDS records:\n {2}example\.test\. 3600 IN DS \d+ 15 2 [0-9A-F]{64}\n$/s,
  });
  t.match(await run('dnssec', 'rollover', 'example.test', 'zsk'), { code: 1, err: /under way/ });
  t.match(await run('dnssec', 'rollover', 'example.test', 'csk'), { code: 2, err: /zsk, ksk/ });
  t.match(await run('dnssec', 'resign', 'example.test'), {
    code: 0,
    out: /signatures of example\.test are being replaced/,
  });
  t.match(await run('dnssec', 'enable', 'example.test', '--denial', 'compact'), {
    code: 0,
    out: /absence is proven by compact denial \(RFC 9824\)/,
  });
  t.match(await run('dnssec', 'enable', 'example.test', '--parental-agent', 'on'), {
    code: 0,
    out: /takes the DS records of zones below it from their CDS records \(RFC 7344\)/,
  });
  t.match(await run('dnssec', 'enable', 'example.test', '--algorithm', 'rsa'), { code: 2, err: /ecdsap256sha256/ });
  t.match(await run('dnssec', 'enable', 'exampel.test'), { code: 1, err: /did you mean example\.test\?/ });
  t.match(await run('dnssec', 'disable', 'example.test'), {
    code: 0,
    out: /^example\.test: disabled\. The parent has no/,
  });
  t.match(await run('dnssec', 'disable', 'example.test', '--remove'), { code: 0, out: /The zone is not signed/ });
  t.match(JSON.parse((await run('dnssec', 'status', 'example.test', '--json')).out), {
    status: 'disabled',
    ds: null,
    signed_names: 0,
  });
});

t.test('doctor names zones that resolvers reject, and signatures that end soon', async (t) => {
  const { directory, run } = await startWorld(t);
  const findings = async (): Promise<unknown[]> => {
    const { out } = await run('doctor', '--json');
    return (JSON.parse(out) as { what: string }[]).filter(({ what }) => what === 'dnssec');
  };
  t.same(await findings(), []);
  await run('dnssec', 'enable', 'example.test');
  t.match(await findings(), [{ verdict: 'ok', text: /^1 zone is signed/ }]);
  const store = openStore(join(directory, 'data'));
  const row = {
    zone: 1,
    servers: '[]',
    checked_at: 1,
    agreed: `["1 13 2 ${'ab'.repeat(32)}"]`,
    since: 1,
    ttl: 60,
    remove_at: null,
  };
  await store.write(() => putParent(store, row));
  t.match(await findings(), [
    { verdict: 'fail', text: /^example\.test: the DS records .* reject all/, remedy: /dnssec status/ },
  ]);
  await store.write(() => {
    putParent(store, { ...row, agreed: null });
    const octets = signatureOctets(store, 1, new Uint8Array(0))!;
    putSignatures(store, 1, new Uint8Array(0), Math.floor(Date.now() / 1000) + 3600, octets);
  });
  t.match(await findings(), [{ verdict: 'warn', text: /^example\.test: the first signature ends at 20/ }]);
  store.close();
});

t.test('a command signs what the server serves, whatever its own settings are', async (t) => {
  const { directory, run } = await startWorld(t);
  const store = openStore(join(directory, 'data'));
  const served = { nameServers: ['ns.served.test'], nameServerAddresses: [], edgeAddresses: ['c6336407'] };
  await store.write(() => putMeta(store, 'serving_settings', JSON.stringify(served)));
  t.match(await run('record', 'add', 'example.test', 'shop', 'A', '192.0.2.9', '--proxied'), { code: 0 });
  t.match(await run('dnssec', 'enable', 'example.test'), { code: 0 });
  const zone = servingZone(store, findZone(store, 1)!, lastServingSettings(store)!);
  const rrsets = store.snapshot(() => [...servedOwners(store, zone)].flatMap((owner) => owner.rrsets));
  t.ok(rrsets.some(({ type, rdatas }) => type === Type.a && toHex(rdatas[0]!) === 'c6336407'));
  t.strictSame(
    rrsets.filter(({ signatures }) => signatures?.length === 0).map(({ type }) => type),
    [],
    'nothing misses its signature',
  );
  store.close();
});

t.test('a command without the master key, or with another one, says what to do', async (t) => {
  const { directory, run } = await startWorld(t);
  t.match(await run('dnssec', 'enable', 'example.test'), { code: 0 });
  const add = () => run('record', 'add', 'example.test', 'new', 'A', '192.0.2.9');
  const key = join(directory, 'data', 'master.key');
  renameSync(key, `${key}.away`);
  t.match(await add(), {
    code: 1,
    err: /example\.test is signed.*the master key \S+master\.key is missing.*Restore it.*ZONEPLANE_MASTER_KEY_FILE/s,
  });
  writeFileSync(key, `${'11'.repeat(32)}\n`, { mode: 0o600 });
  t.match(await add(), { code: 1, err: /is not the one that sealed.*Restore the file that belongs to this database/s });
  renameSync(`${key}.away`, key);
  t.match(await add(), { code: 0 });
});

t.test('keys are exported, and another installation signs with them', async (t) => {
  const { directory, run } = await startWorld(t);
  const keys = join(directory, 'keys');
  t.match(await run('dnssec', 'export', 'example.test', keys), { code: 1, err: /not enabled/ });
  const on = await run('dnssec', 'enable', 'example.test');
  const exported = await run('dnssec', 'export', 'example.test', keys);
  t.match(exported, { code: 0, out: /Kexample\.test\.\+013\+\d{5}\.private\n.*\.private\n$/s });
  for (const name of readdirSync(keys)) t.equal(statSync(join(keys, name)).mode & 0o777, 0o600, name);
  t.match(await run('dnssec', 'export', 'example.test', keys), { code: 1, err: /exists already/ });
  // A file in the way of the last one: none is written.
  const blocked = join(directory, 'blocked');
  mkdirSync(blocked);
  const last = basename(exported.out.trim().split('\n').at(-1)!);
  writeFileSync(join(blocked, last), '');
  t.match(await run('dnssec', 'export', 'example.test', blocked), { code: 1, err: /exists already/ });
  t.strictSame(readdirSync(blocked), [last], 'nothing half done');
  const json = await run('dnssec', 'export', 'example.test', join(directory, 'as-json'), '--json');
  t.equal((JSON.parse(json.out) as { files: string[] }).files.length, 2);
  const other = await startWorld(t);
  const files = exported.out.trim().split('\n');
  t.match(await other.run('dnssec', 'import', 'example.test', files[1]!), { code: 1, err: /flags 257/ });
  const [, ds] = on.out.split('\n');
  t.match(await other.run('dnssec', 'import', 'example.test', ...files), {
    code: 0,
    out: `example.test: pending, signed with 2 imported keys.\n${ds}\n`,
  });
  t.match(await other.run('dnssec', 'import', 'example.test', ...files), { code: 1, err: /signed already/ });
  t.match(await run('dnssec', 'import', 'example.test', join(directory, 'absent.private')), { code: 1, err: /ENOENT/ });
  writeFileSync(join(keys, 'bad.key'), readFileSync(files[0]!.replace('.private', '.key')));
  writeFileSync(join(keys, 'bad.private'), readFileSync(files[1]!));
  t.match(await other.run('dnssec', 'import', 'example.test', join(keys, 'bad.private')), {
    code: 1,
    err: /bad\.private: the private key does not belong/,
  });
});

t.test('keys of BIND and Knot; BIND signs with ours', { skip }, async (t) => {
  const { directory, run } = await startWorld(t);
  const shell = (program: string, ...parameters: readonly string[]): string =>
    execFileSync(program, parameters, { cwd: directory, encoding: 'utf8', stdio: 'pipe' });
  const import_ = async (files: readonly string[], algorithm: number): Promise<void> => {
    const other = await startWorld(t);
    const imported = await other.run('dnssec', 'import', 'example.test', ...files);
    t.match(imported, { code: 0, out: new RegExp(`IN DS \\d+ ${algorithm} 2`) }, `algorithm ${algorithm}`);
    t.match(await other.run('dnssec', 'disable', 'example.test'), { out: /pending-disabled/ }, 'it has a DS record');
    t.match(await other.run('dnssec', 'disable', 'example.test', '--ds-removed'), { out: /^example\.test: disabled/ });
  };
  for (const [algorithm, number] of [
    ['RSASHA256', 8],
    ['ECDSAP384SHA384', 14],
    ['ED25519', 15],
  ] as const) {
    const make = (...more: readonly string[]): string =>
      shell(
        'dnssec-keygen',
        '-q',
        '-a',
        algorithm,
        ...(number === 8 ? ['-b', '2048'] : []),
        ...more,
        'example.test',
      ).trim();
    const files = [make('-f', 'KSK'), make()].map((name) => join(directory, `${name}.private`));
    await import_(files, number);
  }
  const csk = shell('dnssec-keygen', '-q', '-a', '13', '-f', 'KSK', 'example.test').trim();
  await import_([join(directory, `${csk}.private`)], 13);
  const knot = join(directory, 'knot');
  shell('keymgr', '-D', knot, 'example.test', 'generate', 'algorithm=ECDSAP256SHA256', 'ksk=yes', 'zsk=yes');
  const [pemFile] = readdirSync(join(knot, 'keys')).filter((name) => name.endsWith('.pem'));
  const dnskey = shell('keymgr', '-D', knot, 'example.test', 'dnskey').trim();
  writeFileSync(join(directory, 'knot.pem'), readFileSync(join(knot, 'keys', pemFile!)));
  writeFileSync(join(directory, 'knot.key'), `${dnskey}\n`);
  await import_([join(directory, 'knot.pem')], 13);

  await run('dnssec', 'enable', 'example.test');
  await run('dnssec', 'export', 'example.test', join(directory, 'ours'));
  const ours = readdirSync(join(directory, 'ours')).filter((name) => name.endsWith('.key'));
  const included = ours.map((name) => `$INCLUDE ${join(directory, 'ours', name)}\n`).join('');
  writeFileSync(join(directory, 'to-sign'), ZONE + included);
  const names = ours.map((name) => join(directory, 'ours', name.slice(0, -4)));
  shell('dnssec-signzone', '-o', 'example.test', '-f', join(directory, 'signed'), join(directory, 'to-sign'), ...names);
  t.match(await run('dnssec', 'verify', join(directory, 'signed')), { code: 0, out: /signed correctly/ });
  t.match(await interrupted('dnssec', 'verify', join(directory, 'signed')), {
    code: 130,
    out: '',
    err: /zoneplane: interrupted, nothing has changed\n$/,
  });
});
