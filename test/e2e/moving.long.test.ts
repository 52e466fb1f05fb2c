/** Zones move here from BIND and PowerDNS by one command, and what is said when that fails. */
import { createHash, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { TLS_CERTIFICATE, TLS_KEY } from '../server/tls-credentials.js';
import { runCommand } from '../support/commands.js';
import { freePort } from '../support/free-ports.js';
import { createPowerDns, withoutPowerDns } from '../support/power-dns.js';
import { endChild, launch, waitForAnswers } from '../support/reference-servers.js';
import { address, soa, startScriptedPrimary } from '../support/scripted-primary.js';
import { createSecondary } from '../support/secondaries.js';

const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
const missing = ['/usr/sbin/named'].filter((file) => !existsSync(file));
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

interface World {
  readonly directory: string;
  readonly run: (...args: string[]) => ReturnType<typeof runCommand>;
}

function startWorld(t: Test): World {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-moving-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data') };
  return { directory, run: (...args) => runCommand(environment, ...args) };
}

const ZONE_TEXT = (zone: string): string =>
  `$ORIGIN ${zone}.\n$TTL 300\n@ 3600 SOA ns1.${zone}. h.${zone}. 2024010101 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\n` +
  `www 60 A 192.0.2.2\nalias CNAME www\n@ MX 10 mail\nmail AAAA 2001:db8::1\nt TXT "a; b" "c"\n*.w A 192.0.2.9\n` +
  `_s._tcp SRV 0 5 5060 www\nsub NS ns.sub\nns.sub A 192.0.2.3\n`;

/** The records of a zone as lines that compare. */
async function exported({ run }: World, zone: string): Promise<string[]> {
  const { out } = await run('zone', 'export', zone);
  const lines = out.split('\n').filter((line) => line !== '' && !line.startsWith(';') && !line.startsWith('$'));
  return lines.map((line) => line.replace(/\s+/g, ' ').trim()).sort();
}

t.test('from BIND with a key in its own file, over TCP', { skip, timeout: 300_000 }, async (t) => {
  const world = startWorld(t);
  const bind = createSecondary('bind', world.directory, await freePort());
  t.teardown(() => bind.stop());
  const zones = ['one.test', 'two.test'];
  for (const zone of zones) writeFileSync(join(world.directory, 'bind', zone), ZONE_TEXT(zone));
  const key = `key "k.test" {\n\talgorithm hmac-sha512;\n\tsecret "${SECRET}";\n};\n`;
  const file = join(world.directory, 'transfer.key');
  writeFileSync(file, key);
  writeFileSync(join(world.directory, 'bind', 'signed.test'), ZONE_TEXT('signed.test'));
  await bind.start(
    key +
      'zone signed.test { type primary; file "signed.test"; dnssec-policy default; inline-signing yes; allow-transfer { key k.test; }; };\n' +
      zones.map((zone) => `zone ${zone} { type primary; file "${zone}"; allow-transfer { key k.test; }; };\n`).join(''),
  );
  const from = `127.0.0.1#${bind.port}`;
  const list = join(world.directory, 'names');
  writeFileSync(list, `# ours\n${zones.join('\n')}\n`);
  const dry = await world.run(
    'zone',
    'transfer',
    'one.test',
    '--from',
    from,
    '--tsig-file',
    file,
    '--init',
    '--dry-run',
  );
  t.equal(dry.code, 1, 'there is no data directory yet, and a dry run makes none');
  const moved = await world.run('zone', 'transfer', '--list', list, '--from', from, '--tsig-file', file, '--init');
  t.match(moved, { code: 0, out: /took one\.test from .*: \d+ records, serial 2024010101/ }, moved.err);
  writeFileSync(join(world.directory, 'one.test.zone'), ZONE_TEXT('one.test'));
  const ours = await exported(world, 'one.test');
  t.equal((await world.run('zone', 'import', join(world.directory, 'one.test.zone'), '--replace')).code, 0);
  t.same(ours, await exported(world, 'one.test'), 'the same as the import of its file');

  const again = await world.run('zone', 'transfer', 'one.test', '--from', from, '--tsig-file', file);
  t.match(again, { code: 1, err: /already/ });
  const without = await world.run('zone', 'transfer', 'one.test', '--from', from, '--replace');
  t.match(without, { code: 1, err: /one\.test: not transferred: .*REFUSED/ }, 'without the key');
  const wrong = `hmac-sha512:k.test:${Buffer.alloc(32).toString('base64')}`;
  const other = await world.run('zone', 'transfer', 'one.test', '--from', from, '--tsig', wrong, '--replace');
  t.match(other, { code: 1, err: /another secret for the key/ });
  const right = `hmac-sha512:k.test:${SECRET}`;
  const replaced = await world.run(
    'zone',
    'transfer',
    'one.test',
    '--from',
    from,
    '--tsig',
    right,
    '--replace',
    '--json',
  );
  t.match(JSON.parse(replaced.out), [{ name: 'one.test', imported: true, serial: 2024010101, outside: 0 }]);
  const mixed = ['one.test', 'signed.test', '--from', from, '--tsig-file', file, '--presigned', '--replace'];
  let both = await world.run('zone', 'transfer', ...mixed);
  // BIND signs after its start.
  for (let attempt = 0; both.code !== 0 && attempt < 200; attempt++) {
    await sleep(250);
    both = await world.run('zone', 'transfer', ...mixed);
  }
  t.match(both, { code: 0, out: /took one\.test [\s\S]*took signed\.test / }, `one plain, one signed: ${both.err}`);
  const keys = [...mixed.slice(0, -2), '--keys', join(world.directory, 'bind'), '--replace'];
  t.match(
    await world.run('zone', 'transfer', ...keys),
    { code: 0, out: /took signed\.test / },
    'with the keys of BIND',
  );
  const [, keyTag] = /^Ksigned\.test\.\+013\+0*(\d+)\.private$/m.exec(readdirSync(keys.at(-2)!).join('\n'))!;
  t.match(await world.run('dnssec', 'keys', 'signed.test'), { code: 0, out: new RegExp(`\\b${keyTag}\\b`) });
  const none = await world.run('zone', 'transfer', 'signed.test', ...keys.slice(2, -2), world.directory, '--replace');
  t.match(none, { code: 1, err: /has no private keys/ });
  const refused = await world.run('zone', 'transfer', 'signed.test', '--from', from, '--tsig-file', file, '--replace');
  t.match(refused, { code: 1, err: /^error: signed\.test: the zone is signed/m });
  t.match(await world.run('zone', 'transfer', 'x.test', '--from', '127.0.0.1#99999'), { code: 2 });
  t.match(await world.run('zone', 'transfer', 'x.test', '--from', '127.0.0.1#1'), { code: 1, err: /ECONNREFUSED/ });
});

t.test('from PowerDNS with its database', { skip: withoutPowerDns(), timeout: 300_000 }, async (t) => {
  const world = startWorld(t);
  const pdns = await createPowerDns(world.directory);
  t.teardown(() => pdns.stop());
  const zone = 'power.test';
  const file = join(world.directory, `${zone}.zone`);
  writeFileSync(file, ZONE_TEXT(zone));
  pdns.util('load-zone', zone, file);
  await pdns.start();
  const moved = await world.run('zone', 'transfer', zone, '--from', `127.0.0.1#${pdns.port}`, '--init');
  t.match(moved, { code: 0, out: /took power\.test/ }, moved.err);
  const ours = await exported(world, zone);
  t.equal((await world.run('zone', 'import', file, '--replace')).code, 0);
  t.same(ours, await exported(world, zone), 'the same as the import of its file');
});

t.test('what is left out is said; half a zone is nothing; a secondary zone is made by a command', async (t) => {
  const world = startWorld(t);
  const primary = await startScriptedPrimary('odd.test');
  t.teardown(() => primary.close());
  const from = `127.0.0.1#${primary.port}`;
  const ns = ['odd.test.', 300, 2, new Uint8Array([2, 110, 115, 3, 111, 100, 100, 4, 116, 101, 115, 116, 0])] as const;
  primary.script.transfer = (_, say) => {
    say.message([soa('odd.test', 7), ns, address('ns.odd.test.', 1)]);
    say.socket.end();
  };
  const half = await world.run('zone', 'transfer', 'odd.test', '--from', from, '--init');
  t.match(half, { code: 1, err: /closed the connection before the end/ });
  t.match(await world.run('zone', 'list', '--json'), { out: /^\[\]/ });
  primary.script.transfer = (_, say) =>
    say.message([soa('odd.test', 7), ns, address('ns.odd.test.', 1), address('x.other.test.', 1), soa('odd.test', 7)]);
  const odd = await world.run('zone', 'transfer', 'odd.test', '--from', from);
  t.match(odd, { code: 0, err: /1 records outside the zone/, out: /took odd\.test/ });

  const made = await world.run('zone', 'create', 'mine.test', '--primary', from, '--tsig', `k.test:${SECRET}`);
  t.match(made, { code: 0, out: /transferred from 127\.0\.0\.1#/ }, made.err);
  const status = await world.run('secondary', 'status');
  t.match(status, { code: 1, out: /mine\.test\s+waiting/ });
  t.match(await world.run('doctor', '--json'), { out: /mine\.test was never transferred/ });
  t.match(await world.run('zone', 'create', 'other.test', '--primary', 'nonsense'), { code: 2 });
  t.match(await world.run('zone', 'create', 'other.test', '--primary', from, '--tsig', 'missing'), { code: 1 });
  t.notMatch(await world.run('zone', 'list'), { out: /other\.test/ });
});

t.test(
  'from BIND over TLS: the name and the key of its certificate are checked',
  { skip, timeout: 300_000 },
  async (t) => {
    const world = startWorld(t);
    const own = join(world.directory, 'bind');
    mkdirSync(own);
    const [port, tlsPort] = [await freePort(), await freePort()];
    writeFileSync(join(own, 'cert.pem'), TLS_CERTIFICATE);
    writeFileSync(join(own, 'key.pem'), TLS_KEY);
    writeFileSync(join(own, 'zone'), ZONE_TEXT('tls.test'));
    writeFileSync(
      join(own, 'config'),
      `tls t { cert-file "${own}/cert.pem"; key-file "${own}/key.pem"; protocols { TLSv1.3; }; };\n` +
        `options { directory "${own}"; listen-on port ${port} { 127.0.0.1; }; listen-on port ${tlsPort} tls t { 127.0.0.1; }; listen-on-v6 { none; };\n` +
        `  recursion no; pid-file none; session-keyfile none; empty-zones-enable no; };\ncontrols { };\n` +
        `zone tls.test { type primary; file "zone"; allow-transfer port ${tlsPort} transport tls { any; }; };\n`,
    );
    const log = join(own, 'log');
    const child = launch('bind', ['-g', '-n', '1', '-c', join(own, 'config')], log);
    t.teardown(() => endChild(child));
    await waitForAnswers('bind', port, log);
    const certificate = new X509Certificate(TLS_CERTIFICATE);
    const name = /DNS:([^,\s]+)/.exec(certificate.subjectAltName ?? '')![1]!;
    const spki = certificate.publicKey.export({ type: 'spki', format: 'der' });
    const pin = createHash('sha256').update(spki).digest('hex');
    const move = (to: number, ...more: string[]) =>
      world.run('zone', 'transfer', 'tls.test', '--from', `127.0.0.1#${to}`, '--init', ...more);
    t.match(await move(port), { code: 1, err: /REFUSED/ }, 'not over TCP');
    t.match(await move(tlsPort, '--tls-pin', '0'.repeat(64)), { code: 1, err: /certificate has another key/ });
    t.match(await move(tlsPort, '--tls-name', name), { code: 1, err: /not trusted/ });
    const bundle = ['--ca-bundle', join(own, 'cert.pem')];
    t.match(await move(tlsPort, '--tls-name', 'other.example', ...bundle), { code: 1, err: /not for other\.example/ });
    t.match(await move(tlsPort, '--tls-pin', pin), { code: 0, out: /took tls\.test/ });
    t.match(await move(tlsPort, '--tls-name', name, '--replace', ...bundle), { code: 0, out: /took tls\.test/ });
  },
);
