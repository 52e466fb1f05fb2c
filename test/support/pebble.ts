/**
 * Pebble from Debian's packages: a certificate authority for tests, which queries the test's name server and web
 * server.
 */
import { spawn } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../../src/base/clock.js';
import { generatePrivateKey } from '../../src/certs/csr.js';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '../../src/certs/x509.js';
import { freePort } from './free-ports.js';

const PROGRAM = ['/usr/bin/pebble', '/usr/sbin/pebble'].find((path) => existsSync(path));

/** Why tests with Pebble are skipped; under CI=true they run, and fail. */
export const withoutPebble: string | false =
  PROGRAM === undefined && process.env['CI'] !== 'true' ? 'not installed: pebble' : false;

export interface PebbleOptions {
  /** Port of the name server on 127.0.0.1 that it asks. */
  readonly dnsPort: number;
  /** Requests in a hundred that are refused as `badNonce`; none by default. */
  readonly refusedNonces?: number;
  /** Key identifier → HMAC key in base64url; accounts need one of them then. */
  readonly externalAccounts?: Readonly<Record<string, string>>;
  /** Of two labels at most: Pebble 2.4 breaks down over orders for names with fewer labels than these. */
  readonly blockedDomains?: readonly string[];
  /** Where it looks for http-01; a free port by default. */
  readonly httpPort?: number;
  /** Seconds. */
  readonly validity?: number;
}

/** The certificate of a server on 127.0.0.1 that signed itself, PEM. */
export interface ServerIdentity {
  readonly certificate: string;
  readonly key: string;
}

export interface Pebble {
  readonly port: number;
  readonly directoryUrl: string;
  /** Where http-01 is looked for, on the addresses of the name. */
  readonly httpPort: number;
  readonly identity: ServerIdentity;
  /** The root of what it issues, PEM. */
  root(): Promise<string>;
  /** `Valid` or `Revoked`. `serial`: hexadecimal. */
  statusOf(serial: string): Promise<string>;
  stop(): Promise<void>;
}

/** Listens when this resolves. */
export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  if (PROGRAM === undefined) throw new Error('pebble is not installed');
  const [port, managementPort, freeHttpPort, tlsPort] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ]);
  const httpPort = options.httpPort ?? freeHttpPort;
  const identity = await makeServerIdentity();
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-pebble-'));
  const write = (file: string, text: string): string => {
    writeFileSync(join(directory, file), text);
    return join(directory, file);
  };
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: write('certificate.pem', identity.certificate),
    privateKey: write('key.pem', identity.key),
    httpPort,
    tlsPort,
    domainBlocklist: options.blockedDomains ?? [],
    externalAccountBindingRequired: options.externalAccounts !== undefined,
    externalAccountMACKeys: options.externalAccounts ?? {},
    certificateValidityPeriod: options.validity ?? 90 * 86_400,
  };
  const configuration = write('pebble.json', JSON.stringify({ pebble }));
  const child = spawn(PROGRAM, ['-config', configuration, '-dnsserver', `127.0.0.1:${options.dnsPort}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_AUTHZREUSE: '0',
      PEBBLE_WFE_NONCEREJECT: String(options.refusedNonces ?? 0),
    },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (printed += piece));
  const ended = once(child, 'exit');
  const management = (path: string): Promise<string | undefined> =>
    fetchText(`https://127.0.0.1:${managementPort}${path}`, identity.certificate);
  const directoryUrl = `https://127.0.0.1:${port}/dir`;
  for (let attempt = 0; (await fetchText(directoryUrl, identity.certificate)) === undefined; attempt++) {
    if (attempt > 1_200 || child.exitCode !== null) {
      child.kill('SIGKILL');
      throw new Error(`pebble did not start: ${printed}`);
    }
    await sleep(50);
  }
  return {
    port,
    directoryUrl,
    httpPort,
    identity,
    root: async () => (await management('/roots/0')) ?? '',
    statusOf: async (serial) => {
      const status = await management(`/cert-status-by-serial/${serial}`);
      return (JSON.parse(status ?? '{}') as { Status?: string }).Status ?? 'unknown';
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function makeServerIdentity(): Promise<ServerIdentity> {
  const key = await generatePrivateKey();
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const privateKey = key.toCryptoKey(algorithm, true, ['sign']);
  const publicKey = createPublicKey(key).toCryptoKey(algorithm, true, ['verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=pebble of a test',
    keys: { privateKey, publicKey },
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 86_400_000),
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
    ],
  });
  return { certificate: certificate.toString('pem'), key: key.export({ format: 'pem', type: 'pkcs8' }).toString() };
}

/** Undefined while nobody answers with 200. */
function fetchText(url: string, ca: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const call = get(url, { ca, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      answer.on('end', () => resolve(answer.statusCode === 200 ? text : undefined));
    });
    call.on('error', () => resolve(undefined));
  });
}
