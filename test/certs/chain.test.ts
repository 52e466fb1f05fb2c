/** Certificate signing requests, checked with OpenSSL, and the check of chains from outside. */
import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import t from 'tap';
import { type ChainFault, describeCertificate, dnsNamesOf, readChain } from '../../src/certs/chain.js';
import { createCsr, generatePrivateKey } from '../../src/certs/csr.js';
import {
  BasicConstraintsExtension,
  type Extension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '../../src/certs/x509.js';
import { isCovered } from '../../src/dns/certified.js';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 5, 1);
const LONGEST = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;

t.test('requests', async (t) => {
  for (const type of ['P-256', 'RSA-2048'] as const) {
    const key = await generatePrivateKey(type);
    const csr = await createCsr(key, ['a.example.com', '*.example.com', '_x.xn--e28h.example', LONGEST]);
    const text = execFileSync('openssl', ['req', '-inform', 'DER', '-noout', '-text', '-verify'], {
      input: csr,
      stdio: ['pipe', 'pipe', 'ignore'],
    }).toString();
    t.match(text, /Subject: *\n/, `${type}: no common name`);
    t.match(text, /Alternative Name: critical\s+DNS:a\.example\.com, DNS:\*\.example\.com, DNS:_x\.xn--e28h\.example/);
    t.ok(text.includes(`DNS:${LONGEST}`), '253 octets');
    t.match(text, type === 'P-256' ? /ecdsa-with-SHA256/ : /sha256WithRSAEncryption/);
    const published = execFileSync('openssl', ['req', '-inform', 'DER', '-noout', '-pubkey', '-verify'], {
      input: csr,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    t.ok(createPublicKey(published).equals(createPublicKey(key)), `${type}: for this key`);
  }
});

t.test('names that no certificate can have', async (t) => {
  const key = await generatePrivateKey();
  const refused: [string[], string][] = [
    [[], 'no-names'],
    [Array.from({ length: 101 }, (_, i) => `n${i}.example`), 'too-many-names'],
    [['a.example', ''], 'bad-name'],
    [[`${LONGEST}e`], 'bad-name'],
    [[`${'a'.repeat(64)}.example`], 'bad-name'],
    ...[
      'A.example',
      'a.example.',
      'a..example',
      '*',
      'a.*.example',
      '*.*.example',
      'bücher.example',
      'a b',
      'a\0b',
    ].map((name): [string[], string] => [[name], 'bad-name']),
  ];
  for (const [names, code] of refused) {
    await t.rejects(createCsr(key, names), { name: 'CsrError', code }, JSON.stringify(names).slice(0, 80));
  }
  await t.rejects(createCsr(generateKeyPairSync('ed448').privateKey, ['a.example']), { code: 'bad-key' });
});

t.test('a chain', async (t) => {
  const { root, intermediate } = await authority();
  const key = await generatePrivateKey();
  const leaf = await issue({ to: 'leaf', key, by: intermediate, names: ['A.example.com', '*.example.net'] });
  const chain = `Some words\n${leaf.pem}\n${intermediate.pem}`;
  const names = ['a.example.com', 'b.example.net', '*.example.net'];
  const good = { key, names, nowMs: NOW };

  t.test('is described', async (t) => {
    const read = readChain(chain, good);
    const node = new X509Certificate(leaf.pem);
    t.match(read, {
      serial: node.serialNumber.toLowerCase(),
      notBeforeMs: NOW - DAY_MS,
      notAfterMs: NOW + DAY_MS,
      issuer: 'CN=intermediate',
      names: ['a.example.com', '*.example.net'],
      signatureAlgorithm: 'ECDSA-SHA256',
      fingerprint: node.fingerprint256.replaceAll(':', '').toLowerCase(),
    });
    t.strictSame(Buffer.from(read.certificate), node.raw);
    t.notMatch(read.pem, /words/);
    t.equal(read.pem.match(/BEGIN CERTIFICATE/g)?.length, 2);
    t.strictSame(readChain(read.pem, { ...good, key: createPublicKey(key) }), read, 'read again, with the public key');
    t.ok(readChain(leaf.pem, good), 'without its issuer');
    t.ok(readChain(`${read.pem}${root.pem}`, good), 'with the root');
    t.equal(describeCertificate(read.certificate).issuer, 'CN=intermediate');
  });

  t.test('is refused', async (t) => {
    const other = await generatePrivateKey();
    const forged = await issue({ to: 'forged', key, by: { ...intermediate, key: other }, names });
    const byLeaf = await issue({ to: 'below', key, by: leaf, names });
    const old = await issue({ to: 'intermediate', key: intermediate.key, by: root, isCa: true, endMs: NOW - 1 });
    const rows: [string, string, Partial<typeof good>, ChainFault][] = [
      ['nothing', '', {}, 'no-certificate'],
      ['a private key only', key.export({ format: 'pem', type: 'pkcs8' }).toString(), {}, 'no-certificate'],
      ['not closed', leaf.pem.slice(0, -10), {}, 'no-certificate'],
      ['no certificate inside', pemOf('AAAA'), {}, 'unreadable'],
      ['cut short', pemOf(leaf.pem.split('\n').slice(1, 4).join('\n')), {}, 'unreadable'],
      ['a broken issuer', `${leaf.pem}\n${pemOf('MAAB')}`, {}, 'unreadable'],
      ['eleven', `${leaf.pem}\n`.repeat(11), {}, 'too-many-certificates'],
      ['another key', chain, { key: other }, 'key-mismatch'],
      ['a key of another kind', chain, { key: await generatePrivateKey('RSA-2048') }, 'key-mismatch'],
      ['a name it lacks', chain, { names: [...names, 'c.example.com'] }, 'name-missing'],
      ['a wildcard it lacks', chain, { names: ['*.example.com'] }, 'name-missing'],
      ['over', chain, { nowMs: NOW + DAY_MS }, 'expired'],
      ['an issuer that is over', `${leaf.pem}\n${old.pem}`, {}, 'expired'],
      ['to come', chain, { nowMs: NOW - 2 * DAY_MS }, 'not-yet-valid'],
      ['the issuer first', `${intermediate.pem}\n${leaf.pem}`, { key: intermediate.key, names: [] }, 'wrong-order'],
      ['an issuer left out', `${leaf.pem}\n${root.pem}`, {}, 'wrong-order'],
      ['by one that is not an authority', `${byLeaf.pem}\n${leaf.pem}`, {}, 'wrong-order'],
      ['a forged signature', `${forged.pem}\n${intermediate.pem}`, {}, 'bad-signature'],
    ];
    for (const [what, pem, change, code] of rows) {
      t.throws(() => readChain(pem, { ...good, ...change }), { name: 'ChainError', code }, what);
    }
    t.ok(readChain(chain, { ...good, nowMs: NOW - DAY_MS - 3_600_000 }), 'a clock an hour behind is not a reason');
    t.throws(() => describeCertificate(new Uint8Array(10)), { code: 'unreadable' });
  });

  t.test('the time for bad texts grows with their length only', async (t) => {
    const pieces = [
      '-----BEGIN ',
      '-----BEGIN CERTIFICATE-----\n',
      'A: b\n',
      '-----BEGIN CERTIFICATE-----\nAAAA\n',
      '\n',
    ];
    const read = (piece: string, octets: number): void => {
      t.throws(() => readChain(piece.repeat(octets / piece.length), good), { code: 'no-certificate' });
    };
    /** The least processor time of three, in microseconds. */
    const costOf = (work: () => void): number => {
      const costs = [1, 2, 3].map(() => {
        const before = process.cpuUsage();
        work();
        return process.cpuUsage(before).user;
      });
      return Math.min(...costs);
    };
    for (const piece of pieces) {
      const short = costOf(() => {
        for (let i = 0; i < 16; i++) read(piece, 8192);
      });
      const long = costOf(() => read(piece, 131_072));
      t.ok(long < 4 * short + 20_000, `${long} µs for one long text, ${short} µs for 16 short ones`);
    }
  });
});

t.test('names that a certificate covers (RFC 9525 §6.3)', async (t) => {
  const certified = ['example.com', '*.example.com'];
  const covered = ['example.com', 'a.example.com', '*.example.com'];
  for (const name of covered) t.ok(isCovered(name, certified), name);
  const bare = ['a.b.example.com', '*.a.example.com', 'example.net', 'com', 'aexample.com'];
  for (const name of bare) t.notOk(isCovered(name, certified), name);
});

interface Issued {
  readonly subject: string;
  readonly key: KeyObject;
  readonly pem: string;
}

interface Wanted {
  readonly to: string;
  readonly key: KeyObject;
  /** Absent: by itself. */
  readonly by?: Issued;
  readonly names?: readonly string[];
  readonly isCa?: boolean;
  readonly endMs?: number;
}

async function authority(): Promise<{ root: Issued; intermediate: Issued }> {
  const root = await issue({ to: 'root', key: await generatePrivateKey(), isCa: true });
  const intermediate = await issue({ to: 'intermediate', key: await generatePrivateKey(), by: root, isCa: true });
  return { root, intermediate };
}

async function issue({ to, key, by, names = [], isCa = false, endMs = NOW + DAY_MS }: Wanted): Promise<Issued> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const extensions: Extension[] = [new BasicConstraintsExtension(isCa, undefined, true)];
  if (names.length > 0) {
    extensions.push(new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value }))));
  }
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${to}`,
    issuer: `CN=${by?.subject ?? to}`,
    publicKey: createPublicKey(key).toCryptoKey(algorithm, true, ['verify']),
    signingKey: (by?.key ?? key).toCryptoKey(algorithm, false, ['sign']),
    signingAlgorithm: algorithm,
    notBefore: new Date(NOW - DAY_MS),
    notAfter: new Date(endMs),
    extensions,
  });
  return { subject: to, key, pem: certificate.toString('pem') };
}

function pemOf(base64: string): string {
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
}

t.test('names in a certificate, of which none can make another one', async (t) => {
  const names = ['a.example', 'x, DNS:evil.example', 'q"\\".example', '*.b.example', ...Array(500).fill('n.example')];
  const { pem } = await issue({ to: 'many', key: await generatePrivateKey(), names });
  t.strictSame(
    describeCertificate(new X509Certificate(pem).raw).names,
    names.map((name) => name.toLowerCase()),
  );
  t.strictSame(dnsNamesOf('DNS:A.example, IP Address:192.0.2.1, email:a@b.example, DNS:b.example'), [
    'a.example',
    'b.example',
  ]);
  t.strictSame(dnsNamesOf(), []);
});
