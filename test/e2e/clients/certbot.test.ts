/**
 * The whole way of a DNS challenge (RFC 8555 §8.4) with programs of other people: certbot with its unmodified dns-cloudflare plugin
 * writes to our API, Pebble looks the challenge up at our name server and issues a wildcard certificate.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { sleep } from '../../../src/base/clock.js';
import { parseName } from '../../../src/dns/name.js';
import { freePort } from '../../support/free-ports.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { startProgram } from '../../support/program.js';
import { askAll } from '../../support/reference-servers.js';

const CERTBOT = '/usr/bin/certbot';
const PEBBLE = '/usr/bin/pebble';
const PLUGIN = '/usr/lib/python3/dist-packages/certbot_dns_cloudflare';
const KEY = 'certbot-key-0123456789-0123456789-0123456789';
const EMAIL = 'admin@certbot.test';
const ZONE = 'certbot.test';

const absent = [CERTBOT, PEBBLE, PLUGIN].filter((path) => !existsSync(path));
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : false;

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-certbot-'));
const started: ChildProcess[] = [];
t.teardown(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.pid === undefined) continue;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
  rmSync(directory, { recursive: true, force: true });
});

t.test('a wildcard certificate', { skip }, async (t) => {
  const { api, dnsPort } = await startZoneplane();
  const server = await startPebble(dnsPort);
  const credentials = {
    'e-mail and key': `dns_cloudflare_email = ${EMAIL}\ndns_cloudflare_api_key = ${KEY}\n`,
    'bearer token': `dns_cloudflare_api_token = ${KEY}\n`,
  };
  for (const [index, [what, lines]] of Object.entries(credentials).entries()) {
    const home = join(directory, `certbot-${index}`);
    mkdirSync(home);
    const file = join(home, 'cloudflare.ini');
    writeFileSync(file, lines, { mode: 0o600 });
    await runCertbot(home, file, api, server);
    const chain = readFileSync(join(home, 'config', 'live', ZONE, 'fullchain.pem'));
    const names = new X509Certificate(chain).subjectAltName?.split(', ').sort();
    t.strictSame(names, [`DNS:*.${ZONE}`, `DNS:${ZONE}`], what);
    t.equal(await rcodeOf(dnsPort, `_acme-challenge.${ZONE}.`), 3, 'the challenges were taken away again');
  }
});

/** The program as users start it, with one zone. */
async function startZoneplane(): Promise<{ api: string; dnsPort: number }> {
  const zones = join(directory, 'zones');
  mkdirSync(zones);
  writeFileSync(
    join(zones, `${ZONE}.zone`),
    `$ORIGIN ${ZONE}.\n$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n`,
  );
  const program = await startProgram({ directory, key: KEY, environment: { ZONEPLANE_ADMIN_EMAIL: EMAIL } });
  started.push(program.child);
  return { api: `${program.api}/client/v4/`, dnsPort: program.dnsPort };
}

/** A certificate authority that asks our name server; returns the address of its directory. */
async function startPebble(dnsPort: number): Promise<string> {
  const [listen, management] = [await freePort(), await freePort()];
  const at = (file: string): string => join(directory, file);
  execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=localhost',
      ],
      ...['-addext', 'subjectAltName=IP:127.0.0.1', '-out', at('pebble.pem'), '-keyout', at('pebble-key.pem')],
    ],
    { stdio: 'ignore' },
  );
  const pebble = {
    listenAddress: `127.0.0.1:${listen}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: at('pebble.pem'),
    privateKey: at('pebble-key.pem'),
    httpPort: 5002,
    tlsPort: 5001,
  };
  writeFileSync(at('pebble.json'), JSON.stringify({ pebble }));
  const child = spawn(PEBBLE, ['-config', at('pebble.json'), '-dnsserver', `127.0.0.1:${dnsPort}`], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0' },
  });
  started.push(child);
  const url = `https://127.0.0.1:${listen}/dir`;
  const isUp = (): Promise<boolean> =>
    new Promise((resolve) => {
      const call = get(url, { rejectUnauthorized: false, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      });
      call.on('error', () => resolve(false));
    });
  await until(isUp, 'Pebble listens');
  return url;
}

/** Throws with what certbot printed when it fails. */
async function runCertbot(home: string, credentials: string, api: string, server: string): Promise<void> {
  const args = [
    ...['certonly', '--non-interactive', '--agree-tos', '--register-unsafely-without-email', '--no-verify-ssl'],
    ...['--server', server, '--dns-cloudflare', '--dns-cloudflare-credentials', credentials],
    ...['--dns-cloudflare-propagation-seconds', '0', '--config-dir', join(home, 'config')],
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

async function until(check: () => Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await check()) return;
    await sleep(50);
  }
  throw new Error(`${what}: not within 20 s`);
}
