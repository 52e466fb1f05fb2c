/**
 * Making signatures, and keys that come from and go to files: examples of RFCs, and the tools of BIND, which must take
 * what we print and believe what we sign.
 */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { fromHex, toHex } from '../../src/base/bytes.js';
import { Type } from '../../src/dns/codes.js';
import { parseName, ROOT } from '../../src/dns/name.js';
import { parseRdata, typeByMnemonic } from '../../src/dns/rr/registry.js';
import { nsec3ParamRdata, nsec3Rdata, nsecRdata } from '../../src/dnssec/denial.js';
import { dnskeyRdata, isSignedBy, readPublicKey } from '../../src/dnssec/key.js';
import { hashOwner } from '../../src/dnssec/nsec3.js';
import { parsePrivateKeyFile, printPrivateKeyFile } from '../../src/dnssec/private-key-file.js';
import { readSignature, signedOctets } from '../../src/dnssec/signature.js';
import {
  generateKey,
  KSK_FLAGS,
  keyMaterial,
  openKey,
  type SigningKeyError,
  ZSK_FLAGS,
} from '../../src/dnssec/signing-key.js';
import { signRRset } from '../support/sign-rrset.js';

const isAbsent = !existsSync('/usr/bin/dnssec-keygen') && !existsSync('/usr/sbin/dnssec-keygen');
const skip = isAbsent && process.env['CI'] !== 'true' ? 'not installed: dnssec-keygen' : false;

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-sign-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

function rdata(type: string, text: string): Uint8Array {
  return parseRdata(typeByMnemonic(type)!.code, text, ROOT);
}

/** Keys of RFC 6605 §6 and RFC 8080 §6: private key, DNSKEY. */
const KEYS: readonly (readonly [algorithm: number, privateKey: string, dnskey: string])[] = [
  [
    13,
    'GU6SnQ/Ou+xC5RumuIUIuJZteXT2z0O/ok1s38Et6mQ=',
    '257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==',
  ],
  [
    14,
    'WURgWHCcYIYUPWgeLmiPY2DJJk02vgrmTfitxgqcL4vwW7BOrbawVmVe0d9V94SR',
    '257 3 14 xKYaNhWdGOfJ+nPrL8/arkwf2EY3MDJ+SErKivBVSum1w/egsXvSADtNJhyem5RCOpgQ6K8X1DRSEkrbYQ+OB+v8/uX45NBwY8rp65F6Glur8I/mlVNgF6W/qTI37m40',
  ],
  [15, 'ODIyNjAzODQ2MjgwODAxMjI2NDUxOTAyMDQxNDIyNjI=', '257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4='],
  [
    16,
    'xZ+5Cgm463xugtkY5B0Jx6erFTXp13rYegst0qRtNsOYnaVpMx0Z/c5EiA9x8wWbDDct/U3FhYWA',
    '257 3 16 3kgROaDjrh0H2iuixWBrc8g2EpBBLCdGzHmn+G2MpTPhpj/OiBVHHSfPodx1FYYUcJKm1MDpJtIA',
  ],
];

t.test('private keys of the RFCs belong to their DNSKEYs', async (t) => {
  for (const [algorithm, privateKey, text] of KEYS) {
    const file = `Private-key-format: v1.2\nAlgorithm: ${algorithm} (X)\nPrivateKey: ${privateKey}\n`;
    const { key, algorithm: found } = parsePrivateKeyFile(file);
    t.equal(found, algorithm);
    t.same(dnskeyRdata(key, algorithm, 257), Buffer.from(rdata('DNSKEY', text)), `algorithm ${algorithm}`);
    t.match(printPrivateKeyFile(key, algorithm), `PrivateKey: ${privateKey}\n`);
    const pem = key.export({ format: 'pem', type: 'pkcs8' }) as string;
    t.equal(parsePrivateKeyFile(pem).algorithm, algorithm, 'the same in PEM');
  }
});

t.test('the signature of RFC 8080 §6.1 is made octet for octet', async (t) => {
  const [algorithm, privateKey, text] = KEYS[2]!;
  const file = `Private-key-format: v1.2\nAlgorithm: ${algorithm} (ED25519)\nPrivateKey: ${privateKey}\n`;
  const { pkcs8 } = keyMaterial(parsePrivateKeyFile(file).key, algorithm, KSK_FLAGS);
  const key = openKey(rdata('DNSKEY', text), pkcs8);
  const apex = parseName('Example.com', ROOT);
  const rrset = { type: Type.mx, ttl: 3600, rdatas: [rdata('MX', '10 mail.example.com.')] };
  t.same(
    signRRset(key, apex, apex, rrset, { inception: 1_438_207_200, expiration: 1_440_021_600 }),
    Buffer.from(
      rdata(
        'RRSIG',
        'MX 15 2 3600 1440021600 1438207200 3613 example.com. oL9krJun7xfBOIWcGHi7mag5/hdZrKWw15jPGrHpjQeRAvTdszaPD+QLs3fx8A4M3e23mRZ9VrbpMngwcrqNAg==',
      ),
    ),
  );
});

t.test('new keys sign what their DNSKEY verifies, wildcards and times after 2106 included', async (t) => {
  const apex = parseName('example.test', ROOT);
  const owner = parseName('*.W.example.test', ROOT);
  const rrset = { type: Type.a, ttl: 60, rdatas: [rdata('A', '192.0.2.2'), rdata('A', '192.0.2.1')] };
  for (const algorithm of [13, 15] as const) {
    const { dnskey, pkcs8 } = generateKey(algorithm, ZSK_FLAGS);
    const key = openKey(dnskey, pkcs8);
    t.match(key, { algorithm, isEntryPoint: false, tag: readPublicKey(dnskey).tag });
    const made = signRRset(key, apex, owner, rrset, { inception: 2 ** 32 - 10, expiration: 2 ** 32 + 10 });
    const signature = readSignature(made);
    t.match(signature, { labels: 3, inception: 2 ** 32 - 10, expiration: 10, originalTtl: 60, keyTag: key.tag });
    const answered = parseName('any.thing.w.example.test', ROOT);
    for (const name of [owner, answered]) {
      const octets = signedOctets({ ...signature, head: made }, name, rrset.rdatas);
      t.ok(isSignedBy(readPublicKey(dnskey), octets, signature.signature));
    }
    const other = signedOctets({ ...signature, head: made }, owner, [rrset.rdatas[0]!]);
    t.notOk(isSignedBy(readPublicKey(dnskey), other, signature.signature), 'other data');
    const foreign = generateKey(algorithm, ZSK_FLAGS);
    t.throws(() => openKey(foreign.dnskey, pkcs8), { code: 'other-key' } satisfies Partial<SigningKeyError>);
    const asKsk = keyMaterial(
      createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' }),
      algorithm,
      257,
    );
    t.same(asKsk.dnskey.subarray(2), Buffer.from(dnskey.subarray(2)), 'the same key with other flags');
  }
  t.throws(() => openKey(generateKey(13, KSK_FLAGS).dnskey, new Uint8Array(9)), { code: 'unreadable' });
});

t.test('denial records of RFC 4034 §4.3 and RFC 5155 B', async (t) => {
  const types = [Type.a, Type.mx, Type.rrsig, Type.nsec, 1234, Type.a];
  const nsec = nsecRdata(parseName('Host.example.com', ROOT), types);
  t.same(nsec, rdata('NSEC', 'host.example.com. A MX RRSIG NSEC TYPE1234'));
  t.ok(toHex(nsec).endsWith(`0006400100000003041b${'00'.repeat(26)}20`));
  const parameters = { iterations: 12, salt: fromHex('aabbccdd')!, optOut: true };
  const next = hashOwner(parseName('ns1.example', ROOT), parameters);
  t.same(
    nsec3Rdata(parameters, next, [Type.mx, Type.dnskey, Type.ns, Type.soa, Type.nsec3param, Type.rrsig]),
    rdata('NSEC3', '1 1 12 aabbccdd 2t7b4g4vsa5smi47k61mv5bv1a22bojr MX DNSKEY NS SOA NSEC3PARAM RRSIG'),
  );
  t.same(nsec3ParamRdata(parameters), rdata('NSEC3PARAM', '1 0 12 aabbccdd'));
  t.same(nsec3Rdata({ iterations: 0, salt: new Uint8Array(0), optOut: false }, next, []).length, 26);
});

t.test('keys of BIND come in, and go out so that BIND signs with them', { skip }, async (t) => {
  for (const algorithm of ['RSASHA256', 'RSASHA512', 'ECDSAP256SHA256', 'ECDSAP384SHA384', 'ED25519', 'ED448']) {
    const own = mkdtempSync(join(directory, 'keys-'));
    const run = (program: string, ...args: readonly string[]): Buffer =>
      execFileSync(program, args, { cwd: own, stdio: 'pipe' });
    run('dnssec-keygen', '-q', '-a', algorithm, '-b', '2048', '-f', 'KSK', 'example.test');
    run('dnssec-keygen', '-q', '-a', algorithm, '-b', '2048', 'example.test');
    for (const name of readdirSync(own).filter((file) => file.endsWith('.private'))) {
      const line = readFileSync(join(own, name.replace('.private', '.key')), 'utf8')
        .split('\n')
        .at(-2)!;
      const dnskey = rdata('DNSKEY', line.replace(/^.*\sDNSKEY\s/, ''));
      const read = parsePrivateKeyFile(readFileSync(join(own, name), 'utf8'));
      t.equal(read.algorithm, dnskey[3]);
      t.same(dnskeyRdata(read.key, dnskey[3]!, (dnskey[0]! << 8) | dnskey[1]!), Buffer.from(dnskey), name);
      const printed = printPrivateKeyFile(read.key, dnskey[3]!);
      t.ok(createPublicKey(parsePrivateKeyFile(printed).key).equals(createPublicKey(read.key)));
      writeFileSync(join(own, name), printed);
    }
    const keys = readdirSync(own).filter((name) => name.endsWith('.key'));
    const included = keys.map((name) => `$INCLUDE ${name}\n`);
    writeFileSync(join(own, 'zone'), `@ 60 SOA a. b. 1 2 3 4 5\n@ 60 NS a.\n${included.join('')}`);
    const names = keys.map((name) => name.slice(0, -4));
    run('dnssec-signzone', '-O', 'full', '-o', 'example.test', '-f', 'signed', 'zone', ...names);
    t.match(readFileSync(join(own, 'signed'), 'utf8'), /RRSIG\tSOA/);
  }
});

t.test('files that are not keys', async (t) => {
  const head = 'Private-key-format: v1.3\n';
  for (const [text, code] of [
    ['', 'unreadable'],
    ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', 'unreadable'],
    ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', 'unreadable'],
    [`${head}Algorithm: 3 (DSA)\n`, 'other-algorithm'],
    [head, 'other-algorithm'],
    [`${head}Algorithm: 13\n`, 'unreadable'],
    [`${head}Algorithm: 13\nPrivateKey: ${Buffer.alloc(32).toString('base64')}\n`, 'unreadable'],
    [`${head}Algorithm: 15\nPrivateKey: AAAA\n`, 'unreadable'],
    [`${head}Algorithm: 8\nModulus: AAAA\nPublicExponent: AQAB\n`, 'unreadable'],
    ['Private-key-format: v2.0\nAlgorithm: 13\nPrivateKey: AAAA\n', 'unreadable'],
  ] as const) {
    t.throws(() => parsePrivateKeyFile(text), { name: 'SigningKeyError', code }, text.slice(-40));
  }
  const { privateKey } = await import('node:crypto').then(({ generateKeyPairSync }) => generateKeyPairSync('x25519'));
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  t.throws(() => parsePrivateKeyFile(pem), { code: 'other-algorithm' });
});
