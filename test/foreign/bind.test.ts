/** named.conf, as people write it. What named-checkconf takes is read, and what it refuses is refused at the same place. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import type { Configuration, ReadingOptions, ZoneStatement } from '../../src/foreign/configuration.js';
import { readConfiguration } from '../../src/foreign/read.js';
import { wantedTransfers } from '../../src/foreign/secondaries.js';

const CHECK = '/usr/bin/named-checkconf';
const SECRET = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-foreign-'));
t.teardown(() => rmSync(directory, { recursive: true }));
let number = 0;

/** Files of one configuration; `DIR` in them stands for their directory. */
function write(files: Readonly<Record<string, string>>): string {
  const own = join(directory, String(number++));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(own, name)), { recursive: true });
    writeFileSync(join(own, name), text.replaceAll('DIR', own));
  }
  return own;
}

/** The same as read; named has to take it, too. */
function read(files: Readonly<Record<string, string>>, options: ReadingOptions = {}): Configuration {
  const own = write(files);
  if (existsSync(CHECK) || process.env['CI'] === 'true') {
    const { status, stdout } = spawnSync(CHECK, [join(own, 'named.conf')], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`named-checkconf: ${stdout}`);
  }
  return readConfiguration(join(own, 'named.conf'), options);
}

const zoneOf = ({ zones }: Configuration, name: string): ZoneStatement => zones.find((zone) => zone.name === name)!;

function peersOf(configuration: Configuration, zone: string): string[] {
  const { peers } = wantedTransfers(zoneOf(configuration, zone));
  return peers.map(({ address, port, key }) => `${address ?? '*'} ${port} ${key ?? '-'}`);
}

const KEYS = `key one { algorithm hmac-sha256; secret "${SECRET}"; };\nkey "two" { secret ${SECRET}; algorithm "hmac-sha512"; };\n`;

t.test('comments, quotes, includes, relative paths and lists by name', async (t) => {
  const configuration = read({
    'named.conf': `// one\n# two\n/* three { ; */ include "DIR/keys.conf"; options { directory "DIR/data"; }; include "zones.conf";
acl inner { 192.0.2.1; }; acl "outer" { inner; 10/8; };\nprimaries upstream port 5300 { 192.0.2.9 key two; 2001:db8::9 port 5353; };\n`,
    'keys.conf': KEYS,
    'data/zones.conf': `zone "A.Example." IN { type master; file "a"; allow-transfer { outer; }; };
zone b.example { type secondary; masters { upstream; 192.0.2.10; }; }; zone quo"ted.example" { type hint; file "x"; };`.replace(
      'quo"ted.example"',
      '"quoted"',
    ),
    'data/a': '',
  });
  t.match(configuration.keys, [
    { name: 'one', algorithm: 'hmac-sha256', secret: SECRET },
    { name: 'two', algorithm: 'hmac-sha512', secret: SECRET },
  ]);
  t.match(configuration.zones, [
    {
      name: 'a.example',
      role: 'primary',
      source: { file: join(dirname(configuration.keys[0]!.place.file), 'data/a') },
    },
    {
      name: 'b.example',
      role: 'secondary',
      primaries: [
        { address: '192.0.2.9', port: 5300, key: 'two' },
        { address: '2001:db8::9', port: 5353, key: undefined },
        { address: '192.0.2.10', port: undefined },
      ],
    },
  ]);
  t.match(zoneOf(configuration, 'a.example').place, { file: /data\/zones\.conf$/, line: 1 });
  t.strictSame(peersOf(configuration, 'a.example'), ['192.0.2.1 53 -']);
  t.match(wantedTransfers(zoneOf(configuration, 'a.example')).networks, [{ text: '10/8' }]);
  t.match(
    configuration.notes.filter(({ kind }) => kind === 'resolver'),
    [{ text: /zone quoted: the type hint/ }],
  );
});

t.test('who may transfer: nobody gets more than before', async (t) => {
  const zone = (name: string, text: string): string => `zone ${name}.example { type primary; file "x"; ${text} };\n`;
  const configuration = read({
    'named.conf':
      `${KEYS}server 192.0.2.7 { keys one; };\noptions { also-notify { 192.0.2.7; 192.0.2.8 port 5353; }; allow-transfer { none; }; };\n` +
      zone('none', '') +
      zone('key', 'allow-transfer { key one; };') +
      zone('any', 'allow-transfer { any; };') +
      zone('both', 'allow-transfer { 192.0.2.8; key two; };') +
      zone('not', 'allow-transfer { !192.0.2.8; any; };') +
      zone('behind', 'allow-transfer { !{ !10.0.0.0/8; any; }; key one; };') +
      zone('keys', 'also-notify { 192.0.2.7; 192.0.2.8 key two; }; allow-transfer { key one; key two; };') +
      zone('local', 'also-notify { }; allow-transfer { localhost; 192.0.2.66; };') +
      zone('quiet', 'notify no; allow-transfer { key two; };'),
  });
  const expected: Readonly<Record<string, readonly string[]>> = {
    none: [],
    key: ['192.0.2.7 53 one', '192.0.2.8 5353 one'],
    any: ['192.0.2.7 53 one', '192.0.2.8 5353 one'],
    both: ['192.0.2.7 53 two', '192.0.2.8 5353 two'],
    not: [],
    behind: [],
    keys: ['192.0.2.7 53 one'],
    local: ['192.0.2.66 53 -'],
    quiet: ['* 53 two'],
  };
  for (const [name, peers] of Object.entries(expected)) {
    t.strictSame(peersOf(configuration, `${name}.example`), peers, name);
  }
  const texts = configuration.notes.map(({ text }) => text);
  for (const text of [
    /^any without what a '!'/,
    /what a '!' excludes here has no equivalent/,
    /^localhost is not known/,
  ]) {
    t.ok(
      texts.some((written) => text.test(written)),
      String(text),
    );
  }
});

t.test('a note with file and line says that transfers were allowed over one transport or port only', (t) => {
  const zone = (name: string, text: string): string => `zone ${name}.example { type primary; file "x"; ${text} };\n`;
  const { notes } = read({
    'named.conf':
      KEYS +
      zone('plain', 'allow-transfer { key one; };') +
      zone('tls', 'allow-transfer port 853 transport tls { key one; };') +
      zone('port', 'allow-transfer port 5353 { key one; };'),
  });
  t.match(
    notes.map(({ kind, place: { line }, text }) => [kind, line, text]),
    [
      ['none', 4, /^allow-transfer port 853 transport tls: /],
      ['none', 5, /^allow-transfer port 5353: /],
    ],
  );
  t.equal(notes.length, 2);
  t.end();
});

t.test('updates become rules of keys, and what cannot be expressed is not granted', async (t) => {
  const configuration = read({
    'named.conf': `${KEYS}zone a.example { type primary; file "a"; update-policy {
      grant one zonesub ANY; grant two subdomain lan.a.example. A AAAA; grant two name _acme-challenge.a.example TXT;
      grant one.a.example self one.a.example A; deny two zonesub; grant one wildcard *.x.a.example TXT; }; };
      zone b.example { type primary; file "b"; allow-update { key one; 192.0.2.1; }; };
      zone c.example { type primary; file "c"; update-policy { grant one zonesub; }; };
      zone d.example { type primary; file "d"; update-policy local; };`,
  });
  t.match(zoneOf(configuration, 'a.example').updates, [
    { key: 'one' },
    { key: 'two', names: ['lan.a.example', '*.lan.a.example'], types: ['A', 'AAAA'] },
    { key: 'two', names: ['_acme-challenge.a.example'], types: ['TXT'] },
    { key: 'one.a.example', names: ['one.a.example'] },
  ]);
  t.equal(zoneOf(configuration, 'a.example').updates.length, 4, 'nothing behind deny');
  t.strictSame(
    zoneOf(configuration, 'b.example').updates.map(({ key }) => key),
    ['one'],
  );
  t.strictSame(zoneOf(configuration, 'c.example').updates[0]!.without, ['SOA', 'NS', 'RRSIG', 'NSEC', 'NSEC3']);
  t.strictSame(zoneOf(configuration, 'd.example').updates, []);
  for (const text of [/^deny two zonesub/, /^allow-update 192\.0\.2\.1/, /^update-policy local/]) {
    t.ok(
      configuration.notes.some((note) => text.test(note.text)),
      String(text),
    );
  }
});

t.test('a name with an asterisk grants no other names, and secrets are not repeated', (t) => {
  const cookie = '0123456789abcdef0123456789abcdef';
  const configuration = read({
    'named.conf': `${KEYS}options { cookie-secret "${cookie}"; };\nzone a.example { type primary; file "a"; update-policy {
      grant one name *.a.example. TXT; grant one subdomain *.b.a.example. A; grant one name x.a.example. A; }; };`,
  });
  t.match(zoneOf(configuration, 'a.example').updates, [{ key: 'one', names: ['x.a.example'] }]);
  t.equal(zoneOf(configuration, 'a.example').updates.length, 1);
  const told = configuration.notes.map(({ text }) => text);
  t.ok(told.some((text) => /^grant one name \*\.a\.example\. TXT: /.test(text)));
  t.ok(told.some((text) => /^cookie-secret: the settings here are/.test(text)));
  t.notMatch(JSON.stringify(told), new RegExp(cookie));
  t.end();
});

t.test('primaries that cannot be asked refuse their zone only', async (t) => {
  const configuration = read({
    'named.conf': `primaries a { b; }; primaries b { a; 192.0.2.5; }; tls good { remote-hostname "ns1.example.net"; };
zone loop.example { type secondary; primaries { a; }; }; zone open.example { type secondary; primaries { 192.0.2.1 tls ephemeral; }; };
zone safe.example { type secondary; primaries { 192.0.2.1 tls good; }; };`,
  });
  t.match(zoneOf(configuration, 'loop.example').primaries, [{ address: '192.0.2.5' }]);
  t.match(zoneOf(configuration, 'open.example').refusal, { text: /^tls ephemeral does not say/ });
  t.match(zoneOf(configuration, 'safe.example'), { refusal: undefined, primaries: [{ tlsName: 'ns1.example.net' }] });
});

t.test('of several views one is chosen', async (t) => {
  const files = {
    'named.conf':
      `options { allow-transfer { 192.0.2.1; }; };\nview "in" { match-clients { 10.0.0.0/8; }; zone a.example { type primary; file "in"; }; };
view out { allow-transfer { 192.0.2.2; }; zone a.example { type primary; file "/out"; }; zone b.example { in-view in; }; };`.replace(
        ' zone b.example { in-view in; };',
        '',
      ),
  };
  t.throws(() => read(files), {
    message: /named\.conf:2: there are several views/,
    remedy: /--view: in \(.*named\.conf:2\), out/,
  });
  t.throws(() => read(files, { view: 'other' }), { message: /there is no view other/ });
  const configuration = read(files, { view: 'out' });
  t.match(configuration.zones, [{ name: 'a.example', source: { file: '/out' } }]);
  t.strictSame(peersOf(configuration, 'a.example'), ['192.0.2.2 53 -']);
  t.match(read(files, { view: 'in' }).notes, [{ text: /^match-clients/ }]);
  t.match(read(files, { view: 'out', root: '/elsewhere' }).zones, [{ source: { file: '/elsewhere/out' } }]);
});

t.test('faults are at their line, and nothing runs away', async (t) => {
  const deep = `${'a { '.repeat(40)}${'}; '.repeat(40)}`;
  const cases: readonly (readonly [string, RegExp])[] = [
    ['options { directory "x" };', /named\.conf:1: a ';' is missing before '}'/],
    ['\noptions { directory "x"; }', /named\.conf:2: the statement has no ';'/],
    ['\n\nzone a { type primary;', /named\.conf:3: the '{' has no '}'/],
    ['options { };\n};', /named\.conf:2: a '}' closes nothing/],
    ['options { };;', /named\.conf:1: this ';' ends no statement/],
    ['/* x', /named\.conf:1: the comment has no/],
    ['include "x;', /named\.conf:1: the quoted text has no end/],
    ['\ninclude "DIR/named.conf";', /named\.conf:2: .*includes itself/],
    ['include "DIR/none";', /named\.conf:1: .*none cannot be used: it does not exist/],
    ['include "DIR";', /named\.conf:1: .*(directory|regular)/],
    [deep, /nested more than 32 deep/],
    [
      'acl a { b; }; acl b { a; };\nzone x { type primary; file "x"; allow-transfer { a; }; };',
      /named\.conf:1: the acl [ab] contains itself/,
    ],
    ['zone x { type primary; file "x"; allow-transfer { nobody; }; };', /there is no acl nobody/],
    ['zone x { type secondary; primaries { 192.0.2.1 port 0; }; };', /0 is not a port/],
    ['key k { algorithm hmac-sha256; secret "not base 64!"; };', /the secret of the key k is not base 64/],
    ['zone x { file "x"; };', /zone x has no type/],
  ];
  for (const [text, message] of cases) {
    const own = write({ 'named.conf': text });
    t.throws(() => readConfiguration(join(own, 'named.conf'), {}), { name: 'UserError', message }, text.slice(0, 60));
  }
  t.throws(() => readConfiguration(join(directory, 'x.conf'), {}), {
    message: /does not say whose configuration it is/,
  });
});

t.test('templates of BIND 9.21', async (t) => {
  const own = write({
    'named.conf': `template usual { type primary; file "/zones/$name.db"; allow-transfer { 192.0.2.1; }; };
zone a.example { template usual; }; zone b.example { template usual; allow-transfer { none; }; };\nzone c.example { template none; };`,
  });
  const file = join(own, 'named.conf');
  t.throws(() => readConfiguration(file, {}), { message: /named\.conf:3: there is no template none/ });
  writeFileSync(file, readFileSync(file, 'utf8').replace('template none', 'template usual'));
  const configuration = readConfiguration(file, {});
  t.match(zoneOf(configuration, 'a.example').source, { file: '/zones/a.example.db' });
  t.strictSame([peersOf(configuration, 'a.example'), peersOf(configuration, 'b.example')], [['192.0.2.1 53 -'], []]);
});

t.test('options as other distributions write them', async (t) => {
  const { zones, notes } = read({
    'named.conf': `options {
\tlisten-on port 53 { 127.0.0.1; };\n\tlisten-on-v6 port 53 { ::1; };\n\tdirectory \t"DIR";
\tdump-file \t"DIR/cache_dump.db";\n\tstatistics-file "DIR/stats.txt";\n\tmemstatistics-file "DIR/mem.txt";
\tsecroots-file\t"DIR/named.secroots";\n\trecursing-file\t"DIR/named.recursing";\n\tallow-query     { localhost; };
\t/*\n\t - If your server answers everybody, think again.\n\t*/\n\trecursion yes;\n\tdnssec-validation yes;
\tmanaged-keys-directory "DIR";\n\tgeoip-directory "/usr/share/GeoIP";\n\tpid-file "DIR/named.pid";\n\tsession-keyfile "DIR/session.key";
\tinclude "DIR/crypto.config";\n\tforwarders { 192.0.2.1 port 5353; };\n};
logging {\n        channel default_debug {\n                file "data/named.run";\n                severity dynamic;\n        };\n        category lame-servers { null; };\n};
zone "." IN {\n\ttype hint;\n\tfile "named.ca";\n};
zone "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa" IN {\n\ttype master;\n\tfile "named.loopback";\n\tallow-update { none; };\n};
include "DIR/named.conf.include";\n`,
    'crypto.config': 'disable-ds-digests "." { SHA-1; };\n',
    'named.conf.include':
      'zone "example.com" in { type master; file "db"; allow-transfer { key-users; }; };\nacl key-users { 192.0.2.7; };\n',
  });
  t.match(zones, [{ name: 'example.com' }]);
  t.strictSame(
    notes.filter(({ kind }) => kind === 'none').map(({ text }) => text),
    ['allow-query { … }: no equivalent'],
  );
});

t.test(
  'the files that Debian installs',
  { skip: !existsSync('/etc/bind/named.conf') && process.env['CI'] !== 'true' },
  async (t) => {
    const configuration = readConfiguration('/etc/bind/named.conf', {});
    t.strictSame(configuration.zones, [], 'zones that every resolver answers are left out');
    t.match(configuration.notes.filter(({ text }) => text.startsWith('zone ')).length, 5);
  },
);
