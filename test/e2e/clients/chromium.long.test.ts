/**
 * A browser, unmodified, against the real program: Chromium finds a page through our DNS over HTTPS, goes to HTTPS because of
 * our HTTPS record, trusts the built-in authority by its root alone, and speaks HTTP/2.
 */
import { execFile, execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { Type } from '../../../src/dns/codes.js';
import { parseName } from '../../../src/dns/name.js';
import { freePort } from '../../support/free-ports.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { startProgram, stopProgram } from '../../support/program.js';
import { until } from '../../support/until.js';

const KEY = 'chromium-key-0123456789-0123456789-0123456789';
const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
const CERTUTIL = '/usr/bin/certutil';
const HOST = 'www.shop.example';
const PAGE = '<!doctype html><title>The shop</title><h1>Welcome</h1><script src="/hello.js"></script>';

/** What is used of playwright-core, which drives the browser. Required, so that a clone without it still compiles. */
interface Page {
  goto(url: string, options: { readonly timeout: number }): Promise<unknown>;
  url(): string;
  waitForFunction(expression: string): Promise<unknown>;
  evaluate(expression: string): Promise<unknown>;
}
interface BrowserContext {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}
interface LaunchOptions {
  readonly executablePath: string;
  readonly env: NodeJS.ProcessEnv;
  readonly args: readonly string[];
}
interface Playwright {
  readonly chromium: {
    launchPersistentContext(profile: string, options: LaunchOptions): Promise<BrowserContext>;
  };
}

function findPlaywright(): Playwright | undefined {
  try {
    return createRequire(import.meta.url)('playwright-core') as Playwright;
  } catch {
    return undefined;
  }
}

const playwright = findPlaywright();

/** An address of this machine that is this test's own: the ports 80 and 443 of others stay free. */
const EDGE_ADDRESS = `127.83.${process.pid & 255}.${((process.pid >> 8) & 127) + 1}`;

/** Browsers look for HTTPS records at the name itself only for port 443 (RFC 9460 §9.1). */
async function mayListen(): Promise<boolean> {
  const server = createTcpServer();
  try {
    await once(server.listen(443, EDGE_ADDRESS), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

async function unless(): Promise<string | false> {
  if (process.env['CI'] === 'true') return false;
  if (!playwright) return 'playwright-core is not installed: npm ci';
  if (!existsSync(CHROMIUM) || !existsSync(CERTUTIL)) return 'chromium or certutil is not installed';
  return (await mayListen()) ? false : 'this user may not listen on port 443';
}

const skip = await unless();

interface Answer {
  readonly success: boolean;
  readonly result: { readonly id: string };
}

async function prepare(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-chromium-'));
  const asked: { url: string; headers: IncomingHttpHeaders }[] = [];
  const origin = createServer((request, response) => {
    asked.push({ url: request.url!, headers: request.headers });
    const isPage = request.url === '/';
    response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript');
    response.end(isPage ? PAGE : 'document.title = "It works";');
  });
  await once(origin.listen(0, '127.0.0.1'), 'listening');
  const doh = await freePort();
  const program = await startProgram({
    directory,
    key: KEY,
    environment: {
      ZONEPLANE_TLS_CERT: 'auto',
      ZONEPLANE_DOH_PORT: String(doh),
      ZONEPLANE_EDGE: 'on',
      ZONEPLANE_EDGE_HOST: EDGE_ADDRESS,
      ZONEPLANE_EDGE_HTTP_PORT: '80',
      ZONEPLANE_EDGE_HTTPS_PORT: '443',
      ZONEPLANE_EDGE_ADDRESSES: EDGE_ADDRESS,
      ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.0/8',
      ZONEPLANE_EDGE_ACCESS_LOG: '1',
    },
  });
  t.teardown(async () => {
    await stopProgram(program);
    origin.closeAllConnections();
    origin.close();
    rmSync(directory, { recursive: true, force: true });
  });
  async function call(method: string, path: string, body: unknown): Promise<string> {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const response = await fetch(`${program.api}/client/v4${path}`, { method, headers, body: JSON.stringify(body) });
    const answer = (await response.json()) as Answer;
    if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.result.id;
  }
  const zone = `/zones/${await call('POST', '/zones', { name: 'shop.example' })}`;
  await call('POST', `${zone}/dns_records`, { type: 'A', name: 'origin', content: '127.0.0.1' });
  const settings = { origin_port: (origin.address() as AddressInfo).port };
  const proxied = { type: 'CNAME', name: 'www', content: 'origin.shop.example', proxied: true, settings };
  await call('POST', `${zone}/dns_records`, proxied);
  await call('PATCH', `${zone}/settings/ssl`, { value: 'flexible' });
  const root = join(directory, 'root.pem');
  writeFileSync(root, await (await fetch(`${program.api}/ca.pem`)).text());
  return { directory, program, root, doh, asked };
}

/** Whether the name has an HTTPS record: it appears some moments after the certificate. */
async function hasHttpsRecord(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  try {
    socket.send(makeQuery(parseName(`${HOST}.`), Type.https), port, '127.0.0.1');
    const [answer] = (await once(socket, 'message', { signal: AbortSignal.timeout(5000) })) as [Buffer];
    return decodeMessage(answer).answer.length > 0;
  } finally {
    socket.close();
  }
}

/**
 * Browsers wait only some milliseconds for the HTTPS record after they have an address. A slow machine gets more time here,
 * and a question without an answer is a fault.
 */
const PATIENCE = [
  'UseDnsHttpsSvcb:UseDnsHttpsSvcbEnforceSecureResponse/true',
  'UseDnsHttpsSvcbSecureExtraTimeMin/30s',
  'UseDnsHttpsSvcbSecureExtraTimeMax/30s',
].join('/');

/** What a user does who imports the root and chooses our server under "Use secure DNS". */
function prepareProfile(directory: string, root: string, doh: number): { home: string; profile: string } {
  const home = join(directory, 'home');
  const database = join(home, '.pki', 'nssdb');
  mkdirSync(database, { recursive: true });
  execFileSync(CERTUTIL, ['-N', '--empty-password', '-d', `sql:${database}`]);
  execFileSync(CERTUTIL, ['-A', '-d', `sql:${database}`, '-n', 'built-in authority', '-t', 'C,,', '-i', root]);
  const profile = join(directory, 'profile');
  mkdirSync(profile);
  const dns = { mode: 'secure', templates: `https://127.0.0.1:${doh}/dns-query` };
  writeFileSync(join(profile, 'Local State'), JSON.stringify({ dns_over_https: dns }));
  return { home, profile };
}

t.test('Chromium', { skip, timeout: 540_000 }, async (t) => {
  const { directory, program, root, doh, asked } = await prepare(t);
  const curl = promisify(execFile);
  const trusting = ['-sS', '-m', '20', '--cacert', root, '--resolve', `*:443:${EDGE_ADDRESS}`];
  await until(async () => (await curl('curl', [...trusting, `https://${HOST}/`])).stdout === PAGE);
  await until(() => hasHttpsRecord(program.dnsPort));
  const { home, profile } = prepareProfile(directory, root, doh);
  const context = await playwright!.chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    env: { ...process.env, HOME: home },
    // Upgrades that browsers try without a record would hide what the record does.
    args: [
      `--enable-features=${PATIENCE}`,
      '--disable-features=HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable',
    ],
  });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const { length } = asked;
  await page.goto(`http://${HOST}/`, { timeout: 120_000 });
  t.equal(page.url(), `https://${HOST}/`, 'the HTTPS record leads to HTTPS');
  await page.waitForFunction('document.title === "It works"');
  const protocols = await page.evaluate(
    `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByName('https://${HOST}/hello.js')]
      .map(({ nextHopProtocol }) => nextHopProtocol)`,
  );
  t.strictSame(protocols, ['h2', 'h2'], 'page and script come over HTTP/2');
  const seen = asked.slice(length).filter(({ url }) => url !== '/favicon.ico');
  t.strictSame(
    seen.map(({ url, headers }) => [url, headers['x-forwarded-proto']]),
    [
      ['/', 'https'],
      ['/hello.js', 'https'],
    ],
    'nothing went over plain HTTP',
  );
  await until(async () =>
    /"httpVersion":"2\.0","tlsVersion":"TLSv1\.3","host":"www\.shop\.example"/.test(program.printed()),
  );
  const denied = await context.newPage();
  await t.rejects(denied.goto('https://nobody.shop.example/', { timeout: 120_000 }), /ERR_NAME_NOT_RESOLVED/);
});
