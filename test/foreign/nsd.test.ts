/** nsd.conf: what nsd-checkconf takes is read, and becomes zones, keys and peers. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readConfiguration } from '../../src/foreign/read.js';
import { wantedTransfers } from '../../src/foreign/secondaries.js';
import { runCommand } from '../support/commands.js';

const CHECK = '/usr/sbin/nsd-checkconf';
const SECRET = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-nsd-'));
t.teardown(() => rmSync(directory, { recursive: true }));
const config = join(directory, 'nsd.conf');

const TEXT = `# the server
server: port: 5300 ip-address: 127.0.0.1
    zonesdir: "${directory}/zones"  hide-version: yes
    identity: "ns 1"
include: "${directory}/conf.d/*.conf"
key: name: one.test algorithm: hmac-sha256 secret: "${SECRET}"
pattern:
    name: "told"
    notify: 192.0.2.2 one.test
    notify: 2001:db8::2@5300 one.test
    provide-xfr: 192.0.2.2 one.test
    provide-xfr: 2001:db8::/32 one.test
pattern:
    name: files
    zonefile: "%1/%s.zone"
    include-pattern: told
zone:
    name: "a.example"
    include-pattern: "files"
zone:
    name: b.example.
    zonefile: b
    provide-xfr: 192.0.2.0/24 NOKEY
zone:
    name: "c.example"
    request-xfr: AXFR 192.0.2.9@5353 one.test
    request-xfr: 192.0.2.10 NOKEY
    allow-notify: 192.0.2.9 one.test
    provide-xfr: 192.0.2.2 BLOCKED
    provide-xfr: 0.0.0.0/0 NOKEY
`;

const zone = (name: string): string =>
  `$ORIGIN ${name}.\n@ 300 SOA ns h 7 3600 600 86400 60\n@ 300 NS ns\nns 300 A 192.0.2.1\n`;

t.before(() => {
  for (const made of ['zones/a', 'conf.d']) mkdirSync(join(directory, made), { recursive: true });
  writeFileSync(
    join(directory, 'conf.d', 'two.conf'),
    `key:\n  name: "two.test"\n  algorithm: hmac-sha512\n  secret: "${SECRET}"\n`,
  );
  writeFileSync(join(directory, 'zones', 'a', 'a.example.zone'), zone('a.example'));
  writeFileSync(join(directory, 'zones', 'b'), zone('b.example'));
  writeFileSync(config, TEXT);
});

t.test('sections, patterns, includes and who transfers', async (t) => {
  if (existsSync(CHECK) || process.env['CI'] === 'true') {
    const { status, stderr } = spawnSync(CHECK, [config], { encoding: 'utf8' });
    t.equal(status, 0, stderr);
  }
  const { keys, zones, notes } = readConfiguration(config, {});
  t.match(keys, [
    { name: 'two.test', algorithm: 'hmac-sha512' },
    { name: 'one.test', secret: SECRET },
  ]);
  t.match(zones, [
    {
      name: 'a.example',
      role: 'primary',
      source: { file: join(directory, 'zones/a/a.example.zone') },
      place: { line: 17 },
    },
    { name: 'b.example', role: 'primary' },
    {
      name: 'c.example',
      role: 'secondary',
      primaries: [
        { address: '192.0.2.9', port: 5353, key: 'one.test' },
        { address: '192.0.2.10', port: undefined, key: undefined },
      ],
    },
  ]);
  const wanted = zones.map((each) => wantedTransfers(each));
  t.match(wanted[0]!.peers, [
    { address: '192.0.2.2', port: 53, key: 'one.test' },
    { address: '2001:db8::2', port: 5300, key: 'one.test' },
  ]);
  t.match(wanted[1], { peers: [], networks: [{ text: '192.0.2.0/24' }] });
  t.match(wanted[2], { peers: [], networks: [] }, 'what is blocked is not forgotten');
  t.match(
    notes.filter(({ kind }) => kind === 'setting').map(({ text }) => text),
    [
      'port: 5300: the setting here is dns-port',
      'ip-address: 127.0.0.1: the setting here is dns-host',
      'identity: ns 1: the setting here is dns-identity',
    ],
  );
});

t.test('it is taken over, and a second run does nothing', async (t) => {
  const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const first = await runCommand(environment, 'import-config', config, '--init', '--yes');
  t.match(first, {
    code: 1,
    out: /zone b\.example, 2 records, serial 7/,
    err: /secondary zone c\.example: .*different TSIG keys/,
  });
  t.match(first.out, /192\.0\.2\.0\/24: a network holds for all zones of an account|network 192\.0\.2\.0\/24/);
  t.match(await runCommand(environment, 'zone', 'list'), { out: /a\.example[\s\S]*b\.example/ });
  t.match(await runCommand(environment, 'import-config', config, '--yes'), { code: 1, out: /done: 0, not done: 1/ });
});

t.test('secrets are not repeated', (t) => {
  const cookie = '0123456789abcdef0123456789abcdef';
  const other = join(directory, 'nsd-cookies.conf');
  writeFileSync(other, `server:\n    cookie-secret: "${cookie}"\n    cookie-staging-secret: "${cookie}"\n`);
  const told = readConfiguration(other, {}).notes.map(({ text }) => text);
  t.match(told, [/^cookie-secret: the setting here is cookie-secret/, /^cookie-staging-secret: /]);
  t.notMatch(JSON.stringify(told), new RegExp(cookie));
  t.end();
});

t.test('faults are at their line', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['port: 53', /nsd\.conf:1: port: stands in front of all sections/],
    ['server:\n  53', /nsd\.conf:2: '53' stands where the name/],
    ['server:\n  port:\n', /nsd\.conf:2: port: has no value/],
    ['server:\n  identity: "x', /nsd\.conf:2: the quoted text has no end/],
    ['zone:\n  zonefile: x', /nsd\.conf:1: the zone has no name/],
    ['zone:\n  name: x\n  include-pattern: none', /nsd\.conf:3: there is no pattern none/],
    [
      'pattern:\n  name: a\n  include-pattern: a\nzone:\n  name: x\n  include-pattern: a',
      /nsd\.conf:3: the pattern a includes itself/,
    ],
    ['zone:\n  name: x\n  notify: here NOKEY', /nsd\.conf:3: notify: takes an address and a key/],
    [`include: "${directory}/faulty/nsd.conf"`, /nsd\.conf:1: .*includes itself/],
  ];
  mkdirSync(join(directory, 'faulty'));
  for (const [text, message] of cases) {
    writeFileSync(join(directory, 'faulty', 'nsd.conf'), text);
    t.throws(() => readConfiguration(join(directory, 'faulty', 'nsd.conf'), {}), { name: 'UserError', message }, text);
  }
});

t.test(
  'the file that Debian installs',
  { skip: !existsSync('/etc/nsd/nsd.conf') && process.env['CI'] !== 'true' },
  async (t) => {
    t.match(readConfiguration('/etc/nsd/nsd.conf', {}), { keys: [], zones: [] });
  },
);
