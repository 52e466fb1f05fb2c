/** The tally: what zones were asked, by name, type, code and network, in slots whose number is fixed. */
import t from 'tap';
import { SLOTS, Tallied } from '../../src/answer/observation.js';
import { Transport } from '../../src/answer/transport.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import { createCountsReader } from '../../src/observe/counts.js';
import { createTallyReader, type ZoneTally } from '../../src/observe/tally.js';
import { observed, zoneOf } from '../support/observed.js';
import { serveZones } from '../support/served-zones.js';

const facts = (type: number, rcode: number = Rcode.noError, transport: number = Transport.udp, ipv6 = false): number =>
  type | (rcode << Tallied.rcodeShift) | (transport << Tallied.transportShift) | (ipv6 ? Tallied.ipv6 : 0);

function tallied(zones: Parameters<typeof observed>[0], tellsNetworks = true) {
  const world = observed(zones);
  const counts = createCountsReader([world.block]);
  const tally = createTallyReader([world.block], true, tellsNetworks);
  const look = (): ZoneTally[] | undefined => {
    tally.look(counts.gain().zones);
    return tally.take(true);
  };
  return { ...world, look };
}

t.test('answers are counted by name, type, code, transport and network', async (t) => {
  const text =
    '$ORIGIN example.com.\n$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n' +
    '*.wild A 192.0.2.3\nsub NS ns.sub\nns.sub A 192.0.2.4\nold DNAME www\nalias CNAME www\n';
  const { ask, look } = tallied(serveZones([{ apex: 'example.com.', text }, zoneOf('example.org.')]));
  t.equal(look(), undefined);
  for (let i = 0; i < 3; i++) ask('WWW.example.com.');
  ask('www.example.com.', 'AAAA', '2001:db8:aaaa:1::1');
  ask('www.example.com.', 'A', '::ffff:198.51.100.9', {}, Transport.tls);
  for (const label of ['a', 'b', 'c']) ask(`${label}.wild.example.com.`);
  for (const label of ['a', 'b', 'a.b']) ask(`${label}.sub.example.com.`);
  ask('x.old.example.com.');
  ask('alias.example.com.');
  for (let i = 0; i < 50; i++) ask(`${i}.example.com.`, 'TXT', '192.0.2.200');
  ask('www.example.com.', 65300);
  ask('www.example.com.', 65301);
  ask('www.example.net.');
  const told = look()!;
  t.equal(told.length, 1);
  const [zone] = told;
  t.equal(zone!.zone, 'example.com');
  t.equal(zone!.total, 65);
  t.strictSame(
    [...zone!.names].sort(),
    [
      ['', facts(Type.txt, Rcode.nxDomain), 50],
      ['*.wild.example.com', facts(Type.a), 3],
      ['alias.example.com', facts(Type.a), 1],
      ['old.example.com', facts(Type.a, Rcode.nxDomain), 1],
      ['sub.example.com', facts(Type.a), 3],
      ['www.example.com', facts(Type.a), 3],
      ['www.example.com', facts(Type.a, Rcode.noError, Transport.tls), 1],
      ['www.example.com', facts(Type.aaaa, Rcode.noError, Transport.udp, true), 1],
      ['www.example.com', facts(0), 2],
    ].sort(),
  );
  t.strictSame([...zone!.networks].sort(), [
    ['192.0.2.0/24', 50],
    ['198.51.100.0/24', 14],
    ['2001:db8:aaaa::/48', 1],
  ]);
  t.equal(look(), undefined, 'nothing new');
  ask('www.example.com.');
  t.strictSame(look()![0]!.names, [['www.example.com', facts(Type.a), 1]], 'only what was gained');
});

t.test('random names and addresses take no more slots than a zone may have, and others keep theirs', async (t) => {
  const { ask, look, block } = tallied(serveZones([zoneOf('example.com.'), zoneOf('example.org.')]));
  let total = 0;
  let found = 0;
  const kept = new Map<string, number>();
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 4000; i++) {
      ask(`${round}-${i}.example.com.`, 1 + ((i * 7919) % 65000), `10.${i >> 8}.${i & 255}.1`);
      if (i % 100 === 0) ask('www.example.org.');
      // First asked when the flood has taken what it can.
      if (round > 1 && i % 100 === 0) ask('www.example.com.');
    }
    for (const { zone, names, total: sum, networks } of look() ?? []) {
      if (zone === 'example.com') {
        total += sum;
        t.ok(networks.length <= 600 && names.length <= 600, `${names.length} names, ${networks.length} networks`);
        for (const [name, , count] of names) if (name !== '') kept.set(name, (kept.get(name) ?? 0) + count);
      } else found += names.reduce((all, [, , count]) => all + count, 0);
    }
  }
  const taken = block.slots.filter((zone, at) => at % 8 === 0 && zone !== 0).length;
  t.equal(total, 20_120, 'the sum is whole');
  t.strictSame([...kept], [['www.example.com', 120]], 'the name that exists is counted separately');
  t.equal(found, 200, 'all of the other zone');
  t.ok(taken < SLOTS / 6, `${taken} slots`);
});

t.test('slots pass on when they were read and no longer count', async (t) => {
  const text = Array.from({ length: 3000 }, (_, i) => `n${i} A 192.0.2.2\n`).join('');
  const { ask, look } = tallied(serveZones([{ apex: 'example.com.', text: `${zoneOf('example.com.').text}${text}` }]));
  const names = new Map<string, number>();
  let total = 0;
  for (let round = 0; round < 50; round++) {
    // Sixty names in turn: all have been asked after fifty rounds.
    for (let i = 0; i < 60; i++) ask(`n${round * 60 + i}.example.com.`);
    for (const zone of look() ?? []) {
      total += zone.total;
      for (const [name, , count] of zone.names) names.set(name, (names.get(name) ?? 0) + count);
    }
  }
  t.equal(total, 3000);
  t.ok(names.size > 2950, `${names.size} names`);
  names.delete('');
  t.ok(
    [...names.values()].every((count) => count === 1),
    'no answer is counted twice',
  );
});

t.test('nothing is reported about clients if the operator wants that', async (t) => {
  const { ask, look } = tallied(serveZones([zoneOf('example.com.')]), false);
  ask('www.example.com.');
  t.strictSame(look(), [
    { zone: 'example.com', total: 1, names: [['www.example.com', facts(Type.a), 1]], networks: [] },
  ]);
});
