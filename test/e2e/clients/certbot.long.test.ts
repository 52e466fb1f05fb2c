/**
 * A complete DNS challenge (RFC 8555 §8.4) with independent programs: certbot with its unmodified plugins writes to our API
 * (dns-cloudflare), or by dynamic update with a key for the challenge alone (dns-rfc2136); Pebble looks the challenge up at our
 * name server and issues a wildcard certificate.
 */
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { parseName } from '../../../src/dns/name.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { startPebble, withoutPebble } from '../../support/pebble.js';
import { startProgram, stopProgram } from '../../support/program.js';
import { askAll } from '../../support/reference-servers.js';

const CERTBOT = '/usr/bin/certbot';
const PLUGINS = '/usr/lib/python3/dist-packages/certbot_dns_';
const KEY = 'certbot-key-0123456789-0123456789-0123456789';
const EMAIL = 'admin@certbot.test';
const ZONE = 'certbot.test';

const absent = [CERTBOT, `${PLUGINS}cloudflare`, `${PLUGINS}rfc2136`].filter((path) => !existsSync(path));
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : withoutPebble;

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-certbot-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

t.test('a wildcard certificate', { skip }, async (t) => {
  const { api, dnsPort, adminApi } = await startZoneplane(t);
  const pebble = await startPebble({ dnsPort });
  t.teardown(() => pebble.stop());
  const secret = await makeChallengeKey(adminApi);
  const credentials = {
    'e-mail and key': ['cloudflare', `dns_cloudflare_email = ${EMAIL}\ndns_cloudflare_api_key = ${KEY}\n`],
    'bearer token': ['cloudflare', `dns_cloudflare_api_token = ${KEY}\n`],
    'dynamic update': [
      'rfc2136',
      `dns_rfc2136_server = 127.0.0.1\ndns_rfc2136_port = ${dnsPort}\ndns_rfc2136_name = acme.${ZONE}.\n` +
        `dns_rfc2136_secret = ${secret}\ndns_rfc2136_algorithm = HMAC-SHA256\n`,
    ],
  } as const;
  for (const [index, [what, [plugin, lines]]] of Object.entries(credentials).entries()) {
    const home = join(directory, `certbot-${index}`);
    mkdirSync(home);
    const file = join(home, 'credentials.ini');
    writeFileSync(file, lines, { mode: 0o600 });
    await runCertbot(home, plugin, file, api, pebble.directoryUrl);
    const chain = readFileSync(join(home, 'config', 'live', ZONE, 'fullchain.pem'));
    const names = new X509Certificate(chain).subjectAltName?.split(', ').sort();
    t.strictSame(names, [`DNS:*.${ZONE}`, `DNS:${ZONE}`], what);
    t.equal(await rcodeOf(dnsPort, `_acme-challenge.${ZONE}.`), 3, 'the challenges were taken away again');
  }
});

/** The program as users start it, with one zone. */
async function startZoneplane(t: Test): Promise<{ api: string; adminApi: string; dnsPort: number }> {
  const zones = join(directory, 'zones');
  mkdirSync(zones);
  writeFileSync(
    join(zones, `${ZONE}.zone`),
    `$ORIGIN ${ZONE}.\n$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n`,
  );
  const program = await startProgram({ directory, key: KEY, environment: { ZONEPLANE_ADMIN_EMAIL: EMAIL } });
  t.teardown(() => stopProgram(program));
  const adminApi = `${program.api}/client/v4`;
  return { api: `${adminApi}/`, adminApi, dnsPort: program.dnsPort };
}

/** A key that may change the challenges of the zone and nothing else; returns its secret. */
async function makeChallengeKey(api: string): Promise<string> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const zones = await fetch(`${api}/zones`, { headers });
  const [zone] = ((await zones.json()) as { result: { id: string; account: { id: string } }[] }).result;
  const secret = Buffer.from('a secret for challenges of certbot').toString('base64');
  const policy = {
    effect: 'allow',
    permission_groups: [{ id: '4755a26eedb94da69e1066d98aa820be' }],
    resources: { [`com.cloudflare.api.account.zone.${zone!.id}`]: '*' },
    records: { names: [`_acme-challenge.${ZONE}`], types: ['TXT'] },
  };
  const body = JSON.stringify({ name: `acme.${ZONE}.`, algo: 'hmac-sha256', secret, policies: [policy] });
  await fetch(`${api}/accounts/${zone!.account.id}/secondary_dns/tsigs`, { method: 'POST', headers, body });
  return secret;
}

/** Throws with what certbot printed when it fails. */
async function runCertbot(
  home: string,
  plugin: string,
  credentials: string,
  api: string,
  server: string,
): Promise<void> {
  const args = [
    ...['certonly', '--non-interactive', '--agree-tos', '--register-unsafely-without-email', '--no-verify-ssl'],
    ...['--server', server, `--dns-${plugin}`, `--dns-${plugin}-credentials`, credentials],
    ...[`--dns-${plugin}-propagation-seconds`, '3', '--config-dir', join(home, 'config')],
    ...['--work-dir', join(home, 'work'), '--logs-dir', join(home, 'logs'), '-d', ZONE, '-d', `*.${ZONE}`],
  ];
  const env = { PATH: process.env['PATH'], HOME: home, CLOUDFLARE_API_URL: api };
  try {
    await promisify(execFile)(CERTBOT, args, { env, timeout: 120_000 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`certbot failed: ${stdout}${stderr}`);
  }
}

async function rcodeOf(port: number, name: string): Promise<number | undefined> {
  const [answer] = await askAll(port, [makeQuery(parseName(name), 16)], 1000);
  return answer && decodeMessage(answer).rcode;
}
