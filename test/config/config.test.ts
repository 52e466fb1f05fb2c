/**
 * Settings: precedence, origins, `_FILE` variants, unknown names, exact error messages, and the generated reference.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { UserError } from '../../src/base/errors.js';
import { describeSettings, flagHelp, printValue } from '../../src/config/describe.js';
import { parseHostPort, printHostPort } from '../../src/config/host-names.js';
import { type LoadedSettings, loadSettings, type SettingSources } from '../../src/config/load.js';
import { nearMatch } from '../../src/config/near-match.js';
import { SETTINGS } from '../../src/config/schema.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-config-'));
t.teardown(() => rmSync(directory, { recursive: true }));

function write(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

function load(sources: Partial<SettingSources>): LoadedSettings {
  return loadSettings({ flags: {}, environment: {}, ...sources });
}

function refusal(sources: Partial<SettingSources>): string {
  try {
    load(sources);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    t.equal(error.exitCode, 2, 'bad settings are wrong usage');
    return error.message;
  }
  throw new Error('settings were accepted');
}

t.test('defaults', async (t) => {
  const { settings, origins } = load({});
  t.match(settings, {
    dataDir: './data',
    dnsHost: ['0.0.0.0', '::'],
    udpTransport: 'auto',
    adminHost: '127.0.0.1',
    adminPort: 8053,
    adminEmail: 'admin@localhost',
    nameservers: ['ns1.zoneplane.test', 'ns2.zoneplane.test'],
    edge: 'auto',
    zoneActivation: 'auto',
    zonesDir: './zones',
    logLevel: 'info',
  });
  t.equal(settings.dnsPort, undefined, 'decided when it is known which port can be bound');
  t.equal(settings.edgeAddresses, undefined, 'loopback, which is nobody’s alone');
  t.equal(settings.resolverUpstreams, undefined, 'those of the system');
  t.ok(Object.values(origins).every(({ kind }) => kind === 'default'));
});

t.test('flag before environment before file before default, each with its origin', async (t) => {
  const file = write('order.yaml', 'dns-port: 1\nadmin-port: 2\ndns-workers: 3\n');
  const environment = { ZONEPLANE_DNS_PORT: '11', ZONEPLANE_ADMIN_PORT: '12' };
  const { settings, origins } = load({ flags: { 'dns-port': '21' }, environment, file });
  t.equal(settings.dnsPort, 21);
  t.equal(settings.adminPort, 12);
  t.equal(settings.dnsWorkers, 3);
  t.same(origins.dnsPort, { kind: 'flag', place: '--dns-port' });
  t.same(origins.adminPort, { kind: 'environment', place: 'ZONEPLANE_ADMIN_PORT' });
  t.same(origins.dnsWorkers, { kind: 'file', place: `${file}: dns-workers` });
  t.equal(load({ environment: { ZONEPLANE_CONFIG: file } }).settings.dnsWorkers, 3, 'file named by the environment');
});

t.test('files in JSON and YAML, lists and plain texts', async (t) => {
  const json = write('lists.json', '{"nameservers": ["NS1.Example.com.", "ns2.example.net"], "dns-host": "127.0.0.1"}');
  t.same(load({ file: json }).settings.nameservers, ['ns1.example.com', 'ns2.example.net']);
  const yaml = write('lists.yml', '# ours\nresolver-upstreams:\n  - 192.0.2.1:5353\n  - "[2001:db8::1]:54"\n');
  t.same(load({ file: yaml }).settings.resolverUpstreams, [
    { host: '192.0.2.1', port: 5353 },
    { host: '2001:db8::1', port: 54 },
  ]);
  t.equal(load({ file: write('empty.yaml', '') }).settings.adminPort, 8053);
});

t.test('errors in files name file, line and column', async (t) => {
  t.match(refusal({ file: join(directory, 'absent.yaml') }), /absent\.yaml: no such file/);
  t.match(refusal({ file: write('broken.yaml', 'a: 1\nb: [1\n') }), /broken\.yaml:3:1: /);
  t.match(refusal({ file: write('twice.yaml', 'dns-port: 1\ndns-port: 2\n') }), /twice\.yaml:2:1: Map keys must be/);
  t.match(refusal({ file: write('broken.json', '{"dns-port": }') }), /broken\.json: /);
  t.match(refusal({ file: write('list.yaml', '- 1\n') }), /expected settings as `name: value`/);
  t.match(refusal({ file: directory }), /is a directory/);
});

t.test('unknown names are reported with the nearest known one', async (t) => {
  const file = write('typo.yaml', 'dnsPrt: 53\n');
  t.equal(refusal({ file }), `bad setting: ${file}: unknown setting dnsPrt, did you mean dns-port?`);
  t.match(refusal({ environment: { ZONEPLANE_ADMIN_PROT: '1' } }), /ADMIN_PROT, did you mean ZONEPLANE_ADMIN_PORT\?/);
  t.notMatch(refusal({ environment: { ZONEPLANE_COFFEE_GROUNDS: '1' } }), /did you mean/);
  t.equal(nearMatch('serv', ['serve', 'zone']), 'serve');
  t.equal(nearMatch('xyzzy', ['serve', 'zone']), undefined);
});

t.test('variables that Kubernetes adds for a Service are not settings, but may collide with one', async (t) => {
  load({
    environment: {
      ZONEPLANE_SERVICE_HOST: '10.0.0.1',
      ZONEPLANE_PORT: 'tcp://10.0.0.1:53',
      ZONEPLANE_PORT_53_UDP_ADDR: '10.0.0.1',
      ZONEPLANE_DNS_SERVICE_PORT_DNS: '53',
    },
  });
  const message = refusal({ environment: { ZONEPLANE_DNS_PORT: 'tcp://10.0.0.1:53' } });
  t.match(message, /expected a port from 1 to 65535 \(set by Kubernetes .*enableServiceLinks: false/);
});

t.test('each invalid value is reported with its place', async (t) => {
  const cases: [string, string, RegExp][] = [
    ['ZONEPLANE_DNS_PORT', '70000', /ZONEPLANE_DNS_PORT=70000: expected a port from 1 to 65535/],
    ['ZONEPLANE_ADMIN_PORT', '80.5', /expected a port/],
    ['ZONEPLANE_DNS_WORKERS', '0', /expected a number of workers from 1 to 256/],
    ['ZONEPLANE_DNS_HOST', '127.0.0.1,localhost', /expected IP addresses, found 'localhost'/],
    ['ZONEPLANE_DNS_HOST', '127.0.0.1,127.0.0.1', /'127\.0\.0\.1' is listed twice/],
    ['ZONEPLANE_UDP_TRANSPORT', 'fast', /expected auto, batched or portable/],
    ['ZONEPLANE_ADMIN_HOST', 'example.com', /expected an IP address/],
    ['ZONEPLANE_ADMIN_EMAIL', 'nobody', /expected an e-mail address/],
    ['ZONEPLANE_NAMESERVERS', 'ns1.example.com,-bad-', /found '-bad-'/],
    ['ZONEPLANE_RESOLVER_UPSTREAMS', '192.0.2.1:99999', /found '192\.0\.2\.1:99999'/],
    ['ZONEPLANE_ZONE_ACTIVATION', 'maybe', /expected auto, trust or delegation/],
    ['ZONEPLANE_LOG_LEVEL', 'loud', /expected trace/],
  ];
  for (const [name, value, expected] of cases) t.match(refusal({ environment: { [name]: value } }), expected, name);
  t.match(refusal({ environment: { ZONEPLANE_DOT_PORT: '853' } }), /needs a certificate and its key/);
  const automatic = { ZONEPLANE_TLS_CERT: 'auto', ZONEPLANE_DOT_PORT: '853' };
  t.match(load({ environment: automatic }).settings, { tlsCert: 'auto', dotPort: 853 });
  t.match(refusal({ environment: { ...automatic, ZONEPLANE_TLS_KEY: '/key' } }), /auto makes its own key/);
  t.match(refusal({ environment: { ZONEPLANE_TLS_NAMES: 'dns.test' } }), /only tls-cert auto uses names/);
  const both = refusal({ environment: { ZONEPLANE_DNS_PORT: 'x', ZONEPLANE_LOG_LEVEL: 'y' } });
  t.match(both, /^bad settings:\n {2}ZONEPLANE_DNS_PORT=x: .*\n {2}ZONEPLANE_LOG_LEVEL=y: /);
});

t.test('secrets come from a file, and are never shown', async (t) => {
  const key = 'k'.repeat(37);
  const path = write('key', `${key}\n`);
  const { settings, origins } = load({ environment: { ZONEPLANE_ADMIN_KEY_FILE: path } });
  t.equal(settings.adminKey, key, 'without the final line break');
  t.equal(origins.adminKey.place, 'ZONEPLANE_ADMIN_KEY_FILE');
  t.equal(load({ flags: { 'admin-key-file': path } }).settings.adminKey, key);
  const both = { ZONEPLANE_ADMIN_KEY_FILE: path, ZONEPLANE_ADMIN_KEY: key };
  t.match(refusal({ environment: both }), /are both set: keep only one/);
  t.match(refusal({ environment: { ZONEPLANE_ADMIN_KEY_FILE: join(directory, 'none') } }), /none: no such file/);
  const short = refusal({ environment: { ZONEPLANE_ADMIN_KEY: 'hunter2' } });
  t.match(short, /expected 37 to 200 characters/);
  t.notMatch(short, /hunter2/);
  const setting = SETTINGS.find((entry) => entry.key === 'adminKey')!;
  t.equal(printValue(setting, key), '(secret)');
});

t.test('an empty variable counts as absent, except for lists that may be empty', async (t) => {
  t.equal(load({ environment: { ZONEPLANE_ADMIN_PORT: '' } }).settings.adminPort, 8053);
  t.same(load({ environment: { ZONEPLANE_RESOLVER_UPSTREAMS: '' } }).settings.resolverUpstreams, []);
});

t.test('certificate authorities', async (t) => {
  const { settings } = load({
    environment: { ZONEPLANE_CA_LETS_ENCRYPT_DIRECTORY: 'https://x/dir', ZONEPLANE_DEFAULT_CA_ORDER: 'ssl_com,google' },
  });
  t.match(settings, { caLetsEncryptDirectory: 'https://x/dir', defaultCaOrder: ['ssl_com', 'google'] });
  t.match(refusal({ environment: { ZONEPLANE_DEFAULT_CA_ORDER: 'other' } }), /google, lets_encrypt, ssl_com, digicert/);
  t.match(refusal({ environment: { ZONEPLANE_CA_GOOGLE_DIRECTORY: 'http://x/dir' } }), /expected an https URL/);
  t.match(
    refusal({ environment: { ZONEPLANE_CA_GOOGEL_DIRECTORY: 'https://x' } }),
    /did you mean ZONEPLANE_CA_GOOGLE_DIRECTORY/,
  );
});

t.test('hosts with ports', async (t) => {
  t.same(parseHostPort('resolver.example'), { host: 'resolver.example', port: 53 });
  t.same(parseHostPort('::1'), { host: '::1', port: 53 });
  t.same(parseHostPort('[::1]:5300'), { host: '::1', port: 5300 });
  for (const bad of ['', ':53', '1.2.3.4:', '1.2.3.4:0', '[1::2', '[x]:1', 'a b:1', '-x:1']) {
    t.equal(parseHostPort(bad), undefined, bad);
  }
  t.equal(printHostPort({ host: '::1', port: 53 }), '[::1]:53');
});

t.test('every setting is described, and the reference is as generated', async (t) => {
  for (const setting of SETTINGS) t.match(flagHelp(setting), setting.environment);
  const reference = readFileSync('docs/reference.md', 'utf8');
  const held = /<!-- settings: generated -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(reference)?.[1];
  t.equal(held?.trim(), describeSettings(), 'run `npm run --silent build && node build/src/main.js config reference`');
});

t.test('the examples in docs are accepted', async (t) => {
  const { settings, origins } = load({ file: 'docs/zoneplane.yaml' });
  t.equal(settings.dataDir, '/var/lib/zoneplane');
  t.equal(Object.values(origins).filter(({ kind }) => kind === 'file').length, 9, 'every line is a setting');
  const compose = readFileSync('docs/compose.yaml', 'utf8');
  const variables = [...compose.matchAll(/^ {6}(ZONEPLANE_\w+): (.*)$/gm)].map(([, name, value]) => [name!, value!]);
  t.ok(variables.length > 0);
  load({ environment: Object.fromEntries(variables) });
});
