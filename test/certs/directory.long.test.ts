/**
 * The program with Pebble as one of its authorities: killed at every step, and everything that a directory may require
 * or refuse.
 */
import { execFile } from 'node:child_process';
import type { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { type AcmeProxy, type SeenRequest, startAcmeProxy } from '../support/acme-proxy.js';
import { freePort } from '../support/free-ports.js';
import { type Pebble, type PebbleOptions, startPebble, withoutPebble } from '../support/pebble.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { firstThat, until } from '../support/until.js';

const KEY = 'directory-key-0123456789-0123456789-01234';
const SAAS = `$ORIGIN saas.test.
$TTL 60
@ SOA ns h 1 3600 600 86400 60
@ NS ns
ns A 192.0.2.1
k0 CNAME origin
k1 CNAME origin
`;
const CUSTOMER = `$ORIGIN customer.test.
$TTL 60
@ SOA ns h 1 3600 600 86400 60
@ NS ns
ns A 192.0.2.1
${Array.from({ length: 10 }, (_, i) => `k${i}.shop CNAME origin.saas.test.\n`).join('')}`;

interface World {
  readonly pebble: Pebble;
  readonly proxy: AcmeProxy;
  readonly dnsPort: number;
  readonly directory: string;
  /** Settings of every start. */
  readonly environment: Record<string, string>;
  program: Program;
  zone: string;
}

/** Everything, with an origin for custom hostnames of saas.test, and k0 to k9 below shop.customer.test that lead there. */
async function startWorld(
  t: Test,
  options: Omit<PebbleOptions, 'dnsPort'> = {},
  environment: Record<string, string> = {},
): Promise<World> {
  const dnsPort = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-directory-'));
  mkdirSync(join(directory, 'zones'));
  writeFileSync(join(directory, 'zones', 'saas.test.zone'), SAAS);
  writeFileSync(join(directory, 'zones', 'customer.test.zone'), CUSTOMER);
  const pebble = await startPebble({ ...options, dnsPort });
  const proxy = await startAcmeProxy(pebble);
  writeFileSync(join(directory, 'bundle.pem'), pebble.identity.certificate);
  const world: World = {
    pebble,
    proxy,
    dnsPort,
    directory,
    environment: {
      ZONEPLANE_DNS_PORT: String(dnsPort),
      ZONEPLANE_CA_SSL_COM_DIRECTORY: proxy.directoryUrl,
      ZONEPLANE_CA_BUNDLE: join(directory, 'bundle.pem'),
      ...environment,
    },
    program: undefined as never,
    zone: '',
  };
  t.teardown(async () => {
    if (world.program) await stopProgram(world.program);
    await proxy.stop();
    await pebble.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  await start(world);
  const [zone] = await call<{ id: string }[]>(world, 'GET', '/zones?name=saas.test');
  world.zone = zone!.id;
  const origin = { type: 'A', name: 'origin.saas.test', content: '192.0.2.10', proxied: true };
  await call(world, 'POST', `/zones/${world.zone}/dns_records`, origin);
  await call(world, 'PUT', `/zones/${world.zone}/custom_hostnames/fallback_origin`, { origin: 'origin.saas.test' });
  return world;
}

async function start(world: World): Promise<void> {
  const { directory, environment } = world;
  world.program = await startProgram({ directory, key: KEY, environment, detached: true });
}

/** The result; throws with the whole answer where there is none. */
async function call<T>({ program }: World, method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetch(`${program.api}/client/v4${path}`, { method, headers, ...sent });
  const { success, result, errors } = (await answer.json()) as { success: boolean; result: T; errors: unknown };
  if (!success) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(errors)}`);
  return result;
}

interface Hostname {
  readonly id: string;
  readonly status: string;
  readonly ssl: {
    readonly status: string;
    readonly validation_errors?: readonly { readonly message: string; readonly actor: string }[];
    readonly certificates?: readonly { readonly serial_number: string; readonly issuer: string }[];
  };
}

const create = (world: World, hostname: string, ssl: object = {}): Promise<Hostname> =>
  call(world, 'POST', `/zones/${world.zone}/custom_hostnames`, {
    hostname,
    ssl: { method: 'txt', type: 'dv', certificate_authority: 'ssl_com', ...ssl },
  });

const get = (world: World, id: string): Promise<Hostname> =>
  call(world, 'GET', `/zones/${world.zone}/custom_hostnames/${id}`);

/** An order takes some trips, during which the program may be killed. */
const ORDER_LIMIT_MS = 150_000;

/** Resolves with the hostname when it fits. */
function untilHostname(world: World, id: string, fits: (hostname: Hostname) => boolean): Promise<Hostname> {
  return firstThat(() => get(world, id), fits, { limitMs: ORDER_LIMIT_MS, hint: () => world.program.printed() });
}

const isActive = ({ ssl }: Hostname): boolean => ssl.status === 'active';

t.test('killed at every step: the same order continues', { skip: withoutPebble }, async (t) => {
  const world = await startWorld(t);
  const { proxy } = world;
  const toOrder = ({ path }: SeenRequest) => path === '/order-plz';
  const toFinalize = ({ path }: SeenRequest) => path.startsWith('/finalize-order/');
  const toDownload = ({ path }: SeenRequest) => path.startsWith('/certZ/');
  const rows: [string, (seen: SeenRequest) => boolean, 'answer is lost' | 'answer comes'][] = [
    ['after the order was made, before its URL is known here', toOrder, 'answer is lost'],
    ['after the URL of the order has come', toOrder, 'answer comes'],
    ['after the challenges have come', ({ path }) => path.startsWith('/authZ/'), 'answer comes'],
    ['after the authority was told of a challenge', ({ path }) => path.startsWith('/chalZ/'), 'answer is lost'],
    ['after the certificate was asked for', toFinalize, 'answer is lost'],
    ['before the certificate has come', toDownload, 'answer is lost'],
    ['after the certificate has come', toDownload, 'answer comes'],
  ];
  for (const [index, [what, at, answer]] of rows.entries()) {
    await t.test(what, async (t) => {
      const { promise: killed, resolve } = Promise.withResolvers<void>();
      proxy.inject();
      proxy.watch(async (seen) => {
        if (!at(seen)) return false;
        proxy.watch();
        // The authority looks at our name server meanwhile, which is about to end, too.
        if (seen.path.startsWith('/chalZ/')) await sleep(2000);
        if (answer === 'answer is lost') process.kill(-world.program.child.pid!, 'SIGKILL');
        // The process ends while it does what follows from the answer.
        else setTimeout(() => process.kill(-world.program.child.pid!, 'SIGKILL'), 1);
        resolve();
        return answer === 'answer is lost';
      });
      const hostname = `k${index}.shop.customer.test`;
      await create(world, hostname).catch(() => {});
      await killed;
      await stopProgram(world.program, 'SIGKILL').catch(() => {});
      await start(world);
      const [found] = await call<Hostname[]>(
        world,
        'GET',
        `/zones/${world.zone}/custom_hostnames?hostname=${hostname}`,
      );
      const { ssl } = await untilHostname(world, found!.id, isActive);
      t.match(ssl, { status: 'active', certificates: [{ issuer: /Pebble/ }] });
      const finalized = new Set(proxy.seen.filter(toFinalize).map(({ path }) => path));
      t.equal(proxy.seen.filter(toOrder).length, 1, 'one order');
      t.equal(finalized.size, 1, 'one certificate');
    });
  }
});

const urn = (type: string): string => `urn:ietf:params:acme:error:${type}`;
const messages = ({ ssl }: Hostname) =>
  ssl.validation_errors?.map(({ message, actor }) => `${actor}: ${message}`) ?? [];
const serialOf = ({ ssl }: Hostname): string => ssl.certificates?.[0]?.serial_number ?? '';
const orders = ({ proxy }: World): number => proxy.seen.filter(({ path }) => path === '/order-plz').length;

t.test(
  'external accounts, refused nonces, short-lived certificates, refused names',
  { skip: withoutPebble },
  async (t) => {
    const hmacKey = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64url');
    const world = await startWorld(
      t,
      { externalAccounts: { 'kid-1': hmacKey }, refusedNonces: 30, validity: 40, blockedDomains: ['customer.test'] },
      { ZONEPLANE_CA_SSL_COM_EAB_KID: 'kid-1', ZONEPLANE_CA_SSL_COM_EAB_HMAC: Buffer.alloc(32).toString('base64url') },
    );
    const { proxy, pebble } = world;
    await t.test('with a wrong key it is said who must act', async (t) => {
      const { id } = await create(world, 'k0.saas.test');
      const refused = await untilHostname(world, id, (hostname) => messages(hostname).length > 0);
      t.match(refused.ssl, { status: 'initializing' });
      t.match(messages(refused), [/^provider: .*(verification error|bad signature|could not|JWS)/i]);
      await call(world, 'DELETE', `/zones/${world.zone}/custom_hostnames/${id}`);
    });
    await t.test('with the right one a certificate of seconds is issued, and renewed at half its time', async (t) => {
      world.environment['ZONEPLANE_CA_SSL_COM_EAB_HMAC'] = hmacKey;
      await stopProgram(world.program);
      await start(world);
      proxy.inject();
      const { id } = await create(world, 'k1.saas.test');
      const first = await untilHostname(world, id, isActive);
      t.match(first.ssl, { status: 'active', certificates: [{ issuer: /Pebble/ }] });
      const started = proxy.seen.find(({ payload }) => 'externalAccountBinding' in payload);
      t.ok(started, 'the account is bound');
      t.ok(proxy.seen.filter(({ path }) => path === '/nonce-plz').length < 30);
      const second = await untilHostname(
        world,
        id,
        (hostname) => isActive(hostname) && serialOf(hostname) !== serialOf(first),
      );
      t.not(serialOf(second), serialOf(first));
      const finalized = proxy.seen.filter(({ path }) => path.startsWith('/finalize-order/')).map(({ path }) => path);
      t.equal(new Set(finalized).size, 2, 'one order for each');
      await call(world, 'DELETE', `/zones/${world.zone}/custom_hostnames/${id}`);
      const isRevoked = async () => (await pebble.statusOf(serialOf(second))) === 'Revoked';
      await until(isRevoked, 'it is revoked when the hostname is deleted');
    });
    await t.test('a name that the authority refuses', async (t) => {
      proxy.inject();
      const { id } = await create(world, 'k2.shop.customer.test');
      const refused = await untilHostname(world, id, (hostname) => messages(hostname).length > 0);
      t.match(messages(refused), ['ca: The certificate authority will not issue for this domain.']);
      await call(world, 'PATCH', `/zones/${world.zone}/custom_hostnames/${id}`, {
        ssl: { method: 'txt', type: 'dv', certificate_authority: 'google' },
      });
      t.equal((await untilHostname(world, id, isActive)).ssl.status, 'active', 'another authority may');
    });
    await t.test('a wildcard by HTTP is refused', async (t) => {
      const wildcard = create(world, 'k3.shop.customer.test', { method: 'http', wildcard: true });
      await t.rejects(wildcard, { message: /400 .*wildcard/i });
    });
  },
);

t.test('valid and invalid answers of a directory', { skip: withoutPebble }, async (t) => {
  const world = await startWorld(t, {}, { ZONEPLANE_DEFAULT_CA_ORDER: 'ssl_com,google' });
  const { proxy } = world;
  const refuseAt = (part: string, type: string, status: number, headers = {}) =>
    proxy.inject(({ path }) =>
      path.startsWith(part) ? { status, headers, body: { type: urn(type), detail: 'by a test' } } : undefined,
    );
  await t.test('CAA: no other authority is asked for one that was chosen; the next of the order is', async (t) => {
    refuseAt('/finalize-order/', 'caa', 403);
    const chosen = await create(world, 'k0.shop.customer.test');
    const refused = await untilHostname(world, chosen.id, ({ ssl }) => ssl.status === 'caa_error');
    t.match(refused, { status: 'caa_error', ssl: { status: 'caa_error' } });
    t.match(messages(refused).at(-1), /^customer: CAA records block issuance/);
    const open = await create(world, 'k1.shop.customer.test', { certificate_authority: '' });
    const issued = await untilHostname(world, open.id, isActive);
    t.match(issued.ssl, {
      status: 'active',
      certificate_authority: 'google',
      certificates: [{ issuer: /built-in authority/ }],
    });
    proxy.inject();
    const ssl = { method: 'txt', type: 'dv', certificate_authority: 'ssl_com' };
    await call(world, 'PATCH', `/zones/${world.zone}/custom_hostnames/${chosen.id}`, { ssl });
    t.match((await untilHostname(world, chosen.id, isActive)).ssl, { certificates: [{ issuer: /Pebble/ }] });
  });
  await t.test('rateLimited: the same order goes on when it is time', async (t) => {
    refuseAt('/finalize-order/', 'rateLimited', 429, { 'retry-after': '3' });
    const { id } = await create(world, 'k2.shop.customer.test', { certificate_authority: '' });
    const refused = await untilHostname(world, id, (hostname) => messages(hostname).length > 0);
    t.match(refused.ssl, { status: 'pending_issuance', certificate_authority: 'ssl_com' });
    t.match(messages(refused), [/^ca: The authority has rate limited these domains\./]);
    t.equal(orders(world), 1);
    proxy.inject();
    t.match((await untilHostname(world, id, isActive)).ssl, { status: 'active', certificates: [{ issuer: /Pebble/ }] });
    t.equal(orders(world), 0, 'no second order');
  });
  await t.test('serverInternal: the same order goes on, also when it is asked for again', async (t) => {
    refuseAt('/finalize-order/', 'serverInternal', 500);
    const { id } = await create(world, 'k3.shop.customer.test');
    const refused = await untilHostname(world, id, (hostname) => messages(hostname).length > 0);
    t.match(refused.ssl, { status: 'pending_issuance' });
    t.strictSame(messages(refused), ['ca: Internal error with Certificate Authority. Please check later.']);
    proxy.inject();
    const ssl = { method: 'txt', type: 'dv', certificate_authority: 'ssl_com' };
    await call(world, 'PATCH', `/zones/${world.zone}/custom_hostnames/${id}`, { ssl });
    t.equal((await untilHostname(world, id, isActive)).ssl.status, 'active');
    t.equal(orders(world), 0, 'no second order');
  });
  await t.test('challenges are served over TCP and UDP alike, and gone afterwards', async (t) => {
    refuseAt('/chalZ/', 'serverInternal', 500);
    const { id } = await create(world, 'k4.shop.customer.test');
    await untilHostname(world, id, (hostname) => messages(hostname).length > 0);
    const name = '_acme-challenge.k4.shop.customer.test';
    const tcp = await dig(world, '+tcp', name, 'TXT');
    t.match(tcp, /^"[A-Za-z0-9_-]{43}"$/);
    t.equal(await dig(world, '+notcp', name, 'TXT'), tcp);
    proxy.inject();
    const ssl = { method: 'txt', type: 'dv', certificate_authority: 'ssl_com' };
    await call(world, 'PATCH', `/zones/${world.zone}/custom_hostnames/${id}`, { ssl });
    t.equal((await untilHostname(world, id, isActive)).ssl.status, 'active');
    t.equal(await dig(world, '+tcp', name, 'TXT'), '');
  });
});

async function dig({ dnsPort }: World, ...words: string[]): Promise<string> {
  const server = ['@127.0.0.1', '-p', String(dnsPort), '+short', '+tries=1', '+time=3'];
  const { stdout } = await promisify(execFile)('dig', [...server, ...words]);
  return stdout.trim();
}

interface Pack {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly hosts: readonly string[];
  readonly certificates: readonly { readonly serial_number: string; readonly issuer: string }[];
}

/** The certificate that a TLS server on this machine shows. */
function shownAt(port: number, servername: string): Promise<X509Certificate | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false });
    socket.once('secureConnect', () => {
      resolve(socket.getPeerX509Certificate());
      socket.destroy();
    });
    socket.once('error', () => resolve(undefined));
  });
}

t.test(
  'certificates of zones, of the service itself, and HTTP challenges at the edge',
  { skip: withoutPebble },
  async (t) => {
    const [httpPort, httpsPort, adminPort] = [await freePort(), await freePort(), await freePort()];
    const world = await startWorld(
      t,
      { httpPort, validity: 60 },
      {
        ZONEPLANE_DEFAULT_CA_ORDER: 'ssl_com',
        ZONEPLANE_TLS_CERT: 'auto',
        ZONEPLANE_NAMESERVERS: 'ns.saas.test',
        ZONEPLANE_ADMIN_TLS_PORT: String(adminPort),
        ZONEPLANE_EDGE: 'auto',
        ZONEPLANE_EDGE_HOST: '127.0.0.1',
        ZONEPLANE_EDGE_HTTP_PORT: String(httpPort),
        ZONEPLANE_EDGE_HTTPS_PORT: String(httpsPort),
        ZONEPLANE_EDGE_ADDRESSES: '127.0.0.1',
      },
    );
    const { pebble, zone } = world;
    const packs = () => call<Pack[]>(world, 'GET', `/zones/${zone}/ssl/certificate_packs?status=all`);
    const isIssued = (pack: Pack | undefined): pack is Pack => pack?.certificates[0] !== undefined;
    const serial = (pack: Pack | undefined): string => pack?.certificates[0]?.serial_number ?? '';

    await t.test('the universal certificate, and its renewal at half its time', async (t) => {
      const universal = async () => (await packs()).find(({ type }) => type === 'universal');
      const first = await firstThat(universal, isIssued);
      t.match(first, { hosts: ['saas.test', '*.saas.test'], certificates: [{ issuer: /Pebble/ }] });
      const shown = await firstThat(
        () => shownAt(httpsPort, 'origin.saas.test'),
        (found) => found?.issuer.includes('Pebble') === true,
      );
      t.equal(shown?.checkHost('origin.saas.test'), '*.saas.test', 'the edge serves it');
      const second = await firstThat(universal, (pack) => isIssued(pack) && serial(pack) !== serial(first));
      t.not(serial(second), serial(first));
      t.equal(await pebble.statusOf(serial(second)), 'Valid');
    });

    await t.test('a pack that was ordered, until it is deleted', async (t) => {
      const { id } = await call<Pack>(world, 'POST', `/zones/${zone}/ssl/certificate_packs/order`, {
        type: 'advanced',
        hosts: ['saas.test', 'deep.www.saas.test'],
        validation_method: 'txt',
        validity_days: 90,
        certificate_authority: 'ssl_com',
      });
      const pack = await firstThat(async () => (await packs()).find((one) => one.id === id), isIssued);
      t.match(pack, { hosts: ['saas.test', 'deep.www.saas.test'], certificates: [{ issuer: /Pebble/ }] });
      await call(world, 'DELETE', `/zones/${zone}/ssl/certificate_packs/${id}`);
      await firstThat(packs, (all) => !all.some((one) => one.id === id));
      t.equal(await pebble.statusOf(serial(pack)), 'Revoked');
    });

    await t.test('the certificate of the service itself', async (t) => {
      const isPebbles = (found: X509Certificate | undefined): boolean => found?.issuer.includes('Pebble') === true;
      const first = await firstThat(() => shownAt(adminPort, 'ns.saas.test'), isPebbles);
      t.equal(first?.checkHost('ns.saas.test'), 'ns.saas.test', 'the listener shows it');
      const { status } = await firstThat(
        async () => ({ status: await pebble.statusOf(first!.serialNumber.toLowerCase()) }),
        (found) => found.status === 'Valid',
      );
      t.equal(status, 'Valid');
    });

    await t.test('a hostname that CAA lets be proved by HTTP only', async (t) => {
      const [customer] = await call<{ id: string }[]>(world, 'GET', '/zones?name=customer.test');
      const data = { flags: 0, tag: 'issue', value: 'ssl.com; validationmethods=http-01' };
      const caa = { type: 'CAA', name: 'shop.customer.test', data };
      // Pebble follows an alias only within one answer, which ends where another zone begins.
      const proxied = { type: 'A', name: 'web.shop', content: '192.0.2.10', proxied: true };
      const alias = { type: 'CNAME', name: 'h.shop', content: 'web.shop.customer.test' };
      for (const record of [caa, proxied, alias]) {
        await call(world, 'POST', `/zones/${customer!.id}/dns_records`, record);
      }
      const { id } = await create(world, 'h.shop.customer.test', { method: 'http' });
      const found = await untilHostname(world, id, ({ ssl }) => (ssl.certificates?.length ?? 0) > 0);
      t.match(found.ssl, { certificates: [{ issuer: /Pebble/ }] }, 'Pebble asked our edge');
    });
  },
);
