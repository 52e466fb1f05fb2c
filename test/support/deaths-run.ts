/** Runs connection deaths against the real program, and says what is wrong afterwards. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '../edge/fixture.js';
import { HOST, HOST_H2, holdingOf, type Place, runCases, startOrigins } from './connection-deaths.js';
import { freePort } from './free-ports.js';
import { childOf, type Program, startProgram, stopProgram } from './program.js';
import { firstThat, until } from './until.js';

const KEY = 'deaths-key-0123456789-0123456789-0123456789';
const ROLES = ['edge', 'dns', 'admin'] as const;
/** Descriptors and memory that may stay: logs, and what caches keep. */
const SPARE_DESCRIPTORS = 24;
const SPARE_MEMORY = 300 * 1024 ** 2;
/** Longer than the longest time that a silent connection may stay. */
const CALM_MS = 150_000;

interface EdgePorts {
  readonly http: number;
  readonly https: number;
}

export interface DeathsOptions {
  readonly cases: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/** Resolves with one line for each fault. */
export async function runDeaths({ cases, seed, say }: DeathsOptions): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-deaths-'));
  const origins = await startOrigins(seed);
  const made = makeCertificate([HOST, HOST_H2]);
  for (const [name, text] of Object.entries(made)) writeFileSync(join(directory, `${name}.pem`), text);
  const ports = {
    http: await freePort(),
    https: await freePort(),
    dot: await freePort(),
    doh: await freePort(),
    api: await freePort(),
  };
  const program = await startProgram({
    ...{ directory, key: KEY },
    environment: {
      ZONEPLANE_EDGE: 'on',
      ZONEPLANE_EDGE_HOST: '127.0.0.1',
      ZONEPLANE_EDGE_HTTP_PORT: String(ports.http),
      ZONEPLANE_EDGE_HTTPS_PORT: String(ports.https),
      ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.0/8',
      ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80',
      ZONEPLANE_DOT_PORT: String(ports.dot),
      ZONEPLANE_DOH_PORT: String(ports.doh),
      ZONEPLANE_ADMIN_TLS_PORT: String(ports.api),
      ZONEPLANE_TLS_CERT: join(directory, 'certificate.pem'),
      ZONEPLANE_TLS_KEY: join(directory, 'key.pem'),
    },
  });
  try {
    await makeZone(program, 'deaths.example', origins.plainPort, { ssl: 'flexible' });
    await makeZone(program, 'deaths-h2.example', origins.tlsPort, { origin_max_http_version: '2' });
    const places: Place[] = [
      { name: 'edge', port: ports.http, kind: 'http', tls: false },
      { name: 'edge over TLS', port: ports.https, kind: 'http', tls: true },
      { name: 'edge over TLS', port: ports.https, kind: 'http', tls: true },
      { name: 'API', port: program.adminPort, kind: 'http', tls: false },
      { name: 'API over TLS', port: ports.api, kind: 'http', tls: true },
      { name: 'bucket application', port: program.bucketPort, kind: 'http', tls: false },
      { name: 'DNS over TCP', port: program.dnsPort, kind: 'dns', tls: false },
      { name: 'DNS over TLS', port: ports.dot, kind: 'dns', tls: true },
      { name: 'DNS over HTTPS', port: ports.doh, kind: 'http', tls: true },
    ];
    await until(async () => (await ordinary(program, ports)).length === 0, 'ordinary requests are answered');
    return await attack(program, places, ports, { cases, seed, say });
  } finally {
    await stopProgram(program);
    origins.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function attack(
  program: Program,
  places: readonly Place[],
  ports: EdgePorts,
  { cases, seed, say }: DeathsOptions,
): Promise<string[]> {
  const faults: string[] = [];
  const pids = () => ROLES.map((role) => childOf(program.child.pid!, role));
  // What is loaded and kept at first is not lost.
  await runCases(places, seed, 100);
  const before = pids();
  const held = before.map((pid) => holdingOf(pid!));
  for (let done = 0; done < cases && faults.length < 5; done += 100) {
    await runCases(places, seed + 100 + done, Math.min(100, cases - done));
    const silent = await ordinary(program, ports);
    faults.push(...silent.map((what) => `after ${done + 100} cases: ${what}`));
    const now = pids();
    if (now.join() !== before.join())
      faults.push(`after ${done + 100} cases: processes ${before.join()} are ${now.join()}`);
    if ((done + 100) % 1000 === 0)
      say(`${done + 100} cases: ${JSON.stringify(now.map((pid) => pid && holdingOf(pid)))}`);
  }
  if (faults.length > 0)
    return [
      ...faults,
      program
        .printed()
        .split('\n')
        .filter((line) => /"(?:error|fatal)"/.test(line))
        .slice(-5)
        .join('\n'),
    ];
  for (const [i, role] of ROLES.entries()) {
    const { descriptors, memory } = held[i]!;
    const calm = () => holdingOf(before[i]!);
    await firstThat(calm, (now) => now.descriptors <= descriptors + SPARE_DESCRIPTORS, { limitMs: CALM_MS }).catch(
      () => {},
    );
    const now = calm();
    say(`${role}: ${JSON.stringify({ before: held[i], now })}`);
    if (now.descriptors > descriptors + SPARE_DESCRIPTORS)
      faults.push(`${role} keeps ${now.descriptors} descriptors of ${descriptors}`);
    if (now.memory > memory + SPARE_MEMORY) faults.push(`${role} keeps ${now.memory} octets of ${memory}`);
  }
  const unheard = program
    .printed()
    .split('\n')
    .filter((line) => /nobody has heard|has a fault|could not be answered/.test(line));
  return [...faults, ...unheard.slice(0, 5)];
}

/** What is not answered as usual. */
async function ordinary(program: Program, ports: EdgePorts): Promise<string[]> {
  const asks: Record<string, () => Promise<boolean>> = {
    edge: async () => (await statusOf(ports.http, HOST, false)) === 200,
    'edge to an origin with HTTP/2': async () => (await statusOf(ports.https, HOST_H2, true)) === 200,
    API: async () => (await fetch(`${program.api}/readyz`, { signal: AbortSignal.timeout(20_000) })).ok,
  };
  const silent: string[] = [];
  for (const [what, ask] of Object.entries(asks)) {
    if (!(await ask().catch(() => false))) silent.push(`${what} does not answer`);
  }
  return silent;
}

/** The status of an ordinary request over a connection of its own. */
async function statusOf(port: number, host: string, isSecure: boolean): Promise<number> {
  const send = isSecure ? requestHttps : requestHttp;
  // Another client than the one whose floods are refused for a while.
  const from = { host: '127.0.0.1', localAddress: '127.0.0.99' };
  const options = { ...from, port, path: '/0', headers: { host }, agent: false, timeout: 20_000 };
  const asked = send({ ...options, servername: host, rejectUnauthorized: false } as RequestOptions);
  asked.on('timeout', () => asked.destroy());
  asked.on('error', () => {});
  asked.end();
  const [message] = (await once(asked, 'response')) as [IncomingMessage];
  message.resume();
  message.on('error', () => {});
  return message.statusCode!;
}

async function makeZone(
  program: Program,
  name: string,
  port: number,
  settingsOf: Record<string, string>,
): Promise<void> {
  const call = async (method: string, path: string, body: unknown): Promise<{ id: string }> => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const response = await fetch(`${program.api}/client/v4${path}`, { method, headers, body: JSON.stringify(body) });
    return ((await response.json()) as { result: { id: string } }).result;
  };
  const { id } = await call('POST', '/zones', { name });
  const records = `/zones/${id}/dns_records`;
  await call('POST', records, { type: 'A', name: 'origin', content: '127.0.0.1' });
  const proxied = { type: 'CNAME', name: 'www', content: `origin.${name}`, proxied: true };
  await call('POST', records, { ...proxied, settings: { origin_port: port } });
  for (const [setting, value] of Object.entries(settingsOf))
    await call('PATCH', `/zones/${id}/settings/${setting}`, { value });
}
