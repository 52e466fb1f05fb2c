/** Certificates that customers upload: the refusals, and the served chain. */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate as NodeCertificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type BundleMethod, checkBundle, checkUpload, UploadError, type UploadFault } from '../../src/certs/upload.js';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '../../src/certs/x509.js';

const OPENSSL = '/usr/bin/openssl';
const withoutOpenssl = !existsSync(OPENSSL) && process.env['CI'] !== 'true' ? `not installed: ${OPENSSL}` : false;
const NOW = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;

type Kind = 'P-256' | 'P-384' | 'P-521' | 'RSA-2048' | 'RSA-1024';

interface Made {
  readonly pem: string;
  readonly keyPem: string;
  readonly subject: string;
  readonly pair: { readonly publicKey: never; readonly privateKey: never };
  readonly algorithm: object;
}

interface Wanted {
  readonly subject: string;
  /** Itself when left out. */
  readonly issuer?: Made;
  readonly ca?: boolean;
  readonly names?: readonly string[];
  readonly kind?: Kind;
  readonly hash?: string;
  /** From and to, in days from now. */
  readonly days?: readonly [number, number];
  /** Another certificate for the same key. */
  readonly sameKeyAs?: Made;
}

async function make(wanted: Wanted): Promise<Made> {
  const { subject, issuer, ca = false, names = [], kind = 'P-256', hash = 'SHA-256', days = [-1, 30] } = wanted;
  const [type, size] = kind.split('-') as [string, string];
  const algorithm =
    type === 'RSA'
      ? { name: 'RSASSA-PKCS1-v1_5', modulusLength: Number(size), publicExponent: Uint8Array.of(1, 0, 1), hash }
      : { name: 'ECDSA', namedCurve: kind, hash };
  const pair =
    wanted.sameKeyAs?.pair ?? ((await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as never);
  const { publicKey, privateKey } = pair as Made['pair'];
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: issuer?.subject ?? subject,
    notBefore: new Date(NOW + days[0] * DAY_MS),
    notAfter: new Date(NOW + days[1] * DAY_MS),
    publicKey,
    signingKey: issuer?.pair.privateKey ?? privateKey,
    signingAlgorithm: { ...(issuer?.algorithm ?? algorithm), hash } as never,
    extensions: [
      new BasicConstraintsExtension(ca, undefined, true),
      ...(names.length > 0
        ? [new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))]
        : []),
    ],
  });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', privateKey));
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  return {
    pem: `${certificate.toString('pem')}\n`,
    keyPem: exportKey(key),
    subject,
    pair: pair as Made['pair'],
    algorithm,
  };
}

function exportKey(key: KeyObject, type: 'pkcs8' | 'sec1' | 'pkcs1' = 'pkcs8'): string {
  return key.export({ format: 'pem', type } as never) as unknown as string;
}

/** Keys whose numbers have the right sizes, and are no primes: they sign nothing, but are there at once. */
async function rsaPair(bits: number): Promise<Made['pair']> {
  const octets = (count: number, first = 0x55): string =>
    Buffer.of(first, ...Array(count - 1).fill(0x55)).toString('base64url');
  const half = octets(bits >> 4);
  const open = { kty: 'RSA', n: octets((bits >> 3) + 1, 1), e: 'AQAB' };
  const secret = { ...open, d: octets(bits >> 3), p: half, q: half, dp: half, dq: half, qi: half };
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const load = (key: object, use: string) =>
    crypto.subtle.importKey('jwk', key as never, algorithm, true, [use as never]);
  return { publicKey: await load(open, 'verify'), privateKey: await load(secret, 'sign') } as never;
}

const root = await make({ subject: 'CN=Root', ca: true, days: [-1000, 1000] });
const middle = await make({ subject: 'CN=Middle', ca: true, issuer: root, days: [-500, 500] });
const leaf = await make({ subject: 'CN=app', issuer: middle, names: ['app.customer.test', '*.shop.test'] });
const rsa = await make({ subject: 'CN=rsa', issuer: middle, names: ['app.customer.test'], kind: 'RSA-2048' });
const stranger = await make({ subject: 'CN=Stranger', ca: true });
const HOST = 'app.customer.test';

function upload(
  certificate: string,
  key: string,
  names: readonly string[] = [HOST],
  bundleMethod: BundleMethod = 'ubiquitous',
) {
  return checkUpload({ certificate, key }, { names, bundleMethod, nowMs: NOW });
}

function faultOf(run: () => unknown): UploadFault | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof UploadError) return error.code;
    throw error;
  }
}

function subjects(pem: string): string[] {
  return pem.split(/(?<=-----END CERTIFICATE-----\n)/).map((each) => new NodeCertificate(each).subject);
}

t.test('a valid certificate', async (t) => {
  const { pem, privateKey, ...facts } = upload(`${leaf.pem}${middle.pem}`, leaf.keyPem);
  t.same(subjects(pem), ['CN=app', 'CN=Middle']);
  t.match(facts, {
    keyType: 'ecdsa',
    issuer: 'CN=Middle',
    names: ['app.customer.test', '*.shop.test'],
    signatureAlgorithm: 'ECDSA-SHA256',
    notBeforeMs: NOW - DAY_MS,
    notAfterMs: NOW + 30 * DAY_MS,
    serial: /^[0-9a-f]+$/,
    fingerprint: /^[0-9a-f]{64}$/,
  });
  const key = createPrivateKey({ key: Buffer.from(privateKey), format: 'der', type: 'pkcs8' });
  t.equal(exportKey(key), leaf.keyPem);
  t.equal(upload(leaf.pem, leaf.keyPem, ['any.shop.test']).pem, leaf.pem, 'a wildcard; no chain');
  t.equal(upload(leaf.pem, leaf.keyPem, ['*.shop.test']).pem, leaf.pem);
  t.equal(upload(leaf.pem, exportKey(createPrivateKey(leaf.keyPem), 'sec1')).pem, leaf.pem, 'a key as SEC 1');
  t.equal(upload(rsa.pem, exportKey(createPrivateKey(rsa.keyPem), 'pkcs1')).keyType, 'rsa', 'a key as PKCS #1');
  const framed = `Bag Attributes\r\n${leaf.pem.replaceAll('\n', '\r\n')}\r\n`;
  t.equal(
    upload(framed, `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${leaf.keyPem}`).pem,
    leaf.pem,
  );
});

t.test('refusals', async (t) => {
  const names = [HOST];
  const more = async (wanted: Partial<Wanted>): Promise<Made> =>
    make({ subject: 'CN=x', issuer: middle, names, ...wanted });
  const weak = await more({ kind: 'RSA-1024' });
  const large = await more({ kind: 'RSA-2048', sameKeyAs: { ...weak, pair: await rsaPair(4097) } });
  const curve = await more({ kind: 'P-521' });
  const old = await more({ days: [-90, 0] });
  const early = await more({ days: [1, 90] });
  const sha1 = await more({
    kind: 'RSA-2048',
    issuer: await make({ subject: 'CN=Old', ca: true, kind: 'RSA-2048', hash: 'SHA-1' }),
    hash: 'SHA-1',
  });
  const lateMiddle = await make({ subject: 'CN=Late', ca: true, issuer: root, days: [-90, -1] });
  const late = await more({ issuer: lateMiddle });
  const impostor = await make({ subject: 'CN=Middle', ca: true });
  const ed25519 = generateKeyPairSync('ed25519').privateKey;
  const encrypted = createPrivateKey(leaf.keyPem).export({
    format: 'pem',
    type: 'pkcs8',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  });
  const damaged = leaf.pem.replace(/\n(.{10})/, '\nAAAAAAAAAA');
  const rows: readonly (readonly [
    what: string,
    fault: UploadFault,
    certificate: string,
    key: string,
    host?: string,
  ])[] = [
    ['no certificate', 'certificate-empty', ' \n', leaf.keyPem],
    ['no PEM', 'no-certificate', 'hello', leaf.keyPem],
    ['a key for a certificate', 'no-certificate', leaf.keyPem, leaf.keyPem],
    ['a damaged certificate', 'unreadable', damaged, leaf.keyPem],
    ['far too long', 'unreadable', `${leaf.pem}${'x'.repeat(200_000)}`, leaf.keyPem],
    ['too many', 'too-many-certificates', leaf.pem.repeat(11), leaf.keyPem],
    ['no key', 'key-empty', leaf.pem, ''],
    ['no PEM key', 'key-unreadable', leaf.pem, 'hello'],
    ['a damaged key', 'key-unreadable', leaf.pem, leaf.keyPem.replace(/\n(.{30})/, `\n${'A'.repeat(30)}`)],
    ['an encrypted key', 'key-unreadable', leaf.pem, encrypted as string],
    ['a public key', 'key-unreadable', leaf.pem, leaf.pem],
    ['two keys', 'key-unreadable', leaf.pem, `${leaf.keyPem}${rsa.keyPem}`],
    ['a key that is far too long', 'key-unreadable', leaf.pem, `${leaf.keyPem}${' '.repeat(40_000)}`],
    ['another key', 'key-mismatch', leaf.pem, rsa.keyPem],
    ['a key of another kind', 'key-mismatch', leaf.pem, exportKey(ed25519)],
    ['only authorities', 'no-leaf', `${middle.pem}${root.pem}`, middle.keyPem],
    ['two for servers', 'several-leaves', `${leaf.pem}${rsa.pem}`, leaf.keyPem],
    ['another host', 'name-missing', leaf.pem, leaf.keyPem, 'other.customer.test'],
    ['two labels below a wildcard', 'name-missing', leaf.pem, leaf.keyPem, 'a.b.shop.test'],
    ['the wildcard itself', 'name-missing', leaf.pem, leaf.keyPem, 'shop.test'],
    ['a wildcard hostname', 'name-missing', leaf.pem, leaf.keyPem, '*.customer.test'],
    ['a weak RSA key', 'key-weak', weak.pem, weak.keyPem],
    ['an RSA key that keeps others waiting', 'key-weak', large.pem, large.keyPem],
    ['P-521', 'key-weak', curve.pem, curve.keyPem],
    ['expired', 'expired', old.pem, old.keyPem],
    ['not yet', 'not-yet-valid', early.pem, early.keyPem],
    ['an expired intermediate', 'expired', `${late.pem}${lateMiddle.pem}`, late.keyPem],
    ['SHA-1', 'signature-algorithm', sha1.pem, sha1.keyPem],
    ['an authority that has nothing to do with it', 'broken-chain', `${leaf.pem}${stranger.pem}`, leaf.keyPem],
    ['an authority of the same name', 'broken-chain', `${leaf.pem}${impostor.pem}`, leaf.keyPem],
    ['a gap in the chain', 'broken-chain', `${leaf.pem}${root.pem}`, leaf.keyPem],
  ];
  for (const [what, fault, certificate, key, host = HOST] of rows) {
    t.equal(
      faultOf(() => upload(certificate, key, [host])),
      fault,
      what,
    );
  }
});

t.test('no message reveals anything about a key', async (t) => {
  const secret = leaf.keyPem.split('\n')[1]!;
  for (const key of [
    leaf.keyPem.replace('BEGIN', 'BEGUN'),
    leaf.keyPem.slice(0, -60),
    leaf.keyPem.replace(secret, secret.slice(8)),
  ]) {
    try {
      upload(leaf.pem, key);
      t.fail('taken');
    } catch (error) {
      t.ok(error instanceof UploadError);
      t.notMatch(`${(error as Error).message} ${(error as Error).cause ?? ''}`, secret.slice(8, 24));
    }
  }
});

t.test('the order of a chain', async (t) => {
  const all = [root.pem, middle.pem, leaf.pem];
  for (const method of ['ubiquitous', 'optimal'] as const) {
    t.same(
      subjects(upload(all.join(''), leaf.keyPem, [HOST], method).pem),
      ['CN=app', 'CN=Middle'],
      `${method}: put in order`,
    );
  }
  t.same(subjects(upload(all.toReversed().join(''), leaf.keyPem, [HOST], 'force').pem), [
    'CN=app',
    'CN=Middle',
    'CN=Root',
  ]);
  for (const given of [all.join(''), `${middle.pem}${leaf.pem}`, `${leaf.pem}${root.pem}${middle.pem}`]) {
    t.ok(
      ['wrong-order', 'key-mismatch'].includes(faultOf(() => upload(given, leaf.keyPem, [HOST], 'force'))!),
      'force: as given',
    );
  }
  t.same(subjects(upload(leaf.pem.repeat(3), leaf.keyPem).pem), ['CN=app'], 'each once');
});

t.test('cross-signed authorities', async (t) => {
  const elder = await make({ subject: 'CN=Elder', ca: true, days: [-1000, 1000] });
  const crossed = await make({ subject: 'CN=Root', ca: true, issuer: elder, sameKeyAs: root, days: [-1000, 1000] });
  const all = [leaf, middle, crossed, elder, root].map(({ pem }) => pem).join('');
  t.same(subjects(upload(all, leaf.keyPem).pem), ['CN=app', 'CN=Middle', 'CN=Root'], 'the long way, for old clients');
  t.same(subjects(upload(all, leaf.keyPem, [HOST], 'optimal').pem), ['CN=app', 'CN=Middle'], 'the short way');
  // Authorities that vouch for each other.
  const one = await make({ subject: 'CN=One', ca: true });
  const other = await make({ subject: 'CN=Other', ca: true, issuer: one });
  const back = await make({ subject: 'CN=One', ca: true, issuer: other, sameKeyAs: one });
  const server = await make({ subject: 'CN=y', issuer: one, names: [HOST] });
  t.same(subjects(upload([server, back, other].map(({ pem }) => pem).join(''), server.keyPem).pem), [
    'CN=y',
    'CN=One',
    'CN=Other',
  ]);
});

t.test('a bundle for old and new clients', async (t) => {
  const options = { names: [HOST], bundleMethod: 'ubiquitous', nowMs: NOW } as const;
  const ecdsaUpload = { certificate: leaf.pem, key: leaf.keyPem };
  const rsaUpload = { certificate: rsa.pem, key: rsa.keyPem };
  t.same(
    checkBundle([rsaUpload, ecdsaUpload], options).map(({ keyType }) => keyType),
    ['rsa', 'ecdsa'],
  );
  t.equal(checkBundle([rsaUpload], options).length, 1);
  t.equal(
    faultOf(() => checkBundle([rsaUpload, rsaUpload], options)),
    'bundle',
  );
  t.equal(
    faultOf(() => checkBundle([], options)),
    'bundle',
  );
  t.equal(
    faultOf(() => checkBundle([rsaUpload, ecdsaUpload, rsaUpload], options)),
    'bundle',
  );
  t.equal(
    faultOf(() => checkBundle([rsaUpload, { ...ecdsaUpload, key: '' }], options)),
    'key-empty',
  );
});

t.test('certificates made by one openssl command', { skip: withoutOpenssl }, async (t) => {
  const directory = t.testdir();
  const [certificate, key] = [join(directory, 'certificate'), join(directory, 'key')];
  execFileSync(
    OPENSSL,
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '36500', '-subj', '/CN=app.customer.test'],
      ...['-addext', 'subjectAltName=DNS:app.customer.test', '-out', certificate, '-keyout', key],
    ],
    { stdio: 'ignore' },
  );
  const pem = readFileSync(certificate, 'utf8');
  const read = checkUpload(
    { certificate: pem, key: readFileSync(key, 'utf8') },
    { names: [HOST], bundleMethod: 'ubiquitous', nowMs: new NodeCertificate(pem).validFromDate.getTime() },
  );
  t.equal(read.pem, pem, 'its own authority, and a server all the same');
});
