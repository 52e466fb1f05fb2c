/** Where addresses are: by networks of the operator, by a database, and what a damaged one does. */
import fc from 'fast-check';
import { Reader } from 'mmdb-lib';
import t from 'tap';
import { networkContains, parseIP, printIP } from '../../src/base/ip.js';
import { createPlaceFinder, type PlaceSource } from '../../src/location/finder.js';
import { parsePlacedNetworks } from '../../src/location/networks.js';
import { createPlace } from '../../src/location/place.js';
import { unitVector } from '../../src/steering/compile.js';
import { type Value, writeMmdb } from '../support/mmdb.js';

const REGIONS = ['WEU', 'ENAM', 'WNAM', 'OC'];
const regionOf = (country: string, subdivision: string | undefined): string | undefined =>
  country === 'US' ? (subdivision === 'CA' ? 'WNAM' : 'ENAM') : country === 'DE' ? 'WEU' : undefined;
const WORLD = { regions: REGIONS, regionOf };

const country = (iso: string): Value => ({ country: { iso_code: iso } });
const ENTRIES: Readonly<Record<string, Value>> = {
  '192.0.2.0/25': country('DE'),
  '192.0.2.128/26': {
    ...(country('US') as object),
    subdivisions: [{ iso_code: 'CA' }],
    location: { latitude: 37.5, longitude: -122.25 },
  },
  '198.51.100.0/24': { registered_country: { iso_code: 'US' } },
  '203.0.113.0/24': { traits: { is_anonymous_proxy: 1 } },
  '2001:db8::/33': country('DE'),
  '2001:db8:8000::/48': country('ZZ'),
};

function shared(file: Buffer): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(file.length);
  Buffer.from(memory).set(file);
  return memory;
}

const name = (code: number): string =>
  code === 0
    ? '-'
    : [24, 16, 8, 0]
        .map((shift) => String.fromCharCode((code >>> shift) & 0xff))
        .join('')
        .replaceAll('\0', '');

function finderOf(source: Omit<PlaceSource, 'version'>) {
  const finder = createPlaceFinder(source, WORLD);
  const place = createPlace();
  return (text: string): string => {
    const address = parseIP(text)!;
    const isFound = finder.find(address, 0, address.length, place);
    return `${isFound ? `${name(place.country)} ${name(place.region)}` : 'unknown'} /${place.prefix}`;
  };
}

t.test('a database says country, region and place, and how many bits decided', async (t) => {
  for (const recordSize of [24, 28, 32] as const) {
    const find = finderOf({ database: shared(writeMmdb(ENTRIES, { recordSize })) });
    t.equal(find('192.0.2.5'), 'DE WEU /25', `${recordSize} bits`);
    t.equal(find('192.0.2.130'), 'US WNAM /26');
    t.equal(find('192.0.2.200'), 'unknown /26', 'its neighbour is known');
    t.equal(find('198.51.100.1'), 'US ENAM /24');
    t.equal(find('203.0.113.1'), 'unknown /24', 'a record without a place');
    t.equal(find('2001:db8::1'), 'DE WEU /33');
    t.equal(find('2001:db8:8000::1'), 'ZZ - /48');
    t.equal(find('2001:db9::1'), 'unknown /32');
  }
  const short = writeMmdb({ '192.0.2.0/24': country('DE') }, { ipVersion: 4 });
  t.equal(finderOf({ database: shared(short) })('192.0.2.1'), 'DE WEU /24');
  t.equal(finderOf({ database: shared(short) })('2001:db8::1'), 'unknown /0', 'it has no addresses of IPv6');
});

t.test('coordinates', async (t) => {
  const finder = createPlaceFinder({ database: shared(writeMmdb(ENTRIES)) }, WORLD);
  const place = createPlace();
  finder.find(parseIP('192.0.2.130')!, 0, 4, place);
  t.strictSame([place.x, place.y, place.z], unitVector(37.5, -122.25));
  finder.find(parseIP('192.0.2.5')!, 0, 4, place);
  t.strictSame([place.x, place.y, place.z], [0, 0, 0], 'nothing is left of the one before');
});

t.test('the library finds the same', async () => {
  const file = writeMmdb(ENTRIES);
  const reader = new Reader(file);
  const finder = createPlaceFinder({ database: shared(file) }, WORLD);
  const place = createPlace();
  const near = fc.tuple(
    fc.constantFrom(192, 198, 203),
    fc.constantFrom(0, 51),
    fc.constantFrom(2, 100, 113),
    fc.nat(255),
  );
  fc.assert(
    fc.property(near, (octets) => {
      const address = Uint8Array.from(octets);
      finder.find(address, 0, 4, place);
      const [data, prefix] = reader.getWithPrefixLength(printIP(address)) as [
        { country?: { iso_code: string } } | null,
        number,
      ];
      return place.prefix === prefix && (data?.country === undefined || name(place.country) === data.country.iso_code);
    }),
    { seed: 20261126, numRuns: 500 },
  );
});

t.test('own networks beat the database, the longest first', async (t) => {
  const networks = '# ours\n10.0.0.0/8 de\n10.1.0.0/16 US WNAM # west\n192.0.2.64/26 - OC\n\nfd00::/8 DE\n';
  const find = finderOf({ database: shared(writeMmdb(ENTRIES)), networks });
  t.equal(find('10.2.3.4'), 'DE WEU /15', 'a neighbour differs in the fifteenth bit');
  t.equal(find('10.1.3.4'), 'US WNAM /16');
  t.equal(find('10.200.3.4'), 'DE WEU /9');
  t.equal(find('192.0.2.65'), '- OC /26');
  t.equal(find('192.0.2.5'), 'DE WEU /26', 'the database knows 25 bits, but a network begins behind the next one');
  t.equal(find('fd12::1'), 'DE WEU /8');
});

t.test('an address that has the bits in common is at the same place', async () => {
  const networks = '10.0.0.0/8 DE\n10.1.0.0/16 US\n10.1.2.0/23 FR\n10.1.2.128/25 US\n10.128.0.0/9 FR\n';
  const finder = createPlaceFinder({ networks }, WORLD);
  const parsed = parsePlacedNetworks(networks, REGIONS).networks;
  const [a, b] = [createPlace(), createPlace()];
  const octets = fc.tuple(
    fc.constantFrom(10, 11),
    fc.constantFrom(0, 1, 128, 200),
    fc.constantFrom(2, 3, 4),
    fc.nat(255),
  );
  fc.assert(
    fc.property(octets, fc.uint8Array({ minLength: 4, maxLength: 4 }), (text, noise) => {
      const address = Uint8Array.from(text);
      finder.find(address, 0, 4, a);
      const longest = parsed
        .filter(({ network }) => networkContains(network, address))
        .sort((x, y) => y.network.bits - x.network.bits);
      if (name(a.country) !== (longest[0]?.country ?? '-')) return false;
      const other = address.map((octet, i) => {
        const kept = Math.max(0, Math.min(8, a.prefix - i * 8));
        const mask = (0xff00 >>> kept) & 0xff;
        return (octet & mask) | (noise[i]! & ~mask);
      });
      finder.find(other, 0, 4, b);
      return b.country === a.country && b.prefix === a.prefix;
    }),
    { seed: 20261126, numRuns: 2000 },
  );
});

t.test('lines that are not understood are named', async (t) => {
  const text =
    '10.0.0.0/8 DE WEU\nexample DE\n10.0.0.1/8 DE\n10.0.0.0/8 Germany\n10.0.0.0/8 DE EUROPE\n10.0.0.0/8 DE WEU x\n::/0\n';
  const { networks, faults } = parsePlacedNetworks(text, REGIONS);
  t.equal(networks.length, 2);
  t.strictSame(
    faults.map(({ line }) => line),
    [2, 3, 4, 5, 6],
  );
  t.match(faults[3]!.message, /'EUROPE' is not one of WEU ENAM/);
  t.match(parsePlacedNetworks('10.0.0.0/8\n'.repeat(10_001), REGIONS).faults, [{ line: 10_001 }]);
});

t.test('a damaged file is refused, or harms only what it says', async () => {
  const file = writeMmdb(ENTRIES);
  const place = createPlace();
  fc.assert(
    fc.property(fc.nat(file.length - 1), fc.nat(255), fc.nat(file.length), fc.boolean(), (at, octet, cut, cuts) => {
      const damaged = Buffer.from(file);
      damaged[at] = octet;
      let finder: ReturnType<typeof createPlaceFinder>;
      try {
        finder = createPlaceFinder({ database: shared(cuts ? damaged.subarray(0, cut) : damaged) }, WORLD);
      } catch (error) {
        return error instanceof Error;
      }
      for (const text of ['192.0.2.5', '192.0.2.130', '203.0.113.1', '2001:db8::1', '::']) {
        const address = parseIP(text)!;
        finder.find(address, 0, address.length, place);
      }
      return true;
    }),
    { seed: 20261126, numRuns: 1500 },
  );
});
