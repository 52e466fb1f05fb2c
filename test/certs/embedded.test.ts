/**
 * The built-in authority: from order to certificate by DNS and HTTP, its refusals, its issuers, and what survives a
 * killed process.
 */
import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate as NodeCertificate, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import { certificateIdentifier } from '../../src/certs/acme/certificate-identifier.js';
import {
  type Authority,
  AuthorityError,
  type AuthorityName,
  type Challenge,
  type Order,
} from '../../src/certs/authority.js';
import { createEmbeddedAuthority, type EmbeddedOptions } from '../../src/certs/embedded/embedded-authority.js';
import { intermediateOf, rootCertificatePem } from '../../src/certs/embedded/issuers.js';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
  X509ChainBuilder,
} from '../../src/certs/x509.js';
import { importZone } from '../../src/control/imports/zone.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord } from '../../src/control/records/records.js';
import { createResolver } from '../../src/resolver/resolve.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import { insertIssuer, issuersOf } from '../../src/store/certs/authority.js';
import { DATABASE_FILE, openStore, type Store } from '../../src/store/driver.js';
import { catchUp, createLogWriter } from '../../src/store/log-writer.js';
import { ISSUER_KEYS } from '../../src/store/sealed-columns.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import { startControl } from '../control/fixture.js';
import { MemoryLog } from '../support/memory-log.js';
import { type ScriptedReply, startScriptedUpstream } from '../support/scripted-upstream.js';
import { seededRandom } from '../support/seeded-random.js';
import type { TestClock } from '../support/test-clock.js';
import { openOneCopy } from '../support/two-copies.js';

const OPENSSL = '/usr/bin/openssl';
const withoutOpenssl = !existsSync(OPENSSL) && process.env['CI'] !== 'true' ? `not installed: ${OPENSSL}` : false;
const DAY_MS = 86_400_000;
const NAMES: readonly AuthorityName[] = ['google', 'lets_encrypt', 'ssl_com', 'digicert'];

const SHOP = `$ORIGIN shop.test.
@ 60 IN SOA ns1.dns.test. dns.dns.test. 1 7200 3600 1209600 120
@ 60 IN NS ns1.dns.test.
@ 60 IN A 192.0.2.1
_acme-challenge.delegated 60 IN CNAME delegated.dcv.outside.test.
`;

interface World {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly clock: TestClock;
  readonly directory: string;
  readonly options: EmbeddedOptions;
  /** Answers of the outside by `name type`; others do not exist. */
  readonly outside: Map<string, ScriptedReply>;
  /** Bodies by `host/token`. */
  readonly web: Map<string, string>;
  /** A new object each time, as a new process would have. */
  authority(name?: AuthorityName): Authority;
}

async function startWorld(t: Test, options: Partial<EmbeddedOptions> = {}, open?: typeof openOneCopy): Promise<World> {
  const { ctx, clock, directory } = await startControl(t, {}, open);
  const imported = await importZone(ctx, { source: { text: SHOP } });
  t.ok(imported.imported, JSON.stringify(imported.issues));
  const vault = await unlockVault({
    store: ctx.store,
    keys: fileKeys(join(directory, 'master.key')),
    random: systemRandom,
    purposes: ['authority'],
  });
  const outside = new Map<string, ScriptedReply>();
  const upstream = await startScriptedUpstream(t, ({ name, type }) => outside.get(`${name} ${type}`) ?? { rcode: 3 });
  const resolver = createResolver({
    store: ctx.store,
    upstream: createUpstream({ servers: [upstream.server], clock: new SystemClock(), timeoutMs: 2000 }),
    clock,
    random: seededRandom(5),
    serving: ctx.settings,
  });
  const web = new Map<string, string>();
  const all: EmbeddedOptions = {
    store: ctx.store,
    clock,
    random: seededRandom(7),
    vault,
    resolver,
    fetchToken: async (host, token) => web.get(`${host}/${token}`),
    ...options,
  };
  const [{ id: zoneId }] = ctx.store.prepare<[], { id: Uint8Array }>('SELECT id FROM zones').all() as [
    { id: Uint8Array },
  ];
  return {
    ctx,
    zoneId: Buffer.from(zoneId).toString('hex'),
    clock,
    directory,
    options: all,
    outside,
    web,
    authority: (name = 'google') => createEmbeddedAuthority(name, all),
  };
}

type Curve = 'P-256' | 'P-384' | 'P-521';

async function makePair(kind: Curve | number = 'P-256', hash = 'SHA-256') {
  const algorithm =
    typeof kind === 'number'
      ? { name: 'RSASSA-PKCS1-v1_5', modulusLength: kind, publicExponent: Uint8Array.of(1, 0, 1), hash }
      : { name: 'ECDSA', namedCurve: kind, hash };
  return { algorithm, keys: await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) };
}

interface CsrOptions {
  readonly kind?: Curve | number;
  readonly hash?: string;
  readonly common?: string;
  readonly extensions?: Extension[];
}

async function makeCsr(names: readonly string[], { kind, hash, common, extensions }: CsrOptions = {}) {
  const { algorithm, keys } = await makePair(kind, hash);
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    ...(common === undefined ? {} : { name: `CN=${common}` }),
    extensions: extensions ?? [
      new SubjectAlternativeNameExtension(
        names.map((value) => ({ type: 'dns' as const, value })),
        false,
      ),
    ],
  });
  return new Uint8Array(request.rawData);
}

async function challengeOf(authority: Authority, url: string, type: string): Promise<Challenge> {
  const { challenges } = await authority.authorization(url);
  return challenges.find((challenge) => challenge.type === type)!;
}

function txtOf(authority: Authority, { token }: Challenge): string {
  return createHash('sha256').update(authority.keyAuthorization(token)).digest('base64url');
}

/** Puts the TXT record of every authorization into our own zone and responds. */
async function proveByDns(world: World, authority: Authority, order: Order): Promise<void> {
  for (const url of order.authorizations) {
    const { identifier } = await authority.authorization(url);
    const challenge = await challengeOf(authority, url, 'dns-01');
    await createRecord(world.ctx, world.zoneId, {
      type: 'TXT',
      name: `_acme-challenge.${identifier}`,
      content: `"${txtOf(authority, challenge)}"`,
      ttl: 60,
    } as never);
    t.match(await authority.respond(challenge.url), { status: 'valid' });
  }
}

async function readyOrder(world: World, names: readonly string[], authority = world.authority()): Promise<Order> {
  const order = await authority.createOrder(names);
  await proveByDns(world, authority, order);
  return authority.order(order.url);
}

async function problemOf(promise: Promise<unknown>): Promise<AuthorityError['problem'] | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    if (error instanceof AuthorityError) return error.problem;
    throw error;
  }
}

function split(chain: string): string[] {
  return chain.split(/(?<=-----END CERTIFICATE-----\n)/);
}

function der(chain: string): Uint8Array {
  return new Uint8Array(new NodeCertificate(split(chain)[0]!).raw);
}

t.test('from order to certificate, each step in another process', async (t) => {
  const world = await startWorld(t);
  const names = ['shop.test', '*.shop.test', 'app.shop.test'];
  const { url } = await world.authority().createOrder(names);
  const order = await world.authority().order(url);
  t.match(order, { status: 'pending', expiresMs: world.clock.nowMs() + 7 * DAY_MS });
  t.equal(order.authorizations.length, 3);
  t.equal(order.certificateUrl, undefined);
  const authorizations = await Promise.all(order.authorizations.map((each) => world.authority().authorization(each)));
  t.match(authorizations, [
    {
      identifier: 'shop.test',
      wildcard: false,
      status: 'pending',
      challenges: [{ type: 'http-01' }, { type: 'dns-01' }],
    },
    { identifier: 'shop.test', wildcard: true, status: 'pending' },
    { identifier: 'app.shop.test', wildcard: false, status: 'pending' },
  ]);
  t.same(
    authorizations[1]!.challenges.map(({ type }) => type),
    ['dns-01'],
    'a wildcard is validated by DNS only',
  );
  const tokens = authorizations.flatMap(({ challenges }) => challenges.map(({ token }) => token));
  t.equal(new Set(tokens).size, 5);
  for (const token of tokens) t.match(token, /^[A-Za-z0-9_-]{43}$/, 'a token is base64url of 256 bits');

  const csr = await makeCsr(names);
  t.match(await problemOf(world.authority().finalize(order, csr)), { type: 'orderNotReady', status: 403 });
  await proveByDns(world, world.authority(), order);
  t.equal((await world.authority().order(url)).status, 'ready');
  t.equal((await world.authority().authorization(order.authorizations[0]!)).status, 'valid');
  const valid = await world.authority().finalize(order, csr);
  t.equal(valid.status, 'valid');
  t.same(await world.authority().order(url), valid);
  t.match(
    await problemOf(world.authority().finalize(order, csr)),
    { type: 'orderNotReady', detail: 'The order is valid, not ready.' },
    'never a second certificate for an order',
  );
  const chain = await world.authority().certificate(valid.certificateUrl!);
  t.equal(split(chain).length, 2);
  const root = new X509Certificate(await rootCertificatePem(world.options));
  const [leaf, intermediate] = split(chain).map((pem) => new X509Certificate(pem)) as [
    X509Certificate,
    X509Certificate,
  ];
  const date = new Date(world.clock.nowMs());
  t.ok(await leaf.verify({ publicKey: intermediate, date }));
  t.ok(await intermediate.verify({ publicKey: root, date }));
  t.ok(await root.verify({ date }));
  t.equal((await new X509ChainBuilder({ certificates: [root, intermediate] }).build(leaf)).length, 3);
  t.equal(leaf.subject, '');
  t.match(leaf.issuer, /^CN=Zoneplane built-in authority [0-9a-f]{6}, O=Zoneplane$/);
  t.match(root.subject, /^CN=Zoneplane root [0-9a-f]{6}, O=Zoneplane$/);
  t.match(leaf.serialNumber, /^[0-9a-f]{31,32}$/);
  const san = leaf.getExtension(SubjectAlternativeNameExtension)!;
  t.ok(san.critical);
  t.same(
    san.names.items.map(({ value }) => value),
    names,
  );
  t.match(leaf.getExtension(BasicConstraintsExtension), { ca: false, critical: true });
  t.match(leaf.getExtension(ExtendedKeyUsageExtension), { usages: ['1.3.6.1.5.5.7.3.1'] });
  t.match(leaf.getExtension(KeyUsagesExtension), { usages: KeyUsageFlags.digitalSignature, critical: true });
  t.equal(
    leaf.getExtension(AuthorityKeyIdentifierExtension)!.keyId,
    intermediate.getExtension(SubjectKeyIdentifierExtension)!.keyId,
  );
  t.ok(leaf.getExtension(SubjectKeyIdentifierExtension));
  t.match(intermediate.getExtension(BasicConstraintsExtension), { ca: true, pathLength: 0, critical: true });
  t.equal(leaf.notAfter.getTime() - leaf.notBefore.getTime(), 90 * DAY_MS - 1000);
  t.equal(leaf.notBefore.getTime(), world.clock.nowMs() - 3_600_000);
  t.equal(intermediate.notAfter.getTime() - intermediate.notBefore.getTime(), 1826 * DAY_MS);
  t.equal(root.notAfter.getTime() - root.notBefore.getTime(), 3652 * DAY_MS);
});

t.test('openssl verifies what every authority issues', { skip: withoutOpenssl }, async (t) => {
  const world = await startWorld(t);
  const rootFile = join(world.directory, 'root.pem');
  writeFileSync(rootFile, await rootCertificatePem(world.options));
  const now = String(Math.floor(world.clock.nowMs() / 1000));
  for (const name of NAMES) {
    const authority = world.authority(name);
    const file = (suffix: string): string => join(world.directory, `${name}.${suffix}`);
    // The request of another program.
    execFileSync(
      OPENSSL,
      [
        ...['req', '-new', '-newkey', name === 'ssl_com' ? 'rsa:2048' : 'ec', '-nodes', '-subj', '/CN=shop.test'],
        ...(name === 'ssl_com' ? [] : ['-pkeyopt', 'ec_paramgen_curve:P-384']),
        ...['-addext', 'subjectAltName=DNS:shop.test,DNS:*.shop.test', '-outform', 'DER'],
        ...['-keyout', file('key'), '-out', file('csr')],
      ],
      { stdio: 'ignore' },
    );
    const order = await readyOrder(world, ['shop.test', '*.shop.test'], authority);
    const { certificateUrl } = await authority.finalize(order, new Uint8Array(readFileSync(file('csr'))));
    const chain = await authority.certificate(certificateUrl!);
    writeFileSync(file('leaf'), split(chain)[0]!);
    writeFileSync(file('chain'), split(chain)[1]!);
    const verify = (...more: string[]): string =>
      execFileSync(
        OPENSSL,
        [
          ...['verify', '-x509_strict', '-purpose', 'sslserver', '-attime', now, '-CAfile', rootFile],
          ...['-untrusted', file('chain'), ...more, file('leaf')],
        ],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
      );
    t.match(verify('-verify_hostname', 'shop.test'), /: OK$/m);
    t.match(verify('-verify_hostname', 'any.shop.test'), /: OK$/m);
    t.throws(() => verify('-verify_hostname', 'other.test'), 'the check can fail');
    const leaf = new NodeCertificate(readFileSync(file('leaf')));
    t.match(leaf.issuer, /CN=Zoneplane built-in authority /);
    t.equal(leaf.publicKey.asymmetricKeyType, name === 'ssl_com' ? 'rsa' : 'ec');
    t.match(
      (await problemOf(world.authority(name === 'google' ? 'digicert' : 'google').certificate(certificateUrl!)))
        ?.status,
      404,
      'the URLs of one authority say nothing to another',
    );
  }
});

t.test('http-01', async (t) => {
  const world = await startWorld(t);
  const authority = world.authority('lets_encrypt');
  const tryBody = async (body: (expected: string) => string | undefined): Promise<Challenge> => {
    const order = await authority.createOrder(['app.customer.test']);
    const challenge = await challengeOf(authority, order.authorizations[0]!, 'http-01');
    const text = body(authority.keyAuthorization(challenge.token));
    if (text !== undefined) world.web.set(`app.customer.test/${challenge.token}`, text);
    return authority.respond(challenge.url);
  };
  t.match(await tryBody((expected) => expected), { status: 'valid', type: 'http-01' });
  t.match(await tryBody((expected) => `${expected}\r\n`), { status: 'valid' }, 'blanks at the end');
  t.match(await tryBody((expected) => ` ${expected}`), { problem: { type: 'unauthorized', status: 403 } });
  t.match(await tryBody((expected) => expected.slice(0, -1)), { status: 'invalid', problem: { type: 'unauthorized' } });
  t.match(await tryBody(() => '<html>not found</html>'), { status: 'invalid' });
  t.match(await tryBody(() => undefined), {
    status: 'invalid',
    problem: {
      type: 'connection',
      detail: /^http:\/\/app\.customer\.test\/\.well-known\/acme-challenge\/.* could not/,
    },
  });
});

t.test('dns-01: aliases are followed, failures are distinguished and end the order', async (t) => {
  const world = await startWorld(t);
  const authority = world.authority();
  const run = async (name: string, prepare: (value: string) => void) => {
    const order = await authority.createOrder([name]);
    const challenge = await challengeOf(authority, order.authorizations[0]!, 'dns-01');
    prepare(txtOf(authority, challenge));
    return { order, challenge: await authority.respond(challenge.url) };
  };
  const delegated = await run('delegated.shop.test', (value) =>
    world.outside.set('delegated.dcv.outside.test TXT', {
      answer: ['delegated.dcv.outside.test. 60 TXT "old"', `delegated.dcv.outside.test. 60 TXT "${value}"`],
    }),
  );
  t.equal(delegated.challenge.status, 'valid');
  t.equal((await authority.order(delegated.order.url)).status, 'ready');

  const none = await run('none.shop.test', () => {});
  t.match(none.challenge, {
    status: 'invalid',
    problem: { type: 'dns', status: 400, detail: 'There is no TXT record at _acme-challenge.none.shop.test.' },
  });
  t.match(await authority.order(none.order.url), { status: 'invalid', problem: { type: 'dns' } });
  t.match(await authority.authorization(none.order.authorizations[0]!), { status: 'invalid' });
  t.match(await problemOf(authority.finalize(none.order, new Uint8Array(0))), { type: 'orderNotReady' });
  t.match(await authority.respond(none.challenge.url), none.challenge, 'what is settled stays');

  const key = '_acme-challenge.app.customer.test TXT';
  const wrong = await run('app.customer.test', () =>
    world.outside.set(key, { answer: ['_acme-challenge.app.customer.test. 60 TXT "another hostname\'s"'] }),
  );
  t.match(wrong.challenge.problem, { type: 'unauthorized', status: 403 });
  const replayed = await run('app.customer.test', () =>
    world.outside.set(key, {
      answer: [`_acme-challenge.app.customer.test. 60 TXT "${txtOf(authority, delegated.challenge)}"`],
    }),
  );
  t.match(replayed.challenge.problem, { type: 'unauthorized' }, 'the value of another order is worth nothing');
  const broken = await run('app.customer.test', () => world.outside.set(key, { rcode: 2 }));
  t.match(broken.challenge.problem, { type: 'dns', detail: /could not be looked up/ });
  const fine = await run('app.customer.test', (value) =>
    world.outside.set(key, { answer: [`_acme-challenge.app.customer.test. 60 TXT "${value}"`] }),
  );
  t.equal(fine.challenge.status, 'valid', 'an answer that was heard before is not used');
});

t.test('CAA is checked when the certificate is issued', async (t) => {
  const world = await startWorld(t);
  const authority = world.authority('google');
  const names = ['shop.test', '*.shop.test'];
  const order = await readyOrder(world, names, authority);
  const csr = await makeCsr(names);
  const caa = async (tag: string, value: string): Promise<string> => {
    const record = { type: 'CAA', name: 'shop.test', data: { flags: 0, tag, value }, ttl: 60 };
    return (await createRecord(world.ctx, world.zoneId, record as never)).id;
  };
  await caa('issuewild', ';');
  t.same(await problemOf(authority.finalize(order, csr)), {
    type: 'caa',
    status: 403,
    detail: 'The CAA records at shop.test permit no authority (issuewild).',
    subproblems: [
      {
        type: 'caa',
        detail: 'The CAA records at shop.test permit no authority (issuewild).',
        identifier: '*.shop.test',
      },
    ],
  });
  t.equal((await authority.order(order.url)).status, 'ready', 'the order waits for better records');
  await caa('issue', 'pki.goog; validationmethods=http-01');
  await caa('issuewild', 'pki.goog; validationmethods=dns-01');
  t.match(await problemOf(authority.finalize(order, csr)), {
    type: 'caa',
    subproblems: [{ identifier: 'shop.test', detail: /another account or method/ }],
  });
  await caa('issue', `pki.goog; accounturi=${await authority.accountUri()}`);
  t.equal((await authority.finalize(order, csr)).status, 'valid');
  const other = world.authority('ssl_com');
  const refused = await readyOrder(world, ['a.shop.test'], other);
  t.match(await problemOf(other.finalize(refused, await makeCsr(['a.shop.test']))), {
    type: 'caa',
    detail: 'The CAA records at shop.test permit only pki.goog, not ssl.com (issue).',
  });
});

t.test('failing to look up CAA is not a refusal', async (t) => {
  const world = await startWorld(t);
  const authority = world.authority();
  const order = await authority.createOrder(['app.customer.test']);
  const challenge = await challengeOf(authority, order.authorizations[0]!, 'http-01');
  world.web.set(`app.customer.test/${challenge.token}`, authority.keyAuthorization(challenge.token));
  await authority.respond(challenge.url);
  world.outside.set('customer.test CAA', { rcode: 2 });
  const csr = await makeCsr(['app.customer.test']);
  t.match(await problemOf(authority.finalize(order, csr)), {
    type: 'dns',
    status: 400,
    detail: /^The CAA records of customer\.test could not be looked up/,
  });
  world.outside.set('customer.test CAA', { answer: ['customer.test. 60 CAA 0 issue "pki.goog"'] });
  t.equal((await authority.finalize(order, csr)).status, 'valid');
});

t.test('requests are checked', async (t) => {
  const world = await startWorld(t);
  const authority = world.authority();
  const names = ['shop.test', 'app.shop.test'];
  const order = await readyOrder(world, names, authority);
  const good = await makeCsr(names);
  const forged = good.slice();
  forged[forged.length - 1]! ^= 1;
  const address = new SubjectAlternativeNameExtension([
    ...names.map((value) => ({ type: 'dns' as const, value })),
    { type: 'ip', value: '192.0.2.1' },
  ]);
  const rows: readonly (readonly [what: string, csr: Uint8Array, detail: RegExp])[] = [
    ['nothing', new Uint8Array(0), /not a PKCS #10 request/],
    ['noise', new Uint8Array(randomBytes(300)), /not a PKCS #10 request/],
    ['no DER', Buffer.from('-----BEGIN '.repeat(5_900)), /not a PKCS #10 request/],
    ['cut off', good.subarray(0, 100), /not a PKCS #10 request/],
    ['too large', new Uint8Array(70_000), /larger than 65536 octets/],
    ['a forged signature', forged, /signature/],
    ['a SHA-1 signature', await makeCsr(names, { kind: 2048, hash: 'SHA-1' }), /signature/],
    ['a name less', await makeCsr(['shop.test']), /\(shop\.test\) are not those of the order \(shop\.test, app\./],
    ['a name more', await makeCsr([...names, 'evil.test']), /not those of the order/],
    ['another name', await makeCsr(['shop.test', 'evil.test']), /not those of the order/],
    ['another common name', await makeCsr(names, { common: 'evil.test' }), /not those of the order/],
    ['no name', await makeCsr([], { extensions: [] }), /not those of the order/],
    ['an address', await makeCsr([], { extensions: [address] }), /only DNS names/],
    ['a weak RSA key', await makeCsr(names, { kind: 1024 }), /2048 to 8192 bits, not 1024/],
    ['P-521', await makeCsr(names, { kind: 'P-521', hash: 'SHA-512' }), /P-256, P-384 or RSA/],
  ];
  for (const [what, csr, detail] of rows) {
    t.match(await problemOf(authority.finalize(order, csr)), { type: 'badCSR', status: 400, detail }, what);
  }
  t.equal((await authority.order(order.url)).status, 'ready');
  const capitals = await makeCsr(['App.SHOP.test'], { common: 'shop.test', kind: 'P-384', hash: 'SHA-384' });
  t.equal((await authority.finalize(order, capitals)).status, 'valid', 'letter case; a common name');
});

t.test('names and URLs are checked', async (t) => {
  const world = await startWorld(t);
  const authority = world.authority();
  const long = `${'a'.repeat(63)}.`.repeat(4).slice(0, 253);
  for (const name of [
    '',
    'Shop.test',
    'shop.test.',
    'sh_op.test',
    '-a.test',
    'a-.test',
    'a..test',
    '*.*.test',
    'a.*.test',
    '*',
    '192.0.2.1',
    '::1',
    'http://a.test',
    'b\u00fccher.test',
    '\u{1f600}.test',
    `${'a'.repeat(64)}.test`,
    `${long}a.test`,
    'a.test\0',
  ]) {
    const problem = await problemOf(authority.createOrder(['ok.shop.test', name]));
    t.match(
      problem,
      { type: 'rejectedIdentifier', status: 400, subproblems: [{ identifier: name }] },
      JSON.stringify(name),
    );
  }
  t.match(await problemOf(authority.createOrder([])), { type: 'malformed' });
  const many = Array.from({ length: 101 }, (_, index) => `n${index}.shop.test`);
  t.match(await problemOf(authority.createOrder(many)), { type: 'malformed' });
  t.equal((await authority.createOrder(many.slice(1))).authorizations.length, 100);
  t.equal((await authority.createOrder([long])).authorizations.length, 1, '253 octets, no common name needed');
  t.equal((await authority.createOrder(['a.test', 'a.test'])).authorizations.length, 1, 'each name once');
  t.match(await problemOf(authority.createOrder(['a.test'], { profile: 'forever' })), { type: 'invalidProfile' });
  const order = await authority.createOrder(['a.test']);
  for (const url of [
    '',
    'https://ca.test/order/1',
    order.url.slice(0, -1),
    order.url.replace('google', 'lets_encrypt'),
    order.authorizations[0]!,
    `${order.url.slice(0, -32)}${'0'.repeat(32)}`,
  ]) {
    t.match(await problemOf(authority.order(url)), { type: 'malformed', status: 404 }, url);
  }
  for (const act of [
    () => authority.authorization(order.url),
    () => authority.respond(order.url),
    () => authority.certificate(order.url),
    () => authority.certificate(order.url.replace('order', 'certificate')),
    () => authority.finalize({ ...order, url: order.authorizations[0]! }, new Uint8Array(0)),
  ]) {
    t.match(await problemOf(act()), { type: 'malformed', status: 404 });
  }
});

t.test('orders expire', async (t) => {
  const world = await startWorld(t);
  const authority = world.authority();
  const order = await readyOrder(world, ['shop.test'], authority);
  const pending = await authority.createOrder(['late.shop.test']);
  const challenge = await challengeOf(authority, pending.authorizations[0]!, 'dns-01');
  world.clock.advance(7 * DAY_MS);
  t.match(await authority.order(order.url), { status: 'invalid', problem: { type: 'malformed' } });
  t.match(await problemOf(authority.finalize(order, await makeCsr(['shop.test']))), {
    type: 'malformed',
    detail: 'The order has expired.',
  });
  t.equal((await authority.authorization(order.authorizations[0]!)).status, 'expired');
  t.match(await problemOf(authority.respond(challenge.url)), { type: 'malformed', status: 403 });
  world.clock.advance(31 * DAY_MS);
  await authority.createOrder(['new.shop.test']);
  t.match(await problemOf(authority.order(order.url)), { status: 404 }, 'and are forgotten a month later');
  const count = (table: string) =>
    world.ctx.store.prepareTuples<[], [number]>(`SELECT count(*) FROM ${table}`).get()![0];
  t.equal(count('authority_orders'), 1);
  t.equal(count('authority_authorizations'), 1);
  t.equal(count('authority_challenges'), 2);
});

t.test('many at once', async (t) => {
  const world = await startWorld(t);
  const order = await readyOrder(world, ['shop.test']);
  const csr = await makeCsr(['shop.test']);
  const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => world.authority().finalize(order, csr)));
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, 'one certificate for one order');
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') t.match(outcome.reason, { problem: { type: 'orderNotReady' } });
  }
  t.equal(issuersOf(world.ctx.store, 'root').length, 1, 'one root, whoever came first');
  t.equal(issuersOf(world.ctx.store, 'google').length, 1);
  await Promise.all(NAMES.map(() => rootCertificatePem(world.options)));
  t.equal(issuersOf(world.ctx.store, 'root').length, 1);
});

t.test('an order continues after a process is killed around a write', async (t) => {
  const world = await startWorld(t);
  const { store } = world.ctx;
  const dying = (write: Store['write']): Authority =>
    createEmbeddedAuthority('google', { ...world.options, store: Object.create(store, { write: { value: write } }) });
  const before = dying(() => Promise.reject(new Error('killed')));
  const after = dying(async (work) => {
    await store.write(work);
    throw new Error('killed');
  });
  await t.rejects(before.createOrder(['shop.test']), { message: 'killed' });
  const order = await world.authority().createOrder(['shop.test']);
  const challenge = await challengeOf(world.authority(), order.authorizations[0]!, 'dns-01');
  await createRecord(world.ctx, world.zoneId, {
    type: 'TXT',
    name: '_acme-challenge.shop.test',
    content: `"${txtOf(world.authority(), challenge)}"`,
    ttl: 60,
  } as never);
  await t.rejects(before.respond(challenge.url), { message: 'killed' });
  t.equal((await world.authority().order(order.url)).status, 'pending');
  await t.rejects(after.respond(challenge.url), { message: 'killed' });
  t.equal((await world.authority().order(order.url)).status, 'ready');
  t.equal((await world.authority().respond(challenge.url)).status, 'valid', 'once more, since the answer was lost');
  const csr = await makeCsr(['shop.test']);
  await t.rejects(before.finalize(order, csr), { message: 'killed' });
  t.equal((await world.authority().order(order.url)).status, 'ready');
  await rootCertificatePem(world.options);
  await t.rejects(after.finalize(order, csr), { message: 'killed' }, 'while the intermediate is made');
  t.equal((await world.authority().order(order.url)).status, 'ready');
  await t.rejects(after.finalize(order, csr), { message: 'killed' }, 'while the certificate is kept');
  const { status, certificateUrl } = await world.authority().order(order.url);
  t.equal(status, 'valid');
  t.equal(split(await world.authority().certificate(certificateUrl!)).length, 2);
  t.same(store.prepare('SELECT count(*) AS n FROM authority_certificates').all(), [{ n: 1 }]);
  t.same(store.prepare('SELECT count(*) AS n FROM authority_orders').all(), [{ n: 1 }]);
});

t.test('another copy that applies the log has the same rows', async (t) => {
  const world = await startWorld(t, {}, openOneCopy);
  const log = new MemoryLog();
  const stores: Store[] = [];
  for (const name of ['one', 'two']) {
    const directory = join(world.directory, name);
    mkdirSync(directory);
    await world.ctx.store.backup(join(directory, DATABASE_FILE));
    const store = openStore(directory, { writer: (own) => createLogWriter(own, log, seededRandom(9)) });
    t.teardown(() => store.close());
    stores.push(store);
  }
  const [one, two] = stores as [Store, Store];
  const authority = createEmbeddedAuthority('google', { ...world.options, store: one });
  const order = await authority.createOrder(['app.customer.test']);
  const challenge = await challengeOf(authority, order.authorizations[0]!, 'http-01');
  world.web.set(`app.customer.test/${challenge.token}`, authority.keyAuthorization(challenge.token));
  await authority.respond(challenge.url);
  const { certificateUrl } = await authority.finalize(order, await makeCsr(['app.customer.test']));
  const chain = await authority.certificate(certificateUrl!);
  await authority.revoke(der(chain));
  await catchUp(two, log);
  for (const table of ['issuers', 'orders', 'authorizations', 'challenges', 'certificates']) {
    const [here, there] = stores.map((store) => store.prepare(`SELECT * FROM authority_${table}`).all());
    t.ok(here!.length > 0);
    t.same(here, there, table);
  }
  const elsewhere = createEmbeddedAuthority('google', { ...world.options, store: two });
  t.equal(await elsewhere.certificate(certificateUrl!), chain);
});

t.test('lifetimes and profiles', async (t) => {
  const lifetimeOf = async (lifetimeMs: number | undefined, profile?: string): Promise<number> => {
    const world = await startWorld(t, lifetimeMs === undefined ? {} : { lifetimeMs });
    const authority = world.authority();
    const order = await authority.createOrder(['shop.test'], profile === undefined ? {} : { profile });
    await proveByDns(world, authority, order);
    const { certificateUrl } = await authority.finalize(order, await makeCsr(['shop.test']));
    const leaf = new X509Certificate(split(await authority.certificate(certificateUrl!))[0]!);
    t.ok(leaf.notBefore.getTime() < world.clock.nowMs() && world.clock.nowMs() < leaf.notAfter.getTime());
    return leaf.notAfter.getTime() + 1000 - leaf.notBefore.getTime();
  };
  t.equal(await lifetimeOf(undefined, 'classic'), 90 * DAY_MS);
  t.equal(await lifetimeOf(undefined, 'shortlived'), 160 * 3_600_000);
  t.equal(await lifetimeOf(5 * 60_000), 5 * 60_000);
  t.equal(await lifetimeOf(5 * 60_000, 'shortlived'), 5 * 60_000);
  t.equal(await lifetimeOf(5000 * DAY_MS), 365 * DAY_MS);
});

t.test('renewal, revocation, replacement', async (t) => {
  const world = await startWorld(t);
  const authority = world.authority();
  const issue = async (replaces?: string): Promise<Uint8Array> => {
    const order = await authority.createOrder(['shop.test'], replaces === undefined ? {} : { replaces });
    await proveByDns(world, authority, order);
    const { certificateUrl } = await authority.finalize(order, await makeCsr(['shop.test']));
    return der(await authority.certificate(certificateUrl!));
  };
  const [first, second] = [await issue(), await issue()];
  const startMs = world.clock.nowMs() - 3_600_000;
  const [window, other] = [(await authority.renewalInfo(first))!, (await authority.renewalInfo(second))!];
  for (const { startMs: from, endMs: to, retryAfterMs } of [window, other]) {
    t.ok(from >= startMs + 60 * DAY_MS - 1000, 'after two thirds');
    t.ok(to <= startMs + 64 * DAY_MS);
    t.ok(to - from > DAY_MS);
    t.equal(retryAfterMs, 6 * 3_600_000);
  }
  t.not(window.startMs, other.startMs, 'not all on one day');
  t.same(await authority.renewalInfo(first), window, 'the same whenever it is asked');
  t.equal(await world.authority('digicert').renewalInfo(first), undefined, 'nothing to say of others');
  t.match(await problemOf(authority.renewalInfo(Uint8Array.of(1, 2, 3))), { type: 'malformed' });

  t.match(await problemOf(authority.revoke(first, 8)), { type: 'badRevocationReason' });
  t.match(await problemOf(world.authority('digicert').revoke(first)), { type: 'malformed', status: 404 });
  await authority.revoke(first, 4);
  world.clock.advance(1000);
  const revoked = (await authority.renewalInfo(first))!;
  t.ok(revoked.endMs < world.clock.nowMs(), 'a revoked certificate is due');
  await authority.revoke(first, 1);
  t.same(
    world.ctx.store.prepare('SELECT revocation_reason FROM authority_certificates WHERE revoked_at IS NOT NULL').all(),
    [{ revocation_reason: 4 }],
    'the first revocation counts',
  );

  const identifier = certificateIdentifier(second)!;
  t.match(await problemOf(authority.createOrder(['shop.test'], { replaces: 'AAAA.AQ' })), { type: 'malformed' });
  await authority.createOrder(['shop.test'], { replaces: identifier });
  await issue(identifier);
  t.match(await problemOf(authority.createOrder(['shop.test'], { replaces: identifier })), {
    type: 'alreadyReplaced',
    status: 409,
  });
});

t.test('issuers are replaced in time', async (t) => {
  const world = await startWorld(t);
  const issue = async (): Promise<string> => {
    const order = await readyOrder(world, [`n${world.clock.nowMs()}.shop.test`]);
    const { identifier } = await world.authority().authorization(order.authorizations[0]!);
    const { certificateUrl } = await world.authority().finalize(order, await makeCsr([identifier]));
    return world.authority().certificate(certificateUrl!);
  };
  const good = async (chain: string, rootPem: string): Promise<boolean> => {
    const date = new Date(world.clock.nowMs());
    const [leaf, intermediate] = split(chain).map((pem) => new X509Certificate(pem)) as [
      X509Certificate,
      X509Certificate,
    ];
    const roots = split(rootPem).map((pem) => new X509Certificate(pem));
    const trusted = await Promise.all(roots.map((root) => intermediate.verify({ publicKey: root, date })));
    return trusted.includes(true) && (await leaf.verify({ publicKey: intermediate, date }));
  };
  const root = await rootCertificatePem(world.options);
  for (let year = 0; year < 12; year++) {
    t.ok(await good(await issue(), await rootCertificatePem(world.options)), `year ${year}`);
    world.clock.advance(365 * DAY_MS);
  }
  t.equal(issuersOf(world.ctx.store, 'google').length, 4);
  t.equal(issuersOf(world.ctx.store, 'root').length, 2);
  t.notMatch(await rootCertificatePem(world.options), root, 'a root that has ended is not given out');
});

t.test('an intermediate that has the name of somebody else signs no more', async (t) => {
  const world = await startWorld(t);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const former = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Zoneplane google 0a0b0c,O=Zoneplane',
    notBefore: new Date(world.clock.nowMs()),
    notAfter: new Date(world.clock.nowMs() + 1000 * DAY_MS),
    ...{ keys, signingAlgorithm: algorithm },
  });
  const row = {
    id: new Uint8Array(16),
    name: 'google',
    private_key: new Uint8Array(1),
    not_after: Number.MAX_SAFE_INTEGER,
  };
  await world.ctx.store.write(() =>
    insertIssuer(world.ctx.store, { ...row, certificate: new Uint8Array(former.rawData) }),
  );
  const { certificate } = await intermediateOf(world.options, 'google');
  t.match(certificate.subject, /^CN=Zoneplane built-in authority [0-9a-f]{6}, O=Zoneplane$/);
  t.equal((await intermediateOf(world.options, 'google')).certificate.subject, certificate.subject, 'made once');
});

t.test('private keys of issuers are in no file', async (t) => {
  const world = await startWorld(t);
  const order = await readyOrder(world, ['shop.test']);
  await world.authority().finalize(order, await makeCsr(['shop.test']));
  const rows = ['root', 'google'].flatMap((name) => issuersOf(world.ctx.store, name));
  const seen = rows.map(({ id, private_key }) => Buffer.from(world.options.vault.open(ISSUER_KEYS, id, private_key)));
  t.equal(seen.length, 2);
  const files = readdirSync(world.directory).map((file) => [file, readFileSync(join(world.directory, file))] as const);
  t.ok(
    files.some(([, content]) => content.includes(Buffer.from(rows[0]!.certificate))),
    'the certificate beside it is found',
  );
  for (const [file, content] of files) {
    for (const key of seen) t.notOk(content.includes(key.subarray(40, 68)), `${file} holds no private key`);
  }
  const { store } = world.ctx;
  const exchange =
    'UPDATE authority_issuers SET private_key = (SELECT private_key FROM authority_issuers WHERE seq = 1)';
  await store.write(() => store.prepare(exchange).run());
  const next = await readyOrder(world, ['app.shop.test']);
  await t.rejects(
    world.authority().finalize(next, await makeCsr(['app.shop.test'])),
    'the key of another row does not open',
  );
  t.equal((await world.authority().order(next.url)).status, 'ready');
});
