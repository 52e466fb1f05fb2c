/**
 * Independent programs from Debian, unmodified: ddclient (https only, its own HTTP), inadyn, python3-cloudflare, libcloud, and
 * lexicon, which only connects to the vendor's host and is redirected by a proxy.
 */
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { sleep } from '../../../src/base/clock.js';
import { parseName } from '../../../src/dns/name.js';
import { freePort } from '../../support/free-ports.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { type Program, startProgram, stopProgram } from '../../support/program.js';
import { askAll } from '../../support/reference-servers.js';

const PYTHON = '/usr/bin/python3';
const KEY = 'clients-key-0123456789-0123456789-0123456789';
const EMAIL = 'admin@clients.test';
const ZONE = 'example.org';
/** The only host lexicon talks to. */
const VENDOR = 'api.cloudflare.com';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-clients-'));
const at = (file: string): string => join(directory, file);
let server: Program | undefined;
let dnsPort = 0;
let tlsPort = 0;
let api = '';

const run = promisify(execFile);
const isCi = process.env['CI'] === 'true';
/** Why a test is left out: on machines that must have everything it fails instead. */
const unless = (...paths: string[]): string | false => {
  const absent = paths.filter((path) => !existsSync(path));
  return absent.length > 0 && !isCi ? `not installed: ${absent.join(', ')}` : false;
};
const MODULES = '/usr/lib/python3/dist-packages';

t.before(async () => {
  mkdirSync(at('zones'));
  const zone = `$ORIGIN ${ZONE}.\n$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nhome A 192.0.2.2\n`;
  writeFileSync(at(`zones/${ZONE}.zone`), zone);
  const subject = ['-subj', '/CN=zoneplane', '-addext', `subjectAltName=DNS:${VENDOR},DNS:localhost,IP:127.0.0.1`];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const files = ['-out', at('cert.pem'), '-keyout', at('key.pem')];
  execFileSync('openssl', [...request, ...subject, ...files], { stdio: 'ignore' });
  tlsPort = await freePort();
  const environment = {
    ZONEPLANE_ADMIN_TLS_PORT: String(tlsPort),
    ZONEPLANE_TLS_CERT: at('cert.pem'),
    ZONEPLANE_TLS_KEY: at('key.pem'),
    ZONEPLANE_ADMIN_EMAIL: EMAIL,
  };
  server = await startProgram({ directory, key: KEY, environment });
  ({ dnsPort, api } = server);
});

t.teardown(async () => {
  if (server) await stopProgram(server);
  rmSync(directory, { recursive: true, force: true });
});

/** What our name server answers, data as hexadecimal text, as soon as it is what is expected; or what it is after 30 s. */
async function servedData(name: string, type: number, expected: readonly string[]): Promise<string[]> {
  for (let attempt = 0; ; attempt++) {
    const found = (await dataOf(name, type)).sort();
    if (attempt === 600 || found.join() === [...expected].sort().join()) return found;
    await sleep(50);
  }
}

async function dataOf(name: string, type: number): Promise<string[]> {
  const [answer] = await askAll(dnsPort, [makeQuery(parseName(`${name}.${ZONE}.`), type)], 1000);
  return answer ? decodeMessage(answer).answer.map(({ rdata }) => rdata) : ['no answer'];
}

async function python(program: string, environment: NodeJS.ProcessEnv = {}): Promise<unknown> {
  const env = { PATH: process.env['PATH'], HOME: directory, ...environment };
  try {
    return JSON.parse((await run(PYTHON, ['-c', program], { env, timeout: 60_000 })).stdout);
  } catch (error) {
    throw new Error(`${String((error as { stderr?: string }).stderr ?? error)}`);
  }
}

t.test('ddclient over TLS', { skip: unless('/usr/bin/ddclient') }, async (t) => {
  const login: Readonly<Record<string, string>> = { token: 'login=token', key: `login=${EMAIL}` };
  for (const [index, [what, line]] of Object.entries(login).entries()) {
    const file = at(`dd-${what}.conf`);
    const host = `server=127.0.0.1:${tlsPort}/client/v4, zone=${ZONE}`;
    const address = `192.0.2.${100 + index}`;
    const config = `ssl=yes\nuse=cmd, cmd="echo ${address}"\nprotocol=cloudflare, ${host}, ${line}, ttl=60, password=${KEY} home.${ZONE}\n`;
    writeFileSync(file, config, { mode: 0o600 });
    const args = ['-daemon=0', '-nocurl', '-noquiet', '-verbose', '-force', '-ssl_ca_file', at('cert.pem')];
    const { stdout, stderr } = await run(
      '/usr/bin/ddclient',
      [...args, '-file', file, '-cache', at(`dd-${what}.cache`)],
      { timeout: 60_000 },
    );
    t.match(stdout + stderr, new RegExp(`SUCCESS: +updating home.example.org.*${address}`), what);
    const expected = [`c00002${(100 + index).toString(16)}`];
    t.strictSame(await servedData('home', 1, expected), expected, 'and it is served');
  }
});

t.test('ddclient as routers speak', { skip: unless('/usr/bin/ddclient') }, async (t) => {
  const file = at('dd-router.conf');
  const server = `server=127.0.0.1:${tlsPort}, login=${ZONE}, password=${KEY}`;
  writeFileSync(file, `ssl=yes\nuse=cmd, cmd="echo 192.0.2.150"\nprotocol=dyndns2, ${server} home.${ZONE}\n`, {
    mode: 0o600,
  });
  const args = ['-daemon=0', '-nocurl', '-noquiet', '-verbose', '-force', '-ssl_ca_file', at('cert.pem')];
  const { stdout, stderr } = await run('/usr/bin/ddclient', [...args, '-file', file, '-cache', at('dd-router.cache')], {
    timeout: 60_000,
  });
  t.match(stdout + stderr, /SUCCESS: +updating home\.example\.org: good: .*192\.0\.2\.150/);
  t.strictSame(await servedData('home', 1, ['c0000296']), ['c0000296'], 'and it is served');
});

t.test('inadyn, as UniFi and many routers have it', { skip: unless('/usr/sbin/inadyn') }, async (t) => {
  const file = at('inadyn.conf');
  const hosts = `hostname = { home.${ZONE}, nas.${ZONE} }`;
  // Without DNS of its own, it would look up what the hosts have; a new directory remembers nothing.
  const custom = `  username = router\n  password = ${KEY}\n  ddns-server = "127.0.0.1:${new URL(api).port}"
  ddns-path = "/nic/update?hostname=%h&myip=%i"\n  ddns-response = { good, nochg }\n  ssl = false
  checkip-command = "echo 192.0.2.160"\n  ${hosts}`;
  writeFileSync(file, `period = 300\nverify-address = false\ncustom zoneplane {\n${custom}\n}\n`, { mode: 0o600 });
  mkdirSync(at('inadyn'));
  const args = ['--once', '--foreground', '--no-pidfile', '--loglevel=info', '--cache-dir', at('inadyn')];
  const { stdout, stderr } = await run('/usr/sbin/inadyn', [...args, '--config', file], { timeout: 60_000 });
  for (const host of ['home', 'nas']) {
    t.match(stdout + stderr, new RegExp(`Successful alias table update for ${host}\\.example\\.org => new IP# 192`));
    t.strictSame(await servedData(host, 1, ['c00002a0']), ['c00002a0'], 'and it is served');
  }
});

t.test('python3-cloudflare', { skip: unless(`${MODULES}/CloudFlare`) }, async (t) => {
  const program = `
import CloudFlare, json
cf = CloudFlare.CloudFlare(email=${JSON.stringify(EMAIL)}, key=${JSON.stringify(KEY)})
zone = cf.zones.get(params={'name': '${ZONE}', 'per_page': 1})[0]
made = cf.zones.dns_records.post(zone['id'], data={'type': 'TXT', 'name': 'py', 'content': 'hello', 'ttl': 60})
found = cf.zones.dns_records.get(zone['id'], params={'name': 'py.${ZONE}', 'type': 'TXT'})
changed = cf.zones.dns_records.patch(zone['id'], made['id'], data={'content': 'changed'})
put = cf.zones.dns_records.put(zone['id'], made['id'], data={'type': 'TXT', 'name': 'py', 'content': 'put'})
text = cf.zones.dns_records.export.get(zone['id'])
verified = CloudFlare.CloudFlare(token=${JSON.stringify(KEY)}).user.tokens.verify.get()
try:
    cf.zones.dns_records.post(zone['id'], data={'type': 'A', 'name': 'py', 'content': 'nonsense'})
except CloudFlare.exceptions.CloudFlareAPIError as e:
    refused = int(e)
ips = cf.ips.get()
gone = cf.zones.dns_records.delete(zone['id'], made['id'])
settings = cf.zones.settings.http2.get(zone['id'])
print(json.dumps([zone['name'], found[0]['content'], changed['content'], put['content'], 'py.${ZONE}.' in text,
  verified['status'], refused, sorted(ips)[:2], gone['id'] == made['id'], settings['value']]))`;
  const found = await python(program, { CLOUDFLARE_API_URL: `${api}/client/v4/` });
  const ips = ['etag', 'ipv4_cidrs'];
  t.strictSame(found, [ZONE, 'hello', 'changed', 'put', true, 'active', 9005, ips, true, 'on']);
});

t.test('libcloud', { skip: unless(`${MODULES}/libcloud`) }, async (t) => {
  const { port } = new URL(api);
  const program = `
import json
from libcloud.dns.types import Provider, RecordType
from libcloud.dns.providers import get_driver
driver = get_driver(Provider.CLOUDFLARE)(${JSON.stringify(EMAIL)}, ${JSON.stringify(KEY)}, secure=False, host='127.0.0.1', port=${port})
zone = [z for z in driver.list_zones() if z.domain == '${ZONE}'][0]
a = driver.create_record('lib', zone, RecordType.A, '192.0.2.9', extra={'ttl': 120})
mx = driver.create_record('lib', zone, RecordType.MX, 'mail.example.net', extra={'priority': 5})
a2 = driver.update_record(a, data='192.0.2.10', extra={'ttl': 300})
listed = sorted([r.type, r.data] for r in driver.list_records(zone) if r.name == 'lib')
other = driver.create_zone('libcloud.test')
print(json.dumps([a2.data, listed, other.domain, driver.delete_record(a2), driver.delete_record(mx), driver.delete_zone(other)]))`;
  const listed = [
    ['A', '192.0.2.10'],
    ['MX', 'mail.example.net'],
  ];
  t.strictSame(await python(program), ['192.0.2.10', listed, 'libcloud.test', true, true, true]);
});

/** A proxy that leads to our TLS port wherever clients want to go. */
async function startProxy(): Promise<{ url: string; targets: string[]; close: () => void }> {
  const targets: string[] = [];
  const proxy = createServer();
  proxy.on('connect', (request, socket) => {
    targets.push(request.url ?? '');
    const upstream = connect(tlsPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on('error', () => end.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, targets, close: () => void proxy.close() };
}

t.test('lexicon', { skip: unless('/usr/bin/lexicon') }, async (t) => {
  const proxy = await startProxy();
  t.teardown(proxy.close);
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    HTTPS_PROXY: proxy.url,
    REQUESTS_CA_BUNDLE: at('cert.pem'),
    LEXICON_CLOUDFLARE_TOKEN: KEY,
    LEXICON_CLOUDFLARE_USERNAME: EMAIL,
  };
  const lexicon = async (...args: string[]): Promise<string> => {
    const options = { env, timeout: 60_000 };
    const { stdout } = await run('/usr/bin/lexicon', ['cloudflare', ...args, '--output', 'JSON'], options);
    return stdout;
  };
  const name = `_acme-challenge.${ZONE}`;
  await lexicon('create', ZONE, 'TXT', '--name', name, '--content', 'token-1', '--ttl', '120');
  await lexicon('create', ZONE, 'TXT', '--name', name, '--content', 'token-2');
  const listed = JSON.parse(await lexicon('list', ZONE, 'TXT', '--name', name)) as { content: string; id: string }[];
  t.strictSame(listed.map(({ content }) => content).sort(), ['token-1', 'token-2']);
  const texts = (...contents: string[]): string[] => contents.map((text) => Buffer.from(`\x07${text}`).toString('hex'));
  const both = texts('token-1', 'token-2');
  t.strictSame(await servedData('_acme-challenge', 16, both), both);
  const first = listed.find(({ content }) => content === 'token-1')!;
  await lexicon('update', ZONE, 'TXT', '--identifier', first.id, '--name', name, '--content', 'token-3');
  await lexicon('delete', ZONE, 'TXT', '--name', name, '--content', 'token-2');
  t.strictSame(await servedData('_acme-challenge', 16, texts('token-3')), texts('token-3'));
  t.ok(proxy.targets.includes(`${VENDOR}:443`), 'it never knew');
});

t.test('the configured certificate is served, and old TLS is refused', async (t) => {
  const curl = (...args: string[]) =>
    run('curl', ['-sS', '--cacert', at('cert.pem'), ...args, `https://localhost:${tlsPort}/client/v4/zones`], {
      timeout: 20_000,
    });
  const { stdout } = await curl('-H', `Authorization: Bearer ${KEY}`);
  t.match(JSON.parse(stdout), { success: true });
  await t.rejects(curl('--tls-max', '1.1'));
});
