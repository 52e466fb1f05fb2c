/** PowerDNS, as its own tools fill it: records, metadata, keys of both kinds; and zone files with its bind backend. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readConfiguration } from '../../src/foreign/read.js';
import { wantedTransfers } from '../../src/foreign/secondaries.js';
import { runCommand } from '../support/commands.js';
import { createPowerDns, withoutPowerDns } from '../support/power-dns.js';

const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-power-dns-'));
t.teardown(() => rmSync(directory, { recursive: true }));
const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };

const zoneText = (zone: string): string =>
  `$ORIGIN ${zone}.\n$TTL 300\n@ 3600 SOA ns1.${zone}. h.${zone}. 2024010101 3600 600 86400 60\n@ NS ns1\n@ NS ns2.example.net.\nns1 A 192.0.2.1\n` +
  `www 60 A 192.0.2.2\nalias CNAME www\n@ MX 10 mail\nmail AAAA 2001:db8::1\nt TXT "a; b" "c"\n*.w A 192.0.2.9\n_s._tcp SRV 0 5 5060 www\n` +
  `sub NS ns.sub\nns.sub A 192.0.2.3\ndeep.er.ent TXT "x"\n_443._tcp TLSA 3 1 1 ${'ab'.repeat(32)}\n`;

/** Records of the zone of that name as lines that can be compared, without those of signatures. */
async function exported(zone: string): Promise<string[]> {
  const { out } = await runCommand(environment, 'zone', 'export', zone);
  const lines = out.split('\n').filter((line) => line !== '' && !line.startsWith(';') && !line.startsWith('$'));
  return lines.map((line) => line.replace(/\s+/g, ' ').trim()).sort();
}

t.test('the database of gsqlite3', { skip: withoutPowerDns(), timeout: 300_000 }, async (t) => {
  const pdns = await createPowerDns(
    directory,
    'also-notify=192.0.2.7:5300, [2001:db8::7]:5301\ndnsupdate=yes\nwebserver=yes\nserver-id=ns1\n',
  );
  const config = join(directory, 'pdns', 'pdns.conf');
  for (const zone of ['plain.example', 'signed.example', 'own.example']) {
    writeFileSync(join(directory, zone), zoneText(zone));
    pdns.util('load-zone', zone, join(directory, zone));
    pdns.util('set-kind', zone, zone === 'own.example' ? 'native' : 'master');
  }
  pdns.util('import-tsig-key', 'k.test', 'hmac-sha256', SECRET);
  pdns.util('activate-tsig-key', 'plain.example', 'k.test', 'primary');
  pdns.util('set-meta', 'signed.example', 'TSIG-ALLOW-DNSUPDATE', 'k.test');
  pdns.util('set-meta', 'signed.example', 'ALLOW-AXFR-FROM', 'AUTO-NS', '192.0.2.7');
  pdns.util('secure-zone', 'signed.example');
  const ds = /DS = (signed\.example\. IN DS \S+ 13 2 \S+)/.exec(pdns.util('show-zone', 'signed.example'))![1]!;
  pdns.util('create-secondary-zone', 'other.example', '192.0.2.9', '[2001:db8::9]:5353');
  pdns.util('activate-tsig-key', 'other.example', 'k.test', 'secondary');
  pdns.util('add-record', 'own.example', 'apex', 'ALIAS', 'www.example.org.');

  const { zones, notes } = readConfiguration(config, {});
  const zone = (name: string) => zones.find((each) => each.name === name)!;
  t.match(wantedTransfers(zone('plain.example')).peers, [
    { address: '192.0.2.7', port: 5300, key: 'k.test' },
    { address: '2001:db8::7', port: 5301, key: 'k.test' },
  ]);
  t.match(zone('other.example').primaries, [
    { address: '192.0.2.9', port: undefined, key: 'k.test' },
    { address: '2001:db8::9', port: 5353, key: 'k.test' },
  ]);
  t.match(zone('own.example'), { notified: [], refusal: { text: /apex\.own\.example ALIAS: only PowerDNS/ } });
  t.match(zone('signed.example').updates, [{ key: 'k.test' }]);
  t.ok(
    notes.some(
      ({ text }) => text === 'zone signed.example: ALLOW-AXFR-FROM AUTO-NS: only addresses and networks may transfer',
    ),
  );
  t.match(notes.filter(({ kind }) => kind === 'setting').length, 3);

  const first = await runCommand(environment, 'import-config', config, '--init', '--yes');
  t.match(first, { code: 1, out: /zone signed\.example, \d+ records, serial 2024010101, signed with its keys/ });
  t.match(first.out, /zone own\.example: apex\.own\.example ALIAS/);
  const taken = await exported('plain.example');
  t.match(
    await runCommand(
      environment,
      'zone',
      'import',
      join(directory, 'plain.example'),
      '--origin',
      'plain.example',
      '--replace',
    ),
    { code: 0 },
  );
  t.strictSame(taken, await exported('plain.example'), 'the same as the file');
  const status = await runCommand(environment, 'dnssec', 'status', 'signed.example', '--json');
  const words = ds.split(' ');
  t.match(
    status.out.toLowerCase(),
    `${words.at(-4)} ${words.at(-3)} ${words.at(-2)} ${words.at(-1)}`.toLowerCase(),
    'its DS record stays',
  );
  const second = await runCommand(environment, 'import-config', config, '--yes', '--json');
  const { steps } = JSON.parse(second.out) as { steps: { subject: string; state: string }[] };
  t.strictSame(
    steps.filter(({ state }) => state !== 'already').map(({ subject }) => subject),
    ['own.example'],
  );
});

t.test('zone files, and a backend that is not a file', { skip: withoutPowerDns() }, async (t) => {
  const own = join(directory, 'bind');
  mkdirSync(join(own, 'pdns.d'), { recursive: true });
  writeFileSync(join(own, 'a'), zoneText('a.example'));
  writeFileSync(
    join(own, 'named.conf'),
    `options { directory "${own}"; };\nzone "a.example" { type master; file "a"; };\nzone b.example { type slave; masters { 192.0.2.9; }; file "b"; };\n`,
  );
  const config = join(own, 'pdns.conf');
  writeFileSync(
    config,
    `# ours\nlaunch=\ninclude-dir=${own}/pdns.d\nallow-axfr-ips=192.0.2.0/24, \\\n  192.0.2.77 # hosts\n`,
  );
  writeFileSync(join(own, 'pdns.d', 'bind.conf'), `launch+=bind\nbind-config=${own}/named.conf\n`);
  writeFileSync(join(own, 'pdns.d', 'other'), 'not read');
  const { zones } = readConfiguration(config, {});
  t.match(zones, [
    { name: 'a.example', role: 'primary', source: { file: join(own, 'a') } },
    { name: 'b.example', role: 'secondary', primaries: [{ address: '192.0.2.9' }] },
  ]);
  t.match(wantedTransfers(zones[0]!), { peers: [{ address: '192.0.2.77' }], networks: [{ text: '192.0.2.0/24' }] });
  writeFileSync(config, 'launch=gmysql\n');
  t.throws(() => readConfiguration(config, {}), {
    message: /pdns\.conf:1: zones of the backend gmysql/,
    remedy: /zone transfer --list/,
  });
  writeFileSync(config, 'launch=gsqlite3\n\ngsqlite3-database=/none\n');
  t.throws(() => readConfiguration(config, {}), { message: /pdns\.conf:3: the database \/none cannot be read/ });
  writeFileSync(config, 'launch\n');
  t.throws(() => readConfiguration(config, {}), { message: /pdns\.conf:1: 'launch' is not of the form/ });
  t.match(readConfiguration('/etc/powerdns/pdns.conf', {}), { zones: [] }, 'the file that Debian installs');
});
