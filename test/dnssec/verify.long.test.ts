/**
 * Verification of signed zones: examples of RFCs, and zones signed by the tools of BIND and ldns, intact and with every
 * line damaged. When dnssec-verify and ldns-verify-zone agree about a zone, we must agree too.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { toBase32Hex, toHex } from '../../src/base/bytes.js';
import { keyTag } from '../../src/dns/key-tag.js';
import { parseName, ROOT } from '../../src/dns/name.js';
import { parseRdata, typeByMnemonic } from '../../src/dns/rr/registry.js';
import { readZone } from '../../src/dns/zonefile/parser.js';
import { dsRdata, readPublicKey } from '../../src/dnssec/key.js';
import { hashOwner } from '../../src/dnssec/nsec3.js';
import type { PlacedRR } from '../../src/dnssec/signed-zone.js';
import { type Verification, verifyZone } from '../../src/dnssec/verify.js';
import { type Outcome, runCommand } from '../support/commands.js';

const PROGRAMS = ['dnssec-keygen', 'dnssec-signzone', 'dnssec-verify', 'ldns-verify-zone'];
const absent = PROGRAMS.filter(
  (name) => !['/usr/bin', '/usr/sbin'].some((directory) => existsSync(join(directory, name))),
);
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : false;

const APEX = parseName('example.test', ROOT);
const ZONE = `$TTL 3600
@ SOA ns1 host 1 7200 3600 1209600 300
@ NS ns1
@ MX 10 Mail.Example.test.
ns1 A 192.0.2.1
mail A 192.0.2.2
a.b.c TXT "below two empty non-terminals"
*.w A 192.0.2.3
sec NS ns.sec
sec DS 12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
ns.sec A 192.0.2.4
ins NS ns.ins
ns.ins A 192.0.2.5
ins.deep NS ns.elsewhere.test.
dn DNAME elsewhere.test.
srv SRV 1 2 3 Target.example.TEST.
\\000\\001.z TXT "escaped"
`;

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-dnssec-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

function rdata(type: string, text: string): Uint8Array {
  return parseRdata(typeByMnemonic(type)!.code, text, ROOT);
}

function verify(text: string, now = Math.floor(Date.now() / 1000)): Verification {
  const reading = readZone({ text }, { origin: APEX });
  const records: PlacedRR[] = [...reading.records()].flat().map((record) => ({ ...record, ttl: record.ttl ?? 0 }));
  const steps = verifyZone(APEX, records, now);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

function errorsOf(text: string, now?: number): string[] {
  return verify(text, now)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ code }) => code);
}

/** A zone signed by BIND, a record a line. */
function sign(algorithm: string, ...options: readonly string[]): string {
  const own = mkdtempSync(join(directory, 'sign-'));
  writeFileSync(join(own, 'zone'), ZONE);
  const run = (program: string, ...args: readonly string[]): void => {
    execFileSync(program, args, { cwd: own, stdio: 'pipe' });
  };
  run('dnssec-keygen', '-q', '-a', algorithm, '-b', '2048', '-f', 'KSK', 'example.test');
  run('dnssec-keygen', '-q', '-a', algorithm, '-b', '2048', 'example.test');
  run('dnssec-signzone', '-S', '-O', 'full', '-o', 'example.test', ...options, '-f', 'signed', 'zone');
  for (const name of readdirSync(own))
    if (name.startsWith('dsset')) writeFileSync(join(own, 'ds'), readFileSync(join(own, name)));
  return readFileSync(join(own, 'signed'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(';'))
    .map((line) => line.replace(/\s;.*$/, ''))
    .join('\n');
}

/** Whether both programs believe the zone; undefined when they disagree. */
function peersBelieve(text: string): boolean | undefined {
  const file = join(directory, 'judged');
  writeFileSync(file, `${text}\n`);
  const bind = spawnSync('dnssec-verify', ['-o', 'example.test', file], { stdio: 'pipe' }).status === 0;
  const ldns = spawnSync('ldns-verify-zone', [file], { stdio: 'pipe' }).status === 0;
  return bind === ldns ? bind : undefined;
}

t.test('key tags, digests and hashes of the RFCs', async (t) => {
  const key = rdata(
    'DNSKEY',
    '256 3 5 AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw==',
  );
  t.equal(keyTag(key), 60485, 'RFC 4034 §5.4');
  const ds = rdata('DS', '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118');
  t.same(dsRdata(parseName('dskey.example.com', ROOT), readPublicKey(key), 1), ds, 'RFC 4034 §5.4');
  const p256 = rdata(
    'DNSKEY',
    '257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==',
  );
  t.same(
    dsRdata(parseName('example.net', ROOT), readPublicKey(p256), 2),
    rdata('DS', '55648 13 2 b4c8c1fe2e7477127b27115656ad6256f424625bf5c1e2770ce6d6e37df61d17'),
    'RFC 6605 §6.1',
  );
  const ed25519 = rdata('DNSKEY', '257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=');
  t.same(
    dsRdata(parseName('example.com', ROOT), readPublicKey(ed25519), 2),
    rdata('DS', '3613 15 2 3aa5ab37efce57f737fc1627013fee07bdf241bd10f3b1964ab55c78e79a304b'),
    'RFC 8080 §6.1',
  );
  const parameters = { iterations: 12, salt: Buffer.from('aabbccdd', 'hex') };
  for (const [name, hash] of [
    ['example', '0p9mhaveqvm6t7vbl5lop2u3t2rp3tom'],
    ['*.w.example', 'r53bq7cc2uvmubfu5ocmm6pers9tk9en'],
    ['X.Y.W.example', '2vptu5timamqttgl4luu9kg21e0aor3s'],
  ] as const) {
    t.equal(toBase32Hex(hashOwner(parseName(name, ROOT), parameters)).toLowerCase(), hash, `RFC 5155 A ${name}`);
  }
});

t.test('signatures of RFC 8080 are valid on their day', async (t) => {
  const text = `example.com. 3600 IN SOA ns1.example.com. host.example.com. 1 1 1 1 1
example.com. 3600 IN DNSKEY 257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=
example.com. 3600 IN MX 10 mail.example.com.
example.com. 3600 IN RRSIG MX 15 2 3600 1440021600 1438207200 3613 example.com. oL9krJun7xfBOIWcGHi7mag5/hdZrKWw15jPGrHpjQeRAvTdszaPD+QLs3fx8A4M3e23mRZ9VrbpMngwcrqNAg==`;
  const apex = parseName('example.com', ROOT);
  const records = [...readZone({ text }, { origin: apex }).records()].flat();
  const judge = (now: number): string[] => {
    const steps = verifyZone(
      apex,
      records.map((record) => ({ ...record, ttl: record.ttl! })),
      now,
    );
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done)
        return step.value.findings.filter(({ message }) => message.includes(' MX: ')).map(({ code }) => code);
    }
  };
  t.same(judge(1_439_000_000), []);
  t.same(judge(1_438_207_199), ['not-yet-valid']);
  t.same(judge(1_440_021_601), ['expired']);
});

t.test('zones without signatures, without keys, without an apex', async (t) => {
  t.same(errorsOf(ZONE), ['not-signed']);
  t.same(errorsOf('www 60 A 192.0.2.1'), ['not-signed']);
  t.same(errorsOf(''), ['not-signed']);
  const badKey = errorsOf(`${ZONE}\n@ DNSKEY 257 3 13 AAAA\n`);
  t.ok(badKey.includes('no-signature') && badKey.includes('no-denial'), 'a key that is none signs nothing');
});

t.test('valid zones of every algorithm and kind of denial', { skip }, async (t) => {
  for (const algorithm of ['RSASHA256', 'ECDSAP256SHA256', 'ECDSAP384SHA384', 'ED25519']) {
    for (const options of [[], ['-3', '-'], ['-3', 'abcd', '-H', '3'], ['-3', '-', '-A']]) {
      const signed = sign(algorithm, ...options);
      const { findings, denial, signatures, rrsets, ds } = verify(signed);
      t.same(
        findings.filter(({ code }) => code !== 'many-iterations'),
        [],
        `${algorithm} ${options.join(' ')}`,
      );
      t.equal(denial, options.length === 0 ? 'NSEC' : 'NSEC3');
      t.ok(signatures >= rrsets && rrsets > 15);
      t.match(toHex(ds[0]!), /^[0-9a-f]{72,}$/);
    }
  }
});

t.test('zones damaged in each line are judged like by other tools', { skip, timeout: 300_000 }, async (t) => {
  let refused = 0;
  for (const options of [[], ['-3', '-'], ['-3', '-', '-A']]) {
    const lines = sign('ED25519', ...options).split('\n');
    const without = lines.map((line, i) => ({
      what: `without ${line}`,
      text: lines.filter((_, j) => j !== i).join('\n'),
    }));
    const added = [
      'new.example.test. 3600 IN A 192.0.2.9',
      'mail.example.test. 3600 IN AAAA 2001:db8::1',
      'x.a.b.c.example.test. 3600 IN TXT "new"',
      'under.sec.example.test. 3600 IN A 192.0.2.9',
      'ns1.example.test. 3600 IN A 192.0.2.99',
      'mail.example.test. 3600 IN NS ns.elsewhere.test.',
    ].map((line) => ({ what: `with ${line}`, text: [...lines, line].join('\n') }));
    for (const { what, text } of [...without, ...added]) {
      const believed = peersBelieve(text);
      if (believed === undefined) continue;
      if (!believed) refused++;
      t.equal(errorsOf(text).length === 0, believed, what);
    }
  }
  t.ok(refused > 50, `${refused} damaged zones are refused`);
});

t.test('the command prints the problem, its place, and the DS records for the parent', { skip }, async (t) => {
  const file = join(directory, 'example.signed');
  const signed = sign('ECDSAP256SHA256');
  writeFileSync(file, `${signed}\n`);
  const run = (...args: readonly string[]): Promise<Outcome> => runCommand({}, 'dnssec', 'verify', ...args);
  t.match(await run(file), {
    code: 0,
    out: /^example\.test\. is signed correctly: 2\d RRsets.*NSEC;.*\nThe parent may publish:\nexample\.test\.\t3600\tIN\tDS\t\d+ 13 2 /s,
  });
  const late = await run(file, '--at', '2032-01-01T00:00:00Z', '--json');
  t.equal(late.code, 1);
  t.match(JSON.parse(late.out), { zone: 'example.test.', sound: false, denial: 'NSEC' });
  t.match(JSON.parse(late.out).issues[0], { code: 'expired', file, line: /\d+/ });
  t.match(await run(file, '--at', 'tomorrow'), { code: 2, err: /Write it like/ });
  t.match(await run(file, '--origin', 'a..b'), { code: 2, err: /is not a domain name/ });
  t.match(await run(join(directory, 'absent')), { code: 1, err: /absent/ });
  const damaged = signed.replace(/^(mail\.example\.test\.\s+3600\s+IN\s+A\s+)192\.0\.2\.2$/m, '$1192.0.2.3');
  writeFileSync(file, `${damaged}\n`);
  t.match(await run(file), {
    code: 1,
    out: /:\d+:1: error: mail\.example\.test\. A: the signature of key \d+ does not match the records\n/,
  });
});
