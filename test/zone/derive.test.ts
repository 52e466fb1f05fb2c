/**
 * What is served for an owner's records: automatic TTLs, proxied names, generated HTTPS records, SOA and name servers
 * without rows.
 */
import t from 'tap';
import { parseIP } from '../../src/base/ip.js';
import { Type } from '../../src/dns/codes.js';
import { ownerKeyOf, parseName } from '../../src/dns/name.js';
import { parseRdata, printRdata, typeByMnemonic, typeMnemonic } from '../../src/dns/rr/registry.js';
import { zoneFactsOf } from '../../src/zone/derive/facts.js';
import { deriveRRsets, type RecordFacts, type ZoneFacts } from '../../src/zone/derive/owner.js';

const APEX = parseName('example.test.');
const APEX_KEY = new Uint8Array(0);
const EDGE = { ipv4: [parseIP('203.0.113.1')!, parseIP('203.0.113.2')!], ipv6: [parseIP('2001:db8::e')!] };
const SETTINGS = {
  apex: APEX,
  name_server_mode: 'service',
  multi_provider: 0,
  paused: 0,
  zone_mode: 'standard',
  account_dns_only: 0,
  http2: 1,
  certified_names: '["example.test","*.example.test"]',
  vanity_name_servers: null,
} as const;
const SOA = {
  mname: 'ns1.service.test',
  rname: 'dns.service.test',
  serial: 9,
  refresh: 1,
  retry: 2,
  expire: 3,
  minimum: 60,
  ttl: 3600,
};

function facts(change: Partial<Parameters<typeof zoneFactsOf>[0]> = {}): ZoneFacts {
  return zoneFactsOf({ ...SETTINGS, ...change }, SOA, 86400, ['ns1.service.test', 'ns2.service.test']);
}

function record(type: string, content: string, more: Partial<RecordFacts> = {}): RecordFacts {
  const code = typeByMnemonic(type)!.code;
  return { type: code, ttl: 60, proxied: false, rdata: parseRdata(code, content, APEX), ...more };
}

/** `TYPE ttl data` of everything served, the SOA's negative twin left out. */
function served(zone: ZoneFacts, isApex: boolean, ...records: RecordFacts[]): string[] {
  return servedAt(zone, isApex ? '' : 'www.', ...records);
}

/** The same at an owner below the apex, such as `www.`. */
function servedAt(zone: ZoneFacts, owner: string, ...records: RecordFacts[]): string[] {
  return deriveRRsets(zone, ownerKeyOf(parseName(`${owner}example.test.`), APEX), records, EDGE)
    .filter(({ type }) => type <= 0xffff)
    .flatMap(({ type, ttl, rdatas }) =>
      rdatas.map((rdata) => `${typeMnemonic(type)} ${ttl} ${printRdata(type, rdata)}`),
    );
}

const PROXIED = { proxied: true, ttl: 1 };
const ADDRESSES = ['A 300 203.0.113.1', 'A 300 203.0.113.2', 'AAAA 300 2001:db8::e'];
const HINTS = 'ipv4hint=203.0.113.1,203.0.113.2 ipv6hint=2001:db8::e';

/** How values are quoted is the printer's business. */
const unquoted = (lines: readonly string[]): string[] => lines.map((line) => line.replaceAll('"', ''));

t.test('records without proxying and flattening', async (t) => {
  t.strictSame(served(facts(), false, record('A', '192.0.2.1'), record('A', '192.0.2.2', { ttl: 30 })), [
    'A 30 192.0.2.1',
    'A 30 192.0.2.2',
  ]);
  t.strictSame(served(facts(), false, record('A', '192.0.2.1', { ttl: 1 })), ['A 300 192.0.2.1'], 'automatic is 300');
  t.strictSame(served(facts(), false), [], 'nothing is served where nothing stands');
  const kinds = [record('TXT', 'x', { ttl: 90 }), record('AAAA', '2001:db8::1'), record('MX', '5 m.example.test.')];
  for (const addresses of [2, 20]) {
    const hosts = Array.from({ length: addresses }, (_, i) => record('A', `192.0.2.${i}`, { ttl: 100 - i }));
    const inOrder = [
      ...hosts.map((_, i) => `A ${101 - addresses} 192.0.2.${i}`),
      'MX 60 5 m.example.test.',
      'TXT 90 x',
      'AAAA 60 2001:db8::1',
    ];
    const mixed = served(facts(), false, ...kinds, ...hosts);
    t.strictSame(unquoted(mixed), inOrder, `${addresses} addresses behind other types: in order, with the lowest TTL`);
  }
});

t.test('the apex', async (t) => {
  const soa = 'SOA 3600 ns1.service.test. dns.service.test. 9 1 2 3 60';
  const ns = ['NS 86400 ns1.service.test.', 'NS 86400 ns2.service.test.'];
  t.strictSame(served(facts(), true), [soa, ...ns]);
  t.equal(
    deriveRRsets(facts(), APEX_KEY, [], EDGE).at(-1)?.ttl,
    60,
    'the negative SOA has the lower TTL (RFC 2308 §3)',
  );
  const own = record('NS', 'ns.other.test.');
  t.strictSame(served(facts(), true, own), [soa, ...ns], 'records of the apex do not count with one provider');
  t.strictSame(served(facts({ multi_provider: 1 }), true, own), [
    soa,
    'NS 60 ns.other.test.',
    ...ns.map((line) => line.replace('86400', '60')),
  ]);
  t.strictSame(served(facts({ name_server_mode: 'records' }), true, own), [soa, 'NS 60 ns.other.test.']);
  t.strictSame(served(facts({ vanity_name_servers: '["ns.vanity.test"]' }), true), [soa, 'NS 86400 ns.vanity.test.']);
});

t.test("proxied names answer the edge's addresses and its protocols", async (t) => {
  for (const [type, content] of [
    ['A', '192.0.2.1'],
    ['AAAA', '2001:db8::1'],
    ['CNAME', 'origin.test.'],
  ] as const) {
    t.strictSame(
      unquoted(served(facts(), false, record(type, content, PROXIED))),
      [...ADDRESSES, `HTTPS 300 1 . alpn=h2 ${HINTS}`],
      type,
    );
  }
  const a = record('A', '192.0.2.1', PROXIED);
  t.strictSame(
    served(facts(), false, a, record('A', '192.0.2.9')),
    served(facts(), false, a),
    'no origin shows beside the edge',
  );
  t.strictSame(
    served(facts(), false, a, record('TXT', '"x"')).filter((line) => line.startsWith('TXT')),
    ['TXT 60 "x"'],
  );
  t.strictSame(served(facts({ http2: 0 }), false, a), ADDRESSES);
  t.strictSame(
    served(facts(), false, a, record('HTTPS', '1 . alpn=h2')).filter((line) => line.startsWith('HTTPS')).length,
    1,
  );
  t.match(
    served(facts(), false, a, record('HTTPS', '1 . alpn=h2')).at(-1),
    /^HTTPS 60 /,
    "the zone's own HTTPS record wins",
  );
  const only4 = record('A', '192.0.2.1', { ...PROXIED, ipv4Only: true });
  t.strictSame(unquoted(served(facts(), false, only4)), [
    ...ADDRESSES.slice(0, 2),
    'HTTPS 300 1 . alpn=h2 ipv4hint=203.0.113.1,203.0.113.2',
  ]);
});

t.test('only names that a certificate covers are advertised', async (t) => {
  const a = record('A', '192.0.2.1', PROXIED);
  const advertised = (certified: readonly string[], owner: string): boolean =>
    servedAt(facts({ certified_names: JSON.stringify(certified) }), owner, a).some((line) => line.startsWith('HTTPS'));
  for (const [certified, owner, expected] of [
    [[], 'www.', false],
    [['www.example.test'], 'www.', true],
    [['www.example.test'], '', false],
    [['www.example.test'], 'a.www.', false],
    [['example.test'], '', true],
    [['*.example.test'], '', false],
    [['*.example.test'], 'www.', true],
    [['*.example.test'], 'a.www.', false],
    [['*.www.example.test'], 'a.www.', true],
    [['other.test', '*.test'], '', true],
    // It also answers for a.b.example.test, which the certificate does not cover.
    [['*.example.test'], '*.', false],
  ] as const) {
    t.equal(advertised(certified, owner), expected, `${owner || 'apex'} with ${certified.join(', ')}`);
  }
});

t.test('a paused zone answers its records unchanged', async (t) => {
  const a = record('A', '192.0.2.1', PROXIED);
  for (const change of [{ paused: 1 }, { zone_mode: 'dns_only' as const }, { account_dns_only: 1 }]) {
    t.strictSame(served(facts(change), false, a), ['A 300 192.0.2.1']);
  }
});

t.test('an alias at the apex is never served with SOA and NS', async (t) => {
  const types = deriveRRsets(facts(), APEX_KEY, [record('CNAME', 'x.test.')], EDGE).map(({ type }) => type);
  t.notOk(types.includes(Type.cname));
});
