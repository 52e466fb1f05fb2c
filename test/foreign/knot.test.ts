/** knot.conf: what knotc takes is read, and becomes zones, keys and peers. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readConfiguration } from '../../src/foreign/read.js';
import { wantedTransfers } from '../../src/foreign/secondaries.js';
import { runCommand } from '../support/commands.js';

const CHECK = '/usr/sbin/knotc';
const SECRET = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-knot-'));
t.teardown(() => rmSync(directory, { recursive: true }));
const config = join(directory, 'knot.conf');

const TEXT = `# the server
server:
    listen: [ 127.0.0.1@5300, "::1@5300" ]   # both
    automatic-acl: on
include: "more/*"

remote:
  - id: second
    address: 192.0.2.2
    address: 2001:db8::2@5300
    key: one.test
  - id: plain
    address: [192.0.2.3]
  - id: first
    address: 192.0.2.9@5353
    key: one.test

acl:
  - id: by-key
    key: one.test
    address: [192.0.2.0/24]
    action: transfer
  - id: update
    key: one.test
    action: [update]
    update-owner: name
    update-owner-match: equal
    update-owner-name: [_acme-challenge]
    update-type: [TXT]

template:
  - id: default
    storage: "${directory}/zones"
    notify: second
  - id: other
    storage: ${directory}
    file: "zones/%s"
    acl: [by-key, update]

zone:
  - domain: a.example
  - domain: b.example.
    template: other
  - domain: c.example
    master: first
    notify: []
  - domain: signed.example
    dnssec-signing: on
`;

const zone = (name: string): string =>
  `$ORIGIN ${name}.\n@ 300 SOA ns h 7 3600 600 86400 60\n@ 300 NS ns\nns 300 A 192.0.2.1\n`;

t.before(() => {
  for (const made of ['zones', 'more']) mkdirSync(join(directory, made));
  writeFileSync(
    join(directory, 'more', 'keys'),
    `key:\n  - id: one.test\n    algorithm: hmac-sha256\n    secret: ${SECRET}\n`,
  );
  writeFileSync(join(directory, 'zones', 'a.example.zone'), zone('a.example'));
  writeFileSync(join(directory, 'zones', 'b.example'), zone('b.example'));
  writeFileSync(join(directory, 'zones', 'signed.example.zone'), zone('signed.example'));
  writeFileSync(config, TEXT.replace('    notify: []\n', ''));
});

t.test('sections, templates, includes and who transfers', async (t) => {
  if (existsSync(CHECK) || process.env['CI'] === 'true') {
    const { status, stderr } = spawnSync(CHECK, ['-c', config, 'conf-check'], { encoding: 'utf8' });
    t.equal(status, 0, stderr);
  }
  const { keys, zones, notes } = readConfiguration(config, {});
  t.match(keys, [{ name: 'one.test', algorithm: 'hmac-sha256', secret: SECRET, place: { line: 2 } }]);
  t.match(zones, [
    { name: 'a.example', role: 'primary', source: { file: join(directory, 'zones/a.example.zone') } },
    {
      name: 'b.example',
      source: { file: join(directory, 'zones/b.example') },
      updates: [{ key: 'one.test', names: ['_acme-challenge.b.example'], types: ['TXT'] }],
    },
    { name: 'c.example', role: 'secondary', primaries: [{ address: '192.0.2.9', port: 5353, key: 'one.test' }] },
    { name: 'signed.example', signing: { remedy: /zone transfer signed\.example/ } },
  ]);
  const [a, b] = zones.map((each) => wantedTransfers(each));
  t.match(a!.peers, [
    { address: '192.0.2.2', port: 53, key: 'one.test' },
    { address: '2001:db8::2', port: 5300, key: 'one.test' },
  ]);
  t.match(b, {
    peers: [{ address: undefined, key: 'one.test' }],
    notes: [{ text: /from any address, not from 192\.0\.2\.0\/24 only/ }, {}],
  });
  t.match(
    notes.filter(({ kind }) => kind === 'setting'),
    [{ text: /^server\.listen: 127\.0\.0\.1@5300 ::1@5300: .*dns-host/, place: { line: 3 } }],
  );
});

t.test('it is taken over, and a second run does what is left', async (t) => {
  const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const first = await runCommand(environment, 'import-config', config, '--init', '--yes');
  t.match(first, {
    code: 1,
    out: /zone signed\.example: .*knot\.conf:\d+: the zone is signed, but its keys were not found.*--presigned/,
  });
  t.match(await runCommand(environment, 'tsig', 'list'), { out: /_acme-challenge\.b\.example \(TXT\)/ });
  t.match(await runCommand(environment, 'secondary', 'status'), { out: /2001:db8::2#5300 +a\.example/ });
  writeFileSync(config, TEXT.replace('    notify: []\n', '').replace('    dnssec-signing: on\n', ''));
  const second = await runCommand(environment, 'import-config', config, '--yes');
  t.match(second, { code: 0, out: /done: 3, not done: 0/ }, second.err);
});

t.test('an asterisk grants no other names, those who may not update are named, and secrets are not repeated', (t) => {
  const other = join(directory, 'knot-updates.conf');
  writeFileSync(
    other,
    `keystore:
  - id: hardware
    config: "pkcs11:token=knot;pin-value=123456 /usr/lib/pkcs11.so"
key:
  - id: one.test
    secret: ${SECRET}
acl:
  - id: star
    key: one.test
    action: update
    update-owner: name
    update-owner-name: ["*"]
  - id: near
    key: one.test
    address: 192.0.2.1
    action: update
    update-type: A
zone:
  - domain: a.example
    acl: [star, near]
`,
  );
  const { zones, notes } = readConfiguration(other, {});
  t.match(zones, [{ updates: [{ key: 'one.test', names: undefined, types: ['A'] }] }]);
  t.equal(zones[0]!.updates.length, 1);
  const told = notes.map(({ text }) => text);
  t.ok(told.some((text) => /^acl star: a \* would stand for all names here/.test(text)));
  t.ok(told.some((text) => /^acl near: its keys may update from any address, not from 192\.0\.2\.1 only/.test(text)));
  t.notMatch(JSON.stringify(told), /123456/);
  t.end();
});

t.test('faults are at their line', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['server:\n\tlisten: x', /knot\.conf:2: lines begin with spaces/],
    ['server\n', /knot\.conf:1: 'server' is not of the form/],
    ['server:\n  listen: [a, b', /knot\.conf:2: the list has no ']'/],
    ['server:\n  listen: a b', /knot\.conf:2: there is more than one value/],
    ['  listen: a', /knot\.conf:1: listen: stands in no section/],
    ['key:\n  - id: k\n    secret: "not base 64!"', /knot\.conf:2: the secret of the key k/],
    ['zone:\n  - file: x', /knot\.conf:2: an entry of zone begins with its domain/],
    ['zone:\n  - domain: x\n    template: y', /knot\.conf:3: there is no template y/],
    ['zone:\n  - domain: x\n    master: y', /knot\.conf:3: there is no remote y/],
    ['zone:\n  - domain: x\n    acl: y', /knot\.conf:3: there is no acl y/],
    ['include: knot.conf', /knot\.conf:1: .*includes itself/],
  ];
  mkdirSync(join(directory, 'faulty'));
  for (const [text, message] of cases) {
    writeFileSync(join(directory, 'faulty', 'knot.conf'), text);
    t.throws(() => readConfiguration(join(directory, 'faulty', 'knot.conf'), {}), { name: 'UserError', message }, text);
  }
});

t.test(
  'the file that Debian installs',
  { skip: !existsSync('/etc/knot/knot.conf') && process.env['CI'] !== 'true' },
  async (t) => {
    t.match(readConfiguration('/etc/knot/knot.conf', {}), { keys: [], zones: [] });
  },
);
