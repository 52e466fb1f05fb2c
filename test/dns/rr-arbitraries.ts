/** Random valid rdata for every record type, built octet by octet and without the code under test. */
import fc from 'fast-check';

type Octets = fc.Arbitrary<Uint8Array>;

const joined = (...parts: Octets[]): Octets =>
  fc.tuple(...parts).map((octets) => new Uint8Array(Buffer.concat(octets)));
const octets = (min: number, max = min): Octets => fc.uint8Array({ minLength: min, maxLength: max });
const u8 = octets(1);
const u16 = octets(2);
const u32 = octets(4);
const fixed = (...values: number[]): Octets => fc.constant(Uint8Array.from(values));
const many = (each: Octets, min: number, max: number): Octets =>
  fc.array(each, { minLength: min, maxLength: max }).map((parts) => new Uint8Array(Buffer.concat(parts)));
const prefixed = (each: Octets): Octets =>
  each.map((value) => new Uint8Array(Buffer.concat([Buffer.of(value.length), value])));
const latin1 = (text: fc.Arbitrary<string>): Octets =>
  text.map((value) => new Uint8Array(Buffer.from(value, 'latin1')));
const string = (min = 0, max = 20): Octets => prefixed(octets(min, max));

/** Names with any octets, and host names as the v4 API takes them. */
export const anyName = joined(many(prefixed(octets(1, 12)), 0, 4), fixed(0));
export const hostName = joined(many(prefixed(latin1(fc.stringMatching(/^[a-z_][a-z0-9-]{0,9}$/))), 1, 4), fixed(0));

const bitmap = (min: 0 | 1): Octets =>
  fc.uniqueArray(fc.integer({ min: 0, max: 0x3ff }), { minLength: min, maxLength: 8 }).map((codes) => {
    const out: number[] = [];
    for (let window = 0; window < 4; window++) {
      const here = codes.filter((code) => code >> 8 === window).map((code) => code & 0xff);
      if (here.length === 0) continue;
      const bits = new Array<number>((Math.max(...here) >> 3) + 1).fill(0);
      for (const bit of here) bits[bit >> 3]! |= 0x80 >> (bit & 7);
      out.push(window, bits.length, ...bits);
    }
    return Uint8Array.from(out);
  });

const digest = (lengths: Readonly<Record<number, number>>): Octets =>
  fc.oneof(
    ...Object.entries(lengths).map(([kind, length]) => joined(fixed(Number(kind)), octets(length))),
    joined(fixed(200), octets(12, 30)),
  );

const param = (key: number, value: Octets): Octets =>
  value.map((v) => new Uint8Array(Buffer.concat([Buffer.of(key >> 8, key & 0xff, v.length >> 8, v.length & 0xff), v])));
const maybe = (part: Octets): Octets => fc.oneof(fc.constant(new Uint8Array(0)), part);
const parameters: Octets = fc.oneof(
  joined(
    maybe(param(0, fixed(0, 1, 2, 0x9b))),
    param(1, many(string(1, 8), 1, 3)),
    maybe(param(2, fixed())),
    maybe(param(3, u16)),
    maybe(param(4, many(octets(4), 1, 3))),
    maybe(param(5, octets(1, 20))),
    maybe(param(6, many(octets(16), 1, 2))),
    maybe(param(7, octets(1, 20))),
    maybe(param(8, fixed())),
    param(667, octets(0, 20)),
  ),
  joined(maybe(param(3, u16)), maybe(param(65535, octets(0, 300)))),
);

const precision: Octets = fc
  .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 9 }))
  .map(([mantissa, exponent]) => Uint8Array.of((mantissa << 4) | exponent));
const angle = (degrees: number): Octets =>
  fc.integer({ min: -degrees * 3600000, max: degrees * 3600000 }).map((value) => {
    const out = Buffer.alloc(4);
    out.writeUInt32BE(0x80000000 + value);
    return new Uint8Array(out);
  });
/** Addresses without a zero octet at the end, as APL carries them. */
const trimmed = (max: number): Octets =>
  joined(
    octets(0, max - 1),
    octets(1).map(([value]) => Uint8Array.of(value! | 1)),
  );
const prefix = (family: number, max: number): Octets =>
  fc
    .tuple(fc.integer({ min: 0, max: max * 8 }), fc.boolean(), fc.oneof(fixed(), trimmed(max)))
    .map(([bits, negated, address]) =>
      Uint8Array.of(0, family, bits, address.length | (negated ? 0x80 : 0), ...address),
    );
const gateway = (before: (kind: number) => Octets, name: Octets): Octets =>
  fc.oneof(before(0), joined(before(1), octets(4)), joined(before(2), octets(16)), joined(before(3), name));

/** What clients may create: valid expressions only. */
const substitution = prefixed(
  latin1(fc.constantFrom('', '!^.*$!sip:info@example.com!', '!^\\+49(.*)$!tel:\\1!i', '/[^]a-z]{2,3}|(b)+/\\1/')),
);

/** Arbitraries by mnemonic; `name` is used for every domain name inside. */
export function rdataArbitraries(name: Octets): Readonly<Record<string, Octets>> {
  const ds = joined(u16, u8, digest({ 1: 20, 2: 32, 4: 48 }));
  const key = joined(u16, u8, u8, octets(1, 40));
  const association = joined(u8, u8, u8, octets(1, 40));
  const signature = joined(u16, u8, u8, u32, u32, u32, u16, name, octets(1, 40));
  const ranked = joined(u16, name);
  const texts = many(string(0, 255), 1, 4);
  const binding = joined(fixed(0, 7), name, parameters);
  const decimal = prefixed(latin1(fc.constantFrom('-32.6882', '10', '0.5')));
  const known: Record<string, Octets> = {
    A: octets(4),
    AAAA: octets(16),
    SOA: joined(name, name, u32, u32, u32, u32, u32),
    MX: ranked,
    TXT: texts,
    SRV: joined(u16, u16, u16, name),
    URI: joined(u16, u16, octets(1, 40)),
    CAA: joined(u8, prefixed(latin1(fc.stringMatching(/^[a-z0-9]{1,15}$/))), octets(0, 40)),
    NAPTR: joined(u16, u16, string(), string(), substitution, name),
    DS: ds,
    DNSKEY: joined(u16, fixed(3), u8, octets(1, 40)),
    CDNSKEY: key,
    KEY: joined(u16, u8, u8, octets(0, 40)),
    RKEY: key,
    RRSIG: signature,
    SIG: signature,
    NSEC: joined(name, bitmap(1)),
    NSEC3: joined(fixed(1), u8, u16, string(), prefixed(octets(20)), bitmap(0)),
    NSEC3PARAM: joined(u8, u8, u16, string()),
    CSYNC: joined(u32, u16, bitmap(0)),
    TLSA: association,
    SMIMEA: association,
    SSHFP: joined(u8, digest({ 1: 20, 2: 32 })),
    CERT: joined(u16, u16, u8, octets(1, 40)),
    ZONEMD: joined(u32, u8, digest({ 1: 48, 2: 64 })),
    OPENPGPKEY: octets(1, 60),
    DHCID: octets(1, 60),
    HINFO: joined(string(), string()),
    RP: joined(name, name),
    MINFO: joined(name, name),
    TALINK: joined(name, name),
    PX: joined(u16, name, name),
    NID: octets(10),
    L32: octets(6),
    L64: octets(10),
    EUI48: octets(6),
    EUI64: octets(8),
    X25: prefixed(latin1(fc.stringMatching(/^\d{4,15}$/))),
    ISDN: joined(string(), maybe(string())),
    GPOS: joined(decimal, decimal, decimal),
    NSAP: octets(1, 20),
    WKS: joined(octets(4), u8, maybe(joined(octets(0, 10), fixed(4)))),
    SVCB: binding,
    HTTPS: binding,
    LOC: joined(fixed(0), precision, precision, precision, angle(90), angle(180), u32),
    APL: many(fc.oneof(prefix(1, 4), prefix(2, 16)), 0, 4),
    IPSECKEY: joined(
      u8,
      gateway((kind) => joined(fixed(kind), u8), name),
      octets(0, 40),
    ),
    AMTRELAY: joined(
      u8,
      gateway((kind) => fc.constantFrom(kind, kind | 0x80).map((value) => Uint8Array.of(value)), name),
    ),
    HIP: joined(fixed(16, 2, 0, 20), octets(36), many(name, 0, 3)),
    DOA: joined(u32, u32, u8, string(), octets(0, 40)),
    DSYNC: joined(u16, u8, u16, name),
    NULL: octets(0, 40),
    TYPE65280: octets(0, 40),
  };
  for (const mnemonic of ['NS', 'MD', 'MF', 'CNAME', 'MB', 'MG', 'MR', 'PTR', 'NSAP-PTR', 'DNAME'])
    known[mnemonic] = name;
  for (const mnemonic of ['AFSDB', 'RT', 'KX', 'LP']) known[mnemonic] = ranked;
  for (const mnemonic of ['SPF', 'AVC', 'NINFO', 'RESINFO', 'WALLET']) known[mnemonic] = texts;
  for (const mnemonic of ['CDS', 'TA', 'DLV']) known[mnemonic] = ds;
  return known;
}
