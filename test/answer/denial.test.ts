/**
 * Answers of signed zones: the examples of RFC 4035 B and RFC 5155 B, every kind of proof, truncation, and what is answered
 * when something is missing.
 */
import t from 'tap';
import { hashWithSalt } from '../../src/answer/sha1.js';
import { Transport } from '../../src/answer/transport.js';
import { toBase32Hex } from '../../src/base/bytes.js';
import { Type } from '../../src/dns/codes.js';
import { nameLength, parseName } from '../../src/dns/name.js';
import { typeByMnemonic, typeMnemonic } from '../../src/dns/rr/registry.js';
import type { RRset } from '../../src/dns/rr.js';
import type { Denial } from '../../src/dnssec/denial.js';
import { hashOwner } from '../../src/dnssec/nsec3.js';
import { viewOf } from '../../src/image/layout.js';
import type { ServedOwner } from '../../src/serving/owner.js';
import { type DecodedMessage, type DecodedRR, decodeMessage, makeQuery } from '../support/message.js';
import { seededRandom } from '../support/seeded-random.js';
import { type ServedZones, serveOwners, serveZones } from '../support/served-zones.js';
import { signZone } from '../support/signed-zone.js';

const NSEC: Denial = { kind: 'nsec' };
const NSEC3: Denial = { kind: 'nsec3', iterations: 0, salt: new Uint8Array(0), optOut: false };
/** (RFC 5155 A). */
const OF_RFC_5155: Denial = { kind: 'nsec3', iterations: 12, salt: Buffer.from('aabbccdd', 'hex'), optOut: true };

const COMMON = `$ORIGIN example.
$TTL 3600
@ SOA ns1 bugs.x.w 1081539377 3600 300 3600000 3600
@ NS ns1
@ NS ns2
@ MX 1 xx
a NS ns1.a
a NS ns2.a
a DS 57855 5 1 B6DCD485719ADCA18E5F3D48A2331627FDD3636B
ns1.a A 192.0.2.5
ns2.a A 192.0.2.6
ai A 192.0.2.9
ai HINFO "KLH-10" "ITS"
ai AAAA 2001:db8:0:0:0:0:f00:baa9
ns1 A 192.0.2.1
ns2 A 192.0.2.2
*.w MX 1 ai
x.w MX 1 xx
x.y.w MX 1 xx
xx A 192.0.2.10
xx HINFO "KLH-10" "TOPS-20"
xx AAAA 2001:db8:0:0:0:0:f00:baaa
`;
/** RFC 4035 A. */
const ZONE_4035 = `${COMMON}b NS ns1.b
b NS ns2.b
ns1.b A 192.0.2.7
ns2.b A 192.0.2.8
`;
/** RFC 5155 A. */
const ZONE_5155 = `${COMMON}c NS ns1.c
c NS ns2.c
ns1.c A 192.0.2.7
ns2.c A 192.0.2.8
2t7b4g4vsa5smi47k61mv5bv1a22bojr A 192.0.2.127
`;

interface AskOptions {
  readonly dnssecOk?: boolean;
  readonly size?: number;
  readonly transport?: 0 | 1;
}

function typeCode(type: string): number {
  return type === 'ANY' ? Type.any : typeByMnemonic(type)!.code;
}

function ask(served: ServedZones, name: string, type: string, options: AskOptions = {}): DecodedMessage {
  const { dnssecOk = true, size = 1232, transport = Transport.udp } = options;
  const query = makeQuery(parseName(name), typeCode(type), { edns: size, dnssecOk });
  const out = Buffer.alloc(65535);
  return decodeMessage(out.subarray(0, served.answer(query, 0, query.length, out, 0, out.length, transport)));
}

/** RRsets as `owner type`, with `S` behind those with a signature that covers them. */
function setsOf(records: readonly DecodedRR[]): string {
  const sets = new Map<string, string>();
  for (const { owner, type, rdata } of records) {
    if (type !== Type.rrsig) sets.set(`${owner} ${typeMnemonic(type)}`, '');
    else sets.set(`${owner} ${typeMnemonic(Number.parseInt(rdata.slice(0, 4), 16))}`, ' S');
  }
  return [...sets].map(([set, signed]) => set + signed).join(', ');
}

function extendedErrorOf({ opt }: DecodedMessage): number {
  return opt && opt.options.length >= 6 && opt.options.readUInt16BE(0) === 15 ? opt.options.readUInt16BE(4) : 0;
}

t.test('hashes are those of node:crypto', async (t) => {
  const random = seededRandom(3);
  const digest = new Uint8Array(24);
  for (let length = 1; length <= 255; length++) {
    const name = random.bytes(length).map((octet) => (octet >= 65 && octet <= 90 ? 1 : octet));
    const salt = random.bytes(length % 7 === 0 ? 255 : length % 11);
    const iterations = length % 5;
    hashWithSalt(viewOf(digest), name, 0, length, salt, 0, salt.length, iterations);
    t.strictSame(Buffer.from(digest.subarray(0, 20)), hashOwner(name, { iterations, salt }), `${length} octets`);
  }
});

interface Tap {
  strictSame(found: unknown, wanted: unknown, message: string): unknown;
  ok(found: unknown, message: string): unknown;
}

type Row = readonly [name: string, type: string, rcode: number, aa: boolean, answer: string, authority: string];

function checkRows(t: Tap, zone: ServedZones, rows: readonly Row[]): void {
  for (const [name, type, rcode, aa, answer, authority] of rows) {
    const found = ask(zone, name, type);
    t.strictSame(
      [found.rcode, found.aa, found.ad, setsOf(found.answer), setsOf(found.authority)],
      [rcode, aa, false, answer, authority],
      `${name} ${type}`,
    );
    t.ok(found.opt?.dnssecOk, 'DO is copied');
  }
}

t.test('the examples of RFC 4035 B', async (t) => {
  const zone = serveZones([{ apex: 'example.', text: ZONE_4035, denial: NSEC }]);
  checkRows(t, zone, [
    ['x.w.example.', 'MX', 0, true, 'x.w.example. MX S', ''],
    ['ml.example.', 'A', 3, true, '', 'example. SOA S, b.example. NSEC S, example. NSEC S'],
    ['ns1.example.', 'MX', 0, true, '', 'example. SOA S, ns1.example. NSEC S'],
    ['mc.a.example.', 'MX', 0, false, '', 'a.example. NS, a.example. DS S'],
    ['mc.b.example.', 'MX', 0, false, '', 'b.example. NS, b.example. NSEC S'],
    ['a.z.w.example.', 'MX', 0, true, 'a.z.w.example. MX S', 'x.y.w.example. NSEC S'],
    ['a.z.w.example.', 'AAAA', 0, true, '', 'example. SOA S, x.y.w.example. NSEC S, *.w.example. NSEC S'],
    ['example.', 'DS', 0, true, '', 'example. SOA S, example. NSEC S'],
    // Not in the RFC: an empty non-terminal, and the parent's side of cuts.
    ['y.w.example.', 'A', 0, true, '', 'example. SOA S, x.w.example. NSEC S'],
    ['a.example.', 'DS', 0, true, 'a.example. DS S', ''],
    ['b.example.', 'DS', 0, true, '', 'example. SOA S, b.example. NSEC S'],
    ['ns1.b.example.', 'NSEC', 0, false, '', 'b.example. NS, b.example. NSEC S'],
    ['ai.example.', 'NSEC', 0, true, 'ai.example. NSEC S', ''],
    ['ai.example.', 'ANY', 0, true, 'ai.example. A S', ''],
    ['ai.example.', 'RRSIG', 0, true, 'ai.example. A S', ''],
    ['example.', 'DNSKEY', 0, true, 'example. DNSKEY S', ''],
  ]);
});

t.test('the examples of RFC 5155 B', async (t) => {
  const zone = serveZones([{ apex: 'example.', text: ZONE_5155, denial: OF_RFC_5155 }]);
  const hashed = (hash: string): string => `${hash}.example. NSEC3 S`;
  const apex = hashed('0p9mhaveqvm6t7vbl5lop2u3t2rp3tom');
  const ofA = hashed('35mthgpgcu1qg68fab165klnsnk3dpvl');
  const ofNs2 = hashed('q04jkcevqvmu85r014c7dkba38o0ji5r');
  checkRows(t, zone, [
    [
      'a.c.x.w.example.',
      'A',
      3,
      true,
      '',
      `example. SOA S, ${hashed('b4um86eghhds6nea196smvmlo4ors995')}, ${apex}, ${ofA}`,
    ],
    ['ns1.example.', 'MX', 0, true, '', `example. SOA S, ${hashed('2t7b4g4vsa5smi47k61mv5bv1a22bojr')}`],
    ['y.w.example.', 'A', 0, true, '', `example. SOA S, ${hashed('ji6neoaepv8b5o6k4ev33abha8ht9fgc')}`],
    ['mc.c.example.', 'MX', 0, false, '', `c.example. NS, ${apex}, ${ofA}`],
    ['a.z.w.example.', 'MX', 0, true, 'a.z.w.example. MX S', ofNs2],
    [
      'a.z.w.example.',
      'AAAA',
      0,
      true,
      '',
      `example. SOA S, ${hashed('k8udemvp1j2f7eg6jebps17vp3n8i58h')}, ${ofNs2}, ${hashed('r53bq7cc2uvmubfu5ocmm6pers9tk9en')}`,
    ],
    ['example.', 'DS', 0, true, '', `example. SOA S, ${apex}`],
    // Not in the RFC: the parent's side of a cut that the chain omits, and an owner of an NSEC3 record.
    ['c.example.', 'DS', 0, true, '', `example. SOA S, ${apex}, ${ofA}`],
    ['mc.a.example.', 'MX', 0, false, '', 'a.example. NS, a.example. DS S'],
    ['example.', 'NSEC3PARAM', 0, true, 'example. NSEC3PARAM S', ''],
  ]);
  // A name of the zone that is also the owner of an NSEC3 record (RFC 5155 §7.2.8).
  const own = ask(zone, '2t7b4g4vsa5smi47k61mv5bv1a22bojr.example.', 'NSEC3');
  t.strictSame(
    [own.rcode, setsOf(own.authority)],
    [0, `example. SOA S, ${hashed('kohar7mbb8dc2ce8a9qvl8hon4k53uhi')}`],
  );
  const other = ask(zone, '0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example.', 'NSEC3');
  t.equal(other.rcode, 3, 'the owner of an NSEC3 record does not exist');
});

const CHAINS = `$ORIGIN example.
@ 300 SOA ns host 1 7200 3600 1209600 60
@ 300 NS ns
ns 300 A 192.0.2.1
*.one 300 CNAME b.two
*.two 300 CNAME c.three
*.three 300 A 192.0.2.3
www 300 CNAME missing
out 300 CNAME a.elsewhere.test.
*.away 300 CNAME a.elsewhere.test.
d 300 DNAME one
*.deep 300 CNAME x.sub
sub 300 NS ns.sub
ns.sub 300 A 192.0.2.4
`;

t.test('every link of a chain that a wildcard made owes a proof', async (t) => {
  const zone = serveZones([{ apex: 'example.', text: CHAINS, denial: NSEC }]);
  checkRows(t, zone, [
    [
      'a.one.example.',
      'A',
      0,
      true,
      'a.one.example. CNAME S, b.two.example. CNAME S, c.three.example. A S',
      '*.one.example. NSEC S, *.two.example. NSEC S, *.three.example. NSEC S',
    ],
    [
      'a.one.example.',
      'MX',
      0,
      true,
      'a.one.example. CNAME S, b.two.example. CNAME S',
      'example. SOA S, *.one.example. NSEC S, *.two.example. NSEC S, *.three.example. NSEC S',
    ],
    ['www.example.', 'A', 3, true, 'www.example. CNAME S', 'example. SOA S, *.deep.example. NSEC S, example. NSEC S'],
    ['out.example.', 'A', 0, true, 'out.example. CNAME S', ''],
    ['x.away.example.', 'A', 0, true, 'x.away.example. CNAME S', '*.away.example. NSEC S'],
    [
      'q.d.example.',
      'A',
      0,
      true,
      'd.example. DNAME S, q.d.example. CNAME, q.one.example. CNAME S, b.two.example. CNAME S, c.three.example. A S',
      '*.one.example. NSEC S, *.two.example. NSEC S, *.three.example. NSEC S',
    ],
    [
      'y.deep.example.',
      'A',
      0,
      true,
      'y.deep.example. CNAME S',
      'sub.example. NS, *.deep.example. NSEC S, sub.example. NSEC S',
    ],
  ]);
});

t.test('without DO a signed zone answers as the unsigned zone, octet for octet', async (t) => {
  const names = [
    'example.',
    'x.w.example.',
    'q.w.example.',
    'ml.example.',
    'ns1.example.',
    'm.a.example.',
    'y.w.example.',
  ];
  const types = ['A', 'AAAA', 'MX', 'SOA', 'NS', 'DS', 'ANY', 'HINFO'];
  const plain = serveZones([{ apex: 'example.', text: ZONE_4035 }]);
  for (const denial of [NSEC, NSEC3, OF_RFC_5155]) {
    const signed = serveZones([{ apex: 'example.', text: ZONE_4035, denial }]);
    for (const name of names) {
      for (const type of types) {
        for (const edns of [undefined, 1232]) {
          const query = makeQuery(parseName(name), typeCode(type), edns === undefined ? {} : { edns });
          const [a, b] = [plain, signed].map(({ answer }) => {
            const out = Buffer.alloc(65535);
            return out.subarray(0, answer(query, 0, query.length, out, 0, out.length, Transport.udp));
          });
          t.strictSame(b, a, `${name} ${type} ${denial.kind}`);
        }
      }
    }
  }
});

t.test('the case of the question does not matter', async (t) => {
  for (const denial of [NSEC, NSEC3]) {
    const zone = serveZones([{ apex: 'example.', text: ZONE_4035, denial }]);
    for (const [lower, mixed] of [
      ['ml.example.', 'mL.eXample.'],
      ['a.z.w.example.', 'A.z.W.EXAMPLE.'],
    ] as const) {
      const [a, b] = [ask(zone, lower, 'A'), ask(zone, mixed, 'A')];
      t.strictSame([b.rcode, b.answer, b.authority, b.length], [a.rcode, a.answer, a.authority, a.length]);
    }
  }
});

t.test('a flood of random names makes no signature', async (t) => {
  for (const denial of [NSEC, NSEC3]) {
    const zone = serveZones([{ apex: 'example.', text: ZONE_4035, denial }]);
    const random = seededRandom(5);
    const seen = new Set<string>();
    for (let i = 0; i < 3000; i++) {
      const label = Buffer.from(random.bytes(6)).toString('hex');
      const { rcode, authority } = ask(zone, `${label}.${i % 3 === 0 ? 'xx.' : ''}example.`, 'A');
      const signatures = authority.filter(({ type }) => type === Type.rrsig);
      if (rcode !== 3 || signatures.length < 2) t.fail(`${label}: ${setsOf(authority)}`);
      for (const { rdata } of signatures) seen.add(rdata);
    }
    // One for each name of the chain, empty non-terminals included, and one for the SOA.
    t.ok(seen.size > 2 && seen.size <= MOST_SIGNED_NAMES + 1, `${seen.size} signatures for 3000 names`);
  }
});

/** Names of {@link ZONE_4035} that have an NSEC or NSEC3 record. */
const MOST_SIGNED_NAMES = 12;

t.test('an RRset and its signatures fit together or not at all', async (t) => {
  for (const denial of [NSEC, NSEC3]) {
    const zone = serveZones([{ apex: 'example.', text: CHAINS, denial }]);
    for (const [name, type] of [
      ['ns.example.', 'A'],
      ['nothing.example.', 'A'],
      ['a.one.example.', 'A'],
      ['m.sub.example.', 'A'],
      ['q.d.example.', 'MX'],
    ] as const) {
      const whole = ask(zone, name, type, { transport: Transport.tcp });
      for (let size = 512; size < 1232; size += 3) {
        const { length, tc, answer, authority } = ask(zone, name, type, { size });
        if (length > size) t.fail(`${length} octets in ${size}`);
        if (tc) t.strictSame([answer, authority], [[], []], 'a truncated answer is empty');
        else t.strictSame([answer, authority], [whole.answer, whole.authority], `${name} ${size}`);
        if (whole.additional.length === 0) t.equal(tc, whole.length > size);
      }
    }
  }
});

t.test('signatures of additional records are left out when there is no room, without TC', async (t) => {
  const servers = Array.from({ length: 5 }, (_, i) => `srv ${300} SRV 1 1 1 host${i}\nhost${i} 300 A 192.0.2.${i}\n`);
  const text = `$ORIGIN example.\n@ 300 SOA ns host 1 2 3 4 5\n@ 300 NS ns.elsewhere.test.\n${servers.join('')}`;
  const zone = serveZones([{ apex: 'example.', text, denial: NSEC }]);
  const { length } = ask(zone, 'srv.example.', 'SRV', { size: 4096, transport: Transport.tcp });
  let unsigned = 0;
  for (let size = 512; size <= Math.min(length + 1, 1232); size++) {
    const { tc, additional } = ask(zone, 'srv.example.', 'SRV', { size });
    t.notOk(tc);
    const [addresses, signed] = [Type.a, Type.rrsig].map((wanted) => additional.filter(({ type }) => type === wanted));
    if (addresses!.length > signed!.length) unsigned++;
    t.ok(addresses!.length >= signed!.length && addresses!.length > 0);
  }
  t.ok(unsigned > 0, 'sometimes there was room for an address, but not for its signature');
});

/** A zone of which a part is changed after it was signed. */
function serveChanged(denial: Denial, change: (owners: ServedOwner[]) => ServedOwner[], chain = denial): ServedZones {
  const apex = parseName('example.');
  const [source] = [serveZones([{ apex: 'example.', text: ZONE_4035, denial: chain }])];
  const { owners, hashedOwners } = source!.signed.get('example.')!;
  return serveOwners(apex, change([...owners]), { denial, hashedOwners });
}

function withoutSignatures(wanted: number): (owners: ServedOwner[]) => ServedOwner[] {
  const strip = (rrset: RRset): RRset => ((rrset.type & 0xffff) === wanted ? { ...rrset, signatures: [] } : rrset);
  return (owners) => owners.map((owner) => ({ ...owner, rrsets: owner.rrsets.map(strip) }));
}

t.test('data that should be signed, and is not, is not given to those who want signatures', async (t) => {
  for (const [missing, name, type] of [
    [Type.a, 'ns1.example.', 'A'],
    [Type.soa, 'ns1.example.', 'MX'],
    [Type.nsec, 'ml.example.', 'A'],
    [Type.ds, 'm.a.example.', 'A'],
  ] as const) {
    const zone = serveChanged(NSEC, withoutSignatures(missing));
    const { rcode, aa, answer, authority, ...rest } = ask(zone, name, type);
    t.strictSame([rcode, aa, answer.length, authority.length], [2, false, 0, 0], `${name} ${type}`);
    t.equal(extendedErrorOf({ rcode, aa, answer, authority, ...rest }), 10, 'RRSIGs Missing');
    t.not(ask(zone, name, type, { dnssecOk: false }).rcode, 2, 'without DO it is answered as ever');
  }
  const glue = serveChanged(NSEC, withoutSignatures(Type.a));
  const { rcode, additional } = ask(glue, 'ai.example.', 'MX');
  t.strictSame([rcode, additional], [0, []]);
});

t.test('a chain that lacks the record of a proof', async (t) => {
  const zone = serveChanged(NSEC, (owners) =>
    owners.map((owner) => ({ ...owner, rrsets: owner.rrsets.filter(({ type }) => type !== Type.nsec) })),
  );
  t.equal(ask(zone, 'ml.example.', 'A').rcode, 2);
  t.equal(extendedErrorOf(ask(zone, 'ml.example.', 'A')), 12, 'NSEC Missing');
  t.equal(extendedErrorOf(ask(zone, 'm.b.example.', 'A')), 12);
  t.equal(ask(zone, 'ns1.example.', 'A').rcode, 0, 'what exists is answered');
});

t.test(
  'a wildcard below names that opt-out leaves out is denied below the closest encloser that is proven',
  async (t) => {
    const optOut: Denial = { kind: 'nsec3', iterations: 0, salt: new Uint8Array(0), optOut: true };
    const text = `$ORIGIN example.
@ 300 SOA ns h 1 2 3 4 5
@ 300 NS ns.elsewhere.test.
a.*.a.b 300 NS ns.elsewhere.test.
a.*.b 300 A 192.0.2.1
`;
    const { rcode, authority } = ask(serveZones([{ apex: 'example.', text, denial: optOut }]), 'x.a.b.example.', 'A');
    const proofs = authority.filter(({ type }) => type === Type.nsec3).map(({ owner }) => owner.split('.', 1)[0]);
    const hash = (name: string): string =>
      toBase32Hex(hashOwner(parseName(name), { iterations: 0, salt: new Uint8Array(0) }));
    t.equal(rcode, 0);
    t.ok(proofs.includes(hash('b.example.')), 'the closest encloser');
    t.ok(proofs.includes(hash('*.b.example.')), 'the wildcard below it, as validating resolvers look for it');
  },
);

t.test('hashing has bounds', async (t) => {
  const many: Denial = { kind: 'nsec3', iterations: 151, salt: new Uint8Array(0), optOut: false };
  const zone = serveZones([{ apex: 'example.', text: ZONE_4035, denial: many }]);
  const refused = ask(zone, 'ml.example.', 'A');
  t.strictSame([refused.rcode, extendedErrorOf(refused)], [2, 27], 'Unsupported NSEC3 Iterations Value');
  t.equal(ask(zone, 'ns1.example.', 'A').rcode, 0);
  t.equal(ask(zone, 'ml.example.', 'A', { dnssecOk: false }).rcode, 3);
  const most: Denial = { ...many, iterations: 150 };
  const accepted = serveZones([{ apex: 'example.', text: ZONE_4035, denial: most }]);
  t.equal(ask(accepted, 'ml.example.', 'A').rcode, 3);
  // With opt-out the closest provable encloser is searched label by label.
  const labels = Array.from({ length: 120 }, () => 'l').join('.');
  const deep = `${ZONE_4035}${labels} NS ns.elsewhere.test.\n`;
  const opted: Denial = { ...most, optOut: true };
  const zoneOfDepth = serveZones([{ apex: 'example.', text: deep, denial: opted }]);
  t.equal(extendedErrorOf(ask(zoneOfDepth, `x.${labels}.example.`, 'A')), 27);
  const cheap = serveZones([{ apex: 'example.', text: deep, denial: { ...opted, iterations: 0 } }]);
  const referral = ask(cheap, `x.${labels}.example.`, 'A');
  t.strictSame([referral.rcode, referral.authority.filter(({ type }) => type === Type.nsec3).length], [0, 2]);
});

t.test('a long answer whose proof begins behind what pointers reach', async (t) => {
  const strings = Array.from({ length: 130 }, (_, i) => `*.big 300 TXT "${i}${'x'.repeat(200)}"`);
  const text = `$ORIGIN example.\n@ 300 SOA ns host 1 2 3 4 5\n@ 300 NS ns.elsewhere.test.\n${strings.join('\n')}\n`;
  for (const denial of [NSEC, NSEC3]) {
    const zone = serveZones([{ apex: 'example.', text, denial }]);
    const { tc, answer, authority, length } = ask(zone, 'a.big.example.', 'TXT', { transport: Transport.tcp });
    t.ok(length > 0x4000);
    t.strictSame([tc, answer.length, authority.length], [false, 131, 2]);
    t.equal(authority[0]?.owner, authority[1]?.owner);
  }
});

t.test('the DS of a child zone is answered by its parent, also when both are served', async (t) => {
  const child = `$ORIGIN a.example.\n@ 300 SOA ns host 1 2 3 4 5\n@ 300 NS ns1\nns1 300 A 192.0.2.5\n`;
  const zone = serveZones([
    { apex: 'example.', text: ZONE_4035, denial: NSEC },
    { apex: 'a.example.', text: child, denial: NSEC3 },
  ]);
  checkRows(t, zone, [['a.example.', 'DS', 0, true, 'a.example. DS S', '']]);
  const missing = ask(zone, 'q.a.example.', 'A');
  t.strictSame([missing.rcode, missing.authority.filter(({ type }) => type === Type.nsec3).length], [3, 2]);
  t.equal(nameLength(parseName('a.example.')), 11);
});

t.test('two signers: every signature is given', async (t) => {
  const apex = parseName('example.');
  const zone = serveChanged(NSEC, (owners) => {
    const again = signZone(
      apex,
      owners.map(({ rrsets, ...owner }) => ({
        ...owner,
        rrsets: rrsets
          .filter(({ type }) => type !== Type.nsec && type !== Type.dnskey)
          .map(({ type, ttl, rdatas }) => ({ type, ttl, rdatas })),
      })),
      NSEC,
    );
    return owners.map((owner, i) => ({
      ...owner,
      rrsets: owner.rrsets.map((rrset, at) => {
        const other = again.owners[i]!.rrsets[at]!;
        return rrset.signatures ? { ...rrset, signatures: [...rrset.signatures, ...other.signatures!] } : rrset;
      }),
    }));
  });
  const found = ask(zone, 'q.w.example.', 'MX');
  t.equal(found.answer.filter(({ type }) => type === Type.rrsig).length, 2);
  t.equal(found.authority.filter(({ type }) => type === Type.rrsig).length, 2);
  t.ok([...found.answer, ...found.authority].every(({ owner }) => owner !== '.'));
});
