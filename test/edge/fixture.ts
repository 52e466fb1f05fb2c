/** An edge in the test's process, over a store that use cases write, with origins that the test answers for. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import type { Test } from 'tap';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { parseIP } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { type CertificateOwner, uploadCertificate } from '../../src/certs/certificates.js';
import { checkBundle, type Upload } from '../../src/certs/upload.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord } from '../../src/control/records/records.js';
import { createZone } from '../../src/control/zones/zones.js';
import { type Edge, type EdgeOptions, startEdge } from '../../src/edge/edge.js';
import type { Listener } from '../../src/egress/own-listeners.js';
import { createResolver } from '../../src/resolver/resolve.js';
import { createUpstream, type UpstreamServer } from '../../src/resolver/upstream.js';
import { openStore } from '../../src/store/driver.js';
import {
  findHostname,
  type HostnameChange,
  insertHostname,
  updateHostname,
} from '../../src/store/hostnames/hostnames.js';
import { ALL_PURPOSES } from '../../src/store/sealed-columns.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import type { Vault } from '../../src/vault/vault.js';
import { startControl } from '../control/fixture.js';
import { egressTo } from '../support/egress.js';
import { freePort } from '../support/free-ports.js';

export interface EdgeWorld {
  readonly ctx: Context;
  readonly edge: Edge;
  readonly vault: Vault;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** A zone whose `www` is proxied to a port of this machine, and which has a certificate. Returns its identifier. */
  readonly zone: (name: string, port: number) => Promise<string>;
  readonly certify: (owner: CertificateOwner, zone: string, names: readonly string[]) => Promise<void>;
  /** Sends octets to the plain port and gives what comes back until the end. */
  readonly raw: (text: string) => Promise<string>;
  readonly tls: (servername: string, options?: ConnectionOptions) => Promise<TLSSocket>;
  /** Another edge over the same database, with connections of its own. */
  readonly another: () => Promise<EdgeWorld['tls']>;
  /** Waits until the edge has heard of everything that was written. */
  readonly heard: () => Promise<void>;
}

/** A clock that can be put forward. */
export class LaterClock extends SystemClock {
  laterMs = 0;

  override steadyUs(): number {
    return super.steadyUs() + this.laterMs * 1000;
  }
}

export const EDGE_ADDRESS = '203.0.113.80';

/** As it is reached from outside, too. */
function edgeListeners(...ports: readonly number[]): Listener[] {
  const published = [80, 443, ...ports].map((port) => ({ host: EDGE_ADDRESS, port, place: 'elsewhere' as const }));
  return [...published, ...ports.map((port) => ({ host: '127.0.0.1', port, place: 'here' as const }))];
}

/** `servers`: outside resolvers; none unless given. */
export async function startEdgeWorld(
  t: Test,
  { servers = [], ...options }: Partial<EdgeOptions> & { readonly servers?: readonly UpstreamServer[] } = {},
): Promise<EdgeWorld> {
  const serving = { edgeAddresses: [parseIP(EDGE_ADDRESS)!] };
  const { ctx, directory } = await startControl(t, serving);
  const clock = new SystemClock();
  const vault = await unlockVault({
    store: ctx.store,
    keys: fileKeys(join(directory, 'master.key')),
    random: systemRandom,
    purposes: ALL_PURPOSES,
  });
  const begin = async () => {
    // Another connection, as in a process of its own.
    const store = openStore(directory, { readonly: true });
    const [httpPort, httpsPort] = [await freePort(), await freePort()];
    const upstream = createUpstream({ servers: [...servers], clock });
    const edge = await startEdge({
      ...{ store, vault, clock, random: systemRandom, log: silentLogger(), serving: ctx.settings },
      resolver: createResolver({ store, upstream, clock, random: systemRandom, serving: ctx.settings }),
      places: { hosts: ['127.0.0.1'], httpPort, httpsPort },
      egress: egressTo(clock, ['127.0.0.0/8'], edgeListeners(httpPort, httpsPort)),
      bodyLimit: 1 << 20,
      cacheOctets: 1 << 24,
      logEvery: 0,
      details: true,
      ...options,
    });
    t.teardown(async () => {
      // The clock of the edge keeps no process alive, and neither does a connection of which nothing is read. In programs, signals do.
      const alive = setInterval(() => {}, 1000);
      await edge.drain(500);
      clearInterval(alive);
      store.close();
    });
    return { edge, httpPort, httpsPort };
  };
  const { edge, httpPort, httpsPort } = await begin();
  const certify: EdgeWorld['certify'] = (owner, zone, names) => keepCertificate(ctx, vault, owner, zone, names);
  const heard: EdgeWorld['heard'] = async () => {
    while (edge.isBehind()) {
      edge.wake();
      await sleep(1);
    }
  };
  return {
    ...{ ctx, edge, vault, heard, httpPort, httpsPort, certify },
    async zone(name, port) {
      const { id } = await createZone(ctx, { name });
      await createRecord(ctx, id, { type: 'A', name: 'origin', content: '127.0.0.1' });
      await proxy(ctx, id, 'www', `origin.${name}`, port);
      await certify({ kind: 'zone', id }, name, [name, `*.${name}`]);
      await heard();
      return id;
    },
    async another() {
      const other = await begin();
      return (servername, more) => secure(other.httpsPort, servername, more);
    },
    raw: (text) => exchange(connect(httpPort, '127.0.0.1'), text),
    tls: (servername, more) => secure(httpsPort, servername, more),
  };
}

export async function proxy(ctx: Context, zone: string, name: string, content: string, port: number): Promise<string> {
  const settings = { origin_port: port };
  const { id } = await createRecord(ctx, zone, { type: 'CNAME', name, content, proxied: true, settings });
  return id;
}

/** A custom hostname of a zone, active unless said otherwise. Returns its identifier. */
export async function addHostname(
  { store }: Context,
  zone: string,
  hostname: string,
  change: HostnameChange = {},
): Promise<string> {
  const id = randomUUID();
  const tokens = { txt_token: 'a', http_token: 'b' };
  const columns = { ssl: null, metadata: null, origin: null, origin_sni: null, next_check_ms: null, created_at: 1 };
  await store.write(() => {
    insertHostname(store, { id, zone: findZoneByName(store, zone)!.seq, hostname, ...tokens, ...columns });
    updateHostname(store, findHostname(store, id)!.seq, { state: 'active', ...change });
  });
  return id;
}

/** An origin on a port of its own, ended with the test. */
export async function startOrigin(t: Test, answer: RequestListener): Promise<{ port: number; server: Server }> {
  const server = createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server };
}

/** All that comes back until the other side ends. */
export function exchange(socket: Socket, text: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = '';
    socket.on('data', (piece: Buffer) => {
      heard += piece.toString('latin1');
    });
    socket.once('close', () => resolve(heard));
    socket.once('error', () => {});
    socket.write(Buffer.from(text, 'latin1'));
  });
}

function secure(port: number, servername: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', servername, rejectUnauthorized: false, ...options });
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}

export async function keepCertificate(
  ctx: Context,
  vault: Vault,
  owner: CertificateOwner,
  zone: string,
  names: readonly string[],
): Promise<void> {
  const nowMs = Date.now();
  const bundle = checkBundle([makeCertificate(names)], { names, bundleMethod: 'force', nowMs });
  const { seq } = findZoneByName(ctx.store, zone)!;
  await ctx.store.write(() => uploadCertificate({ ...ctx, vault }, owner, { names, zone: seq }, bundle));
}

/** Signed by itself. */
export function makeCertificate(names: readonly string[]): Upload {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cert-'));
  const [key, certificate] = [join(directory, 'key'), join(directory, 'cert')];
  const san = names.map((name) => `DNS:${name}`).join(',');
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
        '3',
        '-subj',
        '/CN=t',
      ],
      ...['-addext', `subjectAltName=${san}`, '-keyout', key, '-out', certificate],
    ],
    { stdio: 'ignore' },
  );
  const made = { certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') };
  rmSync(directory, { recursive: true });
  return made;
}
