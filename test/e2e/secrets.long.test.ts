/**
 * Secrets that must not be readable anywhere: private keys, account keys, tokens, the master key. The program handles
 * custom hostnames, orders at two authorities, an uploaded certificate, tokens and objects; then everything that it
 * wrote, printed and answered is searched for every secret in every form in which it could leak.
 */
import { execFile } from 'node:child_process';
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { request } from 'undici';
import { sleep } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '../../src/certs/x509.js';
import { openStore } from '../../src/store/driver.js';
import {
  ALL_PURPOSES,
  SEALED_COLUMNS,
  SECRET_ACCESS_KEYS,
  type SealedColumn,
  TICKET_SECRETS,
  TSIG_SECRETS,
  WEBHOOK_SECRETS,
} from '../../src/store/sealed-columns.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import { freePort } from '../support/free-ports.js';
import { startPebble, withoutPebble } from '../support/pebble.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';

const ZONES: Readonly<Record<string, string>> = {
  'saas.test': '@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n',
  'customer.test':
    '@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nembedded.shop CNAME origin.saas.test.\nacme.shop CNAME origin.saas.test.\nbrought.shop CNAME origin.saas.test.\n',
};
const key = `admin-key-${randomBytes(20).toString('hex')}`;
const authKeySecret = `auth-${randomBytes(16).toString('hex')}`;
const hmacKey = randomBytes(32);

/** A secret by what it is. */
const secrets = new Map<string, readonly Buffer[]>();
/** Everything that may be read, by where it is. */
const readable = new Map<string, Buffer>();

t.test('no secret is in the database, its log, the log, answers or the backup', { skip: withoutPebble }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-secrets-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, 'zones'));
  for (const [name, records] of Object.entries(ZONES)) {
    writeFileSync(join(directory, 'zones', `${name}.zone`), `$ORIGIN ${name}.\n$TTL 60\n${records}`);
  }
  const dnsPort = await freePort();
  const pebble = await startPebble({ dnsPort, externalAccounts: { 'kid-1': hmacKey.toString('base64url') } });
  t.teardown(() => pebble.stop());
  writeFileSync(join(directory, 'bundle.pem'), pebble.identity.certificate);
  const environment = {
    ZONEPLANE_DNS_PORT: String(dnsPort),
    ZONEPLANE_LOG_LEVEL: 'debug',
    ZONEPLANE_CA_SSL_COM_DIRECTORY: pebble.directoryUrl,
    ZONEPLANE_CA_SSL_COM_EAB_KID: 'kid-1',
    ZONEPLANE_CA_SSL_COM_EAB_HMAC: hmacKey.toString('base64url'),
    ZONEPLANE_CA_BUNDLE: join(directory, 'bundle.pem'),
    AUTH_KEY_SECRET: authKeySecret,
  };
  addText('key of the administrator', key);
  addText('secret of the bucket application', authKeySecret);
  addText('key of the external account', hmacKey.toString('base64url'));
  addOctets('key of the external account, octets', hmacKey);

  const program = await startProgram({ directory, key, environment });
  try {
    await live(program);
    await readCommands(directory, { ...environment, ZONEPLANE_ADMIN_KEY: key });
    await addSealed(directory);
    readFiles(join(directory, 'data'));
  } finally {
    await stopProgram(program);
  }
  readable.set('log', Buffer.from(program.printed()));
  const kinds = [...secrets.keys()].map((name) => name.replace(/ \d+$/, ''));
  t.strictSame(
    SEALED_COLUMNS.map(({ table }) => table).filter((table) => !kinds.includes(table)),
    // Those of sign-in are looked for where people sign in: api/sign-in.test.ts.
    ['certificate_orders', 'one_time_passwords', 'oidc_providers'],
    'the story has made secrets of every other kind; orders are over',
  );
  for (const where of ['data/zoneplane.db', 'data/zoneplane.db-wal', 'backup.db', 'log', 'config show --json']) {
    t.ok((readable.get(where)?.length ?? 0) > 100, `${where} was looked through`);
  }
  t.ok(
    readable.get('log')!.includes('"level":"debug"') || /"level":20/.test(readable.get('log')!.toString()),
    'all is logged',
  );
  for (const [secret, forms] of secrets) {
    const found = [...readable].filter(([, text]) => forms.some((form) => text.includes(form))).map(([where]) => where);
    t.strictSame(found, [], secret);
  }
});

/** The story: every kind of secret comes into being, and everything is asked for. */
async function live(program: Program): Promise<void> {
  const { api, bucketPort } = program;
  const call = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) => {
    const answer = await request(`${api}/client/v4${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return { text, headers: JSON.stringify(answer.headers), result: (JSON.parse(text) as { result: never }).result };
  };
  const ask = async <T>(method: Parameters<typeof call>[0], path: string, body?: object): Promise<T> => {
    const { text, headers, result } = await call(method, path, body);
    const name = `${method} ${path.replace(/[0-9a-f-]{32,36}/g, ':id')}`;
    readable.set(name, Buffer.concat([readable.get(name) ?? Buffer.alloc(0), Buffer.from(headers), Buffer.from(text)]));
    return result;
  };
  const [zone] = await ask<{ id: string }[]>('GET', '/zones?name=saas.test');
  const hostnames = `/zones/${zone!.id}/custom_hostnames`;
  const origin = { type: 'A', name: 'origin.saas.test', content: '192.0.2.10', proxied: true };
  await ask('POST', `/zones/${zone!.id}/dns_records`, origin);
  await ask('PUT', `${hostnames}/fallback_origin`, { origin: 'origin.saas.test' });
  const create = (hostname: string, ssl: object) => ask<{ id: string }>('POST', hostnames, { hostname, ssl });
  const ids: string[] = [];
  for (const [label, certificate_authority] of [
    ['embedded', 'google'],
    ['acme', 'ssl_com'],
  ]) {
    ids.push((await create(`${label}.shop.customer.test`, { method: 'txt', type: 'dv', certificate_authority })).id);
  }
  const brought = await makeUpload('brought.shop.customer.test');
  const settings = { method: 'txt', type: 'dv', bundle_method: 'force' };
  ids.push((await create('brought.shop.customer.test', { ...settings, ...brought })).id);
  for (const id of ids) {
    for (let i = 0; i < 750; i++) {
      const found = await ask<{ ssl: { status: string } }>('GET', `${hostnames}/${id}`);
      if (found.ssl.status === 'active') break;
      if (i === 749) throw new Error(`it has no certificate: ${JSON.stringify(found)}`);
      await sleep(100);
    }
  }
  const again = await makeUpload('brought.shop.customer.test');
  await ask('PATCH', `${hostnames}/${ids[2]}`, { ssl: { ...settings, ...again } });

  // The one answer that shows a secret: it is shown once.
  const groups = await ask<{ id: string; name: string }[]>('GET', '/user/tokens/permission_groups');
  const group = groups.find(({ name }) => name === 'DNS Read') ?? groups[0]!;
  const policies = [
    {
      effect: 'allow',
      resources: { [`com.cloudflare.api.account.zone.${zone!.id}`]: '*' },
      permission_groups: [group],
    },
  ];
  const made = (await call('POST', '/user/tokens', { name: 'reader', policies })) as unknown as {
    result: { id: string; value: string };
  };
  const token = made.result;
  addText('token', token.value);
  const storage = groups.find(({ name }) => name === 'Workers R2 Storage Read')!;
  const ofBuckets = {
    effect: 'allow',
    resources: { [`com.cloudflare.api.account.${(await ask<{ id: string }[]>('GET', '/accounts'))[0]!.id}`]: '*' },
    permission_groups: [storage],
  };
  const s3 = (await call('POST', '/user/tokens', { name: 's3', policies: [ofBuckets] })) as unknown as typeof made;
  addText('token for buckets', s3.result.value);
  await request(`${api}/client/v4/zones?name=saas.test`, { headers: { authorization: `Bearer ${token.value}` } });
  await request(`${api}/client/v4/zones`, {
    headers: { authorization: 'Bearer wrong-but-like-a-secret-0123456789abcdef' },
  });

  const accountId = (await ask<{ id: string }[]>('GET', '/accounts'))[0]!.id;
  await ask('PATCH', `/zones/${zone!.id}/dnssec`, { status: 'active' });
  const tsig = { name: 'transfer.saas.test.', algo: 'hmac-sha256.', secret: randomBytes(32).toString('base64') };
  await call('POST', `/accounts/${accountId}/secondary_dns/tsigs`, tsig);
  const alerting = `/accounts/${accountId}/alerting/v3`;
  const hook = { name: 'chat', url: 'https://hooks.example.com/told', secret: randomBytes(24).toString('hex') };
  const { id: hookId } = await ask<{ id: string }>('POST', `${alerting}/destinations/webhooks`, hook);
  const told = { name: 'all', alert_type: 'zoneplane_record', mechanisms: { webhooks: [{ id: hookId }] } };
  await ask('POST', `${alerting}/policies`, told);
  await ask('POST', `/zones/${zone!.id}/dns_records`, { type: 'TXT', name: 'told', content: '"of"' });
  const object = `http://127.0.0.1:${bucketPort}/some-key`;
  const sent = { method: 'PUT', headers: { 'x-custom-auth-key': authKeySecret }, body: 'an object' } as const;
  readable.set('PUT object', Buffer.from(await (await request(object, sent)).body.text()));
  for (const path of [
    hostnames,
    `${hostnames}/quota`,
    `${alerting}/destinations/webhooks`,
    `${alerting}/destinations/webhooks/${hookId}/deliveries`,
    `${alerting}/history`,
    '/events',
    '/user/tokens',
    `/user/tokens/${token.id}`,
    `/accounts/${accountId}/audit_logs`,
    '/user/audit_logs',
    `/accounts/${accountId}/r2/buckets`,
    `/zones/${zone!.id}/dns_records`,
    `/zones/${zone!.id}/dnssec`,
    `/zones/${zone!.id}/dnssec/keys`,
    `/zones/${zone!.id}/dnssec/zsk`,
    `/zones/${zone!.id}/dnssec/status`,
  ]) {
    await ask('GET', path).catch((error: Error) => readable.set(`GET ${path}`, Buffer.from(error.message)));
  }
  for (const path of ['/metrics', '/openapi.json', '/ca.pem', '/readyz']) {
    readable.set(path, Buffer.from(await (await request(`${api}${path}`)).body.text()));
  }
}

/** What commands print, and the backup. */
async function readCommands(directory: string, environment: Record<string, string>): Promise<void> {
  const env = { PATH: process.env['PATH'], ZONEPLANE_DATA_DIR: join(directory, 'data'), ...environment };
  const commands = [
    'config show --json',
    'config show --origin',
    'doctor',
    'certificate list --json',
    'certificate show acme.shop.customer.test',
    'ca list --json',
    'job list --json',
    'key list --json',
    'secret list --json',
    'hostname list saas.test --json',
    `backup ${join(directory, 'backup.db')}`,
  ];
  for (const command of commands) {
    const run = promisify(execFile)(process.execPath, [resolve('build/src/main.js'), ...command.split(' ')], { env });
    const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
    readable.set(command, Buffer.from(stdout + stderr));
  }
  readable.set('backup.db', readFileSync(join(directory, 'backup.db')));
}

/** All files but the one that holds the master key. */
function readFiles(directory: string, name = 'data'): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const [path, where] = [join(directory, entry.name), `${name}/${entry.name}`];
    if (entry.isDirectory()) readFiles(path, where);
    else if (entry.isFile() && entry.name !== 'master.key') readable.set(where, readFileSync(path));
  }
}

const SHARED: ReadonlySet<SealedColumn> = new Set([TSIG_SECRETS, TICKET_SECRETS, SECRET_ACCESS_KEYS, WEBHOOK_SECRETS]);

/** The master key, and what is sealed with it. */
async function addSealed(directory: string): Promise<void> {
  const data = join(directory, 'data');
  const path = join(data, 'master.key');
  addText('master key', readFileSync(path, 'utf8').trim());
  addOctets('master key, octets', Buffer.from(readFileSync(path, 'utf8').trim(), 'hex'));
  const store = openStore(data);
  try {
    const vault = await unlockVault({ store, keys: fileKeys(path), random: systemRandom, purposes: ALL_PURPOSES });
    for (const sealed of SEALED_COLUMNS) {
      const { table, id, column } = sealed;
      const rows = store
        .prepare<[], { id: string; sealed: Uint8Array }>(
          `SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
        )
        .all();
      for (const [index, row] of rows.entries()) {
        const plain = Buffer.from(vault.open(sealed, row.id, new Uint8Array(row.sealed)));
        // Secrets that servers share are not private keys.
        if (SHARED.has(sealed)) addOctets(`${table} ${index}`, plain);
        else addKey(`${table} ${index}`, plain);
      }
    }
  } finally {
    store.close();
  }
}

/** A certificate that signed itself, and its key, as a customer brings them. */
async function makeUpload(hostname: string): Promise<{ custom_certificate: string; custom_key: string }> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${hostname}`,
    keys: {
      privateKey: privateKey.toCryptoKey(algorithm, true, ['sign']),
      publicKey: createPublicKey(privateKey).toCryptoKey(algorithm, true, ['verify']),
    },
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 30 * 86_400_000),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }]),
    ],
  });
  addKey(`upload ${secrets.size}`, privateKey.export({ format: 'der', type: 'pkcs8' }));
  const custom_key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  return { custom_certificate: certificate.toString('pem'), custom_key };
}

/** Numbers of a private key that nobody else knows, and PEM of them, whose lines are cut after 48 octets. */
function addKey(name: string, der: Buffer): void {
  const privateKey: KeyObject = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const jwk = privateKey.export({ format: 'jwk' });
  const numbers = [jwk.d, jwk.p, jwk.q].flatMap((text) => (text ? [Buffer.from(text, 'base64url')] : []));
  const forms = numbers.flatMap((number) => formsOf(number.subarray(0, 16)));
  const first = der.indexOf(numbers[0]!);
  const lines = [Math.ceil(first / 48) * 48, Math.ceil(first / 3) * 3].map((start) => der.subarray(start, start + 12));
  secrets.set(name, [...forms, ...lines.flatMap(formsOf)]);
}

function addText(name: string, text: string): void {
  secrets.set(name, formsOf(Buffer.from(text)));
}

function addOctets(name: string, octets: Buffer): void {
  secrets.set(name, formsOf(octets));
}

/** Octets as they are, in hexadecimal digits, in base 64 and as a list of numbers. */
function formsOf(octets: Buffer): Buffer[] {
  const whole = octets.subarray(0, octets.length - (octets.length % 3));
  const hex = octets.toString('hex');
  const texts = [hex, hex.toUpperCase(), whole.toString('base64'), whole.toString('base64url'), [...octets].join(',')];
  return [octets, ...texts.map((text) => Buffer.from(text))];
}
