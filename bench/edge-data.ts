/**
 * The data directory of the measured edge: a zone whose `www` leads to an origin, and custom hostnames with certificates of
 * their own.
 */

import { webcrypto } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SystemClock } from '../src/base/clock.js';
import { silentLogger } from '../src/base/log.js';
import { systemRandom } from '../src/base/random.js';
import { uploadCertificate } from '../src/certs/certificates.js';
import { checkBundle } from '../src/certs/upload.js';
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '../src/certs/x509.js';
import { ensureFirstAdministrator } from '../src/control/access/keys.js';
import { OPERATOR } from '../src/control/guard/actor.js';
import { type Context, DEFAULT_LIMITS } from '../src/control/kernel/context.js';
import { PARTICIPANTS } from '../src/control/participants.js';
import { createRecord } from '../src/control/records/records.js';
import { editZoneSetting } from '../src/control/zones/settings.js';
import { createZone } from '../src/control/zones/zones.js';
import { createEgress } from '../src/egress/egress.js';
import { putFallback } from '../src/hostnames/fallback-origin.js';
import { certificateOwner } from '../src/hostnames/item.js';
import { openStore } from '../src/store/driver.js';
import { findHostname, insertHostname, updateHostname } from '../src/store/hostnames/hostnames.js';
import { migrate } from '../src/store/migrate.js';
import { ALL_PURPOSES } from '../src/store/sealed-columns.js';
import { findZoneByName } from '../src/store/zones/zones.js';
import { fileKeys } from '../src/vault/master-key.js';
import { unlockVault } from '../src/vault/unlock.js';
import type { Vault } from '../src/vault/vault.js';
import { type Pair, ZONE } from './edge-servers.js';
import { dataDirectoryOf, KEY } from './program.js';

interface Filling {
  readonly ctx: Context & { readonly vault: Vault };
  close(): void;
}

async function open(directory: string): Promise<Filling> {
  const data = dataDirectoryOf(directory);
  mkdirSync(data, { recursive: true });
  const clock = new SystemClock();
  const store = openStore(data);
  migrate(store, clock, systemRandom);
  const keys = fileKeys(join(data, 'master.key'));
  const vault = await unlockVault({ store, keys, random: systemRandom, purposes: ALL_PURPOSES });
  const settings = {
    nameServers: ['ns1.example'],
    nameServerAddresses: [],
    edgeAddresses: [],
    ownAddresses: [],
    activation: 'trust',
    privateSuffixes: 'allow',
    limits: DEFAULT_LIMITS,
  } as const;
  const egress = createEgress({ allowed: [], own: { has: () => false } });
  const ctx = {
    store,
    clock,
    random: systemRandom,
    log: silentLogger(),
    egress,
    vault,
    settings,
    participants: PARTICIPANTS,
  };
  await ensureFirstAdministrator(ctx, { email: 'bench@localhost', key: KEY });
  return {
    ctx: { ...ctx, actor: OPERATOR, requestId: 'bench', source: 'cli' },
    close: () => store.close(),
  };
}

/**
 * WebSockets have an origin on the next port. The program must not run. `pair`: the certificate of the zone and of all names
 * one label below it.
 */
export async function prepareData(directory: string, originPort: number, pair: Pair): Promise<void> {
  const { ctx, close } = await open(directory);
  const { id } = await createZone(ctx, { name: ZONE });
  await createRecord(ctx, id, { type: 'A', name: 'origin', content: '127.0.0.1' });
  const proxied = { type: 'A', content: '127.0.0.1', proxied: true, settings: { origin_port: originPort } };
  await editZoneSetting(ctx, id, 'ssl', 'flexible');
  const cname = { ...proxied, type: 'CNAME', content: `origin.${ZONE}` };
  await createRecord(ctx, id, { ...cname, name: 'www' });
  await createRecord(ctx, id, { ...cname, name: 'fallback' });
  await createRecord(ctx, id, { ...cname, name: 'socket', settings: { origin_port: originPort + 1 } });
  await putFallback(ctx, id, `fallback.${ZONE}`);
  const files = { certificate: readFileSync(pair.certificate, 'utf8'), key: readFileSync(pair.key, 'utf8') };
  const zone = findZoneByName(ctx.store, ZONE)!.seq;
  await ctx.store.write(() => keep(ctx, { kind: 'zone', id }, zone, [ZONE, `*.${ZONE}`], files));
  close();
}

/** Gives the zone active custom hostnames, `h0.customer.example` and so on, each with a certificate of its own. */
export async function addHostnames(directory: string, count: number): Promise<void> {
  const { ctx, close } = await open(directory);
  const { store } = ctx;
  const zone = findZoneByName(store, ZONE)!.seq;
  const sign = await createSigner();
  for (let first = 0; first < count; first += BATCH) {
    const pairs: Pair[] = [];
    for (let i = first; i < Math.min(count, first + BATCH); i++) pairs.push(await sign(nameOf(i), i + 1));
    await store.write(() => {
      for (const [i, pair] of pairs.entries()) addHostname(ctx, zone, nameOf(first + i), pair);
    });
  }
  close();
}

/** Hostnames that are written together. */
const BATCH = 200;
const SSL = JSON.stringify({ method: 'txt', type: 'dv', authority: '', wildcard: false, settings: {} });

/** Inside a write. */
function addHostname(ctx: Filling['ctx'], zone: number, hostname: string, pair: Pair): void {
  const { store } = ctx;
  const id = systemRandom.uuid();
  const tokens = { txt_token: 'a', http_token: 'b', metadata: null, origin: null, origin_sni: null };
  insertHostname(store, { id, zone, hostname, ...tokens, ssl: SSL, next_check_ms: null, created_at: 1 });
  updateHostname(store, findHostname(store, id)!.seq, { state: 'active' });
  keep(ctx, certificateOwner(id), zone, [hostname], pair);
}

export function nameOf(i: number): string {
  return `h${i}.customer.example`;
}

/** Inside a write. */
function keep(
  ctx: Filling['ctx'],
  owner: ReturnType<typeof certificateOwner>,
  zone: number,
  names: readonly string[],
  pair: Pair,
): void {
  const bundle = checkBundle([pair], { names, bundleMethod: 'force', nowMs: ctx.clock.nowMs() });
  uploadCertificate(ctx, owner, { names, zone }, bundle);
}

/** Signs certificates for one key, which is enough here and quicker than a key for each. */
async function createSigner(): Promise<(name: string, number: number) => Promise<Pair>> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const own = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const pem = `-----BEGIN PRIVATE KEY-----\n${own.replace(/(.{64})/g, '$1\n')}\n-----END PRIVATE KEY-----\n`;
  return async (name, number) => {
    const certificate = await X509CertificateGenerator.createSelfSigned({
      serialNumber: number.toString(16).padStart(8, '0'),
      name: 'CN=customer',
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 3 * 86_400_000),
      signingAlgorithm: algorithm,
      keys,
      extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
    });
    return { certificate: certificate.toString('pem'), key: pem };
  };
}
